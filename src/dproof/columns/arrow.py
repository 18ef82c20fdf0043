"""Arrow arrays as NumPy has them, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of texts or of bytes, which in a file may be texts."""
    return str(kind) in ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")


# Arrow's own conversions import pandas wherever it is installed, and that takes longer than most of what is done here.
# So plain numbers and flags, in both directions, and texts into Arrow go by their buffers.


def as_numpy(column: Any, missing: Any = None) -> NDArray[Any]:
    """An Arrow array or a chunked one as NumPy has it, with `missing` in the place of a number that is none.

    >>> import pyarrow
    >>> as_numpy(pyarrow.array([3, None, 4], pyarrow.int8()), missing=0)
    array([3, 0, 4], dtype=int8)
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind = array.type
    plain = pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind)
    if not (plain or pa.types.is_boolean(kind)) or (array.null_count and missing is None):
        return np.asarray(array.to_numpy(zero_copy_only=False))
    validity, data = array.buffers()
    if plain:
        dtype = np.dtype(kind.to_pandas_dtype())
        values = np.frombuffer(data or b"", dtype, len(array), array.offset * dtype.itemsize)
    else:
        values = _bits(data, array)
    return values if missing is None else np.where(_bits(validity, array), values, values.dtype.type(missing))


def _bits(buffer: Any, array: Any) -> NDArray[np.bool_]:
    end = array.offset + len(array)
    if buffer is None:  # of an array without nulls
        return np.ones(len(array), bool)
    return np.unpackbits(np.frombuffer(buffer, np.uint8), count=end, bitorder="little")[array.offset :].view(np.bool_)


def from_numpy(values: NDArray[Any], absent: NDArray[np.bool_] | None = None) -> Any:
    """Numbers or flags as an Arrow array, with none where they are absent."""
    flags = values.dtype == np.bool_
    data = np.packbits(values, bitorder="little") if flags else np.ascontiguousarray(values)
    validity = None if absent is None else pa.py_buffer(np.packbits(~absent, bitorder="little"))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [validity, pa.py_buffer(data)])


def from_texts(texts: Sequence[str | None]) -> Any:
    """Texts as an Arrow array, with none where there is None."""
    parts = [(text or "").encode() for text in texts]
    ends = pa.py_buffer(np.cumsum([0, *map(len, parts)]).astype(np.int32))
    there = np.array([text is not None for text in texts], np.bool_)
    validity = None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
    return pa.Array.from_buffers(pa.string(), len(parts), [validity, ends, pa.py_buffer(b"".join(parts))])


def store_labels(labels: Any, size: int, codes: NDArray[Any]) -> Any:
    """The labels of codes as an Arrow array; texts with a dictionary, null for a code beyond the labels."""
    absent = codes == len(labels) if len(labels) < size else None
    if not pa.types.is_string(labels.type):
        return from_numpy(as_numpy(labels).take(codes, mode="clip"), absent)
    index = np.int8 if size <= 1 << 7 else np.int16 if size <= 1 << 15 else np.int32
    return pa.DictionaryArray.from_arrays(from_numpy(codes.astype(index, copy=False), absent), labels)


def with_nulls(array: Any, absent: NDArray[np.bool_]) -> Any:
    """An array of numbers, flags, texts or lists that begins where its buffers do, with none where it is absent."""
    if pa.types.is_dictionary(array.type):
        return pa.DictionaryArray.from_arrays(with_nulls(array.indices, absent), array.dictionary)
    if pa.types.is_list(array.type):
        return pa.ListArray.from_arrays(array.offsets, array.values, mask=from_numpy(absent))
    validity = pa.py_buffer(np.packbits(~absent, bitorder="little"))
    return pa.Array.from_buffers(array.type, len(array), [validity, *array.buffers()[1:]])


def distinct(array: Any) -> Any:
    """All that a dictionary lists, whether a row has it or not, and null where a row is; other arrays as they are."""
    if not pa.types.is_dictionary(array.type):
        return array
    listed = array.dictionary
    return pa.concat_arrays([listed, pa.nulls(1, listed.type)]) if array.null_count else listed


def decoded(array: Any) -> Any:
    """An array without its dictionary."""
    return plain_texts(array.dictionary).take(array.indices) if pa.types.is_dictionary(array.type) else array


def plain_texts(array: Any) -> Any:
    """Texts and bytes that are stored as views, which Arrow neither filters nor takes, as bytes; others as they are."""
    is_view = pa.types.is_string_view(array.type) or pa.types.is_binary_view(array.type)
    return array.cast(pa.large_binary()) if is_view else array
