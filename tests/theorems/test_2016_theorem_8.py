"""HLM16, Theorem 8 (HLM15, equation (12)): for p ≤ 1/(m+1), randomised response is private iff p ≥ (1 − δ)/(m + e^ε).

Without p ≤ 1/(m+1), as the closing sentence of HLM15, Example 6 and its paragraph on repeated queries leave it out,
this is not enough: the exact condition for all p in [0, 1/m] is (1 − δ)/(m + e^ε) ≤ p ≤ (e^ε + δ)/(1 + m e^ε).
With two values, p = 0.95 and ε = 0.1 satisfy p ≥ 0.475, and yet δ must be 0.8947; p = 1 publishes the other bit.
"""

from fractions import Fraction
from math import exp

import pytest

from dproof import Categories, NotPrivate, Privacy, certify, response_with
from tests import brute_force

ODDS = [Fraction(1), Fraction(11, 10), Fraction(2), Fraction(6)]
DELTAS = [Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]


@pytest.mark.parametrize("m", [1, 2, 4])
def test_the_two_sided_condition_over_the_whole_range_of_p(m: int) -> None:
    grid = {Fraction(i, 40 * m) for i in range(41)}
    for e in ODDS:
        for delta in DELTAS:
            lower, upper = (1 - delta) / (m + e), (e + delta) / (1 + m * e)
            for p in grid | {q for q in (lower, upper) if q <= Fraction(1, m)}:
                private = response_with(Categories(range(m + 1)), p).family.worst(e).value <= delta
                assert private == (lower <= p <= upper)
                if p <= Fraction(1, m + 1):
                    assert private == (p >= lower), "within the range of the theorem, as printed"


@pytest.mark.parametrize("m", [1, 2, 4])
def test_from_the_definition_over_all_sets(m: int) -> None:
    for p in (Fraction(0), Fraction(1, 3 * m), Fraction(1, m + 1), Fraction(9, 10 * m), Fraction(1, m)):
        mechanism = response_with(Categories(range(m + 1)), p)
        rows = brute_force.probabilities(mechanism)
        for e in ODDS:
            assert mechanism.family.worst(e).value == brute_force.tight_delta(rows, e)


def test_the_gap_without_an_upper_limit() -> None:
    coin = response_with(Categories([0, 1]), "0.95")
    assert 1 / (1 + exp(0.1)) == pytest.approx(0.475, abs=1e-4)
    assert coin.delta("0.1") == pytest.approx(0.8947, abs=5e-5)
    with pytest.raises(NotPrivate):
        certify(coin, Privacy("0.1"))
    negated = response_with(Categories([0, 1]), 1)
    assert negated.law(0)[1] == 1
    assert negated.epsilon() == float("inf")


def test_the_four_cases_of_the_proof() -> None:
    """d and d' both outside A, both in it, only d', only d: the last decides, and there the singleton {d} is worst."""
    m, p, e = 4, Fraction(1, 10), Fraction(2)
    rows = brute_force.probabilities(response_with(Categories(range(m + 1)), p))
    for chosen in brute_force.subsets(range(m + 1)):
        value = brute_force.excess(rows[0], rows[1], chosen, e)
        if 0 in chosen and 1 not in chosen:
            assert value <= brute_force.excess(rows[0], rows[1], [0], e) == 1 - p * m - e * p
        else:
            assert value <= 0
