"""Laws of a value or a set: randomised response, unary encoding, subset selection, flipped bits, one item of a set.

A set is a mask of bits. `KeepOrOther` takes a value to a value, `Unary` and `SubsetSelection` a value to a set of
values, for counting who has what: all values are alike, so one pair of them stands for all. `Bits` takes sets to sets;
`OneItem` asks about one item of a set, drawn whatever the set is, and answers with all of ε.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins, Guide, coin, drawn_again, guide, uniform, uniform_below, word_width
from dproof.errors import ArgumentError, TooLarge, VerificationFailed
from dproof.exact import exp_below
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
from dproof.laws.divergence import Pair
from dproof.laws.law import ITEMS, SET_SIZE, SIZE, TOTAL, WEIGHT, Law, Span, read_number
from dproof.spaces.categories import Answers, Codes
from dproof.spaces.space import Space

_TOTAL_BITS = 52  # words that belong to nobody, and are drawn again, stay below one in 2^12
_TABLED = 4096  # up to this size a guide table over the shifts beats arithmetic on whole words


@dataclass(frozen=True, slots=True)
class AlikeValues(Law):
    """A law of `size` values that are all alike: two of them differ on two groups of outputs, and there change places.

    `telling` is what a value weighs on its group, what the other one weighs there, and the total of both laws.
    """

    size: int

    @property
    @abstractmethod
    def telling(self) -> tuple[int, int, int]: ...

    @property
    @abstractmethod
    def support_probabilities(self) -> tuple[Fraction, Fraction]: ...

    @property
    def inputs(self) -> int:
        return self.size

    def worst_pair(self) -> Pair:
        own, other, total = self.telling
        rest = total - own - other
        several = [own, other, rest], [other, own, rest], total
        return Pair(*several) if self.size > 1 else Pair([total], [total], total, 0, 0)

    def count_variance(self, space: Space) -> float | None:
        return support_variance(*self.support_probabilities)

    def chances(self) -> tuple[str, Mapping[str, float]]:
        held = float(self.support_probabilities[0])
        return "the set of values that is released", {"holds the true one": held, "does not": 1 - held}


@dataclass(frozen=True, slots=True)
class KeepOrOther(AlikeValues):
    """P(Y_d = d) = keep/total and P(Y_d = d') = other/total, with total = keep + m·other.

    Y_d is d + S modulo the size, with one law for the shift S whatever d, so one small table serves every row.
    HLM15, Example 6; HLM16, equation (19).

    >>> KeepOrOther(5, 6, 1).odds(Fraction(0)).value
    Fraction(6, 1)
    """

    kind: ClassVar[str] = "keep-or-other"  # in certificates
    is_sharp: ClassVar[bool] = True
    ranges: ClassVar[Mapping[str, Span]] = {"size": SIZE, "keep": WEIGHT, "other": WEIGHT}

    keep: int
    other: int

    def __post_init__(self) -> None:
        if self.size < 1 or min(self.keep, self.other) < 0 or self.total < 1:
            raise ArgumentError("a law needs at least one value, and weights of at least 0 that are not all 0")

    @property
    def outputs(self) -> int:
        return self.size

    @property
    def total(self) -> int:
        return self.keep + (self.size - 1) * self.other

    def weights(self, source: int) -> NDArray[Any]:
        law = np.full(self.size, self.other, np.int64 if self.total < 1 << 62 else object)
        law[source] = self.keep
        return law

    @property
    def telling(self) -> tuple[int, int, int]:
        return self.keep, self.other, self.total  # d and d' differ in the outputs d and d' only

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        return Fraction(self.keep, self.total), Fraction(self.other, self.total)

    def chances(self) -> tuple[str, Mapping[str, float]]:
        kept = self.keep / self.total
        return "a value is", {"kept": kept, "replaced": 1 - kept}

    def probability(self, source: int, target: int) -> Fraction:
        return self.support_probabilities[source != target]

    def maximal_error(self, space: Space) -> Fraction:
        return space.largest_sum() * Fraction(self.other, self.total)

    def count_variance(self, space: Space) -> float | None:
        if self.size == 1:
            return 0.0  # every row has the only value
        held, _ = space.counted()  # points that one count takes in
        keep, other = self.support_probabilities
        return support_variance(keep + (held - 1) * other, held * other)

    def debias_axes(self, seen: Sequence[SeenColumn], others: int, name: str) -> DebiasAxes:
        """Joint blocks of all columns, the last varying fastest: a block is kept, or becomes any other by its size."""
        weights, even = np.full((2, 1), float(others))
        for column in seen:
            weights = np.multiply.outer(weights, column.blocks.sizes).reshape(-1)
            even = np.multiply.outer(even, column.values_in_blocks).reshape(-1)
        samples = np.meshgrid(*(column.blocks.samples for column in seen), indexing="ij")
        numbers = tuple(column.numbers(code.reshape(-1)) for column, code in zip(seen, samples, strict=True))

        def state(released: Sequence[NDArray[Any]]) -> NDArray[Any]:
            joint = np.zeros((), np.int64)
            for column, codes in zip(seen, released, strict=True):
                joint = joint * column.blocks.blocks + column.blocks.of(codes)
            return joint

        kept = response_axis(name, weights, self.keep / self.total, self.other / self.total, numbers, even)
        return DebiasAxes((kept,), state, by_block=True)

    def with_total(self, total: int) -> KeepOrOther | None:
        other = -(-total * self.other // self.total)  # rounded up, so keep : other falls
        keep = total - (self.size - 1) * other
        return KeepOrOther(self.size, keep, other) if other and keep > other else None

    def with_missing(self, epsilon: Fraction, delta: Fraction) -> KeepOrOther:
        """A missing value is a value like any other."""
        return response_law(self.size + 1, epsilon, delta)

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        if self.size > _TABLED and word_width(self.total) == 64:
            return _add_modulo(codes, _arithmetic_shifts(self, len(codes), coins), self.size)
        table = _shift_guide(self.size, self.keep, self.other)
        return table.draw(codes, coins, finish=lambda some, shifts: _add_modulo(some, shifts, self.size))


def response_law(size: int, epsilon: Fraction, delta: Fraction) -> KeepOrOther:
    """Randomised response on so many values: keep ≤ e^ε·other + δ·total, with the largest keep."""
    if size == 1:
        return KeepOrOther(1, 1, 1)
    if delta == 1:
        return KeepOrOther(size, 1, 0)
    return keep_up_to((exp_below(epsilon) + (size - 1) * delta) / (1 - delta), size)


def keep_up_to(ratio: Fraction, size: int) -> KeepOrOther:
    """The law whose keep : other comes nearest to a ratio of at least 1 from below, with a total below 2^62.

    >>> keep_up_to(Fraction(1), 5)
    KeepOrOther(size=5, keep=1, other=1)
    """
    other = max(1, (1 << _TOTAL_BITS) // (size + int(ratio))) if ratio > 1 else 1
    return KeepOrOther(size, min(int(other * ratio), 1 << 61), other)


@lru_cache(maxsize=64)
def _shift_guide(size: int, keep: int, other: int) -> Guide:
    return guide([[keep] + [other] * (size - 1)], keep + (size - 1) * other)


def _arithmetic_shifts(law: KeepOrOther, count: int, coins: Coins) -> NDArray[Any]:
    """A shift for each of `count` words of 64 bits; words that belong to nobody are drawn again."""

    def owners(places: Any) -> NDArray[np.uint64]:
        return _owners(coins.words64(len(places)), law, 64)

    narrow = owners(range(count)).astype(np.min_scalar_type(law.size))
    return drawn_again(narrow, owners, lambda some: some == law.size)


def _owners(words: NDArray[np.uint64], law: KeepOrOther, width: int) -> NDArray[np.uint64]:
    """The shift that owns each word of `width` bits, by one division; `size` where nobody does."""
    scale = (1 << width) // law.total
    keep, other = law.keep * scale, law.other * scale
    owners = np.full(len(words), law.size, np.uint64)
    kept = words <= np.uint64(keep - 1) if keep else np.zeros(len(words), bool)
    owners[kept] = 0
    if other:
        shift = 1 + (words[~kept] - np.uint64(keep)) // np.uint64(other)
        owners[~kept] = np.minimum(shift, np.uint64(law.size))
    return owners


def _add_modulo(codes: NDArray[Any], shifts: NDArray[Any], size: int) -> NDArray[Any]:
    """(codes + shifts) mod size for numbers below size, in three vectorised steps.

    In unsigned arithmetic the smaller of s and s − size is s mod size: below size the difference wraps round.
    """
    wide = np.min_scalar_type(2 * size)
    moved: NDArray[Any] = np.add(codes, shifts, dtype=wide, casting="unsafe")
    np.minimum(moved, moved - wide.type(size), out=moved)
    return moved.astype(codes.dtype, copy=False)


# Laws that show sets --------------------------------------------------------------------------------------------------

_MOST_TABLED, _MANY = 14, 1 << 12  # values whose sets have a table, and rows that it is made for
_MOST_BITS = 1 << 15  # of the recorded weight of a set
_MOST_FLIPPED = 24  # items of sets whose weights are listed
_MOST_LISTED = 20  # values whose sets are written out one by one


@dataclass(frozen=True, slots=True)
class ItemsLaw(Law):
    """A law of sets of `bits` items: what is told of an item is true with weight `stay`, and not with weight `flip`."""

    ranges: ClassVar[Mapping[str, Span]] = {"bits": ITEMS, "stay": WEIGHT, "flip": WEIGHT}

    bits: int
    stay: int
    flip: int

    def __post_init__(self) -> None:
        if self.bits < 0 or min(self.stay, self.flip) < 0 or self.stay + self.flip < 1 or self.total == 0:
            raise ArgumentError("a law of sets needs items, and weights of at least 0 that are not both 0")

    @property
    def inputs(self) -> int:
        return 1 << self.bits

    @property
    def stays(self) -> float:
        """The chance that what is told of an item is true."""
        return self.stay / (self.stay + self.flip)


@dataclass(frozen=True, slots=True)
class Bits(ItemsLaw):
    """P(Y_a = b) = stay^(h−r) · flip^r / (stay + flip)^h, where r bits of a and b differ.

    Two sets that differ in every item are the worst pair: with fewer differing bits the law is a part of theirs.

    >>> Bits(3, 2, 1).odds(Fraction(0)).value
    Fraction(8, 1)
    """

    kind: ClassVar[str] = "bits"  # in certificates

    @property
    def outputs(self) -> int:
        return 1 << self.bits

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
        return "for each item, whether it is in the set is", {"kept": self.stays, "reversed": 1 - self.stays}

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

    def with_total(self, total: int) -> Bits | None:
        """The total is that of each item."""
        flip = -(-total * self.flip // (self.stay + self.flip))
        return Bits(self.bits, total - flip, flip) if flip and total > 2 * flip else None

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        drawn = codes.copy()
        for bit in range(self.bits):
            turned = coin(self.stay, self.flip).draw(codes, coins)
            drawn ^= turned.astype(codes.dtype) << codes.dtype.type(bit)
        return drawn

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Bits:
        bits, stay, flip = (read_number(record, name, span) for name, span in cls.ranges.items())
        if bits * (stay + flip).bit_length() > _MOST_BITS:
            raise VerificationFailed("the certificate cannot be read: the weights of a set are too long")
        return cls(bits, stay, flip)


@dataclass(frozen=True, slots=True)
class Unary(AlikeValues):
    """The value's own bit is 1 with probability p = own/whole, each other bit with probability q = other/whole.

    Two values differ in the law of their two bits only, and the worst set is {own bit 1, other's bit 0}:
    δ = p(1−q) − e·q(1−p), the same both ways.

    >>> Unary(5, 2, 1, 4).odds(Fraction(0)).value
    Fraction(3, 1)
    """

    kind: ClassVar[str] = "unary"  # in certificates
    ranges: ClassVar[Mapping[str, Span]] = {"size": SET_SIZE, "own": WEIGHT, "other": WEIGHT, "whole": TOTAL}

    own: int
    other: int
    whole: int

    def __post_init__(self) -> None:
        if self.size < 1 or min(self.own, self.other) < 0 or max(self.own, self.other, 1) > self.whole:
            raise ArgumentError("unary encoding needs a value, and two weights from 0 to the whole")

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

    @property
    def telling(self) -> tuple[int, int, int]:
        p, q, n = self.own, self.other, self.whole
        return p * (n - q), q * (n - p), n * n  # what the two bits show, and no other tells anything

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        mine, other = (coin(self.whole - ones, ones) for ones in (self.own, self.other))
        sets = np.zeros(len(codes), np.int64)
        for bit in range(self.size):
            sets |= other.sample(len(codes), coins).astype(np.int64) << bit
        place = codes.astype(np.int64)
        sets &= ~(np.int64(1) << place)
        return sets | mine.sample(len(codes), coins).astype(np.int64) << place


@dataclass(frozen=True, slots=True)
class SubsetSelection(AlikeValues):
    """Every set of `width` values has weight `high` if it holds the input and `low` if not.

    Two inputs x, x' differ on the C(k−2, w−1) sets that hold x and not x', and on as many the other way round:
    δ = C(k−2, w−1)·(high − e·low)/total.

    >>> SubsetSelection(5, 2, 3, 1).odds(Fraction(0)).value
    Fraction(3, 1)
    """

    kind: ClassVar[str] = "subset-selection"  # in certificates
    ranges: ClassVar[Mapping[str, Span]] = {"size": SET_SIZE, "width": SET_SIZE, "high": WEIGHT, "low": WEIGHT}

    width: int
    high: int
    low: int

    def __post_init__(self) -> None:
        if not 1 <= self.width <= self.size or min(self.high, self.low) < 0 or self.total < 1:
            raise ArgumentError("subset selection needs sets of 1 to all values, and weights of at least 0, not all 0")

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
        seen_values, labels = held @ values / self.width, column.space.decode(codes)
        sizes = column.values_of(codes)
        axis = MatrixAxis(name, matrix, member, values, held @ member, seen_values, labels, node_sizes=sizes)
        return DebiasAxes((axis,), lambda released: np.searchsorted(sets, released[0]))

    def weights(self, source: int) -> NDArray[Any]:
        sets, has = _all_sets(self.size, source)
        chosen = np.bitwise_count(sets) == self.width
        return np.asarray(np.where(has, self.high, self.low).astype(object) * chosen)

    @property
    def telling(self) -> tuple[int, int, int]:
        sets = comb(self.size - 2, self.width - 1) if self.size > 1 else 0
        return sets * self.high, sets * self.low, self.total

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


@lru_cache(maxsize=16)
def _table(law: SubsetSelection) -> tuple[Guide, NDArray[np.int64]]:
    """The sampler of one of the sets that are possible, and these."""
    sets = np.flatnonzero(law.possible())
    return guide(np.array([law.weights(n)[sets] for n in range(law.size)]), law.total), sets


def _all_sets(size: int, source: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Every set as a mask, and whether it holds the source."""
    if size > _MOST_LISTED:
        raise TooLarge(f"the sets of {size} values are too many to list; at most {_MOST_LISTED} values")
    sets = np.arange(1 << size)
    return sets, (sets >> source) & 1 == 1


@dataclass(frozen=True, slots=True)
class OneItem(ItemsLaw):
    """P(Y_a = (n, b)) = stay/(h·(stay + flip)) if b says whether a holds item n of h, and flip instead of stay if not.

    Two sets that differ in every item are the worst pair, and no farther apart than the two answers about one item.

    >>> law = OneItem(3, 2, 1)
    >>> law.weights(0b001).tolist(), law.total
    ([1, 2, 2, 1, 2, 1], 9)
    """

    kind: ClassVar[str] = "one-item"  # in certificates

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
        told = {"told": self.stays, "reversed": 1 - self.stays}
        return "one item is drawn, and whether it is in the set is", told

    def count_variance(self, space: Space) -> float | None:
        """h·v + (h − 1)/4 with v that of an answer, where half of the sets are thought to hold the item."""
        if self.stay == self.flip:
            return None
        p, q = self.stays, self.flip / (self.stay + self.flip)
        return self.bits * p * q / (p - q) ** 2 + (self.bits - 1) / 4

    def debias_axes(self, seen: Sequence[SeenColumn], others: int, name: str) -> DebiasAxes:
        """Whether a set holds one item; of two items of a row at most one was asked about."""
        (column,) = seen
        bits, p = column.blocks.bits, self.stays
        if bits is None or len(bits) > 1:
            raise ArgumentError(
                f"{name} was released with one item of each set, so items cannot be asked for together: ask for one in "
                "each question, or sanitise with mechanism = 'itemwise_response'"
            )
        nodes = np.array([0, *(1 << bit for bit in bits)])  # the item is not in the set, and it is
        member = np.eye(column.blocks.blocks)[column.blocks.of(nodes)]
        chance = 1 / self.bits
        both = np.array([[1 - chance, chance * p, chance * (1 - p)], [1 - chance, chance * (1 - p), chance * p]])
        shown = np.vstack([np.zeros(column.blocks.blocks), *member, *member[: 2 - len(nodes)]])
        law, values = both[: len(nodes)], np.zeros(len(nodes))
        axis = OneItemAxis(name, law, member, values, shown, np.zeros(3), asked=chance, kept=p)
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
