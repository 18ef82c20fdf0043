"""Intervals by simulated noise, where the draws cannot tell the level, and where no candidate is left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dproof import Plan, Privacy
from dproof.curator.answer import answer_of, enough_draws
from dproof.plans.plan import schema_of
from dproof.testing import seeded_coins
from tests.makers import measured_for, tallied, with_noise

NUMBER = {"space": "interval", "low": 0, "high": 100, "step": 1, "missing": 0}
PLAN = Plan.from_dict(
    {
        "privacy": {"epsilon": 1000},
        "columns": {"town": {"space": "interval", "low": 0, "high": 199, "step": 1}, "x": NUMBER, "y": NUMBER},
    }
)


def answers(asked: str, table: Any, runs: int, level: float, epsilon: str = "2") -> list[list[dict[str, Any]]]:
    schema = schema_of(PLAN)
    measurement = measured_for(asked, schema, Privacy(epsilon))
    counted = tallied(table, PLAN, measurement)
    with seeded_coins(11):
        drawn = [with_noise(measurement, counted) for _ in range(runs)]
    return [answer_of(measurement, released, level).rows for released in drawn]


@pytest.mark.parametrize("asked", ["avg(x)", "avg(x) - avg(y)", "count(*) FILTER (WHERE x < 50) + count(*)"])
def test_many_groups_at_a_level_that_few_draws_do_not_tell(asked: str) -> None:
    """Of 1,000 draws the least and the greatest leave out 2 in 1,000, and here 1 in 100,000 may be missed."""
    town, x = np.repeat(np.arange(200), 1000), np.tile(np.arange(100), 2000)
    table = pa.table({"town": town, "x": x, "y": x})
    truth = {"avg(x)": 49.5, "avg(x) - avg(y)": 0}.get(asked, 1500)
    given = answers(f"SELECT town, {asked} AS a FROM data GROUP BY town", table, 1, 0.99999)
    cells = [row["a"] for rows in given for row in rows]
    assert sum(not cell.low <= truth <= cell.high for cell in cells) <= 1
    # Three noises at most, each within ln(3·10⁶) scales, or 10.6 deviations, of which there are √3 in that of the sum.
    # Few draws would reach 5 deviations.
    half, deviation = (np.mean(found) for found in zip(*[((c.high - c.low) / 2, c.stderr) for c in cells], strict=True))
    assert 8 * deviation < half < 10.6 * 3**0.5 * deviation


def test_one_group_at_a_level_that_no_draws_tell() -> None:
    table = pa.table({"town": [0] * 100, "x": list(range(100)), "y": [0] * 100})
    (rows,) = answers("SELECT avg(x) AS a FROM data WHERE town = 0", table, 1, 1 - 1e-9)
    assert rows[0]["a"].high - rows[0]["a"].low > 20 * rows[0]["a"].stderr


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_what_no_candidate_explains_is_no_exact_answer(level: float) -> None:
    """Three rows, and noise as of many: such sums were shown as ± 0."""
    table = pa.table({"town": [0, 0, 0], "x": [3, 5, 90], "y": [0, 100, 100]})
    given = answers("SELECT avg(x) - avg(y) AS a FROM data WHERE town = 0", table, 100, level, "0.5")
    assert not any(row["a"].informative and row["a"].low == row["a"].high for (row,) in given)


def test_so_many_draws_are_made_as_tell_the_level() -> None:
    assert enough_draws(0.95, 7) == (4000, True)
    assert enough_draws(0.999, 1000) == (20000, True)
    assert enough_draws(0.95, 10_000) == (1000, True)
    assert enough_draws(0.9999, 1000) == (4000, False)
    assert enough_draws(1 - 1e-9, 1) == (4000, False)
