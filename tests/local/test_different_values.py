"""COUNT(DISTINCT ...) on releases: at least the values that surely some row has, at most those that some may have."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof import InputError
from dproof.testing import seeded_coins

HOBBIES = ["Sports", "Computer games", "Television", "Reading", "Music"]
COLUMNS: dict[str, Any] = {
    "hobby": {"space": "categories", "values": HOBBIES},
    "sex": {"space": "categories", "values": ["f", "m"]},
    "rooms": {"space": "categories", "values": [1, 2, 3, 4]},
    "age": {"space": "interval", "low": 0, "high": 9, "step": 1, "bins": [0, 3, 6, 9]},
    "likes": {"space": "subsets", "values": ["tea", "jam", "rum"]},
}
ROWS = {
    "hobby": HOBBIES[:4] * 1000,
    "sex": ["f", "f", "m", "m"] * 1000,
    "rooms": [1, 2, 3, 3] * 1000,
    "age": [0, 1, 4, 8] * 1000,
    "likes": [["tea"], ["tea", "jam"], [], ["jam"]] * 1000,
}
TRUE = {
    "count(DISTINCT hobby)": 4,
    "count(DISTINCT hobby) FILTER (WHERE sex = 'f')": 2,
    "count(DISTINCT rooms)": 3,
    "count(DISTINCT unnest(likes))": 2,
    "count(DISTINCT unnest(likes)) FILTER (WHERE sex = 'm')": 1,
    "count(DISTINCT age)": 4,
}


@pytest.fixture(scope="module", params=["local", "central", "pure"])
def release(request: pytest.FixtureRequest) -> Any:
    privacy = {"local": {"epsilon": 12}, "central": {"model": "central", "epsilon": 2, "delta": "1e-6"}}
    promise = privacy.get(request.param, {"model": "central", "epsilon": 2})
    with seeded_coins(8):
        return dp.sanitise(pa.table(ROWS), {"privacy": promise, "columns": COLUMNS})


@pytest.mark.parametrize("asked", TRUE)
def test_the_number_lies_in_its_interval(release: Any, asked: str) -> None:
    (row,) = release.query(f"SELECT {asked} AS n FROM release").rows
    cell, true = row["n"], TRUE[asked]
    assert cell.low <= true <= cell.high and cell.low <= cell.estimate <= cell.high
    assert cell.low >= (3 if "age" in asked else true)  # of each bin one value at least is surely there


def test_groups_conditions_and_having(release: Any) -> None:
    sql = "SELECT sex, count(DISTINCT hobby) AS n FROM release GROUP BY sex"
    for row in release.query(f"{sql} HAVING count(DISTINCT hobby) >= 0 ORDER BY n DESC").rows:
        assert 2 == row["n"].low <= row["n"].estimate <= row["n"].high
    twice = "SELECT 2 * count(DISTINCT hobby) AS n FROM release"
    if release.plan.model == "central":
        (row,) = release.query(twice).rows
        assert row["n"].low == 8 <= row["n"].high
    else:
        with pytest.raises(InputError, match=r"COUNT\(DISTINCT ...\) cannot be calculated with"):
            release.query(twice)


def test_an_item_is_asked_of_sets_alone(release: Any) -> None:
    with pytest.raises(InputError, match=r"'hobby' does not hold sets: ask COUNT\(DISTINCT hobby\)"):
        release.query("SELECT count(DISTINCT unnest(hobby)) AS n FROM release")


def test_sets_are_told_apart_where_whole_sets_were_sanitised(release: Any) -> None:
    sql = "SELECT count(DISTINCT likes) AS n FROM release"
    if hasattr(release.law, "tables"):
        with pytest.raises(InputError, match=r"ask COUNT\(DISTINCT unnest\(likes\)\)"):
            release.query(sql)
    else:
        cell = release.query(sql).rows[0]["n"]
        assert cell.low <= 4 <= cell.high


def test_missing_values_do_not_count_and_public_ones_are_exact() -> None:
    columns = {"x": {"space": "categories", "values": ["a", "b"], "missing": "category"}, "town": {"public": True}}
    rows = pa.table({"x": ["a", None] * 500, "town": ["York", None, "Leeds", "York"] * 250})
    with seeded_coins(4):
        release = dp.sanitise(rows, {"privacy": {"epsilon": 8}, "columns": columns})
    (row,) = release.query("SELECT count(DISTINCT x) AS x, count(DISTINCT town) AS town FROM release").rows
    assert row["x"].low == 1 and row["x"].high <= 2
    assert (row["town"].low, row["town"].estimate, row["town"].high) == (2, 2, 2)
    filtered = release.query("SELECT count(DISTINCT town) FILTER (WHERE x = 'a') AS n FROM release").rows[0]["n"]
    assert filtered.low <= 2 <= filtered.high
    (row,) = release.query("SELECT count(DISTINCT x) AS n FROM release", target="population").rows
    assert row["n"].high == 2


def test_numbers_under_wide_noise() -> None:
    columns = {"x": {"space": "interval", "low": 0, "high": 20, "step": 1}}
    with seeded_coins(5):
        release = dp.sanitise(pa.table({"x": [3, 17] * 500}), {"privacy": {"epsilon": 1}, "columns": columns})
    cell = release.query("SELECT count(DISTINCT x) AS n FROM release").rows[0]["n"]
    assert cell.low <= 2 <= cell.high


def test_too_many_values_are_refused() -> None:
    columns = {"x": {"space": "interval", "low": 0, "high": 100_000, "step": 1}}
    with seeded_coins(6):
        release = dp.sanitise(pa.table({"x": [3, 17]}), {"privacy": {"epsilon": 1}, "columns": columns})
    with pytest.raises(InputError, match=r"more than|are the most"):
        release.query("SELECT count(DISTINCT x) AS n FROM release")


@pytest.mark.filterwarnings("ignore:the table has no rows")
@pytest.mark.parametrize("epsilon", [1, 4])
@pytest.mark.parametrize("rows", [0, 1])
def test_few_rows(rows: int, epsilon: Any) -> None:
    plan = {"privacy": {"epsilon": epsilon}, "columns": {"hobby": COLUMNS["hobby"]}}
    with seeded_coins(7):
        release = dp.sanitise(pa.table({"hobby": pa.array(HOBBIES[:rows], pa.string())}), plan)
    cell = release.query("SELECT count(DISTINCT hobby) AS n FROM release").rows[0]["n"]
    assert cell.low <= rows <= cell.high
