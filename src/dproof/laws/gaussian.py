"""Lattice Gaussian noise from one table of whole numbers: a log-concave law with finitely many values.

A table is cut where its weights fall below 2^-80 of the peak; nothing is waved away for that: the profile is
computed from the table as it is, and the cells that a shift leaves without a partner count in full.

Noise that is wider than a table comes in two forms. For one number `Gaussian` spreads each cell evenly over several
values, and its profile stays exact. For vectors that would cost too much, so there `GaussianSum` adds up draws.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import isqrt, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins, Guide, guide, uniform_below
from dproof.composition import concentrated_delta
from dproof.errors import ArgumentError, TooLarge
from dproof.exact import exp_above, exp_below, log_above, log_below, root_above
from dproof.laws.divergence import normal_delta
from dproof.laws.law import Span, read_number
from dproof.laws.noise import NoiseLaw

_PEAK = 110  # bits of the largest weight
_CUT = 1 << 30  # the least weight that is kept
_WORKING = 256  # bits in which the weights are computed
_WIDEST = 1 << 50
_MOST_SHAPES = 60
_FEWEST_CELLS, _MOST_CELLS = 8, 16  # cells in a shift: too few for a shift by a part of one, and enough
_WIDEST_TABLE = 8192  # in standard deviations
# What tables may cost at smaller odds than those asked
_CHARGED = [Fraction(1, 1 << power) for power in range(8, 41, 2)]
_SQUARE: Span = (Fraction(1, 1 << 24), 1 << 30)
_SUMMED_SQUARE: Span = (8, 1 << 18)  # of one draw out of several
_RIPPLE = Fraction(1, 1 << 108)  # of ln Σ_h exp(−(h − c)²/2r²) over c, for r ≥ 2
_MOST_CUT = Fraction(1, 1 << 66)  # how far a table of a sum may lie from the lattice Gaussian, in total variation
_TAIL = 10  # standard deviations beyond which a coordinate is charged in full
NARROWEST_SUM, _LARGEST_STEP = 100, 128


@dataclass(frozen=True, eq=False)
class Gaussian(NoiseLaw):
    """X = unit·H + U with P(H = h) ∝ weights[|h|] and U uniform on the `unit` values around 0, unit odd.

    The weights are exp(−h²/2σ²), rounded down, and log-concave, which is checked: so the ratio P(h)/P(h−d) falls
    with h, every worst set is a half-line, and a larger shift is worse.

    >>> law = gaussian_law(Fraction(1))
    >>> round(float(law.probability(0)), 6), law.delta(Fraction(1), 0)
    (0.398942, Fraction(0, 1))
    """

    kind: ClassVar[str] = "gaussian"  # in certificates

    square: Fraction  # σ² in cells
    unit: int = 1

    def __post_init__(self) -> None:
        if self.square <= 0 or self.unit < 1 or self.unit % 2 == 0:
            raise ArgumentError("Gaussian noise needs a variance above 0, and cells of an odd number of values")

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """The weights of |h| = 0, 1, …: each the one before it times a falling step, in 256 bits."""
        one = 1 << _WORKING
        step, fall = (int(exp_below(-1 / (m * self.square), _WORKING + 16) * one) for m in (2, 1))
        weight, weights = one, []
        while weight >> (_WORKING - _PEAK) >= _CUT:
            weights.append(weight >> (_WORKING - _PEAK))
            weight = weight * step >> _WORKING
            step = step * fall >> _WORKING
        if not all(b * b >= a * c for a, b, c in zip(weights, weights[1:], weights[2:], strict=False)):
            raise AssertionError("the weights of a lattice Gaussian must be log-concave")
        return tuple(weights)

    @property
    def farthest(self) -> int:
        return self.unit * (len(self.weights) - 1) + self.unit // 2

    @property
    def scale(self) -> float:
        return self.unit * sqrt(self.square)

    @cached_property
    def _table(self) -> list[int]:
        return [*reversed(self.weights[1:]), *self.weights]

    @cached_property
    def _sums(self) -> list[int]:
        """Σ of the first n weights of the table, for n = 0, 1, …"""
        return list(accumulate(self._table, initial=0))

    def _cell(self, k: int) -> tuple[int, int]:
        """The table's index and the position within the cell of a value."""
        h, u = divmod(k + self.unit // 2, self.unit)
        return h + len(self.weights) - 1, u

    def probability(self, k: int) -> Fraction:
        index, _ = self._cell(k)
        weight = self._table[index] if 0 <= index < len(self._table) else 0
        return Fraction(weight, self._sums[-1] * self.unit)

    def cumulative(self, k: int) -> Fraction:
        index, u = self._cell(k)
        if not 0 <= index < len(self._table):
            return Fraction(int(index > 0))
        return Fraction(self._sums[index] * self.unit + self._table[index] * (u + 1), self._sums[-1] * self.unit)

    def denominator(self, reach: int) -> int:
        return self._sums[-1] * self.unit

    @cached_property
    def moments(self) -> tuple[Fraction, Fraction, Fraction]:
        """E X, E|X| and E X², exactly."""
        whole, u = self._sums[-1], self.unit
        first = Fraction(2 * sum(h * w for h, w in enumerate(self.weights)), whole)
        second = Fraction(2 * sum(h * h * w for h, w in enumerate(self.weights)), whole)
        within = Fraction(self.weights[0], whole) * Fraction(u * u - 1, 4 * u)  # |U| counts in the middle cell only
        return Fraction(0), u * first + within, u * u * second + Fraction(u * u - 1, 12)

    def delta(self, odds: Fraction, shift: int) -> Fraction:
        """The tight δ at these odds over all shifts of at most `shift`, exactly.

        A shift of q·unit + f moves H by q + 1 for f of the unit's values of U, and by q for the others.
        """
        q, f = divmod(shift, self.unit)
        mixed = (self.unit - f) * self._half_line(odds, q) + (f * self._half_line(odds, q + 1) if f else 0)
        return mixed / self.unit

    def _half_line(self, odds: Fraction, shift: int) -> Fraction:
        """max over t of P(H < t) − e·P(H < t − d)."""
        table, a, b = self._table, odds.numerator, odds.denominator
        if shift == 0:
            return Fraction(0)
        if shift >= len(table):
            return Fraction(1)
        rest = range(shift, len(table))
        cut = shift + bisect_left(rest, True, key=lambda n: table[n] * b <= a * table[n - shift])
        return Fraction(b * self._sums[cut] - a * self._sums[cut - shift], b * self._sums[-1])

    def delta_vector(self, odds: Fraction, square: int, coordinates: int) -> Fraction:
        """An upper bound of δ for vectors of noise whose shift has at most this squared l2 norm.

        The loss of a shift s depends on y = Σ s_i x_i alone, so the worst set is a half-line in y. While the
        shapes that s can have are few, each is convolved exactly; else concentrated privacy bounds them all
        (Canonne, Kamath, Steinke 2020). Both hold for the ideal law; a table differs from it by `distance`.
        """
        moving = min(coordinates, square)
        if moving <= 1:
            return self.delta(odds, isqrt(square) if square else 0)
        shapes = list(_shapes(square, coordinates)) if self.unit == 1 and square <= 16 else []
        root = root_above(Fraction(square)) / self.unit
        if self.unit > 1:  # a shift that is no multiple of the unit may move every H by one more
            root += root_above(Fraction(moving))

        def bound(odds: Fraction) -> Fraction:
            slack = 2 * (1 + odds) * moving * self.distance
            if slack >= 1:
                return Fraction(1)
            if 0 < len(shapes) <= _MOST_SHAPES:
                return max(self._shape(odds, s) for s in shapes) + slack
            return concentrated_delta(root**2 / (2 * self.square), log_below(odds)) + slack

        # δ falls with the odds, but at very large ones tables cost more than the law: there smaller ones are the bound.
        smaller = {min(odds, max(Fraction(1), cost / (4 * moving * self.distance))) for cost in _CHARGED}
        return min(Fraction(1), *map(bound, {odds, *smaller}))

    @staticmethod
    def least_charged(odds: Fraction, moving: int) -> Fraction:
        """What the tables of so many numbers that move cost at least, however wide the noise (see `delta_vector`)."""
        distance = _distance(0)
        return min(2 * (1 + odds) * moving * distance, max(4 * moving * distance, _CHARGED[-1] / 2))

    def _shape(self, odds: Fraction, shape: tuple[int, ...]) -> Fraction:
        """P(y < t) − e·P(y < t − |s|²) at the ideal law's cut t = |s|²/2 − σ² ln e, for the table's y."""
        from flint import fmpz_poly

        reach, power = len(self.weights) - 1, sum(s * s for s in shape)
        law = fmpz_poly([1])
        for s in shape:
            stretched = [0] * ((len(self._table) - 1) * s + 1)
            stretched[::s] = self._table
            law *= fmpz_poly(stretched)
        sums = list(accumulate((int(w) for w in law.coeffs()), initial=0))
        cut = -((self.square * log_above(odds) - Fraction(power, 2)) // 1) + reach * sum(shape)
        own, other = (sums[min(max(n, 0), len(sums) - 1)] for n in (cut, cut - power))
        return max(Fraction(0), own - odds * other) / sums[-1]

    @property
    def distance(self) -> Fraction:
        """A bound of the total variation between the table and the ideal law on all of Z.

        Of weights with a peak of 2^110, each is within 2 of the ideal one, and those cut off start below 2^30 and
        fall by e^(−1/σ) and more per cell: fewer than 100·(σ + 1) weights at 2, and 2^31·(σ + 1) cut off.
        """
        return _distance(isqrt(int(self.square)))

    @cached_property
    def _guide(self) -> Guide:
        return guide([self._table], self._sums[-1])

    def draw(self, count: int, coins: Coins) -> NDArray[np.int64]:
        drawn = (self._guide.sample(count, coins).astype(np.int64) - (len(self.weights) - 1)) * self.unit
        if self.unit > 1:
            drawn += uniform_below(np.broadcast_to(np.int64(self.unit), count), coins) - self.unit // 2
        return drawn

    def to_json(self) -> Mapping[str, Any]:
        """The record of a certificate."""
        weights = [str(w) for w in self.weights]
        return {"kind": self.kind, "square": str(self.square), "weights": weights, "unit": self.unit}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Gaussian:
        return cls(Fraction(read_number(record, "square", _SQUARE)), read_number(record, "unit", (1, _WIDEST)))


def _distance(deviation: int) -> Fraction:
    """The bound of `distance`, for a law of this standard deviation, rounded down."""
    return Fraction((deviation + 2) << 32, 1 << _PEAK)


def gaussian_law(square: Fraction, *, widest_table: int = 512, shift: int | None = None) -> Gaussian:
    """Lattice Gaussian noise with σ² = `square`, in steps; past the widest table, in standard deviations, a cell
    holds several values. `shift` is how many steps one number moves, where the noise is for one.
    """
    sigma = isqrt(int(square))
    if sigma > _WIDEST:
        raise TooLarge(
            "the noise would be too wide; use a coarser step, say how many coordinates move, or more epsilon"
        )
    unit = 1 if sigma <= widest_table else _cell(sigma, shift)
    return Gaussian(square / unit**2, unit)


def _cell(sigma: int, shift: int | None) -> int:
    """The number of values of a cell, for wide noise.

    A shift by a part of a cell moves some values by a whole one. Where a shift is less than a few cells that costs
    much more than the ideal law does, so there a shift is made a whole number of cells, or nearly so.
    """
    unit = 2 * (sigma // 800) + 1
    most = 0 if shift is None or unit * _FEWEST_CELLS <= shift else min(_MOST_CELLS, _WIDEST_TABLE * shift // sigma)
    if shift is None or most == 0:
        return unit
    even = shift & -shift  # the largest power of 2 that divides it: a cell is odd
    return shift // even if even <= most else (shift // most - 1) | 1


def _shapes(square: int, coordinates: int, largest: int | None = None) -> Iterator[tuple[int, ...]]:
    """Falling sequences of so many whole numbers whose squares sum to at most `square`, all maximal ones included."""
    top = min(isqrt(square), largest or square)
    if top == 0 or coordinates == 0:
        yield ()
        return
    for s in range(1, top + 1):
        yield from ((s, *rest) for rest in _shapes(square - s * s, coordinates - 1, s))


@dataclass(frozen=True, eq=False)
class GaussianSum:
    """X = m^(n−1)·H₁ + … + m·H_(n−1) + H_n for independent draws H of a table: Gaussian noise of any width.

    Completing the square, X₁ = H₁ and X_n = m·X_(n−1) + H_n have P(X_n = x) ∝ exp(−x²/2σ_n²) · Σ_h exp(−(h − c)²/2r²)
    with σ_n² = m²σ_(n−1)² + s² for tables of variance s², r² ≥ s²/(m² + 1), and a centre c that depends on x. By
    Poisson's summation the sum is the same for every c up to a factor 1 ± 2^-112 once r ≥ 2: so a table of two or
    three thousand cells is enough, up to factors that are known and charged.

    >>> law = gaussian_sum(Fraction(10**8))
    >>> round(float(law.variance)), law.step, law.draws
    (100000000, 67, 2)
    """

    kind: ClassVar[str] = "convolved"  # in certificates
    is_normal: ClassVar[bool] = True  # as nearly as matters to a band

    table: Gaussian
    step: int
    draws: int

    def __post_init__(self) -> None:
        if self.table.unit != 1 or self.table.square < 4 * (self.step**2 + 1) or self.draws < 1:
            raise ArgumentError("the narrow table is too narrow for its step: the sum would show a ripple")
        if self.table.distance > _MOST_CUT:
            raise ArgumentError("the table is too coarse to stand for a lattice Gaussian")

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
        # To the same 32 places as in the stand-alone verifier, which must find the same bound.
        sigma, root = Fraction(isqrt(int(self.square * 4**32)), 2**32), Fraction(isqrt(square * 4**32) + 1, 2**32)
        upper = 1 / (8 * self.square) + self.draws * _RIPPLE
        lower = (root + _TAIL * (sigma + 1)) ** 2 / (8 * self.square**2) + self.draws * _RIPPLE
        profile = normal_delta(root / sigma, log_below(odds) - coordinates * (upper + lower))
        return min(Fraction(1), exp_above(coordinates * upper) * profile + self.charged(odds, coordinates))

    def charged(self, odds: Fraction, coordinates: int) -> Fraction:
        """The part of δ that no wider noise removes: the tails, and what the tables cut off, multiplied by the odds."""
        tail = 2 * exp_above(Fraction(-(_TAIL**2), 2))  # P(|X| > 10σ) ≤ 2Φ(−10)e^upper, well below this
        return coordinates * (tail + self.draws * (1 + odds) * _MOST_CUT)

    def pure(self, shift: int) -> Fraction | None:
        return self.table.pure(shift)

    def draw(self, count: int, coins: Coins) -> NDArray[np.int64]:
        """Independent draws."""
        drawn = self.table.draw(count, coins)
        for _ in range(1, self.draws):
            drawn *= self.step
            drawn += self.table.draw(count, coins)
        return drawn

    def to_json(self) -> Mapping[str, Any]:
        """The record of a certificate: σ² of the table, and how it is used."""
        return {"kind": self.kind, "square": str(self.table.square), "step": self.step, "draws": self.draws}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> GaussianSum:
        table = Gaussian(Fraction(read_number(record, "square", _SUMMED_SQUARE)))
        return cls(table, read_number(record, "step", (1, _LARGEST_STEP)), read_number(record, "draws", (1, 9)))


def gaussian_sum(square: Fraction) -> GaussianSum:
    """Lattice Gaussian noise of σ² = `square`, at least 100 steps wide."""
    sigma = isqrt(int(square))
    if not NARROWEST_SUM <= sigma <= _WIDEST:
        raise ArgumentError(f"Gaussian noise of {sigma} steps cannot be made of several draws; change the step")
    draws = next(n for n in range(2, 10) if (sigma / 2.2) ** (1 / n) <= _LARGEST_STEP)
    step = int((sigma / 2.2) ** (1 / draws))
    return GaussianSum(gaussian_law(square / _powers(step, draws)), step, draws)


def _powers(step: int, draws: int) -> int:
    """1 + m² + m⁴ + …"""
    return sum(step ** (2 * n) for n in range(draws))
