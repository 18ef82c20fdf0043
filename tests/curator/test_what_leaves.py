"""The exact number of rows leaves the table only where neighbours have equally many; then noisy counts add up to it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from dproof import Categories, Plan, Privacy
from dproof.curator.answer import answer_of
from dproof.curator.recipe import measure
from dproof.plans.plan import schema_of
from dproof.privacy import Neighbours, Unit
from dproof.questions.question import Schema
from dproof.testing import seeded_coins
from tests.makers import resolved, tallied, with_noise

COLUMNS = {"sex": {"space": "categories", "values": ["f", "m"]}}
TABLE = pa.table({"sex": ["f", "m", "m"] * 100})


@pytest.mark.parametrize(
    ("neighbours", "owners", "public"),
    [
        ("change-one", {}, True),
        ("change-one", {"person": "id"}, False),
        ("change-one", {"rows_per_person": 2}, False),
        ("add-remove", {}, False),
        ("add-remove", {"person": "id"}, False),
    ],
)
def test_the_number_of_rows_leaves_where_it_is_public(
    neighbours: Neighbours, owners: dict[str, Any], public: bool
) -> None:
    plan = Plan.from_dict({"privacy": {"epsilon": 1, "neighbours": neighbours}, "columns": COLUMNS})
    schema = schema_of(plan)
    question = resolved("SELECT sex, count(*) AS n FROM data GROUP BY sex", schema)
    unit = Unit(neighbours, **owners)
    measurement = measure(question, schema, Privacy("0.1", neighbours=neighbours), unit=unit)
    counted = tallied(TABLE, plan, measurement)
    with seeded_coins(5):
        released = with_noise(measurement, counted)
    assert ("rows" in released) is public
    notes = " ".join(answer_of(measurement, released, 0.95).notes)
    assert ("adjusted to add up to the public number of rows, 300" in notes) is public


def test_a_price_for_other_neighbours_than_the_unit_is_a_mistake() -> None:
    schema = Schema("data", {"team": Categories(["a", "b"])})
    question = resolved("SELECT count(*) AS n FROM data", schema)
    with pytest.raises(AssertionError, match="other neighbours"):
        measure(question, schema, Privacy(1), unit=Unit("add-remove"))
