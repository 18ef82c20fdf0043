"""Wide Gaussian noise on the lattice from a few draws of one narrow table.

X₁ = H₁ and X_n = m·X_(n−1) + H_n, with independent lattice Gaussians H of standard deviation s. Completing the square,
P(X_n = x) ∝ exp(−x²/2σ_n²) · Σ_h exp(−(h − c)²/2r²) with σ_n² = m²σ_(n−1)² + s², r² ≥ s²/(m² + 1) and a centre c that
depends on x; by Poisson's summation the sum is the same for every c up to a factor 1 ± 2^-112 once r ≥ 2. So a table of
two or three thousand cells gives noise of any width: Gaussian noise up to factors that are known and charged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.errors import InputError
from dproof.exact import exp_above, log_below
from dproof.laws.gaussian import Gaussian, gaussian
from dproof.laws.normal import normal_delta

_RIPPLE = Fraction(1, 1 << 108)  # of ln Σ_h exp(−(h − c)²/2r²) over c, for r ≥ 2
_CUT = Fraction(1, 1 << 66)  # how far a table may lie from the lattice Gaussian, in total variation
_TAIL = 10  # standard deviations beyond which a coordinate is charged in full
_LARGEST_STEP = 128
_LEAST, _WIDEST = 100, 1 << 50


@dataclass(frozen=True, eq=False)
class Convolved:
    """X = m^(n−1)·H₁ + … + m·H_(n−1) + H_n for independent draws of a table.

    >>> law = convolved(Fraction(10**8))
    >>> round(float(law.variance)), law.step, law.draws
    (100000000, 67, 2)
    """

    table: Gaussian
    step: int
    draws: int

    def __post_init__(self) -> None:
        if self.table.unit != 1 or self.table.square < 4 * (self.step**2 + 1) or self.draws < 1:
            raise InputError("the narrow table is too narrow for its step: the sum would show a ripple")
        if self.table.distance > _CUT:
            raise InputError("the table is too coarse to stand for a lattice Gaussian")

    is_normal = True  # as nearly as matters to a band

    @property
    def farthest(self) -> int:
        return (len(self.table.weights) - 1) * sum(int(self.step**n) for n in range(self.draws))

    @property
    def square(self) -> Fraction:
        """σ² of the Gaussian law that this one follows."""
        return self.table.square * _powers(self.step, self.draws)

    @property
    def variance(self) -> Fraction:
        """E X², exactly; E X is 0."""
        return self.table.moments[2] * _powers(self.step, self.draws)

    def probability(self, k: int) -> Fraction:
        """P(X = k), exactly."""
        if self.draws == 1:
            return self.table.probability(k)
        rest, reach = Convolved(self.table, self.step, self.draws - 1), len(self.table.weights) - 1
        above = range(-((reach - k) // self.step), (reach + k) // self.step + 1)
        return sum((rest.probability(x) * self.table.probability(k - self.step * x) for x in above), Fraction(0))

    def delta_vector(self, odds: Fraction, square: int, coordinates: int) -> Fraction:
        """An upper bound of δ for vectors of noise whose shift has at most this squared l2 norm D².

        Let R be the law of a normal variable of variance σ², rounded to Z: post-processing, so that vectors of R
        keep the profile of two normal laws D/σ apart, in any dimension. Against R the lattice Gaussian P satisfies
        P(k) ≤ e^(1/8σ²) R(k) everywhere and P(k) ≥ e^(−K²/8σ⁴) R(k) for |k| ≤ K, as the mean of exp(−(k+u)²/2σ²)
        over a cell |u| ≤ ½ lies between those multiples of its middle. Hence, coordinate by coordinate, factors move
        ε and δ by next to nothing, values beyond K = D + 10σ are charged in full, and so is what the table cuts off.
        """
        if square == 0:
            return Fraction(0)
        sigma = Fraction(isqrt(int(self.square * 4**32)), 2**32)
        root = Fraction(isqrt(square * 4**32) + 1, 2**32)
        upper = 1 / (8 * self.square) + self.draws * _RIPPLE
        lower = (root + _TAIL * (sigma + 1)) ** 2 / (8 * self.square**2) + self.draws * _RIPPLE
        profile = normal_delta(root / sigma, log_below(odds) - coordinates * (upper + lower))
        return min(Fraction(1), exp_above(coordinates * upper) * profile + self.charged(odds, coordinates))

    def charged(self, odds: Fraction, coordinates: int) -> Fraction:
        """The part of δ that no wider noise removes: the tails, and what the tables cut off, multiplied by the odds."""
        tail = 2 * exp_above(Fraction(-(_TAIL**2), 2))  # P(|X| > 10σ) ≤ 2Φ(−10)e^upper, well below this
        return coordinates * (tail + self.draws * (1 + odds) * _CUT)

    def pure(self, shift: int) -> Fraction | None:
        """No odds serve at δ = 0: the table ends."""
        return None if shift else Fraction(1)

    def draw(self, count: int, coins: Coins) -> NDArray[np.int64]:
        """Independent draws."""
        drawn = self.table.draw(count, coins)
        for _ in range(1, self.draws):
            drawn *= self.step
            drawn += self.table.draw(count, coins)
        return drawn

    def record(self) -> Mapping[str, Any]:
        """The σ² of the table and how it is used, as JSON."""
        return {"kind": "convolved", "square": str(self.table.square), "step": self.step, "draws": self.draws}


def convolved(square: Fraction) -> Convolved:
    """Lattice Gaussian noise of σ² = `square`, at least 100 steps wide."""
    sigma = isqrt(int(square))
    if not _LEAST <= sigma <= _WIDEST:
        raise InputError(f"Gaussian noise of {sigma} steps cannot be made of several draws; change the step")
    draws = next(n for n in range(2, 10) if (sigma / 2.2) ** (1 / n) <= _LARGEST_STEP)
    step = int((sigma / 2.2) ** (1 / draws))
    return Convolved(gaussian(square / _powers(step, draws)), step, draws)


def _powers(step: int, draws: int) -> int:
    """1 + m² + m⁴ + …"""
    return sum(step ** (2 * n) for n in range(draws))
