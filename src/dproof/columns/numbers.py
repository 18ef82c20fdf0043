"""Columns of numbers, dates and times of day: how they are read from texts and Arrow arrays, exactly, and stored.

Texts are read a whole column at once, in time that the number of rows decides, and mean what `Numerals.plain` makes of
each. The few that are left open are read one by one: those beyond ASCII, with more than 18 digits or more than two in
the exponent, and words that begin like `inf`, `true` or `false`.

    texts ─ read_decimals, Written.numbers ─► ±digits·10^power, days, minutes ─┐
    whole and floating numbers, dates and times of Arrow ──────────────────────┴► the nearest points, exactly
"""

from __future__ import annotations

import datetime
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, time
from fractions import Fraction
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dproof.columns.codec import Codec, Column, Draft, Key, Suggestion, missing_key, outside_key, treated
from dproof.columns.values import (
    FAR,
    LARGEST_FACTOR,
    OUTSIDE,
    PLAIN,
    Numerals,
    as_numpy,
    from_numpy,
    from_texts,
    infinite_sign,
    is_missing,
    is_text,
    listed,
    number_of,
    plain_texts,
    read_decimals,
    single,
    text_of,
)
from dproof.errors import ArgumentError, InputError, SourceError
from dproof.exact import int_or_float
from dproof.spaces.dates import CLOCK, DAYS, MINUTES, PERIODS, Unit, calendar_bins, hour_bins, time_of
from dproof.spaces.interval import Bins, bins_between, largest
from dproof.spaces.space import MISSING

if TYPE_CHECKING:
    from dproof.plans.reader import Reader

_1970 = date(1970, 1, 1).toordinal() - 1  # the day that Arrow counts from

# How a plan says that dates are written -------------------------------------------------------------------------------

_LONGEST = 64  # characters of a format
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_NAMES = {"%b": [name[:3].lower() for name in _MONTHS], "%B": [name.lower() for name in _MONTHS]}
_DAY = {"%Y": "year", "%m": "month", "%b": "month", "%B": "month", "%d": "day"}
_CLOCK = {"%H": "hour", "%I": "hour", "%M": "minute", "%S": "second", "%p": "half"}
_PART = _DAY | _CLOCK
_SHAPES = {
    "%Y": "[0-9]{4}",
    "%H": "2[0-3]|[01]?[0-9]",
    "%I": "1[0-2]|0?[1-9]",
    "%M": "[0-5][0-9]",
    "%S": "[0-5][0-9]",
    "%p": "(?i:[ap]\\.?m\\.?)",
    **{sign: f"(?i:{'|'.join(names)})" for sign, names in _NAMES.items()},
}
DIRECTIVES = tuple(_PART)
_BLANKS = r"[\t\n\v\f\r ]*"
_CLOCKS = ("04:05", "04:05:06", "0405", "040506")
_DATES = ("2024-02-03", *(f"2024-02-03{sign}{clock}" for sign in "T " for clock in _CLOCKS))  # in ISO 8601
_TIMES = ("04:05", "04:05:06", *(text for text in _DATES if ":" in text))


@dataclass(frozen=True, slots=True)
class Written:
    """How texts of dates, or of times of day, are written: a pattern of bytes that they match, and what a month and an
    hour are.

    A number of a day or month has one digit or two, but two where no sign stands between it and another number. The
    names of months are English, in upper or lower case; an hour of `%I` is one of twelve, of the half of the day that
    `%p` says. What a date or a time does not need must be there and is cut off. A text of another shape is none in this
    format, and one of this shape that the calendar does not have, such as 30.02.2024, is none in any.
    """

    text: str
    pattern: str
    months: tuple[str, ...]
    twelve: bool
    unit: Unit

    def matches(self, value: Any) -> re.Match[bytes] | None:
        """The parts of a value whose text has the shape of the format."""
        text = None if isinstance(value, (date, time)) else text_of(value)
        return None if text is None else re.fullmatch(self.pattern.encode(), text.encode("utf-8", "surrogatepass"))

    def number(self, found: re.Match[bytes]) -> int | None:
        """The day or minute that the parts of a text stand for; None where the calendar does not have it."""
        if self.unit is MINUTES:
            hour = int(found["hour"]) % 12 + 12 * found["half"].lower().startswith(b"p") if self.twelve else None
            return 60 * (int(found["hour"]) if hour is None else hour) + int(found["minute"])
        month = found["month"].decode().lower()
        number = self.months.index(month) + 1 if self.months else int(month)
        try:
            return date(int(found["year"]), number, int(found["day"])).toordinal() - 1
        except ValueError:
            return None

    def numbers(self, texts: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
        """The day or minute of each text of an Arrow array, which texts have one, and which have the shape."""
        import pyarrow.compute as pc

        texts = texts.cast(pa.large_binary())
        shown = as_numpy(pc.match_substring_regex(texts, f"^{self.pattern}$"), missing=False)
        parts = pc.extract_regex(texts.filter(from_numpy(shown)), f"^{self.pattern}$")
        found, there = (self._minutes if self.unit is MINUTES else self._days)(parts)
        numbers, known = np.zeros(len(shown), np.int64), np.zeros(len(shown), bool)
        numbers[shown], known[shown] = found, there
        return numbers, known, shown

    def _minutes(self, parts: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        import pyarrow.compute as pc

        hours, minutes = (_whole(parts, name) for name in ("hour", "minute"))
        if self.twelve:
            halves = pc.ascii_lower(parts.field("half").cast(pa.string()))
            hours = hours % 12 + 12 * as_numpy(pc.starts_with(halves, "p"))
        return 60 * hours + minutes, np.ones(len(hours), bool)

    def _days(self, parts: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        import pyarrow.compute as pc

        year, day = (_whole(parts, name) for name in ("year", "day"))
        if self.months:
            named = pc.ascii_lower(parts.field("month").cast(pa.string()))
            month = as_numpy(pc.index_in(named, from_texts(self.months))).astype(np.int64) + 1
        else:
            month = _whole(parts, "month")
        since = 12 * (year - 1970) + month.clip(1, 12) - 1
        first, following = (
            n.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) for n in (since, since + 1)
        )
        there = (year > 0) & (month > 0) & (month < 13) & (day > 0) & (day <= following - first)
        return first + day - 1 + _1970, there


def _whole(parts: Any, name: str) -> NDArray[np.int64]:
    """The whole numbers of a part of texts."""
    return np.asarray(as_numpy(parts.field(name).cast(pa.string()).cast(pa.int64())), np.int64)


@lru_cache
def written_as(text: str, unit: Unit = DAYS) -> Written:
    """The format of dates, or of times of day, that a plan writes.

    >>> written = written_as("%d. %B %Y")
    >>> date.fromordinal(written.number(written.matches("3. may 2024")) + 1)
    datetime.date(2024, 5, 3)
    >>> clock = written_as("%m/%d/%Y %I:%M %p", MINUTES)
    >>> clock.number(clock.matches("5/3/2024 2:35 PM"))
    875
    """
    if len(text) > _LONGEST:
        raise ArgumentError(f"it has more than {_LONGEST} characters")
    pieces = re.findall("%.?|[^%]", text, re.DOTALL)
    for piece in pieces:
        if piece == "%y":
            raise ArgumentError(
                "%y leaves the century open: write the years of the table with four digits, and %Y here"
            )
        if piece[0] == "%" and piece not in DIRECTIVES:
            known = f"{', '.join(DIRECTIVES[:-1])} and {DIRECTIVES[-1]}"
            raise ArgumentError(
                f"{piece!r} is not one of {known}: the table must have its {unit.noun}s written by these"
            )
        if piece.isdecimal():
            raise ArgumentError("a digit stands in it: write %Y, %m, %d, %H and %M for numbers, and signs between them")
    parts = [_PART[piece] for piece in pieces if piece in _PART]
    _check_parts(parts, pieces, unit)
    signs = ["", *pieces, ""]
    shapes = [_shape(*signs[n - 1 : n + 2]) for n in range(1, len(signs) - 1)]
    months = next((tuple(_NAMES[piece]) for piece in pieces if piece in _NAMES), ())
    made = Written(text, f"{_BLANKS}{''.join(shapes)}{_BLANKS}", months, "half" in parts, unit)
    for iso in _DATES if unit is DAYS else _TIMES:
        found = made.matches(iso)
        if found is not None and made.number(found) != unit.read(iso):
            raise ArgumentError(f"{unit.noun}s in ISO 8601, as workbooks and frames have them, would be read as others")
    return made


def _check_parts(parts: Sequence[str], pieces: Sequence[str], unit: Unit) -> None:
    """Refuse a format that lacks what a date or a time of day needs, or has a part twice."""
    of_day = sorted(part for part in parts if part in _DAY.values())
    if unit is DAYS and of_day != ["day", "month", "year"]:
        hint = '; for times of day write space = "time"' if parts and not of_day else ""
        raise ArgumentError(f'it must have a year, a month and a day, each once, such as "%d.%m.%Y"{hint}')
    if unit is MINUTES and not {"hour", "minute"} <= {*parts}:
        raise ArgumentError('it must have an hour and a minute, each once, such as "%H:%M"')
    if len({*parts}) < len(parts):
        raise ArgumentError("a part of the date or of the time of day stands in it twice")
    if ("%I" in pieces) != ("%p" in pieces):
        raise ArgumentError("%I, an hour of twelve, and %p, AM or PM, go together")


def _shape(before: str, piece: str, after: str) -> str:
    """A regular expression of what a piece of a format stands for, in the syntax of Python and of Arrow."""
    if piece not in _PART:
        return re.escape(piece)
    digits = "[0-9]{2}" if "%" in (before[:1], after[:1]) else "[0-9]{1,2}"
    return f"(?P<{_PART[piece]}>{_SHAPES.get(piece, digits)})"


# Codecs ---------------------------------------------------------------------------------------------------------------

_FARTHEST_BOUND = 1 << 60  # of a column: noise reaches farther, and ends where 64 bits do
_FARTHEST_STORED = 1 << 62  # of what is stored in 64 bits
_SURE = 1 << 48  # up to here the nearest whole number is found by a division of floats
_FARTHEST_DAY = (1 << 31) - 2  # days before or after 1970 that are stored: 5.8 million years
_INFINITE = np.iinfo(np.int64).max
_DAYS = date.max.toordinal()  # of the calendar
_A_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_A_MINUTE = {unit: parts // 1440 for unit, parts in _A_DAY.items()}
_DATE = rf"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:[T ]{CLOCK}(?:\.[0-9]{{1,9}})?Z?)?$"
_NUMBER = r"^\s*[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf(inity)?))\s*$"
_BINS = Key(
    "bins",
    "list",
    "Edges from low to high: a row is sanitised by its bin, and conditions at the edges are sharp.",
    default=None,
)


def _format_key(what: str, example: str) -> Key:
    """The key of how a table writes its dates, or its times of day."""
    return Key(
        "format",
        "text",
        f"How the table writes its {what}, from {', '.join(f'`{sign}`' for sign in DIRECTIVES)} and signs between "
        "them; without it, and for any text of another shape, ISO 8601.",
        f'format = "{example}"',
        None,
        draft=f'format = "{example}"    # where the table writes them otherwise',
    )


_SOURCE = Key(
    "columns",
    "texts",
    "The column of the table, where that has another name: dates with times can be read twice, for days and for times.",
    'columns = ["arrived"]',
    None,
)
_CLAMP = "it becomes the nearer end, or is refused"


class NumberCodec(Codec):
    """Numbers of an interval, and the points of a line without ends, where noise on them ends up."""

    kind: ClassVar[str | None] = "interval"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("low", "number", "The least number.", "low = 0"),
        Key("high", "number", "The greatest number.", "high = 100"),
        Key(
            "step",
            "number",
            "The distance of neighbouring numbers; without it a fine one follows from the bounds.",
            "step = 1",
            None,
            draft="step = 1",
        ),
        _BINS,
        outside_key("clamp", "refuse", meaning=_CLAMP),
        missing_key("number from low to high", 'missing = a number, or "category"', "a number stands for it"),
    )
    noun: ClassVar[str | None] = "number"
    unreadable_advice: ClassVar[str] = "are `decimal`, `thousands` and `units` under [file] right?"
    closing: ClassVar[Mapping[str, Any]] = {"low": -(1 << 50), "high": 1 << 50}

    @classmethod
    def declared_space(cls, space: Any, table: Reader) -> Any:
        low, high, step = (key.read(table) for key in cls.keys[:3])
        made = space(low, high, step)
        if max(abs(made.low), abs(made.high)) >= _FARTHEST_BOUND:
            raise table.wrong(
                "high", "or low lies beyond 2^60, too far for a column of numbers with noise: change the unit"
            )
        return made

    @classmethod
    def read_column(cls, space: Any, name: str, kind: str, table: Reader) -> Column:
        made = super().read_column(space, name, kind, table)
        edges = _BINS.read(table)
        bins = None if edges is None else table.calling(lambda: cls.declared_bins(made.space.without_missing, edges))
        return replace(made, bins=bins)

    @classmethod
    def declared_bins(cls, space: Any, given: Any) -> Bins:
        """The bins that a plan declares: by their edges."""
        return bins_between(space, given)

    @classmethod
    def draft(cls, kind: Any) -> Draft | None:
        is_number = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
        return Draft("interval", {"low": "?", "high": "?"}) if any(is_(kind) for is_ in is_number) else None

    def suggestion(self) -> Suggestion | None:
        from dproof.columns.suggestions import Bounds, rounded_outwards

        return Bounds(self.read_number, rounded_outwards)

    def stand_in(self, code: int) -> str:
        line = self.space.line
        return f"{int_or_float(line.origin + line.step * code):,}"

    # From a source to codes -------------------------------------------------------------------------------------------

    def read_number(self, value: Any) -> Fraction | float | None:
        """The number that a value of a source is written as, or infinity; None for what is not a number."""
        sign = infinite_sign(value)
        return sign * inf if sign else number_of(value, self.column.numerals)

    def lookup(self, value: Any) -> int:
        number = None if is_missing(value) else self.read_number(value)
        if number is None:
            return MISSING  # what is no number is a number that is missing
        if not self.column.clamp and not self.space.low <= number <= self.space.high:
            return OUTSIDE
        return int(self.space.nearest(number))

    def lookups(self, values: Any) -> NDArray[np.int64]:
        """Decimals and texts all at once, in whole numbers; what is odd, and all on a very fine lattice, one by one."""
        space, factor = self.space, 2 * self.space.line.scale
        low, high, step = (int(factor * number) for number in (space.low, space.high, space.step))
        is_decimal = pa.types.is_decimal(values.type)
        too_fine = factor > LARGEST_FACTOR or max(abs(low), abs(high)) + step >= FAR
        if too_fine or not (is_decimal or is_text(values.type)):
            return self.one_by_one(values)
        texts = values.cast(pa.string()) if is_decimal else values
        found = read_decimals(texts, PLAIN if is_decimal else self.column.numerals)
        floors, above = found.floors(factor)
        points = ((floors - low + step // 2) // step).clip(0, space.size - 1)
        if not self.column.clamp:
            points[(floors < low) | (floors > high) | ((floors == high) & above)] = OUTSIDE
        codes = np.full(len(values), MISSING)  # what is no number is a number that is missing
        codes[found.known] = points
        codes[found.unread] = self.one_by_one(values.filter(from_numpy(found.unread)))
        return codes

    def encode(self, arrays: Sequence[Any]) -> NDArray[Any]:
        """Whole and floating numbers all rows at once."""
        array = single(arrays[0])
        if pa.types.is_integer(array.type) or pa.types.is_float32(array.type) or pa.types.is_float64(array.type):
            return self.encode_numbers(as_numpy(array, missing=0), as_numpy(array.is_null(nan_is_null=True)))
        return self.encode_texts(array)

    def encode_texts(self, array: Any) -> NDArray[Any]:
        """Texts all rows at once, which takes as long whether they are alike or not; others by each distinct value."""
        if is_text(array.type):
            return treated(self.column, self.lookups(plain_texts(array)))
        return Codec.encode(self, [array])

    def encode_numbers(self, values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
        """The nearest lattice points of whole or floating numbers, treated as the plan says."""
        values = np.where(missing, values.dtype.type(0), values)
        codes = self.space.codes_of(values, clamp=True).astype(np.int64)
        if not self.column.clamp:
            codes[~self.space.holds(values)] = OUTSIDE
        codes[missing] = MISSING
        return treated(self.column, codes)

    def code_sql(self, whole: str | None) -> str | None:
        column, space = self.column, self.space
        if whole is None or not space.has_sums or space.line.scale != 1:
            return None
        outside, missing = (MISSING if code is None else code for code in (column.outside, column.missing))
        below, above = (0, space.size - 1) if column.clamp else (outside, outside)
        low, high, step = int(space.low), int(space.high), int(space.step)
        code = f"{whole} - {low}" if step == 1 else f"(2 * ({whole} - {low}) + {step}) // {2 * step}"
        return (
            f"CASE WHEN {whole} BETWEEN {low} AND {high} THEN {code} WHEN {whole} < {low} THEN {below} "
            f"WHEN {whole} > {high} THEN {above} ELSE {missing} END"
        )

    # From codes to what is stored, and back ---------------------------------------------------------------------------

    def store(self, codes: NDArray[Any]) -> list[Any]:
        """64-bit numbers, whole on a lattice of whole numbers."""
        line = self.space.line
        if line.scale > 1:
            return [self.to_arrow(line.numbers(codes).astype(np.float64, copy=False))]
        # A point that no 64-bit number holds is too far out to be told from the farthest that one does.
        farthest = int((_FARTHEST_STORED - abs(line.origin)) // line.step)
        codes = codes.clip(-farthest, farthest) if farthest < _FARTHEST_STORED >> 1 else codes
        numbers = codes if line.origin == 0 and line.step == 1 else line.numbers(codes)
        return [self.to_arrow(numbers.astype(np.int64, copy=False))]

    def restore(self, arrays: Sequence[Any]) -> NDArray[np.int64]:
        """The codes of the points nearest to stored numbers."""
        numbers, line = self.from_arrow(arrays[0]), self.space.line
        if line.scale == 1 and numbers.dtype.kind in "iu":
            codes = numbers.astype(np.int64) - int(line.origin)
            return codes if line.step == 1 else codes // int(line.step)
        numbers = np.where(np.isfinite(numbers), numbers, 0)
        if (largest(numbers) + 2 * abs(line.origin) + 1) * line.scale >= _SURE:
            near_ones = (round((Fraction(number) - line.origin) / line.step) for number in numbers.tolist())
            return np.array([max(-_FARTHEST_STORED, min(code, _FARTHEST_STORED)) for code in near_ones], np.int64)
        # Whole numbers below 2^48, which floats hold and divide without an error of their own.
        return np.rint((numbers - float(line.origin)) / float(line.step)).astype(np.int64)

    def possible(self, arrays: Sequence[Any], given: NDArray[np.bool_] | None, reach: int | None) -> bool:
        """On a line without ends, whether stored numbers lie no farther out than noise reaches."""
        if self.space.size is not None:
            return super().possible(arrays, given, reach)
        codes, last = self.restore(arrays), self.column.space.candidates - 1
        if reach is not None and len(codes) and not -reach <= codes.min() <= codes.max() <= last + reach:
            return False
        return bool(self.store(codes)[0].equals(arrays[0]))

    def to_arrow(self, numbers: NDArray[Any]) -> Any:
        """Numbers as they are stored."""
        return from_numpy(numbers)

    def from_arrow(self, array: Any) -> NDArray[Any]:
        """Stored numbers, 0 for a null."""
        return as_numpy(array, missing=0)


class MomentCodec(NumberCodec):
    """Dates or times of day, in the plan's format or in ISO 8601, or of Arrow's own types.

    Also with a format a text of another shape is read in ISO 8601: that is how those of a workbook come.
    """

    unit: ClassVar[Unit]

    @classmethod
    def read_column(cls, space: Any, name: str, kind: str, table: Reader) -> Column:
        given, sources = _format_key("", "").read(table), _SOURCE.read(table)
        if sources is not None and len(sources) != 1:
            raise table.wrong(_SOURCE.name, "must name one column of the table")
        made = super().read_column(space, name, kind, table)
        made = made if sources is None else replace(made, sources=tuple(sources))
        try:
            return made if given is None else replace(made, date_format=written_as(given, cls.unit).text)
        except InputError as error:
            raise table.wrong("format", f"cannot be read: {error}") from None

    @property
    def format(self) -> Written | None:
        """How the plan says that they are written."""
        return None if self.column.date_format is None else written_as(self.column.date_format, self.unit)

    def suggestion(self) -> Suggestion | None:
        from dproof.columns.suggestions import Bounds

        return Bounds(self.read_number, self.rounded)

    @classmethod
    def bound(cls, table: Reader, key: Key) -> Any:
        """The low or the high end that a plan declares, with nothing more than that in it."""
        given = key.read(table)
        if cls.unit.read(given) is None or isinstance(given, datetime.datetime):
            raise table.wrong(key.name, f"must be a {cls.unit.noun} {cls.unit.example}")
        return given

    def stand_in(self, code: int) -> str:
        return str(self.space.label(code))

    def read_number(self, value: Any) -> Fraction | None:
        written = self.format
        found = None if written is None else written.matches(value)
        number = self.unit.read(value) if written is None or found is None else written.number(found)
        return None if number is None else Fraction(number)

    def lookups(self, values: Any) -> NDArray[np.int64]:
        """Texts all at once where they are written as the plan says, or in ISO 8601 as most are; others one by one."""
        import pyarrow.compute as pc

        if not is_text(values.type):
            return self.one_by_one(values)
        numbers, known = self.plain(values.cast(pa.large_binary()))
        odd = ~known & (as_numpy(pc.binary_length(values), missing=0) > 0)
        if self.format is not None:
            formatted, there, shown = self.format.numbers(values)
            numbers, known, odd = np.where(shown, formatted, numbers), np.where(shown, there, known), odd & ~shown
        codes: NDArray[np.int64] = self.space.codes_of(numbers, clamp=True).astype(np.int64)
        if not self.column.clamp:
            codes[~self.space.holds(numbers)] = OUTSIDE
        codes[~known] = MISSING
        codes[odd] = self.one_by_one(values.filter(from_numpy(odd)))
        return codes

    @classmethod
    @abstractmethod
    def plain(cls, texts: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The number of each text in ISO 8601 without an offset, and which texts these are."""

    @classmethod
    @abstractmethod
    def rounded(cls, low: Fraction, high: Fraction) -> dict[str, Any]:
        """Bounds that tell less of the data than the least and the greatest of a table."""


_CLOCKED = Written(
    "",
    rf"(?:[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[T ])?(?P<hour>{_SHAPES['%H']}):(?P<minute>[0-5][0-9])"
    r"(?::[0-5][0-9](?:\.[0-9]{1,9})?)?Z?",
    (),
    False,
    MINUTES,
)


class DateCodec(MomentCodec):
    """Dates; stored as days after 1970, as Arrow has them."""

    kind: ClassVar[str | None] = "date"
    keys: ClassVar[tuple[Key, ...]] = (
        Key(
            "low",
            "date",
            "The first day.",
            "low = 2024-01-01",
            draft=f"low and high are dates in ISO 8601, {DAYS.example}",
        ),
        Key("high", "date", "The last day.", "high = 2024-12-31"),
        Key(
            "step",
            "whole number",
            "Every so many days, such as 7.",
            "step = 7 (in days)",
            1,
            draft="step = 1    # in days",
        ),
        _format_key("dates", "%d.%m.%Y"),
        _SOURCE,
        Key(
            "bins",
            "list or text",
            f"{_BINS.help} Or a text: {', '.join(f'`{name}`' for name in PERIODS)}, where `calendar` takes months of a "
            "year, quarters of up to five, years of up to twenty, then decades.",
            'bins = "months"',
            None,
            draft='bins = "calendar"    # months, quarters or years, as the range suggests',
        ),
        outside_key("clamp", "refuse", meaning=_CLAMP),
        missing_key("date from low to high", 'missing = a date, or "category"', "a date stands for it"),
    )
    noun: ClassVar[str | None] = DAYS.noun
    unreadable_advice: ClassVar[str] = (
        f'write them in ISO 8601, {DAYS.example}, or say in the plan how they are written, as in format = "%d.%m.%Y".'
    )
    closing: ClassVar[Mapping[str, Any]] = {"low": date.min, "high": date.max}
    unit: ClassVar[Unit] = DAYS

    @classmethod
    def rounded(cls, low: Fraction, high: Fraction) -> dict[str, Any]:
        from dproof.columns.suggestions import whole_years

        return whole_years(low, high)

    @classmethod
    def declared_space(cls, space: Any, table: Reader) -> Any:
        low, high, step = cls.keys[:3]
        return space(cls.bound(table, low), cls.bound(table, high), step.read(table))

    @classmethod
    def declared_bins(cls, space: Any, given: Any) -> Bins:
        """By their edges, or by the name of periods of the calendar."""
        return calendar_bins(space, given) if isinstance(given, str) else bins_between(space, given)

    @classmethod
    def draft(cls, kind: Any) -> Draft | None:
        is_date = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
        return Draft("date", {"low": "?", "high": "?", "bins": "calendar"}) if is_date else None

    @classmethod
    def plain(cls, texts: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        import pyarrow.compute as pc

        shown = pc.match_substring_regex(texts, _DATE)
        calendar = pc.binary_slice(pc.if_else(shown, texts, None), 0, 10).cast(pa.string())
        dates = pc.strptime(calendar, format="%Y-%m-%d", unit="s", error_is_null=True).cast(pa.date32())
        days = as_numpy(dates.view(pa.int32()), missing=0).astype(np.int64) + _1970
        # Arrow takes 30 February for the first of March, and knows a year 0.
        return days, as_numpy(pc.equal(dates.cast(pa.string()), calendar), missing=False) & (days >= 0)

    def encode(self, arrays: Sequence[Any]) -> NDArray[Any]:
        """Arrow's dates and timestamps all rows at once."""
        array = _undivided(arrays[0])
        kind = array.type
        if not pa.types.is_date(kind) and not pa.types.is_timestamp(kind):
            return self.encode_texts(single(arrays[0]))
        parts = 1 if pa.types.is_date32(kind) else _A_DAY["ms" if pa.types.is_date64(kind) else kind.unit]
        return self.encode_numbers(_days_and_rest(array, parts)[0] + _1970, as_numpy(array.is_null()))

    def to_arrow(self, numbers: NDArray[Any]) -> Any:
        days = (numbers - _1970).clip(-_FARTHEST_DAY, _FARTHEST_DAY).astype(np.int32)
        return pa.Array.from_buffers(pa.date32(), len(days), [None, pa.py_buffer(days)])

    def from_arrow(self, array: Any) -> NDArray[Any]:
        return as_numpy(array.view(pa.int32()), missing=0).astype(np.int64) + _1970

    @property
    def number_sql(self) -> str:
        return f"({self.sql} - DATE '0001-01-01')::DOUBLE"


class TimeCodec(MomentCodec):
    """Times of day, also after a date; stored as Arrow's times, and as minutes where noise on them has no end."""

    kind: ClassVar[str | None] = "time"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("low", "time", "The first minute.", 'low = "00:00"'),
        Key("high", "time", "The last minute.", 'high = "23:59"'),
        _format_key("times of day", "%I:%M %p"),
        _SOURCE,
        Key(
            "bins", "list or text", f"{_BINS.help} Or the text `hours`.", 'bins = "hours"', None, draft='bins = "hours"'
        ),
        outside_key("clamp", "refuse", meaning=_CLAMP),
        missing_key("time from low to high", 'missing = a time, or "category"', "a time stands for it"),
    )
    noun: ClassVar[str | None] = MINUTES.noun
    unreadable_advice: ClassVar[str] = (
        f'write them as {MINUTES.example}, or say in the plan how they are written, as in format = "%I:%M %p".'
    )
    closing: ClassVar[Mapping[str, Any]] = {"low": "00:00", "high": "23:59"}
    unit: ClassVar[Unit] = MINUTES

    @classmethod
    def rounded(cls, low: Fraction, high: Fraction) -> dict[str, Any]:
        """Whole hours."""
        return {"low": time_of(int(low) // 60 * 60), "high": time_of(int(high) // 60 * 60 + 59)}

    @classmethod
    def declared_space(cls, space: Any, table: Reader) -> Any:
        low, high = cls.keys[:2]
        return space(cls.bound(table, low), cls.bound(table, high))

    @classmethod
    def declared_bins(cls, space: Any, given: Any) -> Bins:
        """By their edges, or by hours."""
        return hour_bins(space, given) if isinstance(given, str) else bins_between(space, given)

    @classmethod
    def draft(cls, kind: Any) -> Draft | None:
        return Draft("time", {**cls.closing, "bins": "hours"}) if pa.types.is_time(kind) else None

    @classmethod
    def plain(cls, texts: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        return _CLOCKED.numbers(texts)[:2]

    def encode(self, arrays: Sequence[Any]) -> NDArray[Any]:
        """Arrow's times and timestamps all rows at once.

        What no text could say is no time: 24:00, and a day beyond the calendar, such as DuckDB's infinity.
        """
        array = _undivided(arrays[0])
        kind = array.type
        if not pa.types.is_time(kind) and not pa.types.is_timestamp(kind):
            return self.encode_texts(single(arrays[0]))
        parts = _A_DAY[kind.unit]
        days, rest = _days_and_rest(array, parts)
        known = days == 0 if pa.types.is_time(kind) else (days >= -_1970) & (days < _DAYS - _1970)
        return self.encode_numbers(rest // (parts // 1440), as_numpy(array.is_null()) | ~known)

    def to_arrow(self, numbers: NDArray[Any]) -> Any:
        if self.space.size is None:
            return super().to_arrow(numbers)
        # As Parquet keeps them, which has no seconds, and as DuckDB gives them.
        return from_numpy(_A_MINUTE["us"] * numbers.astype(np.int64)).view(pa.time64("us"))

    def from_arrow(self, array: Any) -> NDArray[Any]:
        if self.space.size is None:
            return super().from_arrow(array)
        return _integers(array) // _A_MINUTE[array.type.unit]

    @property
    def number_sql(self) -> str:
        return super().number_sql if self.space.size is None else f"(extract(epoch FROM {self.sql}) / 60)"


def _undivided(array: Any) -> Any:
    """One array of values, without a dictionary of them."""
    array = single(array)
    return array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array


def _integers(array: Any) -> NDArray[np.int64]:
    """The whole numbers of which Arrow's dates and times are made, 0 for a missing one."""
    kind = pa.int32() if array.type.bit_width == 32 else pa.int64()
    return as_numpy(array.view(kind), missing=0).astype(np.int64)


def _days_and_rest(array: Any, parts: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The days of Arrow's dates and times, of so many parts each, and the parts beyond them.

    DuckDB's infinity is the largest number, and ends no day that a calendar has, whatever its parts are.
    """
    numbers = _integers(array)
    days, rest = np.divmod(numbers, parts)
    days[numbers >= _INFINITE] = _FARTHEST_DAY
    days[numbers <= -_INFINITE] = -_FARTHEST_DAY
    return days, rest


# Rows of numbers ------------------------------------------------------------------------------------------------------


def arrow_rows(arrays: Sequence[Any], points: int, numerals: Numerals = PLAIN) -> NDArray[np.float64]:
    """The rows of wide columns in grid order, or of one column of lists; NaN for what is missing or no number.

    A list that is missing or has another length is a row of NaN.
    """
    if len(arrays) > 1:
        return np.column_stack([_floats(array, numerals) for array in arrays])
    rows = np.full((len(arrays[0]), points), np.nan)
    for array in listed(arrays[0]):
        if pa.types.is_null(array.type):
            continue
        checks = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
        if not any(check(array.type) for check in checks):
            raise SourceError(
                f"a column of type {array.type} holds no curves: they are lists of numbers, or wide columns"
            )
        import pyarrow.compute as pc  # slow to load, so where it is used

        whole = pc.fill_null(pc.equal(pc.list_value_length(array), points), False)
        rows[as_numpy(whole)] = _floats(array.filter(whole).flatten(), numerals).reshape(-1, points)
    return rows


def _floats(array: Any, numerals: Numerals) -> NDArray[np.float64]:
    """Numbers, or texts that are numbers; NaN for what is missing or none. No value stops the work, only a type."""
    array = single(array)
    if pa.types.is_dictionary(array.type):
        known = np.append(_floats(array.dictionary, numerals), np.nan)
        return np.asarray(known[as_numpy(array.indices.cast(pa.int64()), missing=-1)])
    if any(check(array.type) for check in (pa.types.is_binary_view, pa.types.is_string_view)):
        array = array.cast(pa.large_binary())
    if pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type):
        array = array.cast(pa.large_string(), safe=False)
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        import pyarrow.compute as pc

        if numerals != PLAIN:
            texts = array.cast(pa.large_binary()).to_pylist()  # which may be no UTF-8
            read = [None if text is None else numerals.plain(text.decode("utf-8", "replace")) for text in texts]
            array = from_texts(read)
        array = pc.if_else(pc.match_substring_regex(array, _NUMBER), pc.ascii_trim_whitespace(array), None)
    try:
        if pa.types.is_boolean(array.type):  # among other objects True is a text, and no number
            raise pa.ArrowTypeError
        return np.array(as_numpy(array.cast(pa.float64(), safe=False), missing=np.nan))
    except pa.ArrowException:
        raise SourceError(f"a column of type {array.type} holds no numbers: cast it first") from None
