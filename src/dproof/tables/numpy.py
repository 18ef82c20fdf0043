"""NumPy structured arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dproof.errors import InputError
from dproof.spaces.objects import object_array
from dproof.tables.source import BATCH_ROWS, Source


def _example(table: Any) -> Any:
    columns = {name: table[name].to_numpy() for name in table.column_names}
    array = np.empty(table.num_rows, [(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        array[name] = column
    return array


EXAMPLES = (_example,)


def open_(thing: Any, table: str | None = None) -> Source:
    """Open a one-dimensional array with named fields."""
    names = getattr(getattr(thing, "dtype", None), "names", None)
    if not isinstance(thing, np.ndarray) or thing.ndim != 1 or not names:
        raise InputError("a NumPy source is a one-dimensional structured array, whose fields have names")
    return Source(tuple(names), lambda columns: _read(thing, columns), len(thing))


def _read(array: Any, columns: Sequence[str]) -> Iterator[Any]:
    for start in range(0, len(array), BATCH_ROWS):
        part = array[start : start + BATCH_ROWS]
        arrays = [array_of(part[name]) for name in columns]
        if arrays:
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))


def array_of(column: Any) -> Any:
    """One column as Arrow; objects, and what Arrow has no type for, one by one."""
    hidden = None
    if isinstance(column, np.ma.MaskedArray):  # what lies under a mask is missing
        hidden, column = np.ma.getmaskarray(column), column.data
    if column.dtype != object and column.ndim == 1:
        try:
            return pa.array(np.ascontiguousarray(column), mask=hidden)
        except UnicodeError:  # texts with half a surrogate pair: still a column of texts
            return pa.array(
                [text.encode("utf-8", "surrogatepass") for text in column.tolist()], pa.binary(), mask=hidden
            )
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            pass
    return object_array(column if hidden is None else _shown(column, hidden))


def _shown(column: Any, hidden: Any) -> list[Any]:
    """The objects that no mask hides; of an array within a row every element is hidden by itself."""
    return [np.ma.array(x, mask=m) if np.ndim(m) else None if m else x for x, m in zip(column, hidden, strict=True)]
