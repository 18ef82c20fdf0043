"""From a table of curves to an answer: at a large price means and totals are those of the rows, with bands."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from dproof import Plan, Privacy
from dproof.curator.answer import answer_of
from dproof.curator.recipe import measure
from dproof.plans.plan import schema_of
from dproof.testing import seeded_coins
from tests.makers import resolved, tallied, with_noise

COLUMNS = {
    "kind": {"space": "categories", "values": ["a", "b"]},
    "load": {"space": "curves", "points": 3, "low": 0, "high": 4},
}
CURVES = {"a": [1.0, 2.0, 3.0], "b": [3.0, 2.0, 1.0]}
KINDS = ["a", "a", "b"] * 100


@pytest.mark.parametrize("neighbours", ["change-one", "add-remove"])
@pytest.mark.parametrize(("asked", "times"), [("avg", {"a": 1, "b": 1}), ("sum", {"a": 200, "b": 100})])
def test_each_group_has_its_curve(asked: str, times: dict[str, int], neighbours: str) -> None:
    plan = Plan.from_dict({"privacy": {"epsilon": 100, "neighbours": neighbours}, "columns": COLUMNS})
    schema, table = schema_of(plan), pa.table({"kind": KINDS, "load": [CURVES[kind] for kind in KINDS]})
    question = resolved(f"SELECT kind, {asked}(load) AS curve FROM data GROUP BY kind", schema)
    measurement = measure(question, schema, Privacy(100, neighbours=neighbours))
    with seeded_coins(6):
        released = with_noise(measurement, tallied(table, plan, measurement))
    assert "rows" not in released and len(released["noisy"]) == 3  # of those whose kind is not declared as well
    for row in answer_of(measurement, released, 0.95).rows:
        curve, truth = row["curve"], np.array(CURVES[row["kind"]]) * times[row["kind"]]
        assert curve.estimate == pytest.approx(truth, rel=0.02)
        assert (np.array(curve.low) <= truth).all() and (truth <= np.array(curve.high)).all()
