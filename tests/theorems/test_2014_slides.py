"""Mason's slides, 2014: what they say beyond the two papers, and their slips.

They state the results of HLM15; the letters Y and Z are exchanged. "If we set δ = 0, we obtain the definition of
relaxed differential privacy" is the wrong way round: δ = 0 is pure, δ > 0 relaxed. They ask for ε > 0 and write 1 − p
for P(X_d = d), which is 1 − pm. "An unlimited number of queries" is true of one sanitised table.
"""

from fractions import Fraction

import pytest

from dproof import Categories, NotPrivate, Privacy, certify, response_with
from tests import brute_force


def test_delta_zero_is_the_stricter_notion() -> None:
    mechanism = response_with(Categories(range(5)), "0.1")
    certify(mechanism, Privacy("1.5", "0.2"))
    with pytest.raises(NotPrivate):
        certify(mechanism, Privacy("1.5"))
    assert mechanism.epsilon("0.2") < mechanism.epsilon()


def test_epsilon_zero_is_legitimate() -> None:
    certify(response_with(Categories(range(5)), "0.2"), Privacy(0))
    certify(response_with(Categories(range(5)), "0.1"), Privacy(0, "0.5"))


@pytest.mark.parametrize("m", [1, 2, 4, 9])
def test_the_truth_has_probability_one_minus_p_m(m: int) -> None:
    p = Fraction(1, 20)
    law = response_with(Categories(range(m + 1)), p).law(0)
    assert law[0] == 1 - p * m
    assert (law[0] == 1 - p) == (m == 1), "1 − p is right for two values only"


def test_rising_unions_and_falling_intersections_keep_the_inequality() -> None:
    """On a chain of sets of a finite range: if it holds on each, it holds on the last and on the first."""
    rows = brute_force.probabilities(response_with(Categories(range(5)), "0.1"))
    chain = [tuple(range(size)) for size in range(6)]
    holds = [brute_force.excess(rows[0], rows[1], chosen, Fraction(6)) <= 0 for chosen in chain]
    assert all(holds)
    union, intersection = set().union(*chain), set(chain[-1]).intersection(*chain)
    assert brute_force.excess(rows[0], rows[1], union, Fraction(6)) <= 0
    assert brute_force.excess(rows[0], rows[1], intersection, Fraction(6)) <= 0


def test_unlimited_queries_on_one_table_and_not_on_fresh_ones() -> None:
    rows = brute_force.probabilities(response_with(Categories([0, 1]), "1/4"))
    at, deltas = Fraction(3), []
    for k in (1, 2, 4, 8):
        fresh = brute_force.product_law([rows] * k)
        first, last = fresh[0], fresh[-1]  # the same bit, k times over
        deltas.append(brute_force.divergence(first, last, at))
    assert deltas[0] == 0
    assert deltas == sorted(deltas) and deltas[-1] > Fraction(4, 5)
