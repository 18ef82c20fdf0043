"""Spark's workers draw, store and count a release in which every row answers for one thing."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dproof as dp

pyspark = pytest.importorskip("pyspark", minversion="4.1")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java", allow_module_level=True)

from pyspark.sql import SparkSession  # noqa: E402

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]
ROWS = 1200
PLAN: dict[str, Any] = {
    "privacy": {"epsilon": 20, "spread": "sample"},
    "columns": {
        "read": {"space": "categories", "values": [0, 1]},
        "town": {"space": "categories", "values": ["n", "s", "w"]},
        "hours": {"space": "interval", "low": 0, "high": 10, "step": 1},
    },
    "joint": [{"columns": ["read", "town"]}, {"columns": ["read", "hours"]}],
}


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
        yield session
        session.stop()


@pytest.mark.parametrize("elsewhere", [False, True])
def test_parts_of_a_sampled_release_verify_and_are_counted_by_the_workers(
    spark: SparkSession, tmp_path: Path, elsewhere: bool
) -> None:
    towns = "element_at(array('n', 's', 'w'), cast(id % 3 AS int) + 1) AS town"
    people = spark.range(0, ROWS, 1, 3).selectExpr("id % 2 AS read", towns, "id % 11 AS hours")
    out: Any = (tmp_path / "out").as_uri() if elsewhere else tmp_path / "out"
    dp.sanitise(people, PLAN, out)
    release = dp.verify(out)
    assert release is not None and release.rows == ROWS
    for sql in (
        "SELECT read, count(*) AS n FROM release GROUP BY read",
        "SELECT town, count(*) AS n FROM release WHERE read = 1 GROUP BY town",
        "SELECT avg(hours) AS n FROM release",
    ):
        rows = release.query(sql).rows
        assert release.on(spark).query(sql).rows == rows
        assert all(row["n"].low < row["n"].high for row in rows)
