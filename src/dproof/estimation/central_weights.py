"""Sums over the rows of a measured table, as weights of its cells, and how they vary together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from dproof.central.residuals import Estimates
from dproof.central.workload import Table, parts
from dproof.laws.scores import Array
from dproof.questions.cells import numbered

_ROUNDING = 1e-12  # a variance below this part of its terms is zero


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """A sum over rows in every group: a weight and a group for each cell of a table of counts, or of sums."""

    number: int | None
    table: Table
    weights: Array
    groups: NDArray[np.int64]
    sizes: tuple[int, ...]  # of the table's axes

    def places(self, column: int) -> NDArray[np.int64]:
        """The place of every cell along the axis of a column."""
        cells = np.unravel_index(np.arange(len(self.weights)), self.sizes)
        return np.asarray(cells[self.table.index(column)])

    def margin(self, part: Table, columns: Sequence[int]) -> tuple[NDArray[np.int64], Array]:
        """The weights added up over all axes but these: the numbers of group and cell, and their weights."""
        places = np.unravel_index(np.arange(len(self.weights)), self.sizes) if self.sizes else ()
        chosen = [(places[n], columns[i]) for n, i in enumerate(self.table) if i in part]
        keys = np.asarray(numbered([(self.groups, 0), *chosen])) + np.zeros_like(self.groups)
        used, place = np.unique(keys[self.weights != 0], return_inverse=True)
        return used, np.bincount(place, self.weights[self.weights != 0], len(used))


def covariances(estimates: Mapping[int | None, Estimates], sums: Sequence[Weights], groups: int) -> Array:
    """The covariances of some sums in each group, from the variances s_A of residuals.

    Counts, and the sums of each number, were measured independently.

    Cov(q, q') = Σ_A s_A ⟨P_A q_A, P_A q'_A⟩ over the A within both tables, with q_A the mean of q over the other
    columns. P_A = ⊗ (I − 11ᵀ/k), multiplied out, leaves products of margins: ⟨x, P_A y⟩ = Σ_{B ⊆ A} Π_{A∖B} (−1/k)
    ⟨x_B, y_B⟩, with x_B the sum of x over the columns outside B.
    """
    count, k = len(sums), estimates[None].sizes
    margins = [{part: one.margin(part, k) for part in parts([one.table])} for one in sums]
    total, terms = np.zeros((2, groups, count, count))
    for i, j in product(range(count), repeat=2):
        if j < i:
            total[:, i, j], terms[:, i, j] = total[:, j, i], terms[:, j, i]
            continue
        if sums[i].number != sums[j].number:
            continue
        found = estimates[sums[i].number]
        shared = tuple(column for column in sums[i].table if column in sums[j].table)
        outside = prod(k[c] for one in (sums[i], sums[j]) for c in one.table if c not in shared)
        for inner in parts([shared]):
            cells = prod(k[c] for c in inner)
            weight = sum(
                found.variances[outer]
                * prod(-1 / k[c] for c in outer if c not in inner)
                / (outside * prod(k[c] for c in shared if c not in outer) ** 2)
                for outer in parts([shared])
                if set(inner) <= set(outer)
            )
            (one, x), (other, y) = margins[i][inner], margins[j][inner]
            both, left, right = np.intersect1d(one, other, assume_unique=True, return_indices=True)
            term = weight * np.bincount(both // cells, x[left] * y[right], groups)
            total[:, i, j] += term
            terms[:, i, j] += np.abs(term)
    return np.where(np.abs(total) <= _ROUNDING * terms, 0.0, total)
