"""Laws as pictures: Altair charts rendered to SVG without a network."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import altair as alt
import numpy as np

from dproof.curves.lattice import centre_of
from dproof.exact import written
from dproof.laws.law import listed
from dproof.mechanisms.mechanism import Mechanism
from dproof.plotting import ACCENT, INK, band_chart, label_text

_MOST_LABELS = 24  # rows and columns of a picture that can still be read
_MOST_CELLS = 48  # rows and columns that can be seen apart
_LONGEST = 120  # width of a label
_SCHEME = ["#f4f8f8", "#9cc9c6", "#2f8f8b", "#0b4f50"]


def law_chart(mechanism: Mechanism) -> Any:
    """The law: a heat map of the solution matrix where it can be read, else what happens to one value."""
    family = mechanism.family
    if family.inputs is None:
        chances = family.chances()  # where a curve may be missing
        return noise_chart(mechanism) if chances is None else noise_chart(mechanism) & _chances(*chances)
    if family.outputs is not None and max(mechanism.inputs.size, family.outputs) <= _MOST_LABELS:
        return heat_map(mechanism)
    chances = family.chances()
    return one_law(mechanism) if chances is None else _chances(*chances)


def noise_chart(mechanism: Any, title: str = "what becomes of the curve in the middle") -> Any:
    """The centre of the region, and where its released version lies 19 times in 20 at each point."""
    space = mechanism.lattice.expansion.space
    times = np.linspace(float(space.start), float(space.stop), 121)
    centre = np.interp(times, space.times, centre_of(mechanism.lattice.expansion))
    spread = 1.96 * mechanism.standard_error(times)
    names = ("the true curve", "19 in 20 released values at each point")
    return band_chart(times, centre, centre - spread, centre + spread, title, "value", names=names)


def _chances(title: str, chances: Mapping[str, float]) -> Any:
    """A few alternatives as labelled bars."""
    bars = [{"what": what, "probability": chance, "text": f"{chance:.1%}"} for what, chance in chances.items()]
    base = alt.Chart({"values": bars}, title=title).encode(
        x=alt.X("probability:Q", scale=alt.Scale(domain=[0, 1]), axis=None),
        y=alt.Y("what:N", sort=list(chances), axis=alt.Axis(title=None, labelLimit=2 * _LONGEST)),
    )
    labels = base.mark_text(align="left", dx=4, color=INK).encode(text="text:N")
    return (base.mark_bar(color=ACCENT, cornerRadiusEnd=3) + labels).properties(width=420, height=30 * len(bars))


def heat_map(mechanism: Mechanism) -> Any:
    """P(Y_d = y) for every input d (rows) and output y (columns); where there are many, for blocks of them."""
    inputs_count, outputs_count, _ = listed(mechanism.family)
    few = max(inputs_count, outputs_count) <= _MOST_LABELS
    rows, columns = _blocks(inputs_count), _blocks(outputs_count)
    law = np.add.reduceat(np.add.reduceat(mechanism.matrix(), rows[:-1]), columns[:-1], axis=1)
    density = law / np.diff(rows)[:, None] / np.diff(columns)
    inputs = [label_text(mechanism.inputs.label(int(n))) for n in rows[:-1]]
    outputs = [label_text(mechanism.outputs.label(int(n))) for n in columns[:-1]]
    cells = [
        {"true value": d, "released value": y, "probability": float(p)}
        for d, row in zip(inputs, density, strict=True)
        for y, p in zip(outputs, row, strict=True)
    ]

    def axis(title: str, space: Any, **options: Any) -> Any:
        if few:
            return alt.Axis(title=title, labelLimit=_LONGEST, **options)
        ends = (label_text(space.label(n)) for n in (0, space.size - 1))
        return alt.Axis(title=f"{title}, from {' to '.join(ends)}", labels=False, ticks=False)

    across, down = (
        axis("released value", mechanism.outputs, labelAngle=-40),
        axis("true value", mechanism.inputs, titlePadding=28),
    )
    base = alt.Chart({"values": cells}).encode(
        x=alt.X("released value:N", sort=outputs, axis=across), y=alt.Y("true value:N", sort=inputs, axis=down)
    )
    colour = alt.Color("probability:Q", scale=alt.Scale(range=_SCHEME, domainMin=0), legend=None)
    shape = {"cornerRadius": 3, "stroke": "white", "strokeWidth": 2} if few else {"aria": False}
    chart = base.mark_rect(**shape).encode(color=colour)
    side = 7 if not few else 46 if len(outputs) <= 10 else 24
    if len(outputs) <= 10:
        dark = alt.condition(f"datum.probability > {0.6 * float(density.max())}", alt.value("white"), alt.value(INK))
        chart += base.mark_text(fontSize=11).encode(text=alt.Text("probability:Q", format=".1%"), color=dark)
    return chart.properties(width=side * len(outputs), height=min(side, 34) * len(inputs))


def _blocks(size: int) -> Any:
    """Where blocks of about equal width begin, and the end."""
    return np.rint(np.linspace(0, size, min(size, _MOST_CELLS) + 1)).astype(np.int64)


def one_law(mechanism: Mechanism) -> Any:
    """The law of the middle input as bars."""
    middle = mechanism.inputs.size // 2
    label = mechanism.inputs.label(middle)
    law = _central(mechanism, label)
    numbers = all(isinstance(y, (int, float, Fraction, Decimal)) for y, _ in law)
    dates = all(isinstance(y, date) for y, _ in law)
    kind = "Q" if numbers else "T" if dates else "N"
    bars = [{"released value": float(y) if numbers else label_text(y), "probability": float(p)} for y, p in law]
    return (
        alt.Chart({"values": bars}, title=f"what becomes of {written(label) if numbers else label_text(label)}")
        .mark_bar(color=ACCENT, size=max(1, 480 // max(len(bars), 1)))
        .encode(
            x=alt.X(f"released value:{kind}", axis=alt.Axis(tickCount=8, labelSeparation=8, labelOverlap=True)),
            y=alt.Y("probability:Q", axis=alt.Axis(tickCount=4)),
        )
        .properties(width=520, height=160)
    )


def _central(mechanism: Mechanism, label: Any) -> list[tuple[Any, Any]]:
    """The outputs that carry nearly all the mass, thinned to what a picture can show."""
    family = mechanism.family
    if family.moments is not None:
        middle, reach = mechanism.inputs.size // 2, 4 * max(1, int(family.moments[1]))
        places = range(middle - reach, middle + reach + 1, max(1, reach // 120))
        return [(mechanism.outputs.label(y), family.probability(middle, y)) for y in places]
    law = mechanism.law(label).items()
    floor = max(p for _, p in law) / 1000
    shown = [(y, p) for y, p in law if p >= floor]
    step = max(1, len(shown) // 240)
    return shown[::step]


def profile_chart(mechanisms: dict[str, Mechanism], top: float) -> Any:
    """δ against ε: everything the law guarantees, not one point of it."""
    points = [
        {"epsilon": top * n / 60, "delta": mechanism.delta(round(top * n / 60, 6)), "column": name}
        for name, mechanism in mechanisms.items()
        for n in range(61)
    ]
    return (
        alt.Chart({"values": points})
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("epsilon:Q", axis=alt.Axis(title="ε", tickCount=8, labelSeparation=8)),
            y=alt.Y("delta:Q", axis=alt.Axis(title="least δ at ε", tickCount=5)),
            color=alt.Color("column:N", legend=alt.Legend(title=None)),
        )
        .properties(width=520, height=200)
    )
