"""Over hundreds of answers and sanitisations the band of a mean curve covers the mean curve itself on its grid."""

from __future__ import annotations

import csv
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import Plan
from dproof.curves.bands import smoothed
from dproof.testing import seeded_coins

ROOT = Path(__file__).resolve().parents[2]
FILE = Path(os.environ.get("DPROOF_DATA", ROOT.parent / "shared" / "data")) / "household_electricity_daily.csv"
TIMES = 200
LEAST = 0.91  # of 200 bands that cover 95 % of the time fewer do so three times in a thousand


def days() -> np.ndarray:
    """Ten times the days of a home, 24 hourly values each."""
    if not FILE.exists():
        pytest.skip(f"{FILE.name} is not here: set DPROOF_DATA to the folder that has it")
    with FILE.open(encoding="utf-8", newline="") as lines:
        rows = [row[2:] for row in csv.reader(lines)][1:]
    return np.clip(np.tile(np.array(rows, float), (10, 1)), 0, 6)


def plan(epsilon: str, delta: str, **load: Any) -> dict[str, Any]:
    load = {"space": "curves", "points": 24, "low": 0, "high": 6, "missing": "centre", **load}
    return {"privacy": {"epsilon": epsilon, "delta": delta}, "columns": {"load": load}}


@pytest.mark.slow
@pytest.mark.parametrize("delta", ["0", "1e-6"])
@pytest.mark.parametrize("epsilon", ["0.5", "4"])
@pytest.mark.parametrize("load", [{}, {"basis": "fourier", "terms": 9}], ids=["plain", "fourier"])
def test_a_curators_bands_cover_and_err_less_than_noise_on_each_point(
    epsilon: str, delta: str, load: dict[str, Any], tmp_path: Path
) -> None:
    rows = days()
    mean, hits, squares = rows.mean(axis=0), 0, []
    given = plan("1000", "0.1", **load)
    with seeded_coins(3):
        curator = dp.Curator(pa.table({"load": rows.tolist()}), given, ledger=tmp_path / "budget.db")
        for n in range(TIMES):
            price = Fraction(epsilon) * (1 - Fraction(TIMES - n, 10**6))  # a new question each time
            ((_, curve),) = curator.curves("SELECT avg(load) FROM data", epsilon=price, delta=delta)
            hits += curve.covers(mean)
            squares.append(((curve.estimate - mean) ** 2).mean())
    assert LEAST <= hits / TIMES <= 0.99
    if delta == "0":  # Laplace noise on each of 24 values
        assert np.sqrt(np.mean(squares)) <= 0.5 * np.sqrt(2) * 6 * 24 / len(rows) / float(epsilon)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "0"), ("4", "0"), ("4", "1e-6")])
def test_the_bands_of_releases_cover(epsilon: str, delta: str) -> None:
    rows = days()
    table, mean, hits, given = pa.table({"load": rows.tolist()}), rows.mean(axis=0), 0, Plan.of(plan(epsilon, delta))
    for seed in range(TIMES):
        with seeded_coins(seed):
            hits += dp.sanitise(table, given).mean_curve("load").covers(mean)
    assert LEAST <= hits / TIMES <= 0.985


@pytest.mark.parametrize("size", [0.0, 0.5, 2.0, 20.0])
@pytest.mark.parametrize("law", ["normal", "cube"])
def test_smoothing_never_adds_to_the_mean_squared_error(size: float, law: str) -> None:
    """Of a curve that lies wholly in the fast waves, small and large: the worst that can be smoothed."""
    expansion = Plan.of(plan("1", "0")).column("load").space
    truth = size * np.random.default_rng(1).normal(size=24)
    draw = np.random.default_rng(2)
    noise = draw.normal(size=(3000, 24))
    if law == "cube":  # K-norm noise by the sup norm
        noise = draw.uniform(-1, 1, (3000, 24)) * draw.gamma(25, size=(3000, 1)) * np.sqrt(3 / 25 / 26)
    kept = np.array([smoothed(expansion, truth + row, np.eye(24)) for row in noise])
    plain, smooth = (noise**2).mean(axis=1), ((kept - truth) ** 2).mean(axis=1)
    assert (smooth - plain).mean() <= 3 * (smooth - plain).std() / np.sqrt(3000)
    if size == 0:
        assert smooth.mean() < 0.25 * plain.mean()
