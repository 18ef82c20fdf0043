"""The best mechanism for a metric: how long it takes, and how far Laplace noise stays behind."""

from __future__ import annotations

from fractions import Fraction

import dproof as dp
from benchmarks.measure import Line, Section, duration


def run() -> Section:
    lines, ratios = [], []
    for points, wanted in ((40, ""), (100, "at most 2 s"), (200, "")):
        line = dp.Categories(range(points), metric="ordinal")
        lines.append(
            duration(
                f"line of {points} points, ε = 1", lambda s=line: dp.design(s, dp.Privacy(1)), repeats=1, note=wanted
            )
        )
    small = dp.Categories(range(30), metric="ordinal")
    lines.append(
        duration("line of 30 points, ε = 1, δ = 0.01", lambda: dp.design(small, dp.Privacy(1, "0.01")), repeats=1)
    )
    sets = dp.Subsets([str(n) for n in range(8)])
    lines.append(duration("subsets of 8 items, ε = 2", lambda: dp.design(sets, dp.Privacy(2)), repeats=1))
    for epsilon in ("0.5", "1", "2", "4"):
        best = dp.design(dp.Categories(range(65), metric="ordinal"), dp.Privacy(epsilon))
        error = float(best.error) / 64
        lines.append(
            Line(
                f"least error on 65 points of [0, 1], ε = {epsilon}",
                error,
                "",
                note=f"gap {float(best.optimum.gap):.1e}",
            )
        )
        ratios.append(
            (f"Laplace noise 1/ε to the least error, ε = {epsilon}", float(1 / Fraction(epsilon)) / error, "")
        )
    return Section(
        "Design", "Every result is certified exactly and carries an exact lower bound.", tuple(lines), tuple(ratios)
    )
