"""± before the data are read is the ± of the answers, with either kind of noise."""

from __future__ import annotations

import pyarrow as pa
import pytest

import dproof as dp
from dproof import Plan
from tests.makers import table_law


@pytest.mark.parametrize("delta", ["1e-6", "0"])
@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_a_plan_tells_the_interval_of_a_cell(neighbours: str, delta: str) -> None:
    columns = {
        "a": {"space": "categories", "values": ["x", "y", "z"]},
        "n": {"space": "interval", "low": 0, "high": 20, "step": 1, "bins": [0, 5, 20]},
    }
    privacy = {"model": "central", "epsilon": 1, "delta": delta, "neighbours": neighbours}
    plan = Plan.from_dict({"privacy": privacy, "columns": columns, "release": {"sums": True}})
    widths = {one.name: one.half_width for one in table_law(plan).half_widths}
    release = dp.sanitise(pa.table({"a": ["x", "y"] * 5000, "n": [3, 17] * 5000}), plan)
    for name, condition in (("a", "a = 'x'"), ("a × n", "a = 'x' AND n < 5")):
        cell = release.query(f"SELECT count(*) AS v FROM release WHERE {condition}").rows[0]["v"]
        assert (cell.high - cell.low) / 2 == pytest.approx(widths[name], rel=1e-6), name
