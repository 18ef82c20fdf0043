"""HLM16, Theorem 5: (1 − δ)/(1 + e^ε/m) ≤ E/n ≤ m/(m + 1), with E = n/(1 + e^k/m) the expected Hamming error.

(In print the error symbol of (17) looks like ε.) The lower bound is attained by e^k = (e^ε + mδ)/(1 − δ).
"""

from fractions import Fraction
from math import exp

import pytest

from dproof import Categories, Privacy, lower_bound, randomised_response
from tests.theorems.hamming_law import SHAPES, hamming_mechanism


@pytest.mark.parametrize(("m", "n"), SHAPES)
@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(3, 2), Fraction(6), Fraction(100)])
def test_the_error(m: int, n: int, ratio: Fraction) -> None:
    mechanism = hamming_mechanism(m, n, ratio)
    assert mechanism.error == n / (1 + ratio / m)
    assert set(mechanism.expected_errors()) == {mechanism.error}, "every table errs alike"


@pytest.mark.parametrize(("m", "n"), SHAPES)
def test_the_bounds_and_that_both_are_attained(m: int, n: int) -> None:
    for e in (Fraction(1), Fraction(2), Fraction(20)):
        for delta in (Fraction(0), Fraction(1, 10), Fraction(4, 5)):
            lower, upper = (1 - delta) / (1 + e / m), Fraction(m, m + 1)
            largest = (e + m * delta) / (1 - delta)
            for ratio in (Fraction(1), (1 + largest) / 2, largest):
                assert lower <= hamming_mechanism(m, n, ratio).error / n <= upper
            assert hamming_mechanism(m, n, largest).error == n * lower
            assert hamming_mechanism(m, n, Fraction(1)).error == n * upper


def test_values() -> None:
    """m = 4, ε = 1, δ = 0: 0.5953903248 ≤ E/n ≤ 0.8."""
    five = Categories(range(5))
    assert 1 / (1 + exp(1) / 4) == pytest.approx(0.5953903248, abs=1e-10)
    assert float(lower_bound(five, Privacy(1)).value) == pytest.approx(0.5953903248, abs=1e-10)
    assert float(randomised_response(five, Privacy(1)).error) == pytest.approx(0.5953903248, abs=1e-10)
    assert randomised_response(five, Privacy(0)).error == Fraction(4, 5)
