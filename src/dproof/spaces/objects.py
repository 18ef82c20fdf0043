"""Columns of Python objects: each is read by itself, by its own type, whatever the other rows hold.

Such a column has no type of its own, so none may be inferred from its rows: one row would decide how all are read. Each
value becomes a text, a list of texts, or nothing. Rows of one builtin type are kept in that type, which is quicker and
means the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from enum import Enum
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from dproof.spaces.values import written

NO_TEXT = b"\xff"  # no UTF-8, so no text of a plan: a value that is there, and is none of those declared
_ABSENT = ("NAType", "NaTType")  # how pandas says missing, told without loading it
_SINGLE = frozenset({type(None), str, bytes, bool, int, float, np.int64, np.float64})  # which stand for themselves
_MANY = (list, tuple, set, frozenset, np.ndarray)
# Rows of these types alone, or missing, are what Arrow makes of them. Among texts a float can only be NaN: any other
# is refused by Arrow, and then every value is written. Truth values are left out: Arrow has them, curves do not.
_ALIKE = (
    (frozenset({int, np.int64}), pa.int64()),
    (frozenset({float, np.float64}), pa.float64()),
    (frozenset({str, float}), pa.large_string()),
)


class Objects(pa.ExtensionType):  # type: ignore[misc]
    """Arrow's type of a column of objects: the `text` of each value, null where it is missing, or its `items`."""

    def __init__(self, storage: Any) -> None:
        super().__init__(storage, "dproof.objects")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: Any, serialized: bytes) -> Objects:
        return cls(storage)


def object_array(values: Iterable[Any]) -> Any:
    """Objects as Arrow, each read as it would be alone.

    >>> array = object_array([True, "x", 1.0, None, ["a", 2]])
    >>> single(array).to_pylist(), listed(array).to_pylist()[-1]
    ([b'true', b'x', b'1', None, b'\\xff'], [b'a', b'2'])
    """
    objects = _unwrapped(list(values))
    lists: list[Any] = [None] * len(objects)
    if not set(map(type, objects)) <= _SINGLE:
        lists = [_elements(value) for value in objects]
        objects = [value if items is None else NO_TEXT for value, items in zip(objects, lists, strict=True)]
    storage = pa.StructArray.from_arrays([_singles(objects), _items(lists)], ["text", "items"])
    return pa.ExtensionArray.from_storage(Objects(storage.type), storage)


def single(array: Any) -> Any:
    """The value of each row where objects are meant to be no lists; any other column as it is stored."""
    return array.storage.field("text") if isinstance(array.type, Objects) else _stored(array)


def listed(array: Any) -> Any:
    """The list of each row where objects are meant to be lists, null for others; other columns as they are stored."""
    return array.storage.field("items") if isinstance(array.type, Objects) else _stored(array)


def _stored(array: Any) -> Any:
    """A column without what others' extensions of Arrow make of it, which some work does with some values only."""
    return array.storage if isinstance(array.type, pa.BaseExtensionType) else array


def texts(array: Any) -> Any:
    """Objects as texts, a list as JSON; any other column as it is. The type is the same whatever the objects are."""
    if not isinstance(array.type, Objects):
        return array
    lists = [None if items is None else [_bytes(item) for item in items] for items in listed(array).to_pylist()]
    whole = [
        _bytes(value) if items is None else _json(items)
        for value, items in zip(single(array).to_pylist(), lists, strict=True)
    ]
    return pa.array(whole, pa.large_binary())


def _unwrapped(values: list[Any]) -> list[Any]:
    if set(map(type, values)) <= _SINGLE | {list, tuple}:
        return values
    return [_guarded(_meant, value, NO_TEXT) for value in values]


def _meant(value: Any) -> Any:
    """What a member of an enumeration or an array without dimensions stands for; others stand for themselves."""
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = None if value is np.ma.masked else value[()]
    return value


def _elements(value: Any) -> Sequence[Any] | None:
    """The elements of a list, a tuple, a set, an array or a series; None for what is none of these."""
    kind = type(value)
    if kind in (list, tuple):
        return value  # type: ignore[no-any-return]
    if isinstance(value, np.ndarray) and value.ndim == 1 and not isinstance(value, np.ma.MaskedArray):
        return value  # type: ignore[return-value]
    if isinstance(value, _MANY) or (hasattr(kind, "__len__") and hasattr(kind, "to_numpy")):
        return _guarded(list, value, [NO_TEXT])  # type: ignore[no-any-return]
    return None


def _items(lists: list[Any]) -> Any:
    """Lists as Arrow: their elements one after the other, each read by itself."""
    some = [items for items in lists if items is not None]
    if not some:
        return pa.nulls(len(lists), pa.large_list(pa.large_binary()))
    kinds = {getattr(items, "dtype", None) for items in some}
    flat = pa.array(np.concatenate(some), from_pandas=True) if kinds <= {np.dtype(np.float64)} else None
    flat = _singles(_unwrapped(list(chain.from_iterable(some)))) if flat is None else flat
    ends = np.cumsum([0, *(0 if items is None else len(items) for items in lists)])
    absent = pa.array([items is None for items in lists])
    return pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), flat, mask=absent)


def _singles(values: list[Any]) -> Any:
    """Values that are no lists: as they are where they are of one builtin type, else as texts."""
    kinds = set(map(type, values)) - {type(None)}
    for alike, arrow in _ALIKE:
        if kinds <= alike:
            try:
                return pa.array(values, arrow, from_pandas=True)
            except (pa.ArrowException, OverflowError, UnicodeError):
                break  # a number among texts, a number beyond 64 bits, half a surrogate pair
    return pa.array([_bytes(value) for value in values], pa.large_binary())


def _bytes(value: Any) -> bytes | None:
    """The text in UTF-8, and bytes as they are; None for what is missing, which no object says in the same way."""
    return _guarded(_encoded, value, NO_TEXT)  # type: ignore[no-any-return]


def _encoded(value: Any) -> bytes | None:
    if _is_absent(value):
        return None
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(memoryview(value))
    return NO_TEXT if isinstance(value, _MANY) else written(value).encode("utf-8", "surrogatepass")


def _is_absent(value: Any) -> bool:
    if isinstance(value, (float, np.floating)):
        return bool(value != value)
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return value is None or type(value).__name__ in _ABSENT or (isinstance(value, Decimal) and value.is_nan())


def _guarded(read: Callable[[Any], Any], value: Any, otherwise: Any) -> Any:
    """What an object's own methods tell of it; no object stops the work."""
    try:
        return read(value)
    except Exception:
        return otherwise


def _json(items: list[bytes | None]) -> bytes:
    decoded = [None if item is None else item.decode("utf-8", "surrogateescape") for item in items]
    return json.dumps(decoded, ensure_ascii=False).encode("utf-8", "surrogateescape")
