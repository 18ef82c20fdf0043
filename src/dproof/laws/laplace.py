"""Noise with geometric tails, as tables of whole numbers: Laplace noise, on all of Z or bounded, and stairs.

Laplace noise X is G or −1 − G by a sign, and G ≥ 0 is written in base 128. For a geometric G the digits are
independent, so each digit has a small table of whole numbers; the top one carries the sign and has a last cell, the
escape, that adds one block of top digits and draws again: the geometric law has no memory, so the tables reach all of
Z. The tables *are* the law. Every ratio P(k)/P(k+1) of two neighbours, within a digit or across a carry, is one of
finitely many fractions, and their maximum bounds what a step costs. `IdealLaplace` is what the tables approach.
`BoundedLattice` is the law of numbers with such noise, given that they stay inside of their interval.

Staircase noise has flat stairs as wide as the sensitivity, each lower than the last by one ratio. Stair 0 is |k| <
inner, stair i ≥ 1 is inner + (i−1)·width ≤ |k| < inner + i·width. A shift of at most `width` changes |k| by no more
than that, so it moves at most one stair up or down, and costs at most the ratio of two neighbouring stairs: finitely
many fractions, as the stairs come in blocks without memory. Geng and Viswanath 2016; Geng, Kairouz, Oh and Viswanath
2015.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, chain, pairwise
from math import ceil, log, log1p, prod
from operator import mul
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins, Guide, drawn_again, guide, sample_digits, uniform_below
from dproof.errors import ArgumentError, TooLarge, VerificationFailed
from dproof.exact import exp_above, exp_below, log_above, log_below
from dproof.laws.divergence import Odds, Worst
from dproof.laws.law import SIZE, read_number
from dproof.laws.noise import TABLED, Lattice, NoiseLaw
from dproof.spaces.space import Space

_MOST_BLOCKS = 1 << 14  # beyond, a probability has a million digits
_SHIFT = 7
_BASE = 1 << _SHIFT
_ROOM = 1 << 62  # totals come close below this, so that almost no word belongs to nobody
_WIDEST_TOP = 100  # scale, in top digits, up to which one more digit would only cost words
# How many scales a top table has, and the room that its escapes take. In the longer one the last weights are small: of
# very wide noise, rounding them up would make them larger than their neighbours by more than a step may cost.
_TOPS = ((7, 2.0**-10), (3, 2.0**-4))
_WIDEST = 1 << 50  # scale beyond which whole numbers of 62 bits grow coarse and sums near 2^63
_FARTHEST = 1 << 10  # blocks of a recorded table that a law is followed through
MOST_BOUNDED = 1 << 20  # points of an interval that noise must not leave
_TILE = 1 << 20  # draws per step: the few escapes of a step are settled together


@dataclass(frozen=True, eq=False)
class TwoSided(NoiseLaw):
    """P(k) falls by about 1/ratio with every step away from 0, and never by more.

    `lower` holds one table of 128 weights per digit, the lowest first; `top` the weights of the top digit for each
    sign, the escape last. With a `reach` A the law is conditioned on |X| ≤ A (truncated Laplace noise).

    >>> law = two_sided(Fraction(2))
    >>> [round(float(law.probability(k)), 6) for k in (-1, 0, 1)], law.ratio <= 2
    ([0.166667, 0.333333, 0.166667], True)
    """

    kind: ClassVar[str] = "two-sided"  # in certificates
    is_normal: ClassVar[bool] = False

    lower: tuple[tuple[int, ...], ...]
    top: tuple[tuple[int, ...], tuple[int, ...]]
    reach: int | None = None

    def __post_init__(self) -> None:
        digits = all(len(table) == _BASE for table in self.lower)
        shaped = digits and len(self.top) == 2 and len(self.top[0]) == len(self.top[1]) > 1
        if not shaped or min(map(min, (*self.lower, *self.top))) < 1 or (self.reach is not None and self.reach < 0):
            raise ArgumentError("noise in digits needs 128 weights a digit, two equal top tables, and no weight of 0")

    @property
    def farthest(self) -> int | None:
        return self.reach

    @property
    def scale(self) -> float:
        return float(1 / log_above(self.ratio))

    @property
    def block(self) -> int:
        return self.unit * (len(self.top[0]) - 1)

    @property
    def unit(self) -> int:
        """The worth of one step of the top digit."""
        return 1 << (_SHIFT * len(self.lower))

    @cached_property
    def _either(self) -> tuple[int, ...]:
        """The top digit's weights whatever the sign: the law of every block after the first."""
        return tuple(a + b for a, b in zip(*self.top, strict=True))

    @cached_property
    def _whole(self) -> int:
        return sum(self._either)

    @cached_property
    def _signs(self) -> tuple[Geometric, ...]:
        """The law of the top digit, in blocks, with each sign."""
        return tuple(Geometric(table, self._either, self._whole) for table in self.top)

    @cached_property
    def _lower_wholes(self) -> tuple[int, ...]:
        return tuple(map(sum, self.lower))

    @cached_property
    def ratio(self) -> Fraction:
        """The largest P(k)/P(k ± 1) over all k: the odds that one step can cost."""
        most, least = 1, 1
        for p, q in self._neighbours():
            p, q = max(p, q), min(p, q)
            if p * least > most * q:
                most, least = p, q
        return Fraction(most, least)

    def _neighbours(self) -> Iterator[tuple[int, int]]:
        """The extremes of P(k) : P(k+1) for steps away from 0, and P(0) : P(−1), as whole numbers."""
        yield self.top[0][0], self.top[1][0]
        p, q = 1, 1  # what it changes that all digits below turn from 127 to 0
        for table in self.lower:
            yield from ((p * this, q * following) for this, following in _steepest(table))
            p, q = p * table[-1], q * table[0]
        whole, either = self._whole, self._either
        for table in (*self.top, either):
            yield from ((p * this, q * following) for this, following in _steepest(table[:-1]))
            yield p * table[-2] * whole, q * table[-1] * either[0]

    def probability(self, k: int) -> Fraction:
        if self.reach is None:
            return self._mass(k)
        return self._mass(k) / self._kept if abs(k) <= self.reach else Fraction(0)

    def cumulative(self, k: int) -> Fraction:
        if self.reach is None:
            return self._upto(k)
        inside = min(max(k, -self.reach - 1), self.reach)
        return (self._upto(inside) - self._upto(-self.reach - 1)) / self._kept

    def cumulatives(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """P(X ≤ k) of many k, each rounded once: whole numbers over one denominator for each top digit."""
        if self.reach is not None:
            return super().cumulatives(places)
        tables = [(table, list(accumulate(reversed(table), initial=0))[-2::-1]) for table in self.lower]
        totals, parts, found = self._lower_wholes, dict[tuple[int, int], tuple[int, int, int]](), list[float]()
        for k in places.tolist():
            sign, g = (1, -k - 2) if k < 0 else (0, k)
            if g < 0:
                found.append(float(self.cumulative(k)))
                continue
            larger, whole = 0, 1  # as in `_beyond`
            for (table, above), total in zip(tables, totals, strict=True):
                g, digit = divmod(g, _BASE)
                larger, whole = larger * table[digit] + whole * above[digit], whole * total
            if (sign, g) not in parts:
                parts[sign, g] = self._signs[sign].parts(g)
            beyond, there, denominator = parts[sign, g]
            numerator, denominator = beyond * whole + there * larger, denominator * whole
            found.append((numerator if k < 0 else denominator - numerator) / denominator)
        return np.array(found)

    @cached_property
    def _kept(self) -> Fraction:
        """P(|X| ≤ reach) before conditioning."""
        assert self.reach is not None
        return self._upto(self.reach) - self._upto(-self.reach - 1)

    def _digits(self, g: int) -> tuple[int, list[int]]:
        """The top digit, whatever block it lies in, and the lower ones, the lowest first."""
        digits = []
        for _ in self.lower:
            g, digit = divmod(g, _BASE)
            digits.append(digit)
        return g, digits

    def _mass(self, k: int) -> Fraction:
        top, digits = self._digits(~k if k < 0 else k)
        weight = prod(table[digit] for table, digit in zip(self.lower, digits, strict=True))
        return self._signs[k < 0].chance(top) * Fraction(weight, prod(self._lower_wholes))

    def _upto(self, k: int) -> Fraction:
        return self._beyond(1, ~k - 1) if k < 0 else 1 - self._beyond(0, k)

    def _beyond(self, sign: int, g: int) -> Fraction:
        """P(this sign and G > g): the digits down to the first that is larger."""
        top, digits = self._digits(g)
        larger, whole = 0, 1  # P(the lower digits are larger)
        for table, total, digit in zip(self.lower, self._lower_wholes, digits, strict=True):
            larger, whole = larger * table[digit] + whole * sum(table[digit + 1 :]), whole * total
        return self._signs[sign].above(top) + self._signs[sign].chance(top) * Fraction(larger, whole)

    def denominator(self, reach: int) -> int:
        kept = self._kept.numerator if self.reach is not None else 1
        blocks = reach // self.block + 2
        return int(kept * prod(self._lower_wholes) * self._whole**blocks)

    def delta(self, odds: Fraction, shift: int) -> Fraction:
        """An upper bound of δ at these odds over all shifts of at most `shift` steps, tight to 1e-9 but for noise
        that is narrower than a step."""
        return self.delta_vector(odds, shift, 1)

    def delta_vector(self, odds: Fraction, shift: int, coordinates: int) -> Fraction:
        """An upper bound of δ at these odds for vectors of noise whose shift has at most this l1 norm.

        With a = 1/ratio, P(k) ≥ P(0)·a^|k| for all k. So P = c·L + (1 − c)·N with the ideal law
        L(k) = (1−a)/(1+a)·a^|k|, some law N and c = P(0)/L(0), and by convexity δ ≤ c^m·δ_L + 1 − c^m where m
        coordinates move; c^m ≥ 1 − m(1 − c). For L a shift of one coordinate is worst: the loss of a shift
        (d₁, d₂) is a function of s = s₁ + s₂ with s_i = x_i cut to [0, d_i], all that counts is P(s ≥ t) for
        t ≤ ⌈(d₁ + d₂)/2⌉, and then max(d₁, d₂) ≥ t gives P(s ≥ t) ≥ P(x ≥ t); further coordinates follow one by one.
        """
        if shift == 0 or (self.reach is None and log_above(self.ratio) * shift <= log_below(odds)):
            return Fraction(0)
        ideal = IdealLaplace(1 / self.ratio, self.reach)
        missing = min(coordinates, shift) * max(Fraction(0), 1 - self.probability(0) / ideal.peak_above)
        return min(Fraction(1), ideal.delta(odds, shift) + missing)

    def pure(self, shift: int) -> Fraction | None:
        """Odds that no shift of at most `shift` steps in l1 exceeds: ratio^shift, with room for their logarithm."""
        return None if self.reach is not None else exp_above(shift * log_above(self.ratio) + Fraction(1, 1 << 90))

    @cached_property
    def moments(self) -> tuple[Fraction, Fraction, Fraction]:
        """E X, E|X| and E X²: exactly, or with a reach those of the ideal law, to twelve digits."""
        if self.reach is not None:
            return Fraction(0), *IdealLaplace(1 / self.ratio, self.reach).moments
        low_mean = low_variance = Fraction(0)
        for n, table in enumerate(self.lower):
            m, v = _mean_variance(table)
            low_mean, low_variance = low_mean + m * _BASE**n, low_variance + v * _BASE ** (2 * n)
        mean = absolute = square = Fraction(0)
        for sign, blocks in enumerate(self._signs):
            mass, (t, t2) = blocks.above(-1), blocks.moments
            t, t2 = self.unit * t, self.unit**2 * t2
            g, g2 = t + low_mean * mass, t2 + 2 * t * low_mean + (low_variance + low_mean**2) * mass
            if sign:  # X = −1 − G
                g, g2 = g + mass, g2 + 2 * g + mass
            mean, absolute, square = mean + (-g if sign else g), absolute + g, square + g2
        return mean, absolute, square

    def capped(self, sign: int, most: int) -> Fraction:
        """By digits, however many steps there are: |X| is G, or G + 1 below 0."""
        if self.reach is not None or most == 0:
            return super().capped(sign, most)
        if sign:
            return self._signs[1].above(-1) + self._capped(1, most - 1)
        return self._capped(0, most)

    def _capped(self, sign: int, most: int) -> Fraction:
        """E min(G, most) over this sign, by the top digit."""
        blocks, (top, rest) = self._signs[sign], divmod(most, self.unit)
        chances = [blocks.chance(t) for t in range(top)]
        inside = sum((self.unit * t * chance for t, chance in enumerate(chances)), Fraction(0))
        inside += sum(chances, Fraction(0)) * self._low_mean(len(self.lower))
        at = blocks.chance(top) * (self.unit * top + self._low_capped(len(self.lower), rest))
        return inside + at + blocks.above(top) * most

    def _low_mean(self, digits: int) -> Fraction:
        """The mean of the lowest digits."""
        return sum((_mean_variance(self.lower[n])[0] * _BASE**n for n in range(digits)), Fraction(0))

    def _low_capped(self, digits: int, most: int) -> Fraction:
        """E min(L, most) of the lowest digits."""
        if digits == 0:
            return Fraction(0)
        table, worth = self.lower[digits - 1], _BASE ** (digits - 1)
        digit, rest = divmod(most, worth)
        below = sum(w * d * worth for d, w in enumerate(table[:digit])) + sum(table[:digit]) * self._low_mean(
            digits - 1
        )
        at = table[digit] * (digit * worth + self._low_capped(digits - 1, rest))
        return Fraction(below + at + sum(table[digit + 1 :]) * most, sum(table))

    @cached_property
    def _guides(self) -> tuple[Guide, ...]:
        """A guide for each digit, the top one first; an escape is named as the first value of the next block.

        −1 − G is the complement of G and digits lie in bits of their own, so the value is the exclusive or of its
        digits, the top one complemented for a negative sign.
        """
        positive, negative = self.top
        digits = np.arange(len(positive)) * self.unit
        narrow = np.min_scalar_type(-int(digits[-1]) - self.unit - 1)  # with room for the guide's own mark
        signed = np.concatenate([digits, ~digits]).astype(narrow)
        top = guide([[*positive, *negative]], self._whole, values=signed)
        places = [(np.arange(_BASE) << (_SHIFT * n)).astype(narrow) for n in range(len(self.lower))]
        lower = zip(self.lower, self._lower_wholes, places, strict=True)
        return top, *(guide([table], whole, values=place) for table, whole, place in lower)

    def draw(self, count: int, coins: Coins) -> NDArray[np.int64]:
        """Independent draws; a value beyond 2^63, of chance below e^-8000, wraps round, which only post-processes."""
        drawn, reach = np.empty(count, np.int64), self.reach
        for first in range(0, count, _TILE):
            self._fill(drawn[first : first + _TILE], coins)
        if reach is None:
            return drawn
        return drawn_again(
            drawn, lambda places: self._fill(np.empty(len(places), np.int64), coins), lambda some: np.abs(some) > reach
        )

    def _fill(self, tile: NDArray[np.int64], coins: Coins) -> NDArray[np.int64]:
        values, block = sample_digits(self._guides, len(tile), coins), self.block
        tile[:] = values
        escaped = np.flatnonzero((values >= block) | (values < -block))
        if len(escaped):

            def fresh(count: int) -> NDArray[np.int64]:
                digits = self._guides[0].sample(count, coins).astype(np.int64)
                return digits ^ (digits >> 63)  # whatever their sign

            beyond = tile[escaped]
            sign = beyond >> 63
            tile[escaped] = ((beyond ^ sign) + draw_on(fresh, len(escaped), block)) ^ sign
        return tile

    def to_json(self) -> Mapping[str, Any]:
        """The record of a certificate."""
        lower, top = ([[str(w) for w in table] for table in tables] for tables in (self.lower, self.top))
        return {"kind": self.kind, "lower": lower, "top": top, "reach": self.reach}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> TwoSided:
        lower, top = (read_number(record, name, TABLED) for name in ("lower", "top"))
        law = cls(lower, top, None if record["reach"] is None else read_number(record, "reach", SIZE))
        if law.reach is not None and law.reach // law.unit > _FARTHEST * (len(top[0]) - 1):
            raise VerificationFailed("the certificate cannot be read: 'reach' lies too far beyond its table")
        return law


def two_sided(ratio: Fraction, reach: int | None = None) -> TwoSided:
    """The tables whose every neighbouring ratio is at most `ratio`, and as near to it as 62 bits allow.

    Each weight is its neighbour over the ratio, rounded up, so no ratio is ever exceeded.
    """
    if ratio <= 1:  # ε over the sensitivity lies below what 128 bits tell from 0
        raise TooLarge("noise that wide cannot be drawn on the lattice; use a coarser step, or more epsilon")
    scale = 1 / log1p(float(ratio - 1)) if ratio < 1 << 900 else 0.0
    if not scale <= _WIDEST:
        raise TooLarge(f"noise of scale {scale:.3g} steps is too wide; use a coarser step, or more epsilon")
    lower: list[tuple[int, ...]] = []
    fall, width = ratio, scale  # what one step of the current digit may cost, and the scale in its steps
    while width > _WIDEST_TOP:
        table = falling(_room(width, _BASE), fall, _BASE)
        lower.append(tuple(table))
        fall *= Fraction(table[0], table[-1])
        width /= _BASE
    for scales, slack in _TOPS:
        law = TwoSided(tuple(lower), _top(fall, ratio, width, scales, slack), reach)
        if law.ratio <= ratio:
            return law
    raise TooLarge(f"noise of scale {scale:.3g} steps is too wide for tables of 62 bits; use a coarser step")


def _room(width: float, cells: int) -> int:
    """The first weight of a falling table whose sum shall come close to the room."""
    mass = sum(np.exp(-np.arange(cells) / width).tolist()) if width else 1.0
    return int(_ROOM * (1 - 2.0**-12) / mass)


def _top(
    fall: Fraction, ratio: Fraction, width: float, scales: int, slack: float
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The top digit by sign: a block of `scales` scales, then the escape."""
    cells = ceil(scales * width) + 1
    first = int(_room(width, cells) / (1 + 1 / float(min(ratio, Fraction(1 << 900)))) * (1 - slack))
    positive = falling(first, fall, cells)
    negative = falling(-(-first * ratio.denominator // ratio.numerator), fall, cells)
    # P(last cell) ≤ fall · P(first cell of the next block), for each sign and whatever the escapes add to the total.
    start = positive[0] + negative[0]
    shares = [table[-1] / (fall * start) for table in (positive, negative)]
    inside, left = sum(positive) + sum(negative), 1 - sum(shares)
    for table, share in zip((positive, negative), shares, strict=True):
        table.append(int(share * inside / left) + 2)
    return tuple(positive), tuple(negative)


def _steepest(table: Sequence[int]) -> Iterable[tuple[int, int]]:
    """The neighbours in a table with the largest quotient and those with the least; none where there is one entry.

    >>> _steepest([9, 6, 2, 1])
    ((6, 2), (9, 6))
    """
    if len(table) < 2:
        return ()
    largest = least = (table[0], table[1])
    for this, following in pairwise(table):
        if this * largest[1] > largest[0] * following:
            largest = this, following
        elif this * least[1] < least[0] * following:
            least = this, following
    return largest, least


def _mean_variance(table: Sequence[int]) -> tuple[Fraction, Fraction]:
    """Mean and variance of one digit."""
    first, second = (Fraction(total, sum(table)) for total in _digit_sums(table))
    return first, second - first**2


@dataclass(frozen=True, slots=True)
class IdealLaplace:
    """The law L(k) = (1−a)/(1+a)·a^|k| with a rational a, on |k| ≤ reach where a reach is given; one-sided bounds.

    >>> law = IdealLaplace(Fraction(1, 2), None)
    >>> law.peak_above, law.delta(Fraction(1), 1)
    (Fraction(1, 3), Fraction(1, 3))
    """

    a: Fraction
    reach: int | None

    def _power(self, k: int, up: bool) -> Fraction:
        """a^k, rounded up or down; exact while that is cheap."""
        if k <= 16:
            return Fraction(self.a**k)
        return exp_above(k * log_above(self.a)) if up else exp_below(k * log_below(self.a))

    def _upto(self, k: int, up: bool) -> Fraction:
        """P(X ≤ k) for the law on all of Z, rounded up or down."""
        return self._power(-k, up) / (1 + self.a) if k < 0 else 1 - self._power(k + 1, not up) / (1 + self.a)

    def _reached(self, k: int, up: bool) -> Fraction:
        """P(X ≤ k and |X| ≤ reach) for the law on all of Z, rounded up or down."""
        if self.reach is None:
            return self._upto(k, up)
        return max(Fraction(0), self._upto(min(k, self.reach), up) - self._upto(-self.reach - 1, not up))

    @property
    def _kept(self) -> Fraction:
        """P(|X| ≤ reach) for the law on all of Z, rounded down."""
        return Fraction(1) if self.reach is None else 1 - 2 * self._upto(-self.reach - 1, True)

    @property
    def peak_above(self) -> Fraction:
        """P(X = 0), or a little more."""
        return (1 - self.a) / (1 + self.a) / self._kept

    def delta(self, odds: Fraction, shift: int) -> Fraction:
        """The tight δ at odds e ≥ 1 for all shifts up to D, or a little more.

        The ratio P(k)/P(k−D) falls with k, so the worst set is {k ≤ K}; on Z, K = ⌈(D − b·ln e)/2⌉ − 1 with
        a = e^(−1/b), and δ = 1 − a^(K+1)/(1+a) − e·a^(D−K)/(1+a) for b·ln e < D, else 0.
        """
        if shift == 0:
            return Fraction(0)
        steps = log_below(odds) / -log_below(self.a)
        cut = -((steps - shift) // 2) - 1
        # Logarithms are known to 2^-100 or so: a cut that is off by one is caught by its neighbours.
        near = [k for k in (cut - 1, cut, cut + 1) if k >= 0]
        if self.reach is not None:  # up to here the shifted law has no mass, so all of this is in the worst set
            near.append(shift - self.reach - 1)
        excess = (self._reached(k, True) - odds * self._reached(k - shift, False) for k in near)
        return max([Fraction(0), *excess]) / self._kept

    @property
    def moments(self) -> tuple[Fraction, Fraction]:
        """E|X| and E X², to a hundred bits: Σ k·a^k and Σ k²·a^k in closed form."""
        a, n = self.a, self.reach or 0
        tail = Fraction(0) if self.reach is None else self._power(n, True)
        first = a * (1 - (n + 1) * tail + n * tail * a) / (1 - a) ** 2
        ends = (n + 1) ** 2 - (2 * n * n + 2 * n - 1) * a + n * n * a * a
        second = a * (1 + a - tail * ends) / (1 - a) ** 3
        mass = 1 + 2 * a * (1 - tail) / (1 - a)
        return 2 * first / mass, 2 * second / mass


# Geometric blocks, which noise is made of -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Geometric:
    """A geometric law on 0, 1, 2, … in blocks: a table of digits whose last entry, the escape, adds one block and draws
    again. It has no memory, so finitely many whole numbers reach everything.

    T is a digit of `first`, or, at its escape, the number of its digits plus a draw that goes on with `tail`.
    `first` may be a part of a table of which `whole` is the sum: then all that is said of T is of that part.

    >>> halves = Geometric((1, 1), (1, 1), 2)
    >>> halves.chance(2), halves.above(2), halves.moments
    (Fraction(1, 8), Fraction(1, 8), (Fraction(1, 1), Fraction(3, 1)))
    """

    first: tuple[int, ...]
    tail: tuple[int, ...]
    whole: int

    def _place(self, t: int) -> tuple[Sequence[int], int, int]:
        """The table that t comes from, its digit there, and the weight of one part of that table."""
        if t < len(self.first) - 1:
            return self.first, t, 1
        blocks, digit = divmod(t - len(self.first) + 1, len(self.tail) - 1)
        if blocks > _MOST_BLOCKS:
            raise TooLarge("the exact probability so far from 0 has too many digits to write down; ask nearer to 0")
        return self.tail, digit, self.first[-1] * int(self.tail[-1] ** blocks)

    def chance(self, t: int) -> Fraction:
        """P(T = t)."""
        _, there, denominator = self.parts(t)
        return Fraction(there, denominator)

    def above(self, t: int) -> Fraction:
        """P(T > t)."""
        beyond, _, denominator = self.parts(t)
        return Fraction(beyond, denominator)

    def parts(self, t: int) -> tuple[int, int, int]:
        """P(T > t) and P(T = t) as whole numbers, and their denominator."""
        table, digit, part = self._place(max(t, 0))
        beyond, there = (sum(table[digit + 1 :]), table[digit]) if t >= 0 else (sum(table), 0)
        return part * beyond, part * there, self.denominator(t)

    def denominator(self, t: int) -> int:
        """A common denominator of all probabilities of T up to t."""
        blocks = (t - len(self.first) + 1) // (len(self.tail) - 1)
        return int(self.whole * sum(self.tail) ** max(0, blocks + 1))

    @cached_property
    def moments(self) -> tuple[Fraction, Fraction]:
        """E T and E T²."""
        # A draw that starts in the tail: its mean and mean square are on both sides of their equations.
        inside, (t, t2) = sum(self.tail[:-1]), _digit_sums(self.tail[:-1])
        n, escape = len(self.tail) - 1, self.tail[-1]
        mean = Fraction(t + escape * n, inside)
        square = (t2 + escape * (n * n + 2 * n * mean)) / inside
        t, t2 = _digit_sums(self.first[:-1])
        n, escape = len(self.first) - 1, self.first[-1]
        first, second = t + escape * (n + mean), t2 + escape * (n * n + 2 * n * mean + square)
        return first / self.whole, second / self.whole


def _digit_sums(table: Sequence[int]) -> tuple[int, int]:
    """Σ w·t and Σ w·t² over the digits t."""
    digits = range(len(table))
    weighted = list(map(mul, digits, table))
    return sum(weighted), sum(map(mul, digits, weighted))


def draw_on(fresh: Callable[[int], NDArray[np.int64]], count: int, escape: int) -> NDArray[np.int64]:
    """The sums on top of `count` escapes: `fresh` draws, each followed by another as long as it escapes too."""
    added = np.zeros(count, np.int64)
    waiting = np.arange(count)
    while len(waiting):
        drawn = fresh(len(waiting))
        added[waiting] += drawn
        waiting = waiting[drawn == escape]
    return added


def falling(first: int, fall: Fraction, cells: int) -> list[int]:
    """`first`, then each weight at least the one before it over `fall`: no ratio of neighbours exceeds it.

    >>> falling(8, Fraction(3), 4)
    [8, 3, 1, 1]
    """
    table, p, q = [first], fall.numerator, fall.denominator
    while len(table) < cells:
        table.append(-(-table[-1] * q // p))
    return table


# Noise that stays within an interval ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class BoundedLattice(Lattice):
    """Y_i = i + X, given that it lies among 0, …, n = size − 1: P(Y_i = y) = P(X = y − i)/Z_i, for Laplace noise X.

    Nothing is written out, and Z_i = P(0 ≤ i + X ≤ n) is another for every i, so there is no common total.

    Why it is private: P(Y_p = y)/P(Y_q = y) ≤ r^|p − q| · Z_q/Z_p, where r is the largest ratio of two neighbouring
    weights of X. With a = 1/r, X is the ideal law L(k) ∝ a^|k| with weight c = P(X = 0)/L(0), and something else: so
    Z_q/Z_p ≤ z_q/z_p · (1 + (1 − c)/(c·z_q)), with (1 + a)·z_q = h(q) = 1 + a − a^(q+1) − a^(n−q+1). At the two ends
    r^|p − q|·z_q/z_p is r^n, and it is nowhere larger: r·h(q + 1) − h(q) ≥ (1 + a)(r + a − 2) ≥ 0, and h is concave, so
    that h(p + d)/h(p) falls with p. Noise with odds e₀ at δ = 0 has δ(e) ≤ (e₀ − e)/(e₀ + 1) (Kairouz, Oh and
    Viswanath 2015).

    >>> law = BoundedLattice(3, two_sided(Fraction(2)))
    >>> [str(law.probability(0, y).limit_denominator(9)) for y in range(3)]
    ['4/7', '2/7', '1/7']
    >>> round(float(law.odds(Fraction(0)).value), 6)
    4.0
    """

    kind: ClassVar[str] = "bounded"  # in certificates

    noise: TwoSided
    clamped: bool = field(default=True, init=False)

    @property
    def total(self) -> None:
        return None

    @property
    def scale(self) -> None:
        return None

    def _inside(self, source: int) -> tuple[Fraction, Fraction]:
        """P(source + X < 0), and Z_source."""
        below = self.noise.cumulative(-source - 1)
        return below, self.noise.cumulative(self.size - 1 - source) - below

    def probability(self, source: int, target: int) -> Fraction:
        if not 0 <= target < self.size:
            return Fraction(0)
        return self.noise.probability(target - source) / self._inside(source)[1]

    def cumulative(self, source: int, target: int) -> Fraction:
        if not 0 <= target < self.size - 1:
            return Fraction(int(target >= 0))
        below, inside = self._inside(source)
        return (self.noise.cumulative(target - source) - below) / inside

    @property
    def _pure(self) -> Fraction:
        """e₀, rounded up."""
        n, a = self.size - 1, 1 / self.noise.ratio
        c = self.noise.probability(0) * (1 + a) / (1 - a)
        least = 1 - (a + exp_above((n + 1) * log_above(a))) / (1 + a)
        pure = self.noise.pure(n)
        assert pure is not None, "without a reach there are odds for every shift"
        return pure * (1 + max(Fraction(0), 1 - c) / (c * least))

    def worst(self, odds: Fraction) -> Worst:
        pure = self._pure
        return Worst(max(Fraction(0), (pure - odds) / (pure + 1)), 0, self.size - 1)

    def odds(self, delta: Fraction) -> Odds:
        pure = self._pure
        return Odds(max(Fraction(1), pure - delta * (pure + 1)), 0, self.size - 1)

    def _steps_off(self, source: int) -> Fraction:
        """E|Y_i − i|, exactly: E(|X|; X ≤ m) = E min(|X|, m) − m·P(X > m) over X ≥ 0, and likewise below 0."""
        below, inside = self._inside(source)
        last = self.size - 1 - source
        above = 1 - below - inside
        return (self.noise.capped(1, source) - source * below + self.noise.capped(0, last) - last * above) / inside

    def maximal_error(self, space: Space) -> Fraction:
        """The largest error of one point, exactly; floats tell which points may have it, to eleven digits."""
        n, a = self.size - 1, float(1 / self.noise.ratio)
        q = np.arange(n // 2 + 1, dtype=np.float64)  # the others are mirror images
        near, far = a**q, a ** (n - q)
        moved = a * (2 - (q + 1) * near - (n - q + 1) * far + a * (q * near + (n - q) * far)) / (1 - a)
        errors = moved / (1 + a - a * (near + far))
        likely = np.argsort(errors)[-4:].tolist()
        return space.separation * max(map(self._steps_off, {0, n // 2, *likely}))

    def upto(self, below: NDArray[Any], centres: NDArray[Any]) -> NDArray[Any]:
        beside = np.array([[float(part) for part in self._inside(int(centre))] for centre in centres])
        return np.asarray((below - beside[:, :1]) / beside[:, 1:])

    @property
    def nearer(self) -> Lattice:
        """Not known: how often noise leaves the interval tells the middle from the ends, too."""
        raise ArgumentError("bounded noise on so many points has no output for a missing value: use laplace")

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        """Noise is drawn again until the number lies inside."""
        given = codes.astype(np.int64, copy=False)
        return drawn_again(
            self.noise.draw(len(given), coins) + given,
            lambda places: self.noise.draw(len(places), coins) + given[places],
            lambda some: (some < 0) | (some >= self.size),
        )

    def to_json(self) -> Mapping[str, Any]:
        """The record of a certificate."""
        return {"kind": self.kind, "size": str(self.size), "noise": dict(self.noise.to_json())}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> BoundedLattice:
        law = cls(read_number(record, "size", (2, MOST_BOUNDED)), TwoSided.from_json(record["noise"]))
        if record["noise"]["kind"] != TwoSided.kind or law.noise.ratio <= 1 or law.noise.reach is not None:
            raise VerificationFailed("the certificate cannot be read: bounded noise is Laplace noise without a reach")
        return law


# Stairs ---------------------------------------------------------------------------------------------------------------

_STAIRS_ROOM = 1 << 52
_MOST_STAIRS = 2000
_WIDEST_STAIRS = 1 << 50  # in widths over ε, as for Laplace noise
_FLATTEST = Fraction(1, 1 << 20)  # of ε; below, one draw takes hundreds of blocks


@dataclass(frozen=True, eq=False)
class Stairs(NoiseLaw):
    """`first` holds the weights of stairs 0, …, B and of the escape beyond them, `tail` those of each later block.

    >>> law = stairs(Fraction(3), 10)
    >>> law.ratio <= 3, law.probability(0) > law.probability(9), law.probability(-4) == law.probability(4)
    (True, True, True)
    """

    kind: ClassVar[str] = "stairs"  # in certificates

    width: int
    inner: int
    first: tuple[int, ...]
    tail: tuple[int, ...]

    def __post_init__(self) -> None:
        """Only steps down are charged, so every stair must be at most as high as the one before it."""
        short = min(self.width, self.inner) < 1 or min(len(self.first), len(self.tail)) < 2
        if short or min(*self.first, *self.tail) < 1:
            raise ArgumentError("stairs need a width, a first block and a later one, and no weight of 0")
        later, cells = sum(self.tail), self._cells(0)
        first = [self.first[0] * 2 * self.width, *(w * cells for w in self.first[1:-1])]
        first_end = first[-1] * later, self.first[-1] * self.tail[0] * cells
        block_end = self.tail[-2] * later, self.tail[0] * self.tail[-1]
        if any(a < b for a, b in (*pairwise(first), *pairwise(self.tail[:-1]), first_end, block_end)):
            raise ArgumentError("a stair is higher than the one before it")

    @property
    def scale(self) -> float:
        return float(self.width / log_above(self.ratio))

    @cached_property
    def _blocks(self) -> Geometric:
        return Geometric(self.first, self.tail, sum(self.first))

    def _cells(self, stair: int) -> int:
        return 2 * self.inner - 1 if stair == 0 else 2 * self.width

    def _stair(self, k: int) -> int:
        return max(0, -((self.inner - 1 - abs(k)) // self.width))

    def probability(self, k: int) -> Fraction:
        stair = self._stair(k)
        return self._blocks.chance(stair) / self._cells(stair)

    def cumulative(self, k: int) -> Fraction:
        if k < 0:
            return (1 - self._within(-k - 1)) / 2
        return (1 + self._within(k)) / 2

    def _within(self, m: int) -> Fraction:
        """P(|X| ≤ m)."""
        stair = self._stair(m)
        if stair == 0:
            return self._blocks.chance(0) * Fraction(2 * m + 1, self._cells(0))
        start = self.inner + (stair - 1) * self.width
        return 1 - self._blocks.above(stair - 1) + self._blocks.chance(stair) * Fraction(m + 1 - start, self.width)

    def denominator(self, reach: int) -> int:
        return 2 * self._cells(0) * self._cells(1) * self._blocks.denominator(self._stair(reach))

    def _levels(self) -> tuple[list[Fraction], list[Fraction]]:
        """Heights of stairs 0, …, B+1, and of B+1 to the first stair of the next block; later ones repeat these."""
        block = len(self.tail) - 1
        last = len(self.first) - 2
        heights = [self._blocks.chance(i) / self._cells(i) for i in range(last + block + 2)]
        return heights[: last + 2], heights[last + 1 :]

    def _steps(self) -> Iterator[tuple[Fraction, Fraction]]:
        return chain(*(pairwise(heights) for heights in self._levels()))

    @cached_property
    def ratio(self) -> Fraction:
        """The largest ratio of two neighbouring stairs, either way."""
        return max(max(a / b, b / a) for a, b in self._steps())

    def delta(self, odds: Fraction, shift: int) -> Fraction:
        """The tight δ at these odds over all shifts of at most `shift` ≤ width, exactly.

        Only the cells that move one stair down count: as many as the shift on each stair, fewer on a narrow first.
        """
        if shift > self.width:
            raise TooLarge("staircase noise is made for shifts of at most its width")
        start, block = ([max(Fraction(0), a - odds * b) for a, b in pairwise(part)] for part in self._levels())
        repeated = 1 / (1 - Fraction(self.tail[-1], sum(self.tail)))
        return min(shift, self._cells(0)) * start[0] + shift * (sum(start[1:]) + sum(block) * repeated)

    def pure(self, shift: int) -> Fraction | None:
        """The odds that no shift of at most `shift` exceeds: each width of it is at most one stair down."""
        return Fraction(self.ratio ** -(-shift // self.width))

    @cached_property
    def moments(self) -> tuple[Fraction, Fraction, Fraction]:
        """E X, E|X| and E X², exactly."""
        r, d = self.inner, self.width
        # With T ≥ 1, |X| = r + (T−1)·d + V and V uniform on 0, …, d−1.
        inside = self._blocks.chance(0)
        outside, (t, t2) = 1 - inside, self._blocks.moments
        t, t2 = t - outside, t2 - 2 * t + outside  # of T − 1, where T ≥ 1
        middle, spread = r + Fraction(d - 1, 2), Fraction(d * d - 1, 12)
        absolute = inside * Fraction(r * (r - 1), 2 * r - 1) + middle * outside + d * t
        square = inside * Fraction(r * (r - 1), 3)
        square += (middle**2 + spread) * outside + 2 * middle * d * t + d * d * t2
        return Fraction(0), absolute, square

    @cached_property
    def _guides(self) -> tuple[Guide, Guide]:
        return guide([self.first], sum(self.first)), guide([self.tail], sum(self.tail))

    def draw(self, count: int, coins: Coins) -> NDArray[np.int64]:
        """Independent draws: a stair, then a cell of it."""
        first, tail = self._guides
        stair = first.sample(count, coins).astype(np.int64)
        escaped = np.flatnonzero(stair == len(self.first) - 1)
        stair[escaped] += draw_on(lambda n: tail.sample(n, coins).astype(np.int64), len(escaped), len(self.tail) - 1)
        cell = uniform_below(np.where(stair == 0, self._cells(0), self._cells(1)), coins)
        outside = self.inner + (stair - 1) * self.width + (cell >> 1)
        return np.asarray(np.where(stair == 0, cell - (self.inner - 1), np.where(cell & 1, -outside, outside)))

    def to_json(self) -> Mapping[str, Any]:
        """The record of a certificate."""
        tables = {"first": [str(w) for w in self.first], "tail": [str(w) for w in self.tail]}
        return {"kind": self.kind, "width": str(self.width), "inner": str(self.inner), **tables}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Stairs:
        sizes = (read_number(record, name, SIZE) for name in ("width", "inner"))
        return cls(*sizes, *(read_number(record, name, TABLED) for name in ("first", "tail")))


def stairs(ratio: Fraction, width: int, inner: int | None = None) -> Stairs:
    """The staircase for shifts up to `width` at these odds; without `inner` its first stair errs least."""
    if ratio - 1 < _FLATTEST:
        raise TooLarge("epsilon is too small for staircase noise, and Laplace noise is as good there: use that")
    if width > _WIDEST_STAIRS * log(min(ratio, Fraction(1 << 900))):
        raise TooLarge("staircase noise that wide does not fit a machine word; use a coarser step, or more epsilon")
    if inner is not None:
        return _with_inner(ratio, width, inner)
    root = float(min(ratio, Fraction(1 << 900))) ** 0.5
    near = int(width / (1 + root))  # the best width of the first stair on the real line, width/(1 + e^(ε/2))
    candidates = (_with_inner(ratio, width, inner) for inner in range(near - 1, near + 3) if 1 <= inner <= width)
    return min(candidates, key=lambda law: law.moments[1])


def _with_inner(ratio: Fraction, width: int, inner: int) -> Stairs:
    """The tables, each weight at least the one before it over the ratio."""
    steep = float(min(ratio, Fraction(1 << 900)))
    count = min(_MOST_STAIRS, ceil(7 / log(steep)) + 1)  # an escape is rarer than one in a thousand
    peak = _STAIRS_ROOM // min(count, ceil(1 / (1 - 1 / steep)))
    tail = falling(peak, ratio, count)
    share = tail[-1] / (ratio * peak)
    tail.append(ceil(share * sum(tail) / (1 - share)))
    first = [peak, *falling(ceil(Fraction(peak * 2 * width, 2 * inner - 1) / ratio), ratio, count)]
    first.append(ceil(Fraction(first[-1] * sum(tail), peak) / ratio))
    return Stairs(width, inner, tuple(first), tuple(tail))
