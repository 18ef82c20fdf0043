"""HLM15, Example 7: under the discrete metric the error is (1 − δ)m/(m + e^ε), and no mechanism into D does better.

(The slides write 1 − p for the probability of the truth; it is 1 − pm, as their displayed error mp confirms.)
Under the symmetric difference on 2^H the same mechanism is optimal only for large ε; with three items its error is
12p = 12/(7 + e^ε), and flipping each item with ε/3 gives 3/(1 + e^{ε/3}).
"""

from math import exp

import pytest

from dproof import Categories, Privacy, Subsets, certify, itemwise_response, randomised_response
from tests.linear_programme import least_error

SETS = Subsets(["Music", "Football", "Chess"])


@pytest.mark.parametrize(
    ("epsilon", "delta", "p", "error"),
    [("1", "0", 0.1488475812, 0.5953903248), ("0.5", "0.1", 0.1593280951, 0.6373123805)],
)
def test_values_for_five_hobbies(epsilon: str, delta: str, p: float, error: float) -> None:
    mechanism = randomised_response(Categories("abcde"[n] for n in range(5)), Privacy(epsilon, delta))
    law = mechanism.law("a")
    assert float(law["b"]) == pytest.approx(p, abs=1e-10)
    assert float(mechanism.error) == pytest.approx(error, abs=1e-10) == pytest.approx(4 * p, abs=1e-9)
    assert float(law["a"]) == pytest.approx(1 - 4 * p, abs=1e-9) != pytest.approx(1 - p, abs=0.1)
    losses = [[float(i != j) for j in range(5)] for i in range(5)]
    assert least_error(losses, exp(float(epsilon)), float(delta)) == pytest.approx(error, abs=1e-8)


@pytest.mark.parametrize(
    ("epsilon", "whole", "itemwise", "optimum"),
    [
        ("0.5", 1.3874883, 1.3752886, 1.3163110),
        ("1", 1.2347862, 1.2522894, 1.1534121),
        ("2", 0.8339671, 1.0177309, 0.8339671),
        ("3", 0.4430409, 0.8068243, 0.4430409),
    ],
)
def test_sets_of_three_items_under_the_symmetric_difference(
    epsilon: str, whole: float, itemwise: float, optimum: float
) -> None:
    e = exp(float(epsilon))
    response, flips = randomised_response(SETS, Privacy(epsilon)), itemwise_response(SETS, Privacy(epsilon))
    for mechanism in (response, flips):
        certify(mechanism, Privacy(epsilon))
    assert float(response.error) == pytest.approx(whole, abs=1e-7) == pytest.approx(12 / (7 + e), abs=1e-6)
    assert float(flips.error) == pytest.approx(itemwise, abs=1e-7)
    assert itemwise == pytest.approx(3 / (1 + exp(float(epsilon) / 3)), abs=1e-6)
    losses = [[(a ^ b).bit_count() for b in range(8)] for a in range(8)]
    assert least_error(losses, e) == pytest.approx(optimum, abs=1e-7)


def test_closed_forms_of_the_error_agree_with_the_sum_over_all_outputs() -> None:
    for space in (SETS, Subsets(["a", "b", "c", "d"], metric="discrete")):
        for mechanism in (randomised_response(space, Privacy(1)), itemwise_response(space, Privacy(1))):
            assert mechanism.error == max(mechanism.expected_errors())
