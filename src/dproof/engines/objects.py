"""Columns of Python objects: each is read as it would be alone, whatever the other rows hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

_LONG = 10**16  # from here on a float is written with an exponent
# Types in which every value means what it does alone. Decimals take the scale of the longest, moments the finest unit.
_ALIKE = (types.is_string, types.is_large_string, types.is_binary, types.is_boolean, types.is_integer, types.is_null)
_LISTS = (types.is_list, types.is_large_list)


def object_array(values: Iterable[Any]) -> Any:
    """Objects as Arrow: in the one type they have where that keeps what each means, else as their texts.

    >>> object_array([True, False]).type, object_array([True, "x", 1.0]).to_pylist()
    (DataType(bool), [b'true', b'x', b'1'])
    """
    try:
        array = pa.array(values, from_pandas=True)
        array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        number = types.is_integer(array.type) or types.is_floating(array.type)
        if number and not {bool, np.bool_}.isdisjoint(map(type, values)):
            raise TypeError  # Arrow takes a truth value among numbers for one of them
        if types.is_floating(array.type):
            return array.cast(pa.float64())
        if _keeps(array.type):
            return array
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass
    return pa.array([_bytes(value) for value in values], pa.binary())


def written(value: Any) -> str:
    """The text of a value, from nothing but the value: a whole number is written alike in every type.

    >>> written(True), written(1.0), written(0.25)
    ('true', '1', '0.25')
    """
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)):
        value = float(value)
        return str(int(value)) if value.is_integer() and abs(value) < _LONG else repr(value)
    return str(value)


def _keeps(kind: Any) -> bool:
    if any(check(kind) for check in _LISTS):
        return types.is_floating(kind.value_type) or _keeps(kind.value_type)
    if types.is_dictionary(kind):
        return types.is_float64(kind.value_type) or _keeps(kind.value_type)
    return any(check(kind) for check in _ALIKE)


def _bytes(value: Any) -> bytes | None:
    """The text in UTF-8, and bytes as they are; None for what is missing, which no object says in the same way."""
    if isinstance(value, bytes):
        return value
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, (float, np.floating)) or type(value).__name__ == "Decimal":
        return None if value != value else written(value).encode()
    return written(value).encode("utf-8", "surrogatepass")
