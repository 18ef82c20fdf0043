"""Releases by the best laws: `frequency`, `one_item` and the unbiased design of any interval, from plan to answer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import dproof as dp
from dproof import VerificationFailed
from dproof.certification import verify_certificate
from dproof.columns.codec import codec_of
from dproof.testing import seeded_coins

ITEMS = ["Music", "Football", "Chess", "Tea", "Cars"]
FORMS = ("list", "joined", "flags")


def towns(count: int) -> list[str]:
    return [f"town {n}" for n in range(count)]


def release_of(table: Any, columns: dict[str, Any], folder: Path, epsilon: Any = 2) -> dp.Release:
    """A release that is written, verified by both verifiers, and read back."""
    plan = {"privacy": {"epsilon": epsilon}, "columns": columns}
    with seeded_coins(7):
        dp.sanitise(table, plan, folder)
    dp.verify(folder)
    program = [sys.executable, verify_certificate.__file__, folder / "certificate.json"]
    said = subprocess.run(program, capture_output=True, text=True).stdout
    assert said.startswith(f"holds: epsilon = {epsilon}, delta = 0, change-one")
    return dp.load(folder)


def covers(release: dp.Release, question: str, truth: float, times: float = 4.0) -> None:
    (row,) = release.query(question).rows
    (cell,) = row.values()
    assert abs(cell.estimate - truth) <= times * cell.stderr, (question, cell, truth)


@pytest.mark.parametrize(("values", "name"), [(12, "subset selection"), (17, "block design"), (300, "block design")])
def test_counts_of_many_values(values: int, name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(values)
    town, sex = rng.integers(0, values, 20_000) // 2, rng.integers(0, 2, 20_000)
    table = pa.table({"town": np.array(towns(values))[town], "sex": np.array(["f", "m"])[sex]})
    columns: dict[str, Any] = {
        "town": {"space": "categories", "values": towns(values), "mechanism": "frequency", "share": 3},
        "sex": {"space": "categories", "values": ["f", "m"]},
    }
    release = release_of(table, columns, tmp_path / "out")
    assert release.law.groups[0].mechanism.name == name
    covers(release, "SELECT count(*) AS n FROM release WHERE town = 'town 0'", (town == 0).sum())
    covers(release, "SELECT count(*) AS n FROM release WHERE town <> 'town 0'", (town != 0).sum())
    covers(
        release,
        "SELECT count(*) AS n FROM release WHERE town IN ('town 0', 'town 1') AND sex = 'f'",
        ((town < 2) & (sex == 0)).sum(),
    )
    counts = np.bincount(town, minlength=values)
    for method in ("inverse", "projection", "shrinkage"):
        sql = "SELECT town, count(*) AS n FROM release GROUP BY town"
        answer = release.query(sql, method=method, level=1 - 1e-6)
        assert [row["town"] for row in answer.rows] == towns(values)
        off = np.array([row["n"].estimate for row in answer.rows]) - counts
        assert np.sqrt((off**2).mean()) < 1.6 * answer.rows[0]["n"].stderr
        inside = [row["n"].low <= true <= row["n"].high for row, true in zip(answer.rows, counts, strict=True)]
        assert all(inside)
        if method != "inverse":
            assert sum(row["n"].estimate for row in answer.rows) == pytest.approx(20_000)


def test_a_row_is_one_code_of_32_bits(tmp_path: Path) -> None:
    table = pa.table({"town": ["town 5"] * 50})
    columns = {"town": {"space": "categories", "values": towns(1000), "mechanism": "frequency"}}
    release = release_of(table, columns, tmp_path / "out")
    stored = pa.parquet.read_table(tmp_path / "out" / "release.parquet")
    assert stored.schema.field("town").type == pa.int32()
    shown = release.raw("SELECT town FROM release").rows
    assert [row["town"] for row in shown] == stored["town"].to_pylist()
    law = release.law.groups[0].mechanism.family
    assert min(row["town"] for row in shown) >= 0 and max(row["town"] for row in shown) < law.outputs


def test_numbers_among_many_values_are_summed(tmp_path: Path) -> None:
    code = np.random.default_rng(1).integers(0, 40, 30_000)
    columns = {"visits": {"space": "categories", "values": list(range(60)), "mechanism": "frequency"}}
    release = release_of(pa.table({"visits": code}), columns, tmp_path / "out")
    covers(release, "SELECT avg(visits) AS n FROM release", code.mean())
    covers(release, "SELECT count(*) AS n FROM release WHERE visits < 10", (code < 10).sum())


def test_a_missing_value_is_one_more_value(tmp_path: Path) -> None:
    code = np.random.default_rng(1).integers(0, 30, 20_000)
    table = pa.table({"town": [None if n < 10 else f"town {n}" for n in code]})
    column = {"space": "categories", "values": towns(30), "mechanism": "frequency", "missing": "category"}
    release = release_of(table, {"town": column}, tmp_path / "out")
    covers(release, "SELECT count(*) AS n FROM release WHERE town IS NULL", (code < 10).sum())


@pytest.mark.parametrize("change", [{"prime": 15}, {"classes": 11}, {"taken": 400}, {"high": "9" * 30}, {"size": 1001}])
def test_a_forged_design_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    columns = {"town": {"space": "categories", "values": towns(1000), "mechanism": "frequency"}}
    release_of(pa.table({"town": ["town 5"] * 5}), columns, tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    certificate = json.loads(path.read_text())
    certificate["laws"][0]["law"] |= change
    certificate["seal"] = verify_certificate.seal({k: v for k, v in certificate.items() if k != "seal"})
    with pytest.raises(verify_certificate.Refused):
        verify_certificate.verify(certificate, tmp_path / "out")
    path.write_text(json.dumps(certificate))
    with pytest.raises(VerificationFailed):
        dp.verify(tmp_path / "out")


def test_a_code_that_no_block_has_is_refused(tmp_path: Path) -> None:
    columns = {"town": {"space": "categories", "values": towns(100), "mechanism": "frequency"}}
    release = release_of(pa.table({"town": ["town 5"] * 5}), columns, tmp_path / "out")
    outputs = release.law.groups[0].mechanism.outputs
    good, null, far = ([pa.array([0, code], pa.int32())] for code in (1, None, outputs.size))
    column = release.plan.column("town")
    assert codec_of(outputs, column).possible(good, None, None)
    assert not codec_of(outputs, column).possible(null, None, None) and not codec_of(outputs, column).possible(
        far, None, None
    )


def sets(form: str, held: np.ndarray) -> tuple[Any, dict[str, Any]]:
    """A table of sets in one of the forms, and the column of its plan."""
    names = [[item for item, there in zip(ITEMS, row, strict=True) if there] for row in held]
    column: dict[str, Any] = {"space": "subsets", "mechanism": "one_item"}
    if form == "flags":
        return pa.table(dict(zip(ITEMS, held.T, strict=True))), {**column, "columns": ITEMS}
    if form == "joined":
        return pa.table({"likes": [";".join(some) for some in names]}), {**column, "values": ITEMS, "separator": ";"}
    return pa.table({"likes": names}), {**column, "values": ITEMS}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("missing", [None, "category"])
def test_one_item_of_every_set(form: str, missing: str | None, tmp_path: Path) -> None:
    held = np.random.default_rng(3).random((20_000, 5)) < [0.05, 0.1, 0.3, 0.5, 0.9]
    table, column = sets(form, held)
    given = column if missing is None else {**column, "missing": missing}
    release = release_of(table, {"likes": given}, tmp_path / "out", epsilon="3/2")
    for n, item in enumerate(ITEMS):
        question = f"SELECT count(*) AS n FROM release WHERE list_contains(likes, '{item}')"
        covers(release, question, held[:, n].sum())
        # v + (1/h − 1)·share·(1 − share) of an answer, for the share of the item, over the rows that were asked.
        stderr = release.query(question).rows[0]["n"].stderr
        asked, share, odds = 5 + (missing is not None), held[:, n].mean(), np.exp(1.5)
        expected = asked * odds / (odds - 1) ** 2 + (asked - 1) * share * (1 - share)
        assert stderr == pytest.approx(np.sqrt(20_000 * expected), rel=0.06)
    with pytest.raises(dp.InputError, match="items cannot be asked for together: ask for one in each question"):
        release.query(
            "SELECT count(*) AS n FROM release WHERE list_contains(likes, 'Tea') AND list_contains(likes, 'Cars')"
        )


def test_flags_are_stored_for_the_item_that_was_drawn(tmp_path: Path) -> None:
    table, column = sets("flags", np.ones((200, 5), bool))
    release_of(table, {"likes": column}, tmp_path / "out")
    stored = pa.parquet.read_table(tmp_path / "out" / "release.parquet").select(ITEMS)
    answered = np.array([stored[item].is_valid().to_numpy() for item in ITEMS])
    assert (answered.sum(axis=0) == 1).all() and (answered.sum(axis=1) > 10).all()


@pytest.mark.parametrize("missing", [40, "category"])
@pytest.mark.parametrize("high", [110, 109])
def test_means_by_an_unbiased_design(missing: Any, high: int, tmp_path: Path) -> None:
    age = np.clip(np.random.default_rng(2).normal(40, 15, 20_000), 0, high).round()
    column = {
        "space": "interval",
        "low": 0,
        "high": high,
        "step": 1,
        "mechanism": "unbiased_design",
        "missing": missing,
    }
    table = pa.table({"age": age, "sex": np.array(["f", "m"])[(age > 45).astype(int)]})
    columns = {"age": {**column, "share": 3}, "sex": {"space": "categories", "values": ["f", "m"]}}
    release = release_of(table, columns, tmp_path / "out", epsilon=4)
    covers(release, "SELECT avg(age) AS m FROM release", age.mean())
    covers(release, "SELECT sum(age) AS m FROM release", age.sum())
    covers(release, "SELECT avg(age) AS m FROM release WHERE sex = 'm'", age[age > 45].mean())
    answer = release.query("SELECT count(*) AS n FROM release WHERE age < 40").rows[0]["n"]
    assert answer.low <= (age < 40).sum() <= answer.high
    if missing == 40:
        variance = release.law.groups[0].mechanism.bias_and_variance().variance
        stderr = release.query("SELECT avg(age) AS m FROM release").rows[0]["m"].stderr
        assert stderr == pytest.approx(np.sqrt(variance / 20_000), rel=0.02)


@pytest.mark.parametrize("edges", [[0, 20, 40, 60, 99], list(range(0, 97, 4))])
def test_bins_by_frequency(edges: list[int], tmp_path: Path) -> None:
    """Counts at the edges are sharp, and a mean holds the width of the bins."""
    hours = np.random.default_rng(4).integers(0, edges[-1] + 1, 20_000)
    interval = {"space": "interval", "low": 0, "high": edges[-1], "step": 1, "bins": edges}
    columns = {"hours": {**interval, "mechanism": "frequency"}}
    release = release_of(pa.table({"hours": hours}), columns, tmp_path / "out")
    covers(release, "SELECT count(*) AS n FROM release WHERE hours < 20", (hours < 20).sum())
    mean = release.query("SELECT avg(hours) AS m FROM release").rows[0]["m"]
    assert mean.low <= hours.mean() <= mean.high and mean.high - mean.low < 30
    inside = release.query("SELECT count(*) AS n FROM release WHERE hours < 21").rows[0]["n"]
    assert inside.low <= (hours < 21).sum() <= inside.high


@pytest.mark.parametrize(
    ("column", "sql"),
    [
        ({"space": "categories", "values": towns(50)}, "SELECT x, count(*) FROM release GROUP BY x"),
        ({"space": "interval", "low": 0, "high": 1000, "step": 1}, "SELECT avg(x) FROM release"),
        ({"space": "interval", "low": 0, "high": 30, "step": 1}, "SELECT avg(x) FROM release"),
    ],
)
def test_a_delta_makes_no_answer_less_sharp(column: dict[str, Any], sql: str, tmp_path: Path) -> None:
    plans = [
        {"privacy": {"epsilon": 1, "delta": delta}, "columns": {"x": column}, "questions": [{"sql": sql}]}
        for delta in ("0", "1e-6", "1e-3")
    ]
    widths = [dp.advise(plan, rows=10_000).comparisons[0].release or np.inf for plan in plans]
    assert widths[2] <= widths[1] * 1.001 and widths[1] <= widths[0] * 1.001
    values = column["values"] if "values" in column else list(range(30))
    dp.sanitise(pa.table({"x": values}), plans[1], tmp_path / "out")
    assert dp.verify(tmp_path / "out").law.parts[0].mechanism in ("block design", "unbiased design")
