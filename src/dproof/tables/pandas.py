"""pandas frames; the index is never read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas
import pyarrow as pa

from dproof.errors import InputError
from dproof.spaces.objects import object_array
from dproof.tables.source import BATCH_ROWS, Source

# Numbers, truth values and texts of these types are read as objects of their kind are, each by itself.
_TELLING_NOTHING = (
    *(pa.types.is_integer, pa.types.is_float64, pa.types.is_boolean),
    *(pa.types.is_string, pa.types.is_large_string, pa.types.is_binary),
)

EXAMPLES = (lambda table: table.to_pandas(),)


def open_(thing: Any, table: str | None = None) -> Source:
    """Open a DataFrame."""
    if not isinstance(thing, pandas.DataFrame):
        raise InputError(f"a pandas source is a DataFrame, not a {type(thing).__name__}")
    if not all(isinstance(name, str) for name in thing.columns):
        raise InputError("every column of the frame needs a name that is text: rename the columns")
    return Source(tuple(thing.columns), lambda columns: _read(thing, columns), len(thing))


def _read(frame: Any, columns: Sequence[str]) -> Iterator[Any]:
    for start in range(0, len(frame), BATCH_ROWS):
        part = frame.iloc[start : start + BATCH_ROWS]
        arrays = [array_of(part[name]) for name in columns]
        if arrays:
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))


def array_of(series: Any) -> Any:
    """One column as Arrow; objects, and what Arrow has no type for, one by one."""
    if isinstance(series.dtype, pandas.CategoricalDtype):
        # Which type the categories share follows from the rows, so only where it tells nothing is it kept.
        known = array_of(pandas.Series(series.cat.categories, dtype=series.cat.categories.dtype))
        if not any(check(known.type) for check in _TELLING_NOTHING):
            return object_array(series.astype(object))
        return pa.DictionaryArray.from_arrays(pa.array(series.cat.codes, mask=series.isna()), known)
    if pandas.api.types.is_object_dtype(series.dtype):
        return object_array(series)
    try:
        array = pa.array(series, from_pandas=True)
    except UnicodeError:  # texts with half a surrogate pair: still a column of texts
        return pa.array([None if x is pandas.NA or x != x else x.encode("utf-8", "surrogatepass") for x in series])
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return object_array(series)
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    return object_array(series) if isinstance(array.type, pa.BaseExtensionType) else array
