"""Calendar dates: the days of an interval, each a number of days after Monday, 1 January of the year 1."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import COLUMN, described, listed, whole
from dproof.columns.arrow import as_numpy, buffers, from_numpy, is_arrow, is_text, narrowest
from dproof.columns.column import Column, Draft, Encode, Lookups, one_by_one
from dproof.columns.values import OUTSIDE, Numerals, text_of
from dproof.errors import InputError
from dproof.spaces.interval import Interval, Line

if TYPE_CHECKING:
    from dproof.plans.reader import Reader

_1970 = date(1970, 1, 1).toordinal() - 1  # the day that Arrow counts from
_LAST = date.max.toordinal() - 1
_FARTHEST = (1 << 31) - 2  # days before or after 1970 that are stored: 5.8 million years
_A_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_CLOCK = "([01][0-9]|2[0-3]):?([0-5][0-9])(?::?([0-5][0-9]))?"
_ISO = re.compile(rf"([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})(?:[T ]{_CLOCK}(?:\.[0-9]{{1,9}})?(?:Z|([+-]){_CLOCK})?)?")
_TENS = np.array([1000, 100, 10, 1])
_EXAMPLE = "such as 2024-01-31"


def day_of(value: Any) -> int | None:
    """The day of a date, a time or a text in ISO 8601; None for anything else. A time with a zone has the day that it
    is in UTC.

    >>> [day_of(value) for value in ("0001-01-01", "0001-01-01 23:30:00-01:00", date(1, 1, 8), "1.1.2024", 7)]
    [0, 1, 7, None, None]
    """
    text = str(value) if isinstance(value, date) else text_of(value) if isinstance(value, (str, bytes)) else None
    written = None if text is None else _ISO.fullmatch(text.strip())
    if written is None:
        return None
    calendar, *clock, sign = written.groups()[:5]
    try:
        day = date.fromisoformat(calendar).toordinal() - 1
    except ValueError:  # 30 February
        return None
    ahead = _seconds(written.groups()[5:]) * (-1 if sign == "-" else 1)
    return day + (_seconds(clock) - ahead) // _A_DAY["s"]


def _seconds(clock: Sequence[str | None]) -> int:
    hours, minutes, seconds = (int(part or 0) for part in clock)
    return 3600 * hours + 60 * minutes + seconds


def date_of(day: float) -> date:
    """The date of a day; the first or the last of the calendar for what lies beyond."""
    return date.fromordinal(1 + min(max(math.floor(day), 0), _LAST))


class Days(Line):
    """A lattice of days without ends, where noise on dates ends up."""

    __slots__ = ()

    def place(self, value: Any) -> Fraction:
        day = day_of(value)
        if day is None:
            raise _no_date()
        return Line.place(self, day)

    def decode(self, codes: NDArray[Any]) -> list[Any]:
        return [date_of(day) for day in Line.decode(self, codes)]

    def to_arrow(self, numbers: NDArray[Any]) -> Any:
        import pyarrow as pa

        days = (numbers - _1970).clip(-_FARTHEST, _FARTHEST).astype(np.int32)
        return pa.Array.from_buffers(pa.date32(), len(days), [None, pa.py_buffer(days)])

    def from_arrow(self, array: Any) -> NDArray[Any]:
        import pyarrow as pa

        return as_numpy(array.view(pa.int32()), missing=0).astype(np.int64) + _1970


class Dates(Interval):
    """The days low, low + step, …, high of the calendar, with ρ(x, y) = the number of days between x and y.

    >>> year = Dates("2024-01-01", "2024-12-31")
    >>> year.size, year.distance("2024-02-01", "2024-03-01"), year.label(59)
    (366, Fraction(29, 1), datetime.date(2024, 2, 29))
    """

    __slots__ = ()

    def __init__(self, low: Any, high: Any, step: int = 1) -> None:
        first, last = _bound(low, "low"), _bound(high, "high")
        days = whole(step, "step, the number of days,", 1, 1 << 22)
        rest = (last - first) % days
        if first < last and rest:
            before, after = date_of(last - rest), date_of(last - rest + days)
            raise InputError(f"from {low} to {high} is not a multiple of {days} days; end on {before} or {after}")
        Interval.__init__(self, first, last, days)

    def __repr__(self) -> str:
        return f"Dates('{date_of(int(self.low))}', '{date_of(int(self.high))}', {self.step})"

    def between(self, low: Any, high: Any, step: Any) -> Dates:
        made = Interval(low, high, step)
        if made.low.denominator != 1 or made.step.denominator != 1:
            raise InputError("an unbiased design has no whole days here; take fewer days, or mechanism = 'laplace'")
        days = object.__new__(Dates)
        Interval.__init__(days, low, high, step)
        return days

    @property
    def line(self) -> Days:
        return Days(self.low, self.step)

    def number(self, value: Any) -> Fraction:
        day = day_of(value)
        if day is None:
            raise _no_date()
        return Fraction(day)

    def encode(self, values: Any, *, clamp: bool = False) -> NDArray[Any]:
        if is_arrow(values):
            return Interval.encode(self, values, clamp=clamp)
        dates = np.empty(len(values), object)
        dates[:] = listed(values, "values", COLUMN)
        return self._any(dates, clamp).astype(narrowest(self.size))

    # What a question may ask of a column -----------------------------------------------------------------------------

    has_sums: ClassVar[bool] = False

    def shown(self, number: float) -> date | None:
        return None if number != number else date_of(number)

    def refusal(self, value: Any, *, ordered: bool = False) -> str | None:
        day = day_of(value)
        if day is None or str(value) != str(date_of(day)):  # a time would be cut off, and a day has one spelling
            return f"holds dates, and {str(value)!r} is not one {_EXAMPLE}"
        if ordered or (self.low <= day <= self.high and (day - self.low) % self.step == 0):
            return None
        every = f" by {self.step} days" if self.step > 1 else ""
        return f"never has the value {value}: it goes from {self.label(0)} to {self.label(self.size - 1)}{every}"

    # A column of a plan ----------------------------------------------------------------------------------------------

    noun: ClassVar[str | None] = "date"
    unreadable_advice: ClassVar[str] = f"write them in ISO 8601, {_EXAMPLE}."

    @classmethod
    def from_plan(cls, table: Reader) -> Dates:
        for key in ("low", "high"):
            given = table.value(key)
            if day_of(given) is None or isinstance(given, datetime.datetime):
                raise table.wrong(key, f"must be a date {_EXAMPLE}")
        return cls(table.value("low"), table.value("high"), table.integer("step", 1))

    @classmethod
    def draft(cls, kind: Any) -> Draft | None:
        import pyarrow as pa

        below = (
            f"# dates are written in ISO 8601, {_EXAMPLE}, here and in the table\n"
            '# step = 1    # in days\n# missing = 2024-01-31    # or "category" to keep a blank; else refused\n'
        )
        is_date = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
        return Draft("date", {"low": "?", "high": "?"}, below) if is_date else None

    def stand_in(self, code: int) -> str:
        return str(self.label(code))

    def read_number(self, value: Any, numerals: Numerals) -> Fraction | None:
        day = day_of(value)
        return None if day is None else Fraction(day)

    def lookups(self, column: Column) -> Lookups:
        """Texts all at once where they are a date, alone or with a time that has no offset; others one by one."""
        each = one_by_one(self.lookup(column))

        def look_up(values: Any) -> NDArray[np.int64]:
            if not is_text(values.type):
                return each(values)
            days, known = _written_days(values)
            codes = self._whole(days, clamp=True)
            if not column.clamp:
                codes[~self.holds(days)] = OUTSIDE
            codes[~known] = each(values.filter(from_numpy(~known)))
            return codes

        return look_up

    def encoder(self, column: Column) -> Encode:
        """Arrow's dates and timestamps all rows at once, others by each distinct value."""
        import pyarrow as pa

        from dproof.columns.objects import single

        distinct = super(Interval, self).encoder(column)

        def encode(arrays: Sequence[Any]) -> NDArray[Any]:
            array = single(arrays[0])
            kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
            if not pa.types.is_date(kind) and not pa.types.is_timestamp(kind):
                return distinct([array])
            array = array.cast(kind)
            parts = 1 if pa.types.is_date32(kind) else _A_DAY["ms" if pa.types.is_date64(kind) else kind.unit]
            numbers = as_numpy(array.view(pa.int32() if parts == 1 else pa.int64()), missing=0)
            return self.encode_numbers(column, numbers.astype(np.int64) // parts + _1970, as_numpy(array.is_null()))

        return encode

    def number_sql(self, column: Column) -> str:
        return f"({self.sql(column)} - DATE '0001-01-01')::DOUBLE"


def _written_days(texts: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The day of each text that is a date, alone or with a time that has no offset, and which texts these are."""
    import pyarrow.compute as pc

    data, starts, lengths, texts = buffers(texts)
    timed = as_numpy(pc.match_substring_regex(texts, rf"^.{{10}}[T ]{_CLOCK}(?:\.[0-9]{{1,9}})?Z?$"))
    known = (lengths == 10) | timed
    signs = np.where(known, starts, 0)[:, None] + np.arange(10)
    letters = data.take(signs, mode="clip").astype(np.int64) - ord("0")
    is_digit = (letters >= 0) & (letters <= 9)
    is_digit[:, [4, 7]] = letters[:, [4, 7]] == ord("-") - ord("0")
    letters *= is_digit
    year, month, day = (letters[:, at] @ _TENS[-len(at) :] for at in (range(4), range(5, 7), range(8, 10)))
    first = (12 * (year - 1970) + month - 1).astype("M8[M]")
    begins, ends = (moment.astype("M8[D]").astype(np.int64) for moment in (first, first + 1))
    known &= is_digit.all(axis=1) & (year > 0) & (month > 0) & (month < 13) & (day > 0) & (day <= ends - begins)
    return begins + day - 1 + _1970, known


def _bound(value: Any, name: str) -> int:
    day = day_of(value)
    if day is None:
        raise InputError(f"{name} must be a date {_EXAMPLE}, not {described(value)}")
    return day


def _no_date() -> InputError:
    return InputError("a value is missing or no date; say what stands for it")
