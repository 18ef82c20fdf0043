"""One row of a table: the product of the spaces of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import COLUMN, listed
from dproof.errors import InputError
from dproof.spaces.categories import Categories
from dproof.spaces.space import Space, as_space, narrowest
from dproof.spaces.subsets import Subsets


@dataclass(frozen=True, init=False, eq=False)
class Rows(Space):
    """The product of named spaces, with the sum of their metrics; a row is a mapping from name to value.

    For columns under the discrete metric the sum is the Hamming distance, HLM16, equation (1).
    The code of a row is its columns' codes in mixed radix, the last column the fastest.

    >>> row = Rows({"read": Categories([0, 1]), "gender": Categories(["M", "F"])})
    >>> row.size, row.diameter, row.code({"read": 1, "gender": "M"})
    (4, Fraction(2, 1), 2)
    """

    columns: Mapping[str, Space]
    mechanisms: ClassVar[str] = "joint"

    def __init__(self, columns: Mapping[str, Space]) -> None:
        if not isinstance(columns, Mapping) or not columns:
            raise InputError("columns must be a mapping from the name of each column, one at least, to its space")
        spaces = {name: as_space(space, f"the space of column {str(name)[:40]!r}") for name, space in columns.items()}
        object.__setattr__(self, "columns", spaces)

    @property
    def size(self) -> int:
        return prod(space.size for space in self.columns.values())

    @property
    def diameter(self) -> Fraction:
        return sum((space.diameter for space in self.columns.values()), Fraction(0))

    @property
    def separation(self) -> Fraction:
        return min((s.separation for s in self.columns.values() if s.size > 1), default=Fraction(0))

    @property
    def factors(self) -> Mapping[str, Space]:
        return self.columns

    def largest_sum(self) -> Fraction:
        return sum((s.largest_sum() * (self.size // s.size) for s in self.columns.values()), Fraction(0))

    def distance(self, x: Mapping[str, Any], y: Mapping[str, Any]) -> Fraction:
        return sum((s.distance(_cell(x, name), _cell(y, name)) for name, s in self.columns.items()), Fraction(0))

    def distances(self, code: int) -> NDArray[Any]:
        parts = self._digits(code)
        sums = np.zeros(1, object)
        for space, part in zip(self.columns.values(), parts, strict=True):
            sums = (sums[:, None] + space.distances(part)[None, :].astype(object)).reshape(-1)
        return sums

    def code(self, value: Mapping[str, Any]) -> int:
        code = 0
        for name, space in self.columns.items():
            code = code * space.size + space.code(_cell(value, name))
        return code

    def _digits(self, code: int) -> Sequence[int]:
        digits = []
        for space in list(self.columns.values())[::-1]:
            code, digit = divmod(int(code), space.size)
            digits.append(digit)
        return digits[::-1]

    def label(self, code: int) -> dict[str, Any]:
        parts = zip(self.columns.items(), self._digits(code), strict=True)
        return {name: space.label(digit) for (name, space), digit in parts}

    def encode(self, values: Any) -> NDArray[Any]:
        return np.array([self.code(value) for value in listed(values, "values", COLUMN)], narrowest(self.size))

    def decode(self, codes: NDArray[Any]) -> list[dict[str, Any]]:
        return [self.label(code) for code in codes]


def _cell(row: Mapping[str, Any], name: str) -> Any:
    if not isinstance(row, Mapping):
        raise InputError("a row must be a mapping from the names of its columns to their values")
    if name not in row:
        raise InputError(f"a row has no value for the column {name!r}")
    return row[name]


def table_space(space: Space, rows: int) -> Rows:
    """D^n as a space: n copies of one space, with the Hamming distance when that is discrete.

    >>> table_space(Categories([0, 1, 2]), 2).size
    9
    """
    return Rows({str(n): space for n in range(1, rows + 1)})


def one_row_apart(table: Space) -> NDArray[np.bool_]:
    """Which ordered pairs of tables are neighbours: those that differ in exactly one row. HLM16, Definition 1.

    A table has n·m neighbours, so there are n·m·(m+1)^n ordered pairs.

    >>> int(one_row_apart(table_space(Categories([0, 1, 2]), 2)).sum())
    36
    """
    differing, codes = np.zeros((table.size, table.size), np.int64), np.arange(table.size)
    for space in list((table.factors or {"row": table}).values())[::-1]:
        codes, digits = np.divmod(codes, space.size)
        differing += digits[:, None] != digits[None, :]
    return np.asarray(differing == 1)


EXAMPLES = (Rows({"hobby": Categories(["Cars", "Reading"]), "likes": Subsets(["a", "b"])}),)
