"""The band of a mean curve of few rows covers as often as it says: their number has noise that is not small."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import Plan, Privacy
from dproof.curator.answer import answer_of
from dproof.curator.recipe import measure
from dproof.plans.plan import schema_of
from dproof.testing import seeded_coins
from tests.makers import resolved, tallied, with_noise

RUNS, POINTS, HIGH = 80, 4, 4.0
PLAN: dict[str, Any] = {
    "privacy": {"epsilon": 1000, "neighbours": "add-remove"},
    "columns": {
        "town": {"space": "categories", "values": ["a", "b"]},
        "load": {"space": "curves", "points": POINTS, "low": 0, "high": HIGH},
    },
}


def table(rows: int) -> Any:
    """All curves of a town at the upper end."""
    return pa.table({"town": ["b"] * rows + ["a"] * 50, "load": [[HIGH] * POINTS] * rows + [[1.0] * POINTS] * 50})


@pytest.mark.parametrize("rows", [10, 20])
def test_the_band_covers(rows: int) -> None:
    plan = Plan.from_dict(PLAN)
    schema = schema_of(plan)
    question = resolved("SELECT avg(load) AS v FROM data WHERE town = 'b'", schema)
    measurement = measure(question, schema, Privacy(1, neighbours="add-remove"))
    counted = tallied(table(rows), plan, measurement)
    held = 0
    with seeded_coins(5):
        for _ in range(RUNS):
            cell = answer_of(measurement, with_noise(measurement, counted), 0.95).rows[0]["v"]
            held += all(low <= HIGH <= high for low, high in zip(cell.low, cell.high, strict=True))
    assert held >= 0.93 * RUNS


def test_where_there_may_be_no_rows_nothing_is_known(tmp_path: Any) -> None:
    with seeded_coins(5):
        curator = dp.Curator(table(1), PLAN, ledger=tmp_path / "budget.db")
        asked = "SELECT avg(load) AS v FROM data WHERE town = 'b'"
        cell = curator.ask(asked, epsilon="0.1").rows[0]["v"]
        ((_, curve),) = curator.curves(asked, epsilon="0.1")
    assert not cell.informative and np.isfinite([*cell.low, *cell.high]).all()
    assert curve.covers([HIGH] * POINTS) and "no information" in str(curve) and curve.chart() is not None
