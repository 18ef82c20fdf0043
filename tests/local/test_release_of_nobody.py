"""What is printed where there is nothing to be unsure of, or nobody to speak of."""

from __future__ import annotations

import pyarrow as pa
import pytest

import dproof as dp

PLAN = {
    "privacy": {"epsilon": 4},
    "columns": {
        "sex": {"space": "categories", "values": ["f", "m"]},
        "age": {"space": "interval", "low": 0, "high": 9, "step": 1, "missing": 4},
    },
}


def test_nobody_has_no_median() -> None:
    table = pa.table({"sex": pa.array([], pa.string()), "age": pa.array([], pa.int64())})
    with pytest.warns(dp.DproofWarning, match="no rows"):
        release = dp.sanitise(table, PLAN)
    for sql in ("SELECT median(age) AS a FROM release", "SELECT max(age) AS a FROM release"):
        cell = release.query(sql).rows[0]["a"]
        assert (cell.estimate, cell.low, cell.high) == (None, None, None)


def test_an_exact_answer_is_said_to_have_no_interval() -> None:
    release = dp.sanitise(pa.table({"sex": ["f", "m"] * 50, "age": [3, 5] * 50}), PLAN)
    assert not release.query("SELECT count(*) AS n FROM release").has_intervals
    assert release.query("SELECT sex, count(*) AS n FROM release GROUP BY sex").has_intervals


@pytest.mark.parametrize(
    ("asked", "rows"),
    [
        ("town, count(*) AS a FROM release GROUP BY town", 0),
        ("town, avg(age) AS a FROM release GROUP BY town", 0),
        ("town, median(age) AS a FROM release GROUP BY town", 0),
        ("sex, town, sum(income) AS a FROM release WHERE age < 5 GROUP BY sex, town", 0),
        ("max(income) AS a FROM release", 1),
        ("median(income) AS a FROM release WHERE sex = 'f'", 1),
        ("stddev(income) AS a FROM release WHERE age < 5", 1),
    ],
)
@pytest.mark.filterwarnings("ignore:.*no rows")
def test_nobody_lives_in_no_town(asked: str, rows: int) -> None:
    plan = {**PLAN, "columns": {**PLAN["columns"], "town": {"public": True}, "income": {"public": True}}}
    types = {"sex": pa.string(), "age": pa.int64(), "town": pa.string(), "income": pa.int64()}
    release = dp.sanitise(pa.table({name: pa.array([], kind) for name, kind in types.items()}), plan)
    found = release.query(f"SELECT {asked}").rows
    assert len(found) == rows and all(row["a"].estimate is None for row in found)


@pytest.mark.parametrize("odd", [float("nan"), float("inf")])
def test_a_public_number_without_a_sum_is_named(odd: float) -> None:
    plan = {**PLAN, "columns": {"sex": PLAN["columns"]["sex"], "income": {"public": True}}}
    release = dp.sanitise(pa.table({"sex": ["f", "m"] * 10, "income": [1.0, odd] * 10}), plan)
    with pytest.raises(dp.InputError, match="'income' holds NaN or an infinite number"):
        release.query("SELECT sex, avg(income) AS a FROM release GROUP BY sex")
