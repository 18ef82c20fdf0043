"""What the values of a table suggest for its plan, to the custodian alone: kinds of columns, and what to declare.

`kind_of` has nothing of a value but which kind most of a column's values are, and with which signs they are written.
`MostFrequent` and `Bounds` are exact and without noise: values, most frequent first, or bounds rounded outwards, from
which the custodian declares what is known without the table.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from itertools import pairwise
from math import floor, log10
from typing import Any, TypeVar

import pyarrow as pa

from dproof.columns.codec import python_values
from dproof.columns.values import PLAIN, Numerals, decoded, number_of, stored, text_of, texts
from dproof.exact import int_or_float
from dproof.spaces.dates import date_of, day_of

T = TypeVar("T")
_MOST = 40  # values
_REMEMBERED = 1 << 16  # different values of a column
_BEYOND = 1e300  # what is as far from 0 bounds nothing


def value_counts(array: Any) -> list[tuple[Any, int]]:
    """Each different value of an Arrow array with its rows; nothing of a type whose values cannot be told apart."""
    try:
        found = array.value_counts()
    except pa.ArrowNotImplementedError:
        return []
    return list(zip(python_values(found.field("values")), found.field("counts").to_pylist(), strict=True))


def without_rare(counts: Counter[T]) -> Counter[T]:
    """The counts of values; of very many, only of the more frequent half."""
    return counts if len(counts) <= _REMEMBERED else Counter(dict(counts.most_common(_REMEMBERED // 2)))


def _leaves(array: Any) -> Any:
    """The values inside lists, and those that stand by themselves."""
    kinds = pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list
    return decoded(array.flatten()) if any(is_kind(array.type) for is_kind in kinds) else array


class MostFrequent:
    """The values of a column, or with `items` those of its sets, most frequent first."""

    def __init__(self, separator: str = "", *, items: bool = False) -> None:
        self._separator, self._items = separator, items
        self._counts: Counter[Any] = Counter()

    def add(self, arrays: Sequence[Any]) -> None:
        array = decoded(stored(texts(arrays[0])))
        for value, rows in value_counts(_leaves(array) if self._items and not self._separator else array):
            if isinstance(value, bool):
                self._counts[value] += rows
                continue
            text = text_of(value)
            parts = [] if text is None else text.split(self._separator) if self._separator else [text]
            for part in parts:
                if part.strip() and part != "nan":
                    self._counts[part.strip() if self._separator else part] += rows
        self._counts = without_rare(self._counts)

    def _shown(self) -> list[Any]:
        """The most frequent ones; where there are many rows none that a single one has, which may tell of a person."""
        least = 2 if self._counts.total() >= _LEAST_ROWS else 1
        return [value for value, rows in self._counts.most_common(_MOST) if rows >= least]

    def keys(self) -> dict[str, Any]:
        values = self._shown()
        if values and not self._items and all(_is_whole(value) for value in self._counts):
            values = sorted({int(Fraction(value)) for value in values})  # codes, which are read as numbers
        return {"values": values} if values else {}

    @property
    def more(self) -> int:
        return len(self._counts) - len(self._shown())


class Bounds:
    """The least and the greatest of what `read` makes of values, rounded outwards."""

    def __init__(
        self, read: Callable[[Any], Fraction | float | None], rounded: Callable[[Fraction, Fraction], dict[str, Any]]
    ) -> None:
        self._read, self._rounded = read, rounded
        self._ends: tuple[Fraction, Fraction] | None = None

    def add(self, arrays: Sequence[Any]) -> None:
        for array in arrays:
            found = value_counts(_leaves(decoded(stored(texts(array)))))
            read = (self._read(value) for value, _ in found if value is not None)
            numbers = [Fraction(number) for number in read if number is not None and -_BEYOND < number < _BEYOND]
            if numbers:
                low, high = self._ends or (numbers[0], numbers[0])
                self._ends = min(low, *numbers), max(high, *numbers)

    def keys(self) -> dict[str, Any]:
        return {} if self._ends is None else self._rounded(*self._ends)

    @property
    def more(self) -> int:
        return 0


def rounded_outwards(low: Fraction, high: Fraction) -> dict[str, Any]:
    """Bounds with one digit that tells of the data, not more.

    >>> rounded_outwards(Fraction(17), Fraction(93)), rounded_outwards(Fraction(227), Fraction(480144))
    ({'low': 10, 'high': 100}, {'low': 0, 'high': 500000})
    """
    size = float(high - low) or abs(float(high)) or 1.0
    unit = Fraction(10) ** floor(log10(size))
    return {"low": int_or_float(low // unit * unit), "high": int_or_float(-(-high // unit) * unit)}


def whole_years(low: Fraction, high: Fraction) -> dict[str, Any]:
    """The first day of the first year, and the last day of the last one; days are counted from 1 January of year 1.

    >>> whole_years(Fraction(date(2023, 3, 1).toordinal() - 1), Fraction(date(2024, 2, 1).toordinal() - 1))
    {'low': datetime.date(2023, 1, 1), 'high': datetime.date(2024, 12, 31)}
    """
    first, last = (date_of(int(day)).year for day in (low, high))
    return {"low": date(first, 1, 1), "high": date(last, 12, 31)}


def _is_whole(value: Any) -> bool:
    """Whether a value is a whole number as numbers are written: 1 or 1.0, and not 007."""
    number = None if isinstance(value, bool) else number_of(value)
    digits = str(value).lstrip("+-")
    return (
        number is not None
        and number.denominator == 1
        and (digits == "0" or not digits.startswith("0") or "." in digits)
    )


# Columns that tell people apart, as they are called -------------------------------------------------------------------

_PERSON = (
    "person|user|customer|client|patient|member|respondent|participant|subject|student|pupil|employee|visitor|household"
    "|account|child|pers|personen|personal|patienten|kunden?|mitglieds?|mitarbeiter|teilnehmer|haushalts?|versicherten"
)
_NUMBERED = r"(id|uuid|guid|nr|no|number|nummer|key)\.?"
_OF_A_PERSON = re.compile(rf"(?i)({_PERSON})?[ _.-]*{_NUMBERED}|{_PERSON}|e-?mail([ _.-]?addresse?|[ _.-]?adresse)?")
_OF_ANYTHING = re.compile(
    rf"(?i)(.*[ _.-])?{_NUMBERED}|.*nummer|.*(?-i:[a-z](ID|Id))"
    "|((first|last|full|sur|user|vor|nach|familien)[ _.-]?)?name|phone|telephone|telefon|address|adresse|anschrift"
    "|iban|ssn"
)


def names_a_person(name: str) -> bool:
    """Whether a column is called as if it said whose row it is.

    >>> [name for name in ("patient_id", "Pers.-Nr.", "Kundennummer", "order_id", "age") if names_a_person(name)]
    ['patient_id', 'Pers.-Nr.', 'Kundennummer']
    """
    return _OF_A_PERSON.fullmatch(name) is not None


def names_its_rows(name: str) -> bool:
    """Whether a column is called like an id of anything, a name or an address: no statistics are made of it.

    >>> [name for name in ("orderID", "Lfd. Nr.", "first name", "paid") if names_its_rows(name)]
    ['orderID', 'Lfd. Nr.', 'first name']
    """
    return names_a_person(name) or _OF_ANYTHING.fullmatch(name) is not None


# Kinds of columns, as their texts show them ---------------------------------------------------------------------------


_LEAST_SHARE = 0.5  # of the values that are there: people write "n/a" and "none" among numbers
_TRUTH = {"true", "false"}
_NO_VALUE = {
    *("na", "n/a", "n.a.", "#n/a", "nan", "null", "none", "nil", "-", "--", "\u2013", "?", ".", "missing", "unknown"),
    *("k.a.", "k. a."),
}
_MARKS = (("yes", "no"), ("y", "n"), ("ja", "nein"), ("oui", "non"), ("sí", "no"), ("si", "no"), ("sì", "no"))
_JOINING = (";", "|", ",")
_LEAST_JOINED = 0.2  # of the texts, that have several items
_MOST_ITEMS = 64
_FEW = 12  # different whole numbers, which may be codes
_LEAST_ROWS = 20  # from here on it means something that all values differ
_ALL_DIFFERENT = 0.9
_LONGEST_MONEY = 40  # characters
_MONEY = r"[$€£¥₹₩₽₺₴₫₪%‰]|EUR|USD|GBP|CHF|JPY|DKK|SEK|NOK|PLN|CZK|HUF|kr|zł|Fr\."
_MEASURE = r"mg|g|kg|lbs?|mm|cm|m|km|ft|mi|m²|m2|ha|ml|l|s|min|h|km/h|mph|°C|°F|k?Wh"  # written alike beside 1 and 2
_WITH_UNIT = re.compile(
    rf"(?a)[+-]?\s*(?P<before>{_MONEY})?\s*[+-]?\d[\d.,'\u2019\s]*?\s*(?P<after>{_MONEY}|{_MEASURE})?"
)
_TIME = r"([01]?\d|2[0-3]):[0-5]\d(?P<seconds>:[0-5]\d)?(?P<half> ?[AaPp]\.?[Mm]\.?)?"
_CLOCK = rf"(?P<clock>(?P<between>[ T]){_TIME})?"
_DATES = (
    (re.compile(rf"(?a)(?P<first>\d\d?)(?P<sign>[./-])(?P<second>\d\d?)(?P=sign)\d{{4}}{_CLOCK}"), False),
    (re.compile(rf"(?a)\d{{4}}(?P<sign>[./-])(?P<first>\d\d?)(?P=sign)(?P<second>\d\d?){_CLOCK}"), True),
)


@dataclass(frozen=True, slots=True)
class Kind:
    """What the values of a column are, most of them: an Arrow type, or None for texts.

    `marks` are the two texts of a column of yes and no, `date_format` how its dates or times of day are written where
    that is not ISO 8601, and `separator` what stands between items. Whole numbers of which there are `few` may be
    codes, or answers on a `scale`; texts that are nearly all `different` may be names, and so may whole numbers that
    count the rows. Of a column that is `blank` some rows have no value.
    """

    type: Any = None
    marks: tuple[Any, Any] | None = None
    date_format: str | None = None
    separator: str | None = None
    few: bool = False
    different: bool = False
    scale: bool = False
    blank: bool = False


def kind_of(texts: Sequence[str], numerals: Numerals = PLAIN) -> Kind:
    """The kind of a column, from its texts that are not blank; those that say so, such as NA, are not looked at.

    >>> kind_of(["Yes", "No", "No"]).marks, kind_of(["31.12.2024", "1.2.2024"]).date_format
    (('Yes', 'No'), '%d.%m.%Y')
    >>> kind_of(["1", "NA", "0"]).marks
    (0, 1)
    >>> kind_of(["a;b", "a", "b;a"]).separator
    ';'
    >>> kind_of([f"{n}" for n in range(1, 40)]).different
    True
    """
    there, texts = len(texts), [text for text in texts if text.lower() not in _NO_VALUE]
    if not texts:
        return Kind()
    distinct, has_words = set(texts), len(texts) < there
    if {text.lower() for text in distinct} <= _TRUTH and not has_words:
        return Kind(pa.bool_())
    marks = _marks(distinct)
    if marks is not None and (marks == (0, 1) or not has_words):  # beside yes and no, "unknown" is an answer
        return Kind(marks=marks)
    numbers = [number for text in texts if (number := numerals.plain(text)) is not None]
    if len(numbers) >= _LEAST_SHARE * len(texts) and not _are_codes(distinct):
        points = {float(number) for number in numbers}
        few = len(points) <= _FEW and all(point.is_integer() for point in points)
        if few and any(text[0].isdecimal() and numerals.plain(text) is None for text in distinct):
            return Kind()  # a scale whose ends have words, such as "5 - very much"
        scale = few and max(points) - min(points) <= _FEW
        return Kind(pa.float64(), few=few, scale=scale, different=_count_rows([float(number) for number in numbers]))
    found, written = date_format(texts)
    if found:
        timed = 2 * sum(":" in text for text in texts) > len(texts)
        return Kind(pa.timestamp("s") if timed else pa.date32(), date_format=written)
    found, written = time_format(texts)
    if found:
        return Kind(pa.time32("s"), date_format=written)
    different = len(texts) >= _LEAST_ROWS and len(distinct) >= _ALL_DIFFERENT * len(texts)
    separator = _separator(texts)
    return Kind(separator=separator) if separator else Kind(different=different)


def _are_codes(distinct: set[str]) -> bool:
    """Whether some have zeros before their first digit, and so stand for something else than a number."""
    return any(re.fullmatch("0[0-9]{2,}", text) is not None for text in distinct)


def _count_rows(numbers: Sequence[float]) -> bool:
    """Whether each number is one more than the one before, as where the rows of a table are numbered."""
    return len(numbers) >= _LEAST_ROWS and all(after - before == 1 for before, after in pairwise(numbers))


def seen_numerals(texts: Mapping[str, Sequence[str]], separator: str, given: Mapping[str, str]) -> Numerals:
    """The signs with which most values are numbers, beside those that are given; the plain ones where others read no
    more. What stands beside most values of a column is a unit, if it is one of money, of a part or a usual measure.

    >>> seen_numerals({"pay": ["2.193,03 €", "k.A.", "-12 €"], "share": ["65%", "7%"]}, ";", {})
    Numerals(decimal=',', thousands='.', units='€ %')
    """
    point, comma = Numerals(".", ","), Numerals(",")
    # 65,000 in quotes among commas has thousands; 1,234 among semicolons has a decimal comma.
    doubtful = [point, comma] if separator == "," else [comma, point]
    signs = [Numerals(), *doubtful, Numerals(",", "."), Numerals(",", " "), Numerals(".", " "), Numerals(".", "'")]
    units = given.get("units", " ".join(dict.fromkeys(filter(None, map(_unit, texts.values())))))
    signs = [replace(sign, units=units) for sign in signs]
    signs = [sign for sign in signs if all(getattr(sign, key) == text for key, text in given.items())]
    values = [text for column in texts.values() for text in column]
    return max(
        signs or [Numerals(**{"units": units, **given})],
        key=lambda sign: sum(sign.plain(text) is not None for text in values),
    )


def _unit(texts: Sequence[str]) -> str | None:
    """The unit that stands beside most of the numbers of a column."""
    texts = [text for text in texts if text.lower() not in _NO_VALUE]
    short = (text for text in texts if len(text) <= _LONGEST_MONEY)
    found = Counter(match["before"] or match["after"] for text in short if (match := _WITH_UNIT.fullmatch(text)))
    unit, times = next(iter(found.most_common(1)), (None, 0))
    return unit if times >= _LEAST_SHARE * len(texts) else None


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
    if texts and sum(day_of(text) is not None for text in texts) >= _LEAST_SHARE * len(texts):
        return True, None
    for pattern, year_first in _DATES:
        found = [match for text in texts if (match := pattern.fullmatch(text)) is not None]
        if not found or len(found) < _LEAST_SHARE * len(texts):
            continue
        sign = found[0]["sign"]
        first, second = (max(int(match[part]) for match in found) for part in ("first", "second"))
        if year_first:
            return True, f"%Y{sign}%m{sign}%d" + _with_clock(found)
        month_first = second > 12 or (sign == "/" and first <= 12)
        return True, (f"%m{sign}%d{sign}%Y" if month_first else f"%d{sign}%m{sign}%Y") + _with_clock(found)
    short = sum(re.fullmatch(r"(?a)\d\d?([./-])\d\d?\1\d\d", text) is not None for text in texts)
    return short >= _LEAST_SHARE * len(texts), None


def time_format(texts: Sequence[str]) -> tuple[bool, str | None]:
    """Whether most texts are times of day, and how they are written; None for 09:30, also with seconds.

    >>> time_format(["09:30", "9:30:59"]), time_format(["9:30 AM", "12:05 pm"]), time_format(["10:65"])
    ((True, None), (True, '%I:%M %p'), (False, None))
    """
    found = [match for text in texts if (match := re.fullmatch(f"(?a){_TIME}", text.strip())) is not None]
    if not found or len(found) < _LEAST_SHARE * len(texts):
        return False, None
    return True, _clock(found[0]) if found[0]["half"] else None


def _clock(found: re.Match[str]) -> str:
    """How a time of day is written."""
    half = found["half"] or ""
    hours = "%I" if half else "%H"
    return f"{hours}:%M{':%S' if found['seconds'] else ''}{' ' * half.startswith(' ')}{'%p' if half else ''}"


def _with_clock(found: Sequence[re.Match[str]]) -> str:
    """The time of day after the date, where most have one."""
    timed = [match for match in found if match["clock"]]
    return timed[0]["between"] + _clock(timed[0]) if len(timed) > len(found) / 2 else ""


def _separator(texts: Sequence[str]) -> str | None:
    """What stands between items: a sign that many texts have, whose parts are few and come again and again.

    A comma also stands within names, such as Paris, France: between items there are more different texts than parts.
    """
    for sign in _JOINING:
        several = [text for text in texts if sign in text]
        if len(several) < _LEAST_JOINED * len(texts):
            continue
        parts = [part.strip() for text in texts for part in text.split(sign)]
        if len(set(parts)) > min(_MOST_ITEMS, len(parts) / 1.5):
            continue
        if sign != "," or len(set(parts)) < len(set(texts)):
            return sign
    return None
