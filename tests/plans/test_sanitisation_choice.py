"""Which law a column gets by itself: of little error, and one that lets counts be estimated."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dproof as dp
from dproof.local.mechanisms import choose

EPSILONS = ["0", "0.3", "1", "2", "5"]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_under_the_discrete_metric_it_is_randomised_response(epsilon: str) -> None:
    space = dp.Categories(["a", "b", "c", "d", "e"])
    assert choose(space, dp.Privacy(epsilon)).name == "randomised response"
    joined = dp.Rows({"x": space, "y": dp.Categories(["f", "m", "x"])})
    assert choose(joined, dp.Privacy(epsilon)).name == "randomised response"


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", [2, 4, 8, 40])
def test_an_ordinal_column_never_errs_more_than_randomised_response_and_can_be_counted(size: int, epsilon: str) -> None:
    space = dp.Categories(list(range(size)), "ordinal")
    chosen, usual = choose(space, dp.Privacy(epsilon)), dp.randomised_response(space, dp.Privacy(epsilon))
    assert chosen.error <= usual.error
    dp.certify(chosen, dp.Privacy(epsilon))
    if epsilon != "0":
        assert chosen.family.count_variance(space) is not None


@given(st.integers(1, 12), st.fractions(min_value=0, max_value=9, max_denominator=20))
def test_a_set_gets_the_response_that_errs_less(items: int, epsilon: object) -> None:
    space = dp.Subsets([str(n) for n in range(items)])
    privacy = dp.Privacy(epsilon)
    chosen = choose(space, privacy)
    least = min(dp.randomised_response(space, privacy).error, dp.itemwise_response(space, privacy).error)
    assert chosen.error <= least * (1 + Fraction(1, 10**9))  # on one item both are the same law, but for rounding
    dp.certify(chosen, privacy)
    assert epsilon == 0 or chosen.family.count_variance(space) is not None


@pytest.mark.parametrize(
    "mechanism",
    [
        dp.randomised_response(dp.Categories(list("abcd")), dp.Privacy(1)),
        dp.randomised_response(dp.Subsets(["a", "b", "c"]), dp.Privacy(1)),
        dp.itemwise_response(dp.Subsets(["a", "b", "c"]), dp.Privacy(1)),
        dp.discrete_exponential(dp.Categories(list(range(5)), "ordinal"), 1),
    ],
)
def test_the_variance_of_a_count_is_that_of_its_scores(mechanism: dp.Mechanism) -> None:
    """From the definition: solve P s = f for the score of each count f, and take the worst row."""
    law, space = mechanism.matrix(), mechanism.inputs
    asked = np.eye(len(law))
    if isinstance(space, dp.Subsets):
        asked = np.array([[item in space.label(n) for item in space.values] for n in range(space.size)], float)
    scores = np.linalg.solve(law, asked)
    worst = max(float(row @ score**2 - (row @ score) ** 2) for row in law for score in scores.T)
    assert mechanism.family.count_variance(space) == pytest.approx(worst)
