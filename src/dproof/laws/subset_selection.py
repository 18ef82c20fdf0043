"""Subset selection: a set of fixed size, likelier if it holds the value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.errors import TooLarge
from dproof.laws.family import Odds, Worst
from dproof.laws.guide import Guide, guide
from dproof.laws.uniform import uniform_below

_MOST_LISTED = 20


@dataclass(frozen=True, slots=True)
class SubsetSelection:
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
        holding, others = self._masses()
        return holding + others

    def _masses(self) -> tuple[int, int]:
        """The weights of all sets that hold the input, and of all others."""
        k, w = self.size, self.width
        return comb(k - 1, w - 1) * self.high, comb(k - 1, w) * self.low

    @property
    def hit(self) -> Fraction:
        """P(the value is in the set that is released)."""
        return Fraction(self._masses()[0], self.total)

    @property
    def miss(self) -> Fraction:
        """P(another given value is in the set): by symmetry what is left of the width, shared among the others."""
        return (self.width - self.hit) / (self.size - 1)

    def weights(self, source: int) -> NDArray[Any]:
        if self.size > _MOST_LISTED:
            raise TooLarge(f"the sets of {self.size} values are too many to list; at most {_MOST_LISTED} values")
        sets = np.arange(self.outputs)
        chosen = np.bitwise_count(sets) == self.width
        return np.asarray(np.where((sets >> source) & 1 == 1, self.high, self.low).astype(object) * chosen)

    def _telling(self) -> int:
        """How many sets hold one given value and not another."""
        return comb(self.size - 2, self.width - 1) if self.size > 1 else 0

    def worst(self, odds: Fraction) -> Worst:
        more, less = max(self.high, self.low), min(self.high, self.low)
        return Worst(self._telling() * max(Fraction(0), more - odds * less) / self.total, 0, min(1, self.size - 1))

    def odds(self, delta: Fraction) -> Odds:
        more, less = (self._telling() * w for w in (max(self.high, self.low), min(self.high, self.low)))
        excess = more - delta * self.total
        if excess <= less:
            return Odds(Fraction(1), 0, min(1, self.size - 1))
        return Odds(excess / less if less else None, 0, 1)

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        """Whether the value itself is in the set, then the others one by one: need out of left are still to come."""
        place = codes.astype(np.int64)
        held = _coin(*self._masses()).draw(np.broadcast_to(np.uint8(0), len(codes)), coins) == 0
        need = self.width - held.astype(np.int64)
        left = np.full(len(codes), self.size - 1)
        sets: NDArray[np.int64] = held.astype(np.int64) << place
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


@lru_cache(maxsize=64)
def _coin(holding: int, others: int) -> Guide:
    return guide([[holding, others]], holding + others)
