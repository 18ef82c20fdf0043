"""The house style of charts: colours, quiet axes, labels as a reader would write them."""

from __future__ import annotations

from typing import Any

from dproof.charts import rendering

INK, ACCENT, PALE, BAND, WARM = "#1f2933", "#0b6e6e", "#9cc9c6", "#d3e7e5", "#b4552d"


def svg(chart: Any) -> str:
    """The chart as an SVG element, to stand inside a page."""
    return rendering.svg(styled(chart).to_dict(validate=False))


def styled(chart: Any) -> Any:
    """The house style: quiet axes, one accent."""
    font = "Helvetica, Arial, sans-serif"
    return (
        # A browser may have a wider font than the one that was measured: leave it some room.
        chart.configure(padding={"left": 24, "right": 24, "top": 5, "bottom": 5}, background="transparent")
        .configure_view(stroke=None)
        .configure_axis(
            labelFont=font,
            titleFont=font,
            labelColor=INK,
            titleColor=INK,
            grid=False,
            titleFontWeight=500,
            titlePadding=10,
        )
        .configure_legend(labelFont=font, titleFont=font)
        .configure_text(font=font)
        .configure_title(font=font, color=INK, anchor="start", fontWeight=600)
    )


def label_text(value: Any) -> str:
    """A label as a reader would write it."""
    if value is None:
        return "(missing)"
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(map(str, value))) + "}"
    if isinstance(value, dict):
        return ", ".join(str(part) for part in value.values())
    return str(value)
