"""Set-valued data: all subsets of a set of items. HLM15, Example 1."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import COLUMN, choice, listed
from dproof.columns.arrow import as_numpy, from_numpy, is_arrow, narrowest
from dproof.columns.column import Column, Draft, Encode, Form, Lookup, quoted
from dproof.columns.set_forms import (
    ENCODERS,
    HOW_FLAGS_ARE_READ,
    STORES,
    bits_sql,
    joined_lookup,
    masks_of_flags,
    set_sql,
)
from dproof.columns.values import numbered, plain, undeclared
from dproof.errors import InputError, TooLarge
from dproof.spaces.space import Space

if TYPE_CHECKING:
    from dproof.plans.reader import Reader

_MOST_ITEMS = 512
_WORD = 62  # items of a set that is a mask in one machine word, as sets of a plan are
_MOST_LISTED = 24  # items whose sets are listed one by one
MISSING_ITEM = "(missing)"  # says that a set is missing, where that is kept as a value of its own


@dataclass(frozen=True, init=False, eq=False)
class Subsets(Space):
    """2^H: every subset of up to 512 items H, coded as a bit mask, bit n for item n; in a plan up to 62.

    `metric="symmetric"`: ρ(A, B) = |A Δ B|. `metric="discrete"`: ρ(A, B) = 1 for A ≠ B.

    >>> interests = Subsets(["Music", "Football", "Chess"])
    >>> interests.size, interests.distance({"Music"}, {"Chess"}), interests.code({"Music", "Chess"})
    (8, Fraction(2, 1), 5)
    """

    values: tuple[Hashable, ...]
    metric: str
    _bits: dict[Hashable, int] = field(repr=False)

    def __init__(self, values: Sequence[Hashable], metric: str = "symmetric") -> None:
        items, places = numbered(values, "item")
        if len(items) > _MOST_ITEMS:
            raise InputError(f"there are {len(items)} items; a space of subsets takes up to {_MOST_ITEMS}")
        choice(metric, ("symmetric", "discrete"), "metric")
        object.__setattr__(self, "values", items)
        object.__setattr__(self, "metric", metric)
        object.__setattr__(self, "_bits", {item: 1 << place for item, place in places.items()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Subsets) and (self.values, self.metric) == (other.values, other.metric)

    def __hash__(self) -> int:
        return hash((self.values, self.metric))

    @property
    def size(self) -> int:
        return 1 << len(self.values)

    @property
    def diameter(self) -> Fraction:
        return Fraction(len(self.values) if self.metric == "symmetric" else 1)

    @property
    def separation(self) -> Fraction:
        return Fraction(1)

    @property
    def items(self) -> tuple[Hashable, ...]:
        return self.values

    def refusal(self, value: Any, *, ordered: bool = False) -> str | None:
        return undeclared(value, self.values)

    @property
    def candidates(self) -> int:
        return len(self.values)

    def candidate(self, place: int) -> Hashable:
        return self.values[place]

    def tallies(self, histogram: Mapping[int, int]) -> dict[int, int]:
        bits = range(len(self.values))
        return {bit: sum(count for mask, count in histogram.items() if mask >> bit & 1) for bit in bits}

    def largest_sum(self) -> Fraction:
        return self.size * self.diameter / 2 if self.metric == "symmetric" else Fraction(self.size - 1)

    def by_differences(self) -> list[Fraction]:
        return [Fraction(r if self.metric == "symmetric" else min(r, 1)) for r in range(len(self.values) + 1)]

    def counted(self) -> tuple[int, Any]:
        bits = range(len(self.values))
        return self.size // 2, lambda: (np.arange(self.size)[:, None] >> np.array(bits) & 1).astype(np.float64)

    def distance(self, x: Iterable[Hashable], y: Iterable[Hashable]) -> Fraction:
        differing = (self.code(x) ^ self.code(y)).bit_count()
        return Fraction(differing if self.metric == "symmetric" else int(differing > 0))

    def distances(self, code: int) -> NDArray[Any]:
        if len(self.values) > _MOST_LISTED:
            raise TooLarge(f"the distances to all sets are too many to list for more than {_MOST_LISTED} items")
        differing: NDArray[np.int64] = np.bitwise_count(np.arange(self.size) ^ code).astype(np.int64)
        return differing if self.metric == "symmetric" else (differing > 0).astype(np.int64)

    def code(self, value: Iterable[Hashable]) -> int:
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise InputError("a value is not a set; give a set or a list of items, the empty one included")
        mask = 0
        for item in value:
            try:
                mask |= self._bits[plain(item)]
            except (KeyError, TypeError):
                raise _undeclared(len(self.values)) from None
        return mask

    def label(self, code: int) -> frozenset[Hashable]:
        return frozenset(item for n, item in enumerate(self.values) if int(code) >> n & 1)

    def encode(self, values: Any) -> NDArray[Any]:
        if is_arrow(values) and len(self.values) > _WORD:
            values = values.to_pylist()
        if is_arrow(values):
            codes = self.encode_arrow(values, form="list")
            if (codes < 0).any():
                raise _undeclared(len(self.values))
            return codes.astype(narrowest(self.size))
        return np.array([self.code(value) for value in listed(values, "values", COLUMN)], narrowest(self.size))

    def decode(self, codes: NDArray[Any]) -> list[frozenset[Hashable]]:
        return [self.label(int(code)) for code in codes]

    # A column of a plan ----------------------------------------------------------------------------------------------

    mechanisms: ClassVar[str] = "subsets"
    outside_ways: ClassVar[tuple[str, ...]] = ("refuse", "clamp")

    @classmethod
    def column(cls, name: str, kind: str, table: Reader) -> Column:
        flags = table.texts("columns") if "columns" in table else ()
        items = table.texts("values") if "values" in table or not flags else flags
        separator = table.text("separator", "")
        form: Form = "flags" if flags else "joined" if separator else "list"
        if flags and (len(flags) != len(items) or separator):
            raise table.wrong("columns", "needs one flag for each value, and no separator")
        if separator and any(separator in item for item in items):
            raise table.wrong("separator", "stands inside one of the values")
        if form == "joined" and "" in items:
            raise table.wrong("values", "cannot hold an empty text where items are joined")
        space = table.calling(lambda: cls(items, table.text("metric", "symmetric")))
        if len(items) + (table.value("missing", "refuse") == "category") > _WORD:
            raise table.wrong("columns" if flags else "values", f"has {len(items)} items; a set takes up to {_WORD}")
        clamp = table.choice("outside", cls.outside_ways, "refuse") == "clamp"
        given = table.value("missing", "refuse")
        if given == "category":
            if any(MISSING_ITEM in text for text in items) or (separator and separator in MISSING_ITEM):
                raise table.wrong("missing", f"stores {MISSING_ITEM!r} as an item: change the values or the separator")
            space = space.with_missing()
            beside = (f"{name} {MISSING_ITEM}",) if flags else ()
            shape = flags or (name,), space, form, separator
            return Column(name, kind, *shape, clamp=clamp, missing=space.absent, beside=beside)
        if given != "refuse" and not isinstance(given, list):
            raise table.wrong("missing", 'must be "refuse", "category" or a list of values, such as []')
        missing = space.stand_in_code(table)
        return Column(name, kind, flags or (name,), space, form, separator, clamp=clamp, missing=missing)

    def with_missing(self) -> Any:
        from dproof.columns.null import OptionalSubsets

        return OptionalSubsets([*self.values, MISSING_ITEM], self.metric)

    @classmethod
    def draft(cls, kind: Any) -> Draft | None:
        import pyarrow as pa

        return Draft("subsets", {"values": []}) if pa.types.is_list(kind) or pa.types.is_large_list(kind) else None

    def stand_in(self, code: int) -> str:
        label = self.label(code)
        return f"the set of {', '.join(map(repr, sorted(map(str, label))))}" if label else "the empty set"

    def lookup(self, column: Column) -> Lookup:
        return joined_lookup(self.values, column)

    def encoder(self, column: Column) -> Encode:
        if column.form in ENCODERS:
            return ENCODERS[column.form](self.values, column)
        return super().encoder(column)

    def store(self, column: Column, codes: NDArray[Any]) -> list[Any]:
        """A set keeps the form that it has in the source."""
        return STORES[column.form](self.values, column, codes)

    def restore(self, column: Column, arrays: Sequence[Any]) -> NDArray[np.int64]:
        if column.form == "flags":
            return masks_of_flags(arrays, range(len(self.values)))
        return self.encode_arrow(arrays[0], form=column.form, separator=column.separator).astype(np.int64)

    def sql(self, column: Column) -> str:
        return set_sql(self.values, column)

    def reader(
        self, column: Column, bits: Sequence[int] | None
    ) -> tuple[list[str], Callable[[Sequence[Any]], NDArray[np.int64]]]:
        wanted = range(len(self.values)) if bits is None else bits
        expressions = bits_sql(self.values, column, wanted)
        if expressions is None:
            return [quoted(column.name)], lambda arrays: self.restore(column, arrays)
        return expressions, lambda arrays: masks_of_flags(arrays, wanted)

    @property
    def declared(self) -> int:
        return len(self.values)

    def fewer(self, count: int) -> Subsets:
        return Subsets(self.values[:count], self.metric)

    def flags(self, column: Column) -> list[Column]:
        if column.form != "flags":
            return []
        pairs = zip(self.values, column.sources, strict=True)
        return [replace(column, sources=(source,), space=Subsets([item])) for item, source in pairs]

    def outside_refusal(self, column: Column) -> str:
        if column.form != "flags":
            return super().outside_refusal(column)
        return (
            f"a flag that is neither ticked nor unticked ({HOW_FLAGS_ARE_READ}): write the text of each option in "
            "`values`; `dproof check` shows what is outside"
        )


def _undeclared(items: int) -> InputError:
    return InputError(f"a set holds an item that is not one of the {items} declared; declare it")


_SAID = ("no", "yes")


@dataclass(frozen=True, slots=True)
class Answers(Space):
    """The answers "no" and "yes" about each of some items, with the codes 2n and 2n + 1; ρ(x, y) = 1 for x ≠ y.

    Stored as a text, or where the source has a flag for each item as flags, with none for the items not asked about.

    >>> Answers(("Music", "Chess")).decode(np.array([1, 2]))
    ['Music: yes', 'Chess: no']
    """

    about: tuple[Hashable, ...]

    @property
    def size(self) -> int:
        return 2 * len(self.about)

    @property
    def diameter(self) -> Fraction:
        return Fraction(1)

    separation = diameter

    def distance(self, x: Any, y: Any) -> Fraction:
        return Fraction(int(self.code(x) != self.code(y)))

    def distances(self, code: int) -> NDArray[Any]:
        return np.asarray(np.arange(self.size) != code).astype(np.int64)

    def distances_from(self, value: Any) -> NDArray[Any]:
        raise InputError("an answer about one item has no distance from a set")

    def code(self, value: Any) -> int:
        item, _, said = str(value).rpartition(": ")
        names = [str(known) for known in self.about]
        if item not in names or said not in _SAID:
            raise InputError("a value is not an answer about an item")
        return 2 * names.index(item) + _SAID.index(said)

    def label(self, code: int) -> str:
        return f"{self.about[int(code) // 2]}: {_SAID[int(code) % 2]}"

    def encode(self, values: Any) -> NDArray[Any]:
        return np.array([self.code(value) for value in listed(values, "values", COLUMN)], narrowest(self.size))

    def decode(self, codes: NDArray[Any]) -> list[Any]:
        return [self.label(code) for code in codes]

    # As it is stored -------------------------------------------------------------------------------------------------

    def store(self, column: Column, codes: NDArray[Any]) -> list[Any]:
        if column.form != "flags":
            return super(Answers, self).store(column, codes)
        return [from_numpy(codes % 2 == 1, codes // 2 != n) for n in range(len(self.about))]

    def restore(self, column: Column, arrays: Sequence[Any]) -> NDArray[np.int64]:
        """The codes; −1 where not exactly one item has an answer."""
        if column.form != "flags":
            return super(Answers, self).restore(column, arrays)
        codes, answers = np.zeros((2, len(arrays[0])), np.int64)
        for n, array in enumerate(arrays):
            there = np.asarray(array.is_valid())
            codes[there] = 2 * n + as_numpy(array, missing=False).astype(np.int64)[there]
            answers += there
        return np.where(answers == 1, codes, -1)

    def possible(
        self, column: Column, arrays: Sequence[Any], given: NDArray[np.bool_] | None, reach: int | None
    ) -> bool:
        if column.form != "flags":
            return super(Answers, self).possible(column, arrays, given, reach)
        codes = self.restore(column, arrays)
        whole = len(codes) == 0 or codes.min() >= 0
        return whole and all(a.equals(b) for a, b in zip(self.store(column, codes), arrays, strict=True))

    def reader(
        self, column: Column, bits: Sequence[int] | None
    ) -> tuple[list[str], Callable[[Sequence[Any]], NDArray[np.int64]]]:
        from dproof.columns.column import quoted

        return [quoted(name) for name in column.stored], lambda arrays: self.restore(column, arrays)
