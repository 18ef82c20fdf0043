"""The laws of private medians, written out: how far each of them is off, exactly.

dproof and OpenDP choose a candidate by permute-and-flip, diffprivlib a gap between two rows by the exponential
mechanism and then a place in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.errors import Errors, exact

# Of the quadrature from −1 to 1: the integrand is a polynomial that only the few likely candidates bend.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(300)
_NEVER = 1e-16  # a chance that changes no figure


def ours(values: NDArray[Any], candidates: NDArray[Any], neighbours: str) -> Errors:
    """dproof: a candidate misses by 2·below − n or 2·above − n, if positive, of values read to the nearest candidate.

    Half-way values are read upwards. A row that comes or goes moves a miss by 1 and one that changes by 2, up on one
    side of the median and down on the other.
    """
    step = candidates[1] - candidates[0]
    read = np.sort(candidates[np.floor((values - candidates[0]) / step + 0.5).astype(int)])
    below, above = _beside(read, candidates)
    misses = np.maximum(0, 2 * np.maximum(below, above) - len(read))
    return _of_flips(values, candidates, misses, 1 / 2 if neighbours == "add-remove" else 1 / 4)


def opendps(values: NDArray[Any], candidates: NDArray[Any], scale: float) -> Errors:
    """OpenDP: a candidate misses by half of |below − above|, counted among the values as they are."""
    below, above = _beside(np.sort(values), candidates)
    return _of_flips(values, candidates, np.abs(below - above) / 2, 1 / scale)


def diffprivlibs(values: NDArray[Any], low: float, high: float) -> Errors:
    """diffprivlib at ε = 1: a gap as likely as it is wide times e^(−½·ranks off), and any place in it."""
    ends = np.concatenate([[low], np.sort(values), [high]]).astype(float)
    gaps, middles = np.diff(ends), (ends[1:] + ends[:-1]) / 2
    off = np.abs(np.arange(len(gaps)) - len(values) / 2)
    weights = gaps * np.exp(-(off - off.min()) / 2)
    squares = (middles - np.median(values)) ** 2 + gaps**2 / 12
    return exact(float(weights @ squares / weights.sum()))


def _beside(ordered: NDArray[Any], candidates: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """How many values are below and above each candidate."""
    return np.searchsorted(ordered, candidates, "left"), len(ordered) - np.searchsorted(ordered, candidates, "right")


def _of_flips(values: NDArray[Any], candidates: NDArray[Any], misses: NDArray[Any], rate: float) -> Errors:
    law = chances_of_flips(misses, rate)
    return exact(float(law @ (candidates - np.median(values)) ** 2))


def chances_of_flips(misses: NDArray[Any], rate: float) -> NDArray[np.float64]:
    """Permute-and-flip: P(r) = p_r ∫₀¹ ∏_{s≠r} (1 − x·p_s) dx, where p = e^(−rate·(miss − least miss))."""
    chances = np.exp(-rate * (misses - misses.min()))
    likely = np.flatnonzero(chances > _NEVER)
    rejected = np.log1p(-np.outer(chances[likely], (_NODES + 1) / 2))
    law = np.zeros(len(chances))
    law[likely] = chances[likely] * (np.exp(rejected.sum(axis=0) - rejected) @ _WEIGHTS) / 2
    return law
