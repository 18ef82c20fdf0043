"""The interval of a count that cannot be is that of the nearest count that can, as long as any other and no longer."""

from __future__ import annotations

from typing import Any

import pytest

from dproof import Plan, Privacy
from dproof.curator.answer import answer_of
from dproof.curator.recipe import measure
from dproof.plans.plan import schema_of
from dproof.privacy import Neighbours
from tests.makers import resolved

ROWS = 40
COLUMNS = {"team": {"space": "categories", "values": ["a", "b"]}}


def _counted(neighbours: Neighbours, noisy: int) -> tuple[Any, float]:
    """The cell of team a when its count was drawn as `noisy`, and the half-width of its interval."""
    schema = schema_of(Plan.from_dict({"privacy": {"epsilon": 1, "neighbours": neighbours}, "columns": COLUMNS}))
    question = resolved("SELECT team, count(*) AS n FROM data GROUP BY team", schema)
    measurement = measure(question, schema, Privacy("0.5", neighbours=neighbours))
    released: dict[str, Any] = {"noisy": [[noisy, ROWS - noisy]], "chosen": [], "private": False}
    if measurement.unit.rows_are_public:
        released["rows"] = ROWS
    (noise,) = [part.noise for part in measurement.noisy if part.noise is not None]
    return answer_of(measurement, released, 0.95).rows[0]["n"], noise.quantile("0.95")


@pytest.mark.parametrize("neighbours", ["change-one", "add-remove"])
@pytest.mark.parametrize("noisy", [-60, -9, -1])
def test_a_count_below_0_has_the_interval_of_0(neighbours: Neighbours, noisy: int) -> None:
    cell, half = _counted(neighbours, noisy)
    assert (cell.low, cell.high, cell.raw) == (0, half, noisy)


@pytest.mark.parametrize("noisy", [41, 60, 100])
def test_a_count_above_the_public_number_of_rows_has_the_interval_of_that_number(noisy: int) -> None:
    cell, half = _counted("change-one", noisy)
    assert (cell.low, cell.high, cell.raw) == (ROWS - half, ROWS, noisy)
