"""Scores under wide noise: some bias for much less noise, and none where that costs nothing."""

from __future__ import annotations

import numpy as np
import pytest

from dproof.laws.debias import _half_width, cautious_nodes, smoother, solver

PLACES = np.arange(30)
NODES = np.where(PLACES < 15, 60.0, 10.0)


def noise(scale: float) -> np.ndarray:
    """The law of a place under discrete Laplace noise, gathered at both ends."""
    wide = np.arange(-60, 91)
    law = np.exp(-np.abs(wide - PLACES[:, None]) / scale)
    law /= law.sum(axis=1, keepdims=True)
    gathered = np.zeros((30, 30))
    np.add.at(gathered.T, np.clip(wide, 0, 29), law.T)
    return gathered


def test_wide_noise_is_smoothed() -> None:
    law, wanted = noise(6.0), (PLACES < 12).astype(float)[:, None]
    found = smoother(law, NODES)(wanted)
    exact = _half_width(law, solver(law)(wanted), wanted, NODES)
    constant = _half_width(law, np.full((30, 1), NODES[:12].sum() / NODES.sum()), wanted, NODES)
    assert _half_width(law, found, wanted, NODES) < 0.5 * min(exact, constant)


def test_narrow_noise_is_undone() -> None:
    law, wanted = noise(0.2), (PLACES < 12).astype(float)[:, None]
    assert np.allclose(law @ smoother(law, NODES)(wanted), wanted, atol=0.01)


def test_cautious_counts_are_as_many_rows_and_closer_to_even() -> None:
    likely = np.array([90.0, 10.0, 0.0, 0.0])
    cautious = cautious_nodes(likely)
    assert cautious.sum() == pytest.approx(100)
    assert 25 < cautious[0] < 90 and 0 < cautious[2] == cautious[3] < 25
