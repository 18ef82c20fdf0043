"""Keep the value with one probability, else take each other value with another: two whole numbers for any size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.errors import ArgumentError
from dproof.exact import exp_below
from dproof.laws.debias import DebiasAxes, SeenColumn, response_axis, support_variance
from dproof.laws.divergence import Pair, any_pair
from dproof.laws.guide import Guide, guide, word_width
from dproof.laws.law import LAWS, SIZE, WEIGHT, Law, Range
from dproof.spaces.space import Space

_TOTAL_BITS = 52  # words that belong to nobody, and are drawn again, stay below one in 2^12
_TABLED = 4096  # up to this size a guide table over the shifts beats arithmetic on whole words


@dataclass(frozen=True, slots=True)
class KeepOrOther(Law):
    """P(Y_d = d) = keep/total and P(Y_d = d') = other/total, with total = keep + m·other.

    Y_d is d + S modulo the size, with one law for the shift S whatever d, so one small table serves every row.
    HLM15, Example 6; HLM16, equation (19).

    >>> KeepOrOther(5, 6, 1).odds(Fraction(0)).value
    Fraction(6, 1)
    """

    kind: ClassVar[str] = "keep-or-other"
    ranges: ClassVar[Mapping[str, Range]] = {"size": SIZE, "keep": WEIGHT, "other": WEIGHT}

    size: int
    keep: int
    other: int

    def __post_init__(self) -> None:
        if self.size < 1 or min(self.keep, self.other) < 0 or self.total < 1:
            raise ArgumentError("a law needs at least one value, and weights of at least 0 that are not all 0")

    @property
    def inputs(self) -> int:
        return self.size

    outputs = inputs

    @property
    def total(self) -> int:
        return self.keep + (self.size - 1) * self.other

    def weights(self, source: int) -> NDArray[Any]:
        law = np.full(self.size, self.other, np.int64 if self.total < 1 << 62 else object)
        law[source] = self.keep
        return law

    def worst_pair(self) -> Pair:
        return any_pair(self.size, self.keep, self.other, self.total)  # d and d' differ in the outputs d and d' only

    @property
    def is_sharp(self) -> bool:
        return True

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
        weights = np.array([float(others)])
        for column in seen:
            weights = np.multiply.outer(weights, column.blocks.sizes).reshape(-1)
        samples = np.meshgrid(*(column.blocks.samples for column in seen), indexing="ij")
        numbers = tuple(column.numbers(code.reshape(-1)) for column, code in zip(seen, samples, strict=True))

        def state(released: Sequence[NDArray[Any]]) -> NDArray[Any]:
            joint = np.zeros((), np.int64)
            for column, codes in zip(seen, released, strict=True):
                joint = joint * column.blocks.blocks + column.blocks.of(codes)
            return joint

        kept = response_axis(name, weights, self.keep / self.total, self.other / self.total, numbers)
        return DebiasAxes((kept,), state, by_block=True)

    def with_missing(self, epsilon: Fraction, delta: Fraction) -> KeepOrOther:
        """A missing value is a value like any other."""
        return response_law(self.size + 1, epsilon, delta)

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        if self.size > _TABLED and word_width(self.total) == 64:
            return _add_modulo(codes, _arithmetic_shifts(self, len(codes), coins), self.size)
        table = _shift_guide(self.size, self.keep, self.other)
        return table.draw(codes, coins, finish=lambda some, shifts: _add_modulo(some, shifts, self.size))

    def to_json(self) -> Mapping[str, Any]:
        return {"kind": self.kind, "size": self.size, "keep": str(self.keep), "other": str(self.other)}


LAWS[KeepOrOther.kind] = KeepOrOther.from_json


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
    shifts = np.empty(count, np.min_scalar_type(law.size))
    waiting = np.arange(count)
    while len(waiting):
        shifts[waiting] = owners = _owners(coins.words64(len(waiting)), law, 64)
        waiting = waiting[owners == law.size]
    return shifts


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
