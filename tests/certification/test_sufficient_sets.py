"""Sufficient sets of a mechanism: which they are and how many checks each theorem leaves."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dproof import (
    Categories,
    InputError,
    Privacy,
    count_checks,
    discrete_exponential,
    randomised_response,
    solution_matrix,
    sufficient_sets,
)
from dproof.exact import exact, exp_below
from tests import brute_force
from tests.strategies import matrices

HOBBIES = Categories(["Sports", "Cars", "Television", "Computer games", "Reading"])


@given(matrices(), st.sampled_from(["0", "0.2", "1", "3"]))
def test_levels_partition_S_and_the_single_set_is_the_worst(family, epsilon: str) -> None:
    rows = [[Fraction(int(w), family.total) for w in row] for row in family.rows]
    mechanism = solution_matrix(Categories(range(family.inputs)), rows, outputs=Categories(range(family.outputs)))
    at = exp_below(exact(epsilon))
    for i in range(family.inputs):
        for j in range(family.inputs):
            if i == j:
                continue
            sets = sufficient_sets(mechanism, i, j)
            assert tuple(y for y in range(family.outputs) if rows[i][y] > rows[j][y]) == sets.S
            assert sorted(y for level in sets.levels for y in level) == sorted(sets.S)
            single = sets.single(epsilon)
            assert set(single) <= set(sets.S)
            assert max(0, brute_force.excess(rows[i], rows[j], single, at)) == brute_force.delta(rows[i], rows[j], at)


def test_levels_come_by_falling_ratio() -> None:
    mechanism = discrete_exponential(Categories(range(4), metric="ordinal"), 1)
    sets = sufficient_sets(mechanism, 1, 3)
    assert sets.levels == ((0, 1),)
    assert sufficient_sets(mechanism, 0, 3).levels == ((0,), (1,))


def test_equal_laws_need_no_set() -> None:
    mechanism = randomised_response(HOBBIES, Privacy(0))
    sets = sufficient_sets(mechanism, "Cars", "Reading")
    assert (sets.S, sets.levels, sets.single(0)) == ((), (), ())
    assert sets.checks["theorem 2"] == sets.checks["corollary 1"] == 0


def test_a_zero_opposite_is_a_level_of_its_own() -> None:
    mechanism = solution_matrix(
        Categories([0, 1]), [["0.3", "0.4", "0.2", "0.1"], [0, "0.1", "0.05", "0.85"]], outputs=Categories(range(4))
    )
    assert sufficient_sets(mechanism, 0, 1).levels == ((0,), (1, 2))


def test_counts_over_all_pairs_and_over_neighbours_only() -> None:
    rows = [["0.5", "0.5"], ["0.25", "0.75"], ["0.75", "0.25"]]
    space, outputs = Categories(range(3)), Categories(range(2))
    every = count_checks(solution_matrix(space, rows, outputs=outputs))
    assert every == {"brute force": 12, "theorem 2": 6, "corollary 1": 6, "corollary 2": 6, "single set": 6}
    beside = [(0, 1), (1, 2)]
    some = count_checks(solution_matrix(space, rows, outputs=outputs, neighbours=beside))
    assert some == {"brute force": 8, "theorem 2": 4, "corollary 1": 4, "corollary 2": 4, "single set": 4}


@pytest.mark.parametrize(("d", "e"), [("Cars", "Cars"), ("Cars", "Golf"), (None, "Cars")])
def test_two_different_inputs_of_the_space_are_needed(d: object, e: object) -> None:
    with pytest.raises(InputError):
        sufficient_sets(randomised_response(HOBBIES, Privacy(1)), d, e)


@pytest.mark.parametrize("wrong", [-1, "nan"])
def test_the_single_set_needs_an_epsilon(wrong: object) -> None:
    with pytest.raises(InputError, match="epsilon must"):
        sufficient_sets(randomised_response(HOBBIES, Privacy(1)), "Cars", "Reading").single(wrong)
