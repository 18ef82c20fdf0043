"""How far estimated tables of two columns are from the true ones. Needs NumPy alone, so that peers can be measured too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

Pair = tuple[int, int]


class PairErrors(NamedTuple):
    """The mean over all pairs of Σ |share − true share|, and √ of the mean of (count − true count)² over all cells."""

    l1: float
    rmse: float


def pair_errors(codes: Any, sizes: Sequence[int], estimate: Callable[[Pair], Any]) -> PairErrors:
    """The errors of estimated counts of each pair of columns; `codes` holds the true rows."""
    shares, squares = [], []
    for pair in combinations(range(len(sizes)), 2):
        true, found = counted(codes, sizes, pair), np.asarray(estimate(pair), float)
        shares.append(np.abs(found / found.sum() - true / true.sum()).sum())
        squares.append((found - true).ravel() ** 2)
    return PairErrors(float(np.mean(shares)), float(np.sqrt(np.mean(np.concatenate(squares)))))


def counted(codes: Any, sizes: Sequence[int], pair: Pair) -> Any:
    """The table of two columns of rows."""
    i, j = pair
    cells = codes[:, i] * sizes[j] + codes[:, j]
    return np.bincount(cells, minlength=sizes[i] * sizes[j]).reshape(sizes[i], sizes[j])
