"""Spark: the suite of all engines, and what only many workers can break."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import dproof as dp
from dproof import DproofWarning, InputError, VerificationFailed
from dproof.certification import verify_certificate
from dproof.coins import current
from dproof.storage import CERTIFICATE, DATA, PLAN, REPORT
from dproof.tables import Source, open_source
from dproof.tables.source import Bound
from dproof.testing import seeded_coins
from tests.engines import test_conformance as suite

pyspark = pytest.importorskip("pyspark", minversion="4.1")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java", allow_module_level=True)

from pyspark import TaskContext  # noqa: E402
from pyspark.sql import DataFrame, SparkSession  # noqa: E402

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

# Every case of the suite that is for all engines, whatever cases it has.
globals().update({name: case for name, case in vars(suite).items() if "make" in getattr(case, "__annotations__", ())})

ROWS = 1000
CANARY = "Zebra-4711"
LOG = """
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %p %c %m%n%ex
"""
# The parent of all workers: it has drawn coins when it forks them.
WARM = """
from dproof.coins import current
from pyspark.daemon import manager

current().words64(1)
manager()
"""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log") / "spark.log"


@pytest.fixture(scope="module", autouse=True)
def spark(log: Path) -> Iterator[SparkSession]:
    settings = log.with_suffix(".properties")
    settings.write_text(LOG.format(log=log))
    with pytest.MonkeyPatch.context() as patch:
        (log.parent / "warm.py").write_text(WARM)
        patch.setenv("PYTHONPATH", os.pathsep.join([str(log.parent), *sys.path]))
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        session = (
            SparkSession.builder.master("local[2,3]")  # two workers, and three attempts at each task
            .config("spark.driver.memory", "1g")
            .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={settings}")
            .config("spark.python.daemon.module", "warm")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", "3")
            .getOrCreate()
        )
        yield session
        session.stop()


@pytest.fixture
def make() -> suite.Make:
    return lambda table, folder: SparkSession.builder.getOrCreate().createDataFrame(table)


def plan(**more: Any) -> dict[str, Any]:
    columns = {"read": {"space": "categories", "values": [0, 1]}, "place": {"public": True}}
    return {"privacy": {"epsilon": 600}, "columns": columns, **more}


def table(spark: SparkSession, partitions: int = 4) -> DataFrame:
    """Rows whose private bit is that of their place, in the order of their places."""
    return spark.range(0, ROWS, 1, partitions).selectExpr("id % 2 AS read", "id AS place")


def test_a_release_in_parts_is_a_release_like_any_other(spark: SparkSession, tmp_path: Path) -> None:
    release = dp.sanitise(table(spark), plan(), tmp_path / "out")
    names = sorted(file.name for file in (tmp_path / "out").iterdir())
    assert names == sorted([*(f"part-{n:06d}.parquet" for n in range(3)), CERTIFICATE, PLAN, REPORT])
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    checked = dp.verify(tmp_path / "out")
    assert checked is not None and checked.rows == release.rows == ROWS and checked.private
    stored = dp.load(tmp_path / "out").to_arrow()
    assert sorted(stored["place"].to_pylist()) == list(range(ROWS))
    assert all(row["read"] == row["place"] % 2 for row in stored.to_pylist())
    whole = dp.sanitise(pa.table({"read": [0], "place": [0]}), plan(), tmp_path / "whole")
    assert stored.schema == whole.to_arrow().schema and (tmp_path / "whole" / DATA).is_file()


@pytest.mark.parametrize("elsewhere", [False, True])
def test_each_row_hides_among_those_of_the_smallest_part(elsewhere: bool, spark: SparkSession, tmp_path: Path) -> None:
    private = {"privacy": {"epsilon": 2}, "columns": {"read": {"space": "categories", "values": [0, 1]}}}
    out = tmp_path / "out"
    dp.sanitise(table(spark).select("read"), private, out.as_uri() if elsewhere else out)
    counts = [pa.parquet.read_metadata(file).num_rows for file in out.glob("part-*")]
    release = dp.verify(out)
    assert release is not None and len(counts) == 3 and sum(counts) == ROWS
    recorded = release.certificate["release"]
    assert recorded["order"] == f"shuffled within {min(counts)} rows" and recorded["shuffled"]["rows"] == min(counts)
    assert dp.Privacy(recorded["shuffled"]["epsilon"]).epsilon < 2


def test_a_part_added_removed_or_changed_is_found(spark: SparkSession, tmp_path: Path) -> None:
    dp.sanitise(table(spark), plan(), tmp_path / "out")
    first, second = (tmp_path / "out" / f"part-00000{n}.parquet" for n in (0, 1))
    shutil.copy(first, tmp_path / "out" / "part-000009.parquet")
    with pytest.raises(VerificationFailed, match=r"'part-000009\.parquet' is in the folder"):
        dp.verify(tmp_path / "out")
    (tmp_path / "out" / "part-000009.parquet").rename(second)
    with pytest.raises(VerificationFailed, match="has changed"):
        dp.verify(tmp_path / "out")
    second.unlink()
    with pytest.raises(VerificationFailed, match="is missing"):
        dp.verify(tmp_path / "out")


def test_parts_tell_nothing_about_the_partitions(spark: SparkSession, tmp_path: Path) -> None:
    """Partitioned by the private value, a table would show it in the sizes and neighbours of its parts."""
    dp.sanitise(table(spark).repartition(7, "read"), plan(), tmp_path / "out")
    parts = [pa.parquet.read_table(file) for file in sorted((tmp_path / "out").glob("part-*"))]
    assert len(parts) == 3  # as the session's setting says, not the table
    for part in parts:
        assert 0 < sum(part["read"].to_pylist()) < len(part)
        assert part["place"].to_pylist() != sorted(part["place"].to_pylist())


def test_order_is_kept_where_the_plan_says_so(spark: SparkSession, tmp_path: Path) -> None:
    release = dp.sanitise(table(spark), plan(order="keep"), tmp_path / "out")
    assert len(list((tmp_path / "out").glob("part-*"))) == 4
    assert release.to_arrow()["place"].to_pylist() == list(range(ROWS))
    assert dp.sanitise(table(spark), plan(order="keep")).to_arrow()["place"].to_pylist() == list(range(ROWS))


def test_no_two_tasks_share_coins(spark: SparkSession, tmp_path: Path) -> None:
    same = spark.range(0, ROWS, 1, 8).selectExpr("0 AS read")
    columns = {"read": {"space": "categories", "values": [0, 1]}}
    dp.sanitise(same, {"privacy": {"epsilon": 1}, "order": "keep", "columns": columns}, tmp_path / "out")
    drawn = {tuple(pa.parquet.read_table(f)["read"].to_pylist()) for f in (tmp_path / "out").glob("part-*")}
    assert len(drawn) == 8


def test_every_worker_keys_its_own_coins(spark: SparkSession) -> None:
    """No word is drawn twice, though one process forks all workers, and no seed comes from the driver."""
    spread = open_source(table(spark, 12)).spread
    assert spread is not None
    with seeded_coins(1) as seeded:
        seen = [json.loads(part) for part in spread(["read"], words)]
        drawn = [*seeded.words64(1000).tolist(), *(word for part in seen for word in part["words"])]
    assert len(seen) == 12 and all(part["private"] for part in seen) and len({part["worker"] for part in seen}) > 1
    assert len(set(drawn)) == len(drawn) == 13000


def words(stream: Iterator[Any]) -> bytes:
    time.sleep(0.2 * sum(1 for _ in stream))  # so long that one worker cannot do all the work
    told = {"words": current().words64(1000).tolist(), "private": current().private, "worker": os.getpid()}
    return json.dumps(told).encode()


def test_zero_rows_are_stored_too(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.warns(DproofWarning, match="no rows"):
        dp.sanitise(table(spark).limit(0), plan(), tmp_path / "out")
    release = dp.verify(tmp_path / "out")
    assert release is not None and release.rows == 0 and release.to_arrow().column_names == ["read", "place"]


def fail() -> None:
    raise OSError("a disk is full")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("end", [fail, die])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_task_that_ends_half_way_leaves_one_clean_release(
    spark: SparkSession, tmp_path: Path, end: Callable[[], None], elsewhere: bool
) -> None:
    """The first attempt at one part reads half of its rows and fails; the second gives the only version of them."""
    marks, code = tmp_path / "marks", end.__code__
    marks.mkdir()

    def half(stream: Iterator[Any]) -> Iterator[Any]:
        context = TaskContext.get()
        number, attempt = context.partitionId(), context.attemptNumber()
        (marks / f"{number}-{attempt}").touch()
        for batch in stream:
            yield batch.slice(0, batch.num_rows // 2)
            if number == 1 and attempt == 0:
                exec(code)
            yield batch.slice(batch.num_rows // 2)

    source = table(spark).mapInArrow(half, "read long, place long")
    out = tmp_path / "out"
    release = dp.sanitise(source, plan(order="keep"), out.as_uri() if elsewhere else out)
    assert sorted(mark.name for mark in marks.iterdir()) == ["0-0", "1-0", "1-1", "2-0", "3-0"]
    assert_clean(tmp_path / "out", release, 4)


ELSEWHERE: dict[str, Any] = {
    "privacy": {"epsilon": 40},
    "order": "keep",
    "columns": {
        "hobby": {"space": "categories", "values": ["Cars", "Chess"], "missing": "category"},
        "likes": {"space": "subsets", "values": ["a", "b"]},
        "age": {"space": "interval", "low": 0, "high": 110},
        "load": {"space": "curves", "points": 9, "low": 0, "high": 2, "terms": 3},
        "place": {"public": True},
        "stamp": {"public": True},
    },
}


def everything(spark: SparkSession, partitions: int = 4) -> DataFrame:
    return table(spark, partitions).selectExpr(
        "if(place % 3 = 0, NULL, if(place % 2 = 0, 'Cars', 'Chess')) AS hobby",
        "if(place % 5 = 0, array('a', 'b'), array('b')) AS likes",
        "place % 100 AS age",
        "transform(sequence(0, 8), t -> 1 + sin(place + t) / 2) AS load",
        "place",
        "binary(string(place)) AS stamp",
    )


def test_a_release_on_a_file_system_of_sparks_own(spark: SparkSession, tmp_path: Path) -> None:
    uri = (tmp_path / "out").as_uri()
    release = dp.sanitise(everything(spark), ELSEWHERE, uri)
    kept = sorted(file.name for file in (tmp_path / "out").iterdir() if file.name[0] != ".")
    assert len(kept) == 7 and {CERTIFICATE, PLAN, REPORT} < set(kept)
    checked, copy = dp.verify(uri), dp.verify(tmp_path / "out")  # by its URI, and as the folder that it is here
    assert checked is not None and copy is not None and checked.rows == release.rows == ROWS and checked.private
    stored = dp.load(uri).to_arrow()
    assert stored.equals(copy.to_arrow()) and stored["place"].to_pylist() == list(range(ROWS))
    assert stored["stamp"].to_pylist() == [str(n) for n in range(ROWS)]
    for question in (
        "SELECT hobby, count(*) AS n FROM release WHERE list_contains(likes, 'a') GROUP BY hobby",
        "SELECT avg(age) AS m FROM release WHERE place < 500",
        "SELECT avg(load) AS c FROM release WHERE place < 500",
    ):
        here, *others = (found.query(question).rows for found in (copy, release, checked.on(spark)))
        for there in others:
            for a, b in zip(here, there, strict=True):
                cell = list(a)[-1]
                assert a[cell].estimate == pytest.approx(b[cell].estimate) and a[cell].low == pytest.approx(b[cell].low)
    question = "SELECT hobby, count(*) AS n FROM release GROUP BY hobby ORDER BY hobby"
    assert copy.raw(question).rows == release.raw(question).rows == release.on(spark).raw(question).rows


PUBLIC = {
    "amount": "cast(place AS decimal(10, 2))",
    "day": "date'2020-01-01'",
    "since": "timestamp'2020-01-01 12:00:00' + make_dt_interval(place)",
    "local": "timestamp_ntz'2020-01-01 12:00:00'",
    "took": "make_dt_interval(place)",
    "nested": "array(named_struct('a', place, 'b', map('c', timestamp'2020-01-01 12:00:00')))",
    "loose": "parse_json('[1]')",
    "spot": "st_geomfromwkb(X'0101000000000000000000F03F0000000000000040')",
    "nothing": "NULL",
}


@pytest.mark.parametrize("dates", ["CORRECTED", "LEGACY"])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_public_columns_of_every_type_are_stored_and_verified(
    spark: SparkSession, tmp_path: Path, elsewhere: bool, dates: str
) -> None:
    columns = {"read": {"space": "categories", "values": [0, 1]}, **{name: {"public": True} for name in PUBLIC}}
    people = table(spark).selectExpr("read", *(f"{kind} AS {name}" for name, kind in PUBLIC.items()))
    out = (tmp_path / "out").as_uri() if elsewhere else tmp_path / "out"
    settings = [f"spark.sql.parquet.{kind}RebaseModeInWrite" for kind in ("datetime", "int96")]
    for setting in settings:
        spark.conf.set(setting, dates)
    try:
        dp.sanitise(people, {"privacy": {"epsilon": 600}, "columns": columns}, out)
    finally:
        for setting in settings:
            spark.conf.unset(setting)
    release = dp.verify(out)
    assert release is not None and verify_certificate.main([str(tmp_path / "out" / CERTIFICATE)]) == 0
    stamps = release.to_arrow()["since"].cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()
    assert sorted(stamps) == [1577880000_000000 + 86400_000000 * place for place in range(ROWS)]
    count = "SELECT count(*) AS n FROM release WHERE read = 1"
    assert release.on(spark).query(count).rows == release.query(count).rows


def test_types_that_arrow_does_not_have_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    people = table(spark).selectExpr("read", "interval '1' year AS place")
    for out in (tmp_path / "out", (tmp_path / "out").as_uri()):
        with pytest.raises(InputError, match="Spark did not finish the work"):
            dp.sanitise(people, plan(), out)
    assert list(tmp_path.iterdir()) == []


def test_elsewhere_the_certificate_is_written_last_and_makes_the_release(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = (tmp_path / "out").as_uri()
    dp.sanitise(table(spark), plan(), uri)
    assert max((tmp_path / "out").glob("[!.]*"), key=lambda file: file.stat().st_mtime_ns).name == CERTIFICATE
    with pytest.raises(InputError, match="there already"):
        dp.sanitise(table(spark), plan(), uri)
    (tmp_path / "out" / CERTIFICATE).unlink()
    for refused in (dp.load, dp.verify):
        with pytest.raises(InputError, match="certificate, written last"):
            refused(uri)
    seen = []

    def failing(folder: Path, *given: Any) -> Any:
        seen.extend(path.name for path in (tmp_path / "half").iterdir())
        raise OSError("the driver stops here")

    monkeypatch.setattr("dproof.releases.sanitise.finish", failing)
    with pytest.raises(OSError, match="stops here"):
        dp.sanitise(table(spark), plan(), (tmp_path / "half").as_uri())
    assert any(name.startswith("part-") for name in seen) and CERTIFICATE not in seen
    assert not (tmp_path / "half").exists()


def test_elsewhere_means_what_an_engine_can_reach(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="only Spark writes to s3a://"):
        dp.sanitise(pa.table({"read": [0], "place": [0]}), plan(), "s3a://bucket/out")
    with pytest.raises(InputError, match="nowhere:// cannot be read from here"):
        dp.load("nowhere://bucket/out")
    with pytest.raises(InputError, match="Spark did not finish the work"):
        dp.sanitise(table(spark), plan(), "nowhere://bucket/out")


def assert_clean(folder: Path, release: Any, parts: int) -> None:
    assert sorted(release.to_arrow()["place"].to_pylist()) == list(range(ROWS))
    assert dp.verify(folder) is not None
    names = [path.name for path in folder.iterdir() if path.suffix != ".crc"]  # Hadoop's sums of files
    assert len(names) == len(set(names)) == parts + 3 and {CERTIFICATE, PLAN, REPORT} < set(names)
    assert len([name for name in names if re.fullmatch(r"part-\d+[-.].*parquet", name)]) == parts


def test_of_two_finished_attempts_one_counts(spark: SparkSession, tmp_path: Path) -> None:
    """Every part is drawn and written whole twice, as when a task is tried again or speculated on."""
    opened, marks = open_source(table(spark)), tmp_path / "marks"
    marks.mkdir()

    def spread(columns: Any, work: Callable[[Any], bytes], **how: Any) -> list[bytes]:
        def twice(stream: Iterator[Any]) -> bytes:
            answer, context = work(stream), TaskContext.get()
            (marks / f"{context.partitionId()}-{context.attemptNumber()}").write_bytes(answer)
            if context.attemptNumber() == 0:
                raise OSError("the worker is lost after its work was done")
            return answer

        assert opened.spread is not None
        return opened.spread(columns, twice, **how)

    release = dp.sanitise(Source(opened.names, opened.read, spread=spread), plan(), tmp_path / "out")
    assert len(list(marks.iterdir())) == 6
    assert_clean(tmp_path / "out", release, 3)


def test_work_that_never_succeeds_leaves_nothing(spark: SparkSession, tmp_path: Path, log: Path) -> None:
    def broken(stream: Iterator[Any]) -> Iterator[Any]:
        yield next(stream)
        raise OSError("always")

    source = table(spark, 1).mapInArrow(broken, "read long, place long")
    with pytest.raises(InputError, match="Spark did not finish the work"):
        dp.sanitise(source, plan(order="keep"), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [CANARY, None])
def test_values_outside_the_plan_are_refused_as_everywhere(
    spark: SparkSession, tmp_path: Path, log: Path, value: str | None
) -> None:
    hobbies = pa.table({"hobby": ["Cars"] * 600 + [value] + ["Chess"] * 399})
    given = {"privacy": {"epsilon": 1}, "columns": {"hobby": {"space": "categories", "values": ["Cars", "Chess"]}}}
    with pytest.raises(InputError) as here:
        dp.sanitise(hobbies, given)
    source = spark.createDataFrame(hobbies).repartition(4)
    for order in ("shuffle", "keep"):
        for out in (tmp_path / "out", (tmp_path / "out").as_uri()):
            with pytest.raises(InputError) as there:
                dp.sanitise(source, {"order": order, **given}, out)
            assert str(there.value) == str(here.value) and "\n" not in str(there.value)
    assert list(tmp_path.iterdir()) == []
    assert "Finished task" in log.read_text() and CANARY not in log.read_text()


def test_an_error_in_a_worker_is_logged_without_its_text(spark: SparkSession, log: Path) -> None:
    def work(stream: Iterator[Any]) -> bytes:
        raise ValueError(CANARY)

    spread = open_source(table(spark)).spread
    assert spread is not None
    with pytest.raises(InputError) as error:
        spread(["read"], work, deal=True)
    assert CANARY not in str(error.value) and error.value.__suppress_context__
    assert "failed with ValueError" in log.read_text() and CANARY not in log.read_text()


def test_a_wrong_plan_is_refused_before_spark_works(spark: SparkSession, tmp_path: Path) -> None:
    touched = tmp_path / "touched"

    def touch(stream: Iterator[Any]) -> Iterator[Any]:
        touched.touch()
        yield from stream

    source = table(spark).mapInArrow(touch, "read long, place long")
    wrong: list[tuple[Any, Path]] = [
        ({**plan(), "privacy": {"epsilon": -1}}, tmp_path / "out"),
        ({**plan(), "columns": {"read": plan()["columns"]["read"]}}, tmp_path / "out"),
        ({**plan(), "columns": {**plan()["columns"], "more": {"drop": True}}}, tmp_path / "out"),
        (plan(), tmp_path),
    ]
    for given, out in wrong:
        with pytest.raises(InputError):
            dp.sanitise(source, given, out)
    assert not touched.exists() and list(tmp_path.iterdir()) == []
    dp.sanitise(source, plan(), tmp_path / "out")
    assert touched.exists()


def test_what_spark_must_not_be_asked(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="streaming"):
        open_source(spark.readStream.format("rate").load())
    with pytest.raises(InputError, match="columns 1 and 2 share the name 'read'"):
        open_source(table(spark).selectExpr("read", "place AS read"))
    compared = "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch"
    spark.conf.set(compared, "false")
    try:
        with pytest.raises(InputError, match=compared):
            dp.sanitise(table(spark), plan(), tmp_path / "out")
    finally:
        spark.conf.unset(compared)


def test_names_of_columns_are_never_expressions(spark: SparkSession) -> None:
    source = open_source(spark.createDataFrame(pa.table({"a.b": [1, 2], "c`d": [3, 4], "*": [5, 6]})))
    read = pa.Table.from_batches(source.read(["*", "a.b", "c`d"]))
    assert read.to_pydict() == {"*": [5, 6], "a.b": [1, 2], "c`d": [3, 4]}


def test_spark_counts_a_release_as_duckdb_does(spark: SparkSession, tmp_path: Path) -> None:
    columns = {**plan()["columns"], "likes": {"space": "subsets", "values": ["a", "b"], "separator": ";"}}
    given = {"privacy": {"epsilon": 3}, "columns": columns}
    people = table(spark).selectExpr("read", "place % 3 AS place", "if(place % 5 = 0, 'a;b', 'b') AS likes")
    release = dp.sanitise(people, given, tmp_path / "out")
    for question in (
        "SELECT place, read, count(*) AS n FROM release WHERE list_contains(likes, 'a') GROUP BY place, read",
        "SELECT sum(place) AS s FROM release",
    ):
        here, there = release.query(question), release.on(spark).query(question)
        assert here.rows == there.rows and len(here.rows) > 0
    with pytest.raises(InputError, match="save it first"):
        dp.sanitise(pa.table({"read": [0], "place": [0]}), plan()).on(spark)


def answers(curators: Iterable[dp.Curator], question: str) -> list[Any]:
    """Their answers with the same noise, so that they are equal where the exact sums are."""
    found = []
    for curator in curators:
        with seeded_coins(1):
            found.append(curator.ask(question, epsilon="0.1").rows)
    return found


def far(source: Any, given: Any, ledger: Path) -> dp.Curator:
    """A curator whose driver cannot read rows."""
    curator = dp.Curator(source, given, ledger=ledger)
    curator.source = replace(curator.source, read=lambda columns: pytest.fail("read by the driver"))
    return curator


def test_the_curator_sums_where_the_rows_are(spark: SparkSession, tmp_path: Path) -> None:
    columns = {
        "read": {"space": "categories", "values": [0, 1]},
        "place": {"space": "interval", "low": 0, "high": ROWS - 1},
    }
    given = {"privacy": {"epsilon": 1}, "columns": columns}
    near = dp.Curator(table(spark).toArrow(), given, ledger=tmp_path / "near.db")
    for question in (
        "SELECT read, count(*) AS n, sum(place) AS s FROM data WHERE place >= 500 GROUP BY read",
        "SELECT median(place) AS m FROM data",
    ):
        there, here = answers((far(table(spark), given, tmp_path / "far.db"), near), question)
        assert there == here


def test_only_so_many_rows_of_a_person_count_whatever_their_order(spark: SparkSession, tmp_path: Path) -> None:
    """Of 1000 rows Ann has, a fifth is 0, and two fifths each are 1 and 2; everybody else, or nobody, has one row."""
    columns = {"read": {"space": "interval", "low": 0, "high": 2, "step": 1}, "name": {"drop": True}}
    promise = {"epsilon": 10, "person": "name", "rows_per_person": 50, "neighbours": "add-remove"}
    given = {"privacy": promise, "columns": columns}
    rows = table(spark).selectExpr("if(place % 5 = 0, 0, 1 + place % 2) AS read", "'ann' AS name")
    rows = rows.unionAll(table(spark).selectExpr("1 AS read", "if(place = 7, NULL, string(place)) AS name"))
    spread = open_source(rows).spread
    assert spread is not None
    counts = [0, 0, 0]
    for part in spread(["read"], reads, bound=Bound("name", 50, ("read",))):
        counts = [a + b for a, b in zip(counts, json.loads(part), strict=True)]
    assert sum(counts) == ROWS + 50 and 1 <= counts[0] <= 25 and 10 <= counts[2] <= 35
    orders = (rows.repartition(5), rows.orderBy("read").coalesce(1), rows.repartition(3, "read"))
    curators = [far(rows, given, tmp_path / f"{n}.db") for n, rows in enumerate(orders)]
    for question in ("SELECT read, count(*) AS n FROM data GROUP BY read", "SELECT sum(read) AS s FROM data"):
        first, *others = answers(curators, question)
        assert all(other == first for other in others)


def reads(stream: Iterator[Any]) -> bytes:
    """How often 0, 1 and 2 stand in a part."""
    found = [value for batch in stream for value in batch.column("read").to_pylist()]
    return json.dumps([found.count(value) for value in range(3)]).encode()


def test_mean_curves_are_summed_where_the_rows_are(spark: SparkSession, tmp_path: Path) -> None:
    columns = {
        "load": {"space": "curves", "points": 9, "low": 0, "high": 2, "terms": 3},
        "read": {"space": "categories", "values": [0, 1]},
    }
    given = {"privacy": {"epsilon": 5}, "columns": columns}
    people = table(spark).selectExpr("transform(sequence(0, 8), t -> 1 + sin(place + t) / 2) AS load", "read")
    curators = (far(people, given, tmp_path / "far.db"), dp.Curator(people.toArrow(), given, ledger=tmp_path / "n.db"))
    for question in (
        "SELECT avg(load) AS m FROM data WHERE read = 1",
        "SELECT read, sum(load) AS s FROM data GROUP BY read",
    ):
        there, here = answers(curators, question)
        assert there == here
    nobody = far(people.limit(0), given, tmp_path / "nobody.db")
    assert len(nobody.ask("SELECT sum(load) AS s FROM data", epsilon=1).rows) == 1
    release = dp.sanitise(people, given, tmp_path / "out")
    for question in ("SELECT avg(load) AS m FROM release", "SELECT avg(load) AS m FROM release WHERE read = 1"):
        here, there = (found.query(question).rows[0]["m"] for found in (release, release.on(spark)))
        assert here.estimate == pytest.approx(there.estimate) and here.high == pytest.approx(there.high)


def test_the_page_about_clusters_runs_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"^```python3\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)
    assert names["release"].rows == 1000


@pytest.mark.slow
def test_ten_million_rows_agree_with_the_arrow_engine(spark: SparkSession, tmp_path: Path) -> None:
    rows, hobbies = 10**7, ["Sports", "Cars", "Television", "Computer games", "Reading"]
    words = np.random.default_rng(2016)
    people = pa.table(
        {
            "hobby": pa.DictionaryArray.from_arrays(words.choice(5, rows, p=[0.4, 0.3, 0.2, 0.08, 0.02]), hobbies),
            "age": words.integers(0, 100, rows),
        }
    )
    pa.parquet.write_table(people, tmp_path / "people.parquet", row_group_size=1 << 20)
    columns = {
        "hobby": {"space": "categories", "values": hobbies},
        "age": {"space": "categories", "values": list(range(100))},
    }
    given = {"privacy": {"epsilon": 2}, "columns": columns}
    far = dp.sanitise(spark.read.parquet(str(tmp_path / "people.parquet")), given, tmp_path / "far")
    near = dp.sanitise(tmp_path / "people.parquet", given, tmp_path / "near")
    assert dp.verify(tmp_path / "far") is not None and far.rows == rows
    question = "SELECT hobby, count(*) AS people FROM release GROUP BY hobby ORDER BY hobby"
    pairs = list(zip(far.query(question).rows, near.query(question).rows, strict=True))
    assert [a["hobby"] for a, _ in pairs] == sorted(hobbies)
    for a, b in pairs:
        error = np.hypot(a["people"].stderr, b["people"].stderr)
        assert 0 < error < rows / 1000 and abs(a["people"].estimate - b["people"].estimate) < 4 * error
