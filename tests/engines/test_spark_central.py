"""Tables of the whole, and releases in which every row answers for one thing: counted part by part by Spark's workers,
as in one pass."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof import InputError

pyspark = pytest.importorskip("pyspark", minversion="4.1")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java", allow_module_level=True)

from pyspark.sql import DataFrame, SparkSession  # noqa: E402

from tests.makers import exact_tables, table_law  # noqa: E402

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]
ROWS = 900


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        session = (
            SparkSession.builder.master("local[2]")
            .config("spark.driver.memory", "1g")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", "3")
            .getOrCreate()
        )
        yield session
        session.stop()


def people() -> Any:
    return pa.table(
        {
            "sex": ["f", "m", "m"] * (ROWS // 3),
            "pets": ["cat;dog", "", None] * (ROWS // 3),
            "age": [n % 100 for n in range(ROWS)],
            "who": [f"p{n // 2}" for n in range(ROWS)],
        }
    )


def frame(spark: SparkSession, parts: int) -> DataFrame:
    rows = [tuple(row.values()) for row in people().to_pylist()]
    return spark.createDataFrame(rows, "sex string, pets string, age long, who string").repartition(parts)


def plan(delta: str = "1e-6", **privacy: Any) -> dict[str, Any]:
    columns = {
        "sex": {"space": "categories", "values": ["f", "m"]},
        "pets": {"space": "subsets", "values": ["cat", "dog"], "separator": ";", "missing": "category"},
        "age": {"space": "interval", "low": 0, "high": 99, "step": 1, "bins": [0, 30, 99]},
        "who": {"drop": True},
    }
    promise = {"model": "central", "epsilon": 1, "delta": delta, "neighbours": "add-remove", **privacy}
    return {"privacy": promise, "columns": columns, "release": {"sums": True}}


@pytest.mark.parametrize("parts", [1, 5])
@pytest.mark.parametrize("privacy", [{}, {"delta": "0"}, {"person": "who", "rows_per_person": 1}], ids=str)
def test_workers_count_the_same(spark: SparkSession, parts: int, privacy: Any) -> None:
    law = table_law(plan(**privacy))
    rows, expected = exact_tables(people(), law)
    found_rows, found = exact_tables(frame(spark, parts), law)
    assert found_rows == rows == (ROWS // 2 if "person" in privacy else ROWS)
    same = {one: table.tolist() for one, table in expected.items() if one.table == () or "person" not in privacy}
    assert {one: table.tolist() for one, table in found.items() if one in same and one.number is None} == {
        one: table for one, table in same.items() if one.number is None
    }
    if "person" not in privacy:  # else it is any one row of a person that counts
        assert {one: table.tolist() for one, table in found.items()} == same


def test_a_release_of_a_frame_is_stored_asked_and_verified(spark: SparkSession, tmp_path: Path) -> None:
    made = dp.sanitise(frame(spark, 4), plan(), tmp_path / "out")
    assert dp.verify(tmp_path / "out") is not None
    cell = made.query("SELECT count(*) AS n FROM release WHERE sex = 'm'").rows[0]["n"]
    assert abs(cell.estimate - 600) < 150


def test_a_refused_value_is_one_sentence_without_the_value(spark: SparkSession) -> None:
    rows = frame(spark, 3).replace("f", "Zebra-4711", subset=["sex"])
    with pytest.raises(InputError) as refused:
        dp.sanitise(rows, plan())
    assert "Zebra" not in str(refused.value) and "\n" not in str(refused.value) and "'sex'" in str(refused.value)
    with pytest.raises(InputError) as whole:
        dp.sanitise(
            pa.table({**{n: people()[n] for n in ("pets", "age", "who")}, "sex": ["Zebra-4711"] * ROWS}), plan()
        )
    assert str(whole.value) == str(refused.value)


# Every row answers for one thing --------------------------------------------------------------------------------------

SAMPLED: dict[str, Any] = {
    "privacy": {"epsilon": 20, "spread": "sample"},
    "columns": {
        "read": {"space": "categories", "values": [0, 1]},
        "town": {"space": "categories", "values": ["n", "s", "w"]},
        "hours": {"space": "interval", "low": 0, "high": 10, "step": 1},
    },
    "joint": [{"columns": ["read", "town"]}, {"columns": ["read", "hours"]}],
}


@pytest.mark.parametrize("elsewhere", [False, True])
def test_parts_of_a_sampled_release_verify_and_are_counted_by_the_workers(
    spark: SparkSession, tmp_path: Path, elsewhere: bool
) -> None:
    towns = "element_at(array('n', 's', 'w'), cast(id % 3 AS int) + 1) AS town"
    people = spark.range(0, 1200, 1, 3).selectExpr("id % 2 AS read", towns, "id % 11 AS hours")
    out: Any = (tmp_path / "out").as_uri() if elsewhere else tmp_path / "out"
    dp.sanitise(people, SAMPLED, out)
    release = dp.verify(out)
    assert release is not None and release.rows == 1200
    for sql in (
        "SELECT read, count(*) AS n FROM release GROUP BY read",
        "SELECT town, count(*) AS n FROM release WHERE read = 1 GROUP BY town",
        "SELECT avg(hours) AS n FROM release",
    ):
        rows = release.query(sql).rows
        assert release.on(spark).query(sql).rows == rows
        assert all(row["n"].low < row["n"].high for row in rows)
