"""The quantile of a band that is drawn is in standard errors: how large the noise is at a point does not matter."""

from __future__ import annotations

import numpy as np
import pytest

from dproof import Privacy
from dproof.coins import Coins
from dproof.curves.bands import DRAWS, drawn_quantile, quantile_of_draws
from dproof.curves.noise import vector_noise


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
