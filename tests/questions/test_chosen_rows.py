"""Rows that noisy values chose have intervals that hold on average over those shown, not only over all groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof import Plan, Privacy
from dproof.curator.answer import answer_of
from dproof.curator.recipe import measure
from dproof.plans.plan import schema_of
from dproof.testing import seeded_coins
from tests.makers import resolved, tallied, with_noise

TOWNS, EACH = [f"town {n:02}" for n in range(20)], 50
TABLE = pa.table({"town": TOWNS * EACH, "x": [0, 10] * (len(TOWNS) * EACH // 2)})
COLUMNS = {
    "town": {"space": "categories", "values": TOWNS},
    "x": {"space": "interval", "low": 0, "high": 10, "step": 1, "bins": [0, 5, 10]},
}
LOCAL, CENTRAL = {"epsilon": 8}, {"model": "central", "epsilon": 1, "delta": "1e-6"}
COUNT = "SELECT town, count(*) AS v FROM {} GROUP BY town"
CHOICES = ["ORDER BY v DESC LIMIT 1", "ORDER BY v LIMIT 3", "HAVING count(*) > 52", "HAVING v > 50 ORDER BY v LIMIT 2"]


def plan(promise: dict[str, Any]) -> dict[str, Any]:
    return {"privacy": promise, "columns": COLUMNS}


def released(promise: dict[str, Any]) -> Any:
    with seeded_coins(3):
        return dp.sanitise(TABLE, plan(promise))


@pytest.mark.parametrize("choice", CHOICES)
def test_a_curators_intervals_cover_among_those_shown(choice: str) -> None:
    """All towns are equally large: which is shown is noise and nothing else."""
    made = Plan.from_dict(plan({"epsilon": 100}))
    schema = schema_of(made)
    question = resolved(f"{COUNT.format('data')} {choice}", schema)
    measurement = measure(question, schema, Privacy("0.5"))
    counted = tallied(TABLE, made, measurement)
    missed = []
    with seeded_coins(2):
        for _ in range(300):
            cells = [row["v"] for row in answer_of(measurement, with_noise(measurement, counted), 0.95).rows]
            missed.append(sum(not cell.low <= EACH <= cell.high for cell in cells) / max(len(cells), 1))
    assert sum(missed) / len(missed) <= 0.05


@pytest.mark.parametrize("promise", [LOCAL, CENTRAL], ids=["local", "central"])
@pytest.mark.parametrize("choice", CHOICES)
def test_the_level_is_that_of_few_among_many(promise: dict[str, Any], choice: str) -> None:
    release = released(promise)
    shown = release.query(f"{COUNT.format('release')} {choice}")
    level = 1 - 0.05 * len(shown.rows) / len(TOWNS)
    every = {row["town"]: row["v"] for row in release.query(COUNT.format("release"), level=level).rows}
    assert len(shown.rows) < len(TOWNS) and shown.level == 0.95
    for row in shown.rows:
        wanted = every[row["town"]]
        assert (row["v"].low, row["v"].high) == pytest.approx((wanted.low, wanted.high))
    assert any("on average 95% of the intervals shown" in note for note in shown.notes)


@pytest.mark.parametrize(
    "asked",
    [
        f"{COUNT.format('release')} ORDER BY town LIMIT 2",
        f"{COUNT.format('release')} ORDER BY v",
        f"{COUNT.format('release')} HAVING count(*) > -1000",
    ],
)
def test_what_no_noise_chose_is_as_it_was(asked: str) -> None:
    release = released(LOCAL)
    every = {row["town"]: row["v"] for row in release.query(COUNT.format("release")).rows}
    shown = release.query(asked)
    assert all(row["v"] == every[row["town"]] for row in shown.rows)
    assert not any("on average" in note for note in shown.notes)


def test_simultaneous_intervals_hold_for_any_choice_among_them() -> None:
    release = released(LOCAL)
    every = {row["town"]: row["v"] for row in release.query(COUNT.format("release"), simultaneous=True).rows}
    (row,) = release.query(f"{COUNT.format('release')} ORDER BY v DESC LIMIT 1", simultaneous=True).rows
    assert row["v"] == every[row["town"]]


def test_a_preview_promises_no_less(tmp_path: Path) -> None:
    with seeded_coins(4):
        curator = dp.Curator(TABLE, plan({"epsilon": 100}), ledger=tmp_path / "budget.db")
        for choice in CHOICES[:3]:
            asked = f"{COUNT.format('data')} {choice}"
            half = curator.preview(asked, epsilon="0.5").half_widths["v"]
            cells = [row["v"] for row in curator.ask(asked, epsilon="0.5").rows]
            assert half is not None and cells
            assert all((cell.high - cell.low) / 2 <= half for cell in cells)
            assert any((cell.high - cell.low) / 2 == half for cell in cells) or "HAVING" in choice


@pytest.mark.slow
def test_the_best_mean_of_many_covers() -> None:
    """The level of one among twenty needs more than 4,000 simulated draws."""
    made = Plan.from_dict(plan({"epsilon": 100}))
    schema = schema_of(made)
    question = resolved("SELECT town, avg(x) AS v FROM data GROUP BY town ORDER BY v DESC LIMIT 1", schema)
    measurement = measure(question, schema, Privacy(1))
    counted = tallied(TABLE, made, measurement)
    true = {town: 10.0 * (n % 2) for n, town in enumerate(TOWNS)}
    with seeded_coins(2):
        drawn = [with_noise(measurement, counted) for _ in range(100)]
    rows = [answer_of(measurement, released, 0.95).rows[0] for released in drawn]
    assert sum(row["v"].low <= true[row["town"]] <= row["v"].high for row in rows) >= 95
