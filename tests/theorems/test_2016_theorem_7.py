"""HLM16, Theorem 7: product randomised response and u = −k·h are the same mechanism if e^k = 1/p − m.

That is p = 1/(e^k + m). It needs p > 0 (p = 0 would be k = ∞), and p ≤ 1/(m + 1) means k ≥ 0.
"""

from fractions import Fraction
from math import log

import numpy as np
import pytest

from dproof import Categories, Table, discrete_exponential, product_sanitisation, response_with
from tests import brute_force
from tests.theorems.hamming_law import SHAPES, hamming_mechanism


@pytest.mark.parametrize(("m", "n"), SHAPES)
@pytest.mark.parametrize("p", [Fraction(1, 100), Fraction(1, 10), Fraction(2, 11)])
def test_the_laws_are_equal(m: int, n: int, p: Fraction) -> None:
    ratio = 1 / p - m
    table = product_sanitisation(response_with(Categories(range(m + 1)), p), n)
    assert brute_force.probabilities(table) == brute_force.probabilities(hamming_mechanism(m, n, ratio))
    assert (p <= Fraction(1, m + 1)) == (ratio >= 1)


@pytest.mark.parametrize(("m", "n"), [(1, 2), (2, 2), (4, 1), (3, 2)])
def test_the_mechanisms_that_are_drawn_agree_too(m: int, n: int) -> None:
    """As whole numbers each is rounded towards privacy in its own way, by less than one part in 10^8."""
    p = Fraction(1, 10)
    table = product_sanitisation(response_with(Categories(range(m + 1)), p), n)
    k = log(float(1 / p - m))
    exponential = discrete_exponential(Table(Categories(range(m + 1)), n), k)
    assert np.abs(table.matrix() - exponential.matrix()).max() < 1e-8


def test_p_zero_has_no_k() -> None:
    truth = response_with(Categories(range(3)), 0)
    assert truth.epsilon() == np.inf
    assert brute_force.probabilities(truth) == [[int(i == j) for j in range(3)] for i in range(3)]
