"""HLM15, Example 4: a mechanism on functions is as private as all of its finite projections."""

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dproof import Curves, InputError, Kernel
from dproof.curves.bases import exponential_norm
from dproof.curves.projections import gaussian_delta, projected_norm, refine

EXPONENTIAL = Kernel("exponential", 1)


def test_projections_increase_to_the_norm_of_the_kernels_space() -> None:
    found = refine(EXPONENTIAL, lambda t: t, [2, 3, 5, 9, 65], sigma=2, epsilon="0.5")
    assert [round(p.squared_norm, 6) for p in found] == [1.156518, 1.163448, 1.165815, 1.166451, 1.166663]
    certified = gaussian_delta(sqrt(7 / 6) / 2, "0.5")
    deltas = [p.delta for p in found]
    assert deltas == sorted(deltas) and deltas[-1] < certified
    assert deltas[-1] == pytest.approx(certified, rel=1e-5)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=9, unique=True), st.integers(0, 3))
@settings(deadline=None)
def test_more_points_never_see_less(points: list[float], which: int) -> None:
    times = np.unique(np.round(points, 3))
    kernel = [EXPONENTIAL, Kernel("exponential", "0.1"), Kernel("matern-3/2", "0.5"), Kernel("exponential", 5)][which]
    f = np.sin(5 * times) + times
    whole = projected_norm(kernel, f, times)
    for left_out in range(len(times)):
        kept = np.delete(np.arange(len(times)), left_out)
        if len(kept):
            assert projected_norm(kernel, f[kept], times[kept]) <= whole * (1 + 1e-6) + 1e-9


def test_a_function_outside_the_kernels_space_gives_itself_away() -> None:
    def brownian(s: np.ndarray, t: np.ndarray) -> np.ndarray:
        return np.minimum.outer(s, t)

    for depth in (1, 5, 40):
        times = 2.0 ** -np.arange(depth, -1, -1)
        assert projected_norm(brownian, np.sqrt(times), times) == pytest.approx(1 + 0.171573 * depth, rel=1e-4)


@pytest.mark.parametrize(
    ("waves", "square", "delta"),
    [(1, 2.717, 0.00018), (3, 22.46, 0.109), (10, 246.99, 0.815), (30, 2220.9, 0.999996)],
)
def test_the_sup_norm_does_not_control_the_noise(waves: int, square: float, delta: float) -> None:
    """sin(nπt) never exceeds 1, yet the same noise that hides one wave shows thirty."""

    def wave(t: np.ndarray, derivative: int) -> np.ndarray:
        return np.sin(waves * np.pi * t) if derivative == 0 else waves * np.pi * np.cos(waves * np.pi * t)

    norm = EXPONENTIAL.squared_norm(wave, np.linspace(0, 1, 61))
    assert norm == pytest.approx((waves**2 * np.pi**2 + 1) / 4) and norm == pytest.approx(square, rel=1e-3)
    tight = gaussian_delta(sqrt(norm) / 5, 1)
    assert tight == pytest.approx(delta, rel=0.02) and (waves < 30 or round(tight, 6) == 0.999996)


def test_the_norm_of_a_line_is_seven_sixths_exactly() -> None:
    space = Curves(0, 1, 11, 0, 1)
    assert exponential_norm(space, space.grid, 1) * 6 == 7
    assert exponential_norm(space, space.grid, 2) == pytest.approx(1 / 2 + (2 + 1 / 6) / 2)


@pytest.mark.parametrize("name", ["exponential", "matern-3/2", "matern-5/2"])
def test_closed_norms_are_the_limit_of_projections(name: str) -> None:
    def f(t: np.ndarray, n: int) -> np.ndarray:
        return [np.sin(3 * t) + t**3, 3 * np.cos(3 * t) + 3 * t * t, 6 * t - 9 * np.sin(3 * t), 6 - 27 * np.cos(3 * t)][
            n
        ]

    kernel = Kernel(name, "0.7")
    whole = kernel.squared_norm(f, np.linspace(0, 2, 9))
    seen = [p.squared_norm for p in refine(kernel, lambda t: f(t, 0), [5, 17, 65, 129], stop=2.0)]
    assert seen == sorted(seen) and seen[-1] < whole and seen[-1] > 0.97 * whole


@pytest.mark.parametrize(
    ("sigma", "epsilon", "delta"), [(3.7306316348, 1, 1e-5), (9.5418230888, "0.1", 0.01), (0.4800137525, 8, 1e-3)]
)
def test_gaussian_profile(sigma: float, epsilon: object, delta: float) -> None:
    assert gaussian_delta(1 / sigma, epsilon) == pytest.approx(delta, rel=1e-6)


def test_a_difference_of_nothing_costs_next_to_nothing() -> None:
    assert gaussian_delta(0, 1) == 0 and gaussian_delta(1e-17, 1) < 1e-300 and gaussian_delta(1e6, 1) == 1


def test_published_constants_fail_for_large_epsilon_and_waste_noise_below() -> None:
    """(Δ/ε)√(2 log(2/δ)), and with 1.25 in place of 2: first failures, and what they cost at ε = 1."""
    for constant, failures in (
        (2.0, {0.5: 6.4, 0.1: 7.1, 0.01: 7.9, 1e-5: 9.4}),
        (1.25, {0.5: 4.5, 0.1: 5.8, 0.01: 6.8, 1e-5: 8.4}),
    ):
        for delta, first in failures.items():
            scale = sqrt(2 * np.log(constant / delta))
            assert gaussian_delta((first + 0.05) / scale, first + 0.05) > delta
            assert gaussian_delta((first - 0.1) / scale, first - 0.1) <= delta
    assert round(sqrt(2 * np.log(2 / 1e-5)), 3) == 4.941 and round(sqrt(2 * np.log(1.25 / 1e-5)), 3) == 4.845
    assert gaussian_delta(1 / 3.7307, 1) <= 1e-5


def test_wrong_kernels_are_refused() -> None:
    for name, length in (("exponental", 1), ("exponential", 0), ("exponential", "nan")):
        with pytest.raises(InputError):
            Kernel(name, length)
    with pytest.raises(InputError, match="no closed form"):
        Kernel("squared-exponential", 1).squared_norm(lambda t, n: t, [0, 1])


def test_twice_a_curve_has_four_times_its_squared_norm() -> None:
    space = Curves(0, 1, 3, -9, 9)
    assert exponential_norm(space, [2, 3, -4], 1) == 4 * exponential_norm(space, [1, Fraction(3, 2), -2], 1)
