"""Intervals around estimates: Wald, where enough rows carry noise, and Bernstein where few do."""

from __future__ import annotations

from math import log
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from dproof.laws.scores import Array

_FEW = 3.0  # standard errors of fewer heaviest scores than this are not normal


class Widths(NamedTuple):
    """The standard error and half-width of each estimate, and which of them have too few rows for a normal law."""

    stderr: Array
    half: Array
    few: Array


def normal_quantile(level: float) -> float:
    """z with P(|Z| ≤ z) = level for a normal Z.

    >>> round(normal_quantile(0.95), 6)
    1.959964
    """
    return NormalDist().inv_cdf((1 + level) / 2)


def simultaneous(level: float, intervals: int) -> float:
    """The level of each of several intervals that shall hold all at once.

    level^(1/m): for normal estimates no dependence between them can spoil it (Šidák 1967).

    >>> round(simultaneous(0.95, 5), 6)
    0.989794
    """
    return float(level ** (1 / max(intervals, 1)))


def half_widths(variance: Array, heaviest: Array, level: float) -> Widths:
    """± of each estimate, from its variance and the heaviest score of a single row.

    Wald: z·se. Where the standard error is below three of the heaviest scores, so few rows carry the noise that it is
    not normal, and Bernstein's inequality stands in: √(2VL) + h·L/3 with L = log(2/(1 − level)), which never covers
    less than its level. An estimate without noise is exact.

    >>> half_widths(np.array([0.0, 400.0, 1.0]), np.array([1.0, 1.0, 1.0]), 0.95).half.round(3).tolist()
    [0.0, 39.199, 3.946]
    """
    noisy = variance != 0
    spread = np.where(variance > 0, variance, np.where(noisy, heaviest**2, 0.0))
    stderr = np.sqrt(spread)
    few = noisy & (stderr < _FEW * heaviest)
    depth = log(2 / (1 - level))
    bernstein = np.sqrt(2 * spread * depth) + heaviest * depth / 3
    return Widths(stderr, np.where(few, bernstein, normal_quantile(level) * stderr), few)
