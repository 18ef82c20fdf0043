"""How a plan says that dates are written: `format = "%d.%m.%Y"`, read one by one and a whole column at once, alike."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dproof.columns.values import as_numpy, from_numpy, text_of
from dproof.errors import ArgumentError
from dproof.spaces.dates import day_of

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
_PART = {"%Y": "year", "%m": "month", "%b": "month", "%B": "month", "%d": "day"}
_CLOCK = {"%H": "(?:2[0-3]|[01]?[0-9])", "%M": "[0-5][0-9]", "%S": "[0-5][0-9]"}
DIRECTIVES = (*_PART, *_CLOCK)
_BLANKS = r"[\t\n\v\f\r ]*"
_ISO = [
    "2024-02-03",
    *(f"2024-02-03{sign}{clock}" for sign in "T " for clock in ("04:05", "04:05:06", "0405", "040506")),
]
_1970 = date(1970, 1, 1).toordinal() - 1


@dataclass(frozen=True, slots=True)
class DateFormat:
    """A pattern of bytes that the texts of dates match, and how its month is written.

    A number of a day or month has one digit or two, but two where no sign stands between it and another number. The
    names of months are English, in upper or lower case. A time of day must be one, and is cut off. A text of another
    shape is no date in this format, and one of this shape that the calendar does not have, such as 30.02.2024, is none
    in any.
    """

    text: str
    pattern: str
    names: tuple[str, ...]

    def matches(self, value: Any) -> re.Match[bytes] | None:
        """The parts of a value whose text has the shape of the format."""
        text = text_of(value)
        return None if text is None else re.fullmatch(self.pattern.encode(), text.encode("utf-8", "surrogatepass"))

    def day(self, found: re.Match[bytes]) -> int | None:
        """The day that the parts of a text stand for; None where the calendar does not have it."""
        month = found["month"].decode().lower()
        number = self.names.index(month) + 1 if self.names else int(month)
        try:
            return date(int(found["year"]), number, int(found["day"])).toordinal() - 1
        except ValueError:
            return None

    def days(self, texts: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
        """The day of each text of an Arrow array, which texts have one, and which have the shape of the format."""
        import pyarrow.compute as pc

        texts = texts.cast(pa.large_binary())
        shown = as_numpy(pc.match_substring_regex(texts, f"^{self.pattern}$"), missing=False)
        parts = pc.extract_regex(texts.filter(from_numpy(shown)), f"^{self.pattern}$")
        year, day = (as_numpy(parts.field(name).cast(pa.string()).cast(pa.int64())) for name in ("year", "day"))
        named = parts.field("month").cast(pa.string())
        if self.names:
            month = as_numpy(pc.index_in(pc.ascii_lower(named), pa.array(self.names))).astype(np.int64) + 1
        else:
            month = as_numpy(named.cast(pa.int64()))
        since = 12 * (year - 1970) + month.clip(1, 12) - 1
        first, following = (
            n.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) for n in (since, since + 1)
        )
        there = (year > 0) & (month > 0) & (month < 13) & (day > 0) & (day <= following - first)
        days, known = np.zeros(len(shown), np.int64), np.zeros(len(shown), bool)
        days[shown], known[shown] = first + day - 1 + _1970, there
        return days, known, shown


@lru_cache
def date_format(text: str) -> DateFormat:
    """The format that a plan writes.

    >>> written = date_format("%d. %B %Y")
    >>> found = written.matches("3. may 2024")
    >>> date.fromordinal(written.day(found) + 1)
    datetime.date(2024, 5, 3)
    """
    if len(text) > _LONGEST:
        raise ArgumentError(f"it has more than {_LONGEST} characters")
    pieces = re.findall("%.?|[^%]", text, re.DOTALL)
    parts = [_PART[piece] for piece in pieces if piece in _PART]
    for piece in pieces:
        if piece == "%y":
            raise ArgumentError(
                "%y leaves the century open: write the years of the table with four digits, and %Y here"
            )
        if piece[0] == "%" and piece not in DIRECTIVES:
            known = f"{', '.join(DIRECTIVES[:-1])} and {DIRECTIVES[-1]}"
            raise ArgumentError(f"{piece!r} is not one of {known}: the table must have its dates written by these")
        if piece.isdecimal():
            raise ArgumentError("a digit stands in it: write %Y, %m and %d for the numbers, and signs between them")
    if sorted(parts) != ["day", "month", "year"]:
        raise ArgumentError('it must have a year, a month and a day, each once, such as "%d.%m.%Y"')
    if len({piece for piece in pieces if piece in _CLOCK}) < sum(piece in _CLOCK for piece in pieces):
        raise ArgumentError("a part of the time of day stands in it twice")
    signs = ["", *pieces, ""]
    shapes = [_shape(*signs[n - 1 : n + 2]) for n in range(1, len(signs) - 1)]
    names = next((tuple(_NAMES[piece]) for piece in pieces if piece in _NAMES), ())
    made = DateFormat(text, f"{_BLANKS}{''.join(shapes)}{_BLANKS}", names)
    found = filter(None, map(made.matches, _ISO))
    if any(made.day(parts) != day_of(_ISO[0]) for parts in found):
        raise ArgumentError("dates in ISO 8601, as workbooks and frames have them, would be read as other days")
    return made


def _shape(before: str, piece: str, after: str) -> str:
    """A regular expression of what a piece of a format stands for, in the syntax of Python and of Arrow."""
    if piece in _CLOCK:
        return _CLOCK[piece]
    if piece not in _PART:
        return re.escape(piece)
    if piece in _NAMES:
        shape = f"(?i:{'|'.join(_NAMES[piece])})"
    elif piece == "%Y":
        shape = "[0-9]{4}"
    else:
        shape = "[0-9]{2}" if "%" in (before[:1], after[:1]) else "[0-9]{1,2}"
    return f"(?P<{_PART[piece]}>{shape})"
