"""A column of a plan, and its codec: how the values of its space are read from a table and stored.

    texts and Arrow arrays of a table ─ encode ─► codes ─ store ─► Arrow arrays of a release ─ restore ─► codes

Each value is read by itself: how it is read, and what becomes of one outside or missing, depends on the value and the
plan alone, so it costs no privacy. Only `"refuse"` lets the data stop the work, which tells that some value is outside;
the plan that must not tell even that has a treatment for every value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from inspect import getattr_static
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dproof.columns.values import (
    NO,
    NO_TEXT,
    OUTSIDE,
    PLAIN,
    YES,
    Numerals,
    as_numpy,
    decoded,
    distinct,
    from_numpy,
    from_texts,
    guarded,
    is_missing,
    number_of,
    plain_texts,
    single,
    store_labels,
    text_of,
    truth_of,
    with_nulls,
    written,
)
from dproof.errors import DproofError, InputError, SourceError
from dproof.spaces.space import MISSING, Space, narrowest

if TYPE_CHECKING:
    from dproof.plans.reader import Reader
    from dproof.spaces.interval import Bins

_REMEMBERED = 1 << 16  # values of a column
_OTHER = "(other)"  # what stands for a value outside, unless the plan says
REQUIRED: Any = "required"  # the default of a key that a plan must have
Lookup = Callable[[Any], int]  # the code of a value, or OUTSIDE or MISSING
Lookups = Callable[[Any], NDArray[np.int64]]  # the codes of an Arrow array of values
Form = Literal["plain", "joined", "list", "flags", "wide"]
Encode = Callable[[Sequence[Any]], NDArray[Any]]  # from the source's Arrow arrays of a column to its codes


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the release.

    `kind` is the plan's name of its space, or "public" or "drop". `sources` are the columns of the source that hold it:
    one, a flag for each item, or one for each grid point. A value outside the space becomes the nearest point
    (`clamp`), the value with the code `outside`, or is refused; a missing value becomes the value with the code
    `missing`, or is refused. With `invalid_as_null` what would be refused is `MISSING` instead. The stored file has
    `extra_fields` beside those that the source has. A row of a number with `bins` is sanitised by its bin. Texts are
    read as numbers by the signs of `numerals`, and as dates in the `date_format` beside ISO 8601. A survey asks its
    `question` (`dproof collect`), with some `help`.
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
    invalid_as_null: bool = False
    extra_fields: tuple[str, ...] = ()
    bins: Bins | None = None
    numerals: Numerals = PLAIN
    date_format: str | None = None
    question: str = ""
    help: str = ""

    @property
    def private(self) -> bool:
        """Whether the column is sanitised: neither dropped nor public."""
        return self.kind not in ("public", "drop")

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns of the stored file that hold it: the source's form is kept."""
        return (*(self.sources if self.form in ("flags", "wide") else (self.name,)), *self.extra_fields)

    @property
    def is_one_text(self) -> bool:
        """Whether a value of the source is a single one, and not a list or spread over columns."""
        return self.form in ("plain", "joined")

    @property
    def refuses(self) -> bool:
        """Whether some value would be refused."""
        return (self.outside is None and not self.clamp) or self.missing is None

    @property
    def codec(self) -> Codec:
        """What reads and stores the values of its space."""
        return codec_of(self.space, self)

    @property
    def sql(self) -> str:
        """The stored column as one value in SQL, whatever form it is stored in."""
        return quoted(self.name) if self.space is None else self.codec.sql

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

    def with_missing_allowed(self) -> Column:
        """The column for those who see the true values: there no value stops the work, and what is missing is no value
        but NULL."""
        space = self.space.without_missing
        if space is self.space:
            return replace(self, invalid_as_null=True)
        return replace(self, space=space, missing=None, extra_fields=(), invalid_as_null=True)

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
        encode = self.codec.encode

        def guarded(arrays: Sequence[Any]) -> NDArray[Any]:
            try:
                return encode(arrays)
            except DproofError:
                raise
            except Exception:
                raise SourceError(f"column {self.name!r} cannot be read as the plan says: look at its type") from None

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


# How its values are read and stored -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a column's table in a plan, described once: for the reader of plans, `dproof init`, the guided plan and
    the documentation.

    `form` says what may stand there, and `help` what it means. `example` is how it is written; `draft` a line that
    `dproof init` writes below a column.
    """

    name: str
    form: str
    help: str
    example: str = ""
    default: Any = REQUIRED
    options: tuple[str, ...] = ()
    draft: str = ""

    def read(self, table: Reader) -> Any:
        """What a plan has for it, or the default."""
        default = () if self.default is REQUIRED else (self.default,)
        if self.form == "choice":
            return table.choice(self.name, self.options, *default)
        if self.form in ("number", "text"):
            return (table.number if self.form == "number" else table.text)(self.name, *default)
        given = table.value(self.name, *default)
        if default and given is self.default:
            return given
        if self.form == "numbers" and not (isinstance(given, list) and given):
            raise table.wrong(self.name, "must be a list of numbers")
        if self.form == "whole number":
            return table.integer(self.name, given)
        return table.texts(self.name) if self.form == "texts" else given


def outside_key(*ways: str, meaning: str) -> Key:
    """The key of what becomes of a value outside; the first way is the usual one."""
    example = "outside = " + " or ".join(f'"{way}"' for way in ways)
    return Key("outside", "choice", f"What becomes of a value outside: {meaning}.", example, ways[0], ways)


def missing_key(form: str, example: str, meaning: str) -> Key:
    """The key of what becomes of a missing value."""
    meaning = f'What becomes of a missing value: {meaning}, `"category"` keeps it as a value of its own, else refused.'
    return Key("missing", form, meaning, example, "refuse")


def ways_outside(keys: Sequence[Key]) -> list[str]:
    """What a plan with these keys can do about a value outside, but to refuse it; first the usual."""
    return [way for key in keys if key.name == "outside" for way in key.options if way != "refuse"]


@dataclass(frozen=True, slots=True)
class Draft:
    """What `dproof init` writes for a column: what kind it seems to be, and its keys."""

    kind: str
    keys: Mapping[str, Any]


class Suggestion(Protocol):
    """What a draft may have for its open keys, found in the arrays of a table, which only its custodian may see."""

    def add(self, arrays: Sequence[Any]) -> None:
        """Take in the arrays of some rows."""

    def keys(self) -> dict[str, Any]:
        """What was found, by the keys of a plan; nothing where no value was there."""

    @property
    def more(self) -> int:
        """How many different values were found beyond those in `keys`."""


class Codec:
    """How the values of a space are read and stored, for one column. By default they are texts: `code` of the space
    reads one, and what its `label` gives is stored.

    Of a space of one's own `keys` describes the keys of a column's table in a plan, beside `outside` and `missing`.
    """

    keys: ClassVar[tuple[Key, ...]] = (
        outside_key("refuse", meaning="it is refused"),
        missing_key("value of the space", "missing = a value", "a value stands for it"),
    )
    kind: ClassVar[str | None] = None  # what plans call the space; None where they cannot name it
    noun: ClassVar[str | None] = None  # what a text must be to be read; None where any text may be one of the values
    unreadable_advice: ClassVar[str] = ""  # where to look when texts cannot be read
    unit: ClassVar[Any] = None  # what moments are counted in: dates in days, and times of day in minutes
    closing: ClassVar[Mapping[str, Any]] = {}  # for each key that a draft leaves open, what takes in every value

    def __init__(self, space: Any, column: Column) -> None:
        self.space, self.column = space, column

    # From a plan ------------------------------------------------------------------------------------------------------

    @classmethod
    def declared_space(cls, space: Any, table: Reader) -> Any:
        """The space, of a class of spaces that has no `from_plan`, that a column's table in a plan declares."""
        return space.from_plan(table)  # which refuses

    @classmethod
    def read_column(cls, space: Any, name: str, kind: str, table: Reader) -> Column:
        """The column that its table in a plan declares: the space, and what becomes of values outside and missing."""
        says_itself = getattr_static(space, "from_plan") is not getattr_static(Space, "from_plan")
        made = table.calling(lambda: space.from_plan(table) if says_itself else cls.declared_space(space, table))
        outside, given = (key.read(table) for key in cls.keys if key.name in ("outside", "missing"))
        if given == "category":
            made = made.with_missing()
            missing = made.absent
        else:
            missing = None if given == "refuse" else stand_in_code(made, given, table)
        return Column(name, kind, (name,), made, clamp=outside == "clamp", missing=missing)

    @classmethod
    def draft(cls, kind: Any) -> Draft | None:
        """What `dproof init` writes for a column of an Arrow type; None where this space is not the obvious one."""
        return None

    @classmethod
    def open_keys(cls, table: Mapping[str, Any]) -> tuple[str, ...]:
        """The keys of a column's table in a plan that a draft left open: a number "?", or a list without values."""
        bounds = [key.name for key in cls.keys if key.form in ("number", "date", "time") and table.get(key.name) == "?"]
        lists = [key.name for key in cls.keys if key.form in ("list", "texts") and table.get(key.name) == []]
        return (*bounds, *(() if table.get("columns") else lists))

    def suggestion(self) -> Suggestion | None:
        """What finds, in the arrays of a table, what a draft may have for its open keys; None where nothing does."""
        return None

    def stand_in(self, code: int) -> str | None:
        """What stands for a missing value, in words; None where missing is a value of its own."""
        label = self.space.label(code)
        is_number = isinstance(label, (int, float)) and not isinstance(label, bool)
        return None if label is None else f"{label:,}" if is_number else repr(label)

    # From a source to codes -------------------------------------------------------------------------------------------

    def lookup(self, value: Any) -> int:
        """The code of one value of a source, by itself, or OUTSIDE or MISSING."""
        if is_missing(value):
            return MISSING
        try:
            return int(self.space.code(text_of(value)))
        except InputError:
            return OUTSIDE

    @cached_property
    def one_by_one(self) -> Lookups:
        return one_by_one(self.lookup)

    def lookups(self, values: Any) -> NDArray[np.int64]:
        """The codes of distinct values of a source, an Arrow array of them, each as if it were alone."""
        return self.one_by_one(values)

    @cached_property
    def _repeated(self) -> Lookups:
        return repeated(self.lookups)

    def encode(self, arrays: Sequence[Any]) -> NDArray[Any]:
        """The codes of the source's Arrow arrays of the column, each value treated as the plan says."""
        return treated(self.column, *looked_up(self._repeated, self.column, single(arrays[0])))

    def code_sql(self, whole: str | None) -> str | None:
        """The code of a value in SQL, treated as the plan says, from the SQL of a whole number; None where that has no
        such form, or the source holds others."""
        return None

    # From codes to what is stored, and back ---------------------------------------------------------------------------

    def stored_labels(self) -> Any:
        """The labels as Arrow, without the missing one, which has the last code."""
        labels = map(self.space.label, range(self.space.size))
        return from_texts([written(label) for label in labels if label is not None])

    def store(self, codes: NDArray[Any]) -> list[Any]:
        """The Arrow arrays that codes are stored as, one for each stored field of the column."""
        labels = _stored_labels(type(self), self.space)  # type: ignore[arg-type]  # a class can be looked up
        return [store_labels(labels, self.space.size, codes)]

    def restore(self, arrays: Sequence[Any]) -> NDArray[np.int64]:
        """The codes that stored arrays stand for, by the encoder that sanitises; `MISSING` for what is no value."""
        return encode_arrow(self.space, arrays[0]).astype(np.int64)

    def possible(self, arrays: Sequence[Any], given: NDArray[np.bool_] | None, reach: int | None) -> bool:
        """Whether a release can hold these arrays, for `verify`: only what `store` makes of codes, of those
        that the mask `given` marks or of all.

        `reach` is how many steps noise moves a number at most, where it has an end.
        """
        stored = [distinct(array) for array in arrays]
        codes = self.restore(stored)
        if len(codes) and not 0 <= codes.min() <= codes.max() < self.space.size:
            return False
        if given is not None and not given[codes].all():
            return False
        return all(decoded(a).equals(b) for a, b in zip(self.store(codes), stored, strict=True))

    @property
    def sql(self) -> str:
        """The stored column as one value in SQL."""
        return quoted(self.column.name)

    @property
    def number_sql(self) -> str:
        """The number that a stored value stands for, in SQL."""
        return f"{self.sql}::DOUBLE"

    def reader(self, bits: Sequence[int] | None) -> tuple[list[str], Callable[[Sequence[Any]], NDArray[np.int64]]]:
        """SQL expressions that tell the codes of a stored column apart, and how their values are decoded.

        Of a set only the given bits are read, and the code has only these.
        """
        return [self.sql], self.restore

    # What is told of a column -----------------------------------------------------------------------------------------

    def flags(self) -> list[Column]:
        """A column for each flag of a set that has them, so that their values can be looked at one by one."""
        return []

    @property
    def is_flag(self) -> bool:
        """Whether its two values mean yes and no."""
        return False

    def outside_refusal(self) -> str:
        """What a column has that the plan refuses, as the end of a sentence: a value outside."""
        ways = ways_outside(self.keys)
        set_it = f", or set outside = {ways[0]!r} in the plan" if ways else ""
        return (
            f"a value outside its declared space: declare it{set_it}; `dproof check` shows what is outside, and a "
            "wrong encoding"
        )

    def missing_refusal(self) -> str:
        """What a column has that the plan refuses, as the end of a sentence: a missing value."""
        also = "" if self.noun is None else f", or a text that is no {self.noun}"
        words = "" if self.noun is None else ", or give it another space if it holds words"
        stands = f"say in the plan what stands for it, with `missing`{words}"
        return f"a missing value{also}: `dproof check` counts them; {stands}"


@lru_cache(maxsize=256)
def _stored_labels(codec: Any, space: Any) -> Any:
    return codec(space, Column("values", "", ("values",), space)).stored_labels()


def stand_in_code(space: Any, given: Any, table: Reader) -> int:
    """The code of what a plan puts for a missing value."""
    try:
        return int(space.code(given))
    except InputError:
        raise table.wrong("missing", 'must be a value of the space, "refuse" or "category"') from None


def encode_arrow(space: Any, array: Any, **treatment: Any) -> NDArray[Any]:
    """The codes of an Arrow array by itself, `MISSING` for a value that is none of the space."""
    column = Column("values", "", ("values",), space, invalid_as_null=True, missing=space.absent, **treatment)
    return column.encoder()([array.combine_chunks() if hasattr(array, "combine_chunks") else array])


class CategoryCodec(Codec):
    """Categories: texts, numbers or truth values, each told by its own text."""

    kind: ClassVar[str | None] = "categories"
    keys: ClassVar[tuple[Key, ...]] = (
        Key(
            "values",
            "list",
            "The values: all texts, all numbers, or all true and false; or the texts in the first column of a file "
            'beside the plan, with `values_file = "codes.csv"`.',
            'values = ["a", "b"]',
        ),
        Key("metric", "metric", '`"discrete"`, `"ordinal"`, or a matrix of distances.', default="discrete"),
        outside_key("refuse", "category", meaning="it is refused, or becomes one more value, `outside_value`"),
        Key("outside_value", "value", "What stands for every value outside.", default=_OTHER),
        missing_key("one of the values", 'missing = "refuse" or "category"', "one of the values stands for it"),
    )

    @classmethod
    def read_column(cls, space: Any, name: str, kind: str, table: Reader) -> Column:
        """What is outside or missing may become a value of its own: the last ones."""
        labels = _declared_labels(table)
        given = {key.name: key.read(table) for key in cls.keys if key.name not in ("values", "outside_value")}
        outside = missing = None
        if given["outside"] == "category":
            label = table.value("outside_value", _OTHER)
            if _sort(label) != _sort(labels[0]):
                raise table.wrong("outside_value", "must be given, and of the same kind as the values")
            labels += [label] if label not in labels else []
            outside = labels.index(label)
        if given["missing"] in labels:
            missing = labels.index(given["missing"])
        elif given["missing"] == "category":
            labels.append(None)  # stored as null
            missing = len(labels) - 1
        elif given["missing"] != "refuse":
            raise table.wrong("missing", 'must be "refuse", "category" or one of the values')
        made = table.calling(lambda: space(labels, given["metric"]))
        return Column(name, kind, (name,), made, outside=outside, missing=missing)

    @classmethod
    def draft(cls, kind: Any) -> Draft:
        """Text may be anything, and is drafted as categories."""
        truth = pa.types.is_boolean(kind)
        return Draft("truth" if truth else "categories", {"values": [True, False] if truth else []})

    closing: ClassVar[Mapping[str, Any]] = {"values": ["?"]}

    def suggestion(self) -> Suggestion | None:
        from dproof.columns.suggestions import MostFrequent

        return MostFrequent()

    @cached_property
    def _known(self) -> tuple[Callable[[Any], Any], dict[Any, int]]:
        """What makes a key of a value, and the code of each key."""
        sample = next((label for label in self.space.values if label is not None), None)
        key: Callable[[Any], Any] = truth_of if isinstance(sample, bool) else text_of
        key = key if isinstance(sample, (bool, str)) else partial(number_of, numerals=self.column.numerals)
        known = {key(label): code for code, label in enumerate(self.space.values) if label is not None}
        known.pop(None, None)
        return key, known

    def lookup(self, value: Any) -> int:
        if value is None:
            return MISSING
        key, known = self._known
        code = known.get(key(value), OUTSIDE)
        return MISSING if code == OUTSIDE and is_missing(value) else code

    def stored_labels(self) -> Any:
        labels: list[Any] = [label for label in self.space.values if label is not None]
        if isinstance(labels[0], str):
            return from_texts(labels)
        if isinstance(labels[0], bool):
            return from_numpy(np.array(labels))
        whole = all(isinstance(label, int) for label in labels)
        return from_numpy(np.array(labels, np.int64 if whole else np.float64))

    @property
    def is_flag(self) -> bool:
        texts = {written(label).casefold() for label in self.space.values}
        return len(texts) == 2 and any(text in YES for text in texts) and any(text in NO for text in texts)


def _declared_labels(table: Reader) -> list[Any]:
    """The values that a plan declares, all of one sort."""
    values = table.value("values")
    if not isinstance(values, list) or not values:
        raise table.wrong("values", 'must be a list of at least one value, such as ["yes", "no"]')
    if len({_sort(value) for value in values}) > 1 or _sort(values[0]) is None:
        raise table.wrong("values", "must be all texts, all numbers or all true and false")
    return list(values)


def _sort(value: Any) -> str | None:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)) and value == value and abs(value) != float("inf"):
        return "number"
    return "text" if isinstance(value, str) else None


class CodeCodec(Codec):
    """Codes that stand for nothing by themselves are stored as they are; 32 bits hold every one that can be counted."""

    def store(self, codes: NDArray[Any]) -> list[Any]:
        return [from_numpy(codes.astype(np.int32))]

    def restore(self, arrays: Sequence[Any]) -> NDArray[np.int64]:
        return as_numpy(arrays[0], missing=MISSING).astype(np.int64)


class NullCodec(Codec):
    """A space with a missing value beside its others, which is stored as null; the others as the codec inside does."""

    def __init__(self, space: Any, column: Column, inner: Codec) -> None:
        super().__init__(space, column)
        self.inner = inner
        self.noun, self.unreadable_advice = inner.noun, inner.unreadable_advice  # type: ignore[misc]
        self.keys, self.unit = inner.keys, inner.unit  # type: ignore[misc]

    def stand_in(self, code: int) -> str | None:
        return None if code == self.space.absent else self.inner.stand_in(code)

    def encode(self, arrays: Sequence[Any]) -> NDArray[Any]:
        """The codes of the space inside, in a type that holds the last one too, whatever the rows hold."""
        codes = self.inner.encode(arrays)
        if self.column.invalid_as_null or self.space.size is None:
            return codes
        return codes.astype(narrowest(self.space.size), copy=False)

    def store(self, codes: NDArray[Any]) -> list[Any]:
        """What the first value is stored as stands under every null, so that nothing of the row does."""
        lacking = codes == self.space.absent
        absent = lacking if codes.ndim == 1 else lacking[:, 0]
        return [with_nulls(array, absent) for array in self.inner.store(np.where(lacking, 0, codes))]

    def restore(self, arrays: Sequence[Any]) -> NDArray[np.int64]:
        lacking = np.asarray(as_numpy(arrays[0].is_null()), bool)
        codes = np.full(len(lacking), self.space.absent, np.int64)
        codes[~lacking] = self.inner.restore(valid(arrays))
        return codes

    def possible(self, arrays: Sequence[Any], given: NDArray[np.bool_] | None, reach: int | None) -> bool:
        lacking = missing_rows(arrays)
        if lacking is None:
            return False
        if given is not None:
            if not given[self.space.absent] and lacking.any():
                return False
            given = given[: self.space.absent]
        return self.inner.possible(valid(arrays), given, reach)

    @property
    def sql(self) -> str:
        if len(self.column.stored) == 1:
            return self.inner.sql
        return f"CASE WHEN {quoted(self.column.stored[0])} IS NOT NULL THEN {self.inner.sql} END"

    @property
    def number_sql(self) -> str:
        return self.inner.number_sql

    def suggestion(self) -> Suggestion | None:
        return self.inner.suggestion()

    def outside_refusal(self) -> str:
        return self.inner.outside_refusal()


CODECS: dict[type, type[Codec]] = {}  # of each class of spaces: `dproof.columns` has the table


def codec_class(space: type) -> type[Codec]:
    """The codec of a class of spaces: its own, or that of what it is a subclass of."""
    return next(CODECS[kind] for kind in space.__mro__ if kind in CODECS)


def codec_of(space: Any, column: Column) -> Codec:
    """What reads and stores the values of a space, as a column has them.

    >>> from dproof.spaces import Categories
    >>> codec_of(Categories(["a", "b"]), Column("x", "categories", ("x",))).sql
    '"x"'
    """
    if space.present is not None:
        return NullCodec(space, column, codec_of(space.present, column))
    return codec_class(type(space))(space, column)


def missing_rows(arrays: Sequence[Any]) -> NDArray[np.bool_] | None:
    """Which rows are null in stored arrays; None where one is null in some of them only."""
    lacking = arrays[0].is_null()
    if not all(array.is_null().equals(lacking) for array in arrays[1:]):
        return None
    return np.asarray(as_numpy(lacking), bool)


def valid(arrays: Sequence[Any]) -> list[Any]:
    return [array.filter(array.is_valid()) for array in arrays]


# Each distinct value is looked up once --------------------------------------------------------------------------------


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
    """Lookups that are done once where one dictionary lies behind several batches, as behind a frame of categories: of
    a text file and of Parquet each batch has its own."""
    last: list[Any] = [None, None, None]

    def look_up_all(values: Any) -> NDArray[np.int64]:
        place = values.offset, len(values), [buffer and buffer.address for buffer in values.buffers()]
        if place != last[0]:
            last[:] = place, values, look_up(values)  # which are kept, so that nothing else comes to lie there
        return last[2]  # type: ignore[no-any-return]

    return look_up_all


def looked_up(look_up: Lookups, column: Column, array: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """What each distinct value is, and at last what a null is; and the place of each row's value among these."""
    array = as_dictionary(column, array)
    codes = look_up(plain_texts(array.dictionary))
    return np.append(codes, MISSING), as_numpy(array.indices.cast(pa.int64()), missing=len(codes))


def as_dictionary(column: Column, array: Any) -> Any:
    try:
        if pa.types.is_dictionary(array.type):
            array.dictionary.slice(0, 0).dictionary_encode()  # of values that can be told apart
            return array
        if pa.types.is_temporal(array.type):  # as text: Python has no words for every moment that Arrow has
            array = array.cast(pa.int64() if pa.types.is_duration(array.type) else pa.string())
        return array.dictionary_encode()
    except pa.ArrowException:
        raise SourceError(
            f"column {column.name!r} has the type {array.type}, which holds no such values: cast it first"
        ) from None


def python_values(values: Any) -> list[Any]:
    """An Arrow array as Python has it; texts as bytes, for in a file they may be none."""
    is_text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    values = values.cast(pa.large_binary()) if is_text else values
    try:
        return values.to_pylist()  # type: ignore[no-any-return]
    except (OverflowError, ValueError):
        # A moment that Python has no words for is none that a plan declares.
        return [guarded(lambda scalar: scalar.as_py(), scalar, NO_TEXT) for scalar in values]


def treated(column: Column, found: NDArray[np.int64], places: NDArray[Any] | None = None) -> NDArray[Any]:
    """Codes with what the plan puts for values outside and missing; those that it refuses stop the work, unless with
    `invalid_as_null` they are `MISSING`. With `places` the code of each row is that of the value found there.

    The type of the codes follows from the column alone.
    """
    size = column.space.size
    outside, missing = (MISSING, MISSING) if column.invalid_as_null else (size, size + 1)
    codes = np.where(found == OUTSIDE, outside if column.outside is None else column.outside, found)
    codes[found == MISSING] = missing if column.missing is None else column.missing
    codes = codes.astype(np.min_scalar_type(-size) if column.invalid_as_null else narrowest(size + 2))
    if places is not None:
        codes = codes.take(places, mode="clip")
    worst = int(codes.max()) if len(codes) else 0
    if worst < size:
        return codes
    what = column.codec.outside_refusal() if worst == size else column.codec.missing_refusal()
    raise SourceError(f"column {column.name!r} has {what}")
