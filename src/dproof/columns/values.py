"""Values as they come, each read from itself and the plan alone: texts, numbers, Python objects, Arrow arrays.

A column of objects has no type of its own, so none may be inferred from its rows: one row would decide how all are
read, and how long that takes. Each value becomes a text, a list of texts, a list of floats, or nothing, by its own type
alone. A number is read the same by `Numerals.plain`, one at a time, and by `read_decimals`, a column at a time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

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
    """The signs in numbers that are written as text: the decimal sign, what groups thousands, if anything does, and
    `units` that may stand before a number or after it, such as € and %, with blanks between them."""

    decimal: str = "."
    thousands: str = ""
    units: str = ""

    def plain(self, text: str) -> str | None:
        """The number with a decimal point and nothing between its digits; None for a text that is no number.

        Digits are those of ASCII. A group has three of them: what looks like a number of another custom is none, rather
        than another number.

        >>> signs = Numerals(",", ".")
        >>> signs.plain("65.000,5"), signs.plain("65.00"), Numerals(thousands=",").plain("1,5")
        ('65000.5', None, None)
        >>> priced = Numerals(units="€ %")
        >>> priced.plain("65 %"), priced.plain("-€65"), priced.plain("€65%"), priced.plain("65 km")
        ('65', '-65', None, None)
        """
        number, (every, pattern) = self._bare(text.strip()), _written(self)
        if number.lstrip("+-").casefold() in ("inf", "infinity"):
            return number
        return every.sub("", number).replace(self.decimal, ".") if pattern.fullmatch(number) else None

    def _bare(self, number: str) -> str:
        """A number without the unit after it or, where there is none, the one before it."""
        sign = number[:1] if number[:1] in ("+", "-") else ""
        for unit in self.longest_units:
            if number.endswith(unit):
                return number.removesuffix(unit).rstrip()
        rest = number[len(sign) :].lstrip()
        before = next((unit for unit in self.longest_units if rest.startswith(unit)), None)
        return number if before is None else sign + rest.removeprefix(before).lstrip()

    @property
    def longest_units(self) -> list[str]:
        """The units, longer ones first: km before m."""
        return sorted(self.units.split(), key=len, reverse=True)

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
    if isinstance(value, timedelta):  # also one of pandas, which has a text of its own
        return timedelta.__str__(value)
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
            items = (_text(item) for item in column[n].as_py())
            plain = [None if item is None else item.decode("utf-8", "surrogateescape") for item in items]
            whole[n] = json.dumps(plain, ensure_ascii=False).encode("utf-8", "surrogateescape")
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

# Arrow arrays as NumPy has them, and back -----------------------------------------------------------------------------


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


def which_have(array: Any, text: str) -> Any:
    """Which rows of an Arrow array of texts, or of codes of texts, have this one."""
    import pyarrow.compute as pc

    return pc.is_in(array.cast(pa.string()), from_texts([text]))


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


# Numbers that are written as texts ----------------------------------------------------------------------------------

_MOST_DIGITS = 18  # of a number that is read here
_BILLION = 10**9
FAR = 1 << 61  # farther than any bound of a lattice that is read here
LARGEST_FACTOR = (1 << 32) - 1  # of `Decimals.floors`
_TEN = 10 ** np.arange(19, dtype=np.int64)
_BLANKS = "\t\n\v\f\r\x1c\x1d\x1e\x1f "


@dataclass(frozen=True, slots=True)
class Decimals:
    """Of each text whether it is a number (`known`), or is left `unread`; and the known numbers, ±digits·10^power."""

    known: NDArray[np.bool_]
    unread: NDArray[np.bool_]
    negative: NDArray[np.bool_]
    digits: NDArray[np.int64]
    power: NDArray[np.int64]

    def floors(self, factor: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """⌊x·factor⌋ of each known number x, and whether x·factor lies above it, for a factor < 2^32.

        What lies 2^61 or farther out is brought to there.
        """
        # |x|·factor = (high + low/10^9)·10^shift, high < 2^63 and low < 10^9
        low = factor * (self.digits % _BILLION)
        high, low, shift = factor * (self.digits // _BILLION) + low // _BILLION, low % _BILLION, self.power + 9
        down = _TEN[np.clip(-shift, 0, 18)]
        floors, above = high // down, (high % down != 0) | (low != 0)
        tiny = shift < -18
        floors, above = np.where(tiny, 0, floors), np.where(tiny, (high != 0) | (low != 0), above)
        up = shift > 0
        part = low * _TEN[np.clip(shift, 0, 9)]  # of 10^9
        large = _raised(high, shift) + np.where(shift > 9, _raised(low, shift - 9), part // _BILLION)
        floors = np.where(up, np.minimum(large, FAR), floors)
        above = np.where(up, (shift < 9) & (part % _BILLION != 0), above)
        return np.where(self.negative, -floors - above, floors), above


def _raised(numbers: NDArray[np.int64], power: NDArray[np.int64]) -> NDArray[np.int64]:
    """numbers·10^power, or 2^61 where it is more."""
    factor = _TEN[np.clip(power, 0, 18)]
    far = (numbers > FAR // factor) | ((power > 18) & (numbers > 0))
    return np.where(far, FAR, numbers * factor)


def read_decimals(texts: Any, numerals: Numerals) -> Decimals:
    """The numbers of an Arrow array of texts or bytes; a null is none.

    >>> import pyarrow
    >>> found = read_decimals(pyarrow.array([" 1,250.5", "-3e2", "12,5", "inf"]), Numerals(thousands=","))
    >>> found.digits, found.power, found.known, found.unread
    (array([12505,     3]), array([-1,  2]), array([ True,  True, False, False]), array([False, False, False,  True]))
    """
    import pyarrow.compute as pc

    texts = _without_units(texts.cast(pa.large_binary()), numerals)
    for mark in numerals.other_marks:  # each means the same as the one of ASCII
        texts = pc.replace_substring(texts, mark.encode(), numerals.thousands.encode())
    usual, odd = _patterns(numerals)
    known = as_numpy(pc.match_substring_regex(texts, usual), missing=False)
    plain = pc.ascii_lower(pc.ascii_trim(texts.filter(from_numpy(known)).cast(pa.large_string()), _BLANKS))
    for sign, meant in {numerals.thousands: "", numerals.decimal: ".", "+": ""}.items():
        plain = pc.replace_substring(plain, sign, meant) if sign not in ("", meant) else plain
    power, raised = np.zeros(len(plain), np.int64), as_numpy(pc.find_substring(plain, "e")) >= 0
    # Also where no number has an exponent: no value decides which code runs.
    halves = pc.extract_regex(plain.filter(from_numpy(raised)), "^(?P<number>.*)e(?P<power>.*)$")
    plain = pc.replace_with_mask(plain, from_numpy(raised), halves.field("number"))
    power[raised] = as_numpy(halves.field("power").cast(pa.int64()))
    point, length = as_numpy(pc.find_substring(plain, ".")), as_numpy(pc.binary_length(plain))
    power -= np.where(point < 0, 0, length - point - 1)
    negative = as_numpy(pc.starts_with(plain, "-"))
    fits = length - negative - (point >= 0) <= _MOST_DIGITS
    digits = pc.replace_substring(plain.filter(from_numpy(fits)), ".", "").cast(pa.int64())
    known[np.flatnonzero(known)[~fits]] = False
    unread = ~known
    unread[unread] = as_numpy(pc.match_substring_regex(texts.filter(from_numpy(unread)), odd), missing=False)
    return Decimals(known, unread, negative[fits], np.abs(as_numpy(digits)), power[fits])


def _without_units(texts: Any, numerals: Numerals) -> Any:
    """Texts without the unit after a number or, where there is none, the one before it, as `Numerals.plain` reads them.

    Blanks beyond ASCII stand before a unit, too, for programs write them there.
    """
    import pyarrow.compute as pc

    if not numerals.units:
        return texts
    any_unit = "|".join(map(re.escape, numerals.longest_units))
    blanks = f"(?:[{_BLANKS}]|\u00a0|\u2009|\u202f)*"
    after, before = rf"{blanks}(?:{any_unit}){blanks}$", rf"^{blanks}([+-]?){blanks}(?:{any_unit}){blanks}"
    return pc.if_else(
        pc.match_substring_regex(texts, after),
        pc.replace_substring_regex(texts, after, ""),
        pc.replace_substring_regex(texts, before, r"\1"),
    )


@lru_cache
def _patterns(numerals: Numerals) -> tuple[str, str]:
    """Regular expressions of the texts that are numbers and are read all at once, of 18 digits and two of the exponent
    at most, and of those that may be numbers all the same."""
    mark, blanks = re.escape(numerals.thousands), f"[{_BLANKS}]*"
    usual, any_number = (
        rf"^{blanks}{number_pattern(numerals.decimal, mark, exponent)}{blanks}$"
        for exponent in ("[0-9]{1,2}", "[0-9]+")
    )
    return usual, rf"{any_number}|[^\x00-\x7f]|^{blanks}[+-]?[tTfFiI]"
