"""The standard error that the curator prints is the standard deviation of the noise, in the units of the answer."""

from __future__ import annotations

import pyarrow as pa
import pytest

from dproof import Plan, Privacy
from dproof.curator.answer import answer_of
from dproof.curator.recipe import measure
from dproof.plans.plan import schema_of
from dproof.testing import seeded_coins
from tests.makers import measured_for, resolved, tallied, with_noise

AGES = {"space": "interval", "low": 0, "high": 110, "step": "1/2"}
PLAN = Plan.from_dict({"privacy": {"epsilon": 10, "neighbours": "add-remove"}, "columns": {"age": AGES}})
TABLE = pa.table({"age": [20.5, 30.0, 40.0, 60.5] * 100})


@pytest.mark.parametrize(
    ("asked", "factor"),
    [("count(*)", 1), ("count(*) * 3 + 2", 3), ("sum(age)", 0.5), ("sum(age) / 4", 0.125), ("0 - sum(age)", 0.5)],
)
def test_the_standard_error_is_that_of_the_noise(asked: str, factor: float) -> None:
    """A sum of ages is counted in steps of 1/2, so its noise is too."""
    schema = schema_of(PLAN)
    question = resolved(f"SELECT {asked} AS a FROM data", schema)
    measurement = measure(question, schema, Privacy("0.5", neighbours="add-remove"))
    counted = tallied(TABLE, PLAN, measurement)
    with seeded_coins(3):
        cell = answer_of(measurement, with_noise(measurement, counted), 0.95).rows[0]["a"]
    (noise,) = [part.noise for part in measurement.noisy if part.noise is not None]
    assert cell.stderr == pytest.approx(factor * float(noise.variance) ** 0.5)


def test_a_difference_of_two_noisy_counts_has_the_noise_of_both() -> None:
    schema = schema_of(PLAN)
    young, old = ("count(*) FILTER (WHERE age < 40)", "count(*) FILTER (WHERE age >= 40)")
    asked = f"SELECT {young} AS y, {old} AS o, {young} - {old} AS d FROM data"
    measurement = measured_for(asked, schema, Privacy(1, neighbours="add-remove"))
    counted = tallied(TABLE, PLAN, measurement)
    with seeded_coins(3):
        row = answer_of(measurement, with_noise(measurement, counted), 0.95).rows[0]
    assert row["d"].stderr == pytest.approx((row["y"].stderr ** 2 + row["o"].stderr ** 2) ** 0.5, rel=0.1)
