"""Noise on numbers: Laplace, unbounded, clamped, cut off or bounded; Gaussian; staircase. HLM15, Example 5."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, exp, expm1, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import expect, flag
from dproof.errors import ArgumentError, TooLarge
from dproof.exact import exact, exp_below, least, least_whole
from dproof.laws.gaussian import gaussian as gaussian_law
from dproof.laws.laplace import MOST_BOUNDED, BoundedLattice, TwoSided, two_sided
from dproof.laws.law import Law
from dproof.laws.matrix import Matrix, whole_law
from dproof.laws.noise import Lattice, NoiseLaw
from dproof.laws.response import KeepOrOther
from dproof.laws.stairs import stairs
from dproof.mechanisms.mechanism import Mechanism
from dproof.mechanisms.noise import demand_noise, integer_gaussian, integer_laplace
from dproof.privacy import Privacy, Promise
from dproof.spaces.interval import Interval

_FARTHEST, _FLATTEST = 4096, 1000  # a reach, in scales, and a scale, in reaches, that no useful law has
_NARROWEST = Fraction(1, 1000)  # a scale, in steps, beside which no other point of the lattice is ever drawn
_MOST_WRITTEN_OUT = 501  # points of an interval whose bounded Laplace noise is a matrix
_TOTAL = 1 << 60
_WORKING = 192  # bits in which the weights are computed before they are rounded
_NUDGES = (0, -44, -36, -28, -20, -14, -10)  # what rounding to whole numbers may cost, as powers of two


def laplace(interval: Interval, privacy: Promise | None = None, *, scale: Any = None, clamp: bool = False) -> Mechanism:
    """The number plus Laplace noise on its lattice: P(Y_d = d + k·step) ∝ e^(−k·step/b).

    b = diam/ε at δ = 0, and about diam/(ε − 2 ln(1 − δ)) with δ, the least scale that the exact lattice profile
    allows; HLM15, Example 5 has diam/(ε − ln(1 − δ)), which is enough but not needed.
    Outputs lie on all of the lattice, or in the interval with `clamp`, which costs no privacy. With `scale` instead of
    a promise b is given; `epsilon()` gives what it keeps.

    Why it is private: see `integer_laplace`, with the diameter in steps as the sensitivity.

    >>> m = laplace(Interval(0, 1, "0.001"), Privacy(1, "0.1"))
    >>> round(float(m.error), 4), m.delta(1) <= 0.1
    (0.826, True)
    >>> round(laplace(Interval(0, 1, "0.001"), scale=2).epsilon(), 6)
    0.5
    """
    steps, promise = _given_scale(interval, privacy, scale, "scale")

    def noise(shift: int) -> NoiseLaw:
        return integer_laplace(shift, promise, coordinates=1).law if promise else two_sided(exp_below(1 / steps))

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
        raise ArgumentError("truncated Laplace noise needs epsilon and delta above 0; without delta use laplace")

    def noise(shift: int) -> TwoSided:
        scale, odds = shift / privacy.epsilon, exp_below(privacy.epsilon)

        def enough(reach: int) -> bool:
            if reach > _FARTHEST * scale:
                raise TooLarge("delta is smaller than whole numbers can tell on so fine a lattice; use a coarser step")
            return two_sided(exp_below(1 / scale), reach).delta(odds, shift) <= privacy.delta

        reach = least_whole(enough)
        if reach * _FLATTEST < scale:  # what lies beyond the reach is drawn again
            raise ArgumentError("delta is so large beside epsilon that this noise would be flat; use less, or laplace")
        return two_sided(exp_below(1 / scale), reach)

    return _plus(interval, noise, "truncated Laplace", "Geng et al. 2020", clamp)


def gaussian(
    interval: Interval, privacy: Promise | None = None, *, sigma: Any = None, clamp: bool = False
) -> Mechanism:
    """The number plus Gaussian noise on its lattice, P(Y_d = d + k·step) ∝ e^(−k²/2σ²), with the least σ; needs δ > 0.

    On a fine lattice σ solves Φ(D/2σ − εσ/D) − e^ε Φ(−D/2σ − εσ/D) = δ with D the diameter.
    Balle and Wang 2018; Canonne, Kamath and Steinke 2020. With `sigma` instead of a promise it is given; `delta(ε)`
    tells what it keeps. Where σ is above 512 steps, several values share a cell of the table. That costs up to 2 % of
    σ at δ = 10⁻⁶ and 6 % at 10⁻¹², and not the same for every step; more where σ is above 500 diameters; and far too
    much above 8,192 diameters, at an ε below about 0.0005.

    Why it is private: see `integer_gaussian`, with the diameter in steps as the sensitivity.

    >>> m = gaussian(Interval(0, 1, "0.01"), Privacy(1, "1e-5"))
    >>> round(float(m.error) / 0.7978845608, 2), m.delta(1) <= 1e-5
    (3.73, True)
    >>> round(gaussian(Interval(0, 1, "0.01"), sigma="3.73").delta(1), 6)
    1e-05
    """
    steps, promise = _given_scale(interval, privacy, sigma, "sigma")

    def noise(shift: int) -> NoiseLaw:
        return (
            integer_gaussian(shift**2, promise, coordinates=1).law if promise else gaussian_law(steps**2, shift=shift)
        )

    return _plus(interval, noise, "Gaussian", "Balle and Wang 2018, on the lattice", clamp)


def staircase(interval: Interval, privacy: Promise, *, gamma: Any = None, clamp: bool = False) -> Mechanism:
    """The number plus staircase noise: flat stairs as wide as the diameter, each e^ε lower than the last.

    The first stair has the width γ·diam, γ = 1/(1 + e^(ε/2)), which gives E|noise| = diam·e^(ε/2)/(e^ε − 1), the
    least that pure privacy allows among all additive noise. Geng and Viswanath 2016. δ is not used. Another γ between
    0 and 1 may be given, such as the one that is best for the variance; it is rounded to the lattice.

    Why it is private: a shift of at most one diameter moves at most one stair.

    >>> m = staircase(Interval(0, 1, "0.001"), Privacy(1))
    >>> round(float(m.error), 4), m.epsilon() <= 1
    (0.9595, True)
    """
    privacy = Privacy.of(privacy)
    if privacy.epsilon == 0:
        raise ArgumentError("staircase noise needs epsilon above 0")

    share = None if gamma is None else exact(gamma, "gamma")
    if share is not None and not 0 < share <= 1:
        raise ArgumentError("gamma must be above 0 and at most 1: the width of the first stair, in diameters")

    def noise(shift: int) -> NoiseLaw:
        return stairs(exp_below(privacy.epsilon), shift, None if share is None else max(1, round(share * shift)))

    return _plus(interval, noise, "staircase", "Geng and Viswanath 2016", clamp)


def bounded_laplace(
    interval: Interval, privacy: Promise | None = None, *, scale: Any = None, sensitivity: Any = None
) -> Mechanism:
    """P(Y_d = y) = e^(−|y−d|/b) / C_d for y in the interval, with the least b that is (ε, δ)-private.

    With `scale` instead of a promise b is given; `epsilon()` gives what it keeps. `sensitivity` is the
    largest distance D of two neighbouring inputs; all inputs are neighbours by default.
    C_d is smallest at the ends, so b = D/ε is too little: at δ = 0 the exact condition is the fixed point
    ε ≥ D/b + ln(C_{low+D}/C_low), and with δ > 0 and D below the width the worst pair lies inside the interval.
    Holohan, Antonatos, Braghin and Mac Aonghusa 2020.

    Beyond 501 points, up to 1,048,576, no matrix is written out: noise is drawn again until the number lies inside, all
    inputs are neighbours, and δ is not used.

    Why it is private: the matrix of whole numbers is checked over all neighbouring pairs before it is returned; without
    a matrix see `BoundedLattice`, of which the two ends are the worst pair.

    >>> m = bounded_laplace(Interval(0, 1, "0.02"), Privacy(1))
    >>> m.epsilon() <= 1, round(float(m.error), 3)
    (True, 0.415)
    >>> round(bounded_laplace(Interval(0, 1, "0.02"), scale=2).epsilon(), 4)
    0.5
    >>> m = bounded_laplace(Interval(0, 100_000, 1), Privacy(1))
    >>> m.epsilon() <= 1, round(float(m.error) / 100_000, 3)
    (True, 0.418)
    """
    steps, promise = _given_scale(interval, privacy, scale, "scale")
    n, source = interval.size - 1, "Holohan et al. 2020"
    if n == 0:
        return _alone("bounded Laplace", interval, source)
    if interval.size > MOST_BOUNDED:
        raise TooLarge(f"bounded Laplace noise takes at most {MOST_BOUNDED:,} lattice points; use a coarser step")
    # Values that far apart may stand for points that lie a part of a step farther apart.
    reach = n if sensitivity is None else ceil(exact(sensitivity, "sensitivity") / interval.step)
    if not 1 <= reach <= n:
        raise ArgumentError("the sensitivity must be above 0 and at most the interval's width")
    if interval.size > _MOST_WRITTEN_OUT:
        if reach < n:
            raise TooLarge(f"with a sensitivity bounded Laplace noise takes at most {_MOST_WRITTEN_OUT} lattice points")
        promise = None if promise is None else Privacy(promise.epsilon)

    def noise(b: Fraction) -> Law:
        if interval.size <= _MOST_WRITTEN_OUT:
            return Matrix(_bounded_rows(n, b), _TOTAL, None if reach == n else _within(n + 1, reach))
        if b > _FLATTEST * n:
            raise TooLarge("noise that wide is flat on the interval; use more epsilon, or laplace")
        return BoundedLattice(n + 1, two_sided(exp_below(1 / b)))

    if promise is None:
        return Mechanism("bounded Laplace", interval, interval, noise(steps), source)
    demand_noise(promise.epsilon, promise.delta)
    least_scale, odds = _bounded_scale(n, reach, promise), exp_below(promise.epsilon)
    for power in _NUDGES:
        family = noise(least_scale * (1 + (Fraction(2) ** power if power else 0)))
        if family.worst(odds).value <= promise.delta:
            return Mechanism("bounded Laplace", interval, interval, family, source)
    raise TooLarge("no law in whole numbers of 60 bits keeps this promise; use a coarser step, or another epsilon")


def _within(size: int, reach: int) -> NDArray[np.bool_]:
    """Which points are neighbours, where those are that lie no farther apart than the reach."""
    apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    return (apart > 0) & (apart <= reach)


def _bounded_scale(n: int, reach: int, privacy: Privacy) -> Fraction:
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


def _bounded_rows(n: int, scale: Fraction) -> Any:
    """The laws as whole numbers over one total."""
    one = 1 << _WORKING
    fall = int(exp_below(-1 / scale, _WORKING + 16) * one)
    powers = [one]
    for _ in range(n):
        powers.append(max(1, powers[-1] * fall >> _WORKING))
    weights = [Fraction(p) for p in powers]
    return np.array([whole_law([weights[abs(y - q)] for y in range(n + 1)], _TOTAL) for q in range(n + 1)])


def _plus(interval: Interval, noise: Callable[[int], NoiseLaw], name: str, source: str, clamp: bool) -> Mechanism:
    """The points of the interval plus the noise that its width in steps takes; one point alone takes none."""
    _demand_interval(interval)
    name = f"clamped {name}" if flag(clamp, "clamp") else name
    if interval.size == 1:
        return _alone(name, interval, source)
    family = Lattice(interval.size, noise(interval.size - 1), clamp)
    return Mechanism(name, interval, interval if clamp else interval.line, family, source)


def _given_scale(interval: Interval, privacy: Any, scale: Any, name: str) -> tuple[Fraction, Privacy | None]:
    """A scale in steps, or a promise to calibrate one for."""
    _demand_interval(interval)
    if (privacy is None) == (scale is None):
        raise ArgumentError(f"give either a promise, to which noise is calibrated, or its {name}")
    if scale is None:
        return Fraction(0), Privacy.of(privacy)
    given = exact(scale, name)
    if given <= 0:
        raise ArgumentError(f"{name} must be above 0")
    if given < interval.step * _NARROWEST:
        raise ArgumentError(
            f"a {name} below a thousandth of the step is no noise at all; use a finer step, or more noise"
        )
    return given / interval.step, None


def _alone(name: str, interval: Interval, source: str) -> Mechanism:
    """One point has nothing to hide."""
    return Mechanism(name, interval, interval, KeepOrOther(1, 1, 1), source)


def _demand_interval(space: Any) -> None:
    expect(space, Interval, "interval", "an Interval, because noise is added to numbers")
