"""An unbiased design for a prior: exact means, and the least average variance, which a dual bound proves."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import pytest

import dproof as dp

TENS = dp.Interval(0, 10, 1)


def quietly(**options: Any) -> dp.Mechanism:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dp.design(TENS, options.pop("privacy", 1), unbiased=True, **options)


@pytest.mark.parametrize("prior", [[1] * 11, [16, 8, 4, 2, 1, 1, 1, 1, 1, 1, 1], [0] * 5 + [1] + [0] * 5])
@pytest.mark.parametrize("epsilon", ["0.5", "3"])
def test_the_average_variance_is_the_least_and_below_that_of_the_worst_case(epsilon: str, prior: list[int]) -> None:
    own, worst_case = quietly(privacy=epsilon, prior=prior), quietly(privacy=epsilon)
    assert own.optimum is not None and own.optimum.gap < Fraction(1, 10**6)
    assert own.optimum.loss == "squared, under the prior"
    shares = [Fraction(weight, sum(prior)) for weight in prior]
    averages = [
        sum(p * v for p, v in zip(shares, m.expected_errors("squared"), strict=True)) for m in (own, worst_case)
    ]
    assert averages[0] == own.optimum.value < averages[1]
    means = [sum(Fraction(y) * p for y, p in own.law(x).items()) for x in range(11)]
    assert means == list(range(11))  # exactly, of values that the prior rules out too
    assert own.epsilon() <= float(epsilon)
    dp.certify(own, epsilon)


def test_what_an_unbiased_design_does_not_have_is_refused() -> None:
    with pytest.raises(dp.InputError, match="delta = 0"):
        quietly(privacy=dp.Privacy(1, "0.1"), prior=[1] * 11)
    with pytest.raises(dp.InputError, match="3 probabilities for 11 values"):
        quietly(prior=[1, 1, 1])
