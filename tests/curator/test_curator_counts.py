"""What the curator counts is what SQL means: every question, without noise, against DuckDB on the same rows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dproof import Answer, Cell, Plan, Privacy
from dproof.curator.answer import answer_of
from dproof.curator.draw import tally_in_batches, tally_in_duckdb
from dproof.curator.recipe import measure
from dproof.plans.plan import schema_of
from dproof.tables import open_source
from dproof.tables.duckdb import InDuckDB
from tests.makers import measured_for, resolved, tallied, with_noise

PLAN = Plan.from_dict(
    {
        "privacy": {"epsilon": 1000},
        "columns": {
            "age": {"space": "interval", "low": 0, "high": 110, "step": 1},
            "height": {"space": "interval", "low": "1.2", "high": "2.2", "step": "0.01"},
            "sex": {"space": "categories", "values": ["f", "m"]},
            "grade": {"space": "categories", "values": ["low", "middle", "high"], "metric": "ordinal"},
            "rooms": {"space": "categories", "values": [3, 1, 2]},
            "likes": {"space": "subsets", "values": ["music", "chess", "cars"]},
        },
    }
)
SCHEMA = schema_of(PLAN)


def table(rows: int, seed: int) -> pa.Table:
    made = np.random.default_rng(seed)
    items = np.array(["music", "chess", "cars"])
    return pa.table(
        {
            "age": made.integers(0, 111, rows),
            "height": np.round(made.integers(120, 221, rows) / 100, 2),
            "sex": made.choice(["f", "m"], rows),
            "grade": made.choice(["low", "middle", "high"], rows),
            "rooms": made.choice([1, 2, 3], rows),
            "likes": pa.array([list(items[made.random(3) < 0.5]) for _ in range(rows)], pa.list_(pa.string())),
        }
    )


def without_noise(text: str, data: Any, plan: Plan = PLAN) -> Answer:
    schema = schema_of(plan)
    question = resolved(text, schema)
    measurement = measure(question, schema, Privacy(1000))
    measurement = replace(measurement, noisy=tuple(replace(part, noise=None) for part in measurement.noisy))
    released = with_noise(measurement, tallied(data, plan, measurement))
    return answer_of(measurement, released, 0.95)


def plain(answer: Answer) -> list[tuple[Any, ...]]:
    return [
        tuple(value.estimate if isinstance(value, Cell) else value for value in row.values()) for row in answer.rows
    ]


def same(ours: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]]) -> None:
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        for x, y in zip(a, b, strict=True):
            if isinstance(x, str) or isinstance(y, str):
                assert x == y
            else:
                assert float(x) == pytest.approx(float(y), rel=1e-9, abs=1e-9)


QUESTIONS = [
    "SELECT count(*) FROM data",
    "SELECT count(*), sum(age), avg(age) FROM data WHERE sex = 'f'",
    "SELECT sex, grade, count(*) AS n FROM data GROUP BY sex, grade ORDER BY sex, n DESC",
    "SELECT grade, sex, sum(height) FROM data GROUP BY 1, 2 ORDER BY sex, 3",
    "SELECT avg(height), var_pop(height), var_samp(height), stddev(age), stddev_pop(age) FROM data WHERE age > 30",
    "SELECT sex, corr(age, height), covar_pop(age, height), covar_samp(age, height) FROM data GROUP BY sex ORDER BY 1",
    "SELECT count(*) FILTER (WHERE list_contains(likes, 'music')) AS m, "
    "count(*) FILTER (WHERE list_contains(likes, 'chess') OR NOT list_contains(likes, 'cars')) AS c FROM data",
    "SELECT sum(rooms), avg(rooms), var_pop(rooms), count(DISTINCT rooms) FROM data WHERE age BETWEEN 20 AND 60",
    "SELECT rooms, avg(age) FROM data WHERE rooms >= 2 GROUP BY rooms HAVING count(*) > 1 ORDER BY rooms DESC LIMIT 1",
    "SELECT quantile_disc(age, 0.5), min(age), max(age), quantile_disc(age, 0.9) FROM data",
    "SELECT sex, quantile_disc(height, 0.317), max(height) - min(height) AS r FROM data GROUP BY sex ORDER BY sex",
    "SELECT min(rooms), max(rooms), quantile_disc(rooms, 0.4) FROM data",
    "SELECT 100.0 * count(*) FILTER (WHERE age < 18) / count(*) AS percent, sum(age) - 2 * sum(rooms) AS d FROM data",
    "SELECT count(*) FROM data WHERE NOT (age < 10 OR age >= 100) AND height <> 1.5 AND height < 1.995",
    "SELECT count(*) FROM data WHERE sex IN ('f', 'm') AND age NOT IN (1, 2, 3)",
]


@pytest.mark.parametrize("text", QUESTIONS)
@pytest.mark.parametrize("rows", [503, 71])
def test_questions_against_duckdb(text: str, rows: int) -> None:
    data = table(rows, seed=rows)
    same(plain(without_noise(text, data)), duckdb.sql(text).fetchall())


def spoilt(clean: pa.Table, ages: list[int | None]) -> pa.Table:
    """The first rows with these ages, and with sexes that nobody declared."""
    rest, sexes = clean["age"].to_pylist()[len(ages) :], clean["sex"].to_pylist()[3:]
    odd = clean.set_column(0, "age", pa.array(ages + rest, pa.int64()))
    return odd.set_column(2, "sex", pa.array(["x", None, "", *sexes]))


@pytest.mark.parametrize("text", [*QUESTIONS, "SELECT likes, mode(grade), median(age) FROM data GROUP BY likes"])
@pytest.mark.parametrize("ages", [[], [None], [2**62], [-5]])
def test_duckdb_counts_the_same(text: str, ages: list[int | None], tmp_path: Path) -> None:
    """What is about whole numbers alone is counted in DuckDB, whatever they are; all must agree with the batches."""
    joined = [";".join(items) for items in table(400, seed=9)["likes"].to_pylist()]
    data = spoilt(table(400, seed=9), ages).set_column(5, "likes", pa.array(joined))
    pyarrow.parquet.write_table(data, tmp_path / "data.parquet")
    plan = Plan.parse(PLAN.text + '\nseparator = ";"\n')
    question = resolved(text, schema_of(plan))
    measurement = measure(question, schema_of(plan), Privacy(1))
    slowly = tally_in_batches(open_source(data), plan, measurement)
    whole = set(question.columns) <= {"age"}
    for thing in (data, tmp_path / "data.parquet"):
        quickly = tally_in_duckdb(relation(thing), plan, measurement)
        assert (quickly is not None) == whole
        if quickly is not None:
            assert quickly == slowly


def relation(thing: Any) -> InDuckDB:
    """A table as DuckDB reads it."""
    found = open_source(thing).relation()
    assert found is not None
    return found


def both_ways(thing: Any, plan: Plan, text: str) -> list[Any]:
    """What is counted of a table and of its neighbour with one number outside, each as the curator would."""
    measurement = measured_for(text, schema_of(plan), Privacy(1))
    return list(tallied(thing, plan, measurement).sums.values())


TIMES = {
    "times": (pa.array([45_000] * 9, pa.time32("s")), "12:30:00"),
    "moments in a zone": (pa.array([0] * 9, pa.timestamp("s", "UTC")), "1970-01-01 00:00:00Z"),
    "a dictionary of days": (pa.array([0] * 9, pa.date32()).dictionary_encode(), "1970-01-01"),
    "long decimals": (pa.array([150] * 9).cast(pa.decimal256(50, 2)), "150.00"),
    "texts that are none": (pa.array([b"ab"] * 8 + [b"\xff"]).view(pa.string()), "ab"),
}


@pytest.mark.parametrize("kind", TIMES)
@pytest.mark.parametrize("stored", [False, True])
def test_one_row_moves_the_counts_by_one_row(kind: str, stored: bool, tmp_path: Path) -> None:
    """A number outside must not change what the other rows count for."""
    values, value = TIMES[kind]
    x = {"space": "interval", "low": 0, "high": 9, "step": 1, "outside": "clamp"}
    when = {"space": "categories", "values": [value, "never"]}
    plan = Plan.from_dict({"privacy": {"epsilon": 1}, "columns": {"when": when, "x": x}})
    found = []
    for last in (9, 10):
        thing: Any = pa.table({"when": values, "x": [5] * 8 + [last]})
        if stored:
            pyarrow.parquet.write_table(thing, tmp_path / f"{last}.parquet")
            thing = tmp_path / f"{last}.parquet"
        found.append(both_ways(thing, plan, f"SELECT count(*), sum(x) FROM data WHERE \"when\" = '{value}'"))
    assert found[0] == found[1]


def test_names_that_differ_in_case_are_two_columns(tmp_path: Path) -> None:
    x = {"space": "interval", "low": 0, "high": 9, "step": 1, "outside": "clamp"}
    plan = Plan.from_dict({"privacy": {"epsilon": 1}, "columns": {"A": x, "a": x}})
    pyarrow.parquet.write_table(pa.table({"A": [1, 1], "a": [7, 7]}), tmp_path / "x.parquet")
    for thing in (pa.table({"A": [1, 1], "a": [7, 7]}), tmp_path / "x.parquet"):
        assert both_ways(thing, plan, 'SELECT sum("A") FROM data WHERE "a" = 7') == [[2]]


def test_a_file_is_read_by_its_own_name(tmp_path: Path) -> None:
    """DuckDB would take [1] for a pattern, and a folder a=3 for a column."""
    x = {"space": "interval", "low": 0, "high": 9, "step": 1, "outside": "clamp"}
    plan = Plan.from_dict({"privacy": {"epsilon": 1}, "columns": {"a": x}})
    (tmp_path / "a=3").mkdir()
    for name, number in (("x1.parquet", 2), ("x[1].parquet", 5), ("a=3/x.parquet", 7)):
        pyarrow.parquet.write_table(pa.table({"a": [number]}), tmp_path / name)
    for name, number in (("x[1].parquet", 5), ("a=3/x.parquet", 7)):
        assert both_ways(tmp_path / name, plan, "SELECT sum(a) FROM data") == [[number]]


def test_what_nobody_declared_is_missing_where_missing_is_a_category_too() -> None:
    sex = {"space": "categories", "values": ["f", "m"], "missing": "category"}
    plan = Plan.from_dict(
        {
            "privacy": {"epsilon": 1},
            "columns": {"sex": sex, "grade": {"space": "categories", "values": ["low", "middle", "high"]}},
        }
    )
    data = pa.table({"sex": ["f", "x", None], "grade": ["middle"] * 3})
    text = "SELECT grade, count(DISTINCT sex), count(sex), count(*) FILTER (WHERE sex IS NULL) FROM data GROUP BY grade"
    measurement = measured_for(text, schema_of(plan), Privacy(1))
    found = tallied(data, plan, measurement)
    assert list(found.histograms.values()) == [[{}, {0: 1}, {}, {}]]
    assert sorted(found.sums.values()) == [[0, 1, 0, 0], [0, 2, 0, 0]]


def test_duckdb_counts_nothing_of_an_empty_table() -> None:
    measurement = measured_for("SELECT avg(age) FROM data", SCHEMA, Privacy(1))
    empty = table(3, seed=1).slice(0, 0)
    quickly = tally_in_duckdb(relation(empty), PLAN, measurement)
    assert quickly == tally_in_batches(open_source(empty), PLAN, measurement)


def test_categories_in_order_compare_by_place() -> None:
    data = table(200, seed=1)
    found = plain(without_noise("SELECT count(*) FROM data WHERE grade >= 'middle'", data))
    assert found == [(sum(g != "low" for g in data["grade"].to_pylist()),)]


def test_bins_top_and_mode() -> None:
    data = table(900, seed=2)
    bins = plain(without_noise("SELECT bin(age, 25), count(*) FROM data GROUP BY 1", data))
    ages = data["age"].to_numpy()
    assert bins == [(edge, int(((ages >= edge) & (ages < edge + 25)).sum())) for edge in (0, 25, 50, 75, 100)]
    tens = plain(without_noise("SELECT bin(height, 0.25), count(*) FROM data GROUP BY 1", data))
    assert [edge for edge, _ in tens] == [1, 1.25, 1.5, 1.75, 2] and sum(n for _, n in tens) == 900
    skewed = data.set_column(2, "sex", pa.array(["m"] * 600 + ["f"] * 300))
    assert plain(without_noise("SELECT mode(sex) FROM data", skewed)) == [("m",)]
    likes = pa.array([["cars"]] * 400 + [["cars", "chess"]] * 400 + [[]] * 100, pa.list_(pa.string()))
    favourites = data.set_column(5, "likes", likes)
    assert plain(without_noise("SELECT top(likes, 2) FROM data", favourites)) == [(["cars", "chess"],)]
    assert (
        plain(
            without_noise("SELECT likes, count(*) AS n FROM data GROUP BY likes ORDER BY n DESC LIMIT 1", favourites)
        )[0][1]
        == 400
    )


def test_every_declared_group_appears_even_where_no_row_is() -> None:
    data = table(50, seed=3).filter(pa.compute.equal(table(50, seed=3)["sex"], "f"))
    answer = without_noise("SELECT sex, rooms, count(*) AS n, avg(age) AS a FROM data GROUP BY sex, rooms", data)
    assert [(row["sex"], row["rooms"]) for row in answer.rows] == [(s, r) for s in "fm" for r in (3, 1, 2)]
    assert all(row["n"].estimate == 0 for row in answer.rows if row["sex"] == "m")


def huge(values: list[int]) -> int:
    plan = Plan.from_dict(
        {
            "privacy": {"epsilon": 1},
            "columns": {"x": {"space": "interval", "low": 2**50, "high": 2**50 + 1, "step": 1}},
        }
    )
    data = pa.table({"x": pa.array(values, pa.int64())})
    total = without_noise("SELECT sum(x) AS s FROM data", data, plan).rows[0]["s"].raw
    grouped = without_noise("SELECT x, sum(x) AS s FROM data GROUP BY x", data, plan).rows
    assert sum(row["s"].raw for row in grouped) == total
    assert isinstance(total, int)
    return total


def test_a_sum_of_large_numbers_moves_by_one_and_not_with_the_order() -> None:
    made = np.random.default_rng(0)
    values = (2**50 + made.integers(0, 2, 1024)).tolist()
    total = huge(values)
    assert total == sum(values)
    assert huge(sorted(values)) == huge(values[::-1]) == total
    changed = [2**51 + 1 - values[0], *values[1:]]
    assert abs(huge(changed) - total) == 1


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(-(2**40), 2**40), max_size=40), st.data())
def test_sums_are_exact_whatever_their_size(values: list[int], data: Any) -> None:
    plan = Plan.from_dict(
        {
            "privacy": {"epsilon": 1},
            "columns": {
                "x": {"space": "interval", "low": -(2**40), "high": 2**40, "step": 1},
                "g": {"space": "categories", "values": ["a", "b"]},
            },
        }
    )
    groups = [data.draw(st.sampled_from("ab")) for _ in values]
    rows = pa.table({"x": pa.array(values, pa.int64()), "g": pa.array(groups, pa.string())})
    answer = without_noise("SELECT g, sum(x) AS s FROM data GROUP BY g", rows, plan)
    for row in answer.rows:
        assert row["s"].raw == sum(x for x, g in zip(values, groups, strict=True) if g == row["g"])


def test_fractions_of_a_step_are_exact_too() -> None:
    plan = Plan.from_dict(
        {"privacy": {"epsilon": 1}, "columns": {"x": {"space": "interval", "low": 0, "high": 1, "step": "0.1"}}}
    )
    answer = without_noise("SELECT sum(x) AS s FROM data", pa.table({"x": [0.1, 0.2, 0.3] * 7}), plan)
    assert answer.rows[0]["s"].raw == float(Fraction(42, 10))
