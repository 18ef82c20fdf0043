"""Which pairs of inputs a law must keep apart, as a user says it: a matrix, or pairs of labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import listed
from dproof.errors import InputError
from dproof.exact import has_shape
from dproof.spaces.space import Space

_WHAT = "a square matrix of True and False, one row for each input, or a list of pairs of labels"


def as_neighbours(neighbours: Any, space: Space) -> NDArray[np.bool_] | None:
    """The symmetric matrix of neighbouring inputs, None for all pairs: those that are given, or else of the space.

    A two-dimensional NumPy array, or a list of one list of True and False for each input, is a matrix. Anything else
    is a list of pairs, each a tuple or a list of two labels, and a pair counts both ways. What could be read as
    either, such as [[0, 1], [1, 0]] on two inputs, is refused.

    >>> from dproof import Categories
    >>> as_neighbours([("a", "b")], Categories(["a", "b", "c"])).astype(int).tolist()
    [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    """
    if neighbours is None:
        return space.neighbours()
    k = space.size
    if isinstance(neighbours, np.ndarray) and neighbours.ndim == 2:
        if neighbours.dtype != bool or neighbours.shape != (k, k):
            raise InputError(f"an array of neighbours must be {k} by {k}, one row for each input, with dtype bool")
        return _mutual(neighbours)
    rows = listed(neighbours, "neighbours", _WHAT)
    square = has_shape(rows, k, k) and not any(isinstance(row, tuple) for row in rows)
    if square and all(isinstance(entry, (bool, np.bool_)) for row in rows for entry in row):
        if k == 2 and all(_is_pair(row, space) for row in rows):
            raise _unclear()
        return _mutual(np.array(rows, bool))
    if square and all(isinstance(entry, (int, np.integer)) and entry in (0, 1) for row in rows for entry in row):
        raise _unclear()
    matrix = np.zeros((k, k), bool)
    for pair in rows:
        if not _is_pair(pair, space):
            raise InputError(f"neighbours must be {_WHAT}: one of them is not a pair of declared labels")
        i, j = (space.code(label) for label in pair)
        if i == j:
            raise InputError("neighbours are two different inputs: one of the pairs names the same label twice")
        matrix[i, j] = matrix[j, i] = True
    return _mutual(matrix)


def _mutual(matrix: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if len(matrix) > 1 and not matrix.any():
        raise InputError("neighbours must name at least one pair: without any, every law is private and says nothing")
    if (matrix != matrix.T).any():
        raise InputError("the matrix of neighbours must be symmetric: being neighbours is mutual")
    return matrix


def _is_pair(pair: Any, space: Space) -> bool:
    if not isinstance(pair, Sequence) or isinstance(pair, (str, bytes)) or len(pair) != 2:
        return False
    try:
        return all(space.code(label) >= 0 for label in pair)
    except InputError:
        return False


def _unclear() -> InputError:
    return InputError(
        "these neighbours may be a matrix or pairs of labels: write a matrix as a NumPy array of dtype bool, and "
        "pairs as tuples, as in [('a', 'b')]"
    )
