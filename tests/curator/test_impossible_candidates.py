"""Sums that would make a variance negative are ruled out as others are: cut to 0 they would pull intervals to 0."""

from __future__ import annotations

import pyarrow as pa
import pytest

from dproof import Plan, Privacy
from dproof.curator.answer import answer_of
from dproof.curator.recipe import measure
from dproof.plans.plan import schema_of
from dproof.testing import seeded_coins
from tests.makers import resolved, tallied, with_noise

AGES = {"space": "interval", "low": 0, "high": 100}
PLAN = Plan.from_dict({"privacy": {"epsilon": 10, "neighbours": "add-remove"}, "columns": {"age": AGES}})
TABLE = pa.table({"age": [40, 60] * 300})  # with a variance of 100


@pytest.mark.parametrize("seed", [1, 2])
def test_the_interval_of_a_variance_stays_away_from_0(seed: int) -> None:
    schema = schema_of(PLAN)
    question = resolved("SELECT var_pop(age) AS v FROM data", schema)
    measurement = measure(question, schema, Privacy("0.5", neighbours="add-remove"))
    counted = tallied(TABLE, PLAN, measurement)
    with seeded_coins(seed):
        cell = answer_of(measurement, with_noise(measurement, counted), 0.95).rows[0]["v"]
    assert 30 < cell.low < 100 < cell.high < 220
