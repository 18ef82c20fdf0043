"""What a plan, a sanitiser, a release and a question ask of the space of a column. Each has a default."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dproof.errors import InputError
from dproof.spaces.arrow import decoded, distinct, from_texts, store_labels
from dproof.spaces.values import MISSING, OUTSIDE, is_missing, text_of, written

if TYPE_CHECKING:
    from dproof.plans.reader import Reader
    from dproof.spaces.column import Column, Encode, Lookup, Lookups


@dataclass(frozen=True, slots=True)
class Draft:
    """The lines that `dproof init` writes for a column: what kind it seems to be, its keys, and comments below."""

    kind: str
    keys: Mapping[str, Any]
    below: str = ""


class ColumnSpace:
    """From the keys of a plan to a column, from a source's arrays to codes, from codes to what is stored, and back.

    A space of one's own that a plan can name says `from_plan`. By default its values are texts: `code` reads one, and
    what `label` gives is stored.
    """

    __slots__ = ()

    if TYPE_CHECKING:  # which a space has

        @property
        def size(self) -> int: ...

        @property
        def absent(self) -> int | None: ...

        def code(self, value: Any) -> int: ...

        def label(self, code: int) -> Any: ...

    mechanisms: ClassVar[str] = "categories"  # whose mechanisms a plan can name for it
    outside_ways: ClassVar[tuple[str, ...]] = ("refuse",)  # what a plan can do about a value outside; first the usual
    noun: ClassVar[str | None] = None  # what a text must be to be read; None where any text may be one of the values
    unreadable_advice: ClassVar[str] = ""  # where to look when texts cannot be read
    is_counted: ClassVar[bool] = True  # whether single values are worth counting

    @property
    def code_shape(self) -> tuple[int, ...]:
        """The shape of one code: a whole number, but for curves."""
        return ()

    @classmethod
    def from_plan(cls, table: Reader) -> Self:
        """The space that a column's table in a plan declares."""
        raise InputError("this space cannot be declared in a plan: it has no from_plan")

    @classmethod
    def column(cls, name: str, kind: str, table: Reader) -> Column:
        """The column that its table in a plan declares: the space, and what becomes of values outside and missing."""
        from dproof.spaces.column import Column

        space = table.calling(lambda: cls.from_plan(table))
        clamp = table.choice("outside", cls.outside_ways, cls.outside_ways[0]) == "clamp"
        if table.value("missing", "refuse") == "category":
            space = space.with_missing()
            return Column(name, kind, (name,), space, clamp=clamp, missing=space.absent)
        return Column(name, kind, (name,), space, clamp=clamp, missing=space.stand_in_code(table))

    @property
    def present(self) -> Any:
        """The space of the values that are there, where a missing one was added to them and has the last code."""
        return None

    def with_missing(self) -> Any:
        """The space with one more value, a missing one, that has the last code and is stored as null."""
        from dproof.spaces.optional import OptionalSpace

        return OptionalSpace(self)  # type: ignore[arg-type]  # a finite one

    def with_gaps(self, column: Column) -> Column:
        """A column of the space for those who see the true values: there what is missing is not there, and no value."""
        return column

    def stand_in_code(self, table: Reader) -> int | None:
        """The code of what a plan puts for a missing value; None where that is refused."""
        given = table.value("missing", "refuse")
        try:
            return None if given == "refuse" else int(self.code(given))
        except InputError:
            raise table.wrong("missing", 'must be a value of the space, "refuse" or "category"') from None

    def stand_in(self, code: int) -> str | None:
        """What stands for a missing value, in words; None where missing is a value of its own."""
        label = self.label(code)
        is_number = isinstance(label, (int, float)) and not isinstance(label, bool)
        return None if label is None else f"{label:,}" if is_number else repr(label)

    @classmethod
    def draft(cls, kind: Any) -> Draft | None:
        """What `dproof init` writes for a column of an Arrow type; None where this space is not the obvious one."""
        return None

    def lookup(self, column: Column) -> Lookup:
        """What reads one value of a source, by itself: its code, or OUTSIDE or MISSING."""

        def look_up(value: Any) -> int:
            if is_missing(value):
                return MISSING
            try:
                return int(self.code(text_of(value)))
            except InputError:
                return OUTSIDE

        return look_up

    def lookups(self, column: Column) -> Lookups:
        """What reads distinct values of a source, an Arrow array of them, each as if it were alone."""
        from dproof.spaces.column import one_by_one

        return one_by_one(self.lookup(column))

    def encoder(self, column: Column) -> Encode:
        """What turns the source's Arrow arrays of a column into codes, each value treated as the plan says."""
        from dproof.spaces.column import encode_distinct, repeated
        from dproof.spaces.objects import single

        look_up = repeated(self.lookups(column))
        return lambda arrays: encode_distinct(look_up, column, single(arrays[0]))

    def code_sql(self, column: Column, whole: str | None) -> str | None:
        """The code of a value in SQL, treated as the plan says, from the SQL of a whole number; None where that has no
        such form, or the source holds others."""
        return None

    def encode_arrow(self, array: Any, **treatment: Any) -> NDArray[Any]:
        """The codes of an Arrow array by itself, −1 for a value that is none of the space."""
        from dproof.spaces.column import Column

        column = Column("values", "", ("values",), self, gaps=True, missing=self.absent, **treatment)
        return column.encoder()([array.combine_chunks() if hasattr(array, "combine_chunks") else array])

    def stored_labels(self) -> Any:
        """The labels as Arrow, without the missing one, which has the last code."""
        return from_texts([written(label) for label in map(self.label, range(self.size)) if label is not None])

    def store(self, column: Column, codes: NDArray[Any]) -> list[Any]:
        """The Arrow arrays that codes are stored as, one for each stored field of the column."""
        return [store_labels(_stored_labels(self), self.size, codes)]

    def restore(self, column: Column, arrays: Sequence[Any]) -> NDArray[np.int64]:
        """The codes that stored arrays stand for, read by the encoder that sanitises; −1 for what is not a value."""
        return self.encode_arrow(arrays[0]).astype(np.int64)

    def possible(
        self, column: Column, arrays: Sequence[Any], given: NDArray[np.bool_] | None, reach: int | None
    ) -> bool:
        """Whether stored arrays hold nothing but what codes are stored as: those `given`, or all.

        `reach` is how many steps noise moves a number at most, where it has an end.
        """
        stored = [distinct(array) for array in arrays]
        codes = self.restore(column, stored)
        if len(codes) and not 0 <= codes.min() <= codes.max() < self.size:
            return False
        if given is not None and not given[codes].all():
            return False
        return all(decoded(a).equals(b) for a, b in zip(self.store(column, codes), stored, strict=True))

    def sql(self, column: Column) -> str:
        """The stored column as one value in SQL."""
        from dproof.spaces.column import quoted

        return quoted(column.name)

    def number_sql(self, column: Column) -> str:
        """The number that a stored value stands for, in SQL."""
        return f"{self.sql(column)}::DOUBLE"

    def reader(
        self, column: Column, bits: Sequence[int] | None
    ) -> tuple[list[str], Callable[[Sequence[Any]], NDArray[np.int64]]]:
        """SQL expressions that tell the codes of a stored column apart, and how their values are decoded.

        Of a set only the given bits are read, and the code has only these.
        """
        return [self.sql(column)], lambda arrays: self.restore(column, arrays)

    def flags(self, column: Column) -> list[Column]:
        """A column for each flag of a set that has them, so that their values can be looked at one by one."""
        return []

    @property
    def declared(self) -> int:
        """How many values, or items of sets, were declared one by one."""
        return 0

    def fewer(self, count: int) -> Self | None:
        """The space of the first so many of its declared values; None where none were declared one by one."""
        return None

    @property
    def is_flag(self) -> bool:
        """Whether its two values mean yes and no."""
        return False

    def outside_refusal(self, column: Column) -> str:
        """What a column has that the plan refuses, as the end of a sentence: a value outside."""
        ways = [way for way in self.outside_ways if way != "refuse"]
        set_it = f", or set outside = {ways[0]!r} in the plan" if ways else ""
        return f"a value outside its declared space: declare it{set_it}; `dproof check` shows what is outside"

    def missing_refusal(self) -> str:
        """The same for a missing value."""
        also = "" if self.noun is None else f", or a text that is no {self.noun}"
        return f"a missing value{also}: say in the plan what stands for it, with `missing`"


@lru_cache(maxsize=256)
def _stored_labels(space: ColumnSpace) -> Any:
    return space.stored_labels()
