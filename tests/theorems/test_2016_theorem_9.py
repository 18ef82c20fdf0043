"""HLM16, Theorem 9: the error of a product sanitisation with randomised response is n·p·m, with Theorem 5's bounds."""

from fractions import Fraction

import pytest

from dproof import Categories, Privacy, product_sanitisation, randomised_response, response_with
from dproof.exact import exp_above
from tests.theorems.hamming_law import SHAPES


@pytest.mark.parametrize(("m", "n"), SHAPES)
@pytest.mark.parametrize("p", [Fraction(0), Fraction(1, 10), Fraction(1, 7)])
def test_the_error_is_n_p_m(m: int, n: int, p: Fraction) -> None:
    table = product_sanitisation(response_with(Categories(range(m + 1)), p), n)
    assert table.error == n * p * m


@pytest.mark.parametrize("m", [1, 2, 4, 999, 10**6 - 1])
@pytest.mark.parametrize(("epsilon", "delta"), [("0", "0"), ("1", "0"), ("0.5", "0.1"), ("3", "1e-6")])
def test_the_calibrated_mechanism_lies_just_above_the_lower_bound(m: int, epsilon: str, delta: str) -> None:
    mechanism = randomised_response(Categories(range(m + 1)), Privacy(epsilon, delta))
    lower = (1 - Fraction(delta)) / (1 + exp_above(Fraction(epsilon)) / m)
    assert lower <= mechanism.error <= lower * (1 + Fraction(1, 10**6))
    assert mechanism.error <= Fraction(m, m + 1)


def test_uniform_noise_is_the_upper_bound() -> None:
    assert response_with(Categories(range(5)), "1/5").error == Fraction(4, 5)
    assert response_with(Categories(range(5)), "1/5").epsilon() == 0
