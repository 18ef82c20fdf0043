"""K-norm noise on whole-number vectors: it falls with a norm of the whole vector, not with each number by itself.

P(x) ∝ c^⌈‖x‖/s⌉ on Zᵏ, for the sup norm or the Euclidean one, a cell of s steps and a fraction c < 1. Hardt and Talwar
2010; on a lattice a cell may hold several steps, as the stairs of Geng and Viswanath 2016 do.

Why it is private: ⌈a + b⌉ ≤ ⌈a⌉ + ⌈b⌉ and the triangle inequality give ⌈‖x + d‖/s⌉ ≤ ⌈‖x‖/s⌉ + ⌈‖d‖/s⌉, so a move d
costs odds of at most c^−⌈‖d‖/s⌉, with every normalising constant the same. A mechanism with odds e₀ at δ = 0 has
δ(e) ≤ (e₀ − e)/(e₀ + 1) (Kairouz, Oh and Viswanath 2015).

How it is drawn: c^⌈‖x‖/s⌉ = (1 − c) Σ c^T over all T with ‖x‖ ≤ sT. So draw T with weights (2sT + 1)ᵏ c^T and x
evenly from the cube {−sT, …, sT}ᵏ; for the Euclidean norm draw both again until |x|₂ ≤ sT. The cube dilated T times has
(2sT + 1)ᵏ points, whose generating function is h(c)/(1 − c)^(k+1) with whole numbers h_j ≥ 0 (Ehrhart, Stanley): T is
the sum of k + 1 geometric numbers and of one j ≤ k that has the weight h_j c^j. The least T come from a table, which is
quicker.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, gamma, pi, sqrt
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins, Guide, drawn_again, guide, uniform_below
from dproof.errors import ArgumentError, InputError, TooLarge, VerificationFailed
from dproof.exact import exp_above
from dproof.laws.laplace import draw_on
from dproof.laws.law import read_number

Norm = Literal["linf", "l2"]
_BITS = 32  # of c
_BLOCK = 16  # values of a geometric number that one word tells
# What answers of earlier versions cost is reckoned by these (`curator.account`): a change of _FINEST, _MOST_CELLS or
# _FARTHEST changes what stored ledgers say.
_FINEST = Fraction(1, 4)  # ε of a cell: with less the noise would hardly become narrower
_MOST_CELLS = 1 << 10  # in one move
_MOST_TERMS = 1 << 10
MOST_TERMS_L2 = 10  # of the Euclidean norm: of a cube in ten dimensions its ball is 1/400
# sT that may be expected: what is some times as large stays below 2^63, for the Euclidean norm its square ten times.
_FARTHEST: dict[Norm, int] = {"linf": 1 << 54, "l2": 1 << 29}
_SQUARED = 1 << 29  # a reach up to which ten squares add up within 64 bits
_LONGEST = 1 << 9  # T that a table may have
_TILE = 1 << 17


@dataclass(frozen=True, eq=False)
class KNorm:
    """P(x) ∝ fall^⌈‖x‖/cell⌉ on vectors of `terms` whole numbers.

    >>> law = k_norm("linf", 2, 4, Fraction(1))
    >>> law.cell, float(law.pure(4)) < 2.718282, law.pure(8) == law.pure(4) ** 2
    (1, True, True)
    """

    kind: ClassVar[str] = "k-norm"  # in certificates
    is_normal: ClassVar[bool] = False
    farthest: ClassVar[None] = None

    norm: Norm
    terms: int
    cell: int
    fall: Fraction

    def __post_init__(self) -> None:
        most = MOST_TERMS_L2 if self.norm == "l2" else _MOST_TERMS
        if self.norm not in get_args(Norm) or not 1 <= self.terms <= most or self.cell < 1 or not 0 < self.fall < 1:
            raise ArgumentError(f"K-norm noise needs a norm, 1 to {most} terms, cells, and weights that fall")

    def pure(self, shift: int) -> Fraction:
        """Odds that no move of at most this norm exceeds."""
        return 1 / self.fall ** -(-shift // self.cell)

    def delta_vector(self, odds: Fraction, shift: int, coordinates: int) -> Fraction:
        """An upper bound of δ at these odds, for moves of at most this norm."""
        most = self.pure(shift)
        return max(Fraction(0), (most - odds) / (most + 1))

    @cached_property
    def _heads(self) -> tuple[int, ...]:
        """h_j c^j, over a common denominator."""
        a, b = self.fall.numerator, self.fall.denominator
        return tuple(h * a**j * b ** (self.terms - j) for j, h in enumerate(_dilations(self.terms, 2 * self.cell)))

    @cached_property
    def _moments(self) -> tuple[Fraction, Fraction]:
        """E T and E T²."""
        whole, heads, c = sum(self._heads), self._heads, self.fall
        head, square = (Fraction(sum(j**n * w for j, w in enumerate(heads)), whole) for n in (1, 2))
        mean = head + (self.terms + 1) * c / (1 - c)
        return mean, square - head**2 + (self.terms + 1) * c / (1 - c) ** 2 + mean**2

    @cached_property
    def variance(self) -> Fraction:
        """E x² of one number: exactly for the sup norm; for the other as of a ball without a lattice, which differs by
        about 1/(sT)² of it."""
        mean, second = self._moments
        if self.norm == "linf":  # x is even on −sT, …, sT
            return self.cell * (self.cell * second + mean) / 3
        return self.cell**2 * second / (self.terms + 2)

    @cached_property
    def _guides(self) -> tuple[Guide, Guide]:
        """The guides of j and of a geometric number, whose last outcome adds a block and draws again."""
        a, b = self.fall.numerator, self.fall.denominator
        block = [(b - a) * a**n * b ** (_BLOCK - 1 - n) for n in range(_BLOCK)]
        return guide([self._heads], sum(self._heads)), guide([[*block, a**_BLOCK]], b**_BLOCK)

    @cached_property
    def _table(self) -> tuple[int, Guide | None]:
        """How many of the least T one word tells, all but a few in a hundred; and their guide, the others last. None
        where that would be too many."""
        a, b, k = self.fall.numerator, self.fall.denominator, self.terms
        mean, second = map(float, self._moments)
        last = ceil(mean + 2 * sqrt(second - mean**2))
        if last > _LONGEST:
            return 0, None
        table = [(2 * self.cell * t + 1) ** k * a**t * b ** (last - 1 - t) * (b - a) ** (k + 1) for t in range(last)]
        whole = sum(self._heads) * b**last
        return last, guide([[*table, whole - sum(table)]], whole)

    def _cells(self, count: int, coins: Coins) -> NDArray[np.int64]:
        """`count` draws of T: from a table or, where that ends, from sums until one lies beyond it."""
        last, table = self._table
        if table is None:
            return self._summed(count, coins)
        drawn = table.sample(count, coins).astype(np.int64)
        beyond = np.flatnonzero(drawn == last)
        drawn[beyond] = drawn_again(
            self._summed(len(beyond), coins), lambda places: self._summed(len(places), coins), lambda some: some < last
        )
        return drawn

    def _summed(self, count: int, coins: Coins) -> NDArray[np.int64]:
        """`count` draws of T, as sums of geometric numbers and of one that has its own weights."""
        head, digit = self._guides

        def fresh(count: int) -> NDArray[np.int64]:
            return digit.sample(count, coins).astype(np.int64)

        drawn = fresh(count * (self.terms + 1))
        escaped = np.flatnonzero(drawn == _BLOCK)
        drawn[escaped] += draw_on(fresh, len(escaped), _BLOCK)
        return np.asarray(head.sample(count, coins) + drawn.reshape(count, self.terms + 1).sum(axis=1))

    def _cube(self, count: int, coins: Coins) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """`count` vectors, each uniform in a cube, and how far the cubes reach."""
        reach = self.cell * self._cells(count, coins)
        x = uniform_below(np.repeat(2 * reach + 1, self.terms), coins).reshape(count, self.terms)
        return x - reach[:, None], reach

    def draw(self, count: int, coins: Coins) -> NDArray[np.int64]:
        """`count` numbers: the vectors one after another."""
        vectors = count // self.terms
        if vectors * self.terms != count:
            raise ArgumentError(f"K-norm noise comes in vectors of {self.terms} numbers")
        drawn = np.empty((vectors, self.terms), np.int64)
        # Of the vectors of a cube about so many are kept: it sizes the tiles, and no drawn value depends on it.
        inside = 1.0 if self.norm == "linf" else pi ** (self.terms / 2) / gamma(self.terms / 2 + 1) / 2**self.terms
        filled = 0
        while filled < vectors:
            x, reach = self._cube(min(_TILE, int((vectors - filled) / inside) + 1), coins)
            if self.norm == "l2":
                x = x[_in_ball(x, reach)]
            x = x[: vectors - filled]
            drawn[filled : filled + len(x)] = x
            filled += len(x)
        return drawn.reshape(-1)

    def to_json(self) -> Mapping[str, Any]:
        """The record of a certificate."""
        return {"kind": self.kind, "norm": self.norm, "terms": self.terms, "cell": self.cell, "fall": str(self.fall)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> KNorm:
        terms, cell = read_number(record, "terms", (1, 512)), read_number(record, "cell", (1, 1 << 40))
        fall = Fraction(read_number(record, "fall", (Fraction(1, 1 << _BITS), 1)))
        try:
            return cls(record["norm"], terms, cell, fall)
        except InputError as wrong:
            raise VerificationFailed(f"the certificate cannot be read: {wrong}") from None


def _in_ball(x: NDArray[np.int64], reach: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which vectors lie within their reach, in whole numbers; T has no end, so the few that are too long for 64 bits
    are compared one by one.

    >>> far = np.array([1 << 31, 1 << 31, 2])
    >>> _in_ball(np.array([[1 << 31] * 3, [1 << 31, 0, 0], [1, 1, 1]]), far).tolist()
    [False, True, True]
    """
    inside = np.asarray((x * x).sum(axis=1) <= reach * reach)
    for n in np.flatnonzero(reach > _SQUARED):
        inside[n] = sum(int(part) ** 2 for part in x[n]) <= int(reach[n]) ** 2
    return inside


@lru_cache(maxsize=256)
def k_norm(norm: Norm, terms: int, size: int, epsilon: Fraction) -> KNorm:
    """The narrowest noise of this kind that hides moves of at most `size` at ε, δ = 0."""
    cells = 1
    while size % (2 * cells) == 0 and epsilon / cells > _FINEST and cells < _MOST_CELLS:
        cells *= 2
    fall = Fraction(ceil(exp_above(-epsilon / cells) * (1 << _BITS)), 1 << _BITS)
    if fall >= 1 or size * (terms + 1) / epsilon > _FARTHEST[norm]:
        raise TooLarge("the noise would be too wide: allow more epsilon")
    return KNorm(norm, terms, size // cells, fall)


@lru_cache(maxsize=64)
def _dilations(terms: int, width: int) -> tuple[int, ...]:
    """h with Σ_T (width·T + 1)^terms c^T = Σ_j h_j c^j / (1 − c)^(terms + 1), as whole numbers from 0 on.

    One more factor width·T + 1 is the operator width·c·d/dc + 1.
    """
    h = [1]
    for k in range(1, terms + 1):
        above = [0, *h]
        h = [
            (width * j + 1) * x + (width * (k - j + 1) - 1) * y
            for j, (x, y) in enumerate(zip([*h, 0], above, strict=True))
        ]
    return tuple(h)
