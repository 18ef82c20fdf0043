"""The band of a mean curve covers as often as it says: by the law of its noise, and not by answers again and again."""

from __future__ import annotations

import numpy as np
import pytest

from dproof import Curves, Privacy, curve_noise, expand
from dproof.curves.bands import drawn_quantile
from dproof.testing import seeded_coins

DRAWS = 20_000


@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
def test_k_norm_noise_stays_in_its_band(epsilon: str) -> None:
    mechanism = curve_noise(expand(Curves(0, 23, 24, 0, 6)), Privacy(epsilon), noise="k_norm")
    lattice, noise = mechanism.lattice, mechanism.shown.noise
    deviation = float(noise.variance) ** 0.5
    with seeded_coins(1) as coins:
        quantile = drawn_quantile(np.eye(lattice.terms), noise.law, deviation, 0.95, coins)
        drawn = noise.law.draw(DRAWS * lattice.terms, coins).reshape(DRAWS, -1) / deviation
    inside = (np.abs(drawn).max(axis=1) <= quantile).mean()
    assert 0.94 <= inside <= 0.96
