"""Checking that a table of distances is a metric, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.errors import InputError
from dproof.exact import has_shape, whole_numbers


def metric_matrix(distances: Sequence[Sequence[Any]] | NDArray[Any], labels: Sequence[Any]) -> NDArray[Any]:
    """The distances as fractions, refused with the offending points unless they are a metric.

    ρ(x, x) = 0, ρ(x, y) = ρ(y, x) > 0 and ρ(x, z) ≤ ρ(x, y) + ρ(y, z).

    >>> metric_matrix([[0, 1], [1, 0]], "ab")[0, 1]
    Fraction(1, 1)
    """
    k = len(labels)
    if not has_shape(distances, k, k):
        raise InputError(f"the distances must be a {k} by {k} matrix, one row and one column for each value")
    whole, unit = whole_numbers(distances, "a distance")
    if -(1 << 61) < whole.min() <= whole.max() < 1 << 61:
        whole = whole.astype(np.int64)  # exact, and quick for a thousand points
    for i in np.flatnonzero(np.diag(whole))[:1]:
        raise InputError(f"the distance of {labels[i]!r} from itself must be 0")
    for i, j in np.argwhere(whole != whole.T)[:1]:
        raise InputError(f"the distance between {labels[i]!r} and {labels[j]!r} must be the same both ways")
    for i, j in np.argwhere((whole <= 0) & ~np.eye(k, dtype=bool))[:1]:
        raise InputError(f"the distance between {labels[i]!r} and {labels[j]!r} must be positive")
    _check_triangles(whole, unit, labels)
    values, places = np.unique(whole, return_inverse=True)
    return np.array([Fraction(int(value), unit) for value in values], object)[places].reshape(k, k)


def _check_triangles(whole: NDArray[Any], unit: int, labels: Sequence[Any]) -> None:
    for middle in range(len(labels)):
        detour = whole[:, middle, None] + whole[None, middle, :]
        for a, b in np.argwhere(whole > detour)[:1]:
            raise InputError(
                f"the distance from {labels[a]!r} to {labels[b]!r} is longer than the way through "
                f"{labels[middle]!r}; shorten it to at most {Fraction(int(detour[a, b]), unit)}"
            )
