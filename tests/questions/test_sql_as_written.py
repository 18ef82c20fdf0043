"""SQL as people write it: aliases, subqueries and CASE say what plain questions say; every asker answers them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import Categories, Interval, QuestionError, Subsets
from dproof.questions.question import Schema, canonical
from dproof.testing import seeded_coins
from tests.makers import resolved

TABLE = Schema(
    "data",
    {
        "sex": Categories(["f", "m"]),
        "age": Interval(0, 9),
        "member": Categories([True, False]),
        "likes": Subsets(["music", "chess", "tea"]),
    },
)


def asked(sql: str) -> Any:
    return resolved(sql, TABLE)


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("SELECT avg(p.age) AS a FROM data AS p WHERE p.sex = 'f'", "SELECT avg(age) AS a FROM data WHERE sex = 'f'"),
        ("SELECT data.sex, count(*) FROM data GROUP BY data.sex", "SELECT sex, count(*) FROM data GROUP BY sex"),
        (
            "SELECT avg(years) FROM (SELECT age AS years, sex FROM data WHERE member) t WHERE t.sex = 'f'",
            "SELECT avg(age) AS \"avg(years)\" FROM data WHERE member AND sex = 'f'",
        ),
        (
            "WITH t AS (SELECT * FROM data WHERE age < 5), u AS (SELECT sex AS s FROM t WHERE sex = 'f' OR age = 3) "
            "SELECT s, count(*) AS n FROM u GROUP BY s ORDER BY n",
            "SELECT sex AS s, count(*) AS n FROM data WHERE age < 5 AND (sex = 'f' OR age = 3) GROUP BY sex ORDER BY n",
        ),
        ("SELECT count(*) AS n FROM (SELECT * FROM (SELECT * FROM data))", "SELECT count(*) AS n FROM data"),
        (
            "SELECT sex AS who, avg(age) AS m FROM (SELECT age, sex FROM data) GROUP BY who",
            "SELECT sex AS who, avg(age) AS m FROM data GROUP BY sex",
        ),
        ("SELECT DISTINCT sex FROM data", "SELECT sex FROM data GROUP BY sex"),
        (
            "SELECT sum(CASE WHEN age < 3 THEN 1 ELSE 0 END) AS n FROM data",
            "SELECT count(*) FILTER (WHERE age < 3) AS n FROM data",
        ),
        (
            "SELECT count(CASE WHEN age < 3 THEN 1 END) AS n FROM data",
            "SELECT count(*) FILTER (WHERE age < 3) AS n FROM data",
        ),
        (
            "SELECT sum(CASE WHEN member THEN age END) AS n FROM data",
            "SELECT sum(age) FILTER (WHERE member) AS n FROM data",
        ),
        (
            "SELECT avg(CASE WHEN member THEN age END) AS n FROM data",
            "SELECT avg(age) FILTER (WHERE member) AS n FROM data",
        ),
        (
            "SELECT avg(CASE sex WHEN 'f' THEN 1.0 ELSE 0 END) AS n FROM data",
            "SELECT proportion(sex = 'f') AS n FROM data",
        ),
    ],
)
def test_it_says_what_a_plain_question_says(written: str, plain: str) -> None:
    assert asked(written) == asked(plain)


def test_what_is_paid_for_does_not_depend_on_functions_or_names() -> None:
    plain = canonical(asked("SELECT sex, avg(age), count(*) FROM data GROUP BY sex"))
    assert plain == canonical(
        asked("SELECT s.sex AS x, 100 * round(avg(s.age), 2) AS y FROM data s GROUP BY x HAVING abs(count(*)) > 3")
    )


def test_the_text_of_a_question_parses_back() -> None:
    sql = (
        "SELECT CASE WHEN age < 3 OR age IS NULL THEN 'it''s' WHEN age = 5 THEN 2 ELSE NULL END AS g, count(*) "
        "FROM data GROUP BY g"
    )
    text = canonical(asked(sql))
    assert text == canonical(asked(text))
    items = canonical(asked("SELECT unnest(likes) AS x, sum(age) FROM data WHERE member GROUP BY x, sex"))
    assert items == canonical(asked(items)) and items.count("list_contains") == 3


SQL = [
    "SELECT CASE WHEN age < 3 THEN 'young' WHEN age IN (3, 7) THEN 'odd' ELSE 'old' END AS g, count(*) AS n, "
    "round(avg(age), 2) AS m FROM {} GROUP BY g",
    "SELECT CASE sex WHEN 'f' THEN 1 WHEN 'm' THEN 2 END AS g, count(*) AS n FROM {} GROUP BY g",
    "SELECT CASE WHEN list_contains(likes, 'tea') THEN 'tea' ELSE 'none' END AS g, count(*) AS n FROM {} GROUP BY g",
    "SELECT unnest(likes) AS item, count(*) AS n FROM {} GROUP BY item ORDER BY n DESC",
    "SELECT sex, unnest(likes) AS item, count(*) AS n, avg(age) AS m FROM {} WHERE age > 2 GROUP BY sex, item "
    "HAVING count(*) > 100",
    "SELECT sex FROM {} GROUP BY sex",
    "SELECT abs(avg(age) - 5) AS a, sqrt(count(*)) AS b, power(avg(age), 2) AS c, 1 + 2 * floor(avg(age)) AS d, "
    "ceil(avg(age)) / 2 AS e, coalesce(sum(age), 0) AS f, 7 / round(avg(age)) AS g FROM {}",
    "WITH t AS (SELECT age AS years, sex AS s FROM {} WHERE age >= 2) "
    "SELECT p.s, avg(p.years) AS m FROM t p GROUP BY p.s",
]  # fmt: skip


def rows_of(answer: dp.Answer) -> list[tuple[Any, ...]]:
    cells = [tuple(getattr(row[c], "estimate", row[c]) for c in answer.columns) for row in answer.rows]
    return sorted(cells, key=lambda row: [str(value) for value in row if not isinstance(value, float)])


@pytest.fixture(scope="module")
def people() -> Any:
    made = np.random.default_rng(7)
    rows = 2000
    return pa.table(
        {
            "sex": made.choice(["f", "m"], rows),
            "age": made.integers(0, 10, rows),
            "likes": [[x for x in ("music", "chess", "tea") if made.random() < 0.4] for _ in range(rows)],
        }
    )


PLAN: dict[str, Any] = {
    "privacy": {"epsilon": 1000},
    "columns": {
        "sex": {"space": "categories", "values": ["f", "m"]},
        "age": {"space": "interval", "low": 0, "high": 9, "step": 1},
        "likes": {"space": "subsets", "values": ["music", "chess", "tea"]},
    },
}


@pytest.mark.parametrize("sql", SQL)
def test_without_noise_a_release_and_a_curator_answer_as_a_database_does(sql: str, people: Any, tmp_path: Path) -> None:
    with duckdb.connect() as database:
        database.register("data", people)
        true = [tuple(row) for row in database.execute(sql.format("data")).fetchall()]
    true.sort(key=lambda row: [str(value) for value in row if not isinstance(value, float)])
    release = dp.sanitise(people, PLAN)
    curator = dp.Curator(people, PLAN, ledger=tmp_path / "ledger.db")
    for answer in (release.query(sql.format("release")), curator.ask(sql.format("data"), epsilon=1000)):
        found = rows_of(answer)
        assert len(found) == len(true)
        for row, wanted in zip(found, true, strict=True):
            for value, exact in zip(row, wanted, strict=True):
                assert value == (pytest.approx(exact, abs=0.02) if isinstance(exact, (int, float)) else exact)


def test_an_interval_goes_through_the_function(people: Any) -> None:
    release = dp.sanitise(people, {**PLAN, "privacy": {"epsilon": 6}})
    sql = "SELECT avg(age) AS m, round(avg(age), 1) AS r, power(avg(age) - 4.5, 2) AS p, 3 - abs(avg(age)) AS a"
    (row,) = release.query(f"{sql} FROM release").rows
    mean = row["m"]
    assert (row["r"].low, row["r"].high) == (round(mean.low, 1), round(mean.high, 1))
    assert row["r"].estimate == round(mean.estimate, 1) and row["r"].raw == mean.raw
    ends = [(mean.low - 4.5) ** 2, (mean.high - 4.5) ** 2]
    assert row["p"].low == pytest.approx(0 if mean.low < 4.5 < mean.high else min(ends))
    assert row["p"].high == pytest.approx(max(ends))
    assert (row["a"].low, row["a"].high) == (pytest.approx(3 - mean.high), pytest.approx(3 - mean.low))


def test_the_keys_alone_cost_nothing(people: Any, tmp_path: Path) -> None:
    curator = dp.Curator(people, {**PLAN, "privacy": {"epsilon": 1}}, ledger=tmp_path / "ledger.db")
    assert [row["sex"] for row in curator.ask("SELECT DISTINCT sex FROM data", epsilon=1).rows] == ["f", "m"]
    assert curator.remaining().epsilon == 1


def test_missing_values_of_a_case_go_where_no_condition_holds(tmp_path: Path) -> None:
    table = pa.table({"age": [1, None, 3, None, 9]})
    age = {"space": "interval", "low": 0, "high": 9, "step": 1}
    for missing in ("category", "refuse"):
        plan = {"privacy": {"epsilon": 1000}, "columns": {"age": {**age, "missing": missing}}}
        curator = dp.Curator(table, plan, ledger=tmp_path / f"{missing}.db")
        for sql, wanted in (
            ("CASE WHEN age < 5 THEN 'young' ELSE 'other' END", {"young": 2, "other": 3}),
            ("CASE WHEN age IS NULL THEN 'unknown' WHEN age < 5 THEN 'young' END", {"unknown": 2, "young": 2, None: 1}),
        ):
            answer = curator.ask(f"SELECT {sql} AS g, count(*) AS n FROM data GROUP BY g", epsilon=500)
            assert {row["g"]: row["n"].estimate for row in answer.rows} == wanted
    release = dp.sanitise(table, {"privacy": {"epsilon": 1000}, "columns": {"age": {**age, "missing": "category"}}})
    answer = release.query("SELECT CASE WHEN age < 5 THEN 1 ELSE 0 END AS g, count(*) AS n FROM release GROUP BY g")
    assert {row["g"]: round(row["n"].estimate) for row in answer.rows} == {1: 2, 0: 3}


@pytest.mark.parametrize(
    ("privacy", "likes"),
    [({}, {"mechanism": "one_item"}), ({"spread": "sample"}, {}), ({}, {"mechanism": "itemwise_response"})],
    ids=["one item of each set", "one column of each row", "every item"],
)
def test_items_are_told_whatever_a_row_answers_for(privacy: Any, likes: Any, people: Any) -> None:
    columns = {**PLAN["columns"], "likes": {**PLAN["columns"]["likes"], **likes}}
    columns = {name: columns[name] for name in ("sex", "likes")}
    with seeded_coins(4):
        plan = {"privacy": {"epsilon": 8, **privacy}, "columns": columns}
        release = dp.sanitise(people.select(["sex", "likes"]), plan)
    answer = release.query("SELECT unnest(likes) AS item, count(*) AS n FROM release GROUP BY item", level=1 - 1e-6)
    assert [row["item"] for row in answer.rows] == ["music", "chess", "tea"]
    for row in answer.rows:
        true = sum(row["item"] in held for held in people["likes"].to_pylist())
        assert row["n"].low <= true <= row["n"].high


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sex AS age, count(*) FROM data GROUP BY age",
        "SELECT sex AS age, avg(age) AS m FROM (SELECT age, sex FROM data) GROUP BY age",
        "SELECT bin(age, 10) AS Sex, count(*) FROM data GROUP BY sex",
        "SELECT bin(age, 10) AS age, count(*) FROM data GROUP BY age",
    ],
)
def test_a_name_after_group_by_means_the_column_where_there_is_one(sql: str) -> None:
    with pytest.raises(QuestionError, match=r"GROUP BY \w+ means the column of that name"):
        asked(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT bin(age, 10) AS decade, count(*) FROM data GROUP BY decade",
        "SELECT bin(age, 10) AS age, count(*) FROM data GROUP BY 1",
        "SELECT sex AS sex, avg(age) AS age FROM data GROUP BY sex ORDER BY age",
        "SELECT age, count(*) FROM (SELECT sex AS age FROM data) GROUP BY age",
    ],
)
def test_other_names_are_those_of_what_is_selected(sql: str) -> None:
    assert asked(sql).group_by
