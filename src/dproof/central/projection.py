"""Projection: all measured tables, moved to the nearest ones without negative counts that agree with each other."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod, sqrt

import numpy as np

from dproof.central.residuals import Estimates, projected
from dproof.central.shrinkage import shrunk
from dproof.central.workload import Table, maximal, parts
from dproof.errors import TooLarge
from dproof.laws.scores import Array

_STEPS = 1000
_MOST_CELLS = 1_000_000
_SETTLED = 1e-3  # of the rows that a cell has in the mean, and of one row: what a step may still change
_ROUNDING = 1e-9  # rows: residuals that cancel leave a little less than 0


def projection(estimates: Estimates, tables: Iterable[Table]) -> Estimates:
    """The estimates with less noise (see `shrunk`), moved to the nearest tables without a negative count."""
    listed, k = list(tables), estimates.sizes
    if sum(prod(k[i] for i in table) for table in maximal(listed)) > _MOST_CELLS:
        raise TooLarge(f"projection takes tables of {_MOST_CELLS:,} cells at most: leave the method out")
    return nearest(shrunk(estimates, listed), listed)


def nearest(estimates: Estimates, tables: Iterable[Table]) -> Estimates:
    """The estimates with the least Σ (change of a cell)² over these tables that have no negative cell in any of them.

    Tables stay sums of residuals, so they agree on what they share; the total stays, and is 0 at least. Solved from the
    dual by the accelerated gradient method (Beck, Teboulle 2009): what a cell lacks raises it, and the residuals carry
    that to all tables. With the weight 1 / Σ_M 1/Π_{M∖A} k for the residual of A that map is a projection, so its
    largest eigenvalue, which the steps need, is 1. What is still below 0 at last is lifted by a little of the table in
    which all cells are equal.

    >>> found = Estimates((3,), {(): np.array(9.0), (0,): np.array([5.0, -4.0, -1.0])}, {(): 1.0, (0,): 1.0})
    >>> found.table((0,)).tolist(), nearest(found, [(0,)]).table((0,)).round(2).tolist()
    ([8.0, -1.0, 2.0], [7.5, 0.0, 1.5])
    """
    largest, k = maximal(tables), estimates.sizes
    cells = max(prod(k[i] for i in table) for table in largest)
    settled = _SETTLED * min(1.0, max(float(estimates.residuals[()]), 0.0) / cells)
    inside = {part: [table for table in largest if set(part) <= set(table)] for part in parts(largest) if part}

    def outside(table: Table, part: Table) -> int:
        return prod(k[i] for i in table if i not in part)

    weights = {part: 1 / sum(1 / outside(table, part) for table in within) for part, within in inside.items()}

    def lifted(raised: dict[Table, Array]) -> Estimates:
        residuals: dict[Table, Array] = {(): np.maximum(estimates.residuals[()], 0.0)}
        for part, within in inside.items():
            carried = sum(_margin(raised[table], table, part) / outside(table, part) for table in within)
            residuals[part] = estimates.residuals[part] + weights[part] * projected(np.asarray(carried), len(part))
        return Estimates(k, residuals, estimates.variances)

    raised = {table: np.zeros(tuple(k[i] for i in table)) for table in largest}
    ahead, pace = raised, 1.0
    for _ in range(_STEPS):
        now = lifted(ahead)
        following = {table: np.maximum(ahead[table] - now.table(table), 0.0) for table in largest}
        if all(np.abs(following[table] - ahead[table]).max() <= settled for table in largest):
            break
        quicker = (1 + sqrt(1 + 4 * pace**2)) / 2
        push = (pace - 1) / quicker
        ahead = {table: following[table] + push * (following[table] - raised[table]) for table in largest}
        raised, pace = following, quicker
    return _without_negative(lifted(ahead), largest)


def _margin(values: Array, table: Table, part: Table) -> Array:
    return np.asarray(values.sum(axis=tuple(n for n, i in enumerate(table) if i not in part)))


def _without_negative(estimates: Estimates, tables: Iterable[Table]) -> Estimates:
    """A mean of the tables and of those with equal cells, as little of these as leaves no cell below 0."""
    total, most = float(estimates.residuals[()]), 0.0
    for table in tables:
        cells = estimates.table(table)
        below = max(0.0, _ROUNDING - float(cells.min()))
        most = max(most, below / (below + total / cells.size) if below else 0.0)
    kept = {part: values * (1 - most) if part else values for part, values in estimates.residuals.items()}
    return Estimates(estimates.sizes, kept, estimates.variances)
