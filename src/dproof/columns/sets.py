"""Columns of sets, in the forms that a table has them: texts joined by a separator, a list, or a flag for each item."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dproof.columns.codec import (
    Codec,
    Column,
    Draft,
    Form,
    Key,
    Lookup,
    Suggestion,
    as_dictionary,
    encode_arrow,
    looked_up,
    missing_key,
    one_by_one,
    outside_key,
    python_values,
    quoted,
    stand_in_code,
    text_literal,
    treated,
)
from dproof.columns.values import (
    NO,
    OUTSIDE,
    YES,
    as_numpy,
    from_numpy,
    from_texts,
    is_missing,
    listed,
    single,
    text_of,
)
from dproof.errors import SourceError
from dproof.spaces.categories import MISSING_ITEM, WORD, Subsets
from dproof.spaces.space import MISSING

if TYPE_CHECKING:
    from dproof.plans.reader import Reader

_TABLED_SETS = 1 << 12  # sets whose joined texts are written out once, and are told apart by their texts
HOW_FLAGS_ARE_READ = (
    f"ticked is the item's own text (in `values`, or the column's name, or the part of it after the last ' - '), "
    f"{', '.join(YES[:-1])} or {YES[-1]}; not ticked is {', '.join(NO)} or a blank"
)
Items = tuple[Any, ...]


class SetCodec(Codec):
    """Sets as bit masks, bit n for item n; a set is stored in the form that it has in the source.

    Where a set may be missing the space has one more item, which a source never holds: it is stored as an item.
    """

    kind: ClassVar[str | None] = "subsets"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("values", "texts", f"The items, up to {WORD}.", 'values = ["Corn", "Peas"]', None),
        Key(
            "separator", "text", "What stands between items in one text.", 'separator = ";" between them in a text', ""
        ),
        Key(
            "columns",
            "texts",
            "A column of the source for each item, ticked or not; without `values` these are the items.",
            'or a box for each: columns = ["Sides? - Corn", "Sides? - Peas"] (ticked: the text in values, yes, true, '
            "1, x; not ticked: no, false, 0 or a blank)",
            (),
        ),
        Key("metric", "text", '`"symmetric"` or `"discrete"`.', default="symmetric"),
        outside_key("refuse", "clamp", meaning="the set is refused, or loses the items that are not declared"),
        missing_key("list of items", 'missing = [] or "category"', "a list of items stands for it"),
    )

    @classmethod
    def read_column(cls, space: Any, name: str, kind: str, table: Reader) -> Column:
        given = {key.name: key.read(table) for key in cls.keys}
        flags, separator, missing = given["columns"], given["separator"], given["missing"]
        items = given["values"] or flags or table.texts("values")
        form: Form = "flags" if flags else "joined" if separator else "list"
        if flags and (len(flags) != len(items) or separator):
            raise table.wrong("columns", "needs one flag for each value, and no separator")
        if separator and any(separator in item for item in items):
            raise table.wrong("separator", "stands inside one of the values")
        if form == "joined" and "" in items:
            raise table.wrong("values", "cannot hold an empty text where items are joined")
        made = table.calling(lambda: space(items, given["metric"]))
        if len(items) + (missing == "category") > WORD:
            raise table.wrong("columns" if flags else "values", f"has {len(items)} items; a set takes up to {WORD}")
        column = Column(name, kind, flags or (name,), made, form, separator, clamp=given["outside"] == "clamp")
        if missing == "category":
            if any(MISSING_ITEM in text for text in items) or (separator and separator in MISSING_ITEM):
                raise table.wrong("missing", f"stores {MISSING_ITEM!r} as an item: change the values or the separator")
            made = made.with_missing()
            extra = (f"{name} {MISSING_ITEM}",) if flags else ()
            return replace(column, space=made, missing=made.absent, extra_fields=extra)
        if missing == "refuse":
            return column
        if not isinstance(missing, list):
            raise table.wrong("missing", 'must be "refuse", "category" or a list of values, such as []')
        return replace(column, missing=stand_in_code(made, missing, table))

    @classmethod
    def draft(cls, kind: Any) -> Draft | None:
        return Draft("subsets", {"values": []}) if pa.types.is_list(kind) or pa.types.is_large_list(kind) else None

    closing: ClassVar[Mapping[str, Any]] = {"values": ["?"]}

    def suggestion(self) -> Suggestion | None:
        from dproof.columns.suggestions import MostFrequent

        return MostFrequent(self.column.separator, items=True)

    def stand_in(self, code: int) -> str | None:
        if self.space.absent is not None:
            return None
        label = self.space.label(code)
        return f"the set of {', '.join(map(repr, sorted(map(str, label))))}" if label else "the empty set"

    # From a source to masks -------------------------------------------------------------------------------------------

    @cached_property
    def _bits(self) -> dict[Any, int]:
        return {item: n for n, item in enumerate(self.space.without_missing.values)}

    def lookup(self, value: Any) -> int:
        """The mask of a text of joined items."""
        if value is None or value != value:
            return MISSING
        text, clamp = text_of(value), self.column.clamp
        if text is None:
            return 0 if clamp else OUTSIDE  # of what is no text, no part is an item
        mask = 0
        for item in text.split(self.column.separator) if text else ():
            bit = self._bits.get(item.strip(), self._bits.get(item))
            if bit is not None:
                mask |= 1 << bit
            elif not clamp:
                return OUTSIDE
        return mask

    def encode(self, arrays: Sequence[Any]) -> NDArray[Any]:
        if self.column.form == "list":
            masks, missing, outside = self._masks_of_lists(arrays[0])
        elif self.column.form == "flags":
            masks, missing, outside = self._masks_of_ticks(arrays)
        else:
            return super().encode(arrays)
        if not self.column.clamp:
            masks[outside] = OUTSIDE
        masks[missing] = MISSING
        return treated(self.column, masks)

    def _masks_of_lists(self, array: Any) -> tuple[NDArray[Any], NDArray[np.bool_], NDArray[np.bool_]]:
        """One bit per item, gathered over each list; which lists are missing, and which hold something else."""
        missing, lists = np.asarray(single(array).is_null()), listed(array)
        # An object that is there and no list: no part of it is an item.
        outside = np.logical_and.reduce([np.asarray(part.is_null()) for part in lists])
        masks = np.zeros(len(missing), np.int64)
        for part in lists:
            owners, bits = self._elements(part)
            known = bits >= 0
            np.bitwise_or.at(masks, owners[known], np.int64(1) << bits[known])
            outside[owners[~known]] = True
        return masks, missing, outside

    def _elements(self, array: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The row of each element, and the item that it is, or OUTSIDE."""
        try:
            array = array.cast(pa.large_list(pa.string() if pa.types.is_null(array.type) else array.type.value_type))
        except (pa.ArrowException, AttributeError):
            raise SourceError(
                f"column {self.column.name!r} is not a list: give the plan a separator, or the columns of its flags"
            ) from None
        texts = as_dictionary(self.column, array.flatten())
        names = (None if value is None else text_of(value) for value in python_values(texts.dictionary))
        codes = [self._bits.get(name, OUTSIDE) for name in names]
        positions = as_numpy(texts.indices.cast(pa.int64()), missing=len(codes))
        owners = np.repeat(np.arange(len(array)), as_numpy(array.value_lengths(), missing=0))
        return owners, np.array([*codes, OUTSIDE], np.int64)[positions]

    @cached_property
    def _ticks(self) -> list[Any]:
        return [one_by_one(_flag_lookup(*names)) for names in zip(self._bits, self.column.sources, strict=True)]

    def _masks_of_ticks(self, arrays: Sequence[Any]) -> tuple[NDArray[Any], NDArray[np.bool_], NDArray[np.bool_]]:
        """One column per item, ticked or not; a row is missing where all of them are blank."""
        masks = np.zeros(len(arrays[0]), np.int64)
        blank, outside = np.ones(len(masks), np.bool_), np.zeros(len(masks), np.bool_)
        for n, (look_up, array) in enumerate(zip(self._ticks, arrays, strict=True)):
            codes, places = looked_up(look_up, self.column, single(array))
            ticks = codes.take(places, mode="clip")
            masks |= (ticks == 1).astype(np.int64) << n
            blank &= ticks == MISSING
            outside |= ticks == OUTSIDE
        return masks, blank, outside

    # From masks to what is stored, and back ---------------------------------------------------------------------------

    def store(self, codes: NDArray[Any]) -> list[Any]:
        items, form = self.space.values, self.column.form
        if form == "flags":
            return [from_numpy((codes >> codes.dtype.type(n)) & 1 == 1) for n in range(len(items))]
        if form == "list":
            return [_stored_lists(items, codes)]
        separator = self.column.separator
        if self._is_tabled:
            return [_joined_texts(items, separator).take(from_numpy(codes))]
        distinct, places = np.unique(codes, return_inverse=True)
        return [from_texts([_join(items, int(code), separator) for code in distinct]).take(from_numpy(places))]

    @property
    def _is_tabled(self) -> bool:
        return self.column.form == "joined" and self.space.size <= _TABLED_SETS

    def restore(self, arrays: Sequence[Any]) -> NDArray[np.int64]:
        column = self.column
        if column.form == "flags":
            return masks_of_flags(arrays, range(len(self.space.values)))
        plain = Subsets(self.space.values, self.space.metric)  # a missing set is stored as an item
        return encode_arrow(plain, arrays[0], form=column.form, separator=column.separator).astype(np.int64)

    @property
    def sql(self) -> str:
        """A stored set as a list."""
        column, name = self.column, quoted(self.column.name)
        if column.form == "joined":
            split = f"string_split({name}, {text_literal(column.separator)})"
            return f"CASE WHEN {name} = '' THEN []::VARCHAR[] ELSE {split} END"
        if column.form == "flags":
            pairs = zip(column.stored, self.space.values, strict=True)
            held = ", ".join(f"CASE WHEN {quoted(stored)} THEN {text_literal(str(item))} END" for stored, item in pairs)
            return f"[item FOR item IN [{held}] IF item IS NOT NULL]"
        return name

    def reader(self, bits: Sequence[int] | None) -> tuple[list[str], Callable[[Sequence[Any]], NDArray[np.int64]]]:
        """Whether a stored set holds the items of some bits; the whole set where its text tells more quickly."""
        items, stored = self.space.values, self.column.stored
        wanted = range(len(items)) if bits is None else bits
        if self._is_tabled:
            return [quoted(self.column.name)], self.restore
        if self.column.form == "flags":
            expressions = [quoted(stored[bit]) for bit in wanted]
        else:
            expressions = [f"list_contains({self.sql}, {text_literal(str(items[bit]))})" for bit in wanted]
        return expressions, lambda arrays: masks_of_flags(arrays, wanted)

    # What is told of a column -----------------------------------------------------------------------------------------

    def flags(self) -> list[Column]:
        if self.column.form != "flags":
            return []
        missing = self.column.missing if self.space.absent is None else 0
        one = replace(self.column, missing=missing, extra_fields=())
        pairs = zip(self._bits, self.column.sources, strict=True)
        return [replace(one, sources=(source,), space=Subsets([item])) for item, source in pairs]

    def outside_refusal(self) -> str:
        if self.column.form != "flags":
            return super().outside_refusal()
        return (
            f"a flag that is neither ticked nor unticked ({HOW_FLAGS_ARE_READ}): write the text of each option in "
            "`values`; `dproof check` shows what is outside"
        )


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


@lru_cache(maxsize=64)
def _joined_texts(items: Items, separator: str) -> Any:
    return from_texts([_join(items, code, separator) for code in range(1 << len(items))])


def _join(items: Items, code: int, separator: str) -> str:
    return separator.join(str(item) for n, item in enumerate(items) if code >> n & 1)


def _stored_lists(items: Items, codes: NDArray[Any]) -> Any:
    """Lists of items, in the order of the plan."""
    has_item = (codes[:, None].astype(np.int64) >> np.arange(len(items))) & 1 == 1
    offsets = np.concatenate([[0], np.cumsum(has_item.sum(axis=1))]).astype(np.int32)
    texts = from_texts([str(item) for item in items]).take(from_numpy(np.nonzero(has_item)[1]))
    return pa.ListArray.from_arrays(from_numpy(offsets), texts)


def masks_of_flags(arrays: Sequence[Any], bits: Sequence[int]) -> NDArray[np.int64]:
    """The masks whose given bits are stored as flags; `MISSING` where one is null."""
    masks = np.zeros(len(arrays[0]) if len(arrays) else 1, np.int64)
    for bit, array in zip(bits, arrays, strict=True):
        masks |= as_numpy(array, missing=False).astype(np.int64) << bit
        if array.null_count:
            masks[np.asarray(array.is_null())] = MISSING
    return masks


class AnswerCodec(Codec):
    """Answers about one item: a text, or where the source has flags as flags, null for the items not asked about."""

    def store(self, codes: NDArray[Any]) -> list[Any]:
        if self.column.form != "flags":
            return super().store(codes)
        return [from_numpy(codes % 2 == 1, codes // 2 != n) for n in range(len(self.space.about))]

    def restore(self, arrays: Sequence[Any]) -> NDArray[np.int64]:
        """The codes; `MISSING` where not exactly one item has an answer."""
        if self.column.form != "flags":
            return super().restore(arrays)
        codes, answers = np.zeros((2, len(arrays[0])), np.int64)
        for n, array in enumerate(arrays):
            there = np.asarray(array.is_valid())
            codes[there] = 2 * n + as_numpy(array, missing=False).astype(np.int64)[there]
            answers += there
        return np.where(answers == 1, codes, MISSING)

    def possible(self, arrays: Sequence[Any], given: NDArray[np.bool_] | None, reach: int | None) -> bool:
        if self.column.form != "flags":
            return super().possible(arrays, given, reach)
        codes = self.restore(arrays)
        whole = len(codes) == 0 or codes.min() >= 0
        return whole and all(a.equals(b) for a, b in zip(self.store(codes), arrays, strict=True))

    def reader(self, bits: Sequence[int] | None) -> tuple[list[str], Callable[[Sequence[Any]], NDArray[np.int64]]]:
        return [quoted(name) for name in self.column.stored], self.restore
