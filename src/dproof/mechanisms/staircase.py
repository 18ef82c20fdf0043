"""Staircase noise on numbers: the least noise that pure privacy allows when outputs may lie anywhere."""

from __future__ import annotations

from dproof.errors import InputError
from dproof.exact import exp_below
from dproof.laws.stairs import stairs
from dproof.mechanisms.laplace import demand_interval, on_lattice
from dproof.mechanisms.mechanism import Mechanism
from dproof.privacy import Privacy
from dproof.spaces.interval import Interval


def staircase(interval: Interval, privacy: Privacy, *, clamp: bool = False) -> Mechanism:
    """The number plus staircase noise: flat stairs as wide as the diameter, each e^ε lower than the last.

    The first stair has the width γ·diam, γ = 1/(1 + e^(ε/2)), which gives E|noise| = diam·e^(ε/2)/(e^ε − 1), the
    least among all additive noise. Geng and Viswanath 2016. δ is not used: the law is ε-private.

    Why it is private: a shift of at most one diameter moves at most one stair.

    >>> m = staircase(Interval(0, 1, "0.001"), Privacy(1))
    >>> round(float(m.error), 4), m.epsilon() <= 1
    (0.9595, True)
    """
    demand_interval(interval)
    source = "Geng and Viswanath 2016"
    if privacy.epsilon == 0:
        raise InputError("staircase noise needs epsilon above 0")
    noise = stairs(exp_below(privacy.epsilon), interval.size - 1) if interval.size > 1 else None
    return on_lattice("clamped staircase" if clamp else "staircase", interval, noise, clamp, source)


EXAMPLES = (staircase(Interval(0, 10, 1), Privacy(1)),)
