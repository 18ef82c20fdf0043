"""Whole-number noise for whole-number answers, calibrated to a sensitivity: output perturbation on a lattice.

HLM15, section 2.4 and Example 5; the sheet, sections 2 and 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof import coins
from dproof.errors import ArgumentError, TooLarge
from dproof.exact import exact, exp_below, float_above, least, least_whole, log_above, log_below
from dproof.laws.divergence import profile_odds
from dproof.laws.gaussian import Gaussian, gaussian
from dproof.laws.laplace import TwoSided, two_sided
from dproof.privacy import Privacy, Promise, as_delta, as_epsilon

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
        near = round(self.variance**0.5 * -log(max(float(1 - wanted), 1e-300)) / 2**0.5)  # where Laplace noise has it
        return least_whole(lambda t: self.within(t) >= wanted, near)

    @property
    def variance(self) -> float:
        """E (X − E X)² of one draw."""
        mean, _, square = self.law.moments
        return float(square - mean**2)

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
    return _laplace(shift, coordinates or shift, privacy.epsilon, privacy.delta)


@lru_cache(maxsize=256)
def _laplace(shift: int, coordinates: int, epsilon: Fraction, delta: Fraction) -> Noise:
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

    def noise(sigma: Fraction) -> Noise:
        # Where many coordinates move a little, cells of several values would cost much more than the ideal law.
        law = gaussian(sigma**2, shift=isqrt(square)) if coordinates == 1 else gaussian(sigma**2, widest_table=8192)
        return Noise("Gaussian", law, square, coordinates)

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
