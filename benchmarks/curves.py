"""How far a private mean curve is off: noise on coefficients beside noise on each point of the grid."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from math import exp, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import dproof as dp
from benchmarks.errors import Errors, against
from benchmarks.measure import Chart, Grid, Section
from dproof.laws.divergence import normal_delta

HOMES = (100, 1_000, 10_000)
POINTS, HIGH, TERMS = 49, 3, 9
DELTA = "1e-6"
REPEATS = 40
HOURS = np.linspace(0, 24, POINTS)
QUESTION = "SELECT avg(load) FROM data"


def run() -> Section:
    rows, ratios = [], []
    points: list[tuple[str, float, float]] = []
    names: dict[str, Errors] = {}
    for homes in HOMES:
        for delta in ("0", DELTA):
            names = _compare(homes, delta)
            ours, pointwise, smoothed, _ = names.values()
            bound = _least(homes) if delta == "0" else None
            told = "" if bound is None else f"{bound:.3g}"
            rows.append((f"{homes:,} homes, δ = {delta}", *map(str, names.values()), told))
            if homes == HOMES[1]:
                ratios += [
                    against(f"mean curve, δ = {delta}: error to noise on each point", ours, pointwise),
                    against(f"mean curve, δ = {delta}: error to that noise, smoothed", ours, smoothed),
                ]
            if bound is not None:
                points += [("dproof", homes, ours.rmse), ("each point", homes, pointwise.rmse)]
                points += [("each point, smoothed", homes, smoothed.rmse), ("least possible", homes, bound)]
    how = (
        f"Made-up daily load curves, {POINTS} half-hourly values between 0 and {HIGH} kW. Root mean squared error over "
        f"the day of the mean curve at ε = 1, one changed curve, {REPEATS} times. dproof noises {TERMS} Fourier "
        "coefficients, Laplace or Gaussian, whichever errs less; the others noise each of the values, Laplace at δ = 0 "
        "and Gaussian else, as they are or smoothed by the same coefficients. The basis alone is what remains without "
        "any noise. Least possible: in the worst case no mechanism tells even the level of flat curves with less (the "
        "variance of the staircase, Geng and Viswanath 2016)."
    )
    header = ("", "dproof", "each point", "smoothed", "basis alone", "least possible")
    chart = Chart("Error of a mean curve", "homes", "kW", tuple(points))
    return Section("Accuracy of a mean curve", how, (), tuple(ratios), (Grid(header, tuple(rows)),), (chart,))


def _compare(homes: int, delta: str) -> dict[str, Errors]:
    draw = np.random.default_rng(1)
    loads = np.clip((0.4 + 0.5 * _peak(8, 3) + 0.9 * _peak(19, 3.5)) * draw.gamma(8, 1 / 8, (homes, 1)), 0, HIGH)
    mean = loads.mean(axis=0)
    waves = [np.ones(POINTS)]
    for n in range(1, TERMS // 2 + 1):
        waves += [np.cos(n * np.pi * HOURS / 12), np.sin(n * np.pi * HOURS / 12)]
    smooth = np.array(waves).T @ np.linalg.pinv(np.array(waves).T)
    if delta == "0":
        pointwise = [mean + draw.laplace(0, HIGH * POINTS / homes, POINTS) for _ in range(REPEATS)]
    else:
        sigma = HIGH * sqrt(POINTS) / homes / _gaussian(float(delta))
        pointwise = [mean + draw.normal(0, sigma, POINTS) for _ in range(REPEATS)]
    return {
        "dproof": _errors(_asked(loads, delta), mean),
        "each point": _errors(pointwise, mean),
        "smoothed": _errors([smooth @ curve for curve in pointwise], mean),
        "basis alone": _errors([smooth @ mean], mean),
    }


def _asked(loads: Any, delta: str) -> list[Any]:
    column = {"space": "curves", "points": POINTS, "stop": 24, "low": 0, "high": HIGH, "basis": "fourier"}
    plan = {"privacy": {"epsilon": 1000, "delta": "0.1"}, "columns": {"load": {**column, "terms": TERMS}}}
    with tempfile.TemporaryDirectory() as folder:
        curator = dp.Curator(pa.table({"load": loads.tolist()}), plan, ledger=Path(folder) / "ledger.db")
        prices = [Fraction(10**6 - REPEATS + n, 10**6) for n in range(1, REPEATS + 1)]
        return [curator.curves(QUESTION, epsilon=price, delta=delta)[0][1].estimate for price in prices]


def _errors(curves: list[Any], mean: Any) -> Errors:
    return Errors(np.array([np.trapezoid((curve - mean) ** 2, HOURS) / 24 for curve in curves]))


def _peak(centre: float, width: float) -> Any:
    return sum(np.exp(-(((HOURS - centre + 24 * day) / width) ** 2)) for day in (-1, 0, 1))


def _gaussian(delta: float) -> float:
    """μ with the normal profile δ at ε = 1: how far a neighbour may move the mean, in standard deviations."""
    low, high = Fraction(1, 1000), Fraction(10)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if normal_delta(middle, Fraction(1)) <= delta else (low, middle)
    return float(low)


def _least(homes: int, epsilon: float = 1.0) -> float:
    b = exp(-epsilon)
    variance = (2 ** (-2 / 3) * (b * (1 + b)) ** (2 / 3) + b) / (1 - b) ** 2
    return HIGH / homes * sqrt(variance)
