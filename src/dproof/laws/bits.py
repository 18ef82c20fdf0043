"""Independent flips of bits: each of h bits stays or turns, with two whole numbers for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.laws.family import Odds, Worst
from dproof.laws.guide import Guide, guide


@dataclass(frozen=True, slots=True)
class Bits:
    """P(Y_a = b) = stay^(h−r) · flip^r / (stay + flip)^h, where r bits of a and b differ.

    Two sets that differ in every item are the worst pair: with fewer differing bits the law is a part of theirs.

    >>> Bits(3, 2, 1).odds(Fraction(0)).value
    Fraction(8, 1)
    """

    bits: int
    stay: int
    flip: int

    @property
    def inputs(self) -> int:
        return 1 << self.bits

    @property
    def outputs(self) -> int:
        return 1 << self.bits

    @property
    def total(self) -> int:
        return int((self.stay + self.flip) ** self.bits)

    def weights(self, source: int) -> NDArray[Any]:
        differing = np.bitwise_count(np.arange(self.outputs) ^ source)
        powers = [self.stay ** (self.bits - r) * self.flip**r for r in range(self.bits + 1)]
        return np.asarray(np.array(powers, object)[differing])

    def atoms(self) -> Iterator[tuple[int, int]]:
        """The masses of {r bits turned} under a set and under its complement, by falling ratio."""
        h = self.bits
        masses = [comb(h, r) * self.stay ** (h - r) * self.flip**r for r in range(h + 1)]
        pairs = list(zip(masses, reversed(masses), strict=True))
        return iter(pairs if self.stay >= self.flip else pairs[::-1])

    def worst(self, odds: Fraction) -> Worst:
        excess = sum(max(Fraction(0), p - odds * q) for p, q in self.atoms())
        return Worst(Fraction(excess) / self.total, 0, self.inputs - 1)

    def odds(self, delta: Fraction) -> Odds:
        allowance = delta * self.total
        best, top, bottom = Fraction(1), 0, 0
        for p, q in self.atoms():
            top, bottom = top + p, bottom + q
            if top - allowance > best * bottom:
                if not bottom:
                    return Odds(None, 0, self.inputs - 1)
                best = Fraction(top - allowance) / bottom
        return Odds(best, 0, self.inputs - 1)

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        drawn = codes.copy()
        for bit in range(self.bits):
            turned = _coin(self.stay, self.flip).draw(codes, coins)
            drawn ^= turned.astype(codes.dtype) << codes.dtype.type(bit)
        return drawn

    def record(self) -> Mapping[str, Any]:
        return {"kind": "bits", "bits": self.bits, "stay": str(self.stay), "flip": str(self.flip)}


@lru_cache(maxsize=64)
def _coin(stay: int, flip: int) -> Guide:
    return guide([[stay, flip]], stay + flip)
