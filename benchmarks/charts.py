"""How figures grow, as pictures on two logarithmic axes, in the style of dproof's reports."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

import altair as alt

from benchmarks.measure import Chart
from dproof import plotting

COLOURS = [plotting.ACCENT, "#b4552d", plotting.INK, "#7a8a99", "#bf812d", "#5b4a8a"]


def svg(chart: Chart) -> str:
    """One line of points for each series, named at its end."""
    series = list(dict.fromkeys(name for name, _, _ in chart.points))
    rows = [{"series": name, "x": x, "y": y} for name, x, y in chart.points]
    ends = [max((row for row in rows if row["series"] == name), key=lambda row: row["x"]) for name in series]
    base = alt.Chart(title=chart.title).encode(
        x=alt.X("x:Q", scale=_scale(), axis=_axis(chart.x, [x for _, x, _ in chart.points])),
        y=alt.Y("y:Q", scale=_scale(), axis=_axis(chart.y, [y for _, _, y in chart.points])),
        color=alt.Color("series:N", scale=alt.Scale(domain=series, range=COLOURS), legend=None),
    )
    drawn = base.mark_line(point=alt.OverlayMarkDef(size=40), strokeWidth=2, aria=False).properties(
        data={"values": rows}
    )
    # Names of single points might cover each other: they stand a little higher and a little lower in turns.
    alone = [end for end in ends if sum(row["series"] == end["series"] for row in rows) == 1]
    for dy, named in ((0, [end for end in ends if end not in alone]), (-4, alone[::2]), (5, alone[1::2])):
        names = base.mark_text(align="left", dx=8, dy=dy, fontSize=11, aria=False).encode(text="series:N")
        drawn += names.properties(data={"values": named})
    return plotting.svg(drawn.properties(width=480, height=220))


def _scale() -> alt.Scale:
    return alt.Scale(type="log", nice=False, padding=16)


def _axis(title: str, values: Sequence[float]) -> alt.Axis:
    """Powers of ten, and 2 and 5 times them where they would be few."""
    first, last = floor(log10(min(values))), ceil(log10(max(values)))
    steps = (1,) if last - first > 3 else (1, 2, 5)
    ticks = [step * 10.0**n for n in range(first, last + 1) for step in steps]
    label = "datum.value < 1000 ? format(datum.value, '~g') : format(datum.value, '~s')"
    return alt.Axis(title=title, values=ticks, labelExpr=label, grid=True, gridColor="#e3eaea")
