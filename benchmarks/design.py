"""The best mechanism for a metric: how long it takes, and how far Laplace noise stays behind."""

from __future__ import annotations

import warnings
from fractions import Fraction

import dproof as dp
from benchmarks.measure import Chart, Line, Section, duration
from dproof.errors import DproofWarning

POINTS = (10, 20, 40, 100, 200)
SMALL = (10, 20, 30)  # with δ the programme is a larger one
ITEMS = (2, 4, 6, 8)


def run() -> Section:
    warnings.simplefilter("ignore", DproofWarning)  # a best design may answer values alike: here that is no news
    lines, ratios = [], []
    points: list[tuple[str, float, float]] = []
    for size in POINTS:
        space = dp.Categories(range(size), metric="ordinal")
        line = duration(f"line of {size} points, ε = 1", lambda s=space: dp.design(s, dp.Privacy(1)))
        lines.append(line)
        points.append(("line, ε = 1", size, line.value))
        if size == 100:
            ratios.append(("seconds to design on a line of 100 points", line.value, "at most 2"))
    for size in SMALL:
        space = dp.Categories(range(size), metric="ordinal")
        what = f"line of {size} points, ε = 1, δ = 0.01"
        line = duration(what, lambda s=space: dp.design(s, dp.Privacy(1, "0.01")))
        lines.append(line)
        points.append(("line, δ = 0.01", size, line.value))
    for items in ITEMS:
        sets = dp.Subsets([str(n) for n in range(items)])
        line = duration(f"subsets of {items} items, ε = 2", lambda s=sets: dp.design(s, dp.Privacy(2)))
        lines.append(line)
        points.append(("sets, ε = 2", 2**items, line.value))
    for epsilon in ("0.5", "1", "2", "4"):
        best = dp.design(dp.Categories(range(65), metric="ordinal"), dp.Privacy(epsilon))
        error, what = float(best.error) / 64, f"least error on 65 points of [0, 1], ε = {epsilon}"
        lines.append(Line(what, error, "", note=f"gap {float(best.optimum.gap):.1e}"))
        name = f"Laplace noise 1/ε to the least error, ε = {epsilon}"
        ratios.append((name, float(1 / Fraction(epsilon)) / error, ""))
    how = "Every result is certified exactly and carries an exact lower bound."
    chart = Chart("Design against points", "points", "seconds", tuple(points))
    return Section("Design", how, tuple(lines), tuple(ratios), charts=(chart,))
