"""Mean curves: simultaneous bands, which hold for every point of a curve at once, and smoothing by shrinkage."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import exp, log, pi
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.curves.lattice import TERMS, Expansion
from dproof.curves.noise import VectorNoiseLaw
from dproof.exact import bisect
from dproof.spaces.space import Floats

_NORMAL = NormalDist()
DRAWS = 8_000
_FEWEST_BEYOND = 20  # draws that tell a quantile


def tube_quantile(loadings: Floats, level: float) -> float:
    """q with P(|Σ_k a_k(t) Z_k| ≤ q·|a(t)| for all t) ≥ level, for independent normal Z and loadings a, a row per k.

    The chance to be outside at the first point or to leave later is at most 2Φ(−q) + (κ/π)e^(−q²/2), where κ is the
    length of the path a/|a| on the sphere (Kac 1943, Rice 1945; Naiman 1986).

    >>> round(tube_quantile(np.ones((1, 9)), 0.95), 3), round(tube_quantile(np.eye(9), 0.95), 3)
    (1.96, 2.98)
    """
    length = _path_length(loadings)

    def holds(at: Fraction) -> bool:
        q = float(at)
        return 2 * _NORMAL.cdf(-q) + length / pi * exp(-q * q / 2) <= 1 - level

    return float(bisect(holds, Fraction(0), Fraction(40)))


def _path_length(loadings: Floats) -> float:
    sizes = np.sqrt((loadings**2).sum(axis=0))
    unit = loadings[:, sizes > 0] / sizes[sizes > 0]
    chords = np.sqrt((np.diff(unit, axis=1) ** 2).sum(axis=0))
    return float((2 * np.arcsin(np.clip(chords / 2, 0, 1))).sum())


def points_quantile(points: int, level: float) -> float:
    """q with P(|Z_p| ≤ q for all of so many points) ≥ level, for normal Z of variance 1, correlated or not (Šidák).

    >>> round(points_quantile(1, 0.95), 3), round(points_quantile(24, 0.95), 3)
    (1.96, 3.071)
    """
    return _NORMAL.inv_cdf((1 + level ** (1 / points)) / 2)


def drawn_quantile(loadings: Floats, law: VectorNoiseLaw, deviation: float, level: float, coins: Coins) -> float:
    """The quantile of a band under a law, by drawing from it: the noise is public, so this costs nothing."""
    noise = law.draw(DRAWS * len(loadings), coins).reshape(DRAWS, -1) / deviation
    return quantile_of_draws(noise, loadings, level)


def quantile_of_draws(noise: Floats, loadings: Floats, level: float) -> float:
    """The quantile of a band from noise drawn `DRAWS` times, a row each, by a log-concave law that is symmetric.

    Near 1 few draws are beyond the level, and beyond the last of them nothing is known. There the band that has θ of
    the draws is stretched t times: at most θ·((1 − θ)/θ)^((t + 1)/2) of such a law is outside (Borell 1974).

    >>> noise = -np.log(np.arange(1, DRAWS + 1) / DRAWS)[:, None]  # as many quantiles of Laplace's law
    >>> [round(quantile_of_draws(noise, np.ones((1, 1)), level), 1) for level in (0.95, 0.999, 0.999999)]
    [3.0, 7.8, 21.6]
    """
    sizes = np.sqrt((loadings**2).sum(axis=0))
    largest = np.abs(noise @ (loadings[:, sizes > 0] / sizes[sizes > 0])).max(axis=1)
    told = min(level, 1 - _FEWEST_BEYOND / DRAWS)
    stretch = 2 * log((1 - level) / told) / log((1 - told) / told) - 1 if level > told else 1.0
    return stretch * float(np.quantile(largest, told, method="higher"))


def band_quantile(
    loadings: Floats, law: VectorNoiseLaw, deviation: float, level: float, coins: Coins, *, at_points: bool
) -> float:
    """The quantile of a band under a law: that of normal noise where it is as good as normal, else by drawing."""
    if law.is_normal:
        return normal_band_quantile(loadings, level, at_points=at_points)
    return drawn_quantile(loadings, law, deviation, level, coins)


def normal_band_quantile(loadings: Floats, level: float, *, at_points: bool) -> float:
    """The quantile of a band under normal noise: by the length of the path, or where only the points count by these."""
    return points_quantile(loadings.shape[1], level) if at_points else tube_quantile(loadings, level)


def widened(loadings: Floats, g: float) -> float:
    """The factor by which the band of a mean is wider than by the first order, where the number of rows has noise.

    With a sum S and a count n of deviations σ, all m with |S − mn| ≤ q √(σ_S² + m²σ_n²) lie about S/n / (1 − g²), up to
    q √((1 − g²)σ_S² + (S/n)²σ_n²) / (n(1 − g²)), where g = q σ_n/n < 1 (Fieller 1940). The last of the loadings is
    that of the count. Where there is no noise, nothing has to be wider.
    """
    of_count, of_sum = np.abs(loadings[-1]), np.sqrt((loadings[:-1] ** 2).sum(axis=0))
    width = (of_count * g + np.sqrt((1 - g**2) * of_sum**2 + of_count**2)) / (1 - g**2)
    return float(np.max(width / np.maximum(np.hypot(of_sum, of_count), np.finfo(float).tiny)))


def fine(start: float, stop: float, times: Any) -> NDArray[np.float64]:
    """The grid with points between: what a band between grid points must hold for."""
    return np.union1d(np.linspace(start, stop, 401), times)


# Smoothing ------------------------------------------------------------------------------------------------------------

_DEPENDENT = 1e-6  # of its length: what is left of a wave that others make up


def smoothed(expansion: Expansion, departure: Floats, loadings: Floats) -> Floats:
    """A mean curve's departure from the public centre on the grid, from a noisy one; `loadings` are what
    each of some independent numbers of variance 1 adds to that on the grid, a row each.

    On the grid a curve is a sum of waves: its level, the others that the plan's basis shows, and the rest. In the
    second and the third of these blocks the noisy coefficients b are multiplied by max(0, 1 − (tr Σ − 2λ)/|b|²), where
    Σ is the covariance of their noise and λ its largest eigenvalue: for normal noise the mean squared error over the
    grid is then never larger than without, whatever the curve (James and Stein 1961; Bock 1975), and it is far smaller
    where a block is noise.

    >>> from dproof.spaces.curves import Curves
    >>> from dproof.curves.lattice import expand, measured_expansion
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
