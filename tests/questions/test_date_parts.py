"""YEAR, QUARTER, MONTH and WEEKDAY of dates, in conditions and keys: as DuckDB has them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import NotMeasured, QuestionError
from dproof.questions.partition import cut, grouping
from dproof.questions.question import DATE_PARTS, Schema, canonical, resolve
from dproof.questions.sql import parse
from dproof.spaces import Categories, Dates, Interval
from dproof.spaces.space import MISSING
from dproof.testing import seeded_coins

SPACES = [
    Dates("2022-11-20", "2025-02-03"),
    Dates("1999-12-25", "2001-01-06", 3),
    Dates("0001-01-01", "0001-03-02"),
    Dates("2024-02-29", "2024-02-29"),
    Dates("2023-12-30", "2024-01-02").with_missing(),
]
CONDITIONS = [
    "year(day) = 2024",
    "year(day) <> 2024 AND month(day) < 12",
    "2000 <= year(day)",
    "month(day) BETWEEN 3 AND 10",
    "quarter(day) IN (1, 4)",
    "NOT quarter(day) IN (1, 2.5)",
    "weekday(day) = 0 OR dayofweek(day) = 6",
    "EXTRACT(year FROM day) > 2023.5",
    "NOT (extract(dow FROM day) >= 1 AND month(day) <> 2)",
]


def table_of(space: Any, *, nullable: bool = False) -> Schema:
    names = frozenset({"day"}) if nullable else frozenset()
    return Schema("data", {"day": space, "n": Interval(0, 9, 1), "ward": Categories(["a", "b"])}, nullable=names)


@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize("space", SPACES, ids=str)
@pytest.mark.parametrize("where", CONDITIONS)
def test_a_condition_holds_for_the_days_that_duckdb_finds(space: Any, where: str, nullable: bool) -> None:
    schema = table_of(space, nullable=nullable)
    question = resolve(parse(f"SELECT count(*) FROM data WHERE {where}"), schema)
    codes = np.array([*([MISSING] if nullable else []), *range(space.size)])
    day = pa.array([None if code < 0 else space.label(code) for code in codes], pa.date32())
    rows = duckdb.from_arrow(pa.table({"day": day}))
    truth = [bool(held) for (held,) in rows.project(f"coalesce({where}, false)").fetchall()]
    grid = cut(schema, [question.where])
    assert grid.mask(question.where)[grid.axes[0].of(codes)].tolist() == truth


@pytest.mark.parametrize("space", SPACES, ids=str)
@pytest.mark.parametrize("part", [part for part in DATE_PARTS if part != "hour"])
def test_a_key_groups_the_days_as_duckdb_does(space: Any, part: str) -> None:
    schema = table_of(space)
    (key,) = resolve(parse(f"SELECT {part}(day), count(*) FROM data GROUP BY {part}(day)"), schema).group_by
    groups, codes = grouping(key, schema), np.arange(space.size)
    rows = duckdb.from_arrow(pa.table({"day": pa.array([space.label(code) for code in codes], pa.date32())}))
    truth = [value for (value,) in rows.project(f"{part}(day)").fetchall()]
    assert [groups.labels[n] for n in groups.of(codes)] == truth
    there = [label for label in groups.labels if label is not None]
    assert there == sorted(set(there)) and set(groups.labels) == set(truth)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT year(day), count(*) FROM data WHERE month(day) IN (3, 1) GROUP BY year(day)",
        "SELECT quarter(day) AS q, avg(n) FILTER (WHERE weekday(day) > 3) FROM data GROUP BY q",
        "SELECT CASE year(day) WHEN 2024 THEN 'now' ELSE 'then' END AS age, count(*) FROM data GROUP BY age",
    ],
)
def test_the_text_of_a_question_parses_back(sql: str) -> None:
    schema = table_of(SPACES[0])
    text = canonical(resolve(parse(sql), schema))
    assert canonical(resolve(parse(text), schema)) == text
    assert text != canonical(resolve(parse(sql.replace("year", "month").replace("quarter", "year")), schema))


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT count(*) FROM data WHERE year(n) = 2024", "YEAR needs dates, and column 'n' has none"),
        ("SELECT month(ward), count(*) FROM data GROUP BY month(ward)", "MONTH needs dates"),
        ("SELECT count(*) FROM data WHERE year(day) = '2024'", "is a number, and '2024' is none"),
        ("SELECT count(*) FROM data WHERE year(2024) = 2024", "the name of a column was expected"),
        ("SELECT count(*) FROM data WHERE weekday(day, 1) = 3", "takes one column"),
        ("SELECT count(*) FROM data WHERE weekday() = 3", "the name of a column was expected"),
        ("SELECT sum(year(day)) FROM data", "the name of a column was expected"),
        ("SELECT year(day), count(*) FROM data GROUP BY month(day)", "neither in an aggregate nor in GROUP BY"),
        ("SELECT count(*) FROM data WHERE hour(day) = 3", "HOUR needs times of day, and column 'day' has none"),
        ("SELECT count(*) FROM data WHERE minute(day) = 3", "not supported"),
    ],
)
def test_what_is_no_part_of_a_date_is_refused(sql: str, why: str) -> None:
    with pytest.raises(QuestionError, match=why):
        resolve(parse(sql), table_of(SPACES[0]))


def test_a_public_column_has_no_declared_dates() -> None:
    days, wards = [dt.date(2024, 1, 1)] * 9, ["a"] * 9
    plan = {
        "privacy": {"epsilon": 1},
        "columns": {"day": {"public": True}, "ward": {"space": "categories", "values": ["a"]}},
    }
    release = dp.sanitise(pa.table({"day": days, "ward": wards}), plan)
    with pytest.raises(QuestionError, match="declare it with space = 'date'"):
        release.query("SELECT count(*) FROM release WHERE year(day) = 2024")


DAYS = [dt.date(2022, 1, 1) + dt.timedelta(days=7 * n % 1096) for n in range(4000)]


def plan_of(model: str, **keys: Any) -> dict[str, Any]:
    day = {"space": "date", "low": "2022-01-01", "high": "2024-12-31", **keys}
    return {"privacy": {"epsilon": 8, "model": model}, "columns": {"day": day}}


@pytest.mark.parametrize("model", ["central", "local"])
def test_releases_answer_where_the_bins_allow_it(model: str) -> None:
    with seeded_coins(1):
        release = dp.sanitise(pa.table({"day": DAYS}), plan_of(model, bins="months"))
    years = release.query("SELECT year(day) AS y, count(*) AS n FROM release WHERE quarter(day) > 1 GROUP BY y")
    truth = [sum(day.year == year and day.month > 3 for day in DAYS) for year in (2022, 2023, 2024)]
    assert [row["y"] for row in years.rows] == [2022, 2023, 2024]
    assert all(row["n"].low <= n <= row["n"].high for row, n in zip(years.rows, truth, strict=True))


def test_bins_that_are_cut_are_refused_with_those_that_would_do() -> None:
    release = dp.sanitise(pa.table({"day": DAYS}), plan_of("central", bins="years"))
    for part, way in {
        "month": 'declare bins = "months"',
        "quarter": 'bins = "quarters"',
        "weekday": "other `bins`",
    }.items():
        with pytest.raises(NotMeasured, match=rf"cuts the bin \[2022-01-01, 2023-01-01\) of 'day'.* {way}"):
            release.query(f"SELECT {part}(day), count(*) FROM release GROUP BY {part}(day)")


def test_a_curator_answers_any_part(tmp_path: Any) -> None:
    curator = dp.Curator(pa.table({"day": DAYS}), plan_of("central"), ledger=tmp_path / "ledger.db")
    with seeded_coins(1):
        answer = curator.ask("SELECT weekday(day) AS w, count(*) AS n FROM data GROUP BY w", epsilon=4)
    truth = [sum(day.isoweekday() % 7 == n for day in DAYS) for n in range(7)]
    assert [row["w"] for row in answer.rows] == list(range(7))
    assert all(row["n"].low <= n <= row["n"].high for row, n in zip(answer.rows, truth, strict=True))
