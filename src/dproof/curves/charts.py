"""Curves as pictures: what the noise does to one, a mean with its band, and projections on the way to the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import altair as alt
import numpy as np
from numpy.typing import NDArray

from dproof.charts.style import ACCENT, BAND, INK, PALE, WARM
from dproof.curves.expansion import centre_of
from dproof.curves.projections import Projection

Numbers: TypeAlias = Sequence[float] | NDArray[np.float64]
_WIDTH, _HEIGHT = 520, 220
_ORIGINAL = "original"


def noise_chart(mechanism: Any, title: str = "what becomes of the curve in the middle") -> Any:
    """The centre of the region, and where its released version lies 19 times in 20 at each point."""
    space = mechanism.lattice.expansion.space
    times = np.linspace(float(space.start), float(space.stop), 121)
    centre = np.interp(times, space.times, centre_of(mechanism.lattice.expansion))
    spread = 1.96 * mechanism.standard_error(times)
    names = ("the true curve", "19 in 20 released values at each point")
    return _band(times, centre, centre - spread, centre + spread, title, "value", names=names)


def mean_chart(
    times: Numbers,
    estimate: Numbers,
    low: Numbers,
    high: Numbers,
    *,
    original: Numbers | None = None,
    title: str = "",
    value: str = "mean",
    at: str | None = None,
) -> Any:
    """A mean curve with its simultaneous band and, for a curator's own eyes, the original beside it."""
    names = ("estimate", "band for the whole curve") + (() if original is None else (_ORIGINAL,))
    chart = _band(np.asarray(times), estimate, low, high, title, value, at, names=names)
    if original is None:
        return chart
    points = [{"t": float(t), "y": float(y), "other": _ORIGINAL} for t, y in zip(times, original, strict=True)]
    line = alt.Chart({"values": points}).mark_line(strokeDash=[5, 3], strokeWidth=2)
    return chart + line.encode(x="t:Q", y="y:Q", color="other:N")


def _band(
    times: Any, middle: Any, low: Any, high: Any, title: str, value: str, at: str | None = None, *, names: Sequence[str]
) -> Any:
    """A line in its band; `names` are those of the line, the band and what is drawn beside them, for the legend."""
    rows = [
        {"t": float(t), "y": y, "low": float(a), "high": float(b), "line": names[0], "band": names[1]}
        for t, y, a, b in zip(times, (None if y is None else float(y) for y in middle), low, high, strict=True)
    ]
    base = alt.Chart({"values": rows}, title=title).encode(
        x=alt.X("t:Q", axis=alt.Axis(title=at, tickCount=12, labelSeparation=6), scale=alt.Scale(nice=False))
    )
    scale = alt.Scale(domain=list(names), range=[ACCENT, BAND, WARM][: len(names)])
    legend = alt.Legend(
        title=None, orient="bottom", symbolType="stroke", symbolStrokeWidth=4, labelLimit=300, columnPadding=24
    )
    axis = alt.Y("low:Q", axis=alt.Axis(title=value, tickCount=6), scale=alt.Scale(zero=False))
    area = base.mark_area(opacity=1).encode(y=axis, y2="high:Q", color="band:N")
    line = base.mark_line(strokeWidth=2.5).encode(y="y:Q", color=alt.Color("line:N", scale=scale, legend=legend))
    return (area + line).properties(width=_WIDTH, height=_HEIGHT)


def projection_chart(projections: Mapping[str, Sequence[Projection]], certified: Mapping[str, float]) -> Any:
    """δ as more and more points see it, and the line of the whole function that it grows to. HLM15, Example 4."""
    seen = [
        {"points": p.points, "delta": p.delta, "function": name} for name, found in projections.items() for p in found
    ]
    whole = [{"delta": value, "function": name} for name, value in certified.items()]
    scale = alt.Scale(range=[ACCENT, WARM, INK, PALE])
    colour = alt.Color("function:N", scale=scale, legend=alt.Legend(title=None))
    axis = alt.X(
        "points:Q", scale=alt.Scale(type="log", base=2, nice=False), axis=alt.Axis(title="grid points", tickCount=8)
    )
    line = alt.Chart({"values": seen}).mark_line(point=True, strokeWidth=2)
    line = line.encode(x=axis, y=alt.Y("delta:Q", axis=alt.Axis(title="δ at ε")), color=colour)
    limit = alt.Chart({"values": whole}).mark_rule(strokeDash=[4, 4]).encode(y="delta:Q", color=colour)
    return (limit + line).properties(width=_WIDTH, height=_HEIGHT)
