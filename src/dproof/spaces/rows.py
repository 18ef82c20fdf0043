"""One row of a table: the product of the spaces of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from dproof.errors import InputError
from dproof.spaces.product import Metric, ProductSpace
from dproof.spaces.space import Space, as_space


@dataclass(frozen=True, init=False, eq=False)
class Rows(ProductSpace):
    """One person's row: the product of named spaces, with the sum of their metrics; a mapping from name to value.

    Any two rows are neighbours. A table of n people is `Table(row, n)`.

    >>> row = Rows({"read": Categories([0, 1]), "gender": Categories(["M", "F"])})
    >>> row.size, row.diameter, row.code({"read": 1, "gender": "M"})
    (4, Fraction(2, 1), 2)
    """

    columns: Mapping[str, Space]
    mechanisms: ClassVar[str] = "joint"
    metric: ClassVar[Metric] = "l1"  # type: ignore[misc]  # of all rows

    def __init__(self, columns: Mapping[str, Space]) -> None:
        if not isinstance(columns, Mapping) or not columns:
            raise InputError("columns must be a mapping from the name of each column, one at least, to its space")
        spaces = {name: as_space(space, f"the space of column {str(name)[:40]!r}") for name, space in columns.items()}
        object.__setattr__(self, "columns", spaces)

    @property
    def parts(self) -> Sequence[Space]:
        return tuple(self.columns.values())

    @property
    def factors(self) -> Mapping[str, Space]:
        return self.columns

    def cells(self, value: Mapping[str, Any]) -> Sequence[Any]:
        if not isinstance(value, Mapping):
            raise InputError("a row must be a mapping from the names of its columns to their values")
        for name in self.columns:
            if name not in value:
                raise InputError(f"a row has no value for the column {name!r}")
        return [value[name] for name in self.columns]

    def joined(self, cells: Sequence[Any]) -> dict[str, Any]:
        return dict(zip(self.columns, cells, strict=True))
