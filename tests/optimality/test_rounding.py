"""From a law in floats to whole numbers: every pair keeps its promise, and nothing moves more than it must."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dproof.exact import exp_below
from dproof.laws import Matrix
from dproof.optimality.programme import TOTAL, certified_law, certified_pairs_law
from tests import brute_force

_EDGES = [(0, 1, Fraction(2)), (1, 0, Fraction(2)), (1, 2, Fraction(3, 2)), (2, 1, Fraction(3, 2))]


def _rows(family: Matrix) -> list[list[Fraction]]:
    assert family.total == TOTAL and (family.rows.sum(axis=1) == TOTAL).all()
    return [[Fraction(int(w), TOTAL) for w in row] for row in family.rows]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=3, max_size=3),
    st.sampled_from([Fraction(0), Fraction(1, 20), Fraction(1, 3)]),
)
def test_each_pair_keeps_the_odds_of_its_own(weights: list[list[int]], delta: Fraction) -> None:
    """Any law whatever, far from private: what comes out satisfies every edge, by all subsets of the outputs."""
    family = certified_pairs_law(np.array(weights, float) + 0.5, _EDGES, delta)
    rows = _rows(family)
    for i, k, odds in _EDGES:
        assert brute_force.delta(rows[i], rows[k], odds) <= delta


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=3, max_size=3),
    st.sampled_from([Fraction(0), Fraction(1, 20), Fraction(1, 3)]),
)
def test_all_pairs_keep_the_promise(weights: list[list[int]], delta: Fraction) -> None:
    family = certified_law(np.array(weights, float) + 0.5, Fraction(1), delta)
    assert brute_force.tight_delta(_rows(family), exp_below(Fraction(1))) <= delta


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_a_law_that_only_rounding_breaks_is_lifted_and_not_mixed(epsilon: str) -> None:
    """Randomised response in floats lies on its limit: a unit in the last place decides, and no more is given away."""
    odds = exp_below(Fraction(epsilon))
    law = np.where(np.eye(5, dtype=bool), float(odds / (4 + odds)), float(1 / (4 + odds)))
    family = certified_law(law, Fraction(epsilon), Fraction(0))
    exact = [[(odds if i == j else 1) / (4 + odds) for j in range(5)] for i in range(5)]
    moved = [
        abs(a - b) for row, right in zip(_rows(family), exact, strict=True) for a, b in zip(row, right, strict=True)
    ]
    assert max(moved) < Fraction(1, 2**50)
