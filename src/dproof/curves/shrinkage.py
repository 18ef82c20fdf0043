"""A noisy mean curve, smoothed by shrinkage (James and Stein 1961).

On the grid a curve is a sum of waves: its level, the others that the plan's basis shows, and the rest. In the second
and the third of these blocks the noisy coefficients b are multiplied by max(0, 1 − (tr Σ − 2λ)/|b|²), where Σ is the
covariance of their noise and λ its largest eigenvalue: for normal noise the mean squared error over the grid is then
never larger than without, whatever the curve (James and Stein 1961; Bock 1975), and it is far smaller where a block is
noise.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dproof.curves.bases import Floats
from dproof.curves.expansion import TERMS, Expansion

_DEPENDENT = 1e-6  # of its length: what is left of a wave that others make up


def smoothed(expansion: Expansion, departure: Floats, loadings: Floats) -> Floats:
    """How far a mean curve departs from the public centre on the grid, from a noisy departure; `loadings` are what
    each of some independent numbers of variance 1 adds to that on the grid, a row each.

    >>> from dproof.spaces.curves import Curves
    >>> from dproof.curves.expansion import expand, measured_expansion
    >>> day = measured_expansion(expand(Curves(0, 1, 16, 0, 1)), None)
    >>> bool(smoothed(day, np.tile([0.1, -0.1], 8), np.eye(16)).round(6).any())
    False
    """
    waves = _waves(expansion.by_terms or expansion)
    b, noise = waves @ departure, loadings @ waves.T
    kept, shown = b.copy(), expansion.by_terms.terms if expansion.by_terms else TERMS
    for block in (slice(1, shown), slice(max(1, shown), len(b))):
        spread = np.append(np.linalg.svd(noise[:, block], compute_uv=False) ** 2, 0.0)
        excess, size = max(0.0, float(spread.sum() - 2 * spread[0])), float((b[block] ** 2).sum())
        kept[block] *= 1 - excess / size if excess < size else 0.0
    return np.asarray(kept @ waves)


@lru_cache(maxsize=16)
def _waves(expansion: Expansion) -> Floats:
    """An orthonormal basis of what the grid tells, a row each: first the functions of the expansion, then cosines."""
    space = expansion.space
    given = [] if expansion.shows_all else [expansion.functions()[0].evaluate(space.times)]
    cosines = np.cos(np.pi * np.outer(np.arange(space.points), np.arange(space.points) + 0.5) / space.points)
    waves = np.zeros((0, space.points))
    for wave in np.concatenate([*given, cosines]):
        rest = wave
        for _ in range(2):  # once more for what rounding left
            rest = rest - (waves @ rest) @ waves
        if np.linalg.norm(rest) > _DEPENDENT * np.linalg.norm(wave):
            waves = np.vstack([waves, rest / np.linalg.norm(rest)])
    waves.setflags(write=False)
    return waves[: space.points]
