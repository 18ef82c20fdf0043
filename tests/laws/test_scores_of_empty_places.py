"""Smoothed scores serve places where no row is thought to lie, too: the thought may be wrong."""

from __future__ import annotations

import numpy as np

from dproof.laws.debias import smoother

PLACES = np.arange(24)


def test_the_bias_is_small_away_from_the_jump_also_where_nobody_seems_to_be() -> None:
    law = np.exp(-np.abs(PLACES - PLACES[:, None]) / 4)
    law /= law.sum(axis=1, keepdims=True)
    wanted, nodes = (PLACES < 12).astype(float)[:, None], np.where(PLACES < 8, 100.0, 0.0)
    bias = np.abs(law @ smoother(law, nodes)(wanted) - wanted)[:, 0]
    assert bias[np.abs(PLACES - 11.5) > 3].max() < 0.1
