"""Quantiles under wide noise: intervals that hold for every distribution, hardly wider than the least that can."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof.local.distribution_free import nonnegative
from dproof.testing import seeded_coins

ROWS = 3000
RNG = np.random.default_rng(5)
X = np.clip(RNG.gamma(6, 7, ROWS).round(), 0, 99).astype(int)
HEAP = np.where(RNG.random(ROWS) < 0.5, 40, X)


def released(seed: int, x: Any, epsilon: int, **column: Any) -> Any:
    number = {"space": "interval", "low": 0, "high": 99, "step": 1, "mechanism": "laplace", **column}
    with seeded_coins(seed):
        return dp.sanitise(pa.table({"x": x}), {"privacy": {"epsilon": epsilon}, "columns": {"x": number}})


def nearest_law(law: Any, rows: int, shares: Any, median_above: int) -> float:
    """How many standard errors at least a distribution with a median above a number differs from that of the table.

    No test tells the two apart more often than it errs and this allows (Neyman and Pearson).
    """
    seen = shares @ law
    below = np.arange(len(law)) <= median_above
    strict = 1e3 * np.stack([np.ones(len(law)), below - 0.5])
    matrix = np.vstack([(law / np.sqrt(seen)).T, strict])
    wanted = np.append(np.sqrt(seen), [1e3, 0.0])
    return float(np.sqrt(rows) * np.linalg.norm(matrix @ nonnegative(matrix, wanted) - wanted))


def laplace(epsilon: float) -> Any:
    scale, edges = 99 / epsilon, np.linspace(-200, 299, 120)
    away = (edges - np.arange(100)[:, None]) / scale
    passed = np.where(away < 0, np.exp(np.minimum(away, 0)) / 2, 1 - np.exp(-np.maximum(away, 0)) / 2)
    return np.diff(passed, axis=1, prepend=0.0, append=1.0)


@pytest.mark.parametrize("x", [X, HEAP])
def test_no_interval_that_always_holds_is_much_narrower(x: Any) -> None:
    """Bounds on all thresholds at once took 1.5 to 1.9 times the least."""
    shares, true = np.bincount(x, minlength=100) / ROWS, float(np.quantile(x, 0.5, method="inverted_cdf"))
    reach = [nearest_law(laplace(4), ROWS, shares, n) <= 1.96 for n in range(99)]
    least = sum(reach) / 2
    found = [released(seed, x, 4).query("SELECT median(x) AS m FROM release").rows[0]["m"] for seed in (1, 2)]
    assert all(cell.low <= true <= cell.high for cell in found)
    assert np.mean([cell.high - cell.low for cell in found]) / 2 <= 1.3 * least


def test_values_that_are_missing_have_no_rank() -> None:
    x = [None if n % 4 == 0 else int(value) for n, value in enumerate(HEAP)]
    (row,) = released(3, x, 8, missing="category").query("SELECT median(x) AS m FROM release").rows
    there = [value for value in x if value is not None]
    assert row["m"].low <= np.quantile(there, 0.5, method="inverted_cdf") <= row["m"].high
    assert row["m"].high - row["m"].low < 30
