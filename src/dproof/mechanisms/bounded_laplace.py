"""Laplace noise conditioned on staying in the interval, with the scale that this takes. Holohan et al. 2020."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp, expm1, log
from typing import Any

import numpy as np

from dproof.errors import InputError, TooLarge
from dproof.exact import exact, exp_below, least
from dproof.laws.matrix import Matrix, whole_law
from dproof.mechanisms.additive import alone, demand_interval
from dproof.mechanisms.mechanism import Mechanism
from dproof.mechanisms.noise import demand_noise
from dproof.privacy import Privacy, Promise
from dproof.spaces.interval import Interval

_MOST_POINTS = 501
_TOTAL = 1 << 60
_WORKING = 192  # bits in which the weights are computed before they are rounded
_NUDGES = (0, -44, -36, -28, -20, -14, -10)  # what rounding to whole numbers may cost, as powers of two


def bounded_laplace(interval: Interval, privacy: Promise, *, sensitivity: Any = None) -> Mechanism:
    """P(Y_d = y) = e^(−|y−d|/b) / C_d for y in the interval, with the least b that is (ε, δ)-private.

    `sensitivity` is the largest distance D of two neighbouring inputs; all inputs are neighbours by default.
    C_d is smallest at the ends, so b = D/ε is too little: at δ = 0 the exact condition is the fixed point
    ε ≥ D/b + ln(C_{low+D}/C_low), and with δ > 0 and D below the width the worst pair lies inside the interval.
    Holohan, Antonatos, Braghin and Mac Aonghusa 2020.

    Why it is private: the matrix of whole numbers is checked over all neighbouring pairs before it is returned.

    >>> m = bounded_laplace(Interval(0, 1, "0.02"), Privacy(1))
    >>> m.epsilon() <= 1, round(float(m.error), 3)
    (True, 0.415)
    """
    privacy = Privacy.of(privacy)
    demand_interval(interval)
    n = interval.size - 1
    if n == 0:
        return alone("bounded Laplace", interval, "Holohan et al. 2020")
    if interval.size > _MOST_POINTS:
        raise TooLarge(f"bounded Laplace noise takes at most {_MOST_POINTS} lattice points; use a coarser step")
    demand_noise(privacy.epsilon, privacy.delta)
    # Values that far apart may stand for points that lie a part of a step farther apart.
    reach = n if sensitivity is None else ceil(exact(sensitivity, "sensitivity") / interval.step)
    if not 1 <= reach <= n:
        raise InputError("the sensitivity must be above 0 and at most the interval's width")
    scale = _scale(n, reach, privacy)
    apart = np.abs(np.subtract.outer(np.arange(n + 1), np.arange(n + 1)))
    neighbours = None if reach == n else (apart > 0) & (apart <= reach)
    odds = exp_below(privacy.epsilon)
    for power in _NUDGES:
        rows = _rows(n, scale * (1 + (Fraction(2) ** power if power else 0)))
        family = Matrix(rows, _TOTAL, neighbours)
        if family.worst(odds).value <= privacy.delta:
            return Mechanism("bounded Laplace", interval, interval, family, "Holohan et al. 2020")
    raise TooLarge("no law in whole numbers of 60 bits keeps this promise; use a coarser step, or another epsilon")


def _scale(n: int, reach: int, privacy: Privacy) -> Fraction:
    """The least scale in steps, to nine digits; the neighbours farthest apart are the worst."""
    epsilon, delta = float(privacy.epsilon), float(privacy.delta)
    places = np.arange(n + 1)

    def pure(b: Fraction) -> bool:
        a = -1 / float(b)
        ends = [1 + exp(a) - exp(a * (q + 1)) - exp(a * (n - q + 1)) for q in (0, reach)]
        return -reach * a + log(ends[1] / ends[0]) <= epsilon if expm1(a) < 0 else True

    def approximate(b: Fraction) -> bool:
        laws = np.exp(-np.abs(places[:, None] - places) / float(b))
        laws /= laws.sum(axis=1, keepdims=True)
        excess = np.maximum(0, laws[: n + 1 - reach] - exp(min(epsilon, 700.0)) * laws[reach:])
        return float(excess.sum(axis=1).max()) <= delta

    start = Fraction(reach) / max(privacy.epsilon, Fraction(1, 1000))
    return least(pure if delta == 0 else approximate, start)


def _rows(n: int, scale: Fraction) -> Any:
    """The laws as whole numbers over one total."""
    one = 1 << _WORKING
    fall = int(exp_below(-1 / scale, _WORKING + 16) * one)
    powers = [one]
    for _ in range(n):
        powers.append(max(1, powers[-1] * fall >> _WORKING))
    weights = [Fraction(p) for p in powers]
    return np.array([whole_law([weights[abs(y - q)] for y in range(n + 1)], _TOTAL) for q in range(n + 1)])


EXAMPLES = (
    bounded_laplace(Interval(0, 1, "0.1"), Privacy(1)),
    bounded_laplace(Interval(0, 10, 1), Privacy("0.5", "0.1"), sensitivity=3),
)
