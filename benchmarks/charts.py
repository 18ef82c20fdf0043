"""How figures grow, as pictures on two logarithmic axes, in the style of dproof's reports."""

from __future__ import annotations

import altair as alt

from benchmarks.measure import Chart
from dproof.report import charts

COLOURS = [charts.ACCENT, "#b4552d", charts.INK, "#7a8a99", "#bf812d", "#5b4a8a"]


def svg(chart: Chart) -> str:
    """One line of points for each series, named at its end."""
    series = list(dict.fromkeys(name for name, _, _ in chart.points))
    rows = [{"series": name, "x": x, "y": y} for name, x, y in chart.points]
    ends = [max((row for row in rows if row["series"] == name), key=lambda row: row["x"]) for name in series]
    colour = alt.Color("series:N", sort=series, scale=alt.Scale(domain=series, range=COLOURS), legend=None)

    def axis(title: str) -> alt.Axis:
        return alt.Axis(title=title, format="~s", tickCount=6, grid=True, gridColor="#eef2f2")

    logarithmic = alt.Scale(type="log", nice=False, padding=12)
    base = alt.Chart(title=chart.title).encode(
        x=alt.X("x:Q", scale=logarithmic, axis=axis(chart.x)),
        y=alt.Y("y:Q", scale=logarithmic, axis=axis(chart.y)),
        color=colour,
    )
    lines = base.mark_line(point=alt.OverlayMarkDef(size=40), strokeWidth=2, clip=True).properties(
        data={"values": rows}
    )
    names = base.mark_text(align="left", dx=8, fontSize=11).encode(text="series:N").properties(data={"values": ends})
    return charts.svg((lines + names).properties(width=480, height=220))
