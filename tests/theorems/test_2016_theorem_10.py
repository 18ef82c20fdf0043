"""HLM16, Theorem 10: randomised response with p = (1 − δ)/(m + e^ε) has the least error of all product sanitisations.

Of all (ε, δ)-private ones, that is: the statement leaves these words out (and its proof prints a_ij = e^ε a_ij + δ
for a_jj = e^ε a_ij + δ, with further indices astray). More is true: it is the least error of all (ε, δ)-private
sanitisations of D^n, product or not, for the maximal and even for the average error, and the only minimiser. It is
special to the Hamming error and to outputs in D: on a line other laws err less, and so do larger output spaces.

What δ buys: the optimal law is δ·I + (1 − δ)·(the ε-private one), so each row is published as it is with
probability δ, and 1 − (1 − δ)^n of the time at least one of n rows is.
"""

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given

from dproof import Categories, Privacy, product_sanitisation, randomised_response, response_with, solution_matrix
from dproof.exact import exp_below
from dproof.laws import Matrix
from tests import brute_force
from tests.linear_programme import least_error
from tests.strategies import matrices, odds


def bound(m: int, e: Fraction, delta: Fraction) -> Fraction:
    return (1 - delta) * m / (m + e)


@given(matrices(most_inputs=5, square=True), odds)
def test_no_solution_matrix_beats_the_bound(family: Matrix, e: Fraction) -> None:
    """Every square matrix, at its own tight δ: its error, maximal and even on average, is at least the bound."""
    k, delta = family.inputs, family.worst(e).value
    errors = [1 - Fraction(int(family.rows[i, i]), family.total) for i in range(k)]
    assert sum(errors) / k >= bound(k - 1, e, delta)
    assert max(errors) >= bound(k - 1, e, delta)


@pytest.mark.parametrize("m", [1, 2, 4])
@pytest.mark.parametrize("e", [Fraction(1), Fraction(2), Fraction(20)])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10), Fraction(1, 2)])
def test_the_theorem_attains_it(m: int, e: Fraction, delta: Fraction) -> None:
    p = (1 - delta) / (m + e)
    mechanism = response_with(Categories(range(m + 1)), p)
    assert mechanism.family.worst(e).value <= delta
    assert mechanism.error == bound(m, e, delta)
    law = brute_force.probabilities(mechanism)
    assert law[0][0] == (e + m * delta) / (e + m)
    assert law[0][1] == (1 - delta) / (e + m)
    assert law[1][1] == e * law[0][1] + delta, "a_jj = e^ε a_ij + δ"
    if m < 4:
        assert product_sanitisation(mechanism, 2).error == 2 * bound(m, e, delta)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10)])
def test_it_is_the_only_minimiser(delta: Fraction) -> None:
    """Move a little mass from one wrong answer to another: the error stays and the promise is broken."""
    m, e, little = 3, Fraction(2), Fraction(1, 1000)
    p = (1 - delta) / (m + e)
    best = [[1 - m * p if i == j else p for j in range(m + 1)] for i in range(m + 1)]
    for i in range(m + 1):
        for less in range(m + 1):
            for more in range(m + 1):
                if len({i, less, more}) < 3:
                    continue
                moved = [row.copy() for row in best]
                moved[i][less] -= little
                moved[i][more] += little
                other = solution_matrix(Categories(range(m + 1)), moved)
                assert other.error == bound(m, e, delta)
                assert other.family.worst(e).value > delta


@pytest.mark.parametrize(("values", "rows"), [(2, 3), (3, 2)])
@pytest.mark.parametrize("delta", [0.0, 0.1, 0.3])
def test_no_sanitisation_of_whole_tables_is_better_product_or_not(values: int, rows: int, delta: float) -> None:
    listed = brute_force.tables(range(values), rows)
    losses = [[brute_force.hamming(d, y) for y in listed] for d in listed]
    pairs = brute_force.neighbours(listed)
    m, e = values - 1, exp(1)
    least = rows * (1 - delta) * m / (m + e)
    assert least_error(losses, e, delta, pairs) == pytest.approx(least, abs=1e-8)
    assert least_error(losses, e, delta, pairs, average=True) == pytest.approx(least, abs=1e-8)
    product_ = product_sanitisation(randomised_response(Categories(range(values)), Privacy(1, delta)), rows)
    assert float(product_.error) == pytest.approx(least, abs=1e-8), "which randomised response of each row attains"


@pytest.mark.parametrize(
    ("epsilon", "response", "optimum"), [("1", 0.6358246729, 0.6050292190), ("0.5", 0.8222059, 0.7867585)]
)
def test_on_a_line_randomised_response_is_not_optimal(epsilon: str, response: float, optimum: float) -> None:
    line = Categories([0, 1, 2], metric="ordinal")
    assert float(randomised_response(line, Privacy(epsilon)).error) == pytest.approx(response, abs=1e-7)
    losses = [[abs(i - j) for j in range(3)] for i in range(3)]
    assert least_error(losses, exp(float(epsilon))) == pytest.approx(optimum, abs=1e-7)


def test_with_a_hub_among_the_outputs_it_is_not_optimal() -> None:
    """Four values at distance 1 and a hub at 1/2 from each, ε = 0.3: 0.6897 against 0.5 for always saying "hub"."""
    four = Categories(range(4))
    assert float(randomised_response(four, Privacy("0.3")).error) == pytest.approx(0.6897, abs=5e-5)
    losses = [[0.5 if j == 4 else float(i != j) for j in range(5)] for i in range(4)]
    assert least_error(losses, exp(0.3)) == pytest.approx(0.5, abs=1e-9)
    hub = solution_matrix(four, [[0, 0, 0, 0, 1]] * 4, outputs=Categories(range(5)))
    assert hub.expected_errors(losses) == [Fraction(1, 2)] * 4
    assert hub.epsilon() == 0


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "0.1"), ("0.5", "0.01"), ("0", "1/3")])
def test_it_publishes_each_row_as_it_is_with_probability_delta(epsilon: str, delta: str) -> None:
    space, at = Categories(range(5)), Fraction(delta)
    mixed = randomised_response(space, Privacy(epsilon, delta)).matrix()
    pure = randomised_response(space, Privacy(epsilon)).matrix()
    assert mixed == pytest.approx(float(at) * np.eye(5) + float(1 - at) * pure, abs=1e-12)


def test_some_row_of_a_hundred_is_published_with_probability_0_634() -> None:
    """At ε = 0 two values are told apart only in a row that is published as it is."""
    law = randomised_response(Categories([0, 1]), Privacy(0, "0.01")).matrix()
    published = float(law[0, 0] - law[1, 0])
    assert 1 - (1 - published) ** 100 == pytest.approx(0.634, abs=5e-4)


@pytest.mark.parametrize("size", [2, 3, 5, 100, 4096, 4097, 10**6])
@pytest.mark.parametrize(("epsilon", "delta"), [("0", "0"), ("0.1", "0"), ("1", "1e-9"), ("8", "0.2"), ("1000", "0")])
def test_the_whole_numbers_are_the_best_on_the_safe_side(size: int, epsilon: str, delta: str) -> None:
    """`keep` is the largest whole number that the promise allows beside `other`."""
    mechanism = randomised_response(Categories(range(size)), Privacy(epsilon, delta))
    keep, other = mechanism.family.keep, mechanism.family.other
    e, d = exp_below(Fraction(epsilon)), Fraction(delta)
    assert keep - e * other <= d * (keep + (size - 1) * other)
    if keep < 1 << 61:
        assert (keep + 1) - e * other > d * (keep + 1 + (size - 1) * other)
    assert mechanism.optimum is not None
    assert mechanism.optimum.lower_bound <= mechanism.optimum.value == mechanism.error
