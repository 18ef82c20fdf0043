"""Intervals that hold all at once have the level of each of so many, whichever way an aggregate is worked out."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof.testing import seeded_coins

ITEMS, TOWNS = ["p", "q", "r", "s"], ["a", "b", "c"]
ROWS = 900
TABLE = pa.table(
    {
        "town": [TOWNS[n % 3] for n in range(ROWS)],
        "age": [n * 7 % 10 for n in range(ROWS)],
        "likes": [[item for place, item in enumerate(ITEMS) if n >> place & 1] for n in range(ROWS)],
        "load": [[n % 5 / 2, 1.0, 2.0] for n in range(ROWS)],
    }
)
COLUMNS: dict[str, dict[str, Any]] = {
    "town": {"space": "categories", "values": TOWNS},
    "age": {"space": "interval", "low": 0, "high": 9, "step": 1},
    "likes": {"space": "subsets", "values": ITEMS},
    "load": {"space": "curves", "points": 3, "low": 0, "high": 2},
}
BINNED = COLUMNS | {"age": COLUMNS["age"] | {"bins": [0, 2, 4, 6, 8, 9]}}
LOCAL = {"privacy": {"epsilon": 30, "delta": "1e-6"}, "columns": COLUMNS}
CENTRAL = {
    "privacy": {"model": "central", "epsilon": "0.5", "delta": "1e-6", "neighbours": "add-remove"},
    "columns": BINNED,
    "release": {"tables": 2},
}
QUESTIONS = {
    "SELECT unnest(likes) AS item, count(*) AS v FROM release GROUP BY item": 4,
    "SELECT unnest(likes) AS item, town, count(*) AS v FROM release GROUP BY item, town": 12,
    "SELECT town, count(*) AS v FROM release GROUP BY town": 3,
    "SELECT town, quantile(age, 0.3) AS v FROM release GROUP BY town": 3,
    "SELECT town, stddev(age) AS v FROM release GROUP BY town": 3,
    "SELECT town, avg(load) AS v FROM release GROUP BY town": 3,
}


@pytest.fixture(scope="module", params=[LOCAL, CENTRAL], ids=["local", "central"])
def release(request: pytest.FixtureRequest) -> Any:
    with seeded_coins(3):
        return dp.sanitise(TABLE, request.param)


def intervals(answer: Any) -> list[list[float]]:
    """The ends of each interval; of a band at every point."""
    return [np.ravel([row["v"].low, row["v"].high]).tolist() for row in answer.rows]


@pytest.mark.parametrize("sql", QUESTIONS)
def test_each_of_so_many_intervals_has_the_level_that_all_of_them_need(release: Any, sql: str) -> None:
    together, single = release.query(sql, simultaneous=True), release.query(sql, level=0.95 ** (1 / QUESTIONS[sql]))
    assert len(together.rows) == QUESTIONS[sql] and together.level == 0.95
    for one, other in zip(intervals(together), intervals(single), strict=True):
        assert one == pytest.approx(other, rel=1e-6)


def test_the_level_is_that_of_one_interval_where_there_is_one(release: Any) -> None:
    for sql in ("SELECT quantile(age, 0.3) AS v FROM release", "SELECT avg(load) AS v FROM release"):
        assert intervals(release.query(sql, simultaneous=True)) == intervals(release.query(sql))
