"""Questions on a release: with next to no noise the answers are DuckDB's own on the true table."""

from __future__ import annotations

import json
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import Cell
from dproof.local.release import LocalRelease
from dproof.tables.source import Parts
from dproof.testing import seeded_coins

HOBBIES = ["Cars", "Chess", "Reading", "Golf"]
ITEMS = ["Music", "Film", "Art"]


def true_table(rows: int = 400) -> Any:
    rng = np.random.default_rng(7)
    likes = [[item for item, has in zip(ITEMS, row, strict=True) if has] for row in rng.random((rows, 3)) < 0.4]
    income = rng.normal(100, 20, rows).round(2)
    return pa.table(
        {
            "hobby": rng.choice(HOBBIES, rows, p=[0.4, 0.3, 0.2, 0.1]),
            "kids": rng.integers(0, 4, rows),
            "age": rng.integers(18, 70, rows),
            "sex": rng.choice(["f", "m"], rows),
            "town": rng.choice(["yes", "no"], rows),
            "likes": likes,
            "region": rng.choice(["N", "S", None], rows),
            "income": pa.array(income, mask=rng.random(rows) < 0.1),
        }
    )


PLAN: dict[str, Any] = {
    "privacy": {"epsilon": 1000},
    "columns": {
        "hobby": {"space": "categories", "values": HOBBIES},
        "kids": {"space": "categories", "values": [0, 1, 2, 3]},
        "age": {"space": "interval", "low": 0, "high": 99, "step": 1, "mechanism": "randomised_response"},
        "sex": {"space": "categories", "values": ["f", "m"]},
        "town": {"space": "categories", "values": ["yes", "no"]},
        "likes": {"space": "subsets", "values": ITEMS},
        "region": {"public": True},
        "income": {"public": True},
    },
    "joint": [{"columns": ["sex", "town"]}],
}

TRUE = true_table()
with seeded_coins(5):
    RELEASE = dp.sanitise(TRUE, PLAN)


def plain(value: Any) -> Any:
    found = value.estimate if isinstance(value, Cell) else value
    return float(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else found


SAME_AS_SQL = [
    "SELECT count(*) AS a FROM release",
    "SELECT hobby, count(*) AS a FROM release GROUP BY hobby",
    "SELECT hobby, sex, count(*) AS a, avg(kids) AS b FROM release GROUP BY hobby, sex",
    "SELECT sex, hobby, sum(age) AS a FROM release WHERE kids <> 1 GROUP BY 1, 2",
    "SELECT avg(age) AS a, var_samp(age) AS b, stddev_pop(age) AS c, corr(age, kids) AS d FROM release",
    "SELECT covar_samp(age, kids) AS a, covar_pop(kids, age) AS b FROM release WHERE hobby IN ('Cars', 'Golf')",
    "SELECT town, count(*) AS a FROM release WHERE sex = 'f' GROUP BY town",
    "SELECT sex, town, count(*) FILTER (WHERE kids BETWEEN 1 AND 2) AS a FROM release GROUP BY sex, town",
    "SELECT count(*) AS a FROM release WHERE hobby = 'Cars' OR (kids > 1 AND NOT sex = 'm')",
    "SELECT count(*) AS a FROM release WHERE list_contains(likes, 'Music') OR list_contains(likes, 'Art')",
    "SELECT sum(kids) AS a FROM release WHERE age < 30.5",
    "SELECT region, count(*) AS a, avg(kids) AS b FROM release GROUP BY region",
    "SELECT region, hobby, count(*) AS a FROM release WHERE region IS NOT NULL GROUP BY region, hobby",
    "SELECT count(*) AS a FROM release WHERE region = 'N' AND hobby <> 'Golf'",
    "SELECT count(*) AS a, count(income) AS b, count(region) AS c FROM release WHERE region IS NULL OR income > 100",
    "SELECT hobby, avg(income) AS a, sum(income) AS b, stddev(income) AS c FROM release GROUP BY hobby",
    "SELECT corr(income, age) AS a FROM release WHERE income < 120",
    "SELECT hobby, count(*) AS a FROM release GROUP BY hobby HAVING count(*) > 90 AND avg(age) > 10 ORDER BY a DESC",
    "SELECT hobby, avg(age) AS a FROM release GROUP BY hobby ORDER BY avg(age) LIMIT 2",
    "SELECT 100.0 * count(*) FILTER (WHERE sex = 'f') / count(*) - 1 AS a FROM release",
    "SELECT count(*) * 2 AS a, -count(*) AS b FROM release WHERE kids = 0",
    "SELECT 5 - count(*) AS a, 800 / count(*) AS b, 2 + (count(*) + 1) / 4 AS c FROM release WHERE 0 < kids",
    "SELECT min(age) AS a, max(age) AS b, min(kids) AS c FROM release WHERE sex = 'm'",
    "SELECT region, min(income) AS a, max(income) AS b FROM release GROUP BY region",
    "SELECT hobby, quantile_disc(age, 0.25) AS a, quantile_disc(age, 0.9) AS b FROM release GROUP BY hobby",
    "SELECT mode(hobby) AS a FROM release",
]


@pytest.mark.parametrize("sql", SAME_AS_SQL)
def test_without_noise_the_answer_is_sqls_own(sql: str) -> None:
    answer = RELEASE.query(sql)
    ours = [tuple(plain(row[column]) for column in answer.columns) for row in answer.rows]
    release = TRUE  # noqa: F841  the name that the question uses
    theirs = [tuple(map(plain, row)) for row in duckdb.sql(sql).fetchall()]
    if "ORDER BY" not in sql:
        ours, theirs = sorted(ours, key=str), sorted(theirs, key=str)
    assert len(ours) == len(theirs), (ours, theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert [x for x in mine if not isinstance(x, float)] == [x for x in other if not isinstance(x, float)]
        numbers = [x for x in other if isinstance(x, float)]
        assert [x for x in mine if isinstance(x, float)] == pytest.approx(numbers, rel=1e-6, abs=1e-6)


def test_every_declared_group_appears() -> None:
    table = pa.table({"hobby": ["Cars"] * 50})
    plan = {"privacy": {"epsilon": 1}, "columns": {"hobby": {"space": "categories", "values": HOBBIES}}}
    rows = dp.sanitise(table, plan).query("SELECT hobby, count(*) AS n FROM release GROUP BY hobby").rows
    assert [row["hobby"] for row in rows] == HOBBIES
    assert sum(row["n"].estimate for row in rows) == pytest.approx(50)


def test_a_condition_on_the_key_leaves_only_the_groups_it_allows() -> None:
    rows = RELEASE.query("SELECT hobby, count(*) AS n FROM release WHERE hobby <> 'Cars' GROUP BY hobby").rows
    assert [row["hobby"] for row in rows] == HOBBIES[1:]


def test_sets_can_be_grouped_by_and_ranked() -> None:
    rows = RELEASE.query("SELECT likes, count(*) AS n FROM release GROUP BY likes").rows
    assert len(rows) == 8 and sum(row["n"].estimate for row in rows) == pytest.approx(400)
    likes = TRUE["likes"].to_pylist()
    for row in rows:
        assert row["n"].estimate == pytest.approx(sum(set(own) == row["likes"] for own in likes), abs=1)
    ranked = sorted(ITEMS, key=lambda item: -sum(item in own for own in likes))
    (found,) = RELEASE.query("SELECT top(likes, 2) AS best FROM release").rows
    assert found["best"].estimate == ranked[:2] == found["best"].raw


def test_bins_of_numbers_hold_all_rows() -> None:
    rows = RELEASE.query("SELECT bin(age, 25) AS b, count(*) AS n FROM release GROUP BY bin(age, 25)").rows
    age = np.asarray(TRUE["age"])
    assert [row["b"] for row in rows] == [0, 25, 50, 75]
    assert [row["n"].estimate for row in rows] == pytest.approx(np.bincount(age // 25, minlength=4))


def test_public_columns_are_exact() -> None:
    (row,) = RELEASE.query("SELECT count(*) AS n, avg(income) AS a FROM release WHERE region = 'N'").rows
    assert row["n"].stderr == row["a"].stderr == 0 and row["n"].low == row["n"].high == row["n"].estimate
    assert isinstance(row["n"].estimate, int) and row["n"].raw == row["n"].estimate


def test_the_parts_of_a_cell() -> None:
    plan = {"privacy": {"epsilon": 1}, "columns": {"hobby": {"space": "categories", "values": HOBBIES}}}
    with seeded_coins(3):
        release = dp.sanitise(TRUE.select(["hobby"]), plan)
    (row,) = release.query("SELECT count(*) AS n FROM release WHERE hobby = 'Golf'").rows
    cell = row["n"]
    assert cell.low < cell.estimate < cell.high and cell.stderr > 0
    assert cell.raw == release.to_arrow()["hobby"].to_pylist().count("Golf") and isinstance(cell.raw, int)
    wide = release.query("SELECT count(*) AS n FROM release WHERE hobby = 'Golf'", level=0.999).rows[0]["n"]
    assert wide.high - wide.low > cell.high - cell.low
    population = release.query("SELECT count(*) AS n FROM release WHERE hobby = 'Golf'", target="population").rows[0]
    assert population["n"].stderr > cell.stderr


def test_simultaneous_intervals_are_wider_than_single_ones() -> None:
    plan = {"privacy": {"epsilon": 1}, "columns": {"hobby": {"space": "categories", "values": HOBBIES}}}
    release = dp.sanitise(TRUE.select(["hobby"]), plan)
    sql = "SELECT hobby, count(*) AS n FROM release GROUP BY hobby"
    single, joint = release.query(sql).rows, release.query(sql, simultaneous=True).rows
    for one, all_ in zip(single, joint, strict=True):
        assert all_["n"].high - all_["n"].low > one["n"].high - one["n"].low
        assert all_["n"].estimate == one["n"].estimate


@pytest.mark.parametrize("method", ["likelihood", "projection", "shrinkage"])
def test_other_methods_never_give_negative_counts(method: str) -> None:
    table = pa.table({"hobby": ["Cars"] * 300, "kids": [0, 1, 2] * 100})
    plan = {
        "privacy": {"epsilon": 2},
        "columns": {"hobby": PLAN["columns"]["hobby"], "kids": PLAN["columns"]["kids"]},
    }
    with seeded_coins(1):
        release = dp.sanitise(table, plan)
    sql = "SELECT hobby, kids, count(*) AS n, avg(kids) AS k FROM release GROUP BY hobby, kids"
    answer = release.query(sql, method=method)
    estimates = [row["n"].estimate for row in answer.rows]
    assert min(estimates) >= 0 and sum(estimates) == pytest.approx(300)
    assert min(row["n"].low for row in answer.rows) >= 0
    assert {"likelihood": "likelihood", "projection": "nearest", "shrinkage": "Bayes"}[method] in answer.method
    for row, plain_row in zip(answer.rows, release.query(sql).rows, strict=True):
        assert row["n"].low <= row["n"].estimate <= row["n"].high
        assert row["n"].high >= plain_row["n"].high  # the honest interval of the unbiased estimate is inside
    assert min(row["n"].estimate for row in release.query(sql).rows) < 0


def test_the_answer_travels() -> None:
    answer = RELEASE.query("SELECT hobby, count(*) AS n FROM release GROUP BY hobby")
    assert answer.to_pandas().columns.tolist() == [
        "hobby",
        "n",
        "n_low",
        "n_high",
        "n_stderr",
        "n_raw",
        "n_informative",
    ]
    assert answer.to_polars().height == answer.to_arrow().num_rows == 4
    assert "<table>" in answer._repr_html_() and "Cars" in str(answer)
    found = json.loads(json.dumps(answer.to_json()))
    assert set(found["rows"][0]["n"]) == {"estimate", "low", "high", "stderr", "raw", "informative"}
    assert found["level"] == 0.95


def test_an_empty_table_is_answered() -> None:
    plan = {"privacy": {"epsilon": 1}, "columns": {"hobby": {"space": "categories", "values": HOBBIES}}}
    with pytest.warns(dp.DproofWarning, match="no rows"):
        release = dp.sanitise(pa.table({"hobby": pa.array([], pa.string())}), plan)
    rows = release.query("SELECT hobby, count(*) AS n FROM release GROUP BY hobby").rows
    assert [row["n"].estimate for row in rows] == [0, 0, 0, 0]
    (row,) = release.query("SELECT count(*) AS n, proportion(hobby = 'Cars') AS p FROM release").rows
    assert row["n"].estimate == 0 and row["p"].estimate is None and row["p"].low is None


def test_a_stored_release_answers_the_same(tmp_path: Any) -> None:
    stored = RELEASE.save(tmp_path / "odd [name]")  # a name that an engine could take for a pattern
    sql = "SELECT hobby, count(*) AS n FROM release WHERE list_contains(likes, 'Art') GROUP BY hobby"
    assert dp.load(tmp_path / "odd [name]").query(sql).rows == RELEASE.query(sql).rows == stored.query(sql).rows


def test_sets_answered_item_by_item() -> None:
    column = {"space": "subsets", "values": ITEMS, "mechanism": "itemwise_response"}
    with seeded_coins(6):
        release = dp.sanitise(TRUE.select(["likes"]), {"privacy": {"epsilon": 100}, "columns": {"likes": column}})
    likes = [set(own) for own in TRUE["likes"].to_pylist()]
    (row,) = release.query(
        "SELECT count(*) AS n FROM release WHERE list_contains(likes, 'Art') AND NOT list_contains(likes, 'Music')"
    ).rows
    assert row["n"].estimate == pytest.approx(sum("Art" in own and "Music" not in own for own in likes), abs=1e-3)
    for row in release.query("SELECT likes, count(*) AS n FROM release GROUP BY likes").rows:
        assert row["n"].estimate == pytest.approx(sum(own == row["likes"] for own in likes), abs=1e-3)
    for condition, true in (("IS NULL", 0), ("IS NOT NULL", 400)):
        (row,) = release.query(f"SELECT count(*) AS n FROM release WHERE likes {condition}").rows
        assert row["n"].estimate == true


def test_quantiles_of_public_numbers_in_noisy_groups_have_their_raw_value() -> None:
    rows = RELEASE.query("SELECT hobby, median(income) AS m FROM release GROUP BY hobby").rows
    for row in rows:
        assert row["m"].raw == row["m"].estimate and row["m"].low <= row["m"].estimate <= row["m"].high


@pytest.mark.parametrize("form", ["joined", "list", "flags"])
def test_sets_are_asked_alike_whatever_their_form(form: str) -> None:
    likes = TRUE["likes"].to_pylist()
    column: dict[str, Any] = {"space": "subsets", "values": ITEMS}
    if form == "joined":
        table, column["separator"] = pa.table({"likes": [";".join(own) for own in likes]}), ";"
    elif form == "flags":
        table = pa.table({item: [item in own for own in likes] for item in ITEMS})
        column["columns"] = ITEMS
    else:
        table = pa.table({"likes": likes})
    with seeded_coins(2):
        release = dp.sanitise(table, {"privacy": {"epsilon": 100}, "columns": {"likes": column}})
    (row,) = release.query("SELECT count(*) AS n FROM release WHERE list_contains(likes, 'Film')").rows
    true = sum("Film" in own for own in likes)
    assert row["n"].estimate == pytest.approx(true, abs=1e-3)
    assert release.raw("SELECT count(*) AS n FROM release WHERE list_contains(likes, 'Film')").rows == [{"n": true}]


def test_parts_counted_apart_are_answered_as_a_whole() -> None:
    stored = RELEASE.to_arrow()
    halves = [stored.slice(0, 150), stored.slice(150)]
    parts = Parts(lambda: stored, lambda work: [work(half) for half in halves])

    class Spread(LocalRelease):
        data = parts

    for sql in SAME_AS_SQL[:16]:
        ours, whole = (
            [plain(value) for row in release.query(sql).rows for value in row.values()]
            for release in (Spread(RELEASE.law, RELEASE.certificate), RELEASE)
        )
        assert [x for x in ours if not isinstance(x, float)] == [x for x in whole if not isinstance(x, float)]
        assert [x for x in ours if isinstance(x, float)] == pytest.approx([x for x in whole if isinstance(x, float)])


def test_public_numbers_are_grouped_in_bins() -> None:
    rows = RELEASE.query("SELECT bin(income, 50) AS b, count(*) AS n FROM release GROUP BY bin(income, 50)").rows
    income = [None if x is None else 50 * (x // 50) for x in TRUE["income"].to_pylist()]
    assert {row["b"]: row["n"].estimate for row in rows} == {edge: income.count(edge) for edge in set(income)}


def test_a_column_of_many_values_and_odd_public_columns() -> None:
    rng = np.random.default_rng(1)
    town = rng.integers(0, 900, 3000)
    tags = [["a", "b"] if n % 2 else [] for n in range(3000)]
    table = pa.table({"town": town * 10, "tags": tags, "x": np.where(np.arange(3000) % 3 == 0, np.nan, 1.5)})
    values = rng.permutation(900).tolist()
    column = {"space": "categories", "values": [10 * value for value in values]}
    plan = {"privacy": {"epsilon": 60}, "columns": {"town": column, "tags": {"public": True}, "x": {"public": True}}}
    with seeded_coins(1):
        release = dp.sanitise(table, plan)
    (row,) = release.query("SELECT median(town) AS m, min(town) AS lo, max(town) AS hi FROM release").rows
    assert abs(row["m"].estimate - 10 * np.median(town)) <= 20  # as fine as the steps
    assert (row["lo"].estimate, row["hi"].estimate) == pytest.approx((10 * town.min(), 10 * town.max()), abs=20)
    rows = release.query("SELECT tags, x, count(*) AS n FROM release GROUP BY tags, x").rows
    assert {(row["tags"], row["x"]): row["n"].estimate for row in rows} == {
        ((), None): 500, ((), 1.5): 1000, (("a", "b"), None): 500, (("a", "b"), 1.5): 1000,
    }  # fmt: skip
    assert len(release.query("SELECT town, count(*) AS n FROM release GROUP BY town").rows) == 900


def test_missing_values_that_are_a_category_of_their_own() -> None:
    kids = [None if n % 5 == 0 else n % 4 for n in range(1000)]
    hobby = [None if n % 10 == 0 else HOBBIES[n % 3] for n in range(1000)]
    plan = {
        "privacy": {"epsilon": 90},
        "columns": {
            "kids": {"space": "categories", "values": [0, 1, 2, 3], "missing": "category"},
            "hobby": {"space": "categories", "values": HOBBIES, "missing": "category"},
        },
    }
    with seeded_coins(4):
        release = dp.sanitise(pa.table({"kids": kids, "hobby": hobby}), plan)
    told = [n for n in kids if n is not None]
    sql = "SELECT count(*) AS a, count(kids) AS b, avg(kids) AS c, sum(kids) AS d, median(kids) AS e FROM release"
    (row,) = release.query(sql).rows
    found = [row[key].estimate for key in "abcd"]
    assert found == pytest.approx([1000, len(told), np.mean(told), sum(told)])
    assert row["e"].estimate == sorted(told)[len(told) // 2 - 1]
    for condition, true in (
        ("kids IS NULL", 200),
        ("kids IS NOT NULL", 800),
        ("hobby IS NULL", 100),
        ("NOT kids = 1", sum(n != 1 for n in told)),
        ("kids IS NULL AND hobby IS NULL", 100),
    ):
        (row,) = release.query(f"SELECT count(*) AS n FROM release WHERE {condition}").rows
        assert row["n"].estimate == pytest.approx(true, abs=1e-6), condition
    labels = [row["kids"] for row in release.query("SELECT kids, count(*) AS n FROM release GROUP BY kids").rows]
    assert labels == [0, 1, 2, 3, None]
