"""The band of a mean curve covers as often as it says: by the law of its noise, and not by answers again and again."""

from __future__ import annotations

import numpy as np
import pytest

from dproof import Curves, Privacy, curve_noise, expand
from dproof.coins import Coins
from dproof.curves.bands import DRAWS, _path_length, drawn_quantile, quantile_of_draws
from dproof.curves.noise import vector_noise
from dproof.testing import seeded_coins

SEEN = 20_000


@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
def test_k_norm_noise_stays_in_its_band(epsilon: str) -> None:
    mechanism = curve_noise(expand(Curves(0, 23, 24, 0, 6)), Privacy(epsilon), noise="k_norm")
    lattice, noise = mechanism.lattice, mechanism.shown.noise
    deviation = float(noise.variance) ** 0.5
    with seeded_coins(1) as coins:
        quantile = drawn_quantile(np.eye(lattice.terms), noise.law, deviation, 0.95, coins)
        drawn = noise.law.draw(SEEN * lattice.terms, coins).reshape(SEEN, -1) / deviation
    inside = (np.abs(drawn).max(axis=1) <= quantile).mean()
    assert 0.94 <= inside <= 0.96


# The length of the path that standardised noise takes on the sphere, on which the width of a band rests ---------------


def test_a_quarter_of_a_circle_has_its_length_whatever_the_size_of_the_noise() -> None:
    angles = np.linspace(0, np.pi / 2, 30)
    path = np.linspace(1, 9, 30) * np.array([np.cos(angles), np.sin(angles)])
    assert _path_length(path) == pytest.approx(np.pi / 2)


def test_a_point_without_noise_is_passed_over() -> None:
    angles = np.array([0.0, 0.3, 0.3, 0.9])
    path = np.array([1.0, 2.0, 0.0, 5.0]) * np.array([np.cos(angles), np.sin(angles)])
    assert _path_length(path) == pytest.approx(0.9)


# The quantile of a band that is drawn is in standard errors: how large the noise is at a point does not matter --------


@pytest.mark.parametrize("factor", [0.1, -1, 7])
def test_scaled_noise_has_the_same_quantile(factor: float) -> None:
    noise = vector_noise("laplace", 50, 2, Privacy(1))
    loadings = np.array([[1.0, 0.5, 0.0], [0.0, -0.5, 2.0]])
    once, scaled = (
        drawn_quantile(path, noise.law, float(noise.variance) ** 0.5, 0.95, Coins(bytes(32), private=False))
        for path in (loadings, loadings * [1, 1, factor])
    )
    assert 1.9 < once < 4 and scaled == pytest.approx(once)


@pytest.mark.parametrize("level", [0.9, 0.99, 0.999, 0.99999, 1 - 1e-9])
@pytest.mark.parametrize("norm", ["laplace", "k-norm"])
def test_levels_that_no_draw_tells_hold_too(level: float, norm: str) -> None:
    """One number of the noise alone, whose tails are exponential: the band is no narrower than its own quantile."""
    seeds = (Coins(bytes([n] * 32), private=False) for n in range(5))
    rng = np.random.default_rng(3)
    if norm == "laplace":
        noise = vector_noise("laplace", 50, 1, Privacy(1))
        deviation = float(noise.variance) ** 0.5
        found = [drawn_quantile(np.ones((1, 1)), noise.law, deviation, level, coins) for coins in seeds]
        needed = -np.log(1 - level) / np.sqrt(2)
    else:  # e^(−|x|) in the plane: |x| has a gamma law of shape 2, and the band is |x₁|, |x₂| ≤ q
        lengths = rng.gamma(2, size=(5, DRAWS, 1))
        angles = rng.uniform(0, 2 * np.pi, size=(5, DRAWS, 1))
        noises = lengths * np.concatenate([np.cos(angles), np.sin(angles)], axis=2)
        found = [quantile_of_draws(noise, np.eye(2), level) for noise in noises]
        needed = -np.log(1 - level)  # at least: that one of both is beyond q has a chance above e^(−q)
    assert np.mean(found) > 0.98 * needed
    assert np.mean(found) < 2.2 * needed + 1
