"""What a report draws: heat maps of laws and tables, laws of one value, curves in their bands, δ against ε.

Positions are worked out here; how a picture looks is said by its template and by page.css. Every picture says in words
what it shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dproof.curves.lattice import centre_of
from dproof.exact import written
from dproof.html import render
from dproof.laws.law import listed_sizes
from dproof.mechanisms.mechanism import Mechanism, privacy_profile
from dproof.plotting import label_text, label_texts

if TYPE_CHECKING:
    from markupsafe import Markup

_MOST_LABELLED = 24  # rows and columns of a picture that can still be read
_MOST_BLOCKS = 48  # rows and columns that can be seen apart
_MOST_NUMBERED = 10  # columns up to which numbers are written into the cells
_LONGEST_LABEL = 22  # letters of a label
_ACROSS = 40  # letters of the names of columns that stand side by side
_LETTER = 6.2  # its width
_WIDTH, _HEIGHT = 640, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 92, 628, 10, 192
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 4", "12 3")  # lines that lie on each other can be told apart


@dataclass(frozen=True, slots=True)
class Shape:
    """A path of a plot; its kind and the number of its series say how it looks."""

    kind: str  # line, band or bars
    path: str
    series: int = 0

    @property
    def dashes(self) -> str:
        return _DASHES[self.series] if self.kind == "line" else ""


class _Scale:
    """Places on a page for the numbers of an axis."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self.low, self.high, self.start, self.end = low, high if high > low else low + 1, start, end

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 2)

    def ticks(self, most: int = 6) -> list[tuple[float, str]]:
        """Round numbers and their places."""
        step = _round_step((self.high - self.low) / most)
        digits = max(0, -floor(log10(step) + 1e-9))
        numbers = (n * step for n in range(ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9) + 1))
        return [(self(number), f"{number + 0.0:,.{digits}f}".replace("-", "−")) for number in numbers]

    def dates(self, most: int = 6) -> list[tuple[float, str]]:
        """First days of years, or where there are few of them, single days."""
        years = range(date.fromordinal(max(1, int(self.low))).year, date.fromordinal(int(self.high)).year + 1)
        if len(years) < 3:
            days = np.linspace(self.low, self.high, 4)[1:-1]
            return [(self(day), date.fromordinal(int(day)).isoformat()) for day in days]
        step = max(1, int(_round_step(len(years) / most)))
        shown = [(self(date(year, 1, 1).toordinal()), str(year)) for year in years if year % step == 0]
        return [(at, text) for at, text in shown if self.start <= at <= self.end]


def _round_step(least: float) -> float:
    """The next of 1, 2, 5, 10, 20, 50 and so on."""
    power = 10.0 ** floor(log10(least))
    return next(power * times for times in (1, 2, 5, 10) if power * times >= least * (1 - 1e-9))


def law_picture(mechanism: Mechanism) -> Markup:
    """The law: a heat map of the solution matrix where it can be read, else what happens to one value."""
    family = mechanism.family
    chances = family.chances()
    if family.inputs is None:  # a curve, which may be missing
        return noise_picture(mechanism) + ("" if chances is None else render_chances(*chances))
    if family.outputs is not None and max(mechanism.inputs.size, family.outputs) <= _MOST_LABELLED:
        return matrix_table(mechanism) if family.outputs <= _MOST_NUMBERED else matrix_picture(mechanism)
    return one_law(mechanism) if chances is None else render_chances(*chances)


def render_chances(title: str, chances: Mapping[str, float]) -> Markup:
    """A few alternatives as labelled bars."""
    return render("drawings.html", "chances", title=title, chances=chances.items())


def heat_table(
    rows: Sequence[str],
    columns: Sequence[str],
    cells: NDArray[np.float64],
    *,
    text: Callable[[float], str],
    hint: Callable[[float], str],
    about: str,
) -> Markup:
    """A table whose cells are the stronger coloured, the greater their numbers are; none is negative."""
    most = max(float(cells.max()), 1e-300)
    lines = [
        (label, [{"strength": cell / most, "text": text(cell), "hint": hint(cell)} for cell in line])
        for label, line in zip(rows, cells.tolist(), strict=True)
    ]
    upright = sum(map(len, columns)) > _ACROSS
    return render("drawings.html", "heat_table", rows=lines, columns=columns, upright=upright, about=about)


def matrix_table(mechanism: Mechanism) -> Markup:
    """P(Y_d = y) for every input d (rows) and output y (columns), as a table of per cents."""
    law = mechanism.matrix()
    return heat_table(
        _labels(mechanism.inputs, law.shape[0]),
        _labels(mechanism.outputs, law.shape[1]),
        law,
        text=lambda chance: f"{chance:.1%}",
        hint=lambda chance: f"{chance:.3%}",
        about="The law: true values in rows, released values in columns, probabilities in the cells",
    )


def matrix_picture(mechanism: Mechanism) -> Markup:
    """The solution matrix as a picture; where there are many inputs or outputs, blocks of them."""
    inputs, outputs, _ = listed_sizes(mechanism.family)
    few = max(inputs, outputs) <= _MOST_LABELLED
    rows, columns = _blocks(inputs), _blocks(outputs)
    law = np.add.reduceat(np.add.reduceat(mechanism.matrix(), rows[:-1]), columns[:-1], axis=1)
    density = law / np.diff(rows)[:, None] / np.diff(columns)
    height, width = density.shape
    numbered = few and width <= _MOST_NUMBERED
    cell_width, cell_height = (46, 30) if numbered else (22, 22) if few else (8, 8)
    gap = 2 if few else 0
    row_labels = _labels(mechanism.inputs, inputs) if few else []
    column_labels = _labels(mechanism.outputs, outputs) if few else []
    left = 40 + _LETTER * max(map(len, row_labels), default=0)
    top, below = 6, 42 + 0.65 * _LETTER * max(map(len, column_labels), default=0)
    right, bottom = left + width * cell_width, top + height * cell_height
    cells = [
        {
            "x": round(left + across * cell_width, 1),
            "y": top + down * cell_height,
            "strength": p / density.max(),
            "text": f"{p:.1%}" if numbered else "",
        }
        for (down, across), p in np.ndenumerate(density)
    ]

    def title(name: str, space: Any, size: int) -> str:
        ends = [_short(label_text(space.label(n))) for n in (0, size - 1)]
        return name if few else f"{name}, from {ends[0]} to {ends[1]}"

    x_title = title("released value", mechanism.outputs, outputs)
    y_title = title("true value", mechanism.inputs, inputs)
    kept = np.diagonal(mechanism.matrix()) if inputs == outputs else np.zeros(0)
    about = f"Heat map of the law: {y_title} down, {x_title} across; the stronger the colour, the more probable"
    about += f". A value is kept with probability {_between(kept)}." if len(kept) else "."
    return render(
        "drawings.html",
        "matrix",
        width=round(max(right + 12, 320)),
        height=round(bottom + below),
        left=round(left, 1),
        right=right,
        top=top,
        bottom=bottom,
        cells=cells,
        cell_width=cell_width - gap,
        cell_height=cell_height - gap,
        corner=3 if few else 0,
        row_labels=[(top + (n + 0.5) * cell_height + 3, label) for n, label in enumerate(row_labels)],
        column_labels=[(round(left + (n + 0.6) * cell_width, 1), label) for n, label in enumerate(column_labels)],
        x_title=x_title,
        y_title=y_title,
        about=about,
    )


def _between(chances: Any) -> str:
    low, high = f"{chances.min():.3g}", f"{chances.max():.3g}"
    return low if low == high else f"{low} to {high}"


def _labels(space: Any, size: int) -> list[str]:
    return list(map(_short, label_texts(map(space.label, range(size)))))


def _short(label: str) -> str:
    return label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}…"


def _blocks(size: int) -> Any:
    """Where blocks of about equal width begin, and the end."""
    return np.rint(np.linspace(0, size, min(size, _MOST_BLOCKS) + 1)).astype(np.int64)


def one_law(mechanism: Mechanism) -> Markup:
    """The law of the middle input as bars."""
    label = mechanism.inputs.label(mechanism.inputs.size // 2)
    law = _main_outputs(mechanism, label)
    is_number = all(isinstance(y, (int, float, Fraction, Decimal)) for y, _ in law)
    is_date = not is_number and all(isinstance(y, date) for y, _ in law)
    places = [float(y) if is_number else y.toordinal() if is_date else n for n, (y, _) in enumerate(law)]
    named = written(label) if is_number else label_text(label)
    gap = min(np.diff(places), default=1.0)
    x = _Scale(places[0] - gap / 2, places[-1] + gap / 2, _LEFT, _RIGHT)
    y = _Scale(0, max(float(p) for _, p in law), _BOTTOM, _TOP)
    wide = 0.45 if len(law) <= 60 else 0.5
    path = "".join(
        f"M{x(at - wide * gap)},{_BOTTOM}V{y(float(p))}H{x(at + wide * gap)}V{_BOTTOM}Z"
        for at, (_, p) in zip(places, law, strict=True)
    )
    x_ticks = x.ticks() if is_number else x.dates() if is_date else []
    if not x_ticks:
        x_ticks = [(x(n), _short(label_text(law[n][0]))) for n in np.linspace(0, len(law) - 1, 4).astype(int)]
    most, chance = max(law, key=lambda pair: pair[1])
    ends = [label_text(law[n][0]) for n in (0, -1)]
    about = (
        f"Bars: {named} is released most often as {label_text(most)}, with probability {float(chance):.3g}; shown are "
        f"the values from {ends[0]} to {ends[1]}."
    )
    shapes = [Shape("bars", path)]
    return _plot(
        shapes,
        x_ticks,
        y.ticks(4),
        about,
        title=f"what becomes of {named}",
        x_title="released value",
        y_title="probability",
    )


def _main_outputs(mechanism: Mechanism, label: Any) -> list[tuple[Any, Any]]:
    """The outputs that carry nearly all the mass, thinned to what a picture can show."""
    family = mechanism.family
    if family.moments is not None:
        middle, reach = mechanism.inputs.size // 2, 4 * max(1, int(family.moments[1]))
        places = range(middle - reach, middle + reach + 1, max(1, reach // 120))
        return [(mechanism.outputs.label(y), family.probability(middle, y)) for y in places]
    if family.total is None and family.outputs is not None:  # it is not written out: the middle, and points beside it
        middle, step = mechanism.inputs.size // 2, max(1, family.outputs // 240)
        places = range(middle % step, family.outputs, step)
        return [(mechanism.outputs.label(y), family.probability(middle, y)) for y in places]
    law = mechanism.law(label).items()
    least = max(p for _, p in law) / 1000
    shown = [(y, p) for y, p in law if p >= least]
    return shown[:: max(1, len(shown) // 240)]


def noise_picture(mechanism: Mechanism) -> Markup:
    """The centre of the region of curves, and where its released version lies 19 times in 20 at each point."""
    expansion = mechanism.lattice.expansion  # type: ignore[attr-defined]  # of a mechanism on curves
    space = expansion.space
    times = np.linspace(float(space.start), float(space.stop), 121)
    centre = np.interp(times, space.times, centre_of(expansion))
    spread = 1.96 * mechanism.standard_error(times)  # type: ignore[attr-defined]
    return band_picture(
        times.tolist(),
        centre.tolist(),
        (centre - spread).tolist(),
        (centre + spread).tolist(),
        names=("the true curve", "19 in 20 released values at each point"),
        title="what becomes of the curve in the middle",
        y_title="value",
    )


def band_picture(
    times: Sequence[float],
    middle: Iterable[float | None],
    low: Sequence[float],
    high: Sequence[float],
    *,
    names: tuple[str, str] = ("estimate", "band for the whole curve"),
    title: str = "",
    y_title: str = "mean",
) -> Markup:
    """A curve in its band; `names` are those of the line and of the band."""
    x = _Scale(float(times[0]), float(times[-1]), _LEFT, _RIGHT)
    y = _Scale(min(low), max(high), _BOTTOM, _TOP)
    points = [(t, m) for t, m in zip(times, middle, strict=True) if m is not None]
    upper, lower = zip(times, high, strict=True), zip(reversed(times), reversed(low), strict=True)
    band = Shape("band", f"{_path(x, y, upper)}{_path(x, y, lower).replace('M', 'L')}Z")
    line = Shape("line", _path(x, y, points))
    values = [m for _, m in points]
    drawn = f"between {written(min(values))} and {written(max(values))}" if values else "nowhere"
    about = (
        f"A curve in a band, from {written(times[0])} to {written(times[-1])}: {names[0]} lies {drawn}, "
        f"{names[1]} between {written(min(low))} and {written(max(high))}."
    )
    legend = [(line, names[0]), (band, names[1])]
    return _plot([band, line], x.ticks(10), y.ticks(5), about, title=title, y_title=y_title, legend=legend)


def profile_picture(mechanisms: Mapping[str, Mechanism], top: float) -> Markup:
    """δ against ε: everything the law guarantees, not one point of it."""
    grid = [round(top * n / 60, 6) for n in range(61)]
    epsilons = [Fraction(str(epsilon)) for epsilon in grid]
    deltas = {name: privacy_profile(mechanism, epsilons) for name, mechanism in mechanisms.items()}
    x = _Scale(0, top, _LEFT, _RIGHT)
    y = _Scale(0, max((max(found) for found in deltas.values()), default=1.0), _BOTTOM, _TOP)
    shapes = [Shape("line", _path(x, y, zip(grid, found, strict=True)), n) for n, found in enumerate(deltas.values())]
    told = "; ".join(f"{name}: {_profile_in_words(grid, found)}" for name, found in deltas.items())
    legend = list(zip(shapes, deltas, strict=True)) if len(shapes) > 1 else []
    return _plot(
        shapes,
        x.ticks(8),
        y.ticks(5),
        f"The least δ at each ε. {told}.",
        x_title="ε",
        y_title="least δ at ε",
        legend=legend,
    )


def _profile_in_words(grid: Sequence[float], deltas: Sequence[float]) -> str:
    zero = next((epsilon for epsilon, delta in zip(grid, deltas, strict=True) if delta == 0), None)
    reached = f"{deltas[-1]:.3g} at ε = {grid[-1]:.3g}" if zero is None else f"0 from ε = {zero:.3g}"
    return f"{deltas[0]:.3g} at ε = 0, {reached}"


def _path(x: _Scale, y: _Scale, points: Iterable[tuple[float, float]]) -> str:
    return "L".join(f"{x(float(a))},{y(float(b))}" for a, b in points).join(("M", ""))


def _plot(
    shapes: Sequence[Shape],
    x_ticks: Sequence[tuple[float, str]],
    y_ticks: Sequence[tuple[float, str]],
    about: str,
    *,
    title: str = "",
    x_title: str = "",
    y_title: str = "",
    legend: Sequence[tuple[Shape, str]] = (),
) -> Markup:
    box = {"width": _WIDTH, "height": _HEIGHT, "left": _LEFT, "right": _RIGHT, "top": _TOP, "bottom": _BOTTOM}
    axes = {"x_ticks": x_ticks, "y_ticks": y_ticks, "x_title": x_title, "y_title": y_title}
    return render("drawings.html", "plot", shapes=shapes, about=about, title=title, legend=legend, **box, **axes)
