"""Questions built in Python: the same for a release and a curator."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import dproof as dp
from dproof import InputError

PLAN = {
    "privacy": {"epsilon": 8},
    "columns": {
        "sex": {"space": "categories", "values": ["f", "m"]},
        "age": {"space": "interval", "low": 0, "high": 99, "step": 1, "missing": 40},
    },
}
TABLE = pa.table({"sex": ["f", "m"] * 200, "age": [30, 50] * 200})


def test_a_release_and_a_curator_take_what_was_built(tmp_path: Path) -> None:
    built = dp.Select().count().mean("age").where("age >= 10").group_by("sex")
    release = dp.sanitise(TABLE, PLAN)
    sql = 'SELECT sex, count(*) AS "count", avg(age) AS mean_age FROM release WHERE age >= 10 GROUP BY sex'
    assert release.query(built).rows == release.query(sql).rows
    curator = dp.Curator(TABLE, PLAN, ledger=tmp_path / "budget.db")
    asked = curator.ask(built, epsilon=4)
    assert [row["sex"] for row in asked.rows] == ["f", "m"]
    assert curator.ask(sql.replace("release", "data"), epsilon=4).rows == asked.rows


def test_a_question_that_asks_for_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="asks for nothing yet"):
        dp.sanitise(TABLE, PLAN).query(dp.Select().where(sex="f"))
