"""Answers as pictures: every estimate with its interval, and beside it the number that it was made from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dproof.errors import ArgumentError, TooLarge
from dproof.exact import percent
from dproof.plotting import ACCENT, INK, altair, label_text, mean_chart, styled
from dproof.questions.answer import Answer, Cell

_MOST_ROWS, _MOST_CURVES = 200, 24
_NAIVE = "#b8c4c4"
_ROW = 30  # height of a row, which has a label above its dot


def chart(answer: Answer) -> Any:
    """The chart of an answer.

    >>> rows = [{"hobby": "Cars", "n": Cell(52.0, 40.0, 64.0, 6.0, 80)}]
    >>> sorted(chart(Answer(("hobby", "n"), rows)).to_dict())[:2]
    ['$schema', 'config']
    """
    measured = [column for column in answer.columns if any(_drawn(row[column]) for row in answer.rows)]
    curves = [column for column in answer.columns if any(_is_curve(row[column]) for row in answer.rows)]
    if not measured and not curves:
        raise ArgumentError("this answer has no estimates with intervals, so there is nothing to draw")
    most = _MOST_CURVES if curves else _MOST_ROWS
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
    names = [" · ".join(label_text(row[key]) for key in keys) for row in answer.rows]
    if len(set(names)) == len(names):
        return names
    return [f"{name} ({n})".strip() for n, name in enumerate(names, 1)]


def _one(answer: Answer, column: str, keys: Sequence[str]) -> Any:
    """One estimated column: a dot and its interval for each row, and a tick for the number it was made from."""
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
    charts = []
    for group, row in zip(_groups(answer, keys), answer.rows, strict=True):
        cell = row[column]
        if _is_curve(cell):
            points = list(range(1, len(cell.low) + 1))
            title = " · ".join(part for part in (column, group) if part)
            title += f", {percent(answer.level)} band" if cell.informative else ": no information"
            charts.append(
                mean_chart(
                    points, cell.clamped_estimate, cell.low, cell.high, title=title, value=column, at="grid point"
                )
            )
    return charts
