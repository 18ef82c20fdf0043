"""An answer: rows of values and estimates, the same whether a release or a curator gave it; its picture, and its files.

What an answer can be at all is a range, with interval arithmetic. A picture shows every estimate with its interval,
and beside it the number that it was made from. A format of a file is a line in `FORMATS`, from which `Answer.save`,
`--out` and `--plot` take it: the ending, and a function from an answer to bytes.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from io import StringIO
from math import inf, isfinite
from pathlib import Path
from typing import Any, TypeAlias

from dproof.errors import ArgumentError, FileError, MissingExtra, TooLarge, did_you_mean
from dproof.exact import int_or_float, percent, written
from dproof.limits import MOST_DRAWN_CURVES, MOST_DRAWN_ROWS
from dproof.spaces.space import Space

_SHOWN = 4  # points of a curve that a line of text shows
SHOWN_ROWS = 50  # rows of a table that are printed unless all are wanted
NOTHING = "no information"


@dataclass(frozen=True, slots=True)
class Answer:
    """A table of values and cells.

    `answer["n"]` are the cells of a column, `rows` has all columns of each row; `level` is that of the intervals.

    >>> answer = Answer(("sex", "n"), [{"sex": "f", "n": Cell(52, 48.0, 56.0, 2.0, 52)}])
    >>> answer
    sex  n
    f    52 ± 4
    >>> answer["n"][0].low
    48.0
    """

    columns: tuple[str, ...]
    rows: list[dict[str, Any]]
    level: float = 0.95
    notes: tuple[str, ...] = ()
    method: str = ""
    covers: str = ""  # what its intervals cover, see `covered`

    def __getitem__(self, column: str) -> list[Cell]:
        """The cells of a column, one for each row; a number that is not estimated has itself as its interval."""
        if column not in self.columns:
            raise ArgumentError(f"the answer has no column {str(column)[:40]!r}{did_you_mean(column, self.columns)}")
        return [_as_cell(row[column]) for row in self.rows]

    def __repr__(self) -> str:
        return "\n".join([*self._lines(), *self._more()])

    def __str__(self) -> str:
        return "\n".join([repr(self), *([""] if self.notes else []), *self.notes])

    def _lines(self) -> list[str]:
        lines = [list(self.columns), *self.texts(SHOWN_ROWS)]
        widths = [max(len(line[n]) for line in lines) for n in range(len(self.columns))]
        return [
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines
        ]

    def texts(self, most: int | None = None) -> list[list[str]]:
        """The rows as they are shown, or the first of them."""
        rows = self.rows[:most]
        digits = {column: _digits([row[column] for row in rows]) for column in self.columns}
        return [[self._text(row[column], digits[column]) for column in self.columns] for row in rows]

    def _text(self, value: Any, digits: int | None) -> str:
        if isinstance(value, Cell):
            return value.text(digits)
        is_key = self.method != "raw" and isinstance(value, int) and not isinstance(value, bool)
        return str(value) if is_key else _shown(value)  # a key is shown as a condition would have it: 2024, not 2,024

    def _more(self) -> list[str]:
        more = len(self.rows) - SHOWN_ROWS
        return [f"… {more:,} more (all are in .rows)"] if more > 0 else []

    @property
    def has_intervals(self) -> bool:
        """Whether any estimate has an interval of some width: an exact one needs none."""
        cells = (value for row in self.rows for value in row.values() if isinstance(value, Cell))
        return any(cell.low is not None and cell.low != cell.high for cell in cells)

    @property
    def footer(self) -> str:
        """One line on what the intervals cover; empty where there is none.

        >>> Answer(("n",), [{"n": Cell(52, 48.0, 56.0, 2.0, 52)}], covers=covered(0.95)).footer
        '± covers the privacy noise, 95%; not sampling error.'
        """
        if not self.covers or not self.has_intervals:
            return ""
        shown = " ".join(str(value) for row in self.rows for value in row.values() if isinstance(value, Cell))
        return f"{'±' if '±' in shown else '[low, high]'} covers {self.covers}" if "±" in shown or "[" in shown else ""

    def _repr_html_(self) -> str:
        """The table as a notebook shows it."""
        from dproof.html import paragraph, table

        parts = [table(self.columns, self.texts(SHOWN_ROWS)), *map(paragraph, (*self._more(), *self.notes))]
        return "".join(parts)  # a sum of markup and a plain text would escape that

    def to_json(self) -> dict[str, Any]:
        """One JSON object: columns, rows, level, and how and with what care the answer was made."""
        rows = [{column: plain_json(row[column]) for column in self.columns} for row in self.rows]
        notes = list(self.notes)
        return {"columns": list(self.columns), "rows": rows, "level": self.level, "method": self.method, "notes": notes}

    def flat(self) -> dict[str, list[Any]]:
        """Columns of plain values: an estimate n has beside it n_low, n_high, n_stderr, n_raw and n_informative."""
        flat: dict[str, list[Any]] = {}
        for column in self.columns:
            values = [row[column] for row in self.rows]
            if not any(isinstance(value, Cell) for value in values):
                flat[column] = [plain_json(value) for value in values]
                continue
            cells = [
                value.to_json() if isinstance(value, Cell) else {"estimate": plain_json(value)} for value in values
            ]
            flat[column] = [cell["estimate"] for cell in cells]
            for name in ("low", "high", "stderr", "raw", "informative"):
                flat[f"{column}_{name}"] = [cell.get(name) for cell in cells]
        return flat

    def plot(self, path: Any = None) -> Any:
        """A chart of the estimates with their intervals; written to an .svg, .png or .html file where one is named.

        It is an Altair chart, and needs the extra `plot`.
        """
        file = None if path is None else output_file(path, picture=True)
        drawn = chart(self)
        if file is not None:
            save(self, file)
        return drawn

    def save(self, path: Any) -> None:
        """Write the answer to a file, as its ending names: .json, .csv, .xlsx, .md, .parquet, .arrow or a picture.

        A table has beside an estimate n the columns n_low, n_high, n_stderr, n_raw and n_informative.
        """
        save(self, output_file(path))

    def to_svg(self) -> str:
        """The chart of `plot` as an SVG element; it needs the extra `plot`."""
        from dproof.plotting import render_svg

        return render_svg(self.plot().to_dict())

    def to_arrow(self) -> Any:
        """A pyarrow.Table, in which an estimate has columns for its interval and standard error."""
        import pyarrow

        flat = self.flat()
        return pyarrow.table(
            {n: pyarrow.array(v, pyarrow.float64() if _is_empty(v) else None) for n, v in flat.items()}
        )

    def to_pandas(self) -> Any:
        """A pandas.DataFrame, in which an estimate has columns for its interval and standard error.

        Where an answer tells nothing, the estimate is NaN.
        """
        pandas = MissingExtra.or_module("pandas", "a pandas.DataFrame")
        flat = self.flat()
        return pandas.DataFrame({name: [math.nan] * len(v) if _is_empty(v) else v for name, v in flat.items()})

    def to_polars(self) -> Any:
        """A polars.DataFrame, in which an estimate has columns for its interval and standard error."""
        polars = MissingExtra.or_module("polars", "a polars.DataFrame")
        flat = self.flat()
        empty = {name: polars.Float64 for name, values in flat.items() if _is_empty(values)}
        return polars.DataFrame(flat, schema_overrides=empty, strict=False)


@dataclass(frozen=True, slots=True)
class Cell:
    """An estimate, the interval that covers the truth with the answer's level, and the number it was made from.

    `estimate`, `stderr` and `raw` are as they were calculated; `low` and `high` are cut to what is possible. People are
    shown the estimate moved into its interval. `informative` is False where the interval is all that is possible, or
    where an estimate has none because it could be anything: nothing is learned then, and there is no estimate; the
    number that was calculated is in `raw`.

    >>> Cell(246148.0, 0.0, 3000.0, 90000.0, 1702, informative=False)
    Cell(estimate=None, low=0.0, high=3000.0, stderr=90000.0, raw=246148.0, informative=False)

    `low` and `high` are None also for what is chosen and not measured, such as a curator's median: a note of the answer
    says how good the choice is. For a curve every field but `informative` is a list over its grid. `decimals` are those
    that ROUND asked for; else the width of the interval decides how many are shown.
    """

    estimate: Any
    low: Any = None
    high: Any = None
    stderr: Any = None
    raw: Any = None
    informative: bool = True
    decimals: int | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.informative or self.estimate is None:
            return
        is_curve = isinstance(self.low, (list, tuple))
        object.__setattr__(self, "raw", self.estimate)
        object.__setattr__(self, "estimate", [None] * len(self.estimate) if is_curve else None)

    @property
    def clamped_estimate(self) -> Any:
        """The estimate, moved into its interval: what people are shown."""
        if isinstance(self.low, (list, tuple)):
            return [Cell(*ends).clamped_estimate for ends in zip(self.estimate, self.low, self.high, strict=True)]
        if self.low is None or self.high is None:
            return self.estimate
        if self.estimate is None or self.estimate != self.estimate:
            return None
        if self.low <= self.estimate <= self.high:
            return self.estimate
        return self.low if self.estimate < self.low else self.high

    def __float__(self) -> float:
        """The estimate, for whoever calculates on; NaN where there is none."""
        return math.nan if self.estimate is None else float(self.estimate)

    def __str__(self) -> str:
        return self.text()

    def text(self, digits: int | None = None) -> str:
        """The cell as people are shown it; with so many digits after the point, where its column has them."""
        if not self.informative:
            return NOTHING
        if isinstance(self.low, (list, tuple)):  # a curve, point by point
            fields = zip(self.estimate, self.low, self.high, self.stderr, strict=True)
            points = [str(Cell(*point)) for point in fields]
            return ", ".join([*points[:_SHOWN], f"… ({len(points)} points)"] if len(points) > _SHOWN else points)
        if isinstance(self.estimate, (list, tuple)):
            return ", ".join(str(label) for label in self.estimate)
        if self.low is None or self.high is None:
            return "unknown" if self.estimate is None else _number(self.estimate, None, self.decimals)
        if not isinstance(self.low, (int, float)):  # a date
            return f"{self.clamped_estimate} [{self.low}, {self.high}]"
        return self._with_interval(digits)

    @property
    def digits(self) -> int | None:
        """The digits after the point that its interval leaves standing; None where no interval says so."""
        shown = self.informative and self.decimals is None and isinstance(self.low, (int, float))
        if not shown or self.low == self.high:
            return None
        return 0 if isinstance(self.clamped_estimate, int) else _standing(self.high - self.low)

    def _with_interval(self, digits: int | None) -> str:
        width, moved = self.high - self.low, self.clamped_estimate
        if width == 0:
            value = self.low if moved is None else moved
            shown = _number(value, None, self.decimals)
            return f"{shown} ± 0" if self.stderr else shown
        whole = isinstance(moved, int)  # a curator's count, and then its bounds are whole as well
        numbers = [int(n) if whole and float(n).is_integer() else n for n in (self.low, self.high, width / 2)]
        decimals = digits if self.decimals is None else self.decimals
        low, high, half = (_number(number, width, decimals) for number in numbers)
        if moved is None:
            return f"[{low}, {high}]"
        middle = (self.high + self.low) / 2
        # Half the width of a rounded interval may need one decimal more than was asked for.
        near = self.decimals is None and abs(middle - moved) < width / 50
        interval = f"± {half}" if near else f"[{low}, {high}]"
        return f"{_number(moved, width, decimals)} {interval}"

    def to_json(self) -> dict[str, Any]:
        """The six fields, with None for what is not finite."""
        names = ("estimate", "low", "high", "stderr", "raw", "informative")
        return {name: plain_json(getattr(self, name)) for name in names}


def as_cells(estimate: Sequence[Any], low: Any, high: Any, stderr: Any, raw: Sequence[Any]) -> list[Cell]:
    """A cell for each number of some arrays; an end that is no number, and an error that is infinite, is not known."""
    ends = ([None if math.isnan(end) else end for end in array.tolist()] for array in (low, high))
    errors = [error if isfinite(error) else None for error in stderr.tolist()]
    return [Cell(*numbers) for numbers in zip(estimate, *ends, errors, raw, strict=True)]


def covered(level: float, *, sampling: bool = False, at_once: str = "", method: str = "") -> str:
    """What intervals cover, for `Answer.footer`: noise, sampling, and where `at_once`; a `method` that was chosen.

    >>> covered(0.9, sampling=True, method="projection")
    'the privacy noise and the sampling error, 90%. Method: projection.'
    """
    noise = f"the privacy noise{' and the sampling error' * sampling}{at_once and f' {at_once}'}, {percent(level)}"
    return f"{noise}{'' if sampling else '; not sampling error'}.{method and f' Method: {method}.'}"


EVERY_POINT = "at all grid points at once"
EVERY_ROW = "in all rows at once"


def _as_cell(value: Any) -> Cell:
    if isinstance(value, Cell):
        return value
    is_number = isinstance(value, (int, float, Fraction)) and not isinstance(value, bool)
    return Cell(value, value, value, 0.0, value) if is_number else Cell(value)


def _is_empty(values: Sequence[Any]) -> bool:
    """Whether a column of a frame has no value at all: it is one of numbers, none of which is known."""
    return bool(values) and all(value is None for value in values)


def in_units_of(cell: Any, space: Space) -> Any:
    """A cell of numbers with the values of a space that they stand for; the interval covers whole ones."""
    if not isinstance(cell, Cell):
        return cell
    rounded = ((cell.estimate, round), (cell.low, math.floor), (cell.high, math.ceil), (cell.raw, round))
    estimate, low, high, raw = (_value(number, way, space) for number, way in rounded)
    return replace(cell, estimate=estimate, low=low, high=high, raw=raw)


def _value(number: Any, rounded: Callable[[float], int], space: Space) -> Any:
    if not isinstance(number, (int, float)):
        return number
    return space.shown(rounded(number) if math.isfinite(number) else number)


def cautions(rows: Iterable[Mapping[str, Any]], suggestions: str) -> list[str]:
    """What is to be said about cells that tell nothing, with the ways out."""
    if all(value.informative for row in rows for value in row.values() if isinstance(value, Cell)):
        return []
    return [f"no information at this ε: the truth could be any possible value. Ways out: {suggestions}."]


def plain_json(value: Any) -> Any:
    """A value as JSON has it: a date as its text, a set as a list, null for what is no number."""
    if isinstance(value, Cell):
        return value.to_json()
    if isinstance(value, Fraction):
        return int_or_float(value)
    if isinstance(value, (set, frozenset)):
        return sorted((plain_json(item) for item in value), key=str)
    if isinstance(value, Mapping):
        return {str(key): plain_json(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain_json(item) for item in value]
    if isinstance(value, Decimal):
        return float(value)
    if value is not None and not isinstance(value, (bool, int, float, str)):
        return str(value)  # a date, a time, whatever else a public column holds
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _shown(value: Any) -> str:
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(str(item) for item in value)) + "}"
    if value is None:
        return "NULL"  # as SQL asks for it, and not as a gap in the table
    return _number(value, None) if isinstance(value, (int, float, Fraction)) else str(value)


def _number(value: Any, width: float | None, decimals: int | None = None) -> str:
    """A number with the digits that its interval leaves standing, or with those that were asked for."""
    if value is None or isinstance(value, (bool, str, date)):
        return "" if value is None else str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "unknown"
    if isinstance(value, int):
        return f"{value:,}"
    digits = _standing(width) if decimals is None else max(0, decimals)
    return f"{float(value):,.{min(digits, 12)}f}"


def _standing(width: float | None) -> int:
    """The digits after the point that an interval of some width leaves standing: two of half its width."""
    return 4 if not width else max(0, 1 - math.floor(math.log10(width / 2)))


def _digits(values: Sequence[Any]) -> int | None:
    """The digits of a column: those of its widest interval, but one digit at least of half the narrowest."""
    found = [value.digits for value in values if isinstance(value, Cell) and value.digits is not None]
    return max(min(found), max(found) - 1) if found else None


RARELY = (  # where a ± that is told beforehand depends on the data
    "uneven: where a group, or a condition, has a tenth of an even share of the rows, half of the values are missing "
    "if they may be, and a mean lies near an end of its range, or that of other rows near the other end; "
    "`share_of_rows` and `mean` of a question in the plan say what is so."
)


def rarely(half_width: float | None) -> str:
    """± if values are uneven, behind that if they are not; None tells nothing."""
    return f" (uneven: {NOTHING if half_width is None else f'± {written(half_width)}'})"


def stated(share: float | None) -> str:
    """For which share of the rows a ± is, where the plan states it."""
    return "" if share is None else f", where a group or condition has {100 * share:.6g}% of the rows"


# What an answer can be at all -----------------------------------------------------------------------------------------

LARGEST = 10**300
End: TypeAlias = Fraction | float  # exact, or −∞ or ∞


@dataclass(frozen=True, slots=True)
class Range:
    """All values that are possible, from `low` to `high`; without either, from −∞ to ∞.

    An interval that is cut to the possible range covers the truth as often as before, for the truth is in the range.
    One that is all of it says nothing.

    Before it is cut, an interval whose middle is not possible is moved until that is: chance made such an estimate, and
    what a cut would leave of the interval could be as short as a point. Moved, it holds all possible values that it
    held before (Mandelkern 2002, Setting confidence intervals for bounded parameters).

    So the answers that tell something cover as often as they say, if errors are symmetric and the half-width h is
    always the same. With h below half of the range all answers tell something, and with h above the range none does. In
    between only a truth within range − h of an end can be missed, on one side, and then every second answer tells
    something.

    >>> Range(Fraction(0), Fraction(40)).cut(Cell(-3.0, -23.0, 17.0, 10.2, 5))
    Cell(estimate=-3.0, low=0.0, high=20.0, stderr=10.2, raw=5, informative=True)
    """

    low: End = -inf
    high: End = inf

    def cut(self, cell: Cell) -> Cell:
        """The cell with its interval moved and cut to what is possible; the estimate stays as it is."""
        ends = self.ends
        everything = ends if self.low < self.high else None  # where one number alone is possible, it is known
        if isinstance(cell.low, list):  # a curve, point by point
            points = [_cut(*point, *ends) for point in zip(cell.low, cell.high, strict=True)]
            informative = any(point != everything for point in points)
            return replace(cell, low=[a for a, _ in points], high=[b for _, b in points], informative=informative)
        if cell.low is None or cell.high is None:
            return cell
        low, high = _cut(cell.low, cell.high, *ends)
        if not (isfinite(low) and isfinite(high)):  # it could be anything
            return replace(cell, low=None, high=None, informative=False)
        return replace(cell, low=low, high=high, informative=(low, high) != everything)

    def cut_each(self, cells: Iterable[Any]) -> list[Any]:
        """Some cells, each cut to what is possible; what is no cell as it is."""
        return [self.cut(cell) if isinstance(cell, Cell) else cell for cell in cells]

    def is_narrowed_by(self, half_width: float | None) -> bool:
        """Whether an interval of ± this width around the middle leaves out anything that is possible, as in answers.

        One that is not known beforehand, None, may.

        >>> [Range(Fraction(0), Fraction(40)).is_narrowed_by(half_width) for half_width in (19, 20)]
        [True, False]
        """
        low, high = self.ends
        return half_width is None or low == high or 2 * half_width < high - low

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends as floats."""
        return _float(self.low), _float(self.high)

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Range) -> Range:
        return self + other * point(-1)

    def __mul__(self, other: Range) -> Range:
        # A bound of 0 times one that is infinite is 0: what lies between them is finite.
        ends = [a * b if a and b else Fraction(0) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Range(min(ends), max(ends))

    def __truediv__(self, other: Range) -> Range:
        if other.low < 0 < other.high or other.low == other.high == 0:
            return Range()
        return self * Range(1 / other.high if other.high else -inf, 1 / other.low if other.low else inf)


def _cut(low: float, high: float, least: float, most: float) -> tuple[float, float]:
    half = (high - low) / 2
    if isfinite(half):
        low, high = min(low, most - half), max(high, least + half)
    return min(max(low, least), most), max(min(high, most), least)


def _float(end: End) -> float:
    """An end as a float; what no float reaches is infinite."""
    return float(end) if -LARGEST < end < LARGEST else inf if end > 0 else -inf


def point(number: int | Fraction) -> Range:
    return Range(Fraction(number), Fraction(number))


# Its picture ----------------------------------------------------------------------------------------------------------

_NAIVE = "#b8c4c4"
_ROW = 30  # height of a row, which has a label above its dot


def chart(answer: Answer) -> Any:
    """The chart of an answer.

    >>> rows = [{"hobby": "Cars", "n": Cell(52.0, 40.0, 64.0, 6.0, 80)}]
    >>> sorted(chart(Answer(("hobby", "n"), rows)).to_dict())[:2]
    ['$schema', 'config']
    """
    from dproof.plotting import altair, styled

    measured = [column for column in answer.columns if any(_drawn(row[column]) for row in answer.rows)]
    curves = [column for column in answer.columns if any(_is_curve(row[column]) for row in answer.rows)]
    if not measured and not curves:
        raise ArgumentError("this answer has no estimates with intervals, so there is nothing to draw")
    most = MOST_DRAWN_CURVES if curves else MOST_DRAWN_ROWS
    if len(answer.rows) > most:
        fewer = "ask for fewer groups" if curves else f"add LIMIT {most} or less"
        raise TooLarge(f"{len(answer.rows):,} rows are too many for a picture: {fewer}")
    keys = [column for column in answer.columns if column not in (*measured, *curves)]
    charts = [_one(answer, column, keys) for column in measured]
    charts += [chart for column in curves for chart in _curves(answer, column, keys)]
    return styled(charts[0] if len(charts) == 1 else altair().vconcat(*charts))


def _drawn(value: Any) -> bool:
    return isinstance(value, Cell) and isinstance(value.low, (int, float))


def _is_curve(value: Any) -> bool:
    return isinstance(value, Cell) and isinstance(value.low, (list, tuple))


def _groups(answer: Answer, keys: Sequence[str]) -> list[str]:
    """What each row is called; rows of the same name are numbered, so that each keeps a line of its own."""
    from dproof.plotting import label_text

    names = [" · ".join(label_text(row[key]) for key in keys) for row in answer.rows]
    if len(set(names)) == len(names):
        return names
    return [f"{name} ({n})".strip() for n, name in enumerate(names, 1)]


def _one(answer: Answer, column: str, keys: Sequence[str]) -> Any:
    """One estimated column: a dot and its interval for each row, and a tick for the number it was made from."""
    from dproof.plotting import ACCENT, INK, altair

    alt, groups = altair(), _groups(answer, keys)
    cells = {group: row[column] for group, row in zip(groups, answer.rows, strict=True)}
    fields = ("low", "high", "informative")
    lines = [{"group": g} | {name: getattr(cell, name) for name in fields} for g, cell in cells.items() if _drawn(cell)]
    dots, naive, texts = [], [], []
    middle = sum(line["low"] + line["high"] for line in lines) / (2 * len(lines))
    least, most = min(line["low"] for line in lines), max(line["high"] for line in lines)
    for group, cell in cells.items():
        if not isinstance(cell, Cell):
            continue
        if not cell.informative or not _drawn(cell) or cell.clamped_estimate is None:
            at = (cell.low + cell.high) / 2 if _drawn(cell) else middle
            texts.append({"group": group, "at": at, "text": str(cell)})
            continue
        dots.append({"group": group, "at": cell.clamped_estimate, "text": str(cell).split(" ±")[0].split(" [")[0]})
        # One that lies far outside all intervals would leave no room for them.
        is_near = isinstance(cell.raw, (int, float)) and 2 * least - most <= cell.raw <= 2 * most - least
        if is_near and cell.raw != cell.estimate:
            naive.append({"group": group, "raw": cell.raw})
    down = alt.Axis(title=" · ".join(keys) or None, labelLimit=260, labelOverlap=False)
    across = alt.Axis(title=column, grid=True, gridColor="#eef2f2", tickCount=5, labelSeparation=14)

    def layer(values: list[dict[str, Any]], field: str) -> Any:
        x = alt.X(f"{field}:Q", axis=across, scale=alt.Scale(zero=False, padding=14))
        return alt.Chart({"values": values}).encode(x=x, y=alt.Y("group:N", sort=groups, axis=down))

    colour = alt.condition("datum.informative", alt.value(ACCENT), alt.value(_NAIVE))
    layers = [
        layer(naive, "raw").mark_tick(color=_NAIVE, thickness=3, size=16),
        layer(lines, "low").mark_rule(strokeWidth=2).encode(x2="high:Q", color=colour),
        layer(dots, "at").mark_circle(color=ACCENT, size=70, opacity=1),
        layer([*dots, *texts], "at").mark_text(dy=-9, fontSize=10, color=INK).encode(text="text:N"),
    ]
    subtitle = "grey ticks: the numbers before correction" if naive else ""
    title = alt.Title(f"{column}, {percent(answer.level)} intervals", subtitle=subtitle)
    return alt.layer(*layers, title=title).properties(width=520, height=max(48, _ROW * len(groups)))


def _curves(answer: Answer, column: str, keys: Sequence[str]) -> list[Any]:
    """One picture for each curve: the estimate in its band, over the grid's points in order."""
    from dproof.plotting import mean_chart

    charts = []
    for group, row in zip(_groups(answer, keys), answer.rows, strict=True):
        cell = row[column]
        if _is_curve(cell):
            curve = range(1, len(cell.low) + 1), cell.clamped_estimate, cell.low, cell.high
            title = " · ".join(part for part in (column, group) if part)
            title += f", {percent(answer.level)} band" if cell.informative else ": no information"
            charts.append(mean_chart(*curve, title=title, value=column, at="grid point"))
    return charts


# Its files ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Format:
    """How an answer is written, as which media type; a picture needs the extra `plot`."""

    write: Callable[[Answer], bytes]
    media_type: str
    is_picture: bool = False


def _json_file(answer: Answer) -> bytes:
    return (json.dumps(answer.to_json(), indent=2, allow_nan=False) + "\n").encode()


# What a cell of a spreadsheet begins with, also in full width or behind blanks, which some programs leave out; not -5.
_FORMULA = re.compile(r"[\t\r]|\s*(?:[=@＝＠]|[+＋－-](?![0-9.,%\s]*$))")


def _csv(answer: Answer) -> bytes:
    """A column for each field of an estimate, as in `Answer.flat`; a set or a curve is a list in JSON.

    A text that a spreadsheet would take for a formula has an apostrophe before it, which says that it is a text.
    """
    import csv

    columns, text = answer.flat(), StringIO(newline="")
    writer = csv.writer(text)
    for row in (columns, *zip(*columns.values(), strict=True)):
        cells = (json.dumps(value) if isinstance(value, (list, dict)) else value for value in row)
        writer.writerow(f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell for cell in cells)
    return text.getvalue().encode()


def _parquet(answer: Answer) -> bytes:
    import pyarrow.parquet

    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(answer.to_arrow(), sink)
    return bytes(sink.getvalue().to_pybytes())


def _arrow(answer: Answer) -> bytes:
    import pyarrow

    table, sink = answer.to_arrow(), pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


# What a reader of Markdown would obey: HTML, entities, links, code, emphasis and the edges of cells.
_MARKUP = re.compile(
    r"[\\|<`]|&(?=#?\w+;)|\](?=[(\[:])|(?<![(\s])\*|\*(?![)\s])|~(?=~)|(?<=~)~|\b_|_\b"
    r"|[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def _written_out(sign: re.Match[str]) -> str:
    return f"\\{sign[0] if sign[0].isprintable() else sign[0].encode('unicode_escape').decode()}"


def _markdown(answer: Answer) -> bytes:
    """A table of the estimates with their intervals, and below it how and with what care it was made."""

    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(' '.join(_MARKUP.sub(_written_out, cell).split()) for cell in cells)} |"

    are_cells = [any(isinstance(row[column], Cell) for row in answer.rows) for column in answer.columns]
    rule = f"|{'|'.join(' ---: ' if is_cell else ' --- ' for is_cell in are_cells)}|"
    below = [f"{percent(answer.level)} intervals.", *answer.notes] if answer.has_intervals else [*answer.notes]
    lines = [line(answer.columns), rule, *map(line, answer.texts())]
    return "".join(f"{text}\n" for text in [*lines, *(part for note in below for part in ("", note))]).encode()


def _workbook(answer: Answer) -> bytes:
    """A sheet with a column for each field of an estimate, as in `Answer.flat`, and one with the notes."""
    from dproof.tables.workbook import workbook

    columns = answer.flat()
    notes = [("level", answer.level), ("method", answer.method), *(("note", note) for note in answer.notes)]
    return workbook({"answer": [tuple(columns), *zip(*columns.values(), strict=True)], "notes": notes})


def _png(answer: Answer) -> bytes:
    from dproof.plotting import render_png

    return render_png(answer.plot().to_dict())


def _html(answer: Answer) -> bytes:
    """A page without any script that has the picture and the table."""
    from markupsafe import Markup

    from dproof.html import render

    picture, table = Markup(answer.to_svg()), Markup(answer._repr_html_())
    return render("drawings.html", "answer", title=", ".join(answer.columns), picture=picture, table=table).encode()


FORMATS = {
    ".json": Format(_json_file, "application/json"),
    ".csv": Format(_csv, "text/csv"),
    ".xlsx": Format(_workbook, "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ".md": Format(_markdown, "text/markdown"),
    ".parquet": Format(_parquet, "application/vnd.apache.parquet"),
    ".arrow": Format(_arrow, "application/vnd.apache.arrow.file"),
    ".svg": Format(lambda answer: answer.to_svg().encode(), "image/svg+xml", is_picture=True),
    ".png": Format(_png, "image/png", is_picture=True),
    ".html": Format(_html, "text/html", is_picture=True),
}


def endings(*, pictures: bool = False) -> str:
    """The endings of the formats, or of those that are pictures, as a sentence has them.

    >>> endings(pictures=True)
    '.svg, .png or .html'
    """
    *first, last = (ending for ending, one in FORMATS.items() if one.is_picture or not pictures)
    return f"{', '.join(first)} or {last}"


def output_file(path: str | os.PathLike[str], *, picture: bool = False) -> Path:
    """The path of a file that an answer can be written to, checked before anything is asked, paid for or drawn.

    >>> output_file("answer.gif", picture=True)
    Traceback (most recent call last):
    dproof.errors.ArgumentError: a picture is written to a file that ends in .svg, .png or .html, not 'answer.gif'
    """
    file = Path(path)
    found = FORMATS.get(file.suffix.lower())
    if found is None or (picture and not found.is_picture):
        what = "a picture" if picture else "an answer"
        raise ArgumentError(f"{what} is written to a file that ends in {endings(pictures=picture)}, not {file.name!r}")
    if not file.absolute().parent.is_dir():
        raise FileError(f"the folder {str(file.absolute().parent)!r} is not there: make it first")
    if found.is_picture:
        from dproof.plotting import check_drawing

        check_drawing()
    return file


def save(answer: Answer, file: Path) -> None:
    """Write an answer in the format that the file's ending names."""
    file.write_bytes(FORMATS[file.suffix.lower()].write(answer))
