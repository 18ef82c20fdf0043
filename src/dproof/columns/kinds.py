"""Kinds of columns, as their texts show them: numbers, dates in some format, marks of yes and no, items joined.

Nothing of a value is kept but which kind most of a column's values are, and with which signs they are written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from dproof.columns.values import PLAIN, Numerals

_LEAST_SHARE = 0.5  # of the values that are there: people write "n/a" and "none" among numbers
_TRUTH = {"true", "false"}
_NO_VALUE = {"na", "n/a", "n.a.", "#n/a", "nan", "null", "none", "nil", "-", "--", "?", ".", "missing", "unknown"}
_MARKS = (("yes", "no"), ("y", "n"), ("ja", "nein"), ("oui", "non"), ("sí", "no"), ("si", "no"), ("sì", "no"))
_JOINING = (";", "|")
_LEAST_JOINED = 0.2  # of the texts, that have several items
_MOST_ITEMS = 64
_FEW = 12  # different whole numbers, which may be codes
_LEAST_ROWS = 20  # from here on it means something that all values differ
_ALL_DIFFERENT = 0.9
_CLOCK = r"(?P<clock>(?P<between>[ T])(\d\d?:\d\d)(?P<seconds>:\d\d)?)?"
_DATES = (
    (re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d?:\d\d.*)?"), ""),  # ISO 8601, which needs no format
    (re.compile(rf"(?P<first>\d\d?)(?P<sign>[./-])(?P<second>\d\d?)(?P=sign)\d{{4}}{_CLOCK}"), "days or months first"),
    (re.compile(rf"\d{{4}}(?P<sign>[./])(?P<first>\d\d?)(?P=sign)(?P<second>\d\d?){_CLOCK}"), "years first"),
)


@dataclass(frozen=True, slots=True)
class Kind:
    """What the values of a column are, most of them: an Arrow type, or None for texts.

    `marks` are the two texts of a column of yes and no, `date_format` how its dates are written where that is not ISO
    8601, and `separator` what stands between items. Whole numbers of which there are `few` may be codes; texts that are
    nearly all `different` may be names.
    """

    type: Any = None
    marks: tuple[Any, Any] | None = None
    date_format: str | None = None
    separator: str | None = None
    few: bool = False
    different: bool = False


def kind_of(texts: Sequence[str], numerals: Numerals = PLAIN) -> Kind:
    """The kind of a column, from its texts that are not blank; those that say so, such as NA, are not looked at.

    >>> kind_of(["Yes", "No", "No"]).marks, kind_of(["31.12.2024", "1.2.2024"]).date_format
    (('Yes', 'No'), '%d.%m.%Y')
    >>> kind_of(["1", "NA", "0"]).marks
    (0, 1)
    >>> kind_of(["a;b", "a", "b;a"]).separator
    ';'
    """
    texts = [text for text in texts if text.lower() not in _NO_VALUE]
    if not texts:
        return Kind()
    distinct = set(texts)
    if {text.lower() for text in distinct} <= _TRUTH:
        return Kind(pa.bool_())
    marks = _marks(distinct)
    if marks is not None:
        return Kind(marks=marks)
    numbers = [number for text in texts if (number := numerals.plain(text)) is not None]
    if len(numbers) >= _LEAST_SHARE * len(texts):
        whole = all(float(number).is_integer() for number in numbers)
        return Kind(pa.float64(), few=whole and len({float(number) for number in numbers}) <= _FEW)
    found, written = date_format(texts)
    if found:
        return Kind(pa.date32(), date_format=written)
    different = len(texts) >= _LEAST_ROWS and len(distinct) >= _ALL_DIFFERENT * len(texts)
    separator = _separator(texts)
    return Kind(separator=separator) if separator else Kind(different=different)


def seen_numerals(texts: Mapping[str, Sequence[str]], separator: str) -> Numerals:
    """The signs with which most values are numbers; the plain ones where others read no more."""
    point, comma = Numerals(".", ","), Numerals(",")
    # 65,000 in quotes among commas has thousands; 1,234 among semicolons has a decimal comma.
    doubtful = [point, comma] if separator == "," else [comma, point]
    signs = [Numerals(), *doubtful, Numerals(",", "."), Numerals(",", " "), Numerals(".", " "), Numerals(".", "'")]
    values = [text for column in texts.values() for text in column]
    return max(signs, key=lambda sign: sum(sign.plain(text) is not None for text in values))


def _marks(distinct: set[str]) -> tuple[Any, Any] | None:
    """The two marks of a column that has both and nothing else, as they are written; 1 and 0 are numbers."""
    if len(distinct) != 2:
        return None
    if {PLAIN.plain(text) for text in distinct} <= {"0", "1", "0.0", "1.0"}:
        return (0, 1) if {float(text) for text in distinct} == {0, 1} else None
    spelt = {text.lower(): text for text in distinct}
    return next(((spelt[yes], spelt[no]) for yes, no in _MARKS if set(spelt) == {yes, no}), None)


def date_format(texts: Sequence[str]) -> tuple[bool, str | None]:
    """Whether most texts are dates, and how they are written; None for ISO 8601, and for years of two digits.

    Of 3/4/2024 it is unknown which is the month, but another row may have a number above 12: with strokes it is the
    month that comes first unless one shows otherwise, else the day.

    >>> date_format(["3/4/2024", "25/4/2024"]), date_format(["2024-01-31"])
    ((True, '%d/%m/%Y'), (True, None))
    """
    for pattern, order in _DATES:
        found = [match for text in texts if (match := pattern.fullmatch(text)) is not None]
        if len(found) < _LEAST_SHARE * len(texts):
            continue
        if not order:
            return True, None
        sign = found[0]["sign"]
        first, second = (max(int(match[part]) for match in found) for part in ("first", "second"))
        if order == "years first":
            return True, f"%Y{sign}%m{sign}%d" + _clock(found)
        month_first = second > 12 or (sign == "/" and first <= 12)
        return True, (f"%m{sign}%d{sign}%Y" if month_first else f"%d{sign}%m{sign}%Y") + _clock(found)
    short = sum(re.fullmatch(r"\d\d?([./-])\d\d?\1\d\d", text) is not None for text in texts)
    return short >= _LEAST_SHARE * len(texts), None


def _clock(found: Sequence[re.Match[str]]) -> str:
    """The time of day after the date, where most have one."""
    timed = [match for match in found if match["clock"]]
    if len(timed) <= len(found) / 2:
        return ""
    return f"{timed[0]['between']}%H:%M{':%S' if timed[0]['seconds'] else ''}"


def _separator(texts: Sequence[str]) -> str | None:
    """What stands between items: a sign that many texts have, whose parts are few and come again and again."""
    for sign in _JOINING:
        several = [text for text in texts if sign in text]
        if len(several) < _LEAST_JOINED * len(texts):
            continue
        parts = [part.strip() for text in texts for part in text.split(sign)]
        if len(set(parts)) <= min(_MOST_ITEMS, len(parts) / 1.5):
            return sign
    return None
