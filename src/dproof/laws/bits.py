"""Independent flips of bits: each of h bits stays or turns, with two whole numbers for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.errors import InputError
from dproof.laws.axes import Kept, Seen, Unmixed
from dproof.laws.family import Family, Odds, Worst
from dproof.laws.guide import coin
from dproof.laws.pair import Pair, two_chances_variance
from dproof.spaces.space import Space


@dataclass(frozen=True, slots=True)
class Bits(Family):
    """P(Y_a = b) = stay^(h−r) · flip^r / (stay + flip)^h, where r bits of a and b differ.

    Two sets that differ in every item are the worst pair: with fewer differing bits the law is a part of theirs.

    >>> Bits(3, 2, 1).odds(Fraction(0)).value
    Fraction(8, 1)
    """

    bits: int
    stay: int
    flip: int

    def __post_init__(self) -> None:
        if self.bits < 0 or min(self.stay, self.flip) < 0 or self.stay + self.flip < 1:
            raise InputError("a law of bits needs weights of at least 0, and one above it")

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

    def _pair(self) -> Pair:
        h = self.bits
        masses = [comb(h, r) * self.stay ** (h - r) * self.flip**r for r in range(h + 1)]
        return Pair(masses, masses[::-1], self.total, 0, self.inputs - 1)

    def worst_atoms(self) -> list[tuple[int, int]]:
        """The masses of {r bits turned} under a set and under its complement."""
        pair = self._pair()
        return list(zip(pair.p, pair.q, strict=True))

    def chances(self) -> tuple[str, Mapping[str, float]]:
        stays = self.stay / (self.stay + self.flip)
        return "for each item, whether it is in the set is", {"kept": stays, "reversed": 1 - stays}

    def probability(self, source: int, target: int) -> Fraction:
        differing = (source ^ target).bit_count()
        return Fraction(self.stay ** (self.bits - differing) * self.flip**differing, self.total)

    def maximal_error(self, space: Space) -> Fraction:
        distances = space.by_differences()
        if distances is None:
            return super().maximal_error(space)
        return sum((d * mass for d, mass in zip(distances, self._pair().p, strict=True)), Fraction(0)) / self.total

    def count_variance(self, space: Space) -> float | None:
        return two_chances_variance(self.stay, self.flip, self.stay + self.flip)

    def unmix(self, seen: Sequence[Seen], others: int, name: str) -> Unmixed:
        """An axis for each bit that is looked at; the first is the highest, and all have the same law."""
        (column,) = seen
        bits = self.bits if column.blocks.bits is None else len(column.blocks.bits)
        total = self.stay + self.flip
        bit = Kept(name, np.ones(2), self.stay / total, self.flip / total, (None,))
        return Unmixed((bit,) * bits, lambda released: column.blocks.of(released[0]), by_block=True)

    def worst(self, odds: Fraction) -> Worst:
        return self._pair().worst(odds)

    def odds(self, delta: Fraction) -> Odds:
        return self._pair().odds(delta)

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        drawn = codes.copy()
        for bit in range(self.bits):
            turned = coin(self.stay, self.flip).draw(codes, coins)
            drawn ^= turned.astype(codes.dtype) << codes.dtype.type(bit)
        return drawn

    def record(self) -> Mapping[str, Any]:
        return {"kind": "bits", "bits": self.bits, "stay": str(self.stay), "flip": str(self.flip)}
