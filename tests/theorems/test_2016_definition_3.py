"""HLM16, Definition 3 (HLM15, Definitions 1 and 2): P(X_d ∈ A) ≤ e^ε P(X_d' ∈ A) + δ for all neighbours and all A.

For a finite mechanism the least δ at ε is max over ordered pairs of Σ_y max(0, P(y) − e^ε Q(y)), and the least ε at
δ follows from prefix sums of the sorted ratios; here both are compared with the definition over all subsets.
"""

from fractions import Fraction
from math import inf, log

import pytest
from hypothesis import given

from dproof import Categories, NotPrivate, Privacy, certify, response_with, solution_matrix
from dproof.exact import exp_above, exp_below
from dproof.laws import Matrix
from tests import brute_force
from tests.strategies import deltas, matrices, odds

HOBBIES = Categories(["Sports", "Cars", "Television", "Computer games", "Reading"])


@given(matrices(), odds)
def test_the_tight_delta_is_the_largest_over_all_pairs_and_all_sets(family: Matrix, at: Fraction) -> None:
    rows = [[Fraction(int(w), family.total) for w in row] for row in family.rows]
    assert family.worst(at).value == brute_force.tight_delta(rows, at)


@given(matrices(), deltas)
def test_the_tight_epsilon_is_the_least_that_serves_all_pairs_and_all_sets(family: Matrix, at: Fraction) -> None:
    rows = [[Fraction(int(w), family.total) for w in row] for row in family.rows]
    found = family.odds(at).value
    if found is None:
        assert brute_force.tight_delta(rows, Fraction(10**40)) > at, "no odds will do"
        return
    assert brute_force.tight_delta(rows, found) <= at
    if found > 1:
        less = max(Fraction(1), found * (1 - Fraction(1, 10**30)))
        assert brute_force.tight_delta(rows, less) > at, "no less will do"


def test_tight_epsilon_of_the_five_hobbies() -> None:
    """m = 4 and p = 0.1: ε = ln 6 at δ = 0, and ln 4 at δ = 0.2."""
    mechanism = response_with(HOBBIES, "0.1")
    assert mechanism.family.odds(Fraction(0)).value == 6
    assert mechanism.family.odds(Fraction(1, 5)).value == 4
    assert mechanism.epsilon() == pytest.approx(1.7917594692, abs=1e-10) == pytest.approx(log(6))
    assert mechanism.epsilon("0.2") == pytest.approx(1.3862943611, abs=1e-10) == pytest.approx(log(4))


def test_the_worst_pair_for_delta_need_not_be_the_worst_pair_for_epsilon() -> None:
    """A rare output at long odds decides ε at δ = 0; a common output at short odds decides δ at ε = 0."""
    rows = [["0.02", "0.49", "0.49"], ["0.01", "0.495", "0.495"], ["0.02", "0.69", "0.29"]]
    family = solution_matrix(Categories("abc"[n] for n in range(3)), rows).family
    by_epsilon, by_delta = family.odds(Fraction(0)), family.worst(Fraction(1))
    assert {by_epsilon.source, by_epsilon.target} == {0, 1}
    assert by_epsilon.value == 2
    assert {by_delta.source, by_delta.target} == {1, 2}
    assert by_delta.value == Fraction(41, 200)


def test_both_orders_of_a_pair_must_hold() -> None:
    """From the first input to the second the odds are 2 at most, from the second to the first 8."""
    family = solution_matrix(Categories([0, 1]), [["1/10", "9/10"], ["8/10", "2/10"]]).family
    assert family.odds(Fraction(0)).value == 8
    assert family.worst(Fraction(9, 2)).source == 1


def test_every_mechanism_is_private_at_delta_one() -> None:
    """The truth itself is (ε, 1)-private for every ε, and for no smaller δ."""
    truth = response_with(HOBBIES, 0)
    certify(truth, Privacy(0, 1))
    assert truth.epsilon(1) == 0
    assert truth.epsilon("0.999999") == inf
    with pytest.raises(NotPrivate):
        certify(truth, Privacy(1000, "0.999999"))


def test_under_the_trivial_sigma_algebra_every_mechanism_is_private() -> None:
    """Where only the empty set and the whole space can be seen, nothing is told: output must be certified as it is."""
    rows = brute_force.probabilities(response_with(HOBBIES, 0))
    everything = range(5)
    assert all(brute_force.delta(p, q, Fraction(1), sets=[(), everything]) == 0 for p in rows for q in rows)


def test_equality_at_the_boundary_is_private() -> None:
    half = solution_matrix(Categories([0, 1]), [["3/4", "1/4"], ["1/4", "3/4"]])
    certify(half, Privacy(0, "1/2"))
    with pytest.raises(NotPrivate):
        certify(half, Privacy(0, "0.4999999999999999999999999999"))


def test_e_to_the_epsilon_is_known_from_both_sides() -> None:
    assert exp_below(Fraction(1)) < exp_above(Fraction(1))
    assert exp_above(Fraction(1)) - exp_below(Fraction(1)) < Fraction(1, 1 << 120)
