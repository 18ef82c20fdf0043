"""Counts of many values: a block of values, in whole numbers, as one code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.errors import InputError
from dproof.laws.blocks import Blocked, Incidence
from dproof.laws.debias import Seen, Unmixed
from dproof.laws.divergence import Pair, any_pair
from dproof.laws.guide import Guide, guide, uniform_below
from dproof.laws.law import LAWS, WEIGHT, Law, Range
from dproof.laws.scores import hit_and_miss_variance
from dproof.spaces.codes import Codes
from dproof.spaces.space import Space

LARGEST_PRIME = 1 << 24
_COUNT: Range = (1, LARGEST_PRIME)
_TABLED = 1 << 13  # blocks; up to here a guide table beats arithmetic on whole words


@dataclass(frozen=True, slots=True)
class BlockDesign(Law):
    """Each of m·p blocks of values has weight `high` if it holds the input and `low` if not.

    The values are residues of a prime p. The non-zero residues fall into m = `classes` classes by their discrete
    logarithm modulo m. Block (j, y) holds x where y − x lies in one of the `taken` classes j, j + 1, … It has
    w = taken·(p − 1)/m residues, and any two values lie together in the same number of blocks, for the classes are
    images of each other under multiplication: a 2-design. So the law of a count is that of subset selection with
    width w of p values (Ye and Barg 2018), and a row is one code below m·p. Park, Nam and Lee 2024 (block designs).

    Why it is private: a block's weight takes two values only, and every input has the same total. Two inputs differ on
    the taken·(p − w) blocks that hold one of them and not the other, and on as many the other way round.

    >>> law = BlockDesign(6, 7, 3, 1, 3, 1)  # blocks of two residues of 7
    >>> law.odds(Fraction(0)).value, law.outputs, str(law.hit_and_miss[0]), str(law.hit_and_miss[1])
    (Fraction(3, 1), 21, '6/11', '8/33')
    """

    kind: ClassVar[str] = "block-design"
    ranges: ClassVar[Mapping[str, Range]] = {
        **dict.fromkeys(("size", "prime", "classes", "taken"), _COUNT),
        "high": WEIGHT,
        "low": WEIGHT,
    }

    size: int
    prime: int
    classes: int
    taken: int
    high: int
    low: int

    def __post_init__(self) -> None:
        exists = is_prime(self.prime) and (self.prime - 1) % self.classes == 0 and 1 <= self.taken < self.classes
        if not exists or not 1 <= self.size <= self.prime or min(self.high, self.low) < 0 or self.total < 1:
            raise InputError("a block design needs a prime p, classes that divide p − 1, and at most p values")

    @property
    def width(self) -> int:
        """How many residues a block holds."""
        return self.taken * (self.prime - 1) // self.classes

    @property
    def inputs(self) -> int:
        return self.size

    @property
    def outputs(self) -> int:
        return self.classes * self.prime

    @property
    def total(self) -> int:
        return self.classes * (self.width * self.high + (self.prime - self.width) * self.low)

    @property
    def hit_and_miss(self) -> tuple[Fraction, Fraction]:
        """How likely the released block holds a value, where it is the input, and where it is not."""
        both = self.taken * (self.width - 1)  # blocks that hold two given values
        one = self.taken * (self.prime - self.width)
        return Fraction((both + one) * self.high, self.total), Fraction(both * self.high + one * self.low, self.total)

    def released_in(self, space: Space) -> Space:
        return Codes(self.outputs)

    @property
    def is_sharp(self) -> bool:
        return True

    def weights(self, source: int) -> NDArray[Any]:
        away = (np.arange(self.prime) - source) % self.prime
        held = np.array([self.holding(j)[away] for j in range(self.classes)])
        return np.asarray(np.where(held.reshape(-1), self.high, self.low).astype(object))

    def holding(self, j: int) -> NDArray[np.bool_]:
        """Whether block (j, y) holds y − d, for each residue d."""
        powers = _powers(self.prime)
        held = np.zeros(self.prime, bool)
        held[powers[(np.arange(self.prime - 1) - j) % self.classes < self.taken]] = True
        return held

    def worst_pair(self) -> Pair:
        telling = self.taken * (self.prime - self.width)
        return any_pair(self.size, telling * self.high, telling * self.low, self.total)

    def count_variance(self, space: Space) -> float | None:
        return hit_and_miss_variance(*self.hit_and_miss)

    def chances(self) -> tuple[str, Mapping[str, float]]:
        held = float(self.hit_and_miss[0])
        return "the set of values that is released", {"holds the true one": held, "does not": 1 - held}

    def unmix(self, seen: Sequence[Seen], others: int, name: str) -> Unmixed:
        """One axis, whose states are the blocks of the design."""
        (column,) = seen
        hit, miss = map(float, self.hit_and_miss)
        block_of = column.blocks.of(np.arange(self.size))
        incidence = Incidence(self.prime, self.classes, self.holding, self.size)
        axis = Blocked(name, incidence, block_of, column.blocks.blocks, hit, miss, column.numbers(np.arange(self.size)))
        return Unmixed((axis,), lambda released: released[0])

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        if self.outputs > _TABLED:
            return self.block(codes, *self._chosen(len(codes), coins))
        return self._table.draw(codes.astype(np.uint32), coins, finish=self._moved)

    @property
    def _table(self) -> Guide:
        """The sampler of j and a place as one number j·p + place."""
        return _guide(self.prime, self.classes, self.width, self.high, self.low)

    def _moved(self, codes: NDArray[np.uint32], chosen: NDArray[Any]) -> NDArray[np.uint32]:
        """The blocks of values, by look-up; in unsigned arithmetic the smaller of s and s − p is s mod p."""
        starts, away = _moves(self.prime, self.classes, self.taken)
        moved = codes + away.take(chosen, mode="clip")
        np.minimum(moved, moved - np.uint32(self.prime), out=moved)
        return np.asarray(moved + starts.take(chosen, mode="clip"))

    def _chosen(self, count: int, coins: Coins) -> tuple[NDArray[Any], NDArray[Any]]:
        """So many times a number j below m, and a place among the p residues: each of the first w has weight `high`,
        and each other one `low`."""
        words = uniform_below(np.broadcast_to(np.uint64(self.total), count), coins)
        j, word = np.divmod(words, self.total // self.classes)
        return j, self._place(word)

    def _place(self, word: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place that owns each word below w·high + (p − w)·low."""
        beyond = word - self.width * self.high
        return np.where(beyond < 0, word // max(self.high, 1), self.width + beyond // max(self.low, 1))

    def block(self, codes: NDArray[Any], j: NDArray[Any], place: NDArray[Any]) -> NDArray[np.int64]:
        """Block (j, x + d) of each value x, where d is g^j times the residue at a place: those of the classes that
        block (0, 0) takes come first, and g^j moves class 0 to class j."""
        away = _places(self.prime, self.classes, self.taken)[place] * _powers(self.prime)[j] % self.prime
        return np.asarray(j.astype(np.int64) * self.prime + (codes.astype(np.int64) + away) % self.prime)

    def to_json(self) -> Mapping[str, Any]:
        sizes = {"size": self.size, "prime": self.prime, "classes": self.classes, "taken": self.taken}
        return {"kind": self.kind, **sizes, "high": str(self.high), "low": str(self.low)}


LAWS[BlockDesign.kind] = BlockDesign.from_json


def is_prime(number: int) -> bool:
    """Whether a number of at most 2^24 is prime, by trial division.

    >>> [n for n in range(20) if is_prime(n)]
    [2, 3, 5, 7, 11, 13, 17, 19]
    """
    return number > 1 and all(number % n for n in range(2, isqrt(number) + 1))


@lru_cache(maxsize=8)
def _powers(prime: int) -> NDArray[np.int64]:
    """The powers 0, …, p − 2 of the least primitive root of a prime: every non-zero residue once.

    >>> _powers(7).tolist()
    [1, 3, 2, 6, 4, 5]
    """
    order, rest, factors = prime - 1, prime - 1, set[int]()
    for n in range(2, isqrt(order) + 1):
        while rest % n == 0:
            factors.add(n)
            rest //= n
    factors |= {rest} - {1}
    root = next(g for g in range(1, prime) if all(pow(g, order // n, prime) != 1 for n in factors))
    powers = np.ones(1, np.int64)
    while len(powers) < order:  # doubled
        powers = np.concatenate([powers, powers * pow(root, len(powers), prime) % prime])
    return powers[:order]


@lru_cache(maxsize=8)
def _places(prime: int, classes: int, taken: int) -> NDArray[np.int64]:
    """All residues, those of the classes 0, …, taken − 1 first."""
    powers, inside = _powers(prime), np.arange(prime - 1) % classes < taken
    return np.concatenate([powers[inside], [0], powers[~inside]])


@lru_cache(maxsize=16)
def _moves(prime: int, classes: int, taken: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """For every j and place as one number: where the blocks of j start, and how far a value moves."""
    factors = _powers(prime)[:classes, None]
    away = _places(prime, classes, taken) * factors % prime
    starts = np.repeat(np.arange(classes) * prime, prime)
    return starts.astype(np.uint32), away.reshape(-1).astype(np.uint32)


@lru_cache(maxsize=16)
def _guide(prime: int, classes: int, width: int, high: int, low: int) -> Guide:
    law = ([high] * width + [low] * (prime - width)) * classes
    return guide([law], sum(law))
