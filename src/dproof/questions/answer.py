"""An answer: rows of values and estimates, the same whether a release or a curator gave it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dproof.exact import int_or_float, written
from dproof.spaces.space import Space

_SHOWN = 4  # points of a curve that a line of text shows
SHOWN_ROWS = 50  # rows of a table that are printed unless all are wanted
NOTHING = "no information"
RARELY = (  # where a ± that is told beforehand depends on the data
    "rare: where a group, or a condition, has a tenth of the rows that it has if they are spread evenly; "
    "`share_of_rows` of a question in the plan says what it has."
)


def rarely(half_width: float | None) -> str:
    """± of a rare group, behind that of a common one; None tells nothing."""
    return f" (rare: {NOTHING if half_width is None else f'± {written(half_width)}'})"


def stated(share: float | None) -> str:
    """For which share of the rows a ± is, where the plan states it."""
    return "" if share is None else f", where a group or condition has {100 * share:.6g}% of the rows"


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
        return self._with_interval()

    def _with_interval(self) -> str:
        width, moved = self.high - self.low, self.clamped_estimate
        if width == 0:
            value = self.low if moved is None else moved
            shown = _number(value, None, self.decimals)
            return f"{shown} ± 0" if self.stderr else shown
        whole = isinstance(moved, int)  # a curator's count, and then its bounds are whole as well
        numbers = [int(n) if whole and float(n).is_integer() else n for n in (self.low, self.high, width / 2)]
        low, high, half = (_number(number, width, self.decimals) for number in numbers)
        if moved is None:
            return f"[{low}, {high}]"
        middle = (self.high + self.low) / 2
        # Half the width of a rounded interval may need one decimal more than was asked for.
        near = self.decimals is None and abs(middle - moved) < width / 50
        interval = f"± {half}" if near else f"[{low}, {high}]"
        return f"{_number(moved, width, self.decimals)} {interval}"

    def to_json(self) -> dict[str, Any]:
        """The six fields, with None for what is not finite."""
        names = ("estimate", "low", "high", "stderr", "raw", "informative")
        return {name: _json(getattr(self, name)) for name in names}


@dataclass(frozen=True, slots=True)
class Answer:
    """A table of values and cells.

    >>> answer = Answer(("sex", "n"), [{"sex": "f", "n": Cell(52, 48.0, 56.0, 2.0, 52)}])
    >>> print(answer)
    sex  n
    f    52 ± 4
    """

    columns: tuple[str, ...]
    rows: list[dict[str, Any]]
    level: float = 0.95
    notes: tuple[str, ...] = ()
    method: str = ""

    def __str__(self) -> str:
        lines = [list(self.columns), *self.texts(SHOWN_ROWS)]
        widths = [max(len(line[n]) for line in lines) for n in range(len(self.columns))]
        table = [
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines
        ]
        return "\n".join([*table, *self._more(), *([""] if self.notes else []), *self.notes])

    def texts(self, most: int | None = None) -> list[list[str]]:
        """The rows as they are shown, or the first of them."""
        return [[_shown(row[column]) for column in self.columns] for row in self.rows[:most]]

    def _more(self) -> list[str]:
        more = len(self.rows) - SHOWN_ROWS
        return [f"… {more:,} more (all are in .rows)"] if more > 0 else []

    @property
    def has_intervals(self) -> bool:
        """Whether any estimate has an interval of some width: an exact one needs none."""
        cells = (value for row in self.rows for value in row.values() if isinstance(value, Cell))
        return any(cell.low is not None and cell.low != cell.high for cell in cells)

    def _repr_html_(self) -> str:
        """The table as a notebook shows it."""
        from dproof.html import paragraph, table

        parts = [table(self.columns, self.texts(SHOWN_ROWS)), *map(paragraph, (*self._more(), *self.notes))]
        return "".join(parts)  # a sum of markup and a plain text would escape that

    def to_json(self) -> dict[str, Any]:
        """One JSON object: columns, rows, level, and how and with what care the answer was made."""
        rows = [{column: _json(row[column]) for column in self.columns} for row in self.rows]
        notes = list(self.notes)
        return {"columns": list(self.columns), "rows": rows, "level": self.level, "method": self.method, "notes": notes}

    def flat(self) -> dict[str, list[Any]]:
        """Columns of plain values: an estimate n has beside it n_low, n_high, n_stderr, n_raw and n_informative."""
        flat: dict[str, list[Any]] = {}
        for column in self.columns:
            values = [row[column] for row in self.rows]
            if not any(isinstance(value, Cell) for value in values):
                flat[column] = [_json(value) for value in values]
                continue
            cells = [value.to_json() if isinstance(value, Cell) else {"estimate": _json(value)} for value in values]
            flat[column] = [cell["estimate"] for cell in cells]
            for name in ("low", "high", "stderr", "raw", "informative"):
                flat[f"{column}_{name}"] = [cell.get(name) for cell in cells]
        return flat

    def plot(self, path: Any = None) -> Any:
        """A chart of the estimates with their intervals; written to an .svg, .png or .html file where one is named.

        It is an Altair chart, and needs the extra `plot`.
        """
        from dproof.questions.answer_chart import chart
        from dproof.questions.output_formats import output_file, save

        file = None if path is None else output_file(path, picture=True)
        drawn = chart(self)
        if file is not None:
            save(self, file)
        return drawn

    def save(self, path: Any) -> None:
        """Write the answer to a file, in the format that its ending names: .json, .csv, .parquet, .arrow or a picture.

        A table has beside an estimate n the columns n_low, n_high, n_stderr, n_raw and n_informative.
        """
        from dproof.questions.output_formats import output_file, save

        save(self, output_file(path))

    def to_svg(self) -> str:
        """The chart of `plot` as an SVG element; it needs the extra `plot`."""
        from dproof.plotting import render_svg

        return render_svg(self.plot().to_dict())

    def to_arrow(self) -> Any:
        """A pyarrow.Table, in which an estimate has columns for its interval and standard error."""
        import pyarrow

        return pyarrow.table(self.flat())

    def to_pandas(self) -> Any:
        """A pandas.DataFrame, in which an estimate has columns for its interval and standard error."""
        import pandas

        return pandas.DataFrame(self.flat())

    def to_polars(self) -> Any:
        """A polars.DataFrame, in which an estimate has columns for its interval and standard error."""
        import polars

        return polars.DataFrame(self.flat(), strict=False)


def in_units_of(cell: Any, space: Space | None) -> Any:
    """A cell of numbers with the values of a space that they stand for; the interval covers whole ones."""
    if space is None or not isinstance(cell, Cell):
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


def _json(value: Any) -> Any:
    if isinstance(value, Cell):
        return value.to_json()
    if isinstance(value, Fraction):
        return int_or_float(value)
    if isinstance(value, (set, frozenset)):
        return sorted((_json(item) for item in value), key=str)
    if isinstance(value, Mapping):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_json(item) for item in value]
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
    digits = 4 if not width else max(0, 1 - math.floor(math.log10(width / 2)))
    digits = digits if decimals is None else max(0, decimals)
    return f"{float(value):,.{min(digits, 12)}f}"
