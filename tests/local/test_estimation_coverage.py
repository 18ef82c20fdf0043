"""Coverage, in short: the long version over real tables is in tests/statistics/test_coverage.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof.testing import seeded_coins

ROWS, TIMES = 1200, 50
RNG = np.random.default_rng(5)
HOBBY = RNG.choice(["Cars", "Chess", "Golf", "Art", "Film"], ROWS, p=[0.5, 0.3, 0.1, 0.06, 0.04])
INCOME = np.where(RNG.random(ROWS) < np.where(HOBBY == "Cars", 0.6, 0.2), "high", "low")
HAS = RNG.random((ROWS, 3)) < [0.5, 0.2, 0.05]
TABLE = pa.table(
    {
        "hobby": HOBBY,
        "income": INCOME,
        "pies": [";".join(p for p, has in zip(["Apple", "Pecan", "Plum"], row, strict=True) if has) for row in HAS],
    }
)
PLAN: dict[str, Any] = {
    "privacy": {"epsilon": 7},
    "columns": {
        "hobby": {"space": "categories", "values": ["Cars", "Chess", "Golf", "Art", "Film"], "share": 2},
        "income": {"space": "categories", "values": ["low", "high"], "share": 2},
        "pies": {"space": "subsets", "values": ["Apple", "Pecan", "Plum"], "separator": ";", "share": 3},
    },
}
QUESTIONS: dict[str, dict[Any, float]] = {
    "SELECT hobby, count(*) AS v FROM release GROUP BY hobby": {(h,): (h == HOBBY).sum() for h in set(HOBBY.tolist())},
    "SELECT hobby, income, count(*) AS v FROM release GROUP BY hobby, income": {
        (h, i): ((h == HOBBY) & (i == INCOME)).sum() for h in set(HOBBY.tolist()) for i in ("low", "high")
    },
    "SELECT count(*) AS v FROM release WHERE list_contains(pies, 'Apple') OR list_contains(pies, 'Plum')": {
        (): (HAS[:, 0] | HAS[:, 2]).sum()
    },
    "SELECT proportion(income = 'high') AS v FROM release WHERE hobby = 'Cars'": {
        (): (INCOME[HOBBY == "Cars"] == "high").mean()
    },
}


@pytest.fixture(scope="module")
def releases() -> list[Any]:
    found = []
    for seed in range(TIMES):
        with seeded_coins(seed):
            found.append(dp.sanitise(TABLE, PLAN))
    return found


@pytest.mark.parametrize("sql", QUESTIONS)
def test_intervals_cover_and_estimates_are_unbiased(sql: str, releases: list[Any]) -> None:
    hits, errors = [], []
    for release in releases:
        for row in release.query(sql).rows:
            true = QUESTIONS[sql][tuple(value for key, value in row.items() if key != "v")]
            hits.append(row["v"].low <= true <= row["v"].high)
            errors.append((row["v"].estimate - true) / row["v"].stderr)
    assert np.mean(hits) >= 0.95 - 4 * np.sqrt(0.05 * 0.95 / len(hits))
    # Cells of one release depend on each other, so only the number of releases counts.
    assert abs(np.mean(errors)) < 4 / np.sqrt(TIMES) and 0.7 < np.std(errors) < 1.3


def test_an_interval_that_covered_everything_would_be_told(releases: list[Any]) -> None:
    """At level 0.5 about half of the intervals miss, so the widths are not simply too large."""
    sql = "SELECT hobby, count(*) AS v FROM release GROUP BY hobby"
    hits = []
    for release in releases:
        for row in release.query(sql, level=0.5).rows:
            hits.append(row["v"].low <= QUESTIONS[sql][row["hobby"],] <= row["v"].high)
    assert 0.35 < np.mean(hits) < 0.65


def test_intervals_for_a_population_cover_it() -> None:
    """Fresh rows each time: intervals for the table are then too short for the population, those for it are not."""
    sql = "SELECT count(*) AS v FROM release WHERE income = 'high'"
    short, long = [], []
    for seed in range(TIMES):
        income = np.where(np.random.default_rng(seed).random(ROWS) < 0.4, "high", "low")
        with seeded_coins(seed):
            plan = {"privacy": {"epsilon": 4}, "columns": {"income": PLAN["columns"]["income"]}}
            release = dp.sanitise(pa.table({"income": income}), plan)
        for target, hits in (("table", short), ("population", long)):
            (row,) = release.query(sql, target=target).rows
            hits.append(row["v"].low <= 0.4 * ROWS <= row["v"].high)
    assert np.mean(long) >= 0.84 and np.mean(short) < np.mean(long) - 0.2
