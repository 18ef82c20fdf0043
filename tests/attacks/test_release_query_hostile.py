"""Hostile, malformed and impossible questions: a clear refusal, and nothing but the release is ever read."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import InputError

PLAN: dict[str, Any] = {
    "privacy": {"epsilon": 3},
    "columns": {
        "hobby": {"space": "categories", "values": ["Cars", "Reading"]},
        "likes": {"space": "subsets", "values": ["Music", "Film"], "separator": ";"},
        "region": {"public": True},
        "name": {"drop": True},
    },
}
TABLE = pa.table(
    {"hobby": ["Cars", "Reading"] * 20, "likes": ["Music", ""] * 20, "region": ["N", "S"] * 20, "name": ["x"] * 40}
)


@pytest.fixture(scope="module", params=["memory", "folder"])
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    held = dp.sanitise(TABLE, PLAN)
    return held if request.param == "memory" else held.save(tmp_path_factory.mktemp("releases") / "out")


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT count(*) FROM relase", "there is no table 'relase'"),
        ("SELECT hoby, count(*) FROM release GROUP BY hoby", "no column 'hoby'; did you mean 'hobby'"),
        ("SELECT count(*) FROM release WHERE hobby = 'Car'", "no value 'Car'; did you mean 'Cars'"),
        ("SELECT count(*) FROM release WHERE list_contains(likes, 'Musik')", "did you mean 'Music'"),
        ("SELECT count(*) FROM release WHERE name = 'x'", "no column 'name'"),
        ("SELECT avg(hobby) FROM release", "AVG needs numbers"),
        ("SELECT hobby FROM release", "asks for aggregates"),
        ("SELECT * FROM release", "asks for rows"),
        ("SELECT 2 * count(DISTINCT hobby) FROM release", r"COUNT\(DISTINCT ...\) cannot be calculated with"),
        ("SELECT mode(hobby) || 'x' FROM release", "is not supported"),
        ("SELECT count(*) FROM release; DROP TABLE release", "one statement at a time"),
        ("SELECT count(*) FROM read_csv('/etc/passwd')", "without joins, functions or files"),
        ("SELECT count(*) FROM '/etc/passwd'", "no table '/etc/passwd'"),
        ("SELECT count(*) FROM release, release AS r", "is not supported"),
        ("SELECT count(*) FROM (SELECT DISTINCT hobby FROM release)", "DISTINCT in a subquery"),
        ("SELECT count(*) FROM release WHERE hobby IN (SELECT hobby FROM release)", "is not supported"),
        ("SELECT count(*) FROM release WHERE hobby = getenv('HOME')", "is not supported"),
        ("ATTACH '/tmp/x.db'", "one SELECT"),
        ("COPY release TO '/tmp/x.csv'", "one SELECT"),
        ("PRAGMA database_list", "one SELECT"),
        ("SELECT count(* FROM release", "not SQL"),
        ("", "and there is none"),
        ("SELECT median(hobby) FROM release", "QUANTILE needs numbers"),
        ("SELECT count(*) FROM release WHERE region > 3", "does not fit the stored columns"),
        ("SELECT median(region) FROM release", "QUANTILE needs numbers, and column 'region' has other values"),
        ("SELECT avg(region) FROM release", "does not fit the stored columns"),
        ("SELECT hobby + 1 AS x, count(*) FROM release GROUP BY hobby", "is a group and cannot be calculated with"),
        ("SELECT mode(hobby) + 1 AS x FROM release", "MODE cannot be calculated with"),
        ("SELECT proportion(hobby = 'Cars', 2) FROM release", "PROPORTION takes one condition"),
        ("SELECT count(DISTINCT hobby, region) FROM release", "takes one column"),
        ("SELECT count(*)", "names no table"),
        ("SELECT count(*) FROM release WHERE likes < 'Music'", "holds sets: ask list_contains"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused_in_words(release: Any, sql: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        release.query(sql)


@pytest.mark.parametrize("level", [0, 1, -1, 2, float("nan"), "high", None])
def test_a_level_is_a_probability(release: Any, level: Any) -> None:
    with pytest.raises(InputError, match="level must"):
        release.query("SELECT count(*) FROM release", level=level)


def test_options_are_known_by_name(release: Any) -> None:
    for options, said in (
        ({"method": "invers"}, "did you mean 'inverse'"),
        ({"target": "tabel"}, "did you mean 'table'"),
        ({"levl": 0.9}, "no option 'levl'; did you mean 'level'"),
    ):
        with pytest.raises(InputError, match=said):
            release.query("SELECT count(*) FROM release", **options)


FORBIDDEN = [
    "SELECT * FROM read_csv('{secret}')",
    "SELECT * FROM '{secret}'",
    "SELECT content FROM read_text('{secret}')",
    "FROM read_blob('{secret}')",
    "SELECT * FROM glob('/*')",
    "SELECT (SELECT count(*) FROM '{secret}') FROM release",
    "WITH release AS (SELECT * FROM read_csv('{secret}')) SELECT * FROM release",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM query_table('stored')",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM main.release",
    "ATTACH '{secret}' AS other",
    "COPY release TO '{out}'",
    "COPY (SELECT 1) TO '{out}'",
    "EXPORT DATABASE '{out}'",
    "CREATE TABLE t AS SELECT 1",
    "SELECT * INTO t FROM release",
    "INSERT INTO release VALUES (1)",
    "SET enable_external_access = true",
    "RESET lock_configuration",
    "INSTALL httpfs",
    "LOAD httpfs",
    "PRAGMA database_list",
    "CALL pragma_version()",
    "SELECT 1; SELECT 2",
    "SELECT * FROM 'https://example.com/x.parquet'",
    "SELECT * FROM TABLE",
    "not sql at all (",
]


@pytest.mark.parametrize("sql", FORBIDDEN)
def test_raw_reads_nothing_but_the_release(release: Any, sql: str, tmp_path: Path) -> None:
    secret, out = tmp_path / "secret.csv", tmp_path / "out.csv"
    secret.write_text("canary\n31415\n")
    with pytest.raises(InputError) as refused:
        release.raw(sql.format(secret=secret, out=out))
    assert "31415" not in str(refused.value) and not out.exists()


def test_the_engine_is_locked_even_where_the_words_are_not_checked(
    release: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("canary\n31415\n")
    monkeypatch.setattr(import_module("dproof.questions.raw"), "_check", lambda sql: None)
    for sql in (
        f"SELECT * FROM read_csv('{secret}')",
        f"SELECT * FROM read_text('{secret}')",
        f"ATTACH '{tmp_path / 'x.db'}'",
        f"COPY release TO '{tmp_path / 'y.csv'}'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET allowed_directories = ['/']",
        "RESET lock_configuration",
        "SELECT * FROM 'https://example.com/x.parquet'",
    ):
        with pytest.raises(InputError):
            release.raw(sql)


def test_a_python_variable_is_no_table(release: Any) -> None:
    secret_frame = pa.table({"x": [1]})
    with pytest.raises(InputError):
        release.raw("SELECT * FROM secret_frame")
    assert secret_frame.num_rows == 1


def test_raw_is_any_sql_on_the_rows_and_says_so(release: Any) -> None:
    answer = release.raw(
        "WITH c AS (SELECT hobby, unnest(likes) AS item FROM release) "
        "SELECT hobby, item, count(*) AS n FROM c, range(1) GROUP BY ALL ORDER BY ALL"
    )
    rows = [(own, item) for own, likes in zip(*_columns(release), strict=True) for item in likes]
    expected = sorted({(own, item, rows.count((own, item))) for own, item in rows})
    assert [tuple(row.values()) for row in answer.rows] == expected
    assert answer.method == "raw" and "biased" in answer.notes[0]


def _columns(release: Any) -> tuple[list[str], list[list[str]]]:
    table = release.to_arrow()
    return table["hobby"].to_pylist(), [text.split(";") if text else [] for text in table["likes"].to_pylist()]


def test_a_column_named_like_sql_is_only_a_name() -> None:
    names = ['x"; DROP TABLE stored; --', "select", "a b", "'"]
    table = pa.table({name: ["a", "b"] * 50 for name in names})
    column = {"space": "categories", "values": ["a", "b"]}
    release = dp.sanitise(table, {"privacy": {"epsilon": 400}, "columns": dict.fromkeys(names, column)})
    for name in names:
        quoted = '"' + name.replace('"', '""') + '"'
        answer = release.query(f"SELECT {quoted} AS k, count(*) AS n FROM release GROUP BY {quoted}")
        assert [row["n"].estimate for row in answer.rows] == pytest.approx([50, 50])


def test_values_named_like_sql_are_only_values() -> None:
    values = ["'; DROP TABLE stored; --", "b"]
    items = ["it's", '"']
    table = pa.table({"x": values * 50, "s": [["it's"], []] * 50, "p": values * 50})
    plan = {
        "privacy": {"epsilon": 400},
        "columns": {
            "x": {"space": "categories", "values": values},
            "s": {"space": "subsets", "values": items},
            "p": {"public": True},
        },
    }
    release = dp.sanitise(table, plan)
    evil = values[0].replace("'", "''")
    for condition in (f"x = '{evil}'", "list_contains(s, 'it''s')", f"p = '{evil}'"):
        (row,) = release.query(f"SELECT count(*) AS n FROM release WHERE {condition}").rows
        assert row["n"].estimate == pytest.approx(50, abs=1e-6)


def test_a_question_that_is_too_large_is_refused() -> None:
    values = list(range(3000))
    columns = {name: {"space": "categories", "values": values} for name in "abc"}
    table = pa.table({name: np.arange(100) for name in "abc"})
    release = dp.sanitise(table, {"privacy": {"epsilon": 3}, "columns": columns})
    with pytest.raises(InputError, match="fewer"):
        release.query("SELECT a, b, c, count(*) FROM release GROUP BY a, b, c")


def test_a_law_that_tells_nothing_names_raw() -> None:
    plan = {"privacy": {"epsilon": 0}, "columns": {"hobby": {"space": "categories", "values": ["Cars", "Reading"]}}}
    release = dp.sanitise(TABLE.select(["hobby"]), plan)
    with pytest.raises(InputError, match=r"column 'hobby' cannot be debiased.*raw\(\.\.\.\)"):
        release.query("SELECT hobby, count(*) FROM release GROUP BY hobby")
    assert release.query("SELECT count(*) AS n FROM release").rows[0]["n"].estimate == 40
