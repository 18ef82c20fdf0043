"""Intervals of moments cover as often as they say, where the noise is wide and where it is small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dproof import Plan, Privacy
from dproof.curator.answer import answer_of
from dproof.curator.recipe import Measurement, measure
from dproof.plans.plan import schema_of
from dproof.testing import seeded_coins
from tests.makers import measured_for, resolved, tallied, with_noise

AGES = {"space": "interval", "low": 0, "high": 110, "step": 1}
TRUTHS: dict[str, Callable[[Any, Any], float]] = {
    "variance(age)": lambda x, y: np.var(x, ddof=1),
    "stddev(age)": lambda x, y: np.std(x, ddof=1),
    "covar_pop(age, size)": lambda x, y: np.cov(x, y, ddof=0)[0, 1],
    "corr(age, size)": lambda x, y: np.corrcoef(x, y)[0, 1],
    "stddev(age) / avg(age)": lambda x, y: np.std(x, ddof=1) / np.mean(x),
    "avg(age) * avg(age)": lambda x, y: np.mean(x) ** 2,
}


def cells(
    asked: str, n: int, epsilon: str, runs: int, *, neighbours: Any = "change-one", gaps: bool = False
) -> tuple[list[Any], float]:
    """The cells of many answers, and the truth."""
    made = np.random.default_rng(5)
    age = np.clip(made.normal(75, 12, n).round(), 0, 110).astype(int)
    size = np.clip(age + made.integers(-20, 20, n), 0, 110)
    there = made.random(n) >= (0.3 if gaps else 0)
    columns = {name: AGES if gaps else AGES | {"missing": 40} for name in ("age", "size")}
    plan = Plan.from_dict({"privacy": {"epsilon": 1000, "neighbours": neighbours}, "columns": columns})
    table = pa.table({"age": pa.array(age, mask=~there), "size": pa.array(size, mask=~there)})
    schema = schema_of(plan)
    question = resolved(f"SELECT {asked} AS a FROM data", schema)
    measurement = measure(question, schema, Privacy(epsilon, neighbours=neighbours))
    counted = tallied(table, plan, measurement)
    with seeded_coins(7):
        drawn = [with_noise(measurement, counted) for _ in range(runs)]
    found = [answer_of(measurement, released, 0.95).rows[0]["a"] for released in drawn]
    return found, float(TRUTHS[asked](age[there], size[there]))


def coverage(found: list[Any], truth: float) -> float:
    return float(np.mean([cell.low is None or cell.low <= truth <= cell.high for cell in found]))


@pytest.mark.parametrize(
    ("asked", "n", "epsilon", "neighbours", "gaps"),
    [
        ("variance(age)", 200, "0.01", "change-one", False),
        pytest.param("stddev(age)", 200, "0.05", "change-one", False, marks=pytest.mark.slow),
        pytest.param("stddev(age)", 1200, "0.003", "change-one", False, marks=pytest.mark.slow),
        ("variance(age)", 200, "0.2", "add-remove", True),
        pytest.param("covar_pop(age, size)", 200, "0.05", "change-one", False, marks=pytest.mark.slow),
        ("corr(age, size)", 1200, "1", "change-one", False),
        ("stddev(age) / avg(age)", 200, "0.05", "change-one", False),
    ],
)
def test_intervals_of_moments_cover(asked: str, n: int, epsilon: str, neighbours: str, gaps: bool) -> None:
    found, truth = cells(asked, n, epsilon, 120, neighbours=neighbours, gaps=gaps)
    assert coverage(found, truth) >= 0.95 - 2 * (0.95 * 0.05 / 120) ** 0.5


def test_where_the_noise_is_small_the_interval_is_that_of_a_linear_calculation() -> None:
    """Σx² − (Σx)²/n moves by e₂ − 2Σx·e₁/n, nearly."""
    found, truth = cells("variance(age)", 1200, "1", 60)
    errors = np.array([cell.raw - truth for cell in found])
    widths = np.array([cell.high - cell.low for cell in found]) / 2
    assert coverage(found, truth) >= 0.9
    assert widths.mean() < 1.3 * 2.06 * errors.std()  # two equal Laplace noises are beyond 2.06 deviations in 5 %


def variance_measured(epsilon: int) -> Measurement:
    plan = Plan.from_dict({"privacy": {"epsilon": 9}, "columns": {"age": AGES | {"missing": 40}}})
    schema = schema_of(plan)
    return measured_for("SELECT var_pop(age) AS a FROM data", schema, Privacy(epsilon))


@pytest.mark.parametrize("ages", [[55] * 8, [0, 110] * 4, [0, 10, 50, 60], [110] * 30, list(range(110))])
@pytest.mark.parametrize("epsilon", [1, 8])
def test_the_truth_is_in_the_interval_for_all_noise_that_is_not_unusual(ages: list[int], epsilon: int) -> None:
    """All noise with each part within its quantile, and 0.9 of the greatest movement of a variance that is usual."""
    measurement = variance_measured(epsilon)
    n = len(ages)
    noises = {part.statistic: part.noise for part in measurement.noisy}
    units = {len(term.columns): float(term.unit(measurement.schema)) for term in noises}  # type: ignore[union-attr]
    x = (np.array(ages) - 55) / units[1]
    sums = {0: n, 1: int(x.sum()), 2: int((x**2).sum())}
    first, second = (
        next(noise for term, noise in noises.items() if len(term.columns) == k and noise)  # type: ignore[union-attr]
        for k in (1, 2)
    )
    slope = -2 * sums[1] / n
    deviation = (second.variance + slope**2 * first.variance) ** 0.5
    tried = 0
    for e1 in np.linspace(-first.quantile("0.99"), first.quantile("0.99"), 7).astype(int).tolist():
        for e2 in np.linspace(-second.quantile("0.99"), second.quantile("0.99"), 9).astype(int).tolist():
            if abs(e2 + slope * e1) > 0.9 * 1.95 * deviation:
                continue
            noise = {0: 0, 1: e1, 2: e2}
            values = [[sums[len(t.columns)] + noise[len(t.columns)]] for t in noises]  # type: ignore[union-attr]
            released = {"noisy": values, "chosen": [], "private": True, "rows": n}
            cell = answer_of(measurement, released, 0.95).rows[0]["a"]
            assert cell.low - 1e-9 <= np.var(ages) <= cell.high + 1e-9
            tried += 1
    assert tried > 20
