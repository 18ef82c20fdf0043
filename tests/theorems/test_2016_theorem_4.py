"""HLM16, Theorem 4: u = −k·h is (ε, δ)-private if and only if e^k ≤ (e^ε + mδ)/(1 − δ), whatever n is.

The tight δ at ε is max(0, (e^k − e^ε)/(e^k + m)). At δ = 0 the condition is k ≤ ε. McSherry and Talwar's factor 2 is
not needed here because C_d is constant; where C_d varies it does not vanish (Example 2).
"""

from fractions import Fraction
from math import exp, log

import pytest

from dproof import Categories, NotPrivate, Privacy, Table, certify, discrete_exponential
from tests import brute_force
from tests.theorems.hamming_law import SHAPES, hamming_mechanism

ODDS = [Fraction(1), Fraction(11, 10), Fraction(2), Fraction(27, 10), Fraction(6), Fraction(20)]
DELTAS = [Fraction(0), Fraction(1, 1000), Fraction(1, 10), Fraction(1, 3), Fraction(4, 5), Fraction(99, 100)]


@pytest.mark.parametrize(("m", "n"), SHAPES)
def test_the_condition_is_necessary_and_sufficient(m: int, n: int) -> None:
    """6 · 6 promises for each of 7 shapes, 252 in all, at the boundary and on either side of it."""
    pairs = brute_force.neighbours(brute_force.tables(range(m + 1), n))
    for e in ODDS:
        for delta in DELTAS:
            largest = (e + m * delta) / (1 - delta)
            for ratio, private in [(largest, True), (largest * Fraction(1000001, 1000000), False)]:
                worst = hamming_mechanism(m, n, ratio).family.worst(e).value
                assert worst == max(Fraction(0), (ratio - e) / (ratio + m))
                assert (worst <= delta) == private
    # and once from the definition, pair by pair, for one promise
    rows = brute_force.probabilities(hamming_mechanism(m, n, Fraction(3)))
    direct = max(brute_force.divergence(rows[i], rows[j], Fraction(2)) for i, j in pairs)
    assert direct == Fraction(1) / (3 + m)


def test_values() -> None:
    """ε = 0.5, δ = 0.1, m = 2: e^k ≤ 2.0541347452, k ≤ 0.7198547107."""
    largest = (exp(0.5) + 2 * 0.1) / 0.9
    assert largest == pytest.approx(2.0541347452, abs=1e-10)
    assert log(largest) == pytest.approx(0.7198547107, abs=1e-10)
    assert discrete_exponential(Categories(range(3)), "0.7198547107").delta("0.5") == pytest.approx(0.1, abs=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_mechanism_itself_at_and_beyond_the_boundary(n: int) -> None:
    table = Table(Categories(range(3)), n)
    certify(discrete_exponential(table, "0.7198547106"), Privacy("0.5", "0.1"))
    with pytest.raises(NotPrivate):
        certify(discrete_exponential(table, "0.7198547117"), Privacy("0.5", "0.1"))


@pytest.mark.parametrize("k", ["0", "0.25", "1", "3"])
def test_at_delta_zero_k_is_the_tight_epsilon(k: str) -> None:
    for n in (1, 2):
        mechanism = discrete_exponential(Table(Categories(range(4)), n), k)
        certify(mechanism, Privacy(k))
        assert mechanism.epsilon() == pytest.approx(float(k), abs=1e-7)


def test_it_does_not_depend_on_the_number_of_rows() -> None:
    deltas = {hamming_mechanism(2, n, Fraction(5)).family.worst(Fraction(2)).value for n in (1, 2, 3, 4)}
    assert deltas == {Fraction(3, 7)}
