"""Curves in the central model, from the plan to the answer: measured, stored, checked, asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import InputError
from dproof.testing import seeded_coins

pytestmark = pytest.mark.usefixtures("gaussian")

POINTS, ROWS = 8, 6000
TIMES = np.arange(POINTS)
SURE = 0.9999  # of a band that shall hold in a single release


def people(missing: int = 0) -> tuple[Any, Any, Any]:
    """A table, the sex of each row, and the curves; the first rows have none."""
    generator = np.random.default_rng(4)
    sex = generator.choice(["f", "m"], ROWS)
    middle = np.where(sex[:, None] == "f", 1 + np.sin(TIMES), 3 - 0.2 * TIMES)
    curves = np.clip(middle + generator.normal(0, 0.3, (ROWS, POINTS)), 0, 4)
    listed = [None if n < missing else curve.tolist() for n, curve in enumerate(curves)]
    return pa.table({"sex": sex, "load": pa.array(listed, pa.list_(pa.float64()))}), sex, curves


def plan(curves: dict[str, Any] | None = None, more: dict[str, Any] | None = None, **privacy: Any) -> dict[str, Any]:
    columns = {
        "sex": {"space": "categories", "values": ["f", "m"]},
        "load": {"space": "curves", "points": POINTS, "low": 0, "high": 4, **(curves or {})},
    }
    promise = {"model": "central", "epsilon": 2, "delta": "1e-6", "neighbours": "add-remove", **privacy}
    return {"privacy": promise, "columns": columns, **(more or {})}


def holds(cell: Any, truth: Any) -> bool:
    return bool((np.array(cell.low) <= truth).all() and (truth <= np.array(cell.high)).all())


@pytest.mark.parametrize("privacy", [{}, {"neighbours": "change-one"}, {"delta": "0"}])
@pytest.mark.parametrize(
    "curves", [{}, {"terms": 3, "basis": "cosine"}, {"kernel": "matern-3/2", "length": 3, "radius": 9, "terms": 4}]
)
def test_means_and_totals_lie_in_their_bands(curves: dict[str, Any], privacy: dict[str, Any]) -> None:
    table, sex, true = people()
    with seeded_coins(1):
        release = dp.sanitise(table, plan(curves, **privacy))
    (overall,) = release.query("SELECT avg(load) AS mean FROM release", level=SURE).rows
    assert holds(overall["mean"], true.mean(axis=0))
    asked = "SELECT sex, avg(load) AS mean, sum(load) AS total FROM release GROUP BY sex"
    groups = release.query(asked, level=SURE).rows
    assert [row["sex"] for row in groups] == ["f", "m"]
    for row in groups:
        own = true[sex == row["sex"]]
        assert holds(row["mean"], own.mean(axis=0))
        assert holds(row["total"], own.sum(axis=0))
        assert max(np.subtract(row["mean"].high, row["mean"].low)) < 4.1  # it says something
    assert release.mean_curve("load", where="sex = 'm'", level=SURE).covers(true[sex == "m"].mean(axis=0))
    assert release.mean_curve("load", total=True, level=SURE).covers(true.sum(axis=0))


def test_what_a_basis_leaves_out_is_part_of_the_band() -> None:
    """A zigzag that three cosines cannot show: without noise worth mentioning the band must still hold it."""
    zigzag = [4.0, 0.0] * (POINTS // 2)
    table = pa.table({"sex": ["f"] * 2000, "load": [zigzag] * 2000})
    with seeded_coins(2):
        release = dp.sanitise(table, plan({"terms": 3, "box": [9, 9, 9]}, epsilon=50))  # δ is that of ε = 16
    assert release.law.lattices[1].terms == 3
    answer = release.query("SELECT avg(load) AS mean FROM release")
    assert holds(answer.rows[0]["mean"], np.array(zigzag))
    assert any("terms may leave out" in note for note in answer.notes)


def test_missing_curves_are_counted_and_not_averaged() -> None:
    table, _, true = people(missing=1500)
    with seeded_coins(3):
        release = dp.sanitise(table, plan({"missing": "category"}))
    (row,) = release.query("SELECT count(load) AS there, count(*) AS every FROM release").rows
    assert row["there"].low <= ROWS - 1500 <= row["there"].high
    assert row["every"].low <= ROWS <= row["every"].high
    (absent,) = release.query("SELECT count(*) AS n FROM release WHERE load IS NULL").rows
    assert absent["n"].low <= 1500 <= absent["n"].high
    (mean,) = release.query("SELECT avg(load) AS m FROM release").rows
    assert holds(mean["m"], true[1500:].mean(axis=0))
    assert not holds(mean["m"], np.where(np.arange(ROWS)[:, None] < 1500, 2.0, true).mean(axis=0))


def test_a_release_is_stored_checked_and_read_again(tmp_path: Path) -> None:
    table, _, true = people()
    dp.sanitise(table, plan(more={"release": {"tables": 2, "rows": True}}), tmp_path / "out")
    checked = dp.verify(tmp_path / "out")
    assert checked is not None and checked.unchecked == ("report.html",)
    release = dp.load(tmp_path / "out")
    assert release.certificate["columns"][1]["curves"] == {"terms": POINTS, "radius": None, "box": [1 << 14] * POINTS}
    assert release.to_arrow().column_names == ["sex"]  # synthetic rows leave out curves
    names = pa.parquet.read_table(tmp_path / "out" / "tables.parquet")["table"].to_pylist()
    assert names.count("sum of load") == POINTS and names.count("sum of load by sex") == 2 * POINTS
    (first,) = release.query("SELECT avg(load) AS m FROM release").rows
    assert max(np.abs(np.subtract(first["m"].estimate, true.mean(axis=0)))) < 0.5
    assert "Mean curves" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_a_plan_of_curves_alone_counts_all_rows() -> None:
    table, _, true = people()
    for privacy in ({}, {"neighbours": "change-one"}, {"delta": "0"}):
        alone = plan(**privacy)
        del alone["columns"]["sex"]
        with seeded_coins(4):
            release = dp.sanitise(table.select(["load"]), alone)
        (row,) = release.query("SELECT avg(load) AS m FROM release").rows
        assert holds(row["m"], true.mean(axis=0))
        (row,) = release.query("SELECT count(*) AS n FROM release").rows
        assert row["n"].low <= ROWS <= row["n"].high


def test_questions_choose_which_sums_of_curves_are_measured() -> None:
    table, sex, true = people()
    asked = {"questions": [{"sql": "SELECT avg(load) AS m FROM release WHERE sex = 'f'"}]}
    with seeded_coins(5):
        release = dp.sanitise(table, plan(more=asked))
    assert release.law.plan.asked is not None
    assert [(names, column) for names, column, _ in release.law.plan.asked.sums] == [(("sex",), "load")]
    (row,) = release.query("SELECT avg(load) AS m FROM release WHERE sex = 'f'").rows
    assert holds(row["m"], true[sex == "f"].mean(axis=0))


def test_a_mean_of_perhaps_no_curves_tells_nothing() -> None:
    table, *_ = people()
    few = plan(epsilon="0.05", delta="1e-9")
    with seeded_coins(6):
        release = dp.sanitise(table.slice(0, 10), few)
    (row,) = release.query("SELECT avg(load) AS m FROM release").rows
    assert row["m"].estimate is None and not row["m"].informative
    with pytest.raises(InputError, match="may select no rows"):
        release.mean_curve("load")


@pytest.mark.parametrize(
    ("sql", "options", "why"),
    [
        ("SELECT avg(load) AS m FROM release", {"method": "model"}, "synthetic rows leave out curves"),
        ("SELECT count(load) AS n FROM release", {}, "ask for AVG"),
        ("SELECT avg(load) AS m FROM release", {"method": "projection"}, "answered by method = 'inverse' alone"),
        ("SELECT covar_samp(load, load) AS c FROM release", {}, "measured tables answer AVG and SUM of the curves"),
        ("SELECT avg(load) AS m FROM release WHERE load IS NULL", {}, "curves"),
        ("SELECT load, count(*) FROM release GROUP BY load", {}, "holds curves"),
    ],
)
def test_what_sums_of_curves_do_not_tell_is_refused_in_one_sentence(sql: str, options: Any, why: str) -> None:
    table, *_ = people()
    with seeded_coins(7):
        release = dp.sanitise(table.slice(0, 100), plan(more={"release": {"tables": 2, "rows": True}}))
    with pytest.raises(InputError, match=why) as refused:
        release.query(sql, **options)
    assert "\n" not in str(refused.value)


def test_curves_are_not_told_by_a_table_that_was_not_measured() -> None:
    table, *_ = people()
    with seeded_coins(8):
        release = dp.sanitise(table.slice(0, 100), plan(more={"release": {"tables": 1}}))
    with pytest.raises(InputError, match=r"needs the table of sex × load, which was not measured: .* next time$"):
        release.query("SELECT sex, avg(load) AS m FROM release GROUP BY sex")


def test_a_curve_of_another_length_or_out_of_range_is_treated_as_the_plan_says() -> None:
    curves = pa.array([[9.0] * POINTS, [1.0] * (POINTS - 1)], pa.list_(pa.float64()))
    table = pa.table({"sex": ["f", "m"], "load": curves})
    with pytest.raises(InputError, match="has a curve with a missing grid point"):
        dp.sanitise(table, plan())
    with pytest.raises(InputError, match="has a value outside its declared range"):
        dp.sanitise(table, plan({"outside": "refuse", "missing": "category"}))
    with seeded_coins(9):
        dp.sanitise(table, plan({"missing": "category"}))
