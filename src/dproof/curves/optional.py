"""Curves that may be missing: `missing = "category"` in a plan. A missing curve is stored as null.

Their law is `laws.optional.OptionalLaw` around noise on coefficients: a curve is shown with noise or not shown, and a
missing one, where it is shown, as the public centre. That law says why it is private.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.columns.arrow import as_numpy, with_nulls
from dproof.columns.column import Column, quoted
from dproof.curves.bases import Floats
from dproof.curves.lattice import CurveLattice, Expansion, Integers
from dproof.spaces.interval import ABSENT


@dataclass(frozen=True, slots=True)
class OptionalCurves(Expansion):
    """The curves of an expansion, and None, one diameter away from each of them. All places of a missing one are −1.

    >>> from dproof import Curves
    >>> day = Expansion(Curves(0, 1, 2, low=0, high=1), terms=2).with_missing()
    >>> day.encode([[0, 1], None]).tolist(), day.present == Expansion(Curves(0, 1, 2, low=0, high=1), terms=2)
    ([[0, 16777216], [-1, -1]], True)
    """

    absent: ClassVar[int] = 1

    @property
    def present(self) -> Expansion:
        return Expansion(*(getattr(self, field.name) for field in fields(self)))

    @property
    def diameter(self) -> Fraction:
        return self.space.diameter

    def encode(self, curves: Any) -> Integers:
        """The places of each curve, from anything that `Curves.encode` takes, or a list with None in it."""
        if not isinstance(curves, (list, tuple)):
            return self.space.encode(curves)
        codes = np.full((len(curves), self.space.points), -1, np.int64)
        codes[[curve is not None for curve in curves]] = self.space.encode([c for c in curves if c is not None])
        return codes

    def with_gaps(self, column: Column) -> Column:
        return replace(column, space=self.present, missing=None)

    def sql(self, column: Column) -> str:
        """Null for a missing curve, also where each of its points is stored by itself."""
        return f"CASE WHEN {quoted(column.stored[0])} IS NOT NULL THEN {Expansion.sql(self, column)} END"


@dataclass(frozen=True, slots=True, eq=False)
class OptionalLattice(CurveLattice):
    """The points of a lattice of curves, and one beside them, with the code `ABSENT` for every coefficient."""

    absent: ClassVar[int] = ABSENT

    def evaluate(self, z: Any, at: Any = None) -> Floats:
        """A missing curve is NaN everywhere."""
        codes = np.asarray(z)
        lacking = codes[..., :1] == ABSENT
        return np.where(lacking, np.nan, CurveLattice.evaluate(self, np.where(lacking, 0, codes), at))

    def store(self, column: Column, codes: Integers) -> list[Any]:
        """The centre stands under every null, so that nothing of the row does."""
        lacking = codes[:, :1] == ABSENT
        arrays = CurveLattice.store(self, column, np.where(lacking, 0, codes))
        return [with_nulls(array, lacking[:, 0]) for array in arrays]

    def stored_values(self, arrays: Sequence[Any]) -> Floats | None:
        """The centre for a missing curve."""
        lacking = _missing(arrays)
        shown = None if lacking is None else CurveLattice.stored_values(self, _valid(arrays))
        if lacking is None or shown is None:
            return None
        rows = np.tile(self.centre(self.space.times), (len(lacking), 1))
        rows[~lacking] = shown
        return rows

    def possible(
        self, column: Column, arrays: Sequence[Any], given: NDArray[np.bool_] | None, reach: int | None
    ) -> bool:
        return _missing(arrays) is not None and CurveLattice.possible(self, column, _valid(arrays), given, reach)


def _missing(arrays: Sequence[Any]) -> NDArray[np.bool_] | None:
    """Which stored curves are missing; None where only a part of one is."""
    lacking = arrays[0].is_null()
    if not all(array.is_null().equals(lacking) for array in arrays):
        return None
    return np.asarray(as_numpy(lacking), bool)


def _valid(arrays: Sequence[Any]) -> list[Any]:
    return [array.filter(array.is_valid()) for array in arrays]
