"""What a space looks like from different points: a mechanism of least error may be taken as symmetric as the space.

If a map of inputs and outputs keeps every loss, it turns a private law into a private law of the same error, and the
average over a group of such maps is no worse. So one number serves each orbit of pairs (input, output).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.mechanisms.error import Losses
from dproof.spaces.space import Space


@dataclass(frozen=True, slots=True, eq=False)
class Symmetry:
    """The orbits of a group: of pairs (input, output) by number, with one input and one ordered pair of inputs each."""

    orbits: NDArray[np.int64]  # inputs by outputs, numbered from 0
    inputs: tuple[int, ...]
    shares: tuple[int, ...]  # how many inputs each stands for
    pairs: tuple[tuple[int, int], ...]


def view(losses: Losses) -> list[tuple[Fraction, int]] | None:
    """The losses that every input and every output sees, each with how often; None where they see different ones."""
    by_input, by_output = np.sort(losses.whole, axis=1), np.sort(losses.whole, axis=0)
    same = (by_input == by_input[0]).all() and (by_output == by_output[:, :1]).all()
    if not same or losses.shape[0] != losses.shape[1]:
        return None
    values, counts = np.unique(by_input[0], return_counts=True)
    return [(Fraction(int(v), losses.unit), int(n)) for v, n in zip(values, counts, strict=True)]


def find_symmetry(
    inputs: Space, outputs: Space, losses: Losses, prior: NDArray[Any] | None, distances: Losses | None = None
) -> Symmetry:
    """The largest group that is known of a space: permutations and flips of items, a reflection, or none."""
    items = inputs.items
    cube = items is not None and (outputs is inputs or outputs == inputs) and losses.name != "matrix"
    if items is not None and cube and (prior is None or bool((prior == prior[0]).all())):
        codes = np.arange(inputs.size)
        orbits = np.bitwise_count(codes[:, None] ^ codes).astype(np.int64)
        whole_cube = tuple((0, (1 << n) - 1) for n in range(1, len(items) + 1))
        return Symmetry(orbits, (0,), (inputs.size,), whole_cube)
    k, j = losses.shape
    numbers = np.arange(k * j).reshape(k, j)
    if not _mirrored(losses, prior, distances):
        return Symmetry(numbers, tuple(range(k)), (1,) * k, tuple(_pairs(k)))
    _, orbits = np.unique(np.minimum(numbers, numbers[::-1, ::-1]), return_inverse=True)
    half = tuple(range((k + 1) // 2))
    pairs = tuple(pair for pair in _pairs(k) if pair <= (k - 1 - pair[0], k - 1 - pair[1]))
    return Symmetry(orbits.reshape(k, j), half, tuple(1 if i == k - 1 - i else 2 for i in half), pairs)


def _pairs(count: int) -> Iterator[tuple[int, int]]:
    return ((i, k) for i in range(count) for k in range(count) if i != k)


def _mirrored(losses: Losses, prior: NDArray[Any] | None, distances: Losses | None) -> bool:
    """Whether turning inputs and outputs round keeps all losses, as on a line of even steps, and the distances."""
    kept = all((x.whole == x.whole[::-1, ::-1]).all() for x in (losses, distances) if x is not None)
    return kept and (prior is None or bool((prior == prior[::-1]).all()))
