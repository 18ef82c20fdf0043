"""Answers as pictures: every estimate with its interval, and beside it what the sanitised rows say as they are."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import altair as alt

from dproof.errors import InputError
from dproof.queries.answer import Answer, Cell
from dproof.report import rendering
from dproof.report.charts import label_text, styled
from dproof.report.curve_charts import ACCENT, INK

_MOST_ROWS = 200
_NAIVE = "#b8c4c4"


def plot(answer: Answer, path: Any = None) -> Any:
    """The chart of an answer; written to `path` where it is given, as its ending says.

    >>> rows = [{"hobby": "Cars", "n": Cell(52.0, 40.0, 64.0, 6.0, 80)}]
    >>> sorted(plot(Answer(("hobby", "n"), rows)).to_dict())[:3]
    ['$schema', 'config', 'data']
    """
    chart = _chart(answer)
    if path is not None:
        _write(chart, answer, Path(path))
    return chart


def _chart(answer: Answer) -> Any:
    measured = [column for column in answer.columns if any(_drawn(row[column]) for row in answer.rows)]
    if not measured:
        raise InputError("this answer has no estimates with intervals, so there is nothing to draw")
    if len(answer.rows) > _MOST_ROWS:
        raise InputError(f"{len(answer.rows)} rows are too many for a picture: add LIMIT {_MOST_ROWS} or less")
    keys = [column for column in answer.columns if column not in measured]
    charts = [_one(answer, column, keys) for column in measured]
    return styled(charts[0] if len(charts) == 1 else alt.vconcat(*charts))


def _drawn(value: Any) -> bool:
    return isinstance(value, Cell) and isinstance(value.estimate, (int, float))


def _one(answer: Answer, column: str, keys: list[str]) -> Any:
    """One estimated column: a dot and its interval for each row, and a tick for the naive value."""
    rows = []
    for row in answer.rows:
        cell = row[column]
        if _drawn(cell):
            group = " · ".join(label_text(row[key]) for key in keys)
            shown = str(cell).split(" ±")[0].split(" [")[0]
            rows.append({"group": group, "shown": shown, **cell.to_json()})
    order = [row["group"] for row in rows]
    title = alt.Title(f"{column}, {answer.level:.0%} intervals", subtitle="grey: the sanitised rows as they are")
    base = alt.Chart({"values": rows}, title=title).encode(
        y=alt.Y("group:N", sort=order, axis=alt.Axis(title=" · ".join(keys) or None, labelLimit=260))
    )

    def across(field: str) -> Any:
        axis = alt.Axis(title=column, grid=True, gridColor="#eef2f2")
        return alt.X(f"{field}:Q", axis=axis, scale=alt.Scale(zero=False))

    naive = base.mark_tick(color=_NAIVE, thickness=3, size=16).encode(x=across("raw"))
    lines = base.mark_rule(color=ACCENT, strokeWidth=2).encode(x=across("low"), x2="high:Q")
    dots = base.mark_circle(color=ACCENT, size=70, opacity=1).encode(x=across("estimate"))
    labels = base.mark_text(dy=-9, fontSize=10, color=INK).encode(x=across("estimate"), text="shown:N")
    return (naive + lines + dots + labels).properties(width=520, height=max(48, 30 * len(rows)))


def _write(chart: Any, answer: Answer, path: Path) -> None:
    """SVG, PNG, or a page without any script that has the picture and the table."""
    kind = path.suffix.lower()
    if kind not in (".svg", ".png", ".html"):
        raise InputError(f"a picture is written to a file that ends in .svg, .png or .html, not {path.name!r}")
    if not path.absolute().parent.is_dir():
        raise InputError(f"the folder {str(path.absolute().parent)!r} is not there: make it first")
    if kind == ".png":
        path.write_bytes(rendering.png(chart.to_dict()))
        return
    svg = rendering.svg(chart.to_dict())
    if kind == ".html":
        style = "body{font-family:Helvetica,Arial,sans-serif;margin:2em}td,th{padding:.3em 1em;text-align:left}"
        title = html.escape(", ".join(answer.columns))
        svg = (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{style}</style>'
            f"<body>{svg}{answer._repr_html_()}</body></html>"
        )
    path.write_text(svg, "utf-8")
