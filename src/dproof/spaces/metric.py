"""Checking that a table of distances is a metric, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.errors import InputError
from dproof.exact import exact


def metric_matrix(distances: Sequence[Sequence[Any]] | NDArray[Any], labels: Sequence[Any]) -> NDArray[Any]:
    """The distances as fractions, refused with the offending points unless they are a metric.

    ρ(x, x) = 0, ρ(x, y) = ρ(y, x) > 0 and ρ(x, z) ≤ ρ(x, y) + ρ(y, z).

    >>> metric_matrix([[0, 1], [1, 0]], "ab")[0, 1]
    Fraction(1, 1)
    """
    k = len(labels)
    if len(distances) != k or any(len(row) != k for row in distances):
        raise InputError(f"the distances must be a {k} by {k} matrix, one row and one column for each value")
    rho = np.array([[exact(x, "a distance") for x in row] for row in distances], object).reshape(k, k)
    for i in range(k):
        if rho[i, i] != 0:
            raise InputError(f"the distance of {labels[i]!r} from itself must be 0")
        for j in range(i):
            if rho[i, j] != rho[j, i]:
                raise InputError(f"the distance between {labels[i]!r} and {labels[j]!r} must be the same both ways")
            if rho[i, j] <= 0:
                raise InputError(f"the distance between {labels[i]!r} and {labels[j]!r} must be positive")
    _check_triangles(rho, labels)
    return rho


def _check_triangles(rho: NDArray[Any], labels: Sequence[Any]) -> None:
    scale = lcm(*(x.denominator for x in rho.flat))
    whole = np.array([int(x * scale) for x in rho.flat], object).reshape(rho.shape)
    if whole.max() < 1 << 61:
        whole = whole.astype(np.int64)  # exact, and quick for a thousand points
    for middle in range(len(labels)):
        detour = whole[:, middle, None] + whole[None, middle, :]
        broken = np.argwhere(whole > detour)
        if len(broken):
            a, b = broken[0]
            raise InputError(
                f"the distance from {labels[a]!r} to {labels[b]!r} is longer than the way through "
                f"{labels[middle]!r}; shorten it to at most {Fraction(int(detour[a, b]), scale)}"
            )
