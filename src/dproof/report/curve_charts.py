"""Curves as pictures: what the noise does to one, a mean with its band, and projections on the way to the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from dproof.curves.expansion import centre_of
from dproof.curves.projections import Projection

INK, ACCENT, PALE, WARM = "#1f2933", "#0b6e6e", "#9cc9c6", "#b4552d"
_WIDTH, _HEIGHT = 520, 220


def noise_chart(mechanism: Any, title: str = "what becomes of the curve in the middle") -> Any:
    """The centre of the region, and where its released version lies 19 times in 20 at each point."""
    space = mechanism.lattice.expansion.space
    times = np.linspace(float(space.start), float(space.stop), 121)
    centre = np.interp(times, space.times, centre_of(mechanism.lattice.expansion))
    spread = 1.96 * mechanism.standard_error(times)
    return _band(times, centre, centre - spread, centre + spread, title, "value")


def mean_chart(
    times: Sequence[float],
    estimate: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    *,
    original: Sequence[float] | None = None,
    title: str = "",
    value: str = "mean",
) -> Any:
    """A mean curve with its simultaneous band and, for a curator's own eyes, the original beside it."""
    chart = _band(np.asarray(times), estimate, low, high, title, value)
    if original is None:
        return chart
    points = [{"t": float(t), "y": float(y)} for t, y in zip(times, original, strict=True)]
    line = alt.Chart({"values": points}).mark_line(color=WARM, strokeDash=[5, 3], strokeWidth=2)
    return chart + line.encode(x="t:Q", y="y:Q")


def _band(times: Any, middle: Any, low: Any, high: Any, title: str, value: str) -> Any:
    rows = [
        {"t": float(t), "y": float(y), "low": float(a), "high": float(b)}
        for t, y, a, b in zip(times, middle, low, high, strict=True)
    ]
    base = alt.Chart({"values": rows}, title=title).encode(
        x=alt.X("t:Q", axis=alt.Axis(title=None, tickCount=12), scale=alt.Scale(nice=False))
    )
    axis = alt.Y("low:Q", axis=alt.Axis(title=value, tickCount=6), scale=alt.Scale(zero=False))
    area = base.mark_area(color=PALE, opacity=0.45).encode(y=axis, y2="high:Q")
    line = base.mark_line(color=ACCENT, strokeWidth=2.5).encode(y="y:Q")
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
