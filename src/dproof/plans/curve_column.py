"""Curve columns: from a plan's table to a column, from the source's arrays to places on the grid, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dproof.curves.expansion import TERMS, CurveLattice, Expansion, centre_of, expand
from dproof.errors import InputError
from dproof.plans.reader import Reader
from dproof.spaces.arrow import as_numpy, from_numpy
from dproof.spaces.curves import Curves
from dproof.tables.layout import PLAIN, Numerals
from dproof.tables.objects import listed, single

_NUMBER = r"^\s*[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf(inity)?))\s*$"


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
    terms = table.integer("terms", min(TERMS, count))
    return table.calling(lambda: expand(Curves(start, stop, grid, low, high, norm), terms=terms, **given))


def _numbers(table: Reader, key: str) -> list[Any] | None:
    given = table.value(key, None)
    if given is not None and (not isinstance(given, list) or not given):
        raise table.wrong(key, "must be a list of numbers")
    return given


def curve_places(
    name: str,
    expansion: Expansion,
    arrays: Sequence[Any],
    *,
    clamp: bool,
    centre: bool,
    gaps: bool,
    numerals: Numerals = PLAIN,
) -> NDArray[Any]:
    """The places of a column's curves, from wide columns in grid order or from one column of lists.

    A broken curve, with a missing point or another number of points, becomes the public `centre`, and one that leaves
    the declared range is clamped to it. Else either is refused; with `gaps` it has −1 for its places instead.
    """
    space = expansion.space
    if len(arrays) > 1:
        rows = np.column_stack([_floats(array, numerals) for array in arrays])
    else:
        rows = _lists(arrays[0], space.points, numerals)
    missing = np.isnan(rows).any(axis=1)
    if missing.any() and not (centre or gaps):
        raise InputError(
            f"column {name!r} has a curve with a missing grid point: complete the curves, "
            "or set missing = 'centre' in the plan"
        )
    rows[missing] = centre_of(expansion)
    inside = np.clip(rows, float(space.low), float(space.high))
    outside = (inside != rows).any(axis=1) & (not clamp)
    if outside.any() and not gaps:
        raise InputError(f"column {name!r} has a value outside its declared range: set outside = 'clamp' in the plan")
    places = space.encode(inside)
    places[outside | (missing & (not centre))] = -1
    return places


def _lists(array: Any, points: int, numerals: Numerals) -> NDArray[np.float64]:
    """The lists as rows; one that is missing or has another length is a row of NaN."""
    array = listed(array)
    if pa.types.is_null(array.type):
        return np.full((len(array), points), np.nan)
    if not any(check(array.type) for check in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)):
        raise InputError(f"a column of type {array.type} holds no curves: they are lists of numbers, or wide columns")
    import pyarrow.compute as pc  # slow to load, so where it is used

    whole = pc.fill_null(pc.equal(pc.list_value_length(array), points), False)
    rows = np.full((len(array), points), np.nan)
    rows[as_numpy(whole)] = _floats(array.filter(whole).flatten(), numerals).reshape(-1, points)
    return rows


def _floats(array: Any, numerals: Numerals) -> NDArray[np.float64]:
    """Numbers, or texts that are numbers; NaN for what is missing or none. No value stops the work, only a type."""
    array = single(array)
    if pa.types.is_dictionary(array.type):
        known = np.append(_floats(array.dictionary, numerals), np.nan)
        return np.asarray(known[as_numpy(array.indices.cast(pa.int64()), missing=-1)])
    if any(check(array.type) for check in (pa.types.is_binary_view, pa.types.is_string_view)):
        array = array.cast(pa.large_binary())
    if pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type):
        array = array.cast(pa.large_string(), safe=False)
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        import pyarrow.compute as pc

        if numerals != PLAIN:
            texts = array.cast(pa.large_binary()).to_pylist()  # which may be no UTF-8
            read = [None if text is None else numerals.plain(text.decode("utf-8", "replace")) for text in texts]
            array = pa.array(read, pa.string())
        array = pc.if_else(pc.match_substring_regex(array, _NUMBER), pc.ascii_trim_whitespace(array), None)
    try:
        if pa.types.is_boolean(array.type):  # among other objects True is a text, and no number
            raise pa.ArrowTypeError
        return np.array(as_numpy(array.cast(pa.float64(), safe=False), missing=np.nan))
    except pa.ArrowException:
        raise InputError(f"a column of type {array.type} holds no numbers: cast it first") from None


def stored_curves(lattice: CurveLattice, z: NDArray[Any], *, wide: bool) -> list[Any]:
    """The functions that lattice points stand for, on the grid: one array for each point, or one of lists."""
    values = lattice.evaluate(z)
    if wide:
        return [from_numpy(column) for column in values.T]
    offsets = np.arange(len(values) + 1, dtype=np.int32) * values.shape[1]
    return [pa.ListArray.from_arrays(from_numpy(offsets), from_numpy(values.reshape(-1)))]
