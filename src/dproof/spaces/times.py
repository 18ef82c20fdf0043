"""Times of day: the minutes of an interval, each a number of minutes after midnight."""

from __future__ import annotations

import math
import re
from datetime import date, time
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import named
from dproof.errors import ArgumentError, did_you_mean
from dproof.spaces.dates import ZONE, Moments, Ticks, Unit, seconds_of
from dproof.spaces.interval import Bins, Interval, bins_from

_A_DAY = 1440  # minutes
PERIODS = ("hours",)
EXAMPLE = "such as 08:30"
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
    return (seconds_of(clock) - ahead) // 60 % _A_DAY


def time_of(minute: float) -> str:
    """The time of day of a minute; the first or the last one for what lies beyond."""
    inside = min(max(math.floor(minute), 0), _A_DAY - 1)
    return f"{inside // 60:02}:{inside % 60:02}"


MINUTES = Unit("minutes", "time", EXAMPLE, minute_of, time_of)


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
    if name not in PERIODS:
        raise ArgumentError(f"bins cannot be {name[:40]!r}{did_you_mean(name, PERIODS)}")
    hours = space.date_part("hour")
    assert hours is not None
    return bins_from(space, hours[0].tolist())
