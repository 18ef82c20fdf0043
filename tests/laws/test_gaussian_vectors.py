"""The bound of δ for vectors of Gaussian noise with too many shapes to list: concentrated privacy at the best order."""

from __future__ import annotations

from fractions import Fraction
from math import erfc, exp, log, log1p, sqrt

import pytest

from dproof.laws import Gaussian
from dproof.laws.divergence import normal_delta
from dproof.laws.gaussian import gaussian


def by_orders(rho: float, epsilon: float) -> float:
    """min over α of e^((α−1)(αρ−ε)) / (α−1) · (1 − 1/α)^α (Canonne, Kamath, Steinke 2020), over many orders α."""
    orders = (1 + exp(x / 100) for x in range(-1000, 1000))
    return exp(min((a - 1) * (a * rho - epsilon) - log(a - 1) + a * log1p(-1 / a) for a in orders))


def of_the_normal(mu: float, epsilon: float) -> float:
    """The tight δ of normal noise of deviation 1 on a shift of length μ, which wide lattice noise comes close to."""
    below, above = mu / 2 - epsilon / mu, mu / 2 + epsilon / mu
    return (erfc(-below / sqrt(2)) - exp(epsilon) * erfc(above / sqrt(2))) / 2


@pytest.mark.parametrize("square", [17, 100, 400])
@pytest.mark.parametrize("odds", [Fraction(2), Fraction(20), Fraction(1000)])
def test_the_bound_is_the_best_over_all_orders(square: int, odds: Fraction) -> None:
    variance = 100
    bound = float(gaussian(Fraction(variance)).delta_vector(odds, square, 50))
    best = by_orders(square / (2 * variance), log(odds))
    assert bound == pytest.approx(best, rel=1e-3)
    assert bound >= of_the_normal(sqrt(square / variance), log(odds))


@pytest.mark.parametrize("moving", [2, 50])
def test_in_cells_every_coordinate_that_moves_may_move_by_one_cell_more(moving: int) -> None:
    variance, unit, square, odds = 100, 3, 900, Fraction(1000)
    bound = Gaussian(Fraction(variance), unit).delta_vector(odds, square, moving)
    cells = sqrt(square) / unit + sqrt(moving)
    assert float(bound) == pytest.approx(by_orders(cells**2 / (2 * variance), log(odds)), rel=1e-3)


@pytest.mark.parametrize("mu", [Fraction(1, 100), Fraction(1), Fraction(5)])
def test_a_delta_too_small_to_be_computed_is_not_called_zero(mu: Fraction) -> None:
    """Φ(−40) is above 2^-1200 and below 2^-1000."""
    far = 40 * mu + mu * mu
    assert 0 < normal_delta(mu, far + Fraction(1, 10**9)) == Fraction(1, 1 << 1000)
    assert normal_delta(mu, 3 * mu) > Fraction(1, 1 << 100)
    assert normal_delta(Fraction(0), Fraction(1)) == 0
