"""How measured tables are asked: unbiased, moved to counts without negative ones, or by synthetic rows as a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import InputError, TooLarge
from dproof.central.estimates import nearest_tables
from dproof.central.release import about, release_of
from dproof.testing import seeded_coins
from tests.makers import exact_tables, table_law

ROWS = 600
CODES = ["a", "b", "c", "d", "e", "f", "g", "h"]
BY_THREE = "SELECT count(*) AS n FROM release WHERE sex = 'f' AND code = 'a' AND age < 30"


def table() -> Any:
    draw = np.random.default_rng(7)
    code = draw.choice(CODES, ROWS, p=[0.5, 0.3, 0.1, 0.05, 0.03, 0.02, 0.0, 0.0])
    sex = np.where(draw.random(ROWS) < np.where(code == "a", 0.8, 0.2), "f", "m")
    age = np.minimum(draw.gamma(4.0, 9.0, ROWS).astype(int), 100)
    likes = [[item for item in ("tea", "rum") if draw.random() < chance] for chance in np.where(sex == "f", 0.9, 0.1)]
    return pa.table({"code": code, "sex": sex, "age": age, "likes": likes})


def plan(**release: Any) -> dict[str, Any]:
    return {
        "privacy": {"model": "central", "epsilon": 1, "delta": "1e-6", "neighbours": "add-remove"},
        "release": release,
        "columns": {
            "code": {"space": "categories", "values": CODES},
            "sex": {"space": "categories", "values": ["f", "m"]},
            "age": {"space": "interval", "low": 0, "high": 100, "step": 1, "bins": [0, 30, 60, 100]},
            "likes": {"space": "subsets", "values": ["tea", "rum"]},
        },
    }


@pytest.fixture(scope="module")
def release() -> Any:
    with seeded_coins(5):
        return dp.sanitise(table(), plan(rows=True, sums=True))


def counts(release: Any, by: str, where: str = "", **options: Any) -> list[Any]:
    sql = f"SELECT {by}, count(*) AS n FROM release {where} GROUP BY {by}"
    return [row["n"] for row in release.query(sql, **options).rows]


def test_projected_counts_are_not_negative_and_agree_with_each_other(release: Any) -> None:
    plain, moved = (counts(release, "code, sex", method=method) for method in ("inverse", "projection"))
    assert min(cell.estimate for cell in plain) < -1  # what is moved
    assert min(cell.estimate for cell in moved) >= 0
    for sex in ("f", "m"):
        (by_sex,) = (
            cell
            for cell, label in zip(counts(release, "sex", method="projection"), ("f", "m"), strict=True)
            if label == sex
        )
        by_code = counts(release, "code", f"WHERE sex = '{sex}'", method="projection")
        by_age = counts(release, "age", f"WHERE sex = '{sex}'", method="projection")
        for parts_of in (by_code, by_age):
            assert sum(cell.estimate for cell in parts_of) == pytest.approx(by_sex.estimate)


def test_the_interval_of_a_projected_count_is_the_unbiased_one_and_holds_it(release: Any) -> None:
    plain, moved = (counts(release, "code, sex", method=method) for method in ("inverse", "projection"))
    for before, after in zip(plain, moved, strict=True):
        assert after.stderr == before.stderr and after.low <= after.estimate <= after.high
        assert after.low == min(before.low, after.estimate) and after.high == max(before.high, after.estimate)
    answer = release.query("SELECT count(*) AS n FROM release", method="projection")
    assert "without negative counts" in answer.method and "intervals for the table" in answer.method


def test_nearest_tables_are_the_best_ones(release: Any) -> None:
    """No step towards another table without negative counts comes nearer: those of every made-up table are tried."""
    found, pairs = release.estimates[None], [pair for pair in release.law.tables if len(pair) == 2]
    best, draw = nearest_tables(found, release.law.tables), np.random.default_rng(1)
    sizes, total = found.sizes, float(found.table(()))
    for _ in range(50):
        made = np.column_stack([draw.integers(0, size, 200) for size in sizes])
        slope = 0.0
        for i, j in pairs:
            other = np.zeros((sizes[i], sizes[j]))
            np.add.at(other, (made[:, i], made[:, j]), total / len(made))
            slope += ((best.table((i, j)) - found.table((i, j))) * (other - best.table((i, j)))).sum()
        assert slope > -1.0


def test_tables_with_fewer_rows_than_cells_are_not_flattened() -> None:
    """One cell of 2,500 has all 100 rows, and the rest is noise: most of that cell stays."""
    columns = {name: {"space": "categories", "values": list(range(50))} for name in ("a", "b")}
    privacy = {"model": "central", "epsilon": 8, "delta": "1e-6", "neighbours": "change-one"}
    with seeded_coins(2):
        sparse = dp.sanitise(pa.table({"a": [7] * 100, "b": [9] * 100}), {"privacy": privacy, "columns": columns})
    asked = "SELECT count(*) AS n FROM release WHERE a = 7 AND b = 9"
    plain, moved = (sparse.query(asked, method=method).rows[0]["n"].estimate for method in ("inverse", "projection"))
    assert moved > 0.8 * plain > 60


def test_projection_of_too_many_cells_is_refused(release: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dproof.central.estimates.MOST_PROJECTED", 10)
    with pytest.raises(TooLarge, match="10 cells at most: leave the method out"):
        release.query("SELECT count(*) FROM release", method="projection")


def test_projection_answers_quantiles_and_shares(release: Any) -> None:
    sql = "SELECT sex, median(age) AS m, proportion(code = 'h') AS p FROM release GROUP BY sex"
    for row in release.query(sql, method="projection").rows:
        assert row["m"].low <= row["m"].estimate <= row["m"].high and row["p"].estimate >= 0


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT code, sex, count(*) AS v, avg(age) AS w FROM release WHERE age < 47 GROUP BY code, sex",
        "SELECT sex, min(age) AS v, max(age) AS w FROM release GROUP BY sex",
        "SELECT median(age) AS v, stddev(age) AS w FROM release WHERE sex = 'f' AND code IN ('a', 'b')",
        "SELECT count(DISTINCT code) AS v, mode(code) AS w FROM release",
        "SELECT count(*) AS v, var_pop(age) AS w FROM release WHERE list_contains(likes, 'tea') AND sex = 'm'",
    ],
)
def test_the_model_answers_what_the_made_up_rows_say(release: Any, sql: str) -> None:
    answer = release.query(sql, method="model")
    keys = [name for name in answer.columns if name in ("code", "sex")]
    same = sql.replace("median(age)", "quantile_disc(age, 0.5)")
    expected = {tuple(row[key] for key in keys): row for row in release.raw(same).rows}
    assert len(answer.rows) == len(expected)
    for row in answer.rows:
        for name in ("v", "w"):
            cell, true = row[name], expected[tuple(row[key] for key in keys)][name]
            assert cell.estimate == (pytest.approx(true) if isinstance(true, float) else true), name
            assert cell.low is None and cell.high is None and cell.stderr is None
    assert answer.method.startswith("model-based") and any("guess without an interval" in note for note in answer.notes)


def test_the_model_knows_the_most_frequent_items(release: Any) -> None:
    (row,) = release.query(
        "SELECT top(likes, 2) AS t, top(code, 2) AS c FROM release WHERE sex = 'f'", method="model"
    ).rows
    assert set(row["t"].estimate) == {"tea", "rum"} and row["c"].estimate[0] == "a"


def test_a_refusal_names_the_model(release: Any) -> None:
    with pytest.raises(InputError, match=r"which was not measured.*method = 'model'.*without an interval"):
        release.query(BY_THREE)
    for asked in (
        "min(age)",
        "count(DISTINCT likes)",
        "corr(age, age)",
        "avg(age) FILTER (WHERE age < 30 AND sex = 'f')",
    ):
        with pytest.raises(InputError, match="method = 'model'"):
            release.query(f"SELECT {asked} AS v FROM release")
        assert release.query(f"SELECT {asked} AS v FROM release", method="model").rows[0]["v"].estimate is not None
    without = dp.sanitise(table(), plan())
    with pytest.raises(InputError, match=r"declare rows = true under \[release\] next time"):
        without.query(BY_THREE)
    with pytest.raises(InputError, match="has no synthetic rows"):
        without.query(BY_THREE, method="model")


def test_the_model_is_refused_where_it_means_nothing(release: Any) -> None:
    with pytest.raises(InputError, match="have no intervals"):
        release.query(BY_THREE, method="model", simultaneous=True)
    columns = {"sex": {"space": "categories", "values": ["f", "m"]}}
    local = dp.sanitise(table().select(["sex"]), {"privacy": {"epsilon": 1}, "columns": columns})
    with pytest.raises(InputError, match="synthetic rows, and this release has none"):
        local.query("SELECT count(*) FROM release", method="model")


def test_most_frequent_values_bins_and_items(release: Any) -> None:
    asked = (
        "SELECT sex, mode(code) AS c, top(code, 2) AS t, mode(age) AS a, top(likes, 1) AS l FROM release GROUP BY sex"
    )
    for method in ("inverse", "projection"):
        women, men = release.query(asked, method=method).rows
        assert women["c"].estimate == "a" and men["c"].estimate == "b" and men["t"].estimate == ["b", "a"]
        assert women["a"].estimate in ("[0, 30)", "[30, 60)") and women["c"].low is None
        assert women["l"].estimate[0] in ("tea", "rum")


def test_deviations_of_numbers_in_bins_hold_wherever_the_numbers_lie() -> None:
    ages = table()["age"].to_numpy()
    for seed in range(20):
        with seeded_coins(seed):
            release = dp.sanitise(table(), plan())
        answer = release.query("SELECT stddev_pop(age) AS s, var_pop(age) AS v FROM release")
        (row,) = answer.rows
        assert row["s"].low <= ages.std() <= row["s"].high and row["v"].low <= ages.var() <= row["v"].high
        assert row["v"].estimate == pytest.approx(row["s"].estimate ** 2) and row["s"].low > 0
        assert any("wherever they lie" in note for note in answer.notes)


def test_deviations_reach_the_worst_case_within_bins() -> None:
    """Ages at the edges of two bins: near each other, or far apart, and the bins the same."""
    for ages in ([29] * 300 + [30] * 300, [0] * 300 + [59] * 300):
        private = pa.table({"age": ages})
        loud = {
            "privacy": {"model": "central", "epsilon": 20, "delta": "1e-6"},
            "columns": {"age": plan()["columns"]["age"]},
        }
        with seeded_coins(1):
            (row,) = dp.sanitise(private, loud).query("SELECT stddev_pop(age) AS s FROM release").rows
        assert row["s"].low <= np.std(ages) <= row["s"].high


def test_the_command_line_asks_the_model(tmp_path: Path, dproof: Any) -> None:
    with seeded_coins(5):
        dp.sanitise(table(), plan(rows=True), tmp_path / "out")
    refused = dproof("query", tmp_path / "out", BY_THREE)
    assert refused.code == 2 and "--method model" in refused.err
    done = dproof("query", tmp_path / "out", BY_THREE, "--method", "model", "--json")
    assert done.code == 0 and done.json["rows"][0]["n"]["low"] is None and "model-based" in done.json["method"]


def test_deviations_of_few_rows_in_many_bins_cover() -> None:
    """The noise of the mean counts twice, as its square: all rows have one value, and few answers say otherwise."""
    columns = {"x": {"space": "interval", "low": 0, "high": 100, "step": 1, "bins": list(range(101))}}
    privacy = {"model": "central", "epsilon": 3, "delta": "1e-6", "neighbours": "change-one"}
    law = table_law({"privacy": privacy, "columns": columns})
    rows, counts = exact_tables(pa.table({"x": [100] * 45}), law)
    certificate = law.record(about(rows, None, {}), private=False)
    missed = 0
    for seed in range(150):
        with seeded_coins(seed) as coins:
            release = release_of(law, certificate, law.measure(counts, coins))
        cell = release.query("SELECT stddev(x) AS d FROM release", level=0.99).rows[0]["d"]
        missed += cell.informative and cell.low > 0
    assert missed <= 4


def test_a_missing_set_is_none_of_the_most_frequent_items() -> None:
    likes = {"space": "subsets", "values": ["tea", "cake", "jam"], "separator": ";", "missing": "category"}
    described = {"privacy": {"model": "central", "epsilon": 8}, "release": {"rows": True}, "columns": {"likes": likes}}
    release = dp.sanitise(pa.table({"likes": ["tea;cake", None, None, "tea"] * 50}), described)
    for method in ("model", "inverse"):
        (row,) = release.query("SELECT top(likes, 2) AS t FROM release", method=method).rows
        assert row["t"].estimate == ["tea", "cake"]
