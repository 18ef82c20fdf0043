"""The quantile of a band that is drawn is in standard errors: how large the noise is at a point does not matter."""

from __future__ import annotations

import numpy as np
import pytest

from dproof.coins import Coins
from dproof.curves.bands import drawn_quantile
from dproof.curves.vector_noise import vector_noise
from dproof.privacy import Privacy


@pytest.mark.parametrize("factor", [0.1, -1, 7])
def test_scaled_noise_has_the_same_quantile(factor: float) -> None:
    noise = vector_noise("laplace", 50, 2, Privacy(1))
    loadings = np.array([[1.0, 0.5, 0.0], [0.0, -0.5, 2.0]])
    once, scaled = (
        drawn_quantile(path, noise.law, float(noise.variance) ** 0.5, 0.95, Coins(bytes(32), private=False))
        for path in (loadings, loadings * [1, 1, factor])
    )
    assert 1.9 < once < 4 and scaled == pytest.approx(once)
