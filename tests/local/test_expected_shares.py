"""± of sanitised rows before there is data, where a plan states what part of them a question is about."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof.testing import seeded_coins

ROWS = 4000
COLUMNS = {
    "town": {"space": "categories", "values": ["A", "B", "C", "D", "E"]},
    "sex": {"space": "categories", "values": ["f", "m"]},
    "age": {"space": "interval", "low": 0, "high": 100, "step": 1},
    "hours": {"space": "interval", "low": 0, "high": 100, "step": 1, "missing": "category"},
}


def _table() -> pa.Table:
    """One row in ten is of town B, nine in ten are of men, half of the hours are missing; numbers are near 20."""
    place = range(ROWS)
    return pa.table(
        {
            "town": ["B" if n % 10 == 3 else "A" for n in place],
            "sex": ["f" if n % 10 == 7 else "m" for n in place],
            "age": [n % 41 for n in place],
            "hours": [None if n % 2 else n % 41 for n in place],
        }
    )


@pytest.mark.parametrize("spread", ["split", "sample"])
@pytest.mark.parametrize(
    ("sql", "known"),
    [
        ("SELECT count(*) AS a FROM data WHERE town = 'B'", {"share_of_rows": "0.1"}),
        ("SELECT count(*) AS a FROM data WHERE sex = 'm' AND town = 'A'", {"share_of_rows": "0.8"}),
        ("SELECT town, count(*) AS a FROM data GROUP BY town", {"share_of_rows": "0.1"}),
        ("SELECT count(hours) AS a FROM data", {"share_of_rows": "0.5"}),
        ("SELECT avg(hours) AS a FROM data", {"share_of_rows": "0.5", "mean": 20}),
        ("SELECT avg(age) AS a FROM data WHERE sex = 'm'", {"share_of_rows": "0.9", "mean": 20}),
    ],
)
def test_what_is_said_of_stated_shares_is_what_is_got(sql: str, known: dict[str, Any], spread: str) -> None:
    used = {name: keys if name in sql else {"drop": True} for name, keys in COLUMNS.items()}
    plan = {"privacy": {"epsilon": 4, "spread": spread}, "columns": used, "questions": [{"sql": sql, **known}]}
    (said,) = dp.expect(plan, rows=ROWS)
    halves = []
    for seed in range(3):
        with seeded_coins(seed):
            answer = dp.sanitise(_table(), plan).query(sql.replace("FROM data", "FROM release"))
        cells = [row["a"] for row in answer.rows if row.get("town") in (None, "B")]
        halves += [(cell.high - cell.low) / 2 for cell in cells]
    assert said.half_width == pytest.approx(sorted(halves)[len(halves) // 2], rel=0.1)
