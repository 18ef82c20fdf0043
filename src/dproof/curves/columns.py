"""Curve columns: from a plan's table to a column, from the source's arrays to places on the grid, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dproof.columns.arrow import as_numpy, from_numpy
from dproof.columns.column import Column
from dproof.curves.lattice import CurveLattice, Expansion, centre_of, expand, measured_expansion
from dproof.errors import InputError
from dproof.spaces.curves import Curves, arrow_rows

if TYPE_CHECKING:
    from dproof.plans.reader import Reader

_LOSS = 2.0**-40  # of a curve's size: what floats may lose when a function is evaluated by another machine


def curve_column(name: str, kind: str, table: Reader) -> Column:
    """A column of curves, from wide columns or one of lists."""
    wide = table.texts("columns") if "columns" in table else ()
    space = read_expansion(table, len(wide) or None)
    clamp = table.choice("outside", Expansion.outside_ways, "clamp") == "clamp"
    way = table.value("missing", "refuse")
    if way not in ("refuse", "centre", "category"):
        raise table.wrong("missing", 'must be "refuse", "centre" or "category"')
    if way == "category":
        space = space.with_missing()
    missing = None if way == "refuse" else space.absent or 0
    return Column(name, kind, wide or (name,), space, "wide" if wide else "list", clamp=clamp, missing=missing)


def read_expansion(table: Reader, points: int | None) -> Expansion:
    """The grid, the basis and the region that a plan declares; `points` is known where columns are named."""
    grid: Any = _numbers(table, "grid")
    if grid is None:
        grid = table.integer("points", points or 0)
        start, stop, count = table.number("start", 0), table.number("stop", grid - 1), grid
    else:
        start, stop, count = grid[0], grid[-1], len(grid)
    if points is not None and points != count:
        raise table.wrong("columns", f"must name one column for each of the {count} grid points")
    low, high, norm = table.number("low"), table.number("high"), table.text("norm", "l2")
    given: dict[str, Any] = {key: _numbers(table, key) for key in ("box", "centre")}
    given |= {key: table.number(key, None) for key in ("radius", "length")}
    given |= {"basis": table.text("basis", "cosine"), "kernel": table.text("kernel", None)}
    terms = table.integer("terms", 0) if "terms" in table else None

    def made() -> Expansion:
        return measured_expansion(expand(Curves(start, stop, grid, low, high, norm), terms=terms, **given), terms)

    return table.calling(made)


def _numbers(table: Reader, key: str) -> list[Any] | None:
    given = table.value(key, None)
    if given is not None and (not isinstance(given, list) or not given):
        raise table.wrong(key, "must be a list of numbers")
    return given


def curve_places(column: Column, arrays: Sequence[Any]) -> NDArray[Any]:
    """The places of a column's curves, from wide columns in grid order or from one column of lists.

    A broken curve, with a missing point or another number of points, is a missing one. Where the plan says so it
    becomes the public centre, or has −1 for its places, and one that leaves the declared range is clamped to it. Else
    either is refused; with `gaps` it has −1 for its places instead.
    """
    expansion: Expansion = column.space
    space, numerals, centre = expansion.space, column.numerals, column.missing == 0
    rows = arrow_rows(arrays, space.points, numerals)
    missing = np.isnan(rows).any(axis=1)
    if missing.any() and column.missing is None and not column.gaps:
        raise InputError(
            f"column {column.name!r} has a curve with a missing grid point: complete the curves, "
            "or set missing = 'category' or 'centre' in the plan"
        )
    rows[missing] = centre_of(expansion.by_terms or expansion)
    inside = np.clip(rows, float(space.low), float(space.high))
    outside = (inside != rows).any(axis=1) & (not column.clamp)
    if outside.any() and not column.gaps:
        raise InputError(
            f"column {column.name!r} has a value outside its declared range: set outside = 'clamp' in the plan"
        )
    places: NDArray[Any] = space.encode(inside)
    places[outside | (missing & (not centre))] = -1
    return places


def store_curves(lattice: CurveLattice, column: Column, z: NDArray[Any]) -> list[Any]:
    """The functions that lattice points stand for, on the grid: one array for each point, or one of lists."""
    values = lattice.evaluate(z)
    if column.form == "wide":
        return [from_numpy(point) for point in values.T]
    offsets = np.arange(len(values) + 1, dtype=np.int32) * values.shape[1]
    return [pa.ListArray.from_arrays(from_numpy(offsets), from_numpy(values.reshape(-1)))]


def restore_curves(arrays: Sequence[Any], points: int) -> NDArray[np.float64] | None:
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


def are_possible(lattice: CurveLattice, arrays: Sequence[Any], reach: int | None) -> bool:
    """Whether stored curves are functions of whole-number coefficients, no farther out than noise reaches."""
    rows = restore_curves(arrays, lattice.space.points)
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
