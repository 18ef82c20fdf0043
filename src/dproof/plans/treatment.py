"""From the columns of a source to codes of their spaces, each value treated as the plan says.

The treatment of a row depends on that row and the plan alone, so it costs no privacy: it comes before the mechanism.
Only `"refuse"` lets the data stop the work, which tells that some value is outside; the plan that must not tell even
that has a treatment for every value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dproof.errors import InputError
from dproof.exact import exact
from dproof.plans.column import Column
from dproof.plans.curve_column import curve_places
from dproof.spaces.arrow import as_numpy
from dproof.spaces.space import narrowest
from dproof.tables.layout import Numerals
from dproof.tables.objects import listed, single, written

_OUTSIDE, _MISSING = -1, -2
_LONGEST_NUMBER = 64  # characters; what is longer is no number that anybody meant
_REMEMBERED = 1 << 16  # values of a column
_YES, _NO = ("true", "1", "yes", "y", "x", "t", "✓"), ("false", "0", "no", "n", "f")
HOW_FLAGS_ARE_READ = (
    f"ticked is the item's own text (in `values`, or the column's name, or the part of it after the last ' - '), "
    f"{', '.join(_YES[:-1])} or {_YES[-1]}; not ticked is {', '.join(_NO)} or a blank"
)
Lookup = Callable[[Any], int]
Treatment = Callable[[Sequence[Any]], NDArray[Any]]


def treatment(column: Column) -> Treatment:
    """What turns the source's Arrow arrays of a column into codes of its space, as the plan says.

    >>> from dproof.plans.reader import Reader
    >>> from dproof.plans.column import read_column
    >>> hobby = {"space": "categories", "values": ["Cars", "Chess"], "outside": "category"}
    >>> treatment(read_column("hobby", Reader(hobby, ())))([pa.array(["Chess", "Cars", "Golf"])]).tolist()
    [1, 0, 2]
    """
    if column.kind == "curves":
        how = {"clamp": column.clamp, "centre": column.missing is not None, "gaps": column.gaps}
        return lambda arrays: curve_places(column.name, column.space, arrays, numerals=column.numerals, **how)
    if column.form == "flags":
        flags = [_look_up_flag(*names) for names in zip(column.space.values, column.sources, strict=True)]
        return lambda arrays: _flags(flags, column, arrays)
    if column.form == "list":
        return lambda arrays: _lists(column, arrays[0])
    # A value is understood once and remembered, whatever the number of batches.
    look_up = lru_cache(maxsize=_REMEMBERED, typed=True)(_LOOKUPS[column.kind](column))
    if column.kind == "interval":
        return lambda arrays: _interval(look_up, column, single(arrays[0]))
    return lambda arrays: _distinct(look_up, column, single(arrays[0]))


def _interval(look_up: Lookup, column: Column, array: Any) -> NDArray[Any]:
    return _numbers(column, array) if _is_number(array.type) else _distinct(look_up, column, array)


def _distinct(look_up: Lookup, column: Column, array: Any) -> NDArray[Any]:
    """Look up each distinct value once, and spread the codes over the rows."""
    found, places = _looked_up(look_up, column, array)
    table = _settled(column, found)
    codes = table.take(places, mode="clip")
    return _accepted(column, codes) if (table >= column.space.size).any() else codes


def _looked_up(look_up: Lookup, column: Column, array: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """What each distinct value is, and at last what a null is; and the place of each row's value among these."""
    array = _as_dictionary(column, array)
    found = [look_up(value) for value in _values(array)]
    positions = array.indices
    if positions.null_count:
        positions = positions.cast(pa.int64())
    return np.array([*found, _MISSING], np.int64), as_numpy(positions, missing=len(found))


def _as_dictionary(column: Column, array: Any) -> Any:
    if pa.types.is_dictionary(array.type):
        return array
    try:
        if pa.types.is_temporal(array.type):  # as text: Python has no words for every moment that Arrow has
            array = array.cast(pa.int64() if pa.types.is_duration(array.type) else pa.string())
        return array.dictionary_encode()
    except pa.ArrowException:
        raise InputError(f"column {column.name!r} has the type {array.type}, which holds no such values") from None


def _values(array: Any) -> list[Any]:
    """The distinct values; texts as bytes, for in a file they may be none."""
    values = array.dictionary
    return (values.cast(pa.large_binary()) if _is_text(values.type) else values).to_pylist()  # type: ignore[no-any-return]


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _settled(column: Column, found: NDArray[np.int64]) -> NDArray[Any]:
    """Codes with the plan's stand-ins; what the plan refuses is left as two codes beyond the space."""
    size = column.space.size
    settled = found.copy()
    settled[found == _OUTSIDE] = size if column.outside is None else column.outside
    settled[found == _MISSING] = size + 1 if column.missing is None else column.missing
    return settled.astype(narrowest(size + 2))


def _accepted(column: Column, codes: NDArray[Any]) -> NDArray[Any]:
    """The codes, unless one of them is beyond the space."""
    size, name = column.space.size, column.name
    worst = int(codes.max()) if len(codes) else 0
    if column.gaps:
        return codes if worst < size else np.where(codes >= size, _OUTSIDE, codes.astype(np.int64))
    if worst == size:
        way = "outside = 'clamp'" if column.kind != "categories" else "outside = 'category'"
        if column.form == "flags":
            raise InputError(
                f"column {name!r} has a flag that is neither ticked nor not ({HOW_FLAGS_ARE_READ}): write the text of "
                "each option in `values`; `dproof check` shows what is outside"
            )
        raise InputError(
            f"column {name!r} has a value outside its declared space: declare it, or set {way} in the plan; "
            "`dproof check` shows what is outside"
        )
    if worst > size:
        what = "a missing value, or a text that is no number" if column.kind == "interval" else "a missing value"
        raise InputError(f"column {name!r} has {what}: say in the plan what stands for it, with `missing`")
    return codes


def _text(value: Any) -> str | None:
    """The text that a value is written as; None for what has none."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return None
    return written(value) if isinstance(value, (str, bool, float, int, Decimal)) else None


def _exact(value: Any, numerals: Numerals) -> Fraction | None:
    """The number that a value is or is written as, with the signs of the plan's file; None for what is none."""
    if isinstance(value, bool):
        return Fraction(value)
    if isinstance(value, (bytes, str)):
        value = _text(value)
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


def _is_missing(value: Any) -> bool:
    """A null, a NaN, or an empty text."""
    return value is None or value == "" or value == b"" or (isinstance(value, (float, Decimal)) and value != value)


def _look_up_category(column: Column) -> Lookup:
    values = column.space.values
    sample = values[0]
    number = partial(_exact, numerals=column.numerals)
    key: Callable[[Any], Any] = _truth if isinstance(sample, bool) else _text if isinstance(sample, str) else number
    known = {key(value): n for n, value in enumerate(values) if value is not None}
    known.pop(None, None)

    def look_up(value: Any) -> int:
        code = known.get(key(value), _OUTSIDE) if value is not None else _MISSING
        return _MISSING if code == _OUTSIDE and _is_missing(value) else code

    return look_up


def _truth(value: Any) -> bool | None:
    if isinstance(value, (str, bytes)):
        return {"true": True, "false": False, "1": True, "0": False}.get((_text(value) or "").lower())
    return bool(value) if isinstance(value, (bool, int, float)) and value in (0, 1) else None


def _look_up_number(column: Column) -> Lookup:
    def look_up(value: Any) -> int:
        if _is_missing(value):
            return _MISSING
        number = _exact(value, column.numerals)
        if number is None:
            sign = _infinite(value)
            if sign == 0:
                return _MISSING  # what is no number is a number that is missing
            return (0 if sign < 0 else column.space.size - 1) if column.clamp else _OUTSIDE
        if not column.clamp and not column.space.low <= number <= column.space.high:
            return _OUTSIDE
        return int(column.space.encode([number], clamp=True)[0])

    return look_up


def _infinite(value: Any) -> int:
    """The sign of a value that is infinite or written so, else 0."""
    text = (_text(value) or "").strip().lower() if not isinstance(value, float) else repr(value)
    return {"inf": 1, "+inf": 1, "infinity": 1, "-inf": -1, "-infinity": -1}.get(text, 0)


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind))


def _numbers(column: Column, array: Any) -> NDArray[Any]:
    """The nearest lattice points of whole or floating numbers, all rows at once."""
    space, missing, values = column.space, as_numpy(array.is_null(nan_is_null=True)), as_numpy(array, missing=0)
    some = bool(missing.any())
    if some:
        values = np.where(missing, values.dtype.type(0), values)
    codes = space.encode(values, clamp=True)
    outside = np.zeros(0, bool) if column.clamp else ~space.holds(values)
    if outside.any():
        codes, some = np.where(outside, _OUTSIDE, codes.astype(np.int64)), True
    if some:
        codes = _settled(column, np.where(missing, _MISSING, codes.astype(np.int64)))
    return _accepted(column, codes)


def _look_up_set(column: Column) -> Lookup:
    bits = {item: 1 << n for n, item in enumerate(column.space.values)}

    def look_up(value: Any) -> int:
        if value is None or value != value:
            return _MISSING
        text = _text(value)
        if text is None:
            return 0 if column.clamp else _OUTSIDE  # of what is no text, no part is an item
        mask = 0
        for item in text.split(column.separator) if text else ():
            bit = bits.get(item.strip(), 0) or bits.get(item, 0)
            if not bit and not column.clamp:
                return _OUTSIDE
            mask |= bit
        return mask

    return look_up


def _lists(column: Column, array: Any) -> NDArray[Any]:
    """Masks of a list column: one bit per item, gathered over each list."""
    missing, array = np.asarray(single(array).is_null()), listed(array)
    none = np.asarray(array.is_null()) & ~missing  # an object that is there and no list, so no part of it is an item
    try:
        array = array.cast(pa.large_list(pa.string() if pa.types.is_null(array.type) else array.type.value_type))
    except (pa.ArrowException, AttributeError):
        raise InputError(
            f"column {column.name!r} is no list: give the plan a separator, or the columns of its flags"
        ) from None
    item_codes = {item: n for n, item in enumerate(column.space.values)}
    items = _as_dictionary(column, array.flatten())
    found = [item_codes.get(_text(v) if v is not None else None, _OUTSIDE) for v in _values(items)]
    positions = as_numpy(items.indices.cast(pa.int64()), missing=len(found))
    bits = np.array([*found, _OUTSIDE], np.int64)[positions]
    lengths = as_numpy(array.value_lengths(), missing=0)
    owners = np.repeat(np.arange(len(array)), lengths)
    known = bits >= 0
    masks = np.zeros(len(array), np.int64)
    np.bitwise_or.at(masks, owners[known], np.int64(1) << bits[known])
    if not column.clamp:
        masks[owners[~known]] = _OUTSIDE
        masks[none] = _OUTSIDE
    masks[missing] = _MISSING
    return _accepted(column, _settled(column, masks))


def _flags(look_ups: Sequence[Lookup], column: Column, arrays: Sequence[Any]) -> NDArray[Any]:
    """Masks of one column per item, ticked or not; a row is missing where all of them are blank."""
    masks = np.zeros(len(arrays[0]), np.int64)
    blank, outside = np.ones(len(masks), np.bool_), np.zeros(len(masks), np.bool_)
    for n, (look_up, array) in enumerate(zip(look_ups, arrays, strict=True)):
        found, places = _looked_up(look_up, column, single(array))
        ticks = found.take(places, mode="clip")
        masks |= (ticks == 1).astype(np.int64) << n
        blank &= ticks == _MISSING
        outside |= ticks == _OUTSIDE
    if not column.clamp:
        masks[outside] = _OUTSIDE
    masks[blank] = _MISSING
    return _accepted(column, _settled(column, masks))


def _look_up_flag(item: str, source: str) -> Lookup:
    own = {_plain(name) for name in (item, source, source.rpartition(" - ")[2])}
    if len(own) == 1:
        own -= set(_NO)  # nothing but a column called "0" or "no": there these words mean what they always do
    ticks = dict.fromkeys(_NO, 0) | dict.fromkeys(_YES, 1) | dict.fromkeys(own, 1) | {"": _MISSING}

    def look_up(value: Any) -> int:
        if _is_missing(value):
            return _MISSING
        text = _text(value)
        return _OUTSIDE if text is None else ticks.get(_plain(text), _OUTSIDE)

    return look_up


def _plain(text: str) -> str:
    return text.strip().casefold()


_LOOKUPS: dict[str, Callable[[Column], Lookup]] = {
    "categories": _look_up_category,
    "interval": _look_up_number,
    "subsets": _look_up_set,
}
