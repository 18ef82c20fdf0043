"""Noise calibrated to a promise: on whole-number answers, by their sensitivity, or on the numbers of rows.

Laplace, unbounded, clamped, cut off or bounded; Gaussian; staircase. HLM15, section 2.4 and Example 5; the sheet,
sections 2 and 3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, expm1, isqrt, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof import coins
from dproof.arguments import expect, flag, named
from dproof.errors import ArgumentError, TooLarge
from dproof.exact import exact, exp_below, float_above, least, least_whole, log_above, log_below
from dproof.laws.divergence import profile_odds
from dproof.laws.gaussian import Gaussian, gaussian_law
from dproof.laws.laplace import MOST_BOUNDED, BoundedLattice, TwoSided, stairs, two_sided
from dproof.laws.law import Law
from dproof.laws.matrix import Matrix, whole_law
from dproof.laws.noise import Lattice, NoiseLaw
from dproof.laws.response import KeepOrOther
from dproof.mechanisms.mechanism import Mechanism
from dproof.privacy import Privacy, Promise, as_delta, as_epsilon
from dproof.spaces.interval import Interval

__all__ = ["Noise", "integer_gaussian", "integer_laplace"]

_LARGEST_SENSITIVITY = 1 << 50


@dataclass(frozen=True, slots=True)
class Noise:
    """Independent draws of one law on Z, one for each coordinate of an answer of whole numbers.

    `size` bounds how far a neighbour moves the answer: its l1 norm for Laplace noise, its squared l2 norm for
    Gaussian noise; at most `coordinates` coordinates move.

    >>> noise = integer_laplace(1, Privacy(1))
    >>> noise.delta(1), noise.quantile("0.95"), round(noise.absolute, 4)
    (0.0, 3, 0.8509)
    """

    name: str
    law: TwoSided | Gaussian
    size: int
    coordinates: int

    def draw(self, count: int) -> NDArray[np.int64]:
        """`count` independent draws from this thread's coins."""
        return self.law.draw(count, coins.current())

    def probability(self, k: int) -> Fraction:
        """P(X = k), exactly."""
        return self.law.probability(k)

    def within(self, t: int) -> Fraction:
        """P(|X| ≤ t), exactly."""
        return self.law.cumulative(t) - self.law.cumulative(-t - 1)

    def quantile(self, level: Any) -> int:
        """The least t with P(|X| ≤ t) ≥ level: the half-width of an interval at that level."""
        wanted = exact(level, "level")
        if not 0 <= wanted < 1:
            raise ArgumentError("level must be at least 0 and below 1, such as 0.95")
        return _quantile(self, wanted)

    @property
    def variance(self) -> float:
        """E (X − E X)² of one draw."""
        return float(self.law.variance)

    @property
    def absolute(self) -> float:
        """E|X|."""
        return float(self.law.moments[1])

    def delta(self, epsilon: Any) -> float:
        """The δ of one answer at ε, rounded up."""
        return float_above(self.worst(exp_below(as_epsilon(epsilon))))

    def epsilon(self, delta: Any = 0) -> float:
        """The least ε of one answer at δ, rounded up; `inf` where none will do."""
        odds = profile_odds(self.worst, self.law.pure(self.size), as_delta(delta))
        return float("inf") if odds is None else float_above(log_above(odds))

    def worst(self, odds: Fraction) -> Fraction:
        """An upper bound of δ at these odds, tight where one coordinate moves."""
        return self.law.delta_vector(odds, self.size, self.coordinates)

    def meets(self, privacy: Privacy) -> bool:
        """Whether one answer keeps this promise."""
        return self.worst(exp_below(privacy.epsilon)) <= privacy.delta


@lru_cache(maxsize=256)  # the cells of an answer, and its rehearsal, need it again and again
def _quantile(noise: Noise, level: Fraction) -> int:
    near = round(noise.variance**0.5 * -log(max(float(1 - level), 1e-300)) / 2**0.5)  # where Laplace noise has it
    return least_whole(lambda t: noise.within(t) >= level, near)


def integer_laplace(sensitivity: Any, privacy: Promise, *, coordinates: int | None = None) -> Noise:
    """Laplace noise on Z for answers whose l1 sensitivity is D: P(k) ∝ e^(−|k|/b), as whole numbers.

    b = D/ε at δ = 0. With δ > 0, b is the least scale whose exact lattice profile meets (ε, δ): close to
    D/(ε − 2 ln(1 − δ)), the tight form of HLM15, Example 5. The sheet, section 3.

    Why it is private: a step costs at most the largest ratio of two neighbouring probabilities, D steps at most
    its D-th power, and the tables are made so that this stays below e^ε.

    >>> integer_laplace(2, Privacy(1)).epsilon() <= 1
    True
    """
    shift, privacy = _whole(sensitivity, "the sensitivity"), Privacy.of(privacy)
    return laplace_noise(shift, coordinates or shift, privacy.epsilon, privacy.delta)


@lru_cache(maxsize=256)
def laplace_noise(shift: int, coordinates: int, epsilon: Fraction, delta: Fraction = Fraction(0)) -> Noise:
    """Laplace noise for an l1 sensitivity of `shift` steps, as `integer_laplace` has it, for numbers that are exact."""
    demand_noise(epsilon, delta)

    def noise(scale: Fraction) -> Noise:
        return Noise("Laplace", two_sided(exp_below(1 / scale)), shift, coordinates)

    pure = Fraction(shift) / epsilon if epsilon else None
    if pure and delta == 0:
        return noise(pure)
    # On the lattice the ideal law needs the scale of the real line, or a little more.
    start = tight_scale(Fraction(shift), Privacy(epsilon, delta))
    return noise(least(lambda scale: noise(scale).worst(exp_below(epsilon)) <= delta, start, pure))


def tight_scale(diameter: Fraction, privacy: Privacy) -> Fraction:
    """diam/(ε − 2 ln(1 − δ)): the least scale on the real line, as δ(ε) = 1 − e^((ε − diam/b)/2).

    >>> round(float(tight_scale(Fraction(1), Privacy(1, "0.1"))), 10)
    0.8259541002
    """
    return diameter / (privacy.epsilon - 2 * log_below(1 - privacy.delta))


def integer_gaussian(square: Any, privacy: Promise, *, coordinates: int | None = None) -> Noise:
    """Gaussian noise on Z for answers whose squared l2 sensitivity is at most `square`.

    σ is the least whose profile, computed from the table that is sampled, meets (ε, δ); needs δ > 0.
    For one coordinate that is the lattice form of Balle and Wang 2018.

    Why it is private: the table is log-concave, so the worst set is a half-line and δ(ε) is one exact sum.

    >>> noise = integer_gaussian(1, Privacy(1, "1e-5"))
    >>> round(noise.variance ** 0.5, 3), noise.delta(1) <= 1e-5
    (3.74, True)
    """
    power, privacy = _whole(square, "the squared sensitivity"), Privacy.of(privacy)
    return _gaussian(power, coordinates or power, privacy.epsilon, privacy.delta)


@lru_cache(maxsize=256)
def _gaussian(square: int, coordinates: int, epsilon: Fraction, delta: Fraction) -> Noise:
    demand_gaussian(epsilon, delta)
    moving = min(coordinates, square)
    if moving > 1 and delta < Gaussian.least_charged(exp_below(epsilon), moving):  # else only the widest is refused
        raise TooLarge("delta is too small for Gaussian noise on several numbers to be proven: allow more of it")

    def noise(sigma: Fraction) -> Noise:
        # Where many coordinates move a little, cells of several values would cost much more than the ideal law.
        given: dict[str, int] = {"shift": isqrt(square)} if coordinates == 1 else {"widest_table": 8192}
        return Noise("Gaussian", gaussian_law(sigma**2, **given), square, coordinates)

    return noise(least(lambda sigma: noise(sigma).worst(exp_below(epsilon)) <= delta, Fraction(isqrt(square))))


def _whole(value: Any, name: str) -> int:
    """How many whole steps an answer can move; the part of a step below is out of reach on the lattice."""
    number = exact(value, name)
    if number < 1:
        raise ArgumentError(f"{name} must be at least 1 step of the lattice")
    if number > _LARGEST_SENSITIVITY**2:
        raise TooLarge(f"{name} is too large for 64-bit numbers; use a coarser step")
    return int(number)


def demand_gaussian(epsilon: Fraction, delta: Fraction) -> None:
    if delta == 0:
        raise ArgumentError("Gaussian noise needs delta above 0; at delta 0 use Laplace noise")
    demand_noise(epsilon, delta)


def demand_noise(epsilon: Fraction, delta: Fraction) -> None:
    if epsilon == 0 and delta == 0:
        raise ArgumentError("epsilon and delta are both 0: no finite noise hides everything; allow one of them")
    if delta == 1:
        raise ArgumentError("delta 1 promises nothing, so it needs no noise; ask for less than 1")


_FARTHEST, _FLATTEST = 4096, 1000  # a reach, in scales, and a scale, in reaches, that no useful law has
_NARROWEST = Fraction(1, 1000)  # a scale, in steps, beside which no other point of the lattice is ever drawn
_MOST_WRITTEN_OUT = 501  # points of an interval whose bounded Laplace noise is a matrix
_TOTAL = 1 << 60
_WORKING = 192  # bits in which the weights are computed before they are rounded
_NUDGES = (0, -44, -36, -28, -20, -14, -10)  # what rounding to whole numbers may cost, as powers of two


@named
def laplace(interval: Interval, privacy: Promise | None = None, *, scale: Any = None, clamp: bool = False) -> Mechanism:
    """The number plus Laplace noise on its lattice: P(Y_d = d + k·step) ∝ e^(−k·step/b).

    b = diam/ε at δ = 0, and about diam/(ε − 2 ln(1 − δ)) with δ, the least scale that the exact lattice profile
    allows; HLM15, Example 5 has diam/(ε − ln(1 − δ)), which is enough but not needed.
    Outputs lie on all of the lattice, or in the interval with `clamp`, which costs no privacy. With `scale` instead of
    a promise b is given; `epsilon()` gives what it keeps.

    Why it is private: see `integer_laplace`, with the diameter in steps as the sensitivity.

    `interval` holds the numbers; `privacy` is a Privacy or a number ε.

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


@named
def truncated_laplace(interval: Interval, privacy: Promise, *, clamp: bool = False) -> Mechanism:
    """Laplace noise of scale diam/ε, conditioned on |noise| ≤ A; needs δ > 0.

    A is the least reach for which the D lattice points that a shift leaves without a partner weigh at most δ:
    about (diam/ε)·ln(1 + (e^ε − 1)/2δ). Geng, Ding, Guo and Kumar 2020.

    Why it is private: where both laws have mass their ratio is at most e^ε, and the rest weighs at most δ.

    `interval` holds the numbers; `privacy` is a Privacy or a number ε; `clamp` moves what lies outside to the
    nearer end.

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


@named
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

    `interval` holds the numbers; `privacy` is a Privacy or a number ε with a δ above 0; `clamp` moves what lies
    outside to the nearer end.

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


@named
def staircase(interval: Interval, privacy: Promise, *, gamma: Any = None, clamp: bool = False) -> Mechanism:
    """The number plus staircase noise: flat stairs as wide as the diameter, each e^ε lower than the last.

    The first stair has the width γ·diam, γ = 1/(1 + e^(ε/2)), which gives E|noise| = diam·e^(ε/2)/(e^ε − 1), the
    least that pure privacy allows among all additive noise. Geng and Viswanath 2016. δ is not used. Another γ between
    0 and 1 may be given, such as the one that is best for the variance; it is rounded to the lattice.

    Why it is private: a shift of at most one diameter moves at most one stair.

    `interval` holds the numbers; `privacy` is a Privacy or a number ε; `gamma` is another γ; `clamp` moves what
    lies outside to the nearer end.

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


@named
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

    `interval` holds the numbers; `privacy` is a Privacy or a number ε.

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
            apart = np.abs(np.subtract.outer(np.arange(n + 1), np.arange(n + 1)))
            near = None if reach == n else (apart > 0) & (apart <= reach)
            return Matrix(_bounded_rows(n, b), _TOTAL, near)
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
        raise ArgumentError(f"a {name} below a thousandth of the step is no noise; use a finer step, or more noise")
    return given / interval.step, None


def _alone(name: str, interval: Interval, source: str) -> Mechanism:
    """One point has nothing to hide."""
    return Mechanism(name, interval, interval, KeepOrOther(1, 1, 1), source)


def _demand_interval(space: Any) -> None:
    expect(space, Interval, "interval", "an Interval, because noise is added to numbers")
