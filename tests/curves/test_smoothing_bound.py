"""How near to the truth a mean curve can come under Gaussian noise, beside noise on each point smoothed by 9 waves.

Curves between low and high differ on a grid of p points by any vector of a cube, v ∈ [−r, r]^p, and Gaussian noise of
covariance Σ has ρ = max vᵀΣ⁻¹v / 2. For corners v, all equally likely, the mean of vᵀΣ⁻¹v is r² tr Σ⁻¹, which is at
least r² p² / tr Σ. So tr Σ ≥ r² p² / 2ρ: no noise has less variance in total than the same on each point. To multiply
each of its waves by a factor then leaves an error of θ² s² / (θ² + s²) at least, for a wave of size θ under noise s,
and only for somebody who knows θ.
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
import pytest

from benchmarks import curves
from dproof.composition import concentrated_rho


def orthonormal(times: Any, period: float) -> Any:
    """The level, then cosines and sines of ever more turns, as far as the points tell them apart."""
    found = np.ones((0, len(times)))
    for n in range(len(times) + 1):
        wave = (np.sin if n % 2 == 0 and n else np.cos)(2 * np.pi * ((n + 1) // 2) * times / period)
        rest = wave - (found @ wave) @ found
        if np.linalg.norm(rest) > 1e-6:
            found = np.vstack([found, rest / np.linalg.norm(rest)])
    return found


@pytest.mark.parametrize("made_up", [True, False])
def test_no_factors_for_waves_reach_four_fifths_of_smoothed_noise(made_up: bool) -> None:
    loads = curves._made_up(1000) if made_up else curves._days()
    if loads is None:
        pytest.skip("household_electricity_daily.csv is not here: set DPROOF_DATA to the folder that has it")
    rows, points = loads.rows.shape
    waves = orthonormal(loads.times, loads.times[-1] if made_up else points)  # both midnights, or each hour once
    departure = loads.rows.mean(axis=0) - loads.high / 2
    sizes = (waves @ departure) ** 2
    assert np.isclose(sizes.sum(), departure @ departure)
    diameter, kept = loads.high * sqrt(points) / rows, 2 * curves.WAVES + 1
    alone = diameter / curves._gaussian("1", curves.DELTA)  # noise for this one answer
    smoothed = kept * alone**2 + sizes[kept:].sum()
    ledger = diameter / sqrt(2 * concentrated_rho(Fraction(1), Fraction(curves.DELTA)))  # noise that a ledger counts
    least = sqrt((sizes * ledger**2 / (sizes + ledger**2)).sum() / smoothed)
    assert round(least, 2) == (0.86 if made_up else 0.83)
