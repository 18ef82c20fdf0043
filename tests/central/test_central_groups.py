"""Groups of a question on measured tables: those that WHERE leaves rows for, whatever the aggregates take of them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import dproof as dp


@pytest.fixture(scope="module")
def release() -> Any:
    table = pa.table({"town": ["A", "B", "C"] * 100, "score": [1, None, 2] * 100})
    columns = {
        "town": {"space": "categories", "values": ["A", "B", "C"]},
        "score": {"space": "interval", "low": 0, "high": 3, "step": 1, "missing": "category"},
    }
    privacy = {"model": "central", "epsilon": 8, "delta": "1e-6", "neighbours": "add-remove"}
    return dp.sanitise(table, {"privacy": privacy, "columns": columns})


def test_a_filter_of_one_aggregate_leaves_the_groups_of_the_others(release: Any) -> None:
    sql = "SELECT town, count(*) FILTER (WHERE town = 'A') AS a, count(*) AS n FROM release GROUP BY town"
    rows = release.query(sql).rows
    assert [row["town"] for row in rows] == ["A", "B", "C"]
    assert [row["a"].high for row in rows[1:]] == [0, 0] and all(row["n"].estimate > 50 for row in rows)


def test_the_group_of_missing_values_is_there_where_the_values_themselves_are_counted(release: Any) -> None:
    rows = release.query("SELECT score, count(score) AS n, avg(score) AS m FROM release GROUP BY score").rows
    assert [row["score"] for row in rows] == [0, 1, 2, 3, None]
    assert rows[-1]["n"].high == 0 and rows[-1]["m"].estimate is None


def test_groups_that_the_condition_rules_out_are_not_there(release: Any) -> None:
    rows = release.query("SELECT town, count(score) AS n FROM release WHERE town <> 'A' GROUP BY town").rows
    assert [row["town"] for row in rows] == ["B", "C"]
