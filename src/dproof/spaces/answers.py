"""Answers about one item of a set: which item it is, and whether the set is said to hold it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import COLUMN, listed
from dproof.errors import InputError
from dproof.spaces.arrow import as_numpy, from_numpy
from dproof.spaces.space import Space, narrowest

if TYPE_CHECKING:
    from dproof.spaces.column import Column

_SAID = ("no", "yes")


@dataclass(frozen=True, slots=True)
class Answers(Space):
    """The answers "no" and "yes" about each of some items, with the codes 2n and 2n + 1; ρ(x, y) = 1 for x ≠ y.

    Stored as a text, or where the source has a flag for each item as flags, with none for the items not asked about.

    >>> Answers(("Music", "Chess")).decode(np.array([1, 2]))
    ['Music: yes', 'Chess: no']
    """

    about: tuple[Hashable, ...]

    @property
    def size(self) -> int:
        return 2 * len(self.about)

    @property
    def diameter(self) -> Fraction:
        return Fraction(1)

    separation = diameter

    def distance(self, x: Any, y: Any) -> Fraction:
        return Fraction(int(self.code(x) != self.code(y)))

    def distances(self, code: int) -> NDArray[Any]:
        return np.asarray(np.arange(self.size) != code).astype(np.int64)

    def distances_from(self, value: Any) -> NDArray[Any]:
        raise InputError("an answer about one item has no distance from a set")

    def code(self, value: Any) -> int:
        item, _, said = str(value).rpartition(": ")
        names = [str(known) for known in self.about]
        if item not in names or said not in _SAID:
            raise InputError("a value is not an answer about an item")
        return 2 * names.index(item) + _SAID.index(said)

    def label(self, code: int) -> str:
        return f"{self.about[int(code) // 2]}: {_SAID[int(code) % 2]}"

    def encode(self, values: Any) -> NDArray[Any]:
        return np.array([self.code(value) for value in listed(values, "values", COLUMN)], narrowest(self.size))

    def decode(self, codes: NDArray[Any]) -> list[Any]:
        return [self.label(code) for code in codes]

    # As it is stored -------------------------------------------------------------------------------------------------

    def store(self, column: Column, codes: NDArray[Any]) -> list[Any]:
        if column.form != "flags":
            return super(Answers, self).store(column, codes)
        return [from_numpy(codes % 2 == 1, codes // 2 != n) for n in range(len(self.about))]

    def restore(self, column: Column, arrays: Sequence[Any]) -> NDArray[np.int64]:
        """The codes; −1 where not exactly one item has an answer."""
        if column.form != "flags":
            return super(Answers, self).restore(column, arrays)
        codes, answers = np.zeros((2, len(arrays[0])), np.int64)
        for n, array in enumerate(arrays):
            there = np.asarray(array.is_valid())
            codes[there] = 2 * n + as_numpy(array, missing=False).astype(np.int64)[there]
            answers += there
        return np.where(answers == 1, codes, -1)

    def possible(
        self, column: Column, arrays: Sequence[Any], given: NDArray[np.bool_] | None, reach: int | None
    ) -> bool:
        if column.form != "flags":
            return super(Answers, self).possible(column, arrays, given, reach)
        codes = self.restore(column, arrays)
        whole = len(codes) == 0 or codes.min() >= 0
        return whole and all(a.equals(b) for a, b in zip(self.store(column, codes), arrays, strict=True))

    def reader(
        self, column: Column, bits: Sequence[int] | None
    ) -> tuple[list[str], Callable[[Sequence[Any]], NDArray[np.int64]]]:
        from dproof.spaces.column import quoted

        return [quoted(name) for name in column.stored], lambda arrays: self.restore(column, arrays)
