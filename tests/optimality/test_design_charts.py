"""A design errs less than the usual mechanisms, and its picture can be drawn."""

from __future__ import annotations

from math import exp

import pytest

from dproof import Interval, Privacy, design, laplace, lower_bounds, randomised_response
from dproof.optimality.design import Problem
from dproof.report.drawings import matrix_picture

pytestmark = pytest.mark.filterwarnings("ignore:this design cannot be inverted")


@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_the_errors_stand_in_order(epsilon: str) -> None:
    interval, privacy = Interval(0, 1, "0.125"), Privacy(epsilon)
    usual = [laplace(interval, privacy), laplace(interval, privacy, clamp=True), randomised_response(interval, privacy)]
    best = Problem(interval, privacy).best().error
    assert lower_bounds(interval, privacy)[1].value < best < min(mechanism.error for mechanism in usual)


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_the_variances_stand_in_order(epsilon: float) -> None:
    """Against Laplace, Duchi et al. 2018 and the piecewise mechanism of Wang et al. 2019, for numbers in [−1, 1]."""
    root = exp(epsilon / 2)
    usual = [8 / epsilon**2, ((exp(epsilon) + 1) / (exp(epsilon) - 1)) ** 2, 4 * root / (3 * (root - 1) ** 2)]
    optimum = Problem(Interval(-1, 1, "0.25"), Privacy(epsilon), unbiased=True).best().optimum
    assert optimum is not None and optimum.value < min(usual)


@pytest.mark.parametrize("count", [3, 70])
def test_heat_maps_of_few_and_many_values(count: int) -> None:
    best = design(Interval(0, count - 1, 1), Privacy(2))
    assert matrix_picture(best).startswith("<svg")
