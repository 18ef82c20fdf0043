"""Codes that stand for nothing by themselves, such as the number of a block of values."""

from __future__ import annotations

from collections.abc import Sequence
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


@dataclass(frozen=True, slots=True)
class Codes(Space):
    """The numbers 0, 1, …, count − 1 with ρ(x, y) = 1 for x ≠ y: a value is its code, and stored as that.

    >>> Codes(21).encode([3, 20]).tolist(), Codes(21).diameter
    ([3, 20], Fraction(1, 1))
    """

    count: int

    @property
    def size(self) -> int:
        return self.count

    @property
    def diameter(self) -> Fraction:
        return Fraction(min(1, self.count - 1))

    separation = diameter

    def distance(self, x: Any, y: Any) -> Fraction:
        return Fraction(int(self.code(x) != self.code(y)))

    def distances(self, code: int) -> NDArray[Any]:
        return np.asarray(np.arange(self.count) != code).astype(np.int64)

    def distances_from(self, value: Any) -> NDArray[Any]:
        raise InputError("codes have no distance from the values that they were drawn for")

    def code(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 0 <= value < self.count:
            raise InputError(f"a value is not a code from 0 to {self.count - 1}")
        return int(value)

    def label(self, code: int) -> int:
        return int(code)

    def encode(self, values: Any) -> NDArray[Any]:
        return np.array([self.code(value) for value in listed(values, "values", COLUMN)], narrowest(self.count))

    def decode(self, codes: NDArray[Any]) -> list[Any]:
        return [int(code) for code in codes]

    def store(self, column: Column, codes: NDArray[Any]) -> list[Any]:
        """32 bits hold every code that can be counted."""
        return [from_numpy(codes.astype(np.int32))]

    def restore(self, column: Column, arrays: Sequence[Any]) -> NDArray[np.int64]:
        return as_numpy(arrays[0], missing=-1).astype(np.int64)
