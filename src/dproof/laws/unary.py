"""Unary encoding: every value gets a bit of its own, and each bit is drawn on its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.errors import TooLarge
from dproof.laws.family import Odds, Worst
from dproof.laws.guide import Guide, guide

_MOST_LISTED = 20  # bits whose sets are written out one by one


@dataclass(frozen=True, slots=True)
class Unary:
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
        total: int = self.whole**self.size
        return total

    @property
    def hit(self) -> Fraction:
        """P(the value is in the set that is released)."""
        return Fraction(self.own, self.whole)

    @property
    def miss(self) -> Fraction:
        """P(another given value is in the set)."""
        return Fraction(self.other, self.whole)

    def weights(self, source: int) -> NDArray[Any]:
        if self.size > _MOST_LISTED:
            raise TooLarge(f"the sets of {self.size} values are too many to list; at most {_MOST_LISTED} values")
        sets = np.arange(self.outputs)
        has = (sets >> source) & 1 == 1
        others = np.bitwise_count(sets).astype(int) - has
        rest = self.size - 1
        q, r = self.other, self.whole - self.other
        powers = np.array([q**n * r ** (rest - n) for n in range(rest + 1)], object)
        return np.asarray(powers[others] * np.where(has, self.own, self.whole - self.own))

    def _masses(self) -> tuple[int, int]:
        """The masses, over whole², of the worst set under its own value and under the other."""
        p, q, n = self.own, self.other, self.whole
        return max(p * (n - q), q * (n - p)), min(p * (n - q), q * (n - p))

    def worst(self, odds: Fraction) -> Worst:
        more, less = self._masses()
        value = max(Fraction(0), more - odds * less) / self.whole**2
        return Worst(value, 0, 1) if self.size > 1 else Worst(Fraction(0), 0, 0)

    def odds(self, delta: Fraction) -> Odds:
        more, less = self._masses()
        excess = more - delta * self.whole**2
        if self.size < 2 or excess <= less:
            return Odds(Fraction(1), 0, min(1, self.size - 1))
        return Odds(excess / less if less else None, 0, 1)

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        one = np.broadcast_to(np.uint8(0), len(codes))
        sets = np.zeros(len(codes), np.int64)
        for bit in range(self.size):
            sets |= _coin(self.other, self.whole).draw(one, coins).astype(np.int64) << bit
        place = codes.astype(np.int64)
        sets &= ~(np.int64(1) << place)
        return sets | _coin(self.own, self.whole).draw(one, coins).astype(np.int64) << place

    def record(self) -> Mapping[str, Any]:
        weights = {"own": str(self.own), "other": str(self.other), "whole": str(self.whole)}
        return {"kind": "unary", "size": self.size, **weights}


@lru_cache(maxsize=64)
def _coin(ones: int, whole: int) -> Guide:
    return guide([[whole - ones, ones]], whole)
