"""HLM15, section 2.1 and equation (1): D inside a metric space (U, ρ), its diameter, and its separation.

Equation (20) and Theorem 7 take the least ρ(x, y) over all x, y; it must be over x ≠ y, or it is always 0.
"""

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dproof import Categories, InputError
from dproof.testing import check_metric
from tests.strategies import metrics

TRIPLE = ["near", "middle", "far"]


@given(metrics())
def test_a_metric_is_taken_with_its_extremes(rho: list[list[Fraction]]) -> None:
    space = Categories(range(len(rho)), metric=rho)
    check_metric(space)
    apart = [rho[i][j] for i, j in combinations(range(len(rho)), 2)]
    assert space.diameter == max(apart, default=0)
    assert space.separation == min(apart, default=0)


@pytest.mark.parametrize(
    ("rho", "message"),
    [
        ([[0, 1, 2], [1, 0, 1], [3, 1, 0]], "'near' and 'far' must be the same both ways"),
        ([[0, 1, 0], [1, 0, 1], [0, 1, 0]], "'near' and 'far' must be positive"),
        ([[0, 1, -1], [1, 0, 1], [-1, 1, 0]], "'near' and 'far' must be positive"),
        ([[0, 1, 2], [1, "1/9", 1], [2, 1, 0]], "'middle' from itself must be 0"),
        (
            [[0, 1, "2.001"], [1, 0, 1], ["2.001", 1, 0]],
            "'near' to 'far' is longer .* 'middle'; shorten it to at most 2",
        ),
        ([[0, 1], [1, 0]], "3 by 3 matrix"),
        ([[0, 1, 2], [1, 0, 1], [2, 1]], "3 by 3 matrix"),
        ([0, 1, 2], "3 by 3 matrix"),
        (3, "3 by 3 matrix"),
        ([[0, 1, "x"], [1, 0, 1], [2, 1, 0]], "a distance in row 1 must be a finite number"),
        ("euclidean", "metric 'euclidean' is not known"),
    ],
)
def test_what_is_not_a_metric_is_refused_with_its_points(rho: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Categories(TRIPLE, metric=rho)


@given(metrics(), st.data())
def test_one_broken_triangle_is_found_and_named(rho: list[list[Fraction]], data: st.DataObject) -> None:
    if len(rho) < 3:
        return
    i, j, middle = data.draw(st.permutations(range(len(rho))))[:3]
    rho[i][j] = rho[j][i] = rho[i][middle] + rho[middle][j] + Fraction(1, 10**9)
    labels = [f"point {n}" for n in range(len(rho))]
    with pytest.raises(InputError, match=r"is longer than the way through 'point \d'; shorten it") as refusal:
        Categories(labels, metric=rho)
    named = str(refusal.value).split("'")[1::2]
    a, b, c = (labels.index(name) for name in named)
    assert rho[a][b] > rho[a][c] + rho[c][b], "the points it names do break it"


def test_separation_over_all_pairs_would_be_zero() -> None:
    five = Categories(range(5))
    assert min(five.distance(x, y) for x in range(5) for y in range(5)) == 0
    assert five.separation == 1


def test_one_point_has_no_extent() -> None:
    one = Categories(["only"])
    assert (one.size, one.diameter, one.separation) == (1, 0, 0)
