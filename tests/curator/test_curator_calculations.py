"""Intervals of calculations with several noisy parts cover as often as they say, also at the ends of what can be."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from dproof import Plan, Privacy
from dproof.curator.answer import answer_of
from dproof.plans.plan import schema_of
from dproof.testing import seeded_coins
from tests.makers import measured_for, tallied, with_noise

RUNS = 100
NUMBER = {"space": "interval", "low": 0, "high": 100, "step": 1}
PLAN = Plan.from_dict(
    {
        "privacy": {"epsilon": 1000},
        "columns": {
            "x": NUMBER,
            "y": NUMBER,
            "signed": {**NUMBER, "low": -50, "high": 50},
            "town": {"space": "categories", "values": list("abcdefg")},
        },
    }
)
# 30 rows of one town at the ends of both ranges, five of another at the other ends; the numbers with a sign nearly
# cancel, and nobody lives in the other towns.
TABLE = pa.table({
    "x": [100] * 30 + [0] * 5,
    "y": [0] * 30 + [100] * 5,
    "signed": [-50] * 17 + [50] * 18,
    "town": ["a"] * 30 + ["b"] * 5,
})  # fmt: skip
NOBODY = " + ".join(f"count(*) FILTER (WHERE town = '{town}')" for town in "cdefg")


def answers(asked: str, epsilon: str = "1", table: Any = TABLE, runs: int = RUNS) -> list[Any]:
    schema = schema_of(PLAN)
    measurement = measured_for(f"SELECT {asked} AS v FROM data", schema, Privacy(epsilon))
    counted = tallied(table, PLAN, measurement)
    with seeded_coins(11):
        drawn = [with_noise(measurement, counted) for _ in range(runs)]
    return [answer_of(measurement, released, 0.95).rows[0]["v"] for released in drawn]


def covered(cells: list[Any], truth: float) -> float:
    """How many cells hold the truth; one that tells nothing does."""
    return sum(cell.low is None or cell.low - 1e-9 <= truth <= cell.high + 1e-9 for cell in cells) / len(cells)


@pytest.mark.parametrize(
    ("asked", "truth"),
    [
        (NOBODY, 0),
        (f"({NOBODY}) / count(*) FILTER (WHERE town = 'a')", 0),
        ("avg(x) FILTER (WHERE town = 'a') - avg(x) FILTER (WHERE town = 'b')", 100),
        ("sum(x) / sum(signed)", 60),
    ],
)
def test_they_cover_at_the_ends_of_what_can_be(asked: str, truth: float) -> None:
    assert covered(answers(asked), truth) >= 0.92


def test_the_difference_of_large_means_is_nearly_as_sharp_as_the_normal_one() -> None:
    table = TABLE.take([0, 31] * 1000)
    cells = answers("avg(x) FILTER (WHERE town = 'a') - avg(x) FILTER (WHERE town = 'b')", table=table, runs=60)
    error = (sum((cell.raw - 100) ** 2 for cell in cells) / len(cells)) ** 0.5
    half = sum(cell.high - cell.low for cell in cells) / (2 * len(cells))
    assert covered(cells, 100) >= 0.93 and half <= 1.3 * 1.96 * error
