"""Codes of Arrow columns; Arrow itself is loaded only when a column comes in as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.errors import InputError

_FEW = 1 << 10  # texts that are looked up one by one


def is_arrow(values: Any) -> bool:
    """Whether a column is an Arrow array, told without loading Arrow."""
    return type(values).__module__.partition(".")[0] == "pyarrow"


# Arrow's own conversions import pandas wherever it is installed, and that takes longer than most of what is done here.
# So plain numbers and flags, in both directions, and texts into Arrow go by their buffers.


def as_numpy(column: Any, missing: Any = None) -> NDArray[Any]:
    """An Arrow array or a chunked one as NumPy has it, with `missing` in the place of a number that is none.

    >>> import pyarrow
    >>> as_numpy(pyarrow.array([3, None, 4], pyarrow.int8()), missing=0)
    array([3, 0, 4], dtype=int8)
    """
    import pyarrow as pa

    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind = array.type
    plain = pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind)
    if not (plain or pa.types.is_boolean(kind)) or (array.null_count and missing is None):
        return np.asarray(array.to_numpy(zero_copy_only=False))
    validity, data = array.buffers()
    if not len(array):
        return np.zeros(0, kind.to_pandas_dtype())
    if plain:
        dtype = np.dtype(kind.to_pandas_dtype())
        values = np.frombuffer(data, dtype, len(array), array.offset * dtype.itemsize)
    else:
        values = _bits(data, array)
    return np.where(_bits(validity, array), values, values.dtype.type(missing)) if array.null_count else values


def _bits(buffer: Any, array: Any) -> NDArray[np.bool_]:
    end = array.offset + len(array)
    return np.unpackbits(np.frombuffer(buffer, np.uint8), count=end, bitorder="little")[array.offset :].view(np.bool_)


def from_numpy(values: NDArray[Any], absent: NDArray[np.bool_] | None = None) -> Any:
    """Numbers or flags as an Arrow array, with none where they are absent."""
    import pyarrow as pa

    flags = values.dtype == np.bool_
    data = np.packbits(values, bitorder="little") if flags else np.ascontiguousarray(values)
    validity = None if absent is None else pa.py_buffer(np.packbits(~absent, bitorder="little"))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [validity, pa.py_buffer(data)])


def from_texts(texts: Sequence[str | None]) -> Any:
    """Texts as an Arrow array, with none where there is None."""
    import pyarrow as pa

    parts = [(text or "").encode() for text in texts]
    ends = pa.py_buffer(np.cumsum([0, *map(len, parts)]).astype(np.int32))
    there = np.array([text is not None for text in texts], np.bool_)
    validity = None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
    return pa.Array.from_buffers(pa.string(), len(parts), [validity, ends, pa.py_buffer(b"".join(parts))])


def arrow_codes(column: Any, labels: Sequence[Any]) -> NDArray[np.int64]:
    """The position of each value of an Arrow column among the labels; an undeclared one is refused."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    texts = pa.types.is_string(column.type) and all(label is None or isinstance(label, str) for label in labels)
    if texts and len(column) <= _FEW:
        places = {label: place for place, label in enumerate(labels)}
        codes = np.array([places.get(value, -1) for value in column.to_pylist()], np.int64)
        if (codes < 0).any():
            raise InputError(f"a value is not one of the {len(labels)} declared categories; declare it")
        return codes
    import pyarrow.compute as pc  # slow to load, and quick with many values

    try:
        known = from_texts(labels) if texts else pa.array(labels, type=column.type)
        positions = pc.index_in(column, value_set=known)
    except pa.ArrowException:
        raise InputError(f"a column of type {column.type} does not hold the declared values; cast it first") from None
    if positions.null_count:
        raise InputError(f"a value is not one of the {len(labels)} declared categories; declare it")
    return as_numpy(positions).astype(np.int64)
