"""No value decides which code runs: rows inside, outside, missing and of another form go through the same calls.

The time of an answer would tell the value otherwise. What is read one by one, each distinct value by itself, may be
called once more for a value that no other row has.
"""

from __future__ import annotations

import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import date
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pandas
import polars
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from dproof import Plan, Privacy
from dproof.curator.recipe import measure as measurement_of
from dproof.plans.plan import schema_of
from dproof.plans.rows import read_codes
from dproof.tables import duckdb as counting
from dproof.tables import open_source
from tests.makers import resolved, tallied
from tests.workbooks import write_workbook

_FEW = 60  # calls that one value may cost by itself
_ALONE = {  # what reads a single value, or writes a single object
    *("columns/values.py", "exact.py", "spaces/dates.py:day_of", "spaces/dates.py:seconds_of"),
    *("spaces/interval.py:nearest", "spaces/interval.py:_meant", "arguments.py", "tables/workbook.py"),
    *("errors.py", "columns/sets.py:_plain"),
}
NUMBER = {"space": "interval", "low": 0, "high": 100, "step": 1, "outside": "clamp", "missing": 50}
COLUMNS: dict[str, Any] = {
    "pay": NUMBER,
    "debt": {"space": "interval", "low": 0, "high": 100, "step": 1, "outside": "refuse"},
    "hours": NUMBER | {"step": "0.25"},
    "town": {"space": "categories", "values": ["A", "B"], "outside": "category", "missing": "category"},
    "day": {"space": "date", "low": date(2024, 1, 1), "high": date(2024, 12, 31), "missing": date(2024, 6, 1)},
    "likes": {"space": "subsets", "values": ["x", "y"], "separator": ";", "outside": "clamp", "missing": []},
}
WIDE = {"space": "curves", "columns": ["a", "b"], "low": 0, "high": 9, "outside": "clamp", "missing": "centre"}
ROWS = 40
CLEAN: dict[str, Any] = {
    "pay": pa.array([n % 90 for n in range(ROWS)], pa.int64()),
    "debt": pa.array([n % 80 for n in range(ROWS)], pa.int32()),
    "hours": pa.array([n + n % 4 / 8 for n in range(ROWS)], pa.float64()),
    "town": pa.array(["AB"[n % 2] for n in range(ROWS)], pa.string()),
    "day": pa.array([date(2024, 2, 1 + n % 28) for n in range(ROWS)], pa.date32()),
    "likes": pa.array([["x", "y", "x;y", ""][n % 4] for n in range(ROWS)], pa.string()),
    "a": pa.array([n / 8 for n in range(ROWS)], pa.float64()),
    "b": pa.array([n / 9 for n in range(ROWS)], pa.float64()),
    "who": pa.array([f"p{n // 2}" for n in range(ROWS)], pa.string()),
}
TYPED: dict[str, list[Any]] = {
    "pay": [10**9, -3, None],
    "debt": [10**9, -3, None],
    "hours": [1e30, -0.5, None, 7.125, float("inf"), float("nan")],
    "town": ["elsewhere", "", None],
    "day": [date(1800, 1, 1), None],
    "likes": ["golf", "x;golf", None],
    "a": [1e9, None],
    "who": ["somebody else", None],
}
FORMS = [" 12 ", "+12", "12.50", "1e1", "-0", "1" * 25, "1e300", "inf", "true", "abc", "\u00e9", "", "1e9", "-7"]
WRITTEN: dict[str, list[Any]] = {
    **dict.fromkeys(("pay", "debt", "hours", "a"), FORMS),
    "day": ["2024-03-01T12:00", "2024-03-01T23:30:00-01:00", " 2024-03-01", "1.3.2024", "1700-01-01", "2024-02-30", ""],
    **{name: ["elsewhere", ""] for name in ("town", "likes", "who")},
}
QUESTIONS = [
    "SELECT avg(pay), median(pay) FROM data",
    "SELECT avg(debt), var(pay) FROM data WHERE pay > 10",
    "SELECT avg(hours), median(hours) FROM data",
    "SELECT town, avg(pay), count(DISTINCT town) FROM data GROUP BY town",
    "SELECT count(*) FROM data WHERE day > '2024-02-10' AND list_contains(likes, 'x')",
    "SELECT avg(load) FROM data",
]


def _feather(table: pa.Table, path: Path) -> Any:
    pyarrow.feather.write_feather(table, str(path / "x.feather"))
    return path / "x.feather"


def _parquet(table: pa.Table, path: Path) -> Any:
    pyarrow.parquet.write_table(table, path / "x.parquet")
    return path / "x.parquet"


def _csv(table: pa.Table, path: Path) -> Any:
    pyarrow.csv.write_csv(table, path / "x.csv")
    return path / "x.csv"


def _workbook(table: pa.Table, path: Path) -> Any:
    rows = [[None if cell == "" else cell for cell in row.values()] for row in table.to_pylist()]
    write_workbook(path / "x.xlsx", {"x": [list(table.column_names), *rows]})
    return path / "x.xlsx"


def _database(table: pa.Table, path: Path) -> Any:
    with duckdb.connect(str(path / "x.duckdb")) as database:
        database.register("given", table)
        database.execute("CREATE OR REPLACE TABLE x AS SELECT * FROM given")
    return path / "x.duckdb"


def _sqlite(table: pa.Table, path: Path) -> Any:
    (path / "x.sqlite").unlink(missing_ok=True)
    with sqlite3.connect(path / "x.sqlite") as database:
        database.execute(f"CREATE TABLE x ({', '.join(table.column_names)})")
        marks = ", ".join("?" * table.num_columns)
        database.executemany(f"INSERT INTO x VALUES ({marks})", [tuple(row.values()) for row in table.to_pylist()])
    database.close()
    return path / "x.sqlite"


ENGINES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "arrow": lambda table, path: table,
    "reader": lambda table, path: table.to_reader(),
    "parquet": _parquet,
    "feather": _feather,
    "pandas": lambda table, path: table.to_pandas(types_mapper=pandas.ArrowDtype),
    "objects": lambda table, path: pandas.DataFrame(
        {name: pandas.Series(table[name].to_pylist(), dtype=object) for name in table.column_names}
    ),
    "polars": lambda table, path: polars.from_arrow(table),
    "relation": lambda table, path: duckdb.connect().from_arrow(table),
    "database": _database,
}
TEXTS = {
    "csv": _csv,
    "workbook": _workbook,
    "sqlite": _sqlite,
    "parquet": _parquet,
    "objects": ENGINES["objects"],
    "arrow": ENGINES["arrow"],
}


def changed(table: pa.Table, column: str, value: Any) -> pa.Table:
    values = table[column].to_pylist()
    values[7] = value
    return table.set_column(table.column_names.index(column), column, pa.array(values, table.schema.field(column).type))


def calls(work: Callable[[], Any]) -> Counter[str]:
    """How often each function of dproof is called."""
    seen: Counter[str] = Counter()

    def note(frame: Any, event: str, _: Any) -> None:
        _, found, place = frame.f_code.co_filename.rpartition("/dproof/")
        if event == "call" and found and not frame.f_code.co_name.startswith("<"):
            seen[f"{place}:{frame.f_code.co_name}"] += 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return seen


@cache
def measure(sql: str, plan: Plan) -> Any:
    schema = schema_of(plan)
    return measurement_of(resolved(sql, schema), schema, Privacy(1))


def trace(thing: Any, plan: Plan, sql: str, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Any], list[Counter[str]]]:
    """The SQL that is run, and the calls of a question to the curator and of a release."""
    schema, ran, whole = schema_of(plan), list[Any](), counting.count_alike
    measurement = measure(sql, plan)
    names = [name for name in schema.spaces if name in sql and not plan.column(name).refuses]

    def noted(relation: Any, keys: Any, sums: Any) -> Any:
        ran.append((keys, sums))
        return whole(relation, keys, sums)

    monkeypatch.setattr("dproof.curator.draw.count_alike", noted)
    asked = calls(lambda: tallied(thing(), plan, measurement))
    return ran, [
        asked,
        calls(lambda: list(read_codes(open_source(thing()), plan, [plan.column(name) for name in names]))),
    ]


def is_alone(name: str) -> bool:
    """Whether a function reads single values, or the elements of a sheet, of which a longer file has more."""
    return (
        name in _ALONE
        or name.partition(":")[0] in _ALONE
        or name.endswith((":look_up", ":lookup", ":read_number", "numbers.py:format"))
    )


def same_way(usual: Any, odd: Any) -> bool:
    """Whether the same SQL is run and the same functions, those of single values aside, as often."""
    (sql, usual_calls), (other_sql, odd_calls) = usual, odd
    for first, second in zip(usual_calls, odd_calls, strict=True):
        more = {name: second[name] - first[name] for name in {*first, *second} if second[name] != first[name]}
        if not all(map(is_alone, more)) or sum(map(abs, more.values())) > _FEW:
            print(more)
            return False
    return bool(sql == other_sql)


@cache
def plan_of(person: bool) -> Plan:
    privacy: dict[str, Any] = {"epsilon": 8} | ({"person": "who", "rows_per_person": 1} if person else {})
    columns = COLUMNS | {"load": WIDE, "who": {"drop": True}}
    return Plan.from_dict({"privacy": privacy, "columns": columns})


def both(make: Any, table: pa.Table, sql: str, odd: dict[str, list[Any]], path: Path, monkeypatch: Any) -> None:
    for person in (False, True) if sql == QUESTIONS[0] else (False,):
        plan, wanted = plan_of(person), [name for name in odd if name in sql or (name == "who" and person)]
        wanted += ["a"] if "load" in sql else []
        usual = trace(lambda: make(table, path), plan, sql, monkeypatch)  # once before, for what is remembered
        usual = trace(lambda: make(table, path), plan, sql, monkeypatch)
        for name in wanted:
            for value in odd[name]:
                found = trace(lambda n=name, v=value: make(changed(table, n, v), path), plan, sql, monkeypatch)  # type: ignore[misc]
                assert same_way(usual, found), (name, value, person)


def cases(engines: Iterable[str]) -> list[Any]:
    """Every engine with every question: one question for each in turn, and all of them in `make test-slow`."""
    pairs = enumerate(product(engines, QUESTIONS))
    slow = pytest.mark.slow
    return [
        pytest.param(*pair, marks=[slow] if (n + n // len(QUESTIONS)) % len(QUESTIONS) else []) for n, pair in pairs
    ]


@pytest.mark.parametrize(("engine", "sql"), cases(ENGINES))
def test_every_value_goes_the_same_way(engine: str, sql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both(ENGINES[engine], pa.table(CLEAN), sql, TYPED, tmp_path, monkeypatch)


@pytest.mark.parametrize(("engine", "sql"), cases(TEXTS))
def test_every_text_goes_the_same_way(engine: str, sql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({name: array.cast(pa.string()) for name, array in CLEAN.items()})
    both(TEXTS[engine], table, sql, WRITTEN, tmp_path, monkeypatch)


def test_what_a_file_says_of_its_values_does_not_choose_how_duckdb_counts(tmp_path: Path) -> None:
    """Not even the plan of DuckDB is another one where the least and the greatest number are."""
    plans = []
    for name, greatest in (("x", 89), ("y", 10**18)):
        pyarrow.parquet.write_table(pa.table({"pay": [*range(90), greatest]}), tmp_path / f"{name}.parquet")
        table = open_source(tmp_path / f"{name}.parquet").relation()
        assert table is not None
        codes = table.relation.project('CASE WHEN pay BETWEEN 0 AND 100 THEN pay ELSE 0 END AS "pay"')
        plans.append(codes.aggregate("pay, count(*), sum(pay)", "pay").explain().replace(f"{name}.parquet", ""))
    assert plans[0] == plans[1] and "PERFECT" not in plans[0]
