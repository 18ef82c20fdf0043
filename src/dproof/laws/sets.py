"""Laws whose outputs are sets: flipped bits of a set, unary encoding and subset selection of a value.

A set is a mask of bits. `Bits` takes sets to sets; `Unary` and `SubsetSelection` take one value to a set of values, for
counting who has what: among their inputs all are alike, so one pair of them stands for all. `OneItem` asks about one
item of a set, drawn whatever the set is, and answers with all of ε.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.errors import ArgumentError, TooLarge, VerificationFailed
from dproof.laws.debias import (
    Array,
    DebiasAxes,
    DenseScores,
    MatrixAxis,
    Powers,
    SeenColumn,
    response_axis,
    support_variance,
)
from dproof.laws.divergence import Pair, any_pair
from dproof.laws.guide import Guide, coin, guide, uniform, uniform_below
from dproof.laws.law import ITEMS, LAWS, SET_SIZE, TOTAL, WEIGHT, Law, Range, read_number
from dproof.spaces.categories import Codes
from dproof.spaces.space import Space
from dproof.spaces.subsets import Answers

_MOST_TABLED, _MANY = 14, 1 << 12  # values whose sets have a table, and rows that it is made for
_MOST_BITS = 1 << 15  # of the recorded weight of a set
_MOST_FLIPPED = 24  # items of sets whose weights are listed
_MOST_LISTED = 20  # values whose sets are written out one by one


@dataclass(frozen=True, slots=True)
class Bits(Law):
    """P(Y_a = b) = stay^(h−r) · flip^r / (stay + flip)^h, where r bits of a and b differ.

    Two sets that differ in every item are the worst pair: with fewer differing bits the law is a part of theirs.

    >>> Bits(3, 2, 1).odds(Fraction(0)).value
    Fraction(8, 1)
    """

    kind: ClassVar[str] = "bits"
    ranges: ClassVar[Mapping[str, Range]] = {"bits": ITEMS, "stay": WEIGHT, "flip": WEIGHT}

    bits: int
    stay: int
    flip: int

    def __post_init__(self) -> None:
        if self.bits < 0 or min(self.stay, self.flip) < 0 or self.stay + self.flip < 1:
            raise ArgumentError("a law of bits needs weights of at least 0 that are not both 0")

    @property
    def inputs(self) -> int:
        return 1 << self.bits

    outputs = inputs

    @property
    def total(self) -> int:
        return int((self.stay + self.flip) ** self.bits)

    def weights(self, source: int) -> NDArray[Any]:
        if self.bits > _MOST_FLIPPED:
            raise TooLarge(f"the sets of {self.bits} items are too many to list; ask for single probabilities")
        differing = np.bitwise_count(np.arange(self.outputs) ^ source)
        powers = [self.stay ** (self.bits - r) * self.flip**r for r in range(self.bits + 1)]
        return np.asarray(np.array(powers, object)[differing])

    def worst_pair(self) -> Pair:
        """The masses of {r bits turned} under a set and under its complement."""
        h = self.bits
        masses = [comb(h, r) * self.stay ** (h - r) * self.flip**r for r in range(h + 1)]
        return Pair(masses, masses[::-1], self.total, 0, self.inputs - 1)

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
        return sum((d * mass for d, mass in zip(distances, self.worst_pair().p, strict=True)), Fraction(0)) / self.total

    def count_variance(self, space: Space) -> float | None:
        stays = Fraction(self.stay, self.stay + self.flip)
        return support_variance(stays, 1 - stays)

    def debias_axes(self, seen: Sequence[SeenColumn], others: int, name: str) -> DebiasAxes:
        """An axis for each bit that is looked at; the first is the highest, and all have the same law."""
        (column,) = seen
        bits = self.bits if column.blocks.bits is None else len(column.blocks.bits)
        total = self.stay + self.flip
        bit = response_axis(name, np.ones(2), self.stay / total, self.flip / total, (None,))
        return DebiasAxes((bit,) * bits, lambda released: column.blocks.of(released[0]), by_block=True)

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        drawn = codes.copy()
        for bit in range(self.bits):
            turned = coin(self.stay, self.flip).draw(codes, coins)
            drawn ^= turned.astype(codes.dtype) << codes.dtype.type(bit)
        return drawn

    def to_json(self) -> Mapping[str, Any]:
        return {"kind": self.kind, "bits": self.bits, "stay": str(self.stay), "flip": str(self.flip)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Bits:
        bits, stay, flip = (read_number(record, name, span) for name, span in cls.ranges.items())
        if bits * (stay + flip).bit_length() > _MOST_BITS:
            raise VerificationFailed("the certificate cannot be read: the weights of a set are too long")
        return cls(bits, stay, flip)


@dataclass(frozen=True, slots=True)
class Unary(Law):
    """The value's own bit is 1 with probability p = own/whole, each other bit with probability q = other/whole.

    Two values differ in the law of their two bits only, and the worst set is {own bit 1, other's bit 0}:
    δ = p(1−q) − e·q(1−p), the same both ways.

    >>> Unary(5, 2, 1, 4).odds(Fraction(0)).value
    Fraction(3, 1)
    """

    kind: ClassVar[str] = "unary"
    ranges: ClassVar[Mapping[str, Range]] = {"size": SET_SIZE, "own": WEIGHT, "other": WEIGHT, "whole": TOTAL}

    size: int
    own: int
    other: int
    whole: int

    def __post_init__(self) -> None:
        if self.size < 1 or min(self.own, self.other) < 0 or max(self.own, self.other, 1) > self.whole:
            raise ArgumentError("unary encoding needs a value, and two weights from 0 to the whole")

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
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        return Fraction(self.own, self.whole), Fraction(self.other, self.whole)

    def weights(self, source: int) -> NDArray[Any]:
        sets, has = _all_sets(self.size, source)
        others = np.bitwise_count(sets).astype(int) - has
        rest = self.size - 1
        q, r = self.other, self.whole - self.other
        powers = np.array([q**n * r ** (rest - n) for n in range(rest + 1)], object)
        return np.asarray(powers[others] * np.where(has, self.own, self.whole - self.own))

    def worst_pair(self) -> Pair:
        p, q, n = self.own, self.other, self.whole
        return any_pair(self.size, p * (n - q), q * (n - p), n * n)

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        mine, other = (coin(self.whole - ones, ones) for ones in (self.own, self.other))
        sets = np.zeros(len(codes), np.int64)
        for bit in range(self.size):
            sets |= other.sample(len(codes), coins).astype(np.int64) << bit
        place = codes.astype(np.int64)
        sets &= ~(np.int64(1) << place)
        return sets | mine.sample(len(codes), coins).astype(np.int64) << place

    def to_json(self) -> Mapping[str, Any]:
        weights = {"own": str(self.own), "other": str(self.other), "whole": str(self.whole)}
        return {"kind": self.kind, "size": self.size, **weights}


@dataclass(frozen=True, slots=True)
class SubsetSelection(Law):
    """Every set of `width` values has weight `high` if it holds the input and `low` if not.

    Two inputs x, x' differ on the C(k−2, w−1) sets that hold x and not x', and on as many the other way round:
    δ = C(k−2, w−1)·(high − e·low)/total.

    >>> SubsetSelection(5, 2, 3, 1).odds(Fraction(0)).value
    Fraction(3, 1)
    """

    kind: ClassVar[str] = "subset-selection"
    ranges: ClassVar[Mapping[str, Range]] = {"size": SET_SIZE, "width": SET_SIZE, "high": WEIGHT, "low": WEIGHT}

    size: int
    width: int
    high: int
    low: int

    def __post_init__(self) -> None:
        if not 1 <= self.width <= self.size or min(self.high, self.low) < 0 or self.total < 1:
            raise ArgumentError("subset selection needs sets of 1 to all values, and weights of at least 0, not all 0")

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
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        hit = Fraction(self._masses()[1], self.total)
        return hit, (self.width - hit) / max(1, self.size - 1)  # what is left of the width is shared among the others

    def released_in(self, space: Space) -> Space:
        return Codes(self.outputs)

    def chances(self) -> tuple[str, Mapping[str, float]]:
        held = float(self.support_probabilities[0])
        return "the set of values that is released", {"holds the true one": held, "does not": 1 - held}

    def count_variance(self, space: Space) -> float | None:
        return support_variance(*self.support_probabilities)

    def possible(self) -> NDArray[np.bool_]:
        return np.asarray(np.bitwise_count(np.arange(self.outputs)) == self.width)

    def debias_axes(self, seen: Sequence[SeenColumn], others: int, name: str) -> DebiasAxes:
        """Every set of the width is a state; a row counts for each value that its set holds."""
        (column,) = seen
        codes = np.arange(self.size)
        member = np.eye(column.blocks.blocks)[column.blocks.of(codes)]
        sets = np.flatnonzero(self.possible())
        held = (sets[:, None] >> codes & 1).astype(float)
        matrix = (self.low + (self.high - self.low) * held.T) / self.total
        numbers = column.numbers(codes)
        values = np.zeros(self.size) if numbers is None else numbers
        axis = MatrixAxis(
            name, matrix, member, values, held @ member, held @ values / self.width, column.space.decode(codes)
        )
        return DebiasAxes((axis,), lambda released: np.searchsorted(sets, released[0]))

    def weights(self, source: int) -> NDArray[Any]:
        sets, has = _all_sets(self.size, source)
        chosen = np.bitwise_count(sets) == self.width
        return np.asarray(np.where(has, self.high, self.low).astype(object) * chosen)

    def worst_pair(self) -> Pair:
        telling = comb(self.size - 2, self.width - 1) if self.size > 1 else 0
        return any_pair(self.size, telling * self.high, telling * self.low, self.total)

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        """Whether the value itself is in the set, then the others one by one: need out of left are still to come. For
        many rows and few values a table of all sets is quicker."""
        if self.size <= _MOST_TABLED and len(codes) >= _MANY:
            table, possible = _table(self)
            return possible.take(table.draw(codes, coins))
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

    def to_json(self) -> Mapping[str, Any]:
        sizes = {"size": self.size, "width": self.width}
        return {"kind": self.kind, **sizes, "high": str(self.high), "low": str(self.low)}


@lru_cache(maxsize=16)
def _table(law: SubsetSelection) -> tuple[Guide, NDArray[np.int64]]:
    """The sampler of one of the sets that are possible, and these."""
    sets = np.flatnonzero(law.possible())
    return guide(np.array([law.weights(n)[sets] for n in range(law.size)]), law.total), sets


LAWS.update({law.kind: law.from_json for law in (Bits, Unary, SubsetSelection)})


def _all_sets(size: int, source: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Every set as a mask, and whether it holds the source."""
    if size > _MOST_LISTED:
        raise TooLarge(f"the sets of {size} values are too many to list; at most {_MOST_LISTED} values")
    sets = np.arange(1 << size)
    return sets, (sets >> source) & 1 == 1


@dataclass(frozen=True, slots=True)
class OneItem(Law):
    """P(Y_a = (n, b)) = stay/(h·(stay + flip)) if b says whether a holds item n of h, and flip instead of stay if not.

    Two sets that differ in every item are the worst pair, and no farther apart than the two answers about one item.

    >>> law = OneItem(3, 2, 1)
    >>> law.weights(0b001).tolist(), law.total
    ([1, 2, 2, 1, 2, 1], 9)
    """

    kind: ClassVar[str] = "one-item"
    ranges: ClassVar[Mapping[str, Range]] = {"bits": ITEMS, "stay": WEIGHT, "flip": WEIGHT}

    bits: int
    stay: int
    flip: int

    def __post_init__(self) -> None:
        if self.bits < 1 or min(self.stay, self.flip) < 0 or self.stay + self.flip < 1:
            raise ArgumentError(
                "a law of one item needs at least one item, and weights of at least 0 that are not both 0"
            )

    @property
    def inputs(self) -> int:
        return 1 << self.bits

    @property
    def outputs(self) -> int:
        return 2 * self.bits

    @property
    def total(self) -> int:
        return self.bits * (self.stay + self.flip)

    def released_in(self, space: Space) -> Space:
        assert space.items is not None
        return Answers(space.items)

    def weights(self, source: int) -> NDArray[Any]:
        said, held = np.arange(self.outputs) % 2, np.array([source >> n & 1 for n in range(self.bits)]).repeat(2)
        return np.where(said == held, self.stay, self.flip).astype(object)

    def worst_pair(self) -> Pair:
        """The answers that say what a set holds, and those that do not, under it and under its complement."""
        return Pair([self.stay, self.flip], [self.flip, self.stay], self.stay + self.flip, 0, self.inputs - 1)

    def chances(self) -> tuple[str, Mapping[str, float]]:
        stays = self.stay / (self.stay + self.flip)
        return "one item is drawn, and whether it is in the set is", {"told": stays, "reversed": 1 - stays}

    def count_variance(self, space: Space) -> float | None:
        """h·v + (h − 1)/4 with v that of an answer, where half of the sets are thought to hold the item."""
        if self.stay == self.flip:
            return None
        p, q = self.stay / (self.stay + self.flip), self.flip / (self.stay + self.flip)
        return self.bits * p * q / (p - q) ** 2 + (self.bits - 1) / 4

    def debias_axes(self, seen: Sequence[SeenColumn], others: int, name: str) -> DebiasAxes:
        """Whether a set holds one item; of two items of a row at most one was asked about."""
        (column,) = seen
        bits, p = column.blocks.bits, self.stay / (self.stay + self.flip)
        if bits is None or len(bits) > 1:
            raise ArgumentError(
                f"{name} was released with one item of each set, so items cannot be asked for together: ask for one in "
                "each question, or sanitise with mechanism = 'itemwise_response'"
            )
        nodes = np.array([0, *(1 << bit for bit in bits)])  # the item is not in the set, and it is
        member = np.eye(column.blocks.blocks)[column.blocks.of(nodes)]
        chance = 1 / self.bits
        law = np.array([[1 - chance, chance * p, chance * (1 - p)], [1 - chance, chance * (1 - p), chance * p]])[
            : len(nodes)
        ]
        shown = np.vstack([np.zeros(column.blocks.blocks), *member, *member[: 2 - len(nodes)]])
        axis = OneItemAxis(name, law, member, np.zeros(len(nodes)), shown, np.zeros(3), asked=chance, kept=p)
        (bit,) = bits or (0,)

        def state(released: Sequence[Array]) -> Array:
            return np.where(released[0] // 2 == bit, 1 + released[0] % 2, 0)

        return DebiasAxes((axis,), state)

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        item = uniform(self.bits).sample(len(codes), coins).astype(np.int64)
        masks = codes if codes.dtype == object else codes.astype(np.int64)
        held = (masks >> item & 1).astype(np.int64)
        turned = coin(self.stay, self.flip).sample(len(codes), coins)
        return np.asarray(2 * item + (held ^ turned))

    def to_json(self) -> Mapping[str, Any]:
        return {"kind": self.kind, "bits": self.bits, "stay": str(self.stay), "flip": str(self.flip)}


LAWS[OneItem.kind] = OneItem.from_json


@dataclass(frozen=True, slots=True, eq=False)
class OneItemAxis(MatrixAxis):
    """Whether a set holds an item that was asked about in a part `asked` of all rows, and then told with chance `kept`.

    The states are: not asked about, no, yes. With s the score of an answer by itself, a row has c + (s − c)/asked, and
    c if it was not asked: unbiased for every c, and of least variance where c is the share of rows with the item.
    """

    asked: float = 1.0
    kept: float = 1.0
    share: float = 0.5

    is_fitted = True

    def fit(self, counts: Array) -> OneItemAxis:
        """With the share that these counts tell; where few rows were asked, nearer to a half."""
        _, no, yes = counts
        spare = max(0.0, 1 - self.kept) / (2 * self.kept - 1)  # answers to be told right by chance
        share = 0.5 + (yes - no) / 2 / max(no + yes, 1.0) / (2 * self.kept - 1)
        weight = (no + yes) / (no + yes + 100 * (1 + spare))
        return replace(self, share=float(np.clip(weight * share + (1 - weight) / 2, 0, 1)))

    def scores(self, powers: Powers) -> DenseScores:
        absent, held = self.member[0], self.member[-1]
        middle = absent + self.share * (held - absent)
        over = (1 - self.kept) / (2 * self.kept - 1)
        answers = [absent - over * (held - absent), held + over * (held - absent)]
        return DenseScores(np.vstack([middle, *(middle + (answer - middle) / self.asked for answer in answers)]))
