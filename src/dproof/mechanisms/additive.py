"""Noise on numbers: Laplace, unbounded, clamped or cut off; Gaussian; staircase. HLM15, Example 5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dproof.arguments import expect, flag
from dproof.errors import InputError, TooLarge
from dproof.exact import exp_below, least_whole
from dproof.laws.keep_or_other import KeepOrOther
from dproof.laws.laplace import TwoSided, two_sided
from dproof.laws.lattice import Lattice
from dproof.laws.noise import NoiseLaw
from dproof.laws.stairs import stairs
from dproof.mechanisms.mechanism import Mechanism
from dproof.mechanisms.noise import integer_gaussian, integer_laplace
from dproof.privacy import Privacy, Promise
from dproof.spaces.interval import Interval

_FARTHEST, _FLATTEST = 4096, 1000  # a reach, in scales, and a scale, in reaches, that no useful law has


def laplace(interval: Interval, privacy: Promise, *, clamp: bool = False) -> Mechanism:
    """The number plus Laplace noise on its lattice: P(Y_d = d + k·step) ∝ e^(−k·step/b).

    b = diam/ε at δ = 0, and about diam/(ε − 2 ln(1 − δ)) with δ, the least scale that the exact lattice profile
    allows; HLM15, Example 5 has diam/(ε − ln(1 − δ)), which is enough but not needed.
    Outputs lie on all of the lattice, or in the interval with `clamp`, which costs no privacy.

    Why it is private: see `integer_laplace`, with the diameter in steps as the sensitivity.

    >>> m = laplace(Interval(0, 1, "0.001"), Privacy(1, "0.1"))
    >>> round(float(m.error), 4), m.delta(1) <= 0.1
    (0.826, True)
    """

    privacy = Privacy.of(privacy)

    def noise(shift: int) -> NoiseLaw:
        return integer_laplace(shift, privacy, coordinates=1).law

    return _plus(interval, noise, "Laplace", "HLM15, Example 5", clamp)


def truncated_laplace(interval: Interval, privacy: Promise, *, clamp: bool = False) -> Mechanism:
    """Laplace noise of scale diam/ε, conditioned on |noise| ≤ A; needs δ > 0.

    A is the least reach for which the D lattice points that a shift leaves without a partner weigh at most δ:
    about (diam/ε)·ln(1 + (e^ε − 1)/2δ). Geng, Ding, Guo and Kumar 2020.

    Why it is private: where both laws have mass their ratio is at most e^ε, and the rest weighs at most δ.

    >>> m = truncated_laplace(Interval(0, 1, "0.001"), Privacy(1, "0.1"))
    >>> round(float(m.error), 4), m.delta(1) <= 0.1
    (0.737, True)
    """
    privacy = Privacy.of(privacy)
    if privacy.delta == 0 or privacy.epsilon == 0:
        raise InputError("truncated Laplace noise needs epsilon and delta above 0; without delta use laplace")

    def noise(shift: int) -> TwoSided:
        scale, odds = shift / privacy.epsilon, exp_below(privacy.epsilon)

        def enough(reach: int) -> bool:
            if reach > _FARTHEST * scale:
                raise TooLarge("delta is smaller than whole numbers can tell on so fine a lattice; use a coarser step")
            return two_sided(exp_below(1 / scale), reach).delta(odds, shift) <= privacy.delta

        reach = least_whole(enough)
        if reach * _FLATTEST < scale:  # what lies beyond the reach is drawn again
            raise InputError("delta is so large beside epsilon that this noise would be flat; use less, or laplace")
        return two_sided(exp_below(1 / scale), reach)

    return _plus(interval, noise, "truncated Laplace", "Geng et al. 2020", clamp)


def gaussian(interval: Interval, privacy: Promise, *, clamp: bool = False) -> Mechanism:
    """The number plus Gaussian noise on its lattice, P(Y_d = d + k·step) ∝ e^(−k²/2σ²), with the least σ; needs δ > 0.

    On a fine lattice σ solves Φ(D/2σ − εσ/D) − e^ε Φ(−D/2σ − εσ/D) = δ with D the diameter.
    Balle and Wang 2018; Canonne, Kamath and Steinke 2020.

    Why it is private: see `integer_gaussian`, with the diameter in steps as the sensitivity.

    >>> m = gaussian(Interval(0, 1, "0.01"), Privacy(1, "1e-5"))
    >>> round(float(m.error) / 0.7978845608, 2), m.delta(1) <= 1e-5
    (3.73, True)
    """

    privacy = Privacy.of(privacy)

    def noise(shift: int) -> NoiseLaw:
        return integer_gaussian(shift**2, privacy, coordinates=1).law

    return _plus(interval, noise, "Gaussian", "Balle and Wang 2018, on the lattice", clamp)


def staircase(interval: Interval, privacy: Promise, *, clamp: bool = False) -> Mechanism:
    """The number plus staircase noise: flat stairs as wide as the diameter, each e^ε lower than the last.

    The first stair has the width γ·diam, γ = 1/(1 + e^(ε/2)), which gives E|noise| = diam·e^(ε/2)/(e^ε − 1), the
    least that pure privacy allows among all additive noise. Geng and Viswanath 2016. δ is not used.

    Why it is private: a shift of at most one diameter moves at most one stair.

    >>> m = staircase(Interval(0, 1, "0.001"), Privacy(1))
    >>> round(float(m.error), 4), m.epsilon() <= 1
    (0.9595, True)
    """
    privacy = Privacy.of(privacy)
    if privacy.epsilon == 0:
        raise InputError("staircase noise needs epsilon above 0")

    def noise(shift: int) -> NoiseLaw:
        return stairs(exp_below(privacy.epsilon), shift)

    return _plus(interval, noise, "staircase", "Geng and Viswanath 2016", clamp)


def _plus(interval: Interval, noise: Callable[[int], NoiseLaw], name: str, source: str, clamp: bool) -> Mechanism:
    """The points of the interval plus the noise that its width in steps takes; one point alone takes none."""
    demand_interval(interval)
    name = f"clamped {name}" if flag(clamp, "clamp") else name
    if interval.size == 1:
        return alone(name, interval, source)
    family = Lattice(interval.size, noise(interval.size - 1), clamp)
    return Mechanism(name, interval, interval if clamp else interval.line, family, source)


def alone(name: str, interval: Interval, source: str) -> Mechanism:
    """One point has nothing to hide."""
    return Mechanism(name, interval, interval, KeepOrOther(1, 1, 1), source)


def demand_interval(space: Any) -> None:
    expect(space, Interval, "interval", "an Interval, because noise is added to numbers")


def __getattr__(name: str) -> Any:
    """`EXAMPLES`, calibrated when the tests ask for them and not whenever the module is loaded."""
    if name != "EXAMPLES":
        raise AttributeError(name)
    return (
        laplace(Interval(0, 110, 1), Privacy(1)),
        laplace(Interval(-1, 1, "0.25"), Privacy("0.5", "0.05"), clamp=True),
        truncated_laplace(Interval(0, 10, 1), Privacy(1, "0.01")),
        gaussian(Interval(0, 10, 1), Privacy(1, "0.01")),
        staircase(Interval(0, 10, 1), Privacy(1)),
    )
