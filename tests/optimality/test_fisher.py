"""The design by Fisher information: what it attains, what bounds it, and an estimate that attains it."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dproof as dp
from dproof.testing import seeded_coins

FIVE = dp.Interval(0, 4, 1)
PRIOR = [8, 4, 2, 1, 1]


def designed(space: dp.Interval = FIVE, privacy: Any = 1, **options: Any) -> dp.Mechanism:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dp.design(space, privacy, **({"loss": "fisher", "prior": PRIOR} | options))


def variance_of_mean(law: np.ndarray, prior: list[int]) -> float:
    """σ⁴/I, in floats, from the definition."""
    x, p = np.arange(len(prior)), np.array(prior) / sum(prior)
    centred = x - p @ x
    information = ((p * centred) @ law) ** 2 / (p @ law)
    return float((p @ centred**2) ** 2 / information.sum())


@pytest.mark.parametrize("epsilon", ["0.5", "2", "8"])
def test_what_is_attained_is_proven_to_be_the_least(epsilon: str) -> None:
    best = designed(privacy=epsilon)
    assert best.optimum is not None and best.optimum.gap < Fraction(1, 10**7) and best.optimum.lower_bound > 0
    assert float(best.optimum.value) == pytest.approx(variance_of_mean(best.matrix(), PRIOR), rel=1e-9)
    dp.certify(best, epsilon)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        others = [
            dp.randomised_response(FIVE, epsilon),
            dp.design(FIVE, epsilon, unbiased=True, prior=PRIOR),
            dp.design(FIVE, epsilon, prior=PRIOR, loss="squared"),
            dp.laplace(FIVE, epsilon, clamp=True),
        ]
    for other in others:
        law = other.matrix()
        assert variance_of_mean(law[:, law.sum(axis=0) > 0], PRIOR) >= float(best.optimum.lower_bound)


def test_two_values_are_told_by_randomised_response() -> None:
    best = designed(dp.Interval(0, 1, 1), prior=[3, 1])
    response = dp.randomised_response(dp.Interval(0, 1, 1), 1)
    assert best.optimum is not None
    assert float(best.optimum.value) == pytest.approx(variance_of_mean(response.matrix(), [3, 1]), rel=1e-8)


def test_an_estimate_of_one_step_has_this_variance() -> None:
    """m + σ²/I · the mean score of what was released, over many populations of the prior."""
    best = designed(privacy=2)
    p = np.array(PRIOR) / sum(PRIOR)
    law, centred = best.matrix(), np.arange(5) - p @ np.arange(5)
    scores = ((p * centred) @ law) / (p @ law)
    rows, times, sigma2 = 400, 1000, float(p @ centred**2)
    information = sigma2**2 / variance_of_mean(law, PRIOR)
    with seeded_coins(5):
        codes = np.repeat(np.arange(5), np.array(PRIOR) * 25).astype(np.uint8)  # the prior itself
        means = [sigma2 / information * scores[best.draw_codes(codes)].mean() for _ in range(times)]
    # The rows are fixed, so what sampling adds is missing: Var = σ⁴/I − Var E(score | x)·(σ²/I)².
    given = law @ scores
    expected = (sigma2 / information) ** 2 * (information - float(p @ given**2)) / rows
    assert abs(np.mean(means)) < 5 * np.sqrt(expected / times)
    assert np.var(means) == pytest.approx(expected, rel=0.2)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"prior": None}, "give an Interval and a prior"),
        ({"privacy": dp.Privacy(1, "0.1")}, "at delta = 0"),
        ({"privacy": 0}, "at epsilon = 0"),
        ({"prior": [0, 1, 0, 0, 0]}, "one value alone"),
        ({"space": dp.Interval(0, 40, 1), "prior": [1] * 41}, "use a coarser step"),
        ({"space": dp.Categories(list("abc")), "prior": [1] * 3}, "give an Interval and a prior"),
        ({"outputs": dp.Interval(-1, 5, 1)}, "leave the rest out"),
        ({"metric_privacy": True}, "leave the rest out"),
    ],
)
def test_what_it_does_not_serve_is_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(dp.InputError, match=told):
        designed(**options)
