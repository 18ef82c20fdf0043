"""How far a debiased count can be off, from the law alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.laws.bits import Bits
from dproof.laws.family import Family
from dproof.laws.keep_or_other import KeepOrOther
from dproof.laws.matrix import Matrix
from dproof.spaces.subsets import Subsets

_LARGEST_MATRIX = 1 << 10  # values of a law that is inverted here
_SINGULAR = 1e-9


def count_variance(family: Family, space: Any) -> float | None:
    """The largest variance, over a row's true value, of what the row adds to a debiased count; None without one.

    The count is of the rows with one value, or for sets, of those that hold one item. With B = P⁻¹ a response y adds
    Σ_v B[y, v] f(v) to the count of f, whose mean is f of the true value.

    >>> from dproof import Categories
    >>> round(count_variance(KeepOrOther(5, 6, 1), Categories(list("abcde"))), 6)
    0.96
    """
    sets = isinstance(space, Subsets)
    if isinstance(family, Matrix) and family.inputs == family.outputs <= _LARGEST_MATRIX:
        return _inverted(np.asarray(family.rows / family.total, np.float64), space if sets else None)
    if isinstance(family, Bits):
        hit, miss, total = family.stay, family.flip, family.stay + family.flip
    elif isinstance(family, KeepOrOther):
        own = family.size // 2 if sets else 1  # sets that hold an item, of which half do
        hit, miss, total = family.keep + (own - 1) * family.other, own * family.other, family.total
    else:
        return None
    if hit == total:
        return 0.0
    # How likely a row shows what is counted, where it has it and where it has not.
    p, q = hit / total, miss / total
    return None if hit == miss else max(p * (1 - p), q * (1 - q)) / (p - q) ** 2


def _inverted(law: NDArray[np.float64], sets: Subsets | None) -> float | None:
    if np.linalg.svd(law, compute_uv=False)[-1] < _SINGULAR:
        return None
    asked = np.eye(len(law))
    if sets is not None:
        asked = (np.arange(len(law))[:, None] >> np.arange(len(sets.values)) & 1).astype(np.float64)
    scores = np.linalg.solve(law, asked)
    return float((law @ scores**2 - asked**2).max())
