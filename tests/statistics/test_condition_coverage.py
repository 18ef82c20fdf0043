"""Conditions on numbers under wide noise are covered however the numbers are distributed: heaps, point masses, skew.

The intervals are bounds, so they cover at least as often as they say.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof.testing import seeded_coins

RNG = np.random.default_rng(5)
ROWS = 3000
HEAP = np.where(RNG.random(ROWS) < 0.5, 40, np.clip(RNG.normal(45, 15, ROWS).round(), 0, 99)).astype(int)
TABLES = {
    "heap": HEAP,
    "point mass": np.full(ROWS, 40),
    "two neighbours": RNG.choice([39, 41], ROWS),
    "skew": np.clip(RNG.exponential(8, ROWS).round(), 0, 99).astype(int),
    "both ends": RNG.choice([0, 99], ROWS),
    "few rows": 10 * RNG.integers(0, 10, 60),
}
CONDITIONS = {
    "x = 40": lambda x: x == 40,
    "x <= 40": lambda x: x <= 40,
    "x < 40": lambda x: x < 40,
    "x > 60": lambda x: x > 60,
    "x BETWEEN 20 AND 45": lambda x: (x >= 20) & (x <= 45),
    "x IN (10, 20, 40)": lambda x: np.isin(x, [10, 20, 40]),
}
LAWS = {
    "laplace": {"epsilon": 4},
    "narrow": {"epsilon": 40},
    "fine step": {"epsilon": 8, "step": "0.01"},
    "clamped": {"epsilon": 6, "mechanism": "bounded_laplace"},
    "gaussian": {"epsilon": 4, "delta": "1e-6", "mechanism": "gaussian"},
    "missing": {"epsilon": 6, "missing": "category"},
}


def released(seed: int, columns: dict[str, Any], epsilon: Any, delta: Any = 0, **interval: Any) -> Any:
    """The columns x, sanitised by themselves at this ε, and others that are added at as much."""
    number = {"space": "interval", "low": 0, "high": 99, "step": 1, **interval}
    plan: dict[str, Any] = {"x": number}
    plan |= {name: {"space": "categories", "values": sorted(set(columns[name]))} for name in columns if name != "x"}
    privacy = {"epsilon": epsilon * len(columns), "delta": delta}
    with seeded_coins(seed):
        return dp.sanitise(pa.table(columns), {"privacy": privacy, "columns": plan})


def covered(cell: Any, true: float) -> bool:
    return bool(cell.low - 1e-6 <= true <= cell.high + 1e-6)


def hits(law: str, x: Any, times: int, **options: Any) -> dict[str, int]:
    """How often the count of each condition is covered."""
    found = dict.fromkeys(CONDITIONS, 0)
    counts = ", ".join(f"count(*) FILTER (WHERE {condition}) AS c{n}" for n, condition in enumerate(CONDITIONS))
    for seed in range(times):
        (row,) = released(seed, {"x": x}, **LAWS[law]).query(f"SELECT {counts} FROM release", **options).rows
        for n, (condition, holds) in enumerate(CONDITIONS.items()):
            found[condition] += covered(row[f"c{n}"], holds(x).sum())
    return found


def test_a_heap_is_covered() -> None:
    assert min(hits("laplace", HEAP, 4).values()) == 4


def test_a_smooth_distribution_is_assumed_only_on_request() -> None:
    assumed = hits("laplace", HEAP, 2, assume="smooth")
    assert assumed["x = 40"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("law", LAWS)
def test_every_distribution_is_covered(law: str, table: str) -> None:
    times = 60
    found = hits(law, TABLES[table], times)
    # With a coverage of 95 % fewer than 51 of 60 would be seen once in a thousand.
    assert min(found.values()) >= 51, found


@pytest.mark.slow
def test_groups_of_a_sanitised_category_are_covered() -> None:
    """Small groups as well, in which a heap lies."""
    town = RNG.choice(["a", "b", "c"], ROWS, p=[0.7, 0.27, 0.03])
    times, found = 60, {}
    for seed in range(times):
        release = released(seed, {"x": HEAP, "town": town}, 4)
        for sql, x_holds in (("x = 40", HEAP == 40), ("x < 50", HEAP < 50)):
            for row in release.query(f"SELECT town, count(*) AS n FROM release WHERE {sql} GROUP BY town").rows:
                true = (x_holds & (town == row["town"])).sum()
                found[sql, row["town"]] = found.get((sql, row["town"]), 0) + covered(row["n"], true)
    assert min(found.values()) >= 51, found


@pytest.mark.slow
def test_sums_means_and_shares_of_a_condition_are_covered() -> None:
    town = np.where(RNG.random(ROWS) < 0.2 + 0.6 * (HEAP == 40), "a", "b")
    y = np.clip(RNG.normal(30 + 30 * (HEAP == 40), 10), 0, 99).round()
    asked = {
        "avg(x) AS v FROM release WHERE x >= 40": HEAP[HEAP >= 40].mean(),
        "sum(x) AS v FROM release WHERE x >= 40": HEAP[HEAP >= 40].sum(),
        "proportion(town = 'a') AS v FROM release WHERE x >= 40": (town[HEAP >= 40] == "a").mean(),
        "proportion(x >= 40) AS v FROM release WHERE town = 'a'": (HEAP[town == "a"] >= 40).mean(),
        "100 * proportion(x = 40) AS v FROM release": 100 * (HEAP == 40).mean(),
        "avg(y) AS v FROM release WHERE x < 60": y[HEAP < 60].mean(),
        "count(*) FILTER (WHERE x < 60) - count(*) FILTER (WHERE x < 40) AS v FROM release": (
            (HEAP < 60).sum() - (HEAP < 40).sum()
        ),
    }
    number = {"space": "interval", "low": 0, "high": 99, "step": 1}
    columns = {"x": number, "y": number, "town": {"space": "categories", "values": ["a", "b"]}}
    times, found = 60, dict.fromkeys(asked, 0)
    for seed in range(times):
        with seeded_coins(seed):
            plan = {"privacy": {"epsilon": 24}, "columns": columns}
            release = dp.sanitise(pa.table({"x": HEAP, "y": y, "town": town}), plan)
        for sql, true in asked.items():
            (row,) = release.query(f"SELECT {sql}").rows
            found[sql] += row["v"].low is None or covered(row["v"], true)
    assert min(found.values()) >= 51, found


@pytest.mark.slow
def test_quantiles_of_smooth_numbers_are_covered_and_at_most_twice_as_wide_as_their_error() -> None:
    """Half of the bias that there may be is part of the interval. With a fifth it was 1.3 times the error, and
    quantiles at the ends of a bell were covered 83 % of the time (`test_quantile_coverage`)."""
    x = np.clip(np.random.default_rng(2).gamma(6, 7, ROWS).round(), 0, 99).astype(int)
    shares, times = (0.1, 0.5, 0.9), 60
    cells: dict[float, list[Any]] = {share: [] for share in shares}
    asked = ", ".join(f"quantile(x, {share}) AS q{n}" for n, share in enumerate(shares))
    for seed in range(times):
        release = released(seed, {"x": x}, 4, mechanism="laplace")
        (row,) = release.query(f"SELECT {asked} FROM release", assume="smooth").rows
        for found, cell in zip(cells.values(), row.values(), strict=True):
            found.append(cell)
    ratios = []
    for share, found in cells.items():
        true = np.quantile(x, share, method="inverted_cdf")
        error = 1.96 * np.sqrt(np.mean([(cell.estimate - true) ** 2 for cell in found]))
        assert sum(covered(cell, true) for cell in found) >= 51
        ratios.append(np.mean([cell.high - cell.low for cell in found]) / 2 / error)
    # 1.5 to 2.2 in thirteen columns like this one, where an error of 60 releases is itself uncertain by a tenth.
    assert np.mean(ratios) <= 2
