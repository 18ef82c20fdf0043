"""Simultaneous bands: how many standard errors hold for every point of a curve at once."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log, pi
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.curves.bases import Floats
from dproof.curves.vector_noise import VectorLaw
from dproof.exact import bisect

_NORMAL = NormalDist()
DRAWS = 8_000
_BEYOND = 20  # draws that tell a quantile


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


def drawn_quantile(loadings: Floats, law: VectorLaw, deviation: float, level: float, coins: Coins) -> float:
    """The same for a law, by drawing from it: the noise is public, so this costs nothing."""
    noise = law.draw(DRAWS * len(loadings), coins).reshape(DRAWS, -1) / deviation
    return quantile_of_draws(noise, loadings, level)


def quantile_of_draws(noise: Floats, loadings: Floats, level: float) -> float:
    """The same for noise that was drawn `DRAWS` times, a row each, from a log-concave law that is symmetric.

    Near 1 few draws are beyond the level, and beyond the last of them nothing is known. There the band that has θ of
    the draws is stretched t times: at most θ·((1 − θ)/θ)^((t + 1)/2) of such a law is outside (Borell 1974).

    >>> noise = -np.log(np.arange(1, DRAWS + 1) / DRAWS)[:, None]  # as many quantiles of Laplace's law
    >>> [round(quantile_of_draws(noise, np.ones((1, 1)), level), 1) for level in (0.95, 0.999, 0.999999)]
    [3.0, 7.8, 21.6]
    """
    sizes = np.sqrt((loadings**2).sum(axis=0))
    largest = np.abs(noise @ (loadings[:, sizes > 0] / sizes[sizes > 0])).max(axis=1)
    told = min(level, 1 - _BEYOND / DRAWS)
    stretch = 2 * log((1 - level) / told) / log((1 - told) / told) - 1 if level > told else 1.0
    return stretch * float(np.quantile(largest, told, method="higher"))


def band_quantile(
    loadings: Floats, law: VectorLaw, deviation: float, level: float, coins: Coins, *, at_points: bool
) -> float:
    """For Gaussian noise by the length of the path, or where only the points count by these; else by drawing."""
    if not law.is_normal:
        return drawn_quantile(loadings, law, deviation, level, coins)
    return points_quantile(loadings.shape[1], level) if at_points else tube_quantile(loadings, level)


def widened(loadings: Floats, g: float) -> float:
    """How many times as wide as by the first order the band of a mean must be, where the number of rows has noise.

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
