"""Gaussian process noise by kernel and σ, and the kernel of Brownian motion."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import pi, sqrt
from typing import Any

import numpy as np
import pytest

import dproof as dp
from dproof import Kernel
from dproof.curves.bases import eigenbasis
from dproof.laws.divergence import normal_delta
from dproof.testing import seeded_coins

UNIT = dp.Curves(0, 1, 33, 0, 1)


def process(terms: int = 20, **options: Any) -> Any:
    given = {"kernel": "brownian", "length": 1, "radius": 2, "centre": [0] * 33} | options
    return dp.expand(given.pop("space", UNIT), terms=terms, **given)


def test_the_noise_has_the_variance_of_the_process() -> None:
    """σ²·K(t, t), but for the terms that are cut off."""
    at = np.array([0.25, 0.5, 1.0])
    noise = dp.curve_noise(process(30, length=4), sigma="1.5")
    expected = 1.5 * np.sqrt(at / 4)
    assert noise.standard_error(at) == pytest.approx(expected, rel=0.02)
    assert noise.scale == pytest.approx(1.5, rel=1e-6)
    assert noise.standard_error([0.0])[0] < 0.1 * expected[0]  # known at time 0


def test_what_is_drawn_has_the_covariance_of_the_process() -> None:
    noise = dp.curve_noise(process(12), sigma=2)
    with seeded_coins(3):
        drawn = noise.draw([[0.0] * 33] * 4000)
    at = [8, 16, 32]
    covariance = np.cov(drawn[:, at].T)
    expected = 4 * Kernel("brownian", 1)(UNIT.times[at], UNIT.times[at])
    assert covariance == pytest.approx(expected, rel=0.15)


def test_it_keeps_what_two_normal_laws_keep() -> None:
    """Two curves lie at most 2·radius apart in the norm of the kernel: Cameron and Martin."""
    for kernel in ("brownian", "matern-3/2"):
        noise = dp.curve_noise(process(5, kernel=kernel), sigma=8)
        ideal = float(normal_delta(Fraction(4, 8), Fraction(1)))
        assert ideal <= noise.delta(1) <= 1.01 * ideal
    with pytest.raises(dp.NotPrivate, match="a curve"):
        dp.certify(noise, dp.Privacy(1, "0.001"))


def test_without_a_kernel_sigma_is_that_of_each_value() -> None:
    noise = dp.curve_noise(dp.Curves(0, 1, 5, low=0, high=10), sigma=20)
    assert noise.standard_error() == pytest.approx([20.0] * 5, rel=1e-6) and noise.scale == pytest.approx(20)
    calibrated = dp.curve_noise(dp.Curves(0, 1, 5, low=0, high=10), dp.Privacy(1, "1e-6"), noise="gaussian")
    again = dp.curve_noise(dp.Curves(0, 1, 5, low=0, high=10), sigma=repr(calibrated.scale))
    assert again.delta(1) == pytest.approx(1e-6, rel=1e-3)


def test_brownian_eigenvalues_and_norm() -> None:
    """λ_j = 1/((j − ½)π)² on [0, 1], and ‖t‖² = ∫1² = 1; K(·, s) has the norm K(s, s)."""
    _, values = eigenbasis(Kernel("brownian", 1), UNIT, 4)
    assert values == pytest.approx([1 / ((j - 0.5) * pi) ** 2 for j in range(1, 5)], rel=1e-3)

    def line(t: np.ndarray, n: int) -> np.ndarray:
        return t if n == 0 else np.ones_like(t)

    assert Kernel("brownian", 1).squared_norm(line, [0, 1]) == pytest.approx(1)
    assert Kernel("brownian", 3).squared_norm(line, [0.5, 1]) == pytest.approx(3 * (0.5 + 0.5))

    def corner(t: np.ndarray, n: int) -> np.ndarray:
        return np.minimum(t, 0.75) if n == 0 else (t < 0.75).astype(float)

    assert sqrt(Kernel("brownian", 1).squared_norm(corner, [0.25, 0.75, 1])) == pytest.approx(sqrt(0.75))


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: dp.curve_noise(process(), dp.Privacy(1), sigma=2), "give either a promise"),
        (lambda: dp.curve_noise(process()), "give either a promise"),
        (lambda: dp.curve_noise(process(), sigma=2, noise="laplace"), "give either a promise"),
        (lambda: dp.curve_noise(process(), sigma="1e-9"), "sigma must be from"),
        (lambda: dp.curve_noise(process(), sigma=-1), "sigma must be from"),
        (lambda: dp.curve_noise(process(), sigma="many"), "sigma"),
        (lambda: dp.curve_noise(process(), sigma="1e30"), "sigma must be from"),
        (lambda: dp.curve_noise(dp.expand(UNIT, terms=2, box=[1, 1]), sigma=1), "in a box"),
        (lambda: dp.curve_noise(process(space=dp.Curves(-1, 1, 33, 0, 1)), sigma=1), "starts at time 0"),
        (
            lambda: Kernel("brownian", 1).squared_norm(lambda t, n: np.ones_like(t) * (n == 0), [0, 1]),
            "not 0 at time 0",
        ),
        (lambda: dp.Kernel("brown", 1), "brownian"),
        *(
            (
                partial(dp.expand, UNIT, basis="hat", terms=terms, kernel="matern-3/2", length=1, radius=1),
                "one term for",
            )
            for terms in (1, 3)  # by one term the others were broadcast
        ),
    ],
)
def test_what_is_no_process_is_refused(make: Any, told: str) -> None:
    with pytest.raises(dp.InputError, match=told):
        make()
