"""The least error on a line, against the bounds, the usual mechanisms and a plainly written programme."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import pytest

from dproof import Categories, Interval, Privacy, certify, design, laplace, lower_bound, randomised_response
from tests.linear_programme import least_error

pytestmark = pytest.mark.filterwarnings("ignore:this design cannot be inverted")


def line(points: int) -> Interval:
    return Interval(0, 1, Fraction(1, points - 1))


TABLE = [  # ε, and the optimum on grids of 3, 9 and 65 points of [0, 1]
    ("0.1", 0.476101, 0.476107, 0.476107),
    ("0.5", 0.393379, 0.395270, 0.395270),
    ("1", 0.302515, 0.315131, 0.316168),
    ("2", 0.154784, 0.198471, 0.200789),
    ("4", 0.026349, 0.063080, 0.077907),
]


@pytest.mark.parametrize(("epsilon", "three", "nine", "many"), TABLE)
def test_the_optimum_on_grids(epsilon: str, three: float, nine: float, many: float) -> None:
    privacy = Privacy(epsilon)
    for points, value in ((3, three), (9, nine), (65, many)):
        best = design(line(points), privacy)
        assert float(best.error) == pytest.approx(value, abs=6e-7)
        assert best.optimum is not None
        assert best.optimum.value == best.error and 0 <= best.optimum.gap < Fraction(1, 10**7)
        assert best.optimum.lower_bound <= Fraction(best.error)
        certify(best, privacy)


@pytest.mark.parametrize(
    ("points", "epsilon", "delta", "value"),
    [
        (3, "1", "0", 0.3025146095),
        (3, "1", "0.1", 0.2722631486),
        (9, "1", "0", 0.3151313244),
        (9, "4", "0", 0.0630797998),
        (9, "1", "0.1", 0.2828746747),
    ],
)
def test_values_to_nine_digits(points: int, epsilon: str, delta: str, value: float) -> None:
    best = design(line(points), Privacy(epsilon, delta))
    assert best.optimum is not None
    assert float(best.optimum.lower_bound) <= value + 1e-10
    assert float(best.error) == pytest.approx(value, rel=5e-9)
    assert best.optimum.gap < Fraction(1, 10**7)
    certify(best, Privacy(epsilon, delta))
    losses = [[abs(i - j) / (points - 1) for j in range(points)] for i in range(points)]
    assert least_error(losses, exp(float(epsilon)), float(delta)) == pytest.approx(value, abs=1e-8)


def test_delta_buys_more_than_a_mixture_with_the_truth() -> None:
    """E*(ε, δ) ≤ (1 − δ) E*(ε, 0), and on nine points strictly: 0.2828747 < 0.9 · 0.3151313."""
    pure, mixed = design(line(9), Privacy(1)), design(line(9), Privacy(1, "0.1"))
    assert pure.optimum is not None
    assert float(mixed.error) < 0.9 * float(pure.optimum.lower_bound) - 7e-4


@pytest.mark.parametrize(
    ("epsilon", "plain", "clamped"),
    [("0.1", 10, 0.487706), ("0.5", 2, 0.442398), ("1", 1, 0.393469), ("2", 0.5, 0.316060), ("4", 0.25, 0.216166)],
)
def test_what_laplace_misses(epsilon: str, plain: float, clamped: float) -> None:
    fine = Interval(0, 1, "0.001")
    assert float(laplace(fine, Privacy(epsilon)).error) == pytest.approx(plain, rel=2e-3)
    assert float(laplace(fine, Privacy(epsilon), clamp=True).error) == pytest.approx(clamped, abs=1e-3)
    assert float(design(line(65), Privacy(epsilon)).error) < clamped


def test_a_line_of_many_points_has_nearly_the_bound_of_few() -> None:
    """LP_N ≤ E* ≤ LP_N + 1/(2(N − 1)): ten thousand points, of which 65 are looked at."""
    bound = lower_bound(Interval(0, 1), Privacy(1), outputs="anywhere")
    assert float(bound.value) == pytest.approx(0.316168, abs=1e-6)
    assert "line" in bound.name
    assert float(bound.value) > 2 * 0.134471, "more than twice what Theorem 6 says as published"


@pytest.mark.parametrize(
    ("epsilon", "response", "optimum"), [("1", 0.6358246729, 0.6050292190), ("0.5", 0.8222059, 0.7867585)]
)
def test_randomised_response_is_not_optimal_for_levels(epsilon: str, response: float, optimum: float) -> None:
    levels = Categories(["low", "middle", "high"], metric="ordinal")
    assert float(randomised_response(levels, Privacy(epsilon)).error) == pytest.approx(response, abs=1e-7)
    assert float(design(levels, Privacy(epsilon)).error) == pytest.approx(optimum, abs=5e-8)


def test_the_design_is_as_symmetric_as_the_line() -> None:
    """A vertex of the programme need not be, and its mirror image is then a second optimum; the average is a third."""
    matrix = design(Interval(0, 4, 1), Privacy(1)).matrix()
    assert matrix == pytest.approx(matrix[::-1, ::-1], abs=1e-12)


@pytest.mark.parametrize(("points", "value"), [(100, 0.3161675734), (101, 0.3161648037)])
def test_a_hundred_points(points: int, value: float) -> None:
    best = design(Interval(0, points - 1, 1), Privacy(1))
    assert best.optimum is not None and best.optimum.gap < Fraction(1, 10**6)
    assert float(best.error) / (points - 1) == pytest.approx(value, rel=1e-8)


@pytest.mark.slow
def test_five_hundred_points() -> None:
    best = design(Interval(0, 499, 1), Privacy(1))
    assert best.optimum is not None and best.optimum.gap < Fraction(1, 10**6)
    certify(best, Privacy(1))


@pytest.mark.slow
def test_thirty_points_with_delta() -> None:
    privacy = Privacy(1, "0.1")
    best = design(Interval(0, 29, 1), privacy)
    assert float(best.error) / 29 == pytest.approx(0.2845090338, rel=1e-7)
    assert best.optimum is not None and best.optimum.gap < Fraction(1, 10**6)
    certify(best, privacy)
