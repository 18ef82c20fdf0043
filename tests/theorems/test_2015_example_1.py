"""HLM15, Example 1: sets of hobbies, under the discrete metric and under the symmetric difference."""

from fractions import Fraction

import pytest

from dproof import Categories, Subsets
from dproof.testing import check_metric

ITEMS = ["Music", "Football", "Chess", "Cars", "Reading"]


def test_the_discrete_metric_on_five_points() -> None:
    space = Categories(ITEMS)
    assert (space.diameter, space.separation) == (1, 1)
    check_metric(Subsets(ITEMS[:3], metric="discrete"))


@pytest.mark.parametrize(("items", "points", "diameter", "total"), [(3, 8, 3, 96), (5, 32, 5, 2560)])
def test_the_symmetric_difference(items: int, points: int, diameter: int, total: int) -> None:
    space = Subsets(ITEMS[:items])
    check_metric(space)
    assert (space.size, space.diameter, space.separation) == (points, diameter, 1)
    sums = [int(space.distances(code).sum()) for code in range(space.size)]
    assert sum(sums) == total
    assert {Fraction(s, points) for s in sums} == {Fraction(items, 2)}, "on average half the items differ, from any set"


def test_distances_are_counted_items() -> None:
    space = Subsets(ITEMS)
    a, b = {"Music", "Chess"}, {"Chess", "Cars", "Reading"}
    assert space.distance(a, b) == len((a | b) - (a & b)) == 3
    assert Subsets(ITEMS, metric="discrete").distance(a, b) == 1
    assert space.distance(a, a) == 0


def test_entries_may_differ_in_size() -> None:
    space = Subsets(ITEMS)
    column = [set(), {"Music"}, set(ITEMS)]
    assert space.decode(space.encode(column)) == column
