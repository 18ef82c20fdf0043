"""The sheet, exercise 2.1: the minimum of positive integers has infinite global sensitivity; the local one may be 0."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dproof import Interval, Open, sensitivity

POSITIVE = {"x": Open(Fraction(1))}
MINIMUM = "SELECT min(x) FROM data"


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_over_all_tables_it_moves_without_end(neighbours: Any) -> None:
    found = sensitivity(MINIMUM, POSITIVE, neighbours)
    assert found.l1 is None and found.l2_squared is None
    distances = []
    for witness in found.witnesses:
        before, after = ([row["x"] for row in rows] for rows in (witness.before, witness.after))
        assert all(x >= 1 for x in before + after)
        assert abs(len(before) - len(after)) == (neighbours == "add-remove")
        assert abs(min(before) - min(after)) == witness.distance
        distances.append(witness.distance)
    assert distances == sorted(set(distances)) and len(distances) > 2


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
@pytest.mark.parametrize("kind", ["min", "max"])
def test_on_a_bounded_range_it_is_the_range(neighbours: Any, kind: str) -> None:
    found = sensitivity(f"SELECT {kind}(x) FROM data", {"x": Interval(1, 50, 1)}, neighbours)
    assert found.l1 == 49 and found.witness is not None
    take = min if kind == "min" else max
    before, after = (take(row["x"] for row in rows) for rows in (found.witness.before, found.witness.after))
    assert abs(before - after) == 49


@pytest.mark.parametrize("kind", ["sum", "avg", "max", "median"])
def test_without_bounds_no_such_question_has_a_finite_one(kind: str) -> None:
    assert sensitivity(f"SELECT {kind}(x) FROM data", POSITIVE).l1 is None


def test_a_count_needs_no_bounds() -> None:
    assert sensitivity("SELECT count(*) FROM data WHERE x > 3", POSITIVE).l1 == 1
