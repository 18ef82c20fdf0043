"""How far a private mean curve is off: dproof beside noise on each point of the grid."""

from __future__ import annotations

import csv
import tempfile
from dataclasses import dataclass
from fractions import Fraction
from math import exp, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import dproof as dp
from benchmarks.census import FOLDER
from benchmarks.errors import Errors, against
from benchmarks.measure import Chart, Grid, Ratio, Section
from dproof.laws.divergence import normal_delta

HOMES = (100, 1_000, 10_000)
DELTA = "1e-6"
REPEATS, LEDGERS = 40, 8  # questions to a ledger
WAVES = 4  # of the smoother, beside the level
HOURS = np.linspace(0, 24, 49)
QUESTION = "SELECT avg(load) FROM data"
SMOOTH = {"kernel": "matern-3/2", "length": 3, "radius": 3, "centre": [1] * 49}


@dataclass(frozen=True)
class Loads:
    """Daily load curves, a row each, and what a plan says of them."""

    rows: Any
    times: Any
    high: int
    kernel: dict[str, Any]


def run() -> Section:
    rows: list[tuple[str, ...]] = []
    ratios: list[Ratio] = []
    points: list[tuple[str, float, float]] = []
    for homes in HOMES:
        for delta in ("0", DELTA):
            names = _compare(_made_up(homes), "1", delta)
            bound = _least(homes, 3) if delta == "0" else None
            rows.append((f"{homes:,} homes, δ = {delta}", *_texts(names), "" if bound is None else f"{bound:.3g}"))
            if homes == HOMES[1]:
                ratios += _ratios(f"mean curve, δ = {delta}", names)
            if bound is not None:
                points += [
                    (name, homes, found.rmse) for name, found in names.items() if found and name != "basis alone"
                ]
                points += [("least possible", homes, bound)]
    days = _days()
    for epsilon in ("0.1", "1", "4") if days else ():
        for delta in ("0", DELTA):
            assert days is not None
            names = _compare(days, epsilon, delta)
            rows.append((f"days of a home, ε = {epsilon}, δ = {delta}", *_texts(names), ""))
            ratios += _ratios(f"days of a home, ε = {epsilon}, δ = {delta}", names)
    smooth = f"{SMOOTH['kernel']}, length {SMOOTH['length']}, radius {SMOOTH['radius']} around 1 kW"
    how = (
        "Root mean squared error over the day of the mean curve, one changed curve. Fictitious daily loads, 49 "
        "half-hourly values between 0 and 3 kW, at ε = 1; and, if the data is there, 112 days of a home "
        "(household_electricity_daily.csv), ten times each, 24 hourly values between 0 and 6 kWh. The errors of dproof "
        f"are from {REPEATS * LEDGERS} answers, the others are exact. dproof knows only the range, and "
        "measures all values with K-norm noise at δ = 0 and else with Gaussian noise, by the ρ that a ledger counts; "
        f"with a kernel the plan says how smooth curves are ({smooth}). The others add noise to each value, Laplace "
        "at δ = 0 and else Gaussian, calibrated to (ε, δ) for this one answer, as they are or smoothed by "
        f"{2 * WAVES + 1} Fourier coefficients. Basis alone: the error of the smoother without noise. Least possible: "
        "a lower bound for every mechanism, already for flat curves (the variance of the staircase, Geng and Viswanath "
        "2016). The missed targets cannot be reached by factors on the waves of equal noise: even the best ones, "
        "chosen with the true curve, leave 0.86 and 0.83 of the smoothed error (tests/curves/test_smoothing.py)."
    )
    header = ("", "dproof", "dproof, kernel", "each point", "smoothed", "basis alone", "least possible")
    chart = Chart("Error of a mean curve", "homes", "kW", tuple(points))
    return Section("Accuracy of a mean curve", how, (), tuple(ratios), (Grid(header, tuple(rows)),), (chart,))


def _texts(names: dict[str, Errors | None]) -> list[str]:
    return ["" if found is None else str(found) for found in names.values()]


def _ratios(what: str, names: dict[str, Errors | None]) -> list[Ratio]:
    """To noise on each point half of it is wanted without δ, and no more than it else; to the smoothed 0.8."""
    most = "at most 0.5" if what.endswith("δ = 0") else "at most 1"
    pointwise, smoothed = names["each point"], names["smoothed"]
    found = []
    for name in ("dproof", "dproof, kernel"):
        ours = names[name]
        if ours is not None and pointwise is not None and smoothed is not None:
            kind = name.removeprefix("dproof").replace(", ", ", with a ")
            found += [
                against(f"{what}{kind}: error to noise on each point", ours, pointwise)._replace(wanted=most),
                against(f"{what}{kind}: error to that noise, smoothed", ours, smoothed)._replace(wanted="at most 0.8"),
            ]
    return found


def _made_up(homes: int) -> Loads:
    draw = np.random.default_rng(1)
    shape = 0.4 + 0.5 * _peak(8, 3) + 0.9 * _peak(19, 3.5)
    return Loads(np.clip(shape * draw.gamma(8, 1 / 8, (homes, 1)), 0, 3), HOURS, 3, SMOOTH)


def _days() -> Loads | None:
    """Ten times the days of a home, where the file is at hand."""
    file = FOLDER / "household_electricity_daily.csv"
    if not file.exists():
        return None
    with file.open(encoding="utf-8", newline="") as lines:
        rows = [row[2:] for row in csv.reader(lines)][1:]
    return Loads(np.clip(np.tile(np.array(rows, float), (10, 1)), 0, 6), np.arange(24.0), 6, {})


def _compare(loads: Loads, epsilon: str, delta: str) -> dict[str, Errors | None]:
    (count, points), times, mean = loads.rows.shape, loads.times, loads.rows.mean(axis=0)
    period = times[-1] if len(times) == len(HOURS) else len(times)  # both midnights, or each hour once
    waves = [np.ones(points)]
    for n in range(1, WAVES + 1):
        waves += [np.cos(2 * n * np.pi * times / period), np.sin(2 * n * np.pi * times / period)]
    smooth = np.array(waves).T @ np.linalg.pinv(np.array(waves).T)
    if delta == "0":
        variance = 2 * (loads.high * points / count / float(epsilon)) ** 2
    else:
        variance = (loads.high * sqrt(points) / count / _gaussian(epsilon, delta)) ** 2

    def over_the_day(squares: Any) -> Errors:
        return Errors(np.trapezoid(squares, times, axis=-1) / (times[-1] - times[0]))

    def asked(kernel: dict[str, Any]) -> Errors:
        return over_the_day((np.array(_asked(loads, epsilon, delta, kernel)) - mean) ** 2)

    alone = (smooth @ mean - mean) ** 2
    return {
        "dproof": asked({}),
        "dproof, kernel": asked(loads.kernel) if loads.kernel else None,
        "each point": over_the_day(np.full((1, points), variance)),
        "smoothed": over_the_day([alone + variance * (smooth**2).sum(axis=1)]),
        "basis alone": over_the_day([alone]),
    }


def _asked(loads: Loads, epsilon: str, delta: str, kernel: dict[str, Any]) -> list[Any]:
    points = len(loads.times)
    column = {"space": "curves", "points": points, "stop": int(loads.times[-1]), "low": 0, "high": loads.high, **kernel}
    plan = {"privacy": {"epsilon": 1000, "delta": "0.1"}, "columns": {"load": {**column, "missing": "centre"}}}
    # A question that is asked again for less gets the same answer, so each one pays a little more than the last.
    prices = [Fraction(epsilon) * Fraction(10**6 - REPEATS + n, 10**6) for n in range(1, REPEATS + 1)]
    table, found = pa.table({"load": loads.rows.tolist()}), []
    with tempfile.TemporaryDirectory() as folder:
        for n in range(LEDGERS):
            curator = dp.Curator(table, plan, ledger=Path(folder) / f"{n}.db")
            found += [curator.curves(QUESTION, epsilon=price, delta=delta)[0][1].estimate for price in prices]
    return found


def _peak(centre: float, width: float) -> Any:
    return sum(np.exp(-(((HOURS - centre + 24 * day) / width) ** 2)) for day in (-1, 0, 1))


def _gaussian(epsilon: str, delta: str) -> float:
    """μ with the normal profile δ at ε: how far a neighbour may move the mean, in standard deviations."""
    low, high = Fraction(1, 1000), Fraction(10)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if normal_delta(middle, Fraction(epsilon)) <= Fraction(delta) else (low, middle)
    return float(low)


def _least(homes: int, high: float, epsilon: float = 1.0) -> float:
    b = exp(-epsilon)
    variance = (2 ** (-2 / 3) * (b * (1 + b)) ** (2 / 3) + b) / (1 - b) ** 2
    return high / homes * sqrt(variance)
