"""A column of a plan: where its values come from, how they are stored, and what becomes of those outside or missing.

The treatment of a row depends on that row and the plan alone, so it costs no privacy: it comes before the mechanism.
Only `"refuse"` lets the data stop the work, which tells that some value is outside; the plan that must not tell even
that has a treatment for every value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from dproof.columns.arrow import as_numpy, decoded, distinct, from_texts, narrowest, plain_texts, store_labels
from dproof.columns.values import MISSING, OUTSIDE, PLAIN, Numerals, is_missing, text_of, written
from dproof.errors import DproofError, InputError

if TYPE_CHECKING:
    from dproof.plans.reader import Reader
    from dproof.spaces.bins import Bins

_REMEMBERED = 1 << 16  # values of a column
Form = Literal["plain", "joined", "list", "flags", "wide"]
Lookup = Callable[[Any], int]  # the code of a value, or OUTSIDE or MISSING
Lookups = Callable[[Any], NDArray[np.int64]]  # the same for an Arrow array of values
Encode = Callable[[Sequence[Any]], NDArray[Any]]  # from the source's Arrow arrays of a column to its codes


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the release.

    `kind` is the plan's name of its space, or "public" or "drop". `sources` are the columns of the source that hold it:
    one, a flag for each item, or one for each grid point. A value outside the space becomes the nearest point
    (`clamp`), the value with the code `outside`, or is refused; a missing value becomes the value with the code
    `missing`, or is refused. With `gaps` what would be refused has the code −1 instead. The stored file has the fields
    `beside` those that the source has. A row of a number with `bins` is sanitised by its bin. Texts are read as numbers
    by the signs of `numerals`.
    """

    name: str
    kind: str
    sources: tuple[str, ...]
    space: Any = None
    form: Form = "plain"
    separator: str = ""
    share: Fraction = Fraction(1)
    mechanism: str = "auto"
    clamp: bool = False
    outside: int | None = None
    missing: int | None = None
    gaps: bool = False
    beside: tuple[str, ...] = ()
    bins: Bins | None = None
    numerals: Numerals = PLAIN

    @property
    def private(self) -> bool:
        """Whether the column is sanitised: neither dropped nor public."""
        return self.kind not in ("public", "drop")

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns of the stored file that hold it: the source's form is kept."""
        return (*(self.sources if self.form in ("flags", "wide") else (self.name,)), *self.beside)

    @property
    def is_one_text(self) -> bool:
        """Whether a value of the source is a single one, and not a list or spread over columns."""
        return self.form in ("plain", "joined")

    @property
    def refuses(self) -> bool:
        """Whether some value would be refused."""
        return (self.outside is None and not self.clamp) or self.missing is None

    @property
    def sql(self) -> str:
        """The stored column as one value in SQL, whatever form it is stored in."""
        return quoted(self.name) if self.space is None else str(self.space.sql(self))

    @property
    def sanitised_bins(self) -> Bins | None:
        """The bins that a row is sanitised in, with one for a missing value where the plan keeps those apart."""
        return None if self.bins is None else self.bins.with_missing(self.space.absent)

    @property
    def sanitised(self) -> Any:
        """The space that a row is sanitised in: the column's own, or its bins."""
        bins = self.sanitised_bins
        return self.space if bins is None else bins.space

    @property
    def is_averaged(self) -> bool:
        """Whether the usual question about it is its mean; the values, items and bins of other columns are counted."""
        return self.bins is None and not self.space.is_counted

    def sanitised_encoder(self) -> Encode:
        """What turns the source's Arrow arrays of the column into codes of the space that it is sanitised in."""
        encode, bins = self.encoder(), self.sanitised_bins
        if bins is None:
            return encode
        starts, kind = bins, narrowest(bins.size)
        return lambda arrays: starts.of(encode(arrays)).astype(kind)

    def encoder(self) -> Encode:
        """What turns the source's Arrow arrays of the column into codes of its space, as the plan says.

        An error that nobody foresaw is told without its text, which may quote a value.
        """
        encode: Encode = self.space.encoder(self)

        def guarded(arrays: Sequence[Any]) -> NDArray[Any]:
            try:
                return encode(arrays)
            except DproofError:
                raise
            except Exception:
                raise InputError(f"column {self.name!r} cannot be read as the plan says: look at its type") from None

        return guarded


def quoted(identifier: str) -> str:
    """An identifier of SQL in quotes.

    >>> quoted("hours of TV")
    '"hours of TV"'
    """
    return '"' + identifier.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """A text as SQL has it.

    >>> text_literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def one_by_one(look_up: Lookup) -> Lookups:
    """What looks up each of many values by itself, and remembers the first of them, whatever the number of batches.

    None that is remembered makes room for another: so one value more costs no more than its own looking up.
    """
    known: dict[Any, int] = {}

    def look_up_all(values: Any) -> NDArray[np.int64]:
        codes = np.empty(len(values), np.int64)
        for n, value in enumerate(python_values(values)):
            key = type(value), value
            code = known.get(key)
            if code is None:
                code = look_up(value)
                if len(known) < _REMEMBERED:
                    known[key] = code
            codes[n] = code
        return codes

    return look_up_all


def repeated(look_up: Lookups) -> Lookups:
    """The same lookups, done once where one dictionary lies behind several batches, as it does in a text file."""
    last: list[Any] = [None, None, None]

    def look_up_all(values: Any) -> NDArray[np.int64]:
        place = values.offset, len(values), [buffer and buffer.address for buffer in values.buffers()]
        if place != last[0]:
            last[:] = place, values, look_up(values)  # which are kept, so that nothing else comes to lie there
        return last[2]  # type: ignore[no-any-return]

    return look_up_all


def encode_distinct(look_up: Lookups, column: Column, array: Any) -> NDArray[Any]:
    """Look up each distinct value once, and spread the codes over the rows."""
    found, places = looked_up(look_up, column, array)
    return accepted(column, settled(column, found).take(places, mode="clip"))


def looked_up(look_up: Lookups, column: Column, array: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """What each distinct value is, and at last what a null is; and the place of each row's value among these."""
    import pyarrow as pa

    array = as_dictionary(column, array)
    codes = look_up(plain_texts(array.dictionary))
    return np.append(codes, MISSING), as_numpy(array.indices.cast(pa.int64()), missing=len(codes))


def as_dictionary(column: Column, array: Any) -> Any:
    import pyarrow as pa

    try:
        if pa.types.is_dictionary(array.type):
            array.dictionary.slice(0, 0).dictionary_encode()  # of values that can be told apart
            return array
        if pa.types.is_temporal(array.type):  # as text: Python has no words for every moment that Arrow has
            array = array.cast(pa.int64() if pa.types.is_duration(array.type) else pa.string())
        return array.dictionary_encode()
    except pa.ArrowException:
        raise InputError(
            f"column {column.name!r} has the type {array.type}, which holds no such values: cast it first"
        ) from None


def python_values(values: Any) -> list[Any]:
    """An Arrow array as Python has it; texts as bytes, for in a file they may be none."""
    import pyarrow as pa

    is_text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    values = values.cast(pa.large_binary()) if is_text else values
    try:
        return values.to_pylist()  # type: ignore[no-any-return]
    except (OverflowError, ValueError):
        return [_value(scalar) for scalar in values]


def _value(scalar: Any) -> Any:
    """A value of Arrow in Python; a moment that Python has no words for is none that a plan declares."""
    from dproof.columns.objects import NO_TEXT

    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        return NO_TEXT


def settled(column: Column, found: NDArray[np.int64]) -> NDArray[Any]:
    """Codes with the plan's stand-ins; what the plan refuses is −1 with `gaps`, else one of two codes beyond the space.

    The type of the codes follows from the column alone.
    """
    size = column.space.size
    outside, missing = (OUTSIDE, OUTSIDE) if column.gaps else (size, size + 1)
    codes = np.where(found == OUTSIDE, outside if column.outside is None else column.outside, found)
    codes[found == MISSING] = missing if column.missing is None else column.missing
    return codes.astype(np.min_scalar_type(-size) if column.gaps else narrowest(size + 2))


def accepted(column: Column, codes: NDArray[Any]) -> NDArray[Any]:
    """The settled codes, unless one of them is beyond the space."""
    size = column.space.size
    worst = int(codes.max()) if len(codes) else 0
    if worst < size:
        return codes
    what = column.space.outside_refusal(column) if worst == size else column.space.missing_refusal()
    raise InputError(f"column {column.name!r} has {what}")


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
        from dproof.columns.null import OptionalSpace

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

        return one_by_one(self.lookup(column))

    def encoder(self, column: Column) -> Encode:
        """What turns the source's Arrow arrays of a column into codes, each value treated as the plan says."""
        from dproof.columns.objects import single

        look_up = repeated(self.lookups(column))
        return lambda arrays: encode_distinct(look_up, column, single(arrays[0]))

    def code_sql(self, column: Column, whole: str | None) -> str | None:
        """The code of a value in SQL, treated as the plan says, from the SQL of a whole number; None where that has no
        such form, or the source holds others."""
        return None

    def encode_arrow(self, array: Any, **treatment: Any) -> NDArray[Any]:
        """The codes of an Arrow array by itself, −1 for a value that is none of the space."""

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
