"""How sanitised codes are stored: Arrow columns whose types follow from the plan alone."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dproof.plans.column import Column
from dproof.plans.curve_column import stored_curves
from dproof.plans.row_law import Group
from dproof.spaces.arrow import as_numpy, from_numpy, from_texts
from dproof.spaces.categories import Categories
from dproof.spaces.interval import Line
from dproof.spaces.space import narrowest
from dproof.spaces.subsets import Subsets

_TABLED_SETS = 1 << 12  # sets whose joined texts are written out once
_WHOLE = Line(Fraction(0), Fraction(1))  # whose points are their own codes


def column_codes(group: Group, codes: NDArray[Any]) -> list[NDArray[Any]]:
    """The codes of each column of a group, from the codes of the group."""
    if len(group.columns) == 1:
        return [codes]
    return list(np.unravel_index(codes, [space.size for space in output_spaces(group)]))


def group_codes(group: Group, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The codes of a group, from the codes of its columns: mixed radix, the last column the fastest."""
    if len(parts) == 1:
        return parts[0]
    codes = np.ravel_multi_index(tuple(parts), [column.space.size for column in group.columns])
    return codes.astype(narrowest(group.mechanism.inputs.size))


def output_spaces(group: Group) -> list[Any]:
    """The space that each column of a group is released in."""
    outputs: Any = group.mechanism.outputs
    return [outputs] if len(group.columns) == 1 else list(outputs.factors.values())


def stored_types(column: Column, space: Any) -> list[Any]:
    """The Arrow types of a column's fields: those of no rows at all."""
    nothing = np.zeros((0, space.terms) if space.holds_curves else 0, np.int64)
    return [array.type for array in stored_arrays(column, space, nothing)]


def stored_arrays(column: Column, space: Any, codes: NDArray[Any]) -> list[Any]:
    """The Arrow arrays of a column, one for each of its fields; a set keeps the form it has in the source."""
    if space.labels is not None:
        return [_category_array(space, codes)]
    if space.holds_curves:
        return stored_curves(space, codes, wide=column.form == "wide")
    if space.items is not None:
        return _FORMS[column.form](column, space, codes)
    line = space.line
    if line.origin.denominator == line.step.denominator == 1:
        # A point that no 64-bit number holds is too far out to be told from the farthest that one does.
        farthest = int(((1 << 62) - abs(line.origin)) // line.step)
        codes = codes.clip(-farthest, farthest) if farthest < 1 << 61 else codes
        return [from_numpy((codes if line == _WHOLE else line.numbers(codes)).astype(np.int64, copy=False))]
    return [from_numpy(line.numbers(codes).astype(np.float64, copy=False))]


@lru_cache(maxsize=256)
def stored_labels(space: Categories) -> Any:
    """The labels of a space as Arrow, without the missing one."""
    labels: list[Any] = [label for label in space.values if label is not None]
    if isinstance(labels[0], str):
        return from_texts(labels)
    if isinstance(labels[0], bool):
        return from_numpy(np.array(labels))
    return from_numpy(np.array(labels, np.int64 if all(isinstance(label, int) for label in labels) else np.float64))


def _category_array(space: Categories, codes: NDArray[Any]) -> Any:
    values = stored_labels(space)
    # Where missing is a value of its own it has the last code, and is stored as null.
    absent = codes == len(values) if len(values) < space.size else None
    if not pa.types.is_string(values.type):
        return from_numpy(as_numpy(values).take(codes, mode="clip"), absent)
    index = np.int8 if space.size <= 1 << 7 else np.int16 if space.size <= 1 << 15 else np.int32
    narrow = codes.astype(index, copy=False)
    return pa.DictionaryArray.from_arrays(from_numpy(narrow, absent), values)


def _joined(column: Column, space: Subsets, codes: NDArray[Any]) -> list[Any]:
    if space.size <= _TABLED_SETS:
        return [_joined_texts(space, column.separator).take(from_numpy(codes))]
    distinct, places = np.unique(codes, return_inverse=True)
    texts = [_join(space, int(code), column.separator) for code in distinct]
    return [from_texts(texts).take(from_numpy(places))]


@lru_cache(maxsize=64)
def _joined_texts(space: Subsets, separator: str) -> Any:
    return from_texts([_join(space, code, separator) for code in range(space.size)])


def _join(space: Subsets, code: int, separator: str) -> str:
    return separator.join(str(item) for n, item in enumerate(space.values) if code >> n & 1)


def _list(column: Column, space: Subsets, codes: NDArray[Any]) -> list[Any]:
    bits = np.arange(len(space.values))
    held = (codes[:, None].astype(np.int64) >> bits) & 1 == 1
    offsets = np.concatenate([[0], np.cumsum(held.sum(axis=1))]).astype(np.int32)
    items = from_texts([str(item) for item in space.values]).take(from_numpy(np.nonzero(held)[1]))
    return [pa.ListArray.from_arrays(from_numpy(offsets), items)]


def _flags(column: Column, space: Subsets, codes: NDArray[Any]) -> list[Any]:
    return [from_numpy((codes >> codes.dtype.type(n)) & 1 == 1) for n in range(len(space.values))]


_FORMS = {"joined": _joined, "list": _list, "flags": _flags}
