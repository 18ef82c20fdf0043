"""Conditions on numbers under wide noise: intervals that hold for every distribution, or assume a smooth one."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import InputError
from dproof.local.distribution_free import Constraints
from dproof.testing import seeded_coins

ROWS = 2000
RNG = np.random.default_rng(3)
X = np.where(RNG.random(ROWS) < 0.5, 40, RNG.integers(20, 80, ROWS))
Y = np.where(X == 40, 80, 10)
TOWN = np.where(np.arange(ROWS) % 3 == 0, "a", "b")
CLUB = np.where(X == 40, "in", "out")
NUMBER = {"space": "interval", "low": 0, "high": 99, "step": 1}


@cache
def released(seed: int = 1, epsilon: Any = 4, **x: Any) -> Any:
    """Each of the columns x, y, town and club has ε to itself; club and region tell the same."""
    columns = {
        "x": {key: value for key, value in (NUMBER | x).items() if value is not None},
        "y": NUMBER,
        "town": {"space": "categories", "values": ["a", "b"]},
        "club": {"space": "categories", "values": ["in", "out"]},
        "region": {"public": True},
    }
    table = pa.table({"x": X, "y": Y, "town": TOWN, "club": CLUB, "region": TOWN})
    with seeded_coins(seed):
        return dp.sanitise(table, {"privacy": {"epsilon": 4 * epsilon}, "columns": columns})


def cell(release: Any, sql: str, **options: Any) -> Any:
    (row,) = release.query(f"SELECT {sql}", **options).rows
    return next(iter(row.values()))


def assert_covered(found: Any, true: float) -> None:
    assert found.low <= true <= found.high, (found, true)
    assert found.low <= found.estimate <= found.high


def test_constraints_that_nothing_satisfies_have_no_range() -> None:
    one = np.ones((2, 1))
    assert Constraints(one, np.array([0.0, 2.0]), np.array([1.0, 3.0])).range(np.ones(1)) is None
    assert Constraints(one, np.array([0.0, 2.0]), np.array([np.inf, np.inf])).range(np.ones(1)) == (2.0, np.inf)


CONDITIONS = {"x = 40": X == 40, "x <= 40": X <= 40, "x < 40": X < 40, "x > 60": X > 60}


@pytest.mark.parametrize("x", [{}, {"step": None}, {"step": "0.01"}, {"missing": "category"}])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_heap_is_covered_whatever_the_step(condition: str, x: dict[str, Any]) -> None:
    """Without a step the lattice is fine, and a node of it has very many codes, of which one has the heap."""
    found = released(**x).query(f"SELECT count(*) AS n FROM release WHERE {condition}")
    assert_covered(found.rows[0]["n"], CONDITIONS[condition].sum())
    assert found.notes[0].startswith(("approximate", "no information"))


def test_what_is_assumed_is_named() -> None:
    release = released()
    sql = "SELECT count(*) AS n FROM release WHERE x = 40"
    smooth = release.query(sql, assume="smooth")
    (row,) = smooth.rows
    assert row["n"].high < (X == 40).sum()
    assert "assuming smooth" in smooth.method and smooth.notes[0].startswith("assumes smooth")
    assert "assuming" not in release.query(sql).method
    assert "assum" not in release.query("SELECT avg(x) AS a FROM release", assume="smooth").method
    with pytest.raises(InputError, match="assume"):
        release.query(sql, assume="rough")


def test_groups_and_conditions_on_other_columns_are_covered() -> None:
    release = released(epsilon=6)
    for row in release.query("SELECT town, count(*) AS n FROM release WHERE x = 40 GROUP BY town").rows:
        assert_covered(row["n"], ((X == 40) & (row["town"] == TOWN)).sum())
    for row in release.query("SELECT region, count(*) AS n FROM release WHERE x < 40 GROUP BY region").rows:
        assert_covered(row["n"], ((X < 40) & (row["region"] == TOWN)).sum())
    assert_covered(
        cell(release, "count(*) AS n FROM release WHERE x < 40 OR town = 'a'"), ((X < 40) | (TOWN == "a")).sum()
    )
    for row in release.query("SELECT bin(x, 25) AS b, count(*) AS n FROM release GROUP BY bin(x, 25)").rows:
        assert_covered(row["n"], ((row["b"] <= X) & (row["b"] + 25 > X)).sum())


def test_sums_means_and_shares_are_covered() -> None:
    release = released(epsilon=8)
    late = X >= 40
    assert_covered(cell(release, "sum(x) AS v FROM release WHERE x >= 40"), X[late].sum())
    assert_covered(cell(release, "avg(x) AS v FROM release WHERE x >= 40"), X[late].mean())
    assert_covered(cell(release, "sum(y) AS v FROM release WHERE x >= 40"), Y[late].sum())
    assert_covered(cell(release, "avg(y) AS v FROM release WHERE x >= 40"), Y[late].mean())
    assert_covered(cell(release, "proportion(x = 40) AS v FROM release"), (X == 40).mean())
    share = cell(release, "100 * proportion(club = 'in') AS v FROM release WHERE x >= 40")
    assert_covered(share, 100 * (CLUB[late] == "in").mean())
    assert 0 <= share.low < share.high < 100


def test_the_conditions_of_two_numbers_bound_each_other() -> None:
    quarter = {"space": "interval", "low": 0, "high": 24, "step": 1}
    with seeded_coins(1):
        plan = {"privacy": {"epsilon": 40}, "columns": {"x": quarter, "y": quarter}}
        release = dp.sanitise(pa.table({"x": X // 4, "y": Y // 4}), plan)
    both = cell(release, "count(*) AS n FROM release WHERE x < 10 AND y < 12")
    assert_covered(both, ((X < 40) & (Y < 50)).sum())
    assert both.high <= cell(release, "count(*) AS n FROM release WHERE x < 10").high * 1.5
    either = cell(release, "count(*) AS n FROM release WHERE x < 10 OR y < 12")
    assert_covered(either, ((X < 40) | (Y < 50)).sum())
    assert either.low > 0


def test_quantiles_of_groups_are_covered() -> None:
    """Also of a group so small that noise hides whether anybody is in it."""
    few = np.where(np.arange(ROWS) < 30, "few", np.where(TOWN == "a", "a", "b"))
    columns = {"x": NUMBER, "town": {"space": "categories", "values": ["a", "b", "few"]}}
    with seeded_coins(4):
        release = dp.sanitise(pa.table({"x": X, "town": few}), {"privacy": {"epsilon": 6}, "columns": columns})
    for row in release.query("SELECT town, median(x) AS m, max(x) AS top FROM release GROUP BY town").rows:
        assert row["m"].low <= np.median(X[few == row["town"]]) <= row["m"].high
        assert row["top"].low <= X[few == row["town"]].max() <= row["top"].high


def test_numbers_that_different_columns_of_an_answer_ask_for_do_not_disturb_each_other() -> None:
    release = released(epsilon=12)
    parts = "proportion(x >= 40) AS v", "avg(y) FILTER (WHERE y < 50) AS w"
    (together,) = release.query(f"SELECT {', '.join(parts)} FROM release").rows
    assert_covered(together["v"], (X >= 40).mean())
    assert_covered(together["w"], Y[Y < 50].mean())
    alone = [cell(release, f"{part} FROM release") for part in parts]
    for found, before in zip(together.values(), alone, strict=True):
        assert (found.low, found.high) == pytest.approx((before.low, before.high), rel=0.02)


def test_what_has_no_bound_is_not_told() -> None:
    release = released()
    spread = release.query("SELECT covar_pop(x, y) AS v FROM release WHERE x < 40")
    assert not spread.rows[0]["v"].informative and spread.notes[0].startswith("no information")
    assert (
        release.query("SELECT covar_pop(x, y) AS v FROM release WHERE x < 40", assume="smooth").rows[0]["v"].stderr > 0
    )


def test_quantiles_of_a_point_mass_are_covered() -> None:
    table = pa.table({"x": np.full(30_000, 40)})
    with seeded_coins(2):
        release = dp.sanitise(table, {"privacy": {"epsilon": 4}, "columns": {"x": NUMBER}})
    sql = "SELECT quantile(x, 0.1) AS a, median(x) AS b, quantile(x, 0.9) AS c FROM release"
    answer = release.query(sql)
    for found in answer.rows[0].values():
        assert_covered(found, 40)
        assert found.high - found.low < 60
    assert answer.notes[0].startswith("approximate")
    smooth = release.query(sql, assume="smooth")
    assert smooth.rows[0]["a"].high < 40 < smooth.rows[0]["c"].low and smooth.notes[0].startswith("assumes smooth")


def test_where_the_noise_is_narrow_answers_stay_as_sharp_as_they_were() -> None:
    narrow = released(epsilon=200)
    found, before = (cell(narrow, "count(*) AS n FROM release WHERE x <= 40", assume=a) for a in ("nothing", "smooth"))
    assert_covered(found, (X <= 40).sum())
    assert found.high - found.low <= 1.5 * (before.high - before.low)
    whole = released(mechanism="randomised_response")
    answers = [whole.query("SELECT count(*) AS n FROM release WHERE x <= 40", assume=a) for a in ("nothing", "smooth")]
    assert answers[0] == answers[1]


@pytest.mark.filterwarnings("ignore:the table has no rows")
def test_no_rows_and_one_row_have_an_answer() -> None:
    for values in ([], [40]):
        table = pa.table({"x": pa.array(values, pa.int64())})
        release = dp.sanitise(table, {"privacy": {"epsilon": 1}, "columns": {"x": NUMBER}})
        found = cell(release, "count(*) AS n FROM release WHERE x < 50")
        assert found.low <= len(values) <= found.high
