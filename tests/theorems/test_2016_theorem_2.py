"""HLM16, Theorem 2: on subsets of S = {P_d > P_d'} inequality (5) decides it on all sets.

It holds for every law, not only for exponential mechanisms. One set does as much: A* = {P_d > e^ε P_d'} collects
exactly the positive terms of P(A) − e^ε P'(A), so no other set exceeds it.
"""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dproof import Categories, InputError, discrete_exponential, solution_matrix, sufficient_sets
from dproof.laws.divergence import hockey_stick, worst_set
from tests import brute_force
from tests.strategies import laws, odds

PAIR = st.integers(2, 6).flatmap(lambda outputs: st.tuples(laws(outputs, 30), laws(outputs, 30)))


@given(PAIR, odds)
def test_subsets_of_S_suffice_for_any_two_laws(pair: tuple[list[int], list[int]], at: Fraction) -> None:
    p, q = pair
    greater = worst_set(p, q, Fraction(1))
    assert list(greater) == [y for y in range(len(p)) if p[y] > q[y]]
    assert brute_force.delta(p, q, at, brute_force.subsets(greater)) == brute_force.delta(p, q, at)


@given(PAIR, odds)
def test_the_one_set_of_positive_terms_suffices(pair: tuple[list[int], list[int]], at: Fraction) -> None:
    p, q = pair
    found = max(Fraction(0), brute_force.excess(p, q, worst_set(p, q, at), at))
    assert found == hockey_stick(p, q, 1, at) == brute_force.delta(p, q, at)


def test_the_sets_of_a_mechanism() -> None:
    mechanism = solution_matrix(
        Categories([0, 1]), [["1/2", "1/4", "1/4"], ["1/4", "1/4", "1/2"]], outputs=Categories(["x", "y", "z"])
    )
    sets = sufficient_sets(mechanism, 0, 1)
    assert sets.S == ("x",)
    assert sufficient_sets(mechanism, 1, 0).S == ("z",)
    assert sets.checks == {"brute force": 6, "theorem 2": 1, "corollary 1": 1, "corollary 2": 1, "single set": 1}
    assert sets.single(0) == ("x",)
    assert sets.single(1) == (), "at ε = 1 no output exceeds its odds, so no set is needed"


@pytest.mark.parametrize("epsilon", [0, "0.1", "0.5", 1, 2])
def test_theorem_and_single_set_agree_on_an_exponential_mechanism(epsilon: object) -> None:
    from dproof.exact import exact, exp_below

    points = Categories(range(4), metric="ordinal")
    mechanism = discrete_exponential(points, 1)
    rows, at = brute_force.probabilities(mechanism), exp_below(exact(epsilon))
    for i in range(4):
        for j in range(4):
            if i == j:
                continue
            sets = sufficient_sets(mechanism, i, j)
            by_theorem = brute_force.delta(rows[i], rows[j], at, brute_force.subsets(sets.S))
            by_single = max(Fraction(0), brute_force.excess(rows[i], rows[j], sets.single(epsilon), at))
            assert by_theorem == by_single == brute_force.delta(rows[i], rows[j], at)


def test_a_pair_needs_two_inputs() -> None:
    with pytest.raises(InputError, match="two different"):
        sufficient_sets(discrete_exponential(Categories([0, 1]), 1), 0, 0)
