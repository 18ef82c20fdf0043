"""What the values of a table would have a draft declare: its values, most frequent first, or bounds rounded outwards.

Exact and without noise: for the custodian alone, who declares what is known without the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date
from fractions import Fraction
from math import floor, log10
from typing import Any

import pyarrow as pa

from dproof.columns.arrow import decoded
from dproof.columns.codec import python_values
from dproof.columns.values import number_of, stored, text_of, texts
from dproof.exact import int_or_float
from dproof.spaces.dates import date_of

_MOST = 40  # values
_REMEMBERED = 1 << 16  # different values of a column; beyond, the rare ones are forgotten
_BEYOND = 1e300  # what is as far from 0 bounds nothing


def counted(array: Any) -> list[tuple[Any, int]]:
    """Each different value of an Arrow array with its rows; nothing of a type whose values cannot be told apart."""
    try:
        found = array.value_counts()
    except pa.ArrowNotImplementedError:
        return []
    return list(zip(python_values(found.field("values")), found.field("counts").to_pylist(), strict=True))


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
        for value, rows in counted(_leaves(array) if self._items and not self._separator else array):
            if isinstance(value, bool):
                self._counts[value] += rows
                continue
            text = text_of(value)
            parts = [] if text is None else text.split(self._separator) if self._separator else [text]
            for part in parts:
                if part.strip() and part != "nan":
                    self._counts[part.strip() if self._separator else part] += rows
        if len(self._counts) > _REMEMBERED:
            self._counts = Counter(dict(self._counts.most_common(_REMEMBERED // 2)))

    def keys(self) -> dict[str, Any]:
        values = [value for value, _ in self._counts.most_common(_MOST)]
        if values and not self._items and all(_is_whole(value) for value in self._counts):
            values = sorted({int(Fraction(value)) for value in values})  # codes, which are read as numbers
        return {"values": values} if values else {}

    @property
    def more(self) -> int:
        return max(0, len(self._counts) - _MOST)


class Bounds:
    """The least and the greatest of what `read` makes of values, rounded outwards."""

    def __init__(
        self, read: Callable[[Any], Fraction | float | None], rounded: Callable[[Fraction, Fraction], dict[str, Any]]
    ) -> None:
        self._read, self._rounded = read, rounded
        self._ends: tuple[Fraction, Fraction] | None = None

    def add(self, arrays: Sequence[Any]) -> None:
        for array in arrays:
            found = counted(_leaves(decoded(stored(texts(array)))))
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
