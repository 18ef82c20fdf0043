"""A noisy mean curve is pulled towards its level as far as noise makes it up, and no further."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
import pytest

from benchmarks import curves
from dproof import Curves, expand
from dproof.composition import concentrated_rho
from dproof.curves.bands import _waves, smoothed
from dproof.curves.lattice import TERMS, Expansion, measured_expansion

POINTS = 24
SPACE = Curves(0, 1, POINTS, 0, 1)
MEASURED = {
    "every point": measured_expansion(expand(SPACE), None),
    "some functions": measured_expansion(expand(SPACE, basis="bernstein", terms=6), None),
}
EXPANSIONS = pytest.mark.parametrize("expansion", MEASURED.values(), ids=MEASURED)


@EXPANSIONS
def test_waves_are_an_orthonormal_basis_that_starts_with_the_functions_of_the_plan(expansion: Expansion) -> None:
    given = expansion.by_terms or expansion
    waves = _waves(given)
    assert np.allclose(waves @ waves.T, np.eye(POINTS))
    if not given.shows_all:
        functions = given.functions()[0].evaluate(SPACE.times)
        assert np.allclose(functions @ waves[: given.terms].T @ waves[: given.terms], functions)


@EXPANSIONS
def test_without_noise_nothing_is_smoothed(expansion: Expansion) -> None:
    departure = np.random.default_rng(1).normal(size=POINTS)
    assert np.allclose(smoothed(expansion, departure, np.zeros((1, POINTS))), departure)


@EXPANSIONS
def test_each_block_of_waves_keeps_what_its_own_noise_does_not_explain(expansion: Expansion) -> None:
    """1 − (tr Σ − 2λ)/|b|² of it, with λ the largest eigenvalue of Σ; and all of the level."""
    waves, rng = _waves(expansion.by_terms or expansion), np.random.default_rng(2)
    shown = expansion.by_terms.terms if expansion.by_terms else TERMS
    b, sizes = rng.uniform(3, 4, POINTS), rng.uniform(0.5, 0.9, POINTS)
    sizes[[2, POINTS - 2]] = 1
    kept = smoothed(expansion, b @ waves, sizes[:, None] * waves) @ waves.T
    assert kept[0] == pytest.approx(b[0])
    for block in (slice(1, shown), slice(shown, POINTS)):
        factor = 1 - ((sizes[block] ** 2).sum() - 2) / (b[block] ** 2).sum()
        assert np.allclose(kept[block], min(1.0, factor) * b[block])


@EXPANSIONS
def test_a_block_that_is_smaller_than_its_noise_is_dropped(expansion: Expansion) -> None:
    waves = _waves(expansion.by_terms or expansion)
    kept = smoothed(expansion, 0.1 * waves.sum(axis=0), waves) @ waves.T
    assert kept[0] == pytest.approx(0.1) and np.allclose(kept[1:], 0)


# How near to the truth a mean curve can come under Gaussian noise, beside noise on each point smoothed by 9 waves -----
# Curves between low and high differ on a grid of p points by any vector of a cube, v ∈ [−r, r]^p, and Gaussian noise of
# covariance Σ has ρ = max vᵀΣ⁻¹v / 2. For corners v, all equally likely, the mean of vᵀΣ⁻¹v is r² tr Σ⁻¹, which is at
# least r² p² / tr Σ. So tr Σ ≥ r² p² / 2ρ: no noise has less variance in total than the same on each point. To multiply
# each of its waves by a factor then leaves an error of θ² s² / (θ² + s²) at least, for a wave of size θ under noise s,
# and only for somebody who knows θ.
#
# Noise with another variance s on each wave w leaves less at best: the corner v = r·sign(w) has vᵀΣ⁻¹v ≥ r² |w|₁²/s, so
# that s is at least |w|₁²/p of that of equal noise, 0.49 to 1. What of it can be had needs max vᵀΣ⁻¹v itself, over 2^p
# corners. The bounds that a program can check are tr D for a diagonal D ≥ Σ⁻¹; on a grid that wraps round the mean of D
# over all shifts is one too, and at least p times the largest eigenvalue. By these no wave may have less noise than
# with equal noise.


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
    # Noise of other sizes on each wave w: the corner sign(w) alone asks for |w|₁²/p of the variance of equal noise.
    shaped = ledger**2 * np.abs(waves).sum(axis=1) ** 2 / points
    least = sqrt((sizes * shaped / (sizes + shaped)).sum() / smoothed)
    assert round(least, 2) == (0.79 if made_up else 0.78)
