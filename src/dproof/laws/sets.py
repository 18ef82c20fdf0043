"""One value in, a set of values out: unary encoding and subset selection, for counting who has what.

All inputs are alike, so one pair of them stands for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.errors import TooLarge
from dproof.laws.family import Family, Odds, Worst
from dproof.laws.guide import coin, uniform_below
from dproof.laws.pair import Pair, any_pair

_MOST_LISTED = 20  # values whose sets are written out one by one


@dataclass(frozen=True, slots=True)
class Unary(Family):
    """The value's own bit is 1 with probability p = own/whole, each other bit with probability q = other/whole.

    Two values differ in the law of their two bits only, and the worst set is {own bit 1, other's bit 0}:
    δ = p(1−q) − e·q(1−p), the same both ways.

    >>> Unary(5, 2, 1, 4).odds(Fraction(0)).value
    Fraction(3, 1)
    """

    size: int
    own: int
    other: int
    whole: int

    @property
    def inputs(self) -> int:
        return self.size

    @property
    def outputs(self) -> int:
        return 1 << self.size

    @property
    def total(self) -> int:
        return int(self.whole**self.size)

    @property
    def hit_and_miss(self) -> tuple[Fraction, Fraction]:
        return Fraction(self.own, self.whole), Fraction(self.other, self.whole)

    def weights(self, source: int) -> NDArray[Any]:
        sets, has = _all_sets(self.size, source)
        others = np.bitwise_count(sets).astype(int) - has
        rest = self.size - 1
        q, r = self.other, self.whole - self.other
        powers = np.array([q**n * r ** (rest - n) for n in range(rest + 1)], object)
        return np.asarray(powers[others] * np.where(has, self.own, self.whole - self.own))

    def _pair(self) -> Pair:
        p, q, n = self.own, self.other, self.whole
        return any_pair(self.size, p * (n - q), q * (n - p), n * n)

    def worst(self, odds: Fraction) -> Worst:
        return self._pair().worst(odds)

    def odds(self, delta: Fraction) -> Odds:
        return self._pair().odds(delta)

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        mine, other = (coin(self.whole - ones, ones) for ones in (self.own, self.other))
        sets = np.zeros(len(codes), np.int64)
        for bit in range(self.size):
            sets |= other.sample(len(codes), coins).astype(np.int64) << bit
        place = codes.astype(np.int64)
        sets &= ~(np.int64(1) << place)
        return sets | mine.sample(len(codes), coins).astype(np.int64) << place

    def record(self) -> Mapping[str, Any]:
        weights = {"own": str(self.own), "other": str(self.other), "whole": str(self.whole)}
        return {"kind": "unary", "size": self.size, **weights}


@dataclass(frozen=True, slots=True)
class SubsetSelection(Family):
    """Every set of `width` values has weight `high` if it holds the input and `low` if not.

    Two inputs x, x' differ on the C(k−2, w−1) sets that hold x and not x', and on as many the other way round:
    δ = C(k−2, w−1)·(high − e·low)/total.

    >>> SubsetSelection(5, 2, 3, 1).odds(Fraction(0)).value
    Fraction(3, 1)
    """

    size: int
    width: int
    high: int
    low: int

    @property
    def inputs(self) -> int:
        return self.size

    @property
    def outputs(self) -> int:
        return 1 << self.size

    @property
    def total(self) -> int:
        return sum(self._masses())

    def _masses(self) -> tuple[int, int]:
        """The weights of all sets without the input, and of all that hold it."""
        k, w = self.size, self.width
        return comb(k - 1, w) * self.low, comb(k - 1, w - 1) * self.high

    @property
    def hit_and_miss(self) -> tuple[Fraction, Fraction]:
        hit = Fraction(self._masses()[1], self.total)
        return hit, (self.width - hit) / max(1, self.size - 1)  # what is left of the width is shared among the others

    def weights(self, source: int) -> NDArray[Any]:
        sets, has = _all_sets(self.size, source)
        chosen = np.bitwise_count(sets) == self.width
        return np.asarray(np.where(has, self.high, self.low).astype(object) * chosen)

    def _pair(self) -> Pair:
        telling = comb(self.size - 2, self.width - 1) if self.size > 1 else 0
        return any_pair(self.size, telling * self.high, telling * self.low, self.total)

    def worst(self, odds: Fraction) -> Worst:
        return self._pair().worst(odds)

    def odds(self, delta: Fraction) -> Odds:
        return self._pair().odds(delta)

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        """Whether the value itself is in the set, then the others one by one: need out of left are still to come."""
        place = codes.astype(np.int64)
        held = coin(*self._masses()).sample(len(codes), coins).astype(np.int64)
        need = self.width - held
        left = np.full(len(codes), self.size - 1)
        sets: NDArray[np.int64] = held << place
        for value in range(self.size):
            other = place != value
            taken = other & (uniform_below(np.maximum(left, 1), coins) < need)
            sets |= taken.astype(np.int64) << value
            need -= taken
            left -= other
        return sets

    def record(self) -> Mapping[str, Any]:
        sizes = {"size": self.size, "width": self.width}
        return {"kind": "subset-selection", **sizes, "high": str(self.high), "low": str(self.low)}


def _all_sets(size: int, source: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Every set as a mask, and whether it holds the source."""
    if size > _MOST_LISTED:
        raise TooLarge(f"the sets of {size} values are too many to list; at most {_MOST_LISTED} values")
    sets = np.arange(1 << size)
    return sets, (sets >> source) & 1 == 1
