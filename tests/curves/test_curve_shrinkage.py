"""A noisy mean curve is pulled towards its level as far as noise makes it up, and no further."""

from __future__ import annotations

import numpy as np
import pytest

from dproof import Curves, expand
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
