"""Questions on a release in which every row answers for one thing: estimates from random parts of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import InputError
from dproof.laws.debias import SumEstimates, of_whole, pooled
from dproof.testing import seeded_coins

FEW = {"space": "categories", "values": ["a", "b", "c"]}
SIX = {"space": "categories", "values": list(range(6))}
AGE = {"space": "interval", "low": 0, "high": 100, "step": 1, "bins": [0, 25, 50, 75, 100]}
ROWS = 4000


def people() -> Any:
    some = np.random.default_rng(17)
    x = some.choice(["a", "b", "c"], ROWS, p=[0.6, 0.3, 0.1])
    columns = {
        "x": x,
        "y": np.where(x == "a", some.integers(0, 3, ROWS), some.integers(0, 6, ROWS)),
        "age": some.integers(0, 101, ROWS),
        "hours": some.integers(20, 61, ROWS),
        "likes": some.choice(["", "p", "p;q", "r"], ROWS),
        "load": [[1.0, 2.0, 3.0]] * ROWS,
        "place": some.choice(["north", "south"], ROWS),
        "rare": ["one", *["all"] * (ROWS - 1)],
    }
    return pa.table(columns)


PLAN: dict[str, Any] = {
    "privacy": {"epsilon": 5, "spread": "sample"},
    "columns": {
        "x": FEW,
        "y": SIX,
        "age": AGE,
        "hours": {"space": "interval", "low": 0, "high": 100, "step": 1},
        "likes": {"space": "subsets", "values": ["p", "q", "r"], "separator": ";"},
        "load": {"space": "curves", "points": 3, "low": 0, "high": 4, "terms": 3},
        "place": {"public": True},
        "rare": {"public": True},
    },
    "joint": [{"columns": ["x", "y"]}, {"columns": ["x", "age"]}],
}


@pytest.fixture(scope="module")
def release() -> Any:
    with seeded_coins(3):
        return dp.sanitise(people(), PLAN)


def part(rows: int, mean: float, square: float) -> SumEstimates:
    """What is estimated without noise from a part of so many rows of a population with this mean and mean square."""
    one = np.ones((1, 1))
    squares = rows * square * np.ones((1, 1, 1))
    return SumEstimates(rows * mean * one, rows * mean * one, one, 0 * one, squares, squares, rows)


def test_a_random_part_has_the_variance_of_sampling_without_replacement() -> None:
    """N² S² (1/n − 1/N) for the table, N² S²/n for the population."""
    mean, square, n, whole = 0.3, 0.3, 250, 1000
    found = of_whole(part(n, mean, square), whole)
    spread = square - mean**2
    assert found.values[0, 0] == pytest.approx(300)
    assert found.covariance("table")[0, 0, 0] == pytest.approx(whole**2 * spread * (1 / n - 1 / whole))
    assert found.covariance("population")[0, 0, 0] == pytest.approx(whole**2 * spread / n)
    assert of_whole(part(whole, mean, square), whole).covariance("table")[0, 0, 0] == 0


def test_disjoint_parts_are_pooled_with_the_covariance_that_they_have() -> None:
    mean, square, whole, sizes, weights = 0.3, 0.4, 1000, (100, 300), (0.25, 0.75)
    found = pooled([of_whole(part(n, mean, square), whole) for n in sizes], weights)
    spread, sizes_part = square - mean**2, sum(w**2 / n for w, n in zip(weights, sizes, strict=True))
    assert found.values[0, 0] == pytest.approx(300)
    assert found.covariance("table")[0, 0, 0] == pytest.approx(whole**2 * spread * (sizes_part - 1 / whole))
    assert found.covariance("population")[0, 0, 0] == pytest.approx(whole**2 * spread * sizes_part)


def test_rows_that_all_look_alike_do_not_make_an_estimate_exact() -> None:
    """Ten rows of which none has a value say little about a thousand; that all rows are rows is certain."""
    none = of_whole(part(10, 0.0, 0.0), 1000)
    assert none.covariance("population")[0, 0, 0] == pytest.approx(100**2)
    assert of_whole(part(10, 1.0, 1.0), 1000).covariance("population")[0, 0, 0] == 0


def test_every_answer_is_within_its_interval_of_the_truth(release: Any) -> None:
    frame = people().to_pandas()
    truth = {
        "SELECT count(*) AS n FROM release WHERE x = 'a'": (frame.x == "a").sum(),
        "SELECT count(*) AS n FROM release WHERE x = 'a' AND y < 2": ((frame.x == "a") & (frame.y < 2)).sum(),
        "SELECT avg(y) AS n FROM release WHERE x <> 'a'": frame[frame.x != "a"].y.mean(),
        "SELECT count(*) AS n FROM release WHERE age < 25": (frame.age < 25).sum(),
        "SELECT avg(hours) AS n FROM release": frame.hours.mean(),
        "SELECT count(*) AS n FROM release WHERE list_contains(likes, 'p')": frame.likes.str.contains("p").sum(),
        "SELECT median(y) AS n FROM release": frame.y.median(),
        "SELECT count(*) AS n FROM release WHERE x = 'b' AND place = 'north'": (
            (frame.x == "b") & (frame.place == "north")
        ).sum(),
    }
    for sql, true in truth.items():
        cell = release.query(sql, level=0.999).rows[0]["n"]
        assert cell.low <= true <= cell.high, sql
        assert 0 < cell.high - cell.low < 1200, sql
    assert release.query("SELECT mode(x) AS m FROM release").rows[0]["m"].estimate == "a"


def test_each_expression_is_told_by_the_rows_that_answer_for_it(release: Any) -> None:
    row = release.query("SELECT count(*) AS n, avg(hours) AS h, avg(y) AS y FROM release").rows[0]
    assert row["n"].low == row["n"].high == ROWS
    assert 30 < row["h"].estimate < 50 and 1 < row["y"].estimate < 4
    alone = release.query("SELECT avg(hours) AS h FROM release").rows[0]["h"]
    assert alone == row["h"]


def test_having_and_order_by_may_need_other_columns_than_what_is_selected(release: Any) -> None:
    sql = "SELECT x FROM release GROUP BY x HAVING count(*) > 600 ORDER BY avg(y) DESC"
    assert [row["x"] for row in release.query(sql).rows] == ["b", "a"]


def test_groups_of_a_public_column_are_those_of_all_rows(release: Any) -> None:
    """A group of one row is shown, whatever that row was asked."""
    counted = "count(*) FILTER (WHERE x = 'a') AS x, count(*) FILTER (WHERE age < 50) AS n"
    rows = release.query(f"SELECT rare, {counted} FROM release GROUP BY rare").rows
    assert [row["rare"] for row in rows] == ["all", "one"]
    assert all(row["x"].high > row["x"].low for row in rows)
    assert release.query("SELECT place, count(*) AS n FROM release GROUP BY place").rows[0]["n"].stderr == 0
    for thing in ("hours > 30", "list_contains(likes, 'p')", "x = 'a'", "age < 50"):
        found = release.query(f"SELECT rare, count(*) AS n FROM release WHERE {thing} GROUP BY rare").rows
        assert [row["rare"] for row in found] == ["all", "one"] and found[1]["n"].low < found[1]["n"].high
    sql = "SELECT place, count(*) AS n FROM release WHERE x = 'a' AND place <> 'south' GROUP BY place"
    assert [row["place"] for row in release.query(sql).rows] == ["north"]


def test_columns_that_no_row_is_asked_for_together_are_refused_with_what_to_declare(release: Any) -> None:
    for sql in (
        "SELECT count(*) FROM release WHERE y = 1 AND age < 25",
        "SELECT y, avg(hours) FROM release GROUP BY y",
        "SELECT avg(load) FROM release WHERE x = 'a'",
    ):
        with pytest.raises(InputError, match=r"declare \[\[joint\]\] columns = \[") as refused:
            release.query(sql)
        assert "\n" not in str(refused.value)


def test_a_margin_of_several_things_is_sharper_than_that_of_one(release: Any) -> None:
    from dproof.local.answer import RowsAnswerSource
    from dproof.local.counts import rows_that_answer
    from dproof.plans.plan import schema_of
    from dproof.questions.estimated import Options
    from dproof.questions.question import resolve
    from dproof.questions.sql import as_question

    question = resolve(
        as_question("SELECT count(*) AS n FROM release WHERE x = 'a'", "release"), schema_of(release.plan, "release")
    )
    parts = rows_that_answer(release, frozenset("x"))
    cells = [RowsAnswerSource([one], question, Options()).estimated for one in parts]
    both = RowsAnswerSource(parts, question, Options()).estimated
    assert len(parts) == 2 and all(both.covariance[0, 0, 0] < one.covariance[0, 0, 0] for one in cells)


def test_methods_targets_and_simultaneous_intervals(release: Any) -> None:
    sql = "SELECT x, count(*) AS n FROM release GROUP BY x"
    usual = release.query(sql).rows
    for method in ("likelihood", "projection", "shrinkage"):
        fitted = [row["n"].estimate for row in release.query(sql, method=method).rows]
        assert sum(fitted) == pytest.approx(ROWS, rel=0.02) and min(fitted) >= 0
    for option in ({"target": "population"}, {"simultaneous": True}):
        wider = release.query(sql, **option).rows
        assert all(b["n"].high - b["n"].low > a["n"].high - a["n"].low for a, b in zip(usual, wider, strict=True))


def test_a_mean_curve_and_a_total(release: Any) -> None:
    mean = release.mean_curve("load", level=0.999)
    assert (mean.low <= [1, 2, 3]).all() and (mean.high >= [1, 2, 3]).all() and (mean.high - mean.low).max() < 3
    total = release.mean_curve("load", total=True)
    assert total.estimate == pytest.approx(mean.estimate * ROWS)
    with pytest.raises(InputError, match="a total of curves needs rows chosen"):
        release.mean_curve("load", total=True, where="place = 'north'")


def test_estimates_are_unbiased_and_their_standard_errors_right() -> None:
    table = people().select(["x", "y"])
    plan = {"privacy": {"epsilon": 3, "spread": "sample"}, "columns": {"x": FEW, "y": SIX}}
    plan["questions"] = [{"sql": f"SELECT {c}, count(*) FROM release GROUP BY {c}"} for c in "xy"]
    true = float(table["x"].to_pylist().count("b"))
    scores = []
    for seed in range(60):
        with seeded_coins(seed):
            cell = dp.sanitise(table, plan).query("SELECT count(*) AS n FROM release WHERE x = 'b'").rows[0]["n"]
        scores.append((cell.estimate - true) / cell.stderr)
    assert abs(np.mean(scores)) < 3 / np.sqrt(60) and 0.75 < np.std(scores) < 1.3


def test_a_question_on_the_questions_columns_is_answered_where_auto_samples() -> None:
    columns = {f"c{n}": SIX for n in range(5)}
    plan = {"privacy": {"epsilon": 2, "spread": "auto"}, "columns": columns}
    table = pa.table({name: np.arange(600) % 6 for name in columns})
    release = dp.sanitise(table, plan)
    assert release.law.weights is not None
    assert len(release.query("SELECT c0, c3, count(*) AS n FROM release GROUP BY c0, c3").rows) == 36


def test_loglinear_counts_are_those_of_all_rows() -> None:
    """Also where each row answers for one of several things, and the counts of some are those of a part of the rows."""
    some = np.random.default_rng(5)
    a, b, c = some.integers(0, 4, (3, 8000))
    four = {"space": "categories", "values": list(range(4))}
    joint = [{"columns": ["a", "b"]}, {"columns": ["a", "c"]}]
    plan = {"privacy": {"epsilon": 3, "spread": "sample"}, "columns": dict.fromkeys("abc", four), "joint": joint}
    with seeded_coins(1):
        release = dp.sanitise(pa.table({"a": a, "b": b, "c": c}), plan)
    for sql in (
        "SELECT a, count(*) AS n FROM release GROUP BY a",
        "SELECT a, b, count(*) AS n FROM release GROUP BY a, b",
    ):
        usual, drawn = (release.query(sql, method=method).rows for method in ("inverse", "loglinear"))
        for one, other in zip(usual, drawn, strict=True):
            assert abs(one["n"].estimate - other["n"].estimate) < 2 * one["n"].stderr
            assert 0.5 * one["n"].stderr < other["n"].stderr < 1.5 * one["n"].stderr
