"""Calendar dates and times of day: points of an interval, each a number of days after Monday, 1 January of the year 1,
or a number of minutes after midnight."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, time
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import COLUMN, described, listed, named, whole
from dproof.errors import ArgumentError, TooLarge, did_you_mean
from dproof.limits import MOST_PERIODS
from dproof.spaces.interval import Bins, Interval, Line, bin_labels, bins_from
from dproof.spaces.space import is_arrow

_LAST = date.max.toordinal() - 1
_A_DAY = 86_400  # seconds
_1970 = date(1970, 1, 1).toordinal() - 1  # the day that NumPy counts from
CLOCK = "([01][0-9]|2[0-3]):?([0-5][0-9])(?::?([0-5][0-9]))?"
ZONE = "(?:Z|([+-])([01][0-9]|2[0-3])(?::?([0-5][0-9])(?::?([0-5][0-9]))?)?)?"
_ISO = re.compile(rf"([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})(?:[T ]{CLOCK}(?:\.[0-9]{{1,9}})?{ZONE})?")


def day_of(value: Any) -> int | None:
    """The day of a date, a time or a text in ISO 8601; None for anything else. A time with a zone has the day that it
    is in UTC.

    >>> [day_of(value) for value in ("0001-01-01", "0001-01-01 23:30:00-01:00", date(1, 1, 8), "1.1.2024", 7)]
    [0, 1, 7, None, None]
    """
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    text = str(value) if isinstance(value, date) else str.__str__(value) if isinstance(value, str) else ""
    written = _ISO.fullmatch(text.strip())
    if written is None:
        return None
    calendar, *clock, sign = written.groups()[:5]
    try:
        day = date.fromisoformat(calendar).toordinal() - 1
    except ValueError:  # 30 February
        return None
    ahead = seconds_of(written.groups()[5:]) * (-1 if sign == "-" else 1)
    return day + (seconds_of(clock) - ahead) // _A_DAY


def seconds_of(clock: Sequence[str | None]) -> int:
    hours, minutes, seconds = (int(part or 0) for part in clock)
    return 3600 * hours + 60 * minutes + seconds


def date_of(day: float) -> date:
    """The date of a day; the first or the last of the calendar for what lies beyond."""
    return date.fromordinal(1 + min(max(math.floor(day), 0), _LAST))


# Whole numbers of a unit that have a name of their own ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Unit:
    """What moments are counted in, and how they are named: `read` finds the number of a value, None where it is none;
    `value` the moment of a number, the first or the last one for what lies beyond."""

    name: str
    noun: str
    example: str
    read: Callable[[Any], int | None]
    value: Callable[[float], Any]

    def number(self, value: Any) -> int:
        """The number of a value; what is none is refused without being named."""
        found = self.read(value)
        if found is None:
            raise ArgumentError(f"a value is missing or no {self.noun}; say what stands for it")
        return found

    def bound(self, value: Any, name: str) -> int:
        """The number of the low or the high end that a space is given."""
        found = self.read(value)
        if found is None:
            raise ArgumentError(f"{name} must be a {self.noun} {self.example}, not {described(value)}")
        return found


class Ticks(Line):
    """A lattice of moments without ends, where noise on them ends up."""

    __slots__ = ()
    of: ClassVar[Unit]

    def place(self, value: Any) -> Fraction:
        return Line.place(self, self.of.number(value))

    def points(self, codes: NDArray[Any]) -> list[Any]:
        return [self.of.value(number) for number in Line.points(self, codes)]


class Moments(Interval):
    """An interval of moments: they have an order and a mean, and no sum."""

    __slots__ = ()
    of: ClassVar[Unit]
    ticks: ClassVar[type[Ticks]]

    def between(self, low: Any, high: Any, step: Any) -> Moments:
        made = Interval(low, high, step)
        if made.low.denominator != 1 or made.step.denominator != 1:
            raise ArgumentError(
                f"an unbiased design has no whole {self.of.name} here; take fewer {self.of.name}, or "
                "mechanism = 'laplace'"
            )
        moments = object.__new__(type(self))
        Interval.__init__(moments, low, high, step)
        return moments

    @property
    def line(self) -> Ticks:
        return self.ticks(self.low, self.step)

    def number(self, value: Any) -> Fraction:
        return Fraction(self.of.number(value))

    def encode(self, values: Any, *, clamp: bool = False) -> NDArray[Any]:
        if is_arrow(values):
            return Interval.encode(self, values, clamp=clamp)
        moments = np.empty(len(values), object)
        moments[:] = listed(values, "values", COLUMN)
        return self._any(moments, clamp)

    # What a question may ask of a column -----------------------------------------------------------------------------

    has_sums: ClassVar[bool] = False

    @property
    def unit(self) -> str:
        return self.of.name

    def shown(self, number: float) -> Any:
        return None if number != number else self.of.value(number)

    def refusal(self, value: Any, *, ordered: bool = False) -> str | None:
        number = self.of.read(value)
        # More would be cut off, and each moment has one spelling.
        if number is None or str(value) != str(self.of.value(number)):
            return f"holds {self.of.noun}s, and {str(value)!r} is not one {self.of.example}"
        if ordered or (self.low <= number <= self.high and (number - self.low) % self.step == 0):
            return None
        every = f" by {self.step} {self.of.name}" if self.step > 1 else ""
        return f"never has the value {value}: it goes from {self.label(0)} to {self.label(self.size - 1)}{every}"


# Dates ---------------------------------------------------------------------------------------------------------------

DAYS = Unit("days", "date", "such as 2024-01-31", day_of, date_of)


class Days(Ticks):
    """A lattice of days without ends, where noise on dates ends up."""

    __slots__ = ()
    of: ClassVar[Unit] = DAYS


class Dates(Moments):
    """The days low, low + step, …, high of the calendar, with ρ(x, y) = the number of days between x and y.

    >>> year = Dates("2024-01-01", "2024-12-31")
    >>> year.size, year.distance("2024-02-01", "2024-03-01"), year.label(59)
    (366, Fraction(29, 1), datetime.date(2024, 2, 29))
    """

    __slots__ = ()
    of: ClassVar[Unit] = DAYS
    ticks: ClassVar[type[Ticks]] = Days

    @named
    def __init__(self, low: Any, high: Any, step: int = 1) -> None:
        first, last = DAYS.bound(low, "low"), DAYS.bound(high, "high")
        days = whole(step, "step, the number of days,", 1, 1 << 22)
        rest = (last - first) % days
        if first < last and rest:
            before, after = date_of(last - rest), date_of(last - rest + days)
            raise ArgumentError(f"from {low} to {high} is not a multiple of {days} days; end on {before} or {after}")
        Interval.__init__(self, first, last, days)

    def __repr__(self) -> str:
        return f"Dates('{date_of(int(self.low))}', '{date_of(int(self.high))}', {self.step})"

    def date_part(self, part: str) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        return None if part == "hour" else _runs_of_a_part(int(self.low), int(self.step), self.size, part)


@lru_cache(maxsize=4)  # of long ranges they are large, and the questions of a plan ask for the same ones again
def _runs_of_a_part(low: int, step: int, size: int, part: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first code of each run of days with the same year, quarter, month or weekday, and which one that is."""
    days = low + step * np.arange(size)
    if part == "weekday":
        found = (days + 1) % 7  # day 0 is a Monday
    else:
        months = _months(days)
        found = {"year": months // 12, "quarter": months % 12 // 3 + 1, "month": months % 12 + 1}[part]
    starts = np.flatnonzero(np.append(True, found[1:] != found[:-1]))
    return starts, found[starts]


def _months(days: NDArray[np.int64]) -> NDArray[np.int64]:
    """The months from the year 0 on to each day."""
    return (days - _1970).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) + 12 * 1970


# Bins of the calendar ------------------------------------------------------------------------------------------------

_MONTHS = {"months": 1, "quarters": 3, "years": 12, "decades": 120}
PERIODS = ("calendar", "weeks", *_MONTHS)
_MOST_USUAL = 21  # bins that "calendar" makes: quarters of five years that begin within one
_FEW_MONTHS = 3  # below which "calendar" takes weeks


def calendar_bins(space: Dates, name: str) -> Bins:
    """The weeks from Monday, months, quarters, years or decades that the days of a space lie in, those at the ends cut.

    "calendar" takes what suits the range: months of a year, quarters of up to five years, years of up to twenty, then
    decades, and weeks of less than three months. A certificate depends on this rule, so it must stay as it is.

    >>> calendar_bins(Dates("2024-01-15", "2024-12-31"), "quarters").labels[:2]
    ('[2024-01-15, 2024-04-01)', '[2024-04-01, 2024-07-01)')
    >>> calendar_bins(Dates("1940-01-01", "2010-12-31"), "calendar").size
    8
    """
    if name not in PERIODS:
        raise ArgumentError(f"bins cannot be {name[:40]!r}{did_you_mean(name, PERIODS)}")
    if name == "calendar":
        found = {period: _period_starts(space, period) for period in _MONTHS}
        sizes = {period: len(some[0]) for period, some in found.items() if some is not None}
        fits = [period for period, size in sizes.items() if size <= _MOST_USUAL]
        name = "weeks" if sizes.get("months", _FEW_MONTHS) < _FEW_MONTHS else fits[0] if fits else "decades"
    periods = _period_starts(space, name)
    if periods is None:
        raise TooLarge(f"bins by {name} are more than {MOST_PERIODS:,}: take longer ones, or a shorter range")
    starts, firsts = periods
    edges = [date_of(int(space.low)), *map(date_of, firsts[1:].tolist()), date_of(int(space.high))]
    return Bins(tuple(starts.tolist()), bin_labels([str(edge) for edge in edges]), space.size)


def _period_starts(space: Dates, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """The first code in each period that days of the space lie in, and the day that it begins with; None for too many.

    It takes as long as there are periods, or days where these are fewer.
    """
    low, step = int(space.low), int(space.step)
    first, last = (int(number) for number in _period_of(np.array([low, low + step * (space.size - 1)]), name))
    if min(last - first, space.size) > MOST_PERIODS:
        return None
    if last - first < space.size:
        begins = _first_day(np.arange(first, last + 1), name)
        codes = np.maximum(-((low - begins) // step), 0)
        days_in = codes < np.append(codes[1:], space.size)  # where days are far apart a period may have none
        return codes[days_in], begins[days_in]
    numbers = _period_of(low + step * np.arange(space.size), name)
    codes = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
    return codes, _first_day(numbers[codes], name)


def _period_of(days: NDArray[np.int64], name: str) -> NDArray[np.int64]:
    """The number of the period that each day lies in."""
    if name == "weeks":
        return days // 7
    return np.asarray(_months(days) // _MONTHS[name], np.int64)


def _first_day(numbers: NDArray[np.int64], name: str) -> NDArray[np.int64]:
    """The day that each period begins with."""
    if name == "weeks":
        return 7 * numbers
    months = (numbers * _MONTHS[name] - 12 * 1970).astype("datetime64[M]")
    return months.astype("datetime64[D]").astype(np.int64) + _1970


def uncut_period(space: Any, ends: Sequence[int]) -> str | None:
    """The longest periods that a question does not cut which tells codes below each of these ends from the others; None
    where it cuts even weeks, or the values are no dates.

    >>> uncut_period(Dates("2024-01-01", "2024-12-31"), [31]), uncut_period(Dates("2024-01-01", "2024-12-31"), [30])
    ('months', None)
    """
    if not isinstance(space, Dates):
        return None
    given = np.asarray(ends, np.int64)
    inside = given[(given > 0) & (given < space.size)]
    found = ((name, _period_starts(space, name)) for name in (*reversed(_MONTHS), "weeks"))
    return next((name for name, some in found if some is not None and np.isin(inside, some[0]).all()), None)


# Times of day ---------------------------------------------------------------------------------------------------------


_MINUTES_A_DAY = 1440
_TIMED = re.compile(
    r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}[T ])?([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:\.[0-9]{1,9})?)?"
    f"{ZONE}"
)


def minute_of(value: Any) -> int | None:
    """The minute of a time of day, by itself or after a date in ISO 8601; None for anything else.

    Seconds are cut off. A time with a zone is the one that it is in UTC.

    >>> [minute_of(value) for value in ("08:30", "9:05:59", "2024-03-01 14:35", "00:30+01:00", "24:00", 7)]
    [510, 545, 875, 1410, None, None]
    """
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    text = str(value) if isinstance(value, (date, time)) else str.__str__(value) if isinstance(value, str) else ""
    written = _TIMED.fullmatch(text.strip())
    if written is None:
        return None
    *clock, sign = written.groups()[:4]
    ahead = seconds_of(written.groups()[4:]) * (-1 if sign == "-" else 1)
    return (seconds_of(clock) - ahead) // 60 % _MINUTES_A_DAY


def time_of(minute: float) -> str:
    """The time of day of a minute; the first or the last one for what lies beyond."""
    inside = min(max(math.floor(minute), 0), _MINUTES_A_DAY - 1)
    return f"{inside // 60:02}:{inside % 60:02}"


MINUTES = Unit("minutes", "time", "such as 08:30", minute_of, time_of)


class Minutes(Ticks):
    """A lattice of minutes without ends, where noise on times of day ends up."""

    __slots__ = ()
    of: ClassVar[Unit] = MINUTES


class Times(Moments):
    """The minutes of a day from low to high, with ρ(x, y) = the number of minutes between x and y.

    Midnight is an end: 23:59 lies far from 00:00.

    >>> office = Times("08:00", "17:59")
    >>> office.size, office.distance("08:30", "10:00"), office.label(90)
    (600, Fraction(90, 1), '09:30')
    """

    __slots__ = ()
    of: ClassVar[Unit] = MINUTES
    ticks: ClassVar[type[Ticks]] = Minutes

    @named
    def __init__(self, low: Any, high: Any) -> None:
        Interval.__init__(self, MINUTES.bound(low, "low"), MINUTES.bound(high, "high"), 1)

    def __repr__(self) -> str:
        return f"Times('{time_of(int(self.low))}', '{time_of(int(self.high))}')"

    def date_part(self, part: str) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        if part != "hour":
            return None
        hours = (int(self.low) + np.arange(self.size)) // 60
        starts = np.flatnonzero(np.append(True, hours[1:] != hours[:-1]))
        return starts, hours[starts]


def hour_bins(space: Times, name: str) -> Bins:
    """The hours that the minutes of a space lie in, those at the ends cut.

    A certificate depends on this rule, so it must stay as it is.

    >>> hour_bins(Times("08:00", "10:29"), "hours").labels
    ('[08:00, 09:00)', '[09:00, 10:00)', '[10:00, 10:29]')
    """
    if name != "hours":
        raise ArgumentError(f"bins cannot be {name[:40]!r}{did_you_mean(name, ['hours'])}")
    hours = space.date_part("hour")
    assert hours is not None
    return bins_from(space, hours[0].tolist())
