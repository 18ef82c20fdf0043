"""Whatever the engine, the same table is read the same way: one suite for all of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet
import pytest

import dproof as dp
from dproof import InputError
from dproof.tables import open_source
from dproof.tables.engines import ENGINES
from dproof.tables.source import BATCH_ROWS

ROWS = 7
TABLE = pa.table(
    {
        "hobby": ["Cars", "Chess", None, "Cars", "Chess", "Chess", "Cars"],
        "read": [0, 1, 1, 0, 1, 1, 0],
        "weight": [1.5, 2.5, 3.5, 1.5, 2.5, 3.5, 1.5],
        "name": ["ä", "b", "c", "d", "e", "f", "g"],
    }
)
PLAN = {
    "privacy": {"epsilon": 600},  # so large that nothing is changed: what comes out is what was read
    "order": "keep",
    "columns": {
        "hobby": {"space": "categories", "values": ["Cars", "Chess"], "missing": "category"},
        "read": {"space": "categories", "values": [0, 1]},
        "weight": {"space": "categories", "values": [1.5, 2.5, 3.5]},
        "name": {"drop": True},
    },
}

Make = Callable[[pa.Table, Path], Any]


def _written(write: Callable[[pa.Table, Path], object], name: str) -> Make:
    def make(table: pa.Table, folder: Path) -> Path:
        write(table, folder / name)
        return folder / name

    return make


def _write_ipc(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)


def _write_stream(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)


def _write_folder(table: pa.Table, path: Path) -> None:
    path.mkdir()
    (path / "_SUCCESS").touch()
    pa.parquet.write_table(table.slice(0, 3), path / "part-0.parquet")
    pa.parquet.write_table(table.slice(3), path / "part-1.parquet")


def _write_duckdb(table: pa.Table, path: Path) -> None:
    with duckdb.connect(str(path)) as database:
        database.register("given", table)
        database.execute("CREATE TABLE people AS SELECT * FROM given")


def _write_sqlite(table: pa.Table, path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        names = ", ".join(f'"{name}"' for name in table.column_names)
        database.execute(f"CREATE TABLE people ({names})")
        rows = [[str(v) if isinstance(v, date) else v for v in row.values()] for row in table.to_pylist()]
        database.executemany(f"INSERT INTO people VALUES ({', '.join('?' * table.num_columns)})", rows)


def _structured(table: pa.Table) -> Any:
    columns = {name: table[name].to_numpy() for name in table.column_names}
    array = np.empty(table.num_rows, [(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        array[name] = column
    return array


class _Stream:
    """A table of a class that dproof does not know."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)


# In memory, by the package that they come from. Spark needs Java: test_spark.py runs this suite on it.
FRAMES: dict[str, tuple[Callable[[pa.Table], Any], ...]] = {
    "pyarrow": (
        lambda table: table,
        lambda table: pa.record_batch([column.combine_chunks() for column in table.columns], table.column_names),
        lambda table: table.to_reader(max_chunksize=3),
    ),
    "pandas": (lambda table: table.to_pandas(),),
    "polars": (polars.from_arrow, lambda table: polars.DataFrame(table).lazy()),
    "duckdb": (lambda table: duckdb.connect().from_arrow(table),),
    "numpy": (_structured,),
    "another": (_Stream,),
}


def test_no_engine_is_left_out() -> None:
    assert {*FRAMES, "pyspark"} == {name for name in ENGINES if name[0] != "_"} | {"another"}


def _in_memory(make: Callable[[pa.Table], Any]) -> Make:
    return lambda table, folder: make(table)


SOURCES: dict[str, Make] = {
    f"{package}-{n}": _in_memory(make) for package, makes in FRAMES.items() for n, make in enumerate(makes)
} | {
    "csv file": _written(pa.csv.write_csv, "people.csv"),
    "parquet file": _written(pa.parquet.write_table, "people.parquet"),
    "small row groups": _written(lambda t, p: pa.parquet.write_table(t, p, row_group_size=2), "people.parquet"),
    "no dictionary": _written(lambda t, p: pa.parquet.write_table(t, p, use_dictionary=False), "people.parquet"),
    "ipc file": _written(_write_ipc, "people.arrow"),
    "ipc stream": _written(_write_stream, "people.arrow"),
    "folder": _written(_write_folder, "people"),
    "duckdb file": _written(_write_duckdb, "people.duckdb"),
    "sqlite file": _written(_write_sqlite, "people.sqlite"),
    "lazy scan": lambda table, folder: polars.scan_parquet(
        _written(pa.parquet.write_table, "p.parquet")(table, folder)
    ),
}


@pytest.fixture(params=SOURCES)
def make(request: pytest.FixtureRequest) -> Make:
    return SOURCES[request.param]


def test_names_and_rows(make: Make, tmp_path: Path) -> None:
    source = open_source(make(TABLE, tmp_path))
    assert source.names == tuple(TABLE.column_names)
    assert source.rows in (ROWS, None)
    batches = list(source.read(["weight", "hobby"]))
    assert all(batch.schema.names == ["weight", "hobby"] for batch in batches)
    assert sum(batch.num_rows for batch in batches) == ROWS


def test_the_release_is_the_same_whatever_the_engine(make: Make, tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    for folder, out in ((tmp_path, None), (tmp_path / "again", tmp_path / "out")):  # held in memory, and stored
        table = dp.sanitise(make(TABLE, folder), PLAN, out).to_arrow()
        assert table.schema.metadata is None
        assert table.to_pydict() == TABLE.select(["hobby", "read", "weight"]).to_pydict()


def test_zero_rows_give_a_release_of_zero_rows(make: Make, tmp_path: Path) -> None:
    with pytest.warns(dp.DproofWarning, match="no rows, so the release is empty"):
        release = dp.sanitise(make(TABLE.slice(0, 0), tmp_path), PLAN)
    assert release.rows == 0
    assert release.to_arrow().schema == dp.sanitise(TABLE, PLAN).to_arrow().schema


def test_every_stored_column_comes_from_the_plan(make: Make, tmp_path: Path) -> None:
    """A row far outside changes neither types nor columns nor their order."""
    plan = {**PLAN, "columns": {**PLAN["columns"], "hobby": {**PLAN["columns"]["hobby"], "outside": "category"}}}
    strange = TABLE.set_column(0, "hobby", pa.array(["Golf", *TABLE["hobby"].to_pylist()[1:]]))
    for name in ("usual", "odd"):
        (tmp_path / name).mkdir()
    usual = dp.sanitise(make(TABLE, tmp_path / "usual"), plan).to_arrow()
    odd = dp.sanitise(make(strange, tmp_path / "odd"), plan).to_arrow()
    assert usual.schema == odd.schema
    assert "Golf" not in odd["hobby"].to_pylist() and odd["hobby"][0].as_py() == "(other)"


def test_batches_are_bounded(tmp_path: Path) -> None:
    long = pa.table({"read": np.zeros(3 * BATCH_ROWS + 1, np.int64)})
    for make in (lambda: long, lambda: polars.from_arrow(long), lambda: long.to_pandas(), lambda: long.to_reader()):
        sizes = [batch.num_rows for batch in open_source(make()).read(["read"])]
        assert max(sizes) <= BATCH_ROWS and sum(sizes) == len(long)


def test_pandas_index_and_mixed_objects_are_harmless() -> None:
    import pandas

    frame = pandas.DataFrame({"code": ["1", 2, 3.0, None]}, index=["ann", "bob", "cid", "dan"])
    plan = {
        "privacy": {"epsilon": 600},
        "order": "keep",
        "columns": {"code": {"space": "categories", "values": [1, 2, 3], "missing": "category"}},
    }
    table = dp.sanitise(frame, plan).to_arrow()
    assert table.column_names == ["code"]
    assert table["code"].to_pylist() == [1, 2, 3, None]


def test_a_duckdb_file_with_several_tables_needs_a_name(tmp_path: Path) -> None:
    path = tmp_path / "many.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TABLE first (read INT); CREATE TABLE second AS SELECT 1 AS read")
    with pytest.raises(InputError, match="holds 2 tables"):
        open_source(path)
    with pytest.raises(InputError, match="no table 'secnd'; did you mean 'second'"):
        open_source(path, "secnd")
    assert open_source(path, "second").rows == 1


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "people.xlsx").touch()
    for thing in (3, {"a": [1]}, tmp_path / "people.xlsx", tmp_path / "absent.csv", tmp_path, np.zeros(3)):
        with pytest.raises(InputError):
            open_source(thing)


def test_two_columns_of_one_name_are_refused_but_in_a_header(tmp_path: Path) -> None:
    twice = pa.table([[1], [2]], names=["read", "read"])
    with pytest.raises(InputError, match="columns 1 and 2 share the name 'read'"):
        open_source(twice)
    (tmp_path / "twice.csv").write_text("read,read\n1,2\n")
    assert open_source(tmp_path / "twice.csv").names == ("read", "read (2)")
