"""The δ of advanced composition at the ε that it gives at a δ is that δ again."""

from __future__ import annotations

import pytest

import dproof as dp


@pytest.mark.parametrize("delta", ["1e-3", "1e-5", "3e-9"])
def test_delta_undoes_epsilon(delta: str) -> None:
    together = dp.compose([dp.Privacy("0.1", "1e-12")] * 50, "advanced")
    epsilon = together.epsilon(delta)
    assert together.delta(epsilon) == pytest.approx(float(delta), rel=1e-4)
    assert together.epsilon(together.delta(epsilon)) <= epsilon
