"""Values that are read and written one by one, each from itself and the plan alone, as Python objects must be.

A column of objects has no type of its own, so none may be inferred from its rows: one row would decide how all are
read, and how long that takes. Each value becomes a text, a list of texts, a list of floats, or nothing, by its own type
alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from dproof.columns.arrow import from_numpy
from dproof.errors import InputError
from dproof.exact import exact

OUTSIDE = -2  # in the place of the code of a value that is not in the space: the plan says what becomes of it
_LONGEST_NUMBER = 64  # characters; what is longer is no number that anybody meant
_LONG = 10**60  # from here on a float is written with an exponent; its digits would be no number that anybody meant
YES, NO = ("true", "1", "yes", "y", "x", "t", "✓"), ("false", "0", "no", "n", "f")  # of a box to tick
_INFINITE = {"inf": 1, "+inf": 1, "infinity": 1, "-inf": -1, "-infinity": -1}
_TRUTHS = {"true": True, "false": False, "1": True, "0": False}

# What programs write where a sign of thousands is meant: a plan names one of each kind.
_THOUSANDS = {"": "", ",": ",", ".": ".", " ": " \u00a0\u2009\u202f", "'": "'\u2019"}
THOUSANDS = tuple(_THOUSANDS)
DECIMALS = (".", ",")


@dataclass(frozen=True, slots=True)
class Numerals:
    """The signs in numbers that are written as text: the decimal sign, and what groups thousands, if anything does."""

    decimal: str = "."
    thousands: str = ""

    def plain(self, text: str) -> str | None:
        """The number with a decimal point and nothing between its digits; None for a text that is no number.

        Digits are those of ASCII. A group has three of them: what looks like a number of another custom is none, rather
        than another number.

        >>> signs = Numerals(",", ".")
        >>> signs.plain("65.000,5"), signs.plain("65.00"), Numerals(thousands=",").plain("1,5")
        ('65000.5', None, None)
        """
        number, (every, pattern) = text.strip(), _written(self)
        if number.lstrip("+-").casefold() in ("inf", "infinity"):
            return number
        return every.sub("", number).replace(self.decimal, ".") if pattern.fullmatch(number) else None

    @property
    def other_marks(self) -> str:
        """What else groups thousands, beyond ASCII, where the plan names a mark of its kind."""
        return _THOUSANDS[self.thousands][1:]


PLAIN = Numerals()


@lru_cache
def _written(signs: Numerals) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The marks of thousands, and numbers as these signs write them."""
    marks = f"[{_THOUSANDS[signs.thousands]}]" if signs.thousands else ""
    return re.compile(marks), re.compile(number_pattern(signs.decimal, marks))


def number_pattern(decimal: str, marks: str, exponent: str = "[0-9]+") -> str:
    """A regular expression of numbers; marks group thousands, before the decimal sign only."""
    grouped, sign = rf"[0-9]{{1,3}}(?:{marks}[0-9]{{3}})+|" if marks else "", re.escape(decimal)
    return rf"[+-]?(?:(?:{grouped}[0-9]+)(?:{sign}[0-9]*)?|{sign}[0-9]+)(?:[eE][+-]?{exponent})?"


def written(value: Any) -> str:
    """The text of a value, from nothing but the value: a whole number is written alike in every type.

    pandas makes floats of whole numbers where one of them is missing, so a float is written as they are.

    >>> written(True), written(1.0), written(0.25), written(1e16)
    ('true', '1', '0.25', '10000000000000000')
    """
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, np.timedelta64):  # which is a whole number to NumPy
        return str(value)
    if isinstance(value, (int, np.integer)):
        return int.__repr__(value if isinstance(value, int) else int(value))
    if isinstance(value, Fraction):
        value = float(value)
    if isinstance(value, (float, np.floating)):
        value = float(value)
        # By way of its shortest decimal, which is what a float means.
        return str(int(Decimal(repr(value)))) if value.is_integer() and abs(value) < _LONG else repr(value)
    return str(value)


def is_missing(value: Any) -> bool:
    """A null, a NaN, or an empty text."""
    return value is None or value == "" or value == b"" or (isinstance(value, (float, Decimal)) and value != value)


def text_of(value: Any) -> str | None:
    """The text that a value is written as; None for what has none."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return None
    return written(value) if isinstance(value, (str, bool, float, int, Decimal)) else None


def number_of(value: Any, numerals: Numerals = PLAIN) -> Fraction | None:
    """The number that a value is or is written as, with the signs of the plan's file; None for anything else."""
    if isinstance(value, bool):
        return Fraction(value)
    if isinstance(value, (bytes, str)):
        value = text_of(value)
        if value is None or len(value) > _LONGEST_NUMBER or "/" in value:
            return None
        truth = {"true": "1", "false": "0"}.get(value)  # as where the column is of truth values
        value = numerals.plain(value) if truth is None else truth
        if value is None:
            return None
    try:
        return exact(value)
    except InputError:
        return None


def infinite_sign(value: Any) -> int:
    """The sign of a value that is infinite or written so, else 0."""
    text = repr(value) if isinstance(value, float) else (text_of(value) or "").strip().lower()
    return _INFINITE.get(text, 0)


def truth_of(value: Any) -> bool | None:
    """The truth value that a value is or is written as; None for anything else."""
    if isinstance(value, (str, bytes)):
        return _TRUTHS.get((text_of(value) or "").lower())
    return bool(value) if isinstance(value, (bool, int, float)) and value in (0, 1) else None


NO_TEXT = b"\xff"  # no UTF-8, so no text of a plan: a value that is there, and is none of those declared
_ABSENT = ("NAType", "NaTType")  # how pandas says missing, told without loading it
_MANY = (list, tuple, set, frozenset, np.ndarray)
_FLOATS = frozenset({float, np.float64})


class Objects(pa.ExtensionType):  # type: ignore[misc]
    """Arrow's type of a column of objects: the `text` of each value, null where it is missing, and of a list its
    `items`, or `floats` where it has nothing else."""

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
    >>> single(array).to_pylist(), listed(array)[0].to_pylist()[-1]
    ([b'true', b'x', b'1', None, b'\\xff'], [b'a', b'2'])
    """
    read = [_WRITERS.get(type(value), _text_or_list)(value) for value in values]
    lists = {n: found for n, found in enumerate(read) if type(found) not in (bytes, type(None))}
    floats = {n: found for n, found in lists.items() if _is_of_floats(found)}
    items = {n: [_text(x) for x in found] for n, found in lists.items() if n not in floats}
    for n in lists:
        read[n] = NO_TEXT
    flat = pa.array(np.concatenate([np.zeros(0), *floats.values()]), from_pandas=True)
    texts = pa.array([text for found in items.values() for text in found], pa.large_binary())
    parts = [pa.array(read, pa.large_binary()), _lists(len(read), items, texts), _lists(len(read), floats, flat)]
    storage = pa.StructArray.from_arrays(parts, ["text", "items", "floats"])
    return pa.ExtensionArray.from_storage(Objects(storage.type), storage)


def single(array: Any) -> Any:
    """The value of each row where objects are meant to be no lists; any other column as it is stored."""
    return array.storage.field("text") if isinstance(array.type, Objects) else stored(array)


def listed(array: Any) -> list[Any]:
    """Columns of lists, null where a row is no list of theirs, for each row of objects; other columns alone."""
    if not isinstance(array.type, Objects):
        return [stored(array)]
    return [array.storage.field("items"), array.storage.field("floats")]


def stored(array: Any) -> Any:
    """A column without what others' extensions of Arrow make of it, which some work does with some values only."""
    return array.storage if isinstance(array.type, pa.BaseExtensionType) else array


def texts(array: Any) -> Any:
    """Objects as texts, a list as JSON; any other column as it is. The type is the same whatever the objects are."""
    if not isinstance(array.type, Objects):
        return array
    whole = single(array).to_pylist()
    for column in listed(array):
        for n in np.flatnonzero(np.asarray(column.is_valid())).tolist():
            whole[n] = _json([_text(item) for item in column[n].as_py()])
    return pa.array(whole, pa.large_binary())


def _text_or_list(value: Any) -> Any:
    """The text of a value of some other type; its elements where it has any."""
    meant = guarded(_meant, value, NO_TEXT)
    elements = _elements(meant)
    return _bytes(meant) if elements is None else elements


def _text(value: Any) -> bytes | None:
    """The text of an element of a list, which is no list."""
    found = _WRITERS.get(type(value), _text_or_list)(value)
    return found if found is None or type(found) is bytes else NO_TEXT


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
        return guarded(list, value, [NO_TEXT])  # type: ignore[no-any-return]
    return None


def _is_of_floats(elements: Any) -> bool:
    if isinstance(elements, np.ndarray):
        return bool(elements.dtype == np.float64)
    return set(map(type, elements)) <= _FLOATS


def _lists(rows: int, lists: dict[int, Any], flat: Any) -> Any:
    """Lists of some rows as Arrow, their elements one after the other; null for the other rows."""
    lengths, absent = np.zeros(rows + 1, np.int64), np.ones(rows, bool)
    places = list(lists)
    lengths[1:][places], absent[places] = [len(elements) for elements in lists.values()], False
    return pa.LargeListArray.from_arrays(from_numpy(lengths.cumsum()), flat, mask=from_numpy(absent))


def _of_float(value: float) -> bytes | None:
    if value.is_integer():
        return b"%d" % value if -(2.0**53) < value < 2.0**53 else _bytes(value)
    return None if value != value else float.__repr__(value).encode()


def _bytes(value: Any) -> bytes | None:
    """The text in UTF-8, and bytes as they are; None for what is missing, which no object says in the same way."""
    return guarded(_encoded, value, NO_TEXT)  # type: ignore[no-any-return]


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


def guarded(read: Callable[[Any], Any], value: Any, otherwise: Any) -> Any:
    """What an object's own methods tell of it; no object stops the work."""
    try:
        return read(value)
    except Exception:
        return otherwise


def _json(items: list[bytes | None]) -> bytes:
    decoded = [None if item is None else item.decode("utf-8", "surrogateescape") for item in items]
    return json.dumps(decoded, ensure_ascii=False).encode("utf-8", "surrogateescape")


# Of the usual types; of others, and of odd values, it is found out what they are.
_WRITERS: dict[type, Callable[[Any], Any]] = {
    type(None): lambda value: None,
    bytes: lambda value: value,
    bool: lambda value: b"true" if value else b"false",
    str: lambda value: value.encode("utf-8", "surrogatepass"),
    int: lambda value: b"%d" % value if -(1 << 63) <= value < 1 << 63 else _bytes(value),
    np.int64: lambda value: b"%d" % value,
    float: _of_float,
    np.float64: _of_float,
}
