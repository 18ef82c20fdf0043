"""The forms that a set has in a table: texts joined by a separator, a list, or a column of flags for each item."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.columns.arrow import as_numpy, from_numpy, from_texts
from dproof.columns.column import (
    Column,
    Encode,
    Lookup,
    accepted,
    as_dictionary,
    looked_up,
    one_by_one,
    python_values,
    quoted,
    settled,
    text_literal,
)
from dproof.columns.values import MISSING, NO, OUTSIDE, YES, is_missing, text_of
from dproof.errors import InputError

_TABLED_SETS = 1 << 12  # sets whose joined texts are written out once, and are told apart by their texts
HOW_FLAGS_ARE_READ = (
    f"ticked is the item's own text (in `values`, or the column's name, or the part of it after the last ' - '), "
    f"{', '.join(YES[:-1])} or {YES[-1]}; not ticked is {', '.join(NO)} or a blank"
)
Items = tuple[Any, ...]


# From the source to masks --------------------------------------------------------------------------------------------


def joined_lookup(items: Items, column: Column) -> Lookup:
    """The mask of a text of joined items."""
    bits = {item: 1 << n for n, item in enumerate(items)}

    def look_up(value: Any) -> int:
        if value is None or value != value:
            return MISSING
        text = text_of(value)
        if text is None:
            return 0 if column.clamp else OUTSIDE  # of what is no text, no part is an item
        mask = 0
        for item in text.split(column.separator) if text else ():
            bit = bits.get(item.strip(), 0) or bits.get(item, 0)
            if not bit and not column.clamp:
                return OUTSIDE
            mask |= bit
        return mask

    return look_up


def list_encoder(items: Items, column: Column) -> Encode:
    """Masks of a list column: one bit per item, gathered over each list."""
    import pyarrow as pa

    from dproof.columns.objects import listed, single

    item_codes = {item: n for n, item in enumerate(items)}

    def encode(arrays: Sequence[Any]) -> NDArray[Any]:
        missing, lists = np.asarray(single(arrays[0]).is_null()), listed(arrays[0])
        # An object that is there and no list: no part of it is an item.
        outside = np.logical_and.reduce([np.asarray(array.is_null()) for array in lists])
        masks = np.zeros(len(missing), np.int64)
        for array in lists:
            owners, bits = owned(array)
            known = bits >= 0
            np.bitwise_or.at(masks, owners[known], np.int64(1) << bits[known])
            outside[owners[~known]] = True
        if not column.clamp:
            masks[outside] = OUTSIDE
        masks[missing] = MISSING
        return accepted(column, settled(column, masks))

    def owned(array: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The row of each element, and the item that it is, or OUTSIDE."""
        try:
            array = array.cast(pa.large_list(pa.string() if pa.types.is_null(array.type) else array.type.value_type))
        except (pa.ArrowException, AttributeError):
            raise InputError(
                f"column {column.name!r} is not a list: give the plan a separator, or the columns of its flags"
            ) from None
        texts = as_dictionary(column, array.flatten())
        codes = [
            item_codes.get(text_of(v) if v is not None else None, OUTSIDE) for v in python_values(texts.dictionary)
        ]
        positions = as_numpy(texts.indices.cast(pa.int64()), missing=len(codes))
        owners = np.repeat(np.arange(len(array)), as_numpy(array.value_lengths(), missing=0))
        return owners, np.array([*codes, OUTSIDE], np.int64)[positions]

    return encode


def flag_encoder(items: Items, column: Column) -> Encode:
    """Masks of one column per item, ticked or not; a row is missing where all of them are blank."""
    from dproof.columns.objects import single

    look_ups = [one_by_one(_flag_lookup(*names)) for names in zip(items, column.sources, strict=True)]

    def encode(arrays: Sequence[Any]) -> NDArray[Any]:
        masks = np.zeros(len(arrays[0]), np.int64)
        blank, outside = np.ones(len(masks), np.bool_), np.zeros(len(masks), np.bool_)
        for n, (look_up, array) in enumerate(zip(look_ups, arrays, strict=True)):
            codes, places = looked_up(look_up, column, single(array))
            ticks = codes.take(places, mode="clip")
            masks |= (ticks == 1).astype(np.int64) << n
            blank &= ticks == MISSING
            outside |= ticks == OUTSIDE
        if not column.clamp:
            masks[outside] = OUTSIDE
        masks[blank] = MISSING
        return accepted(column, settled(column, masks))

    return encode


def _flag_lookup(item: str, source: str) -> Lookup:
    names = {_plain(name) for name in (item, source, source.rpartition(" - ")[2])}
    if len(names) == 1:
        names -= set(NO)  # nothing but a column called "0" or "no": there these words mean what they always do
    ticks = dict.fromkeys(NO, 0) | dict.fromkeys(YES, 1) | dict.fromkeys(names, 1) | {"": MISSING}

    def look_up(value: Any) -> int:
        if is_missing(value):
            return MISSING
        text = text_of(value)
        return OUTSIDE if text is None else ticks.get(_plain(text), OUTSIDE)

    return look_up


def _plain(text: str) -> str:
    return text.strip().casefold()


# From masks to what is stored ----------------------------------------------------------------------------------------


def store_joined(items: Items, column: Column, codes: NDArray[Any]) -> list[Any]:
    """Texts of joined items."""
    if 1 << len(items) <= _TABLED_SETS:
        return [_joined_texts(items, column.separator).take(from_numpy(codes))]
    distinct, places = np.unique(codes, return_inverse=True)
    return [from_texts([_join(items, int(code), column.separator) for code in distinct]).take(from_numpy(places))]


@lru_cache(maxsize=64)
def _joined_texts(items: Items, separator: str) -> Any:
    return from_texts([_join(items, code, separator) for code in range(1 << len(items))])


def _join(items: Items, code: int, separator: str) -> str:
    return separator.join(str(item) for n, item in enumerate(items) if code >> n & 1)


def store_lists(items: Items, column: Column, codes: NDArray[Any]) -> list[Any]:
    """Lists of items, in the order of the plan."""
    import pyarrow as pa

    has_item = (codes[:, None].astype(np.int64) >> np.arange(len(items))) & 1 == 1
    offsets = np.concatenate([[0], np.cumsum(has_item.sum(axis=1))]).astype(np.int32)
    texts = from_texts([str(item) for item in items]).take(from_numpy(np.nonzero(has_item)[1]))
    return [pa.ListArray.from_arrays(from_numpy(offsets), texts)]


def store_flags(items: Items, column: Column, codes: NDArray[Any]) -> list[Any]:
    """An array of true and false for each item."""
    return [from_numpy((codes >> codes.dtype.type(n)) & 1 == 1) for n in range(len(items))]


# From what is stored to masks ----------------------------------------------------------------------------------------


def masks_of_flags(arrays: Sequence[Any], bits: Sequence[int]) -> NDArray[np.int64]:
    """The masks whose given bits are stored as flags; −1 where one is missing."""
    masks = np.zeros(len(arrays[0]) if len(arrays) else 1, np.int64)
    for bit, array in zip(bits, arrays, strict=True):
        masks |= as_numpy(array, missing=False).astype(np.int64) << bit
        if array.null_count:
            masks[np.asarray(array.is_null())] = OUTSIDE
    return masks


def set_sql(items: Items, column: Column) -> str:
    """A stored set as a list in SQL."""
    name = quoted(column.name)
    if column.form == "joined":
        split = f"string_split({name}, {text_literal(column.separator)})"
        return f"CASE WHEN {name} = '' THEN []::VARCHAR[] ELSE {split} END"
    if column.form == "flags":
        pairs = zip(column.stored, items, strict=True)
        held = ", ".join(f"CASE WHEN {quoted(stored)} THEN {text_literal(str(item))} END" for stored, item in pairs)
        return f"[item FOR item IN [{held}] IF item IS NOT NULL]"
    return name


def bits_sql(items: Items, column: Column, bits: Sequence[int]) -> list[str] | None:
    """Whether a stored set holds the items of some bits, in SQL; None where its text tells more quickly."""
    if column.form == "joined" and 1 << len(items) <= _TABLED_SETS:
        return None
    if column.form == "flags":
        return [quoted(column.stored[bit]) for bit in bits]
    return [f"list_contains({set_sql(items, column)}, {text_literal(str(items[bit]))})" for bit in bits]


ENCODERS: dict[str, Callable[[Items, Column], Encode]] = {"list": list_encoder, "flags": flag_encoder}
STORES: dict[str, Callable[[Items, Column, NDArray[Any]], list[Any]]] = {
    "joined": store_joined,
    "list": store_lists,
    "flags": store_flags,
}
