"""Sums over the rows of measured tables: whether they were measured, and how they vary together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from dproof.central.question_sums import Untold, Weights
from dproof.central.residuals import Estimates
from dproof.central.workload import parts
from dproof.laws.scores import Array

_ROUNDING = 1e-12  # a variance below this part of its terms is zero


def measured_sum(release: Any, needed: Weights) -> Weights:
    """A sum that was measured; refused where it was not, with what to declare."""
    law, number = release.law, needed.number
    if number is not None and number not in release.estimates:
        name = law.axes[number].name
        if law.axes[number].has_curves:
            raise Untold(f"the curves {name!r} were not added up: declare [[release.tables]] with them next time")
        raise Untold(
            f"the numbers of {name!r} were counted in bins and not added up: declare sums = true under "
            f"[release] next time, or ask for counts by {name}"
        )
    if needed.table not in release.estimates[number].variances:
        named = [law.axes[place].name for place in (*needed.table, *([] if number is None else [number]))]
        names = ", ".join(f'"{name}"' for name in named)
        raise Untold(
            f"the question needs the table of {' × '.join(named)}, which was not measured: ask about "
            f"fewer columns at once, or declare [[release.tables]] with columns = [{names}] next time"
        )
    return needed


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
        variances = estimates[sums[i].number].variances
        shared = tuple(column for column in sums[i].table if column in sums[j].table)
        outside = prod(k[c] for one in (sums[i], sums[j]) for c in one.table if c not in shared)
        for inner in parts([shared]):
            cells = prod(k[c] for c in inner)
            weight = sum(
                variances[outer]
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
