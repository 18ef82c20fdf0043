"""The nearest counts that are not negative and have a given sum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def on_simplex(rows: NDArray[np.float64], totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each row moved to the nearest one without negative entries whose sum is its total.

    Held, Wolfe and Crowder 1974.

    >>> on_simplex(np.array([[3.0, -1.0, 2.0]]), np.array([4.0])).tolist()
    [[2.5, 0.0, 1.5]]
    """
    falling = -np.sort(-rows, axis=1)
    excess = (np.cumsum(falling, axis=1) - totals[:, None]) / np.arange(1, rows.shape[1] + 1)
    last = np.maximum((falling > excess).sum(axis=1) - 1, 0)
    return np.asarray(np.maximum(rows - excess[np.arange(len(rows)), last][:, None], 0.0))
