"""Curve columns: from a plan's table to a column, from the source's arrays to places on the grid, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dproof.columns.codec import (
    Codec,
    Column,
    Form,
    Key,
    Suggestion,
    missing_key,
    missing_rows,
    outside_key,
    quoted,
    valid,
)
from dproof.columns.numbers import arrow_rows
from dproof.columns.values import as_numpy, from_numpy, number_of
from dproof.curves.lattice import CurveLattice, Expansion, centre_of, expand, measured_expansion
from dproof.errors import ArgumentError
from dproof.spaces.curves import Curves
from dproof.spaces.space import MISSING

if TYPE_CHECKING:
    from dproof.plans.reader import Reader

_LOSS = 2.0**-40  # of a curve's size: what floats may lose when a function is evaluated by another machine


class CurveCodec(Codec):
    """Curves, from wide columns in grid order or from one column of lists."""

    kind: ClassVar[str | None] = "curves"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("low", "number", "The least value of a curve.", "low = 0"),
        Key("high", "number", "The greatest value of a curve.", "high = 5"),
        Key(
            "columns",
            "texts",
            "The columns of the source, one for each grid point; without it one column has lists.",
            'columns = ["h00", "h01"] or one column of lists',
            (),
        ),
        Key("points", "whole number", "The number of grid points.", default=None),
        Key("start", "number", "The first grid point.", default=0),
        Key("stop", "number", "The last grid point; without it the points are 1 apart.", default=None),
        Key("grid", "numbers", "The grid points themselves.", default=None),
        Key("norm", "text", 'The norm of errors, `"l2"` or `"sup"`.', default="l2"),
        Key("basis", "text", 'The basis of the curves, such as `"fourier"`.', default="cosine"),
        Key("terms", "whole number", "The number of coefficients.", default=None),
        Key("radius", "number", "The largest distance of a curve from the centre.", default=None),
        Key("box", "numbers", "A bound for each coefficient.", default=None),
        Key("kernel", "text", 'The kernel whose norm bounds the curves, such as `"matern-3/2"`.', default=None),
        Key("length", "number", "The length of the kernel.", default=None),
        Key("centre", "numbers", "A public curve around which the others lie.", default=None),
        outside_key("clamp", "refuse", meaning="a value becomes the nearer end, or the curve is refused"),
        missing_key(
            '`"centre"`',
            'missing = "centre" (half way between low and high) or "category"',
            '`"centre"` puts the public centre for it',
        ),
    )

    @classmethod
    def read_column(cls, space: Any, name: str, kind: str, table: Reader) -> Column:
        given = {key.name: key.read(table) for key in cls.keys if key.name not in ("points", "start", "stop")}
        wide, way = given["columns"], given["missing"]
        made = _declared(given, table, len(wide) or None)
        if way not in ("refuse", "centre", "category"):
            raise table.wrong("missing", 'must be "refuse", "centre" or "category"')
        if way == "category":
            made = made.with_missing()
        missing = None if way == "refuse" else made.absent or 0
        form: Form = "wide" if wide else "list"
        return Column(name, kind, wide or (name,), made, form, clamp=given["outside"] == "clamp", missing=missing)

    closing: ClassVar[Mapping[str, Any]] = {"low": -(1 << 20), "high": 1 << 20}

    def suggestion(self) -> Suggestion | None:
        from dproof.columns.suggestions import Bounds, rounded_outwards

        return Bounds(lambda value: number_of(value, self.column.numerals), rounded_outwards)

    def stand_in(self, code: int) -> str | None:
        return "the public centre"

    @property
    def sql(self) -> str:
        fields = ", ".join(map(quoted, self.column.stored))
        return f"[{fields}]" if self.column.form == "wide" else fields

    def encode(self, arrays: Sequence[Any]) -> NDArray[Any]:
        """The places of the column's curves.

        A broken curve, with a missing point or another number of points, is a missing one. Where the plan says so it
        becomes the public centre, or has `MISSING` for its places, and one that leaves the declared range is clamped.
        Else either is refused; with `invalid_as_null` it has `MISSING` for its places instead.
        """
        column, expansion, space = self.column, self.space, self.space.space
        rows = arrow_rows(arrays, space.points, column.numerals)
        missing = np.isnan(rows).any(axis=1)
        if missing.any() and column.missing is None and not column.invalid_as_null:
            raise ArgumentError(
                f"column {column.name!r} has a curve with a missing grid point: complete the curves, "
                "or set missing = 'category' or 'centre' in the plan"
            )
        rows[missing] = centre_of(expansion.by_terms or expansion)
        inside = np.clip(rows, float(space.low), float(space.high))
        outside = (inside != rows).any(axis=1) & (not column.clamp)
        if outside.any() and not column.invalid_as_null:
            raise ArgumentError(
                f"column {column.name!r} has a value outside its declared range: set outside = 'clamp' in the plan"
            )
        places: NDArray[Any] = space.encode(inside)
        places[outside | (missing & (column.missing != 0))] = MISSING
        return places


def _declared(given: Mapping[str, Any], table: Reader, points: int | None) -> Expansion:
    """The grid, the basis and the region that a plan declares; `points` is known where columns are named."""
    grid: Any = given["grid"]
    if grid is None:
        grid = table.integer("points", points or 0)
        start, stop, count = table.number("start", 0), table.number("stop", grid - 1), grid
    else:
        start, stop, count = grid[0], grid[-1], len(grid)
    if points is not None and points != count:
        raise table.wrong("columns", f"must name one column for each of the {count} grid points")
    bounds = given["low"], given["high"], given["norm"]
    region = {key: given[key] for key in ("basis", "terms", "radius", "box", "kernel", "length", "centre")}

    def made() -> Expansion:
        return measured_expansion(expand(Curves(start, stop, grid, *bounds), **region), given["terms"])

    return table.calling(made)


class LatticeCodec(Codec):
    """The functions that lattice points stand for, on the grid: one array for each point, or one of lists."""

    def store(self, codes: NDArray[Any]) -> list[Any]:
        values = self.space.evaluate(codes)
        if self.column.form == "wide":
            return [from_numpy(point) for point in values.T]
        offsets = np.arange(len(values) + 1, dtype=np.int32) * values.shape[1]
        return [pa.ListArray.from_arrays(from_numpy(offsets), from_numpy(values.reshape(-1)))]

    def possible(self, arrays: Sequence[Any], given: NDArray[np.bool_] | None, reach: int | None) -> bool:
        """Whether stored curves are functions of whole-number coefficients, no farther out than noise reaches."""
        lattice, rows = self.space, stored_rows(arrays, self.space.space.points)
        if rows is None or not np.isfinite(rows).all():
            return False
        functions = lattice.functions(lattice.space.times) * lattice.scales[:, None]
        centre = lattice.centre(lattice.space.times)
        z = (rows - centre) @ np.linalg.pinv(functions)
        if np.linalg.matrix_rank(functions) == lattice.terms:  # else many coefficients have the same values
            z = np.rint(z)
            edges = np.array(lattice.box if lattice.box is not None else (lattice.radius,))
            if reach is not None and (np.abs(z) > edges + reach).any():
                return False
        size = np.abs(centre) + np.abs(z) @ np.abs(functions)
        return bool((np.abs(centre + z @ functions - rows) <= size * _LOSS).all())


def stored_rows(arrays: Sequence[Any], points: int) -> NDArray[np.float64] | None:
    """The values on the grid that are stored, one row for each curve; None where a number is missing."""
    import pyarrow.compute as pc

    if any(array.null_count for array in arrays):
        return None
    if len(arrays) > 1:
        return np.column_stack([as_numpy(array) for array in arrays])
    flat = arrays[0].flatten()
    if flat.null_count or (as_numpy(pc.list_value_length(arrays[0])) != points).any():
        return None
    return as_numpy(flat).reshape(-1, points)


def stored_values(lattice: CurveLattice, arrays: Sequence[Any]) -> NDArray[np.float64] | None:
    """The values on the grid of stored curves, one row each, the centre for a missing one; None where a part of one is
    missing."""
    if not lattice.optional:
        return stored_rows(arrays, lattice.space.points)
    lacking = missing_rows(arrays)
    shown = None if lacking is None else stored_rows(valid(arrays), lattice.space.points)
    if lacking is None or shown is None:
        return None
    rows = np.tile(lattice.centre(lattice.space.times), (len(lacking), 1))
    rows[~lacking] = shown
    return rows
