"""HLM16, Example 3: five hobbies with p = 0.1 keep a value with probability 0.6; then e^k = 6."""

from fractions import Fraction
from math import log

import pytest

from dproof import Categories, InputError, discrete_exponential, response_with
from dproof.testing import seeded_coins

HOBBIES = Categories(["Sports", "Cars", "Television", "Computer games", "Reading"])


def test_the_masses() -> None:
    law = response_with(HOBBIES, 0.1).law("Television")
    assert law["Television"] == Fraction(3, 5)
    assert law["Cars"] == Fraction(1, 10)
    assert sum(law.values()) == 1
    assert Fraction(1, 10) <= Fraction(1, 5), "so that the truth is the likeliest"


def test_it_is_the_discrete_exponential_mechanism_with_k_equal_to_ln_6() -> None:
    assert 1 / Fraction(1, 10) - 4 == 6
    assert response_with(HOBBIES, "0.1").epsilon() == pytest.approx(log(6))
    same = discrete_exponential(HOBBIES, "1.791759469228055").law("Television")
    assert float(same["Television"]) == pytest.approx(0.6, abs=1e-12)


def test_a_table_is_sanitised_row_by_row() -> None:
    with seeded_coins(3):
        drawn = response_with(HOBBIES, "0.1").draw(["Television"] * 100_000)
    share = drawn.count("Television") / 100_000
    assert share == pytest.approx(0.6, abs=0.01)  # six standard deviations
    assert all(
        drawn.count(other) / 100_000 == pytest.approx(0.1, abs=0.006)
        for other in HOBBIES.values
        if other != "Television"
    )


@pytest.mark.parametrize("p", [-0.1, "0.2500001", 1, "nan", "1e999"])
def test_p_must_leave_a_probability_for_the_truth(p: object) -> None:
    with pytest.raises(InputError, match=r"between 0 and 1/4|finite number"):
        response_with(HOBBIES, p)


def test_p_may_be_a_quarter_and_then_the_truth_is_never_told() -> None:
    assert response_with(HOBBIES, "1/4").law("Cars")["Cars"] == 0
    assert response_with(HOBBIES, "1/4").epsilon() == float("inf")
