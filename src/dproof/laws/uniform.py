"""Whole numbers drawn uniformly below a bound, without a float or a bias."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins


def uniform_below(bounds: NDArray[Any], coins: Coins) -> NDArray[np.int64]:
    """One number in 0, …, bound − 1 for each bound of at most 2^62.

    A word of 64 bits is taken modulo the bound; the few words past the last multiple of it are drawn again.

    >>> from dproof.coins import current
    >>> uniform_below(np.array([1, 1]), current()).tolist()
    [0, 0]
    """
    limits = np.asarray(bounds, np.uint64)
    words = coins.words64(len(limits))
    drawn = words % limits
    # w − (w mod b) is a multiple of b; the last, incomplete run of words starts above 2^64 − b.
    late = np.flatnonzero(words - drawn > np.uint64(0) - limits)
    while len(late):
        words = coins.words64(len(late))
        drawn[late] = again = words % limits[late]
        late = late[words - again > np.uint64(0) - limits[late]]
    return drawn.astype(np.int64)
