"""What is missing is missing: the curator's answers over numbers, sets and curves that are not there."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dproof as dp
from dproof import Categories, Interval, Plan, Privacy
from dproof.curator.draw import tally_in_batches, tally_in_duckdb
from dproof.curator.recipe import Measurement, measure
from dproof.plans.plan import schema_of
from dproof.questions.question import Schema
from dproof.tables import open_source
from tests.curator.test_curator_counts import plain, relation, same, without_noise
from tests.curator.test_curator_price import misses
from tests.curator.test_curator_selection import law_of_flips
from tests.makers import measured_for, resolved

COLUMNS: dict[str, Any] = {
    "salary": {"space": "interval", "low": 0, "high": 200_000, "step": 1},
    "hours": {"space": "interval", "low": 0, "high": 60, "step": "0.5"},
    "sex": {"space": "categories", "values": ["f", "m"]},
    "likes": {"space": "subsets", "values": ["music", "chess"], "separator": ";"},
}
PLAN = Plan.from_dict({"privacy": {"epsilon": 1000}, "columns": COLUMNS})


def written(rows: int = 400) -> tuple[pa.Table, pa.Table]:
    """A table as people have it, with blanks and texts that are no numbers, and what it says."""
    made = np.random.default_rng(rows)
    salary = [str(made.integers(0, 200_001)) for _ in range(rows)]
    for n in range(0, rows, 5):
        salary[n] = made.choice(["", "65,000", "n/a", "1e", "NaN", "12 000"])
    hours = [None if made.random() < 0.2 else float(made.integers(0, 121)) / 2 for _ in range(rows)]
    hours[3] = math.nan
    sex = [made.choice(["f", "m"]) if made.random() < 0.8 else None for _ in range(rows)]
    likes = [made.choice(["music", "chess", "music;chess", ""]) if made.random() < 0.7 else None for _ in range(rows)]
    true = {
        "salary": pa.array([int(s) if s.isdigit() else None for s in salary], pa.int64()),
        "hours": pa.array([None if h is None or h != h else h for h in hours], pa.float64()),
        "sex": pa.array(sex, pa.string()),
        "likes": pa.array([None if x is None else x.split(";") if x else [] for x in likes], pa.list_(pa.string())),
    }
    return pa.table({"salary": salary, "hours": hours, "sex": sex, "likes": likes}), pa.table(true)


QUESTIONS = [
    "SELECT count(*) FROM data WHERE salary IS NULL",
    "SELECT count(*) FROM data WHERE salary IS NOT NULL AND hours IS NULL OR likes IS NULL",
    "SELECT count(salary), count(hours), count(likes), count(*) FROM data",
    "SELECT sum(salary), avg(salary), sum(hours), avg(hours) FROM data",
    "SELECT avg(salary), var_samp(salary), stddev_pop(hours) FROM data WHERE sex = 'f'",
    "SELECT covar_pop(salary, hours), covar_samp(salary, hours), corr(salary, hours) FROM data",
    "SELECT quantile_disc(salary, 0.317), min(salary), max(salary), quantile_disc(hours, 0.731) FROM data",
    "SELECT count(DISTINCT hours), count(DISTINCT sex) FROM data",
    "SELECT count(*) FROM data WHERE NOT salary > 100000",
    "SELECT count(*) FROM data WHERE salary <> 0 AND hours NOT IN (1, 2)",
    "SELECT count(*) FROM data WHERE NOT list_contains(likes, 'music')",
    "SELECT avg(salary) FILTER (WHERE hours IS NULL) AS a, count(hours) FILTER (WHERE salary < 90000) AS b FROM data",
    "SELECT sum(hours) / count(hours) AS a, 1.0 * count(*) FILTER (WHERE hours IS NULL) / count(*) AS b FROM data",
]


@pytest.mark.parametrize("rows", [400, 41])
@pytest.mark.parametrize("text", QUESTIONS)
def test_missing_values_mean_what_sql_says(text: str, rows: int) -> None:
    found, data = written(rows)
    same(plain(without_noise(text, found, PLAN)), duckdb.sql(text).fetchall())
    assert data.num_rows == rows


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("SELECT bin(hours, 10), count(*), count(salary) FROM data GROUP BY 1", "floor(hours / 10) * 10"),
        ("SELECT sex, count(*), count(salary) FROM data GROUP BY sex", "sex"),
    ],
)
def test_a_row_with_a_missing_key_is_in_no_group(ours: str, theirs: str) -> None:
    found, data = written()
    grouped = duckdb.sql(f"SELECT {theirs} AS k, count(*), count(salary) FROM data GROUP BY k ORDER BY k").fetchall()
    same(plain(without_noise(ours, found, PLAN)), [row for row in grouped if row[0] is not None])
    assert data.num_rows == 400


def test_modes_and_top_lists_are_of_those_present() -> None:
    data = pa.table(
        {
            "salary": ["7"] * 20 + [""] * 80 + ["9"] * 10,
            "hours": [1.0] * 110,
            "sex": ["f"] * 110,
            "likes": [None] * 80 + ["chess"] * 20 + ["music"] * 10,
        }
    )
    plan = replace(PLAN, columns=tuple(replace(c, space=Interval(0, 9, 1)) if c.name == "salary" else c for c in PLAN.columns))  # fmt: skip # noqa: E501
    assert plain(without_noise("SELECT mode(salary), top(likes, 1) FROM data", data, plan)) == [(7, ["chess"])]


def test_an_outside_number_is_clamped_or_missing_as_the_plan_says() -> None:
    data = pa.table({"x": [-5.0, 3.0, 12.0, math.inf, -math.inf, math.nan]})
    for outside, missing, wanted in (
        ("clamp", "refuse", (0 + 3 + 9 + 9 + 0, 5, 1)),
        ("clamp", 4, (0 + 3 + 9 + 9 + 0 + 4, 6, 0)),
        ("refuse", "refuse", (3, 1, 5)),
        ("refuse", 4, (3 + 4, 2, 4)),
    ):
        x = {"space": "interval", "low": 0, "high": 9, "step": 1, "outside": outside, "missing": missing}
        plan = Plan.from_dict({"privacy": {"epsilon": 1}, "columns": {"x": x}})
        text = "SELECT sum(x), count(x), count(*) FILTER (WHERE x IS NULL) AS n FROM data"
        assert plain(without_noise(text, data, plan)) == [wanted]


def test_a_stand_in_takes_the_place_of_missing_values() -> None:
    x = {"space": "interval", "low": 0, "high": 99, "step": 1, "missing": 40}
    likes = {"space": "subsets", "values": ["a", "b"], "missing": ["b"]}
    plan = Plan.from_dict({"privacy": {"epsilon": 1}, "columns": {"x": x, "likes": likes}})
    data = pa.table({"x": ["10", "", "x", "1,5", None], "likes": pa.array([["a"], None, [], None, ["b"]])})
    text = (
        "SELECT sum(x), avg(x), count(x), count(*) FILTER (WHERE x IS NULL) AS n, count(*) FILTER (WHERE x = 40) AS m, "
        "count(*) FILTER (WHERE list_contains(likes, 'b')) AS b, max(x) AS most FROM data"
    )
    assert plain(without_noise(text, data, plan)) == [(170, 34, 5, 0, 4, 3, 40)]


def test_every_answer_that_touches_a_stand_in_says_so(tmp_path: Path) -> None:
    columns = {
        "age": {"space": "interval", "low": 0, "high": 99, "step": 1, "missing": 40},
        "likes": {"space": "subsets", "values": ["a", "b"], "missing": ["b"]},
        "none": {"space": "subsets", "values": ["a", "b"], "missing": []},
        "sex": {"space": "categories", "values": ["f", "m"], "missing": "f"},
        "town": {"space": "categories", "values": ["x", "y"], "missing": "category"},
        "plain": {"space": "interval", "low": 0, "high": 9},
        "load": {"space": "curves", "points": 3, "low": 0, "high": 1, "terms": 2, "missing": "centre"},
    }
    lists = pa.array([["a"]] * 9)
    rows = pa.table(
        {"age": [1] * 9, "likes": lists, "none": lists, "sex": ["f"] * 9, "town": ["x"] * 9, "plain": [1] * 9}
        | {"load": [[0.1, 0.2, 0.3]] * 9}
    )
    curator = dp.Curator(rows, {"privacy": {"epsilon": 99}, "columns": columns}, ledger=tmp_path / "b.db")
    wanted = {
        "SELECT avg(age) FROM data": ["'age' is missing it counts as 40,"],
        "SELECT count(*) FROM data WHERE age > 3": ["'age' is missing it counts as 40,"],
        "SELECT count(*) FROM data WHERE age IS NULL": ["'age' is missing it counts as 40,"],
        "SELECT sex, avg(age) FROM data GROUP BY sex": ["'sex' is missing it counts as 'f',", "'age'"],
        "SELECT top(likes, 1) FROM data": ["'likes' is missing it counts as the set of 'b',"],
        "SELECT top(none, 1) FROM data": ["'none' is missing it counts as the empty set,"],
        "SELECT avg(load) FROM data": ["'load' is missing it counts as the public centre,"],
        "SELECT avg(load) FROM data WHERE age > 3": ["'age'", "'load'"],
        "SELECT count(*) FROM data": [],
        "SELECT town, avg(plain) FROM data GROUP BY town": [],
    }
    for text, said in wanted.items():
        seen = curator.preview(text, epsilon=1)
        for notes in (curator.ask(text, epsilon=1).notes, seen.notes, seen.to_json()["notes"], str(seen).splitlines()):
            found = [note for note in notes if "as the plan says" in note]
            assert len(found) == len(said)
            assert all(any(part in note for note in found) for part in said)
    women, _ = dp.declare("women", lambda rows: sum(row["sex"] == "f" for row in rows), 1, curator.schema)
    assert sum("as the plan says" in note for note in curator.ask_declared(women, epsilon=1).notes) == 4


def curves(missing: str) -> dict[str, Any]:
    return {
        "privacy": {"epsilon": 1000},
        "columns": {
            "load": {"space": "curves", "points": 3, "low": 0, "high": 1, "terms": 2, "missing": missing},
            "sex": COLUMNS["sex"],
        },
    }


LOADS = pa.table({"load": pa.array([[0.1, 0.2, 0.3]] * 40 + [None] * 60), "sex": ["f"] * 50 + ["m"] * 50})


def test_curves_that_are_missing_are_counted_and_left_out(tmp_path: Path) -> None:
    curator = dp.Curator(LOADS, curves("refuse"), ledger=tmp_path / "b.db")
    text = (
        "SELECT sex, count(*) AS n, count(load) AS c, count(*) FILTER (WHERE load IS NULL) AS m FROM data GROUP BY sex"
    )
    assert plain(curator.ask(text, epsilon=100)) == [("f", 50, 40, 10), ("m", 50, 0, 50)]
    assert plain(curator.ask("SELECT count(*) FROM data WHERE load IS NOT NULL", epsilon=100)) == [(40,)]
    assert plain(curator.ask("SELECT count(load) / count(*) AS share FROM data", epsilon=100))[0][0] == 0.4
    mean = curator.ask("SELECT avg(load) FROM data", epsilon=300)
    assert np.allclose(mean.rows[0]["avg(load)"].estimate, [0.1, 0.2, 0.3], atol=0.05)
    total = curator.ask("SELECT sum(load) FROM data WHERE sex = 'f'", epsilon=300)
    assert np.allclose(total.rows[0]["sum(load)"].estimate, [4, 8, 12], atol=1)
    left = curator.remaining().epsilon
    again = curator.ask("SELECT avg(load) FROM data WHERE load IS NOT NULL", epsilon=300)  # the same question
    assert curator.remaining().epsilon == left and again.rows == mean.rows
    assert 'load" IS NULL' in curator.preview("SELECT avg(load) FROM data", epsilon=1).asked
    for text in ("SELECT count(DISTINCT load) FROM data", "SELECT load, count(*) FROM data GROUP BY load"):
        with pytest.raises(dp.InputError):
            curator.ask(text, epsilon=1)


def test_a_stand_in_for_curves_is_the_centre(tmp_path: Path) -> None:
    curator = dp.Curator(LOADS, curves("centre"), ledger=tmp_path / "b.db")
    mean = curator.ask("SELECT avg(load) FROM data", epsilon=300).rows[0]["avg(load)"].estimate
    assert np.allclose(mean, 0.4 * np.array([0.1, 0.2, 0.3]) + 0.6 * 0.5, atol=0.05)


@pytest.mark.slow
def test_intervals_of_a_mean_of_those_present_cover_it(tmp_path: Path) -> None:
    """The number of salaries is private under change-one too, and its noise is in the interval."""
    found, data = written(200)
    true = np.mean([s for s in data["salary"].to_pylist() if s is not None])
    covered = 0
    for n in range(100):
        with dp.testing.seeded_coins(n):
            cell = dp.Curator(found, {"privacy": {"epsilon": 1}, "columns": COLUMNS}, ledger=tmp_path / f"{n}.db").ask(
                "SELECT avg(salary) AS x FROM data", epsilon=1
            )
        covered += cell.rows[0]["x"].low <= true <= cell.rows[0]["x"].high
    assert 89 <= covered <= 100


def test_the_default_never_refuses(tmp_path: Path) -> None:
    """Whether a value is missing is told by no refusal: neighbours are answered alike, or refused alike."""
    for value in ("7", "", "x", "1e999", "inf"):
        rows = pa.table({"salary": ["1", value], "hours": ["2"] * 2, "sex": ["f"] * 2, "likes": ["music"] * 2})
        curator = dp.Curator(rows, {"privacy": {"epsilon": 9}, "columns": COLUMNS}, ledger=tmp_path / f"{value}.db")
        for text in ("SELECT avg(salary), count(salary) FROM data", "SELECT median(salary) FROM data"):
            assert len(curator.ask(text, epsilon=1).rows) == 1


# Both ways of counting.
NUMBERS = st.one_of(st.none(), st.integers(0, 9), st.sampled_from([-1, 10, 2**40, 0, 9]))
PARTS = [
    "count(*)", "count(a)", "sum(a)", "avg(a)", "var(a)", "sum(b)", "covar(a, b)", "corr(a, b)", "count(DISTINCT a)",
    "median(b)", "sum(a) FILTER (WHERE b IS NULL)", "count(*) FILTER (WHERE a IS NULL)", "avg(b) FILTER (WHERE a > 3)",
]  # fmt: skip
WHERES = ["", "WHERE a IS NULL", "WHERE a IS NOT NULL", "WHERE b < 5", "WHERE c = 'x' OR a IS NULL", "WHERE c IS NULL"]
GROUPS = ["", "GROUP BY c", "GROUP BY a", "GROUP BY bin(b, 4), c"]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(NUMBERS, NUMBERS, st.sampled_from(["x", "y", "?", None])), max_size=12),
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=3, unique=True),
    st.sampled_from(WHERES),
    st.sampled_from(GROUPS),
    st.sampled_from(["clamp", "refuse"]),
    st.sampled_from(["refuse", 4]),
    st.booleans(),
)
def test_duckdb_and_row_by_row_count_the_same(
    rows: list[Any], parts: list[str], where: str, groups: str, outside: str, missing: Any, small: bool
) -> None:
    number = {"space": "interval", "low": 0, "high": 9, "step": 1}
    declared = {
        "a": {**number, "outside": outside, "missing": missing},
        "b": {**number, "high": 10, "step": 2},
        "c": {"space": "categories", "values": ["x", "y"]},
    }
    plan = Plan.from_dict({"privacy": {"epsilon": 1}, "columns": declared})
    kinds = {"a": pa.int8() if small else pa.int64(), "b": pa.int64(), "c": pa.string()}
    rows = [row for row in rows if not small or (row[0] or 0) < 128]
    data = pa.table({name: pa.array([row[n] for row in rows], kind) for n, (name, kind) in enumerate(kinds.items())})
    text = f"SELECT {', '.join(f'{part} AS p{n}' for n, part in enumerate(parts))} FROM data {where} {groups}"
    measurement = measured_for(text, schema_of(plan), Privacy(1))
    slowly = tally_in_batches(open_source(data), plan, measurement)
    quickly = tally_in_duckdb(relation(data), plan, measurement)
    assert (quickly is not None) == ("c" not in measurement.question.columns)  # no number is read otherwise
    assert quickly is None or quickly == slowly


def test_a_missing_number_keeps_the_quick_way(tmp_path: Path) -> None:
    """Nulls need no reading row by row, however many values the others have."""
    x = {"space": "interval", "low": 0, "high": 10**7, "step": 1}
    plan = Plan.from_dict({"privacy": {"epsilon": 1}, "columns": {"x": x}})
    numbers = np.random.default_rng(1).integers(0, 10**7, 200_000)
    data = pa.table({"x": pa.array(numbers, mask=numbers % 7 == 0)})
    pyarrow.parquet.write_table(data, tmp_path / "x.parquet")
    measurement = measured_for("SELECT avg(x), var(x) FROM data", schema_of(plan), Privacy(1))
    for thing in (data, tmp_path / "x.parquet"):
        slowly = tally_in_batches(open_source(data), plan, measurement)
        assert tally_in_duckdb(relation(thing), plan, measurement) == slowly


# What a choice costs where a row may change from missing to present.
SMALL = Schema("data", {"x": Categories([0, 1, 3]), "g": Categories(["a", "b"])}, frozenset("x"))
KINDS = list(product([0, 1, 3, None], "ab"))


def law_of_choice(measurement: Measurement, rows: list[tuple[int | None, str]]) -> dict[Any, float]:
    (choice,) = measurement.chosen
    laws = []
    for group in ["a", "b"] if measurement.keys else ["ab"]:
        counts = Counter([0, 1, 3].index(x) for x, g in rows if g in group and x is not None)
        missed = [-counts[code] for code in range(3)] if choice.aggregate.kind == "mode" else misses(choice, counts, 3)
        laws.append(law_of_flips(missed, float(choice.rate)))
    codes = product(range(3), repeat=len(laws))
    return {each: math.prod(law[c] for law, c in zip(laws, each, strict=True)) for each in codes}


@pytest.mark.parametrize("neighbours", ["change-one", "add-remove"])
@pytest.mark.parametrize("groups", ["", "GROUP BY g"])
@pytest.mark.parametrize("chosen", ["mode(x)", "median(x)", "quantile(x, 0.2)", "min(x)", "max(x)"])
def test_no_pair_of_tables_with_gaps_costs_a_choice_more_than_epsilon(
    chosen: str, groups: str, neighbours: Any
) -> None:
    question = resolved(f"SELECT {chosen} AS c FROM data {groups}", SMALL)
    measurement = measure(question, SMALL, Privacy(2, neighbours=neighbours))

    @cache
    def logs(*rows: tuple[int | None, str]) -> Any:
        return np.log([*law_of_choice(measurement, list(rows)).values()])

    most = 0.0
    for shared in combinations_with_replacement(KINDS, 2):
        laws = np.array([logs(*sorted([*shared, row], key=KINDS.index)) for row in KINDS])
        others = logs(*shared)[None] if neighbours == "add-remove" else laws
        most = max(most, np.abs(laws[:, None] - others).max())
    assert most <= 2 + 1e-9


def test_a_person_s_missing_numbers_are_missing_too(tmp_path: Path) -> None:
    plan = {
        "privacy": {"epsilon": 1000, "person": "id", "rows_per_person": 2},
        "columns": {"id": {"drop": True}, "salary": COLUMNS["salary"]},
    }
    rows = pa.table({"id": [n // 2 for n in range(200)], "salary": ["100000", ""] * 100})
    curator = dp.Curator(rows, plan, ledger=tmp_path / "b.db")
    answer = curator.ask("SELECT count(*) AS n, count(salary) AS c, avg(salary) AS a FROM data", epsilon=900)
    (row,) = answer.rows
    assert (row["n"].estimate, row["c"].estimate) == (200, 100)
    assert row["a"].estimate == pytest.approx(100_000, rel=0.01)


@pytest.mark.parametrize(("key", "labels"), [("age", [0, 50, 100]), ("BIN(age, 100)", [0, 100])])
def test_missing_numbers_are_a_group_only_where_the_plan_declares_them(
    key: str, labels: list[int], tmp_path: Path
) -> None:
    table = pa.table({"age": ["0", "", "100", "n/a", "50", ""]})
    for missing, groups in (("category", [*labels, None]), ("refuse", labels)):
        age = {"space": "interval", "low": 0, "high": 100, "step": 50, "missing": missing}
        curator = dp.Curator(
            table, {"privacy": {"epsilon": 1000}, "columns": {"age": age}}, ledger=tmp_path / f"{missing}.db"
        )
        answer = curator.ask(f"SELECT {key} AS a, count(*) AS n FROM data GROUP BY a", epsilon=1000)
        assert [row["a"] for row in answer.rows] == groups
        assert answer.rows[-1]["n"].estimate == (3 if missing == "category" else 1)
