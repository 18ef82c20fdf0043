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
