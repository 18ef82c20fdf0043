"""Whether a stored table holds only values that its laws can give.

A release is one draw, so no check can tell that it was drawn honestly; but a text in a column of two categories, or a
number between two lattice points, cannot have been drawn at all, and may be somebody's data.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import isfinite, lcm
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from numpy.typing import NDArray

from dproof.curves.expansion import CurveLattice
from dproof.errors import VerificationFailed
from dproof.laws.law import Law
from dproof.plans.column import Column
from dproof.plans.row_law import Group, RowLaw
from dproof.plans.storage import output_spaces, stored_labels
from dproof.spaces.arrow import as_numpy, from_numpy, from_texts
from dproof.spaces.categories import Categories
from dproof.spaces.subsets import Subsets

_BATCH = 1 << 17  # rows looked at together: they stay in cache
_SURE = 1 << 48  # up to here the nearest whole number is found by a division of floats
_LOSS = 2.0**-40  # of a curve's size: what floats may lose when a function is evaluated by another machine

# Whether arrays, one for each stored field of a column, hold nothing else; texts come with their dictionary.
Holds = Callable[[list[Any]], bool]


def check_support(file: Path, law: RowLaw) -> None:
    """Refuse a Parquet file with a value that no law of the row can give; the column is named, not the value.

    Public columns are as they are. What a dictionary lists counts as stored, whether a row has it or not.
    """
    checks = [
        (column, _holds(column, space, group))
        for group in law.groups
        for column, space in zip(group.columns, output_spaces(group), strict=True)
    ]
    names = [name for column, _ in checks for name in column.stored]
    with pa.parquet.ParquetFile(file) as stored:
        texts = [name for name in names if pa.types.is_string(stored.schema_arrow.field(name).type)]
    with pa.parquet.ParquetFile(file, read_dictionary=texts) as stored:  # each text is looked at once
        for batch in stored.iter_batches(_BATCH, columns=names):
            for column, holds in checks:
                if not holds([batch.column(name) for name in column.stored]):
                    raise VerificationFailed(
                        f"the stored column {column.name!r} holds a value that its law cannot give"
                    )


def _holds(column: Column, space: Any, group: Group) -> Holds:
    family = group.mechanism.family
    given = family.possible() if len(group.columns) == 1 else None
    if space.holds_curves:
        return _curves(space, family)
    if space.labels is not None:
        return _categories(space, given)
    if space.items is not None:
        return _subsets(column, space, given)
    return _numbers(space, family, given)


def _categories(space: Categories, given: NDArray[np.bool_] | None) -> Holds:
    labels = stored_labels(space)
    possible = np.ones(space.size, bool) if given is None else given
    allowed = labels.filter(from_numpy(possible[: len(labels)]))
    absent = bool(possible[len(labels) :].any())  # missing is a value of its own, with the last code

    def holds(arrays: list[Any]) -> bool:
        (array,) = arrays
        values = array.dictionary if pa.types.is_dictionary(array.type) else array
        if array.null_count and not absent:
            return False
        return bool(pc.all(pc.is_in(values.drop_null(), value_set=allowed), min_count=0).as_py())

    return holds


def _numbers(space: Any, family: Law, given: NDArray[np.bool_] | None) -> Holds:
    """Lattice points, written as their codes would be, and no farther out than the noise reaches."""
    step, origin = space.line.step, space.line.origin
    reach = family.farthest
    scale = lcm(step.denominator, origin.denominator)
    top, bottom = int(step * scale), int(origin * scale)
    first: int | None = None
    last: int | None = None
    if family.outputs is not None:
        first, last = 0, family.outputs - 1
    elif reach is not None:
        first, last = -reach, (family.inputs or 1) - 1 + reach

    def exactly(number: Any) -> bool:
        """Whether a number is what its nearest lattice point is written as."""
        point = origin + round((Fraction(number) - origin) / step) * step
        return bool((point if isinstance(number, int) else float(point)) == number)

    def holds(arrays: list[Any]) -> bool:
        (array,) = arrays
        if array.null_count:
            return False
        numbers = as_numpy(array)
        if not len(numbers):
            return True
        least, most = numbers.min().item(), numbers.max().item()
        if not isfinite(least) or not isfinite(most):
            return False
        near, far = ((Fraction(end) - origin) / step for end in (least, most))
        half = Fraction(1, 2)  # floats lie beside the points that they are written for
        if (first is not None and near < first - half) or (last is not None and far > last + half):
            return False
        if numbers.dtype == np.int64 and step == 1 and given is None:
            return True
        if max(abs(near), abs(far)) * top + abs(bottom) >= _SURE:
            return all(map(exactly, numbers.tolist()))
        # Whole numbers below 2^48, which floats hold and divide without an error of their own.
        codes = np.rint((numbers - float(origin)) / float(step))
        on = np.array_equal((codes * top + bottom) / scale, numbers)
        return on and (given is None or bool(given[codes.astype(np.int64)].all()))

    return holds


def _subsets(column: Column, space: Subsets, given: NDArray[np.bool_] | None) -> Holds:
    items = from_texts([str(item) for item in space.values])

    def places(array: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """The items and their rows, or None where something else is stored: each item once, in the plan's order."""
        lists = pc.split_pattern(array, column.separator) if column.form == "joined" else array
        rows = as_numpy(pc.list_parent_indices(lists))
        found = as_numpy(pc.index_in(lists.flatten(), value_set=items), missing=-1)
        if column.form == "joined":  # a set without items is one empty text
            some = (as_numpy(pc.binary_length(array)) > 0)[rows]
            rows, found = rows[some], found[some]
        if (found < 0).any() or ((np.diff(found) <= 0) & (np.diff(rows) == 0)).any():
            return None
        return found, rows

    def holds(arrays: list[Any]) -> bool:
        if any(array.null_count for array in arrays):
            return False
        if column.form == "flags":
            if given is None:
                return True
            flags = [as_numpy(array).astype(np.int64) << n for n, array in enumerate(arrays)]
            return bool(given[np.bitwise_or.reduce(flags)].all())
        array = arrays[0].dictionary if column.form == "joined" else arrays[0]
        pair = places(array)
        if pair is None or given is None:
            return pair is not None
        masks = np.bincount(pair[1], weights=np.left_shift(1, pair[0].astype(np.int64)), minlength=len(array))
        return bool(given[masks.astype(np.int64)].all())  # a matrix has few items: floats hold their masks

    return holds


def _curves(lattice: CurveLattice, family: Any) -> Holds:
    """Functions of whole-number coefficients: the values on the grid are those of the nearest lattice point."""
    functions = lattice.functions(lattice.space.times) * lattice.scales[:, None]
    back = np.linalg.pinv(functions)
    told = np.linalg.matrix_rank(functions) == lattice.terms  # else many coefficients have the same values
    centre, reach = lattice.centre(lattice.space.times), family.farthest
    edges = np.array(lattice.box if lattice.box is not None else (lattice.radius,))

    def holds(arrays: list[Any]) -> bool:
        if any(array.null_count for array in arrays):
            return False
        if len(arrays) == 1:
            points = lattice.space.points
            if (as_numpy(pc.list_value_length(arrays[0])) != points).any():
                return False
            flat = arrays[0].flatten()
            rows = as_numpy(flat).reshape(-1, points)
            if flat.null_count:
                return False
        else:
            rows = np.column_stack([as_numpy(array) for array in arrays])
        if not np.isfinite(rows).all():
            return False
        z = (rows - centre) @ back
        if told:
            z = np.rint(z)
            if reach is not None and (np.abs(z) > edges + reach).any():
                return False
        size = np.abs(centre) + np.abs(z) @ np.abs(functions)
        return bool((np.abs(centre + z @ functions - rows) <= size * _LOSS).all())

    return holds
