"""Gaussian noise so wide that a cell of its table holds several values: it costs hardly more than the ideal law."""

from __future__ import annotations

from fractions import Fraction
from math import erfc, exp, log, log1p, sqrt
from pathlib import Path

import pytest

import dproof as dp
from dproof import InputError, Privacy, VerificationFailed
from dproof.curves.noise import vector_noise
from dproof.exact import exp_below
from dproof.laws import Gaussian
from dproof.laws.divergence import normal_delta
from dproof.laws.gaussian import gaussian_law
from dproof.testing import seeded_coins

CASES = [("0.01", "1e-9", 2), ("0.01", "1e-9", 10), ("0.03", "1e-6", 100), ("0.001", "1e-6", 3), ("0.03", "1e-6", 64)]


@pytest.mark.parametrize(("epsilon", "delta", "steps"), CASES)
def test_sigma_is_nearly_the_least_on_the_line_at_a_small_epsilon(epsilon: str, delta: str, steps: int) -> None:
    """A σ smaller by 1.5 % would not do on the real line."""
    promise = dp.Privacy(epsilon, delta)
    noise = dp.gaussian(dp.Interval(0, 1, Fraction(1, steps)), promise)
    smaller = Fraction(noise.scale) * Fraction("0.985")
    assert noise.delta(epsilon) <= float(delta) < float(normal_delta(1 / smaller, promise.epsilon))


def test_a_given_sigma_keeps_what_the_ideal_law_keeps() -> None:
    noise = dp.gaussian(dp.Interval(0, 1, "0.01"), sigma=400)
    ideal = float(normal_delta(Fraction(1, 400), Fraction("0.01")))
    assert ideal * 0.999 < noise.delta("0.01") < ideal * 1.001


def test_the_verifier_finds_the_same(tmp_path: Path) -> None:
    promise = dp.Privacy("0.03", "1e-6")
    noise = dp.gaussian(dp.Interval(0, 1, "0.1"), promise)
    dp.certify(noise, promise).write(tmp_path / "noise.json")
    dp.verify(tmp_path / "noise.json")
    with seeded_coins(1):
        drawn = noise.draw([0.5] * 20_000)
    assert sum(x * x for x in drawn) / 20_000 == pytest.approx(noise.scale**2, rel=0.05)


def test_cells_are_as_they_were_where_a_shift_has_many() -> None:
    """Seeded draws of a plan depend on them."""
    assert dp.gaussian(dp.Interval(0, 1, "0.001"), dp.Privacy(1, "1e-5")).family.noise.unit == 9
    assert dp.gaussian(dp.Interval(0, 1, "0.001"), dp.Privacy("0.1", "1e-6")).family.noise.unit == 91


# Where Gaussian noise on vectors cannot be proven, the refusal says which delta can -----------------------------------


SIZE = 4 * 16384**2


def test_a_delta_below_what_the_tables_resolve_is_refused_with_the_least_that_is_not() -> None:
    """What a table cuts off, 2^-66, counts e^ε times: at ε = 20 that is 1.3e-11 for each coordinate."""
    with pytest.raises(
        InputError, match=r"at epsilon 20 Gaussian noise is proven for a delta above 1\.18 × 10⁻¹⁰ only"
    ):
        vector_noise("gaussian", SIZE, 9, Privacy(20, "1e-12"))
    above = Privacy(20, "1.2e-10")
    assert vector_noise("gaussian", SIZE, 9, above).worst(exp_below(above.epsilon)) <= above.delta


# The bound of δ for vectors of Gaussian noise with too many shapes to list: concentrated privacy at the best order


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
    bound = float(gaussian_law(Fraction(variance)).delta_vector(odds, square, 50))
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


# A record of Gaussian noise with cells of no values, or of too many, is no certificate that can be read ---------------


@pytest.mark.parametrize("unit", [0, (1 << 50) + 1])
def test_cells_without_values_or_with_too_many_are_refused(unit: int) -> None:
    record = dict(Gaussian(Fraction(4), 3).to_json())
    assert Gaussian.from_json(record).unit == 3
    with pytest.raises(VerificationFailed, match="cannot be read"):
        Gaussian.from_json({**record, "unit": unit})
