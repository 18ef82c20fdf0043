"""Databases as a source: SQLite files, and PostgreSQL where a server can be started."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dproof as dp
from dproof import InputError
from dproof.tables import open_source

PLAN = """
[privacy]
epsilon = 4
[columns.sex]
space = "categories"
values = ["f", "m"]
[columns.age]
space = "interval"
low = 0
high = 100
step = 1
missing = "category"
[columns.seen]
space = "date"
low = 2024-01-01
high = 2024-12-31
missing = 2024-01-01
[columns.cost]
space = "interval"
low = 0
high = 10
step = "0.5"
[columns.note]
drop = true
"""
ROWS = [
    ("f" if n % 3 else "m", None if n % 7 == 0 else n % 90, f"2024-03-{n % 28 + 1:02}", n % 20 / 2) for n in range(900)
]
COUNT = "SELECT count(*) AS n FROM data WHERE sex = 'f' AND age < 45"
TRUTH = sum(sex == "f" and age is not None and age < 45 for sex, age, _, _ in ROWS)
SECRET = "s3cr3t"


def sqlite_file(folder: Path, name: str = "clinic.sqlite") -> Path:
    path = folder / name
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE visits (sex TEXT, age INTEGER, seen TEXT, cost REAL, note BLOB)")
        database.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, x'00ff')", ROWS)
        database.execute("CREATE VIEW women AS SELECT * FROM visits WHERE sex = 'f'")
    database.close()
    return path


def asked(source: Any, folder: Path, table: str | None = "visits") -> float:
    curator = dp.Curator(source, dp.Plan.parse(PLAN), ledger=folder / "budget.db", table=table)
    return float(curator.ask(COUNT, epsilon=4).rows[0]["n"].estimate)


# SQLite ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["clinic.sqlite", "clinic.sqlite3", "clinic.db"])
def test_a_table_of_sqlite_is_read(name: str, tmp_path: Path) -> None:
    path = sqlite_file(tmp_path, name)
    assert abs(asked(path, tmp_path) - TRUTH) < 10
    found = dp.check(path, dp.Plan.parse(PLAN), table="visits")
    assert found.rows == 900 and [(one.missing, one.outside) for one in found.columns][1] == (129, 0)
    assert open_source(path, "women").names == ("sex", "age", "seen", "cost", "note")
    release = dp.sanitise(path, dp.Plan.parse(PLAN), tmp_path / "out", table="visits")
    assert release.rows == 900


def test_a_value_of_sqlite_is_read_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "mixed.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE t (x)")
        database.executemany("INSERT INTO t VALUES (?)", [(1,), (1.5,), ("01",), (None,), (b"\xff",), ("ü",)])
        database.execute("INSERT INTO t VALUES (CAST(x'ff41' AS TEXT))")  # no UTF-8
    database.close()
    (batch,) = open_source(path).read(["x"])
    assert batch.column(0).to_pylist() == ["1", "1.5", "01", None, r"b'\xff'", "ü", "\ufffdA"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (None, "'clinic.sqlite' holds 2 tables: name one of them"),
        ("visit", "has no table 'visit'; did you mean 'visits'"),
    ],
)
def test_the_table_of_sqlite_has_to_be_named(table: str | None, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        open_source(sqlite_file(tmp_path), table)


def test_a_damaged_file_of_sqlite_is_told_without_its_content(tmp_path: Path) -> None:
    path = sqlite_file(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\x11" * (len(content) - 4096))
    with pytest.raises(InputError, match=r"cannot be (opened|read)") as caught:
        list(open_source(path, "visits").read(["sex"]))
    assert "malformed" not in str(caught.value)


def test_a_command_takes_sqlite_and_keeps_its_ledger_beside_it(dproof: Callable[..., Any], tmp_path: Path) -> None:
    path, plan = sqlite_file(tmp_path, "clinic.db"), tmp_path / "plan.toml"
    plan.write_text(PLAN, "utf-8")
    args = ("--plan", plan, "--table", "visits", "--epsilon", "1", "--json")
    assert abs(dproof("ask", path, COUNT, *args).json["rows"][0]["n"]["estimate"] - TRUTH) < 40
    assert (tmp_path / "clinic.db.ledger").exists()
    assert dproof("budget", path, "--json").json["spent"]["epsilon"] == 1


# PostgreSQL -----------------------------------------------------------------------------------------------------------


def _programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or [shutil.which("initdb")]
    return Path(found[-1]).parent if found[-1] else None


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a database with a table, on a server of its own that only a socket of this machine reaches."""
    pytest.importorskip("adbc_driver_postgresql", reason="needs the driver")
    programs = _programs()
    if programs is None:
        pytest.skip("needs the programs of a PostgreSQL server")
    folder = Path("/tmp") / f"dproof-pg-{os.getpid()}"  # the path of a socket must be short
    folder.mkdir(mode=0o700)
    data, log = folder / "data", folder / "log"
    run: dict[str, Any] = {"check": True, "capture_output": True}
    if os.getuid() == 0:  # which the server refuses
        shutil.chown(folder, "postgres")
        run["user"] = "postgres"
    try:
        (folder / "password").write_text(SECRET, "utf-8")
        made = ["--auth=scram-sha-256", "--username=keeper", f"--pwfile={folder}/password", "--no-sync", "-E", "UTF8"]
        subprocess.run([programs / "initdb", "-D", data, *made], cwd="/", **run)
        options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
        subprocess.run([programs / "pg_ctl", "-D", data, "-l", log, "-w", "-o", options, "start"], cwd="/", **run)
        try:
            address = f"postgresql://keeper:{SECRET}@/postgres?host={folder}"
            _fill(address)
            yield address
        finally:
            subprocess.run([programs / "pg_ctl", "-D", data, "-m", "immediate", "stop"], cwd="/", **run)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fill(address: str) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(address) as database, database.cursor() as cursor:
        cursor.execute("CREATE TYPE sex AS ENUM ('f', 'm')")
        cursor.execute("CREATE TABLE visits (sex sex, age smallint, seen date, cost numeric(6, 2), note bytea)")
        values = ", ".join(
            f"('{sex}', {'NULL' if age is None else age}, '{seen}', {cost}, '\\x00ff')" for sex, age, seen, cost in ROWS
        )
        cursor.execute(f"INSERT INTO visits VALUES {values}")
        cursor.execute("CREATE SCHEMA other")
        cursor.execute('CREATE TABLE other."odd name" ("a ""b" text)')
        database.commit()


def test_a_table_of_postgresql_is_read(server: str, tmp_path: Path) -> None:
    assert abs(asked(server, tmp_path) - TRUTH) < 10
    address = f"{server}&table=visits"
    found = dp.check(address, dp.Plan.parse(PLAN))
    assert found.rows == 900 and [(one.missing, one.outside) for one in found.columns][1] == (129, 0)
    release = dp.sanitise(address, dp.Plan.parse(PLAN), tmp_path / "out")
    assert release.rows == 900
    assert open_source(server, "other.odd name").names == ('a "b',)
    (batch,) = open_source(address).read(["cost", "seen"])
    assert str(batch.column(0)[1]) == "0.50" and batch.column(1)[0].as_py().isoformat() == "2024-03-01"


@pytest.mark.parametrize(
    ("change", "table", "message"),
    [
        (
            (SECRET, "wrong-one"),
            "visits",
            "the database cannot be reached: check the address, the user and the password",
        ),
        (("host=", "host=/nowhere"), "visits", "the database cannot be reached"),
        (("/postgres?", "/clinic?"), "visits", "the database cannot be reached"),
        (("", ""), "visit", "the database has no table 'visit'; did you mean 'visits'"),
        (("host=", "table=other&host="), "visits", "name different tables"),
    ],
)
def test_what_fails_is_one_sentence_without_the_password(
    server: str, change: tuple[str, str], table: str, message: str, tmp_path: Path, refused: Callable[..., str]
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN, "utf-8")
    ledger = tmp_path / "budget.db"
    args = ("--plan", plan, "--table", table, "--epsilon", "1", "--ledger", ledger)
    said = refused("ask", server.replace(*change, 1), COUNT, *args)
    assert message in said
    assert not any(word in said for word in (SECRET, "wrong-one", "keeper"))
    assert not ledger.exists()  # nothing was paid


def test_nothing_that_is_written_has_the_password(server: str, tmp_path: Path, dproof: Callable[..., Any]) -> None:
    plan, ledger = tmp_path / "plan.toml", tmp_path / "budget.db"
    plan.write_text(PLAN, "utf-8")
    table = ("--table", "visits", "--plan", plan)
    without = dproof("ask", server, COUNT, *table, "--epsilon", "1")
    assert without.code == 2 and "name a ledger with --ledger" in without.err
    told = [without.err, dproof("init", server, "--table", "visits").out, dproof("check", server, *table).out]
    told += [dproof("ask", server, COUNT, *table, "--epsilon", "1", "--ledger", ledger).out]
    ran = dproof("sanitise", server, *table, "--out", tmp_path / "out", "--no-ledger")
    told += [ran.out, ran.err, dproof("budget", ledger).out, repr(open_source(server, "visits"))]
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 4
    assert not any(SECRET.encode() in content or b"keeper" in content for content in files)
    assert not any(SECRET in text or "keeper" in text for text in told)


def test_the_ends_of_all_days_are_the_ends_of_the_calendar(server: str) -> None:
    """The driver counts from 1970 without looking whether that fits: infinity was before all days."""
    from adbc_driver_postgresql import dbapi

    plan = {
        "privacy": {"epsilon": 800},
        "order": "keep",
        "columns": {"d": {"space": "date", "low": "2000-01-01", "high": "2000-01-09", "missing": "2000-01-05"}},
    }
    days = {"infinity": 9, "-infinity": 1, "4713-01-01 BC": 1, "5874897-12-31": 9, "2000-01-03": 3}
    with dbapi.connect(server) as database, database.cursor() as cursor:
        cursor.execute("CREATE TABLE ends (d date)")
        values = ", ".join(f"('{day}')" for day in days)
        cursor.execute(f"INSERT INTO ends VALUES {values}, (NULL)")
        database.commit()
        made = dp.sanitise(f"{server}&table=ends", plan).to_arrow()["d"].to_pylist()
        assert [day.day for day in made] == [*days.values(), 5]
        cursor.execute("DROP TABLE ends")
        database.commit()


def test_a_read_is_one_state_of_the_table(server: str) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(server) as database, database.cursor() as cursor:
        cursor.execute("CREATE TABLE many AS SELECT n, repeat('x', 500) AS text FROM generate_series(1, 100000) AS n")
        database.commit()
        reading = open_source(server, "many").read(["n", "text"])
        rows = next(reading).num_rows
        assert rows < 100_000  # there is more to come
        cursor.execute("DELETE FROM many")
        database.commit()
        assert rows + sum(batch.num_rows for batch in reading) == 100_000
        cursor.execute("DROP TABLE many")
        database.commit()
