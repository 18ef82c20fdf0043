"""Made-up rows whose tables are near given ones: for tools that want rows. Post-processing, so it costs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dproof.central.workload import Table
from dproof.coins import Coins

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_ROUNDS = 60
_FIRST_STEP, _LAST_STEP = 1.0, 0.1  # how much of the difference to a table is made up for in the first and last round


def on_simplex(values: Floats, total: float) -> Floats:
    """The nearest table without negative cells that sums to `total`.

    >>> on_simplex(np.array([3.0, -1.0, 2.0]), 4.0).tolist()
    [2.5, 0.0, 1.5]
    """
    flat = np.sort(values.ravel())[::-1]
    falls = (np.cumsum(flat) - total) / np.arange(1, len(flat) + 1)
    last = np.flatnonzero(flat > falls)[-1] if (flat > falls).any() else 0
    return np.asarray(np.maximum(values - falls[last], 0.0))


def made_up_rows(sizes: Sequence[int], targets: Mapping[Table, Floats], rows: int, coins: Coins) -> Integers:
    """So many rows of codes, one column for each size, whose tables come near the targets.

    The columns are drawn independently from their own tables first. Then, table by table and again, rows in cells that
    have too many are moved to cells that have too few: half of them take over the whole row of one that is there
    already, which keeps what the other tables say, the others change only the table's own columns (the gradual update
    of PrivSyn: Zhang et al. 2021). The steps grow smaller, so that the tables settle between each other.
    """
    made = np.empty((rows, len(sizes)), np.int64)
    for column, size in enumerate(sizes):
        chances = np.full(size, 1.0) if (column,) not in targets else np.maximum(targets[column,], 0.0)
        chances = chances if chances.sum() > 0 else np.full(size, 1.0)
        made[:, column] = _spread(chances, rows, coins)
    larger = {table: target for table, target in targets.items() if len(table) > 1}
    if not rows or not larger:
        return made
    scaled = {table: target * (rows / max(target.sum(), 1e-300)) for table, target in larger.items()}
    for step in np.geomspace(_FIRST_STEP, _LAST_STEP, _ROUNDS):
        for n in _shuffled(len(scaled), coins):
            table = list(scaled)[n]
            _move(made, table, scaled[table], sizes, step, coins)
    return made


def _spread(chances: Floats, rows: int, coins: Coins) -> Integers:
    """Codes in random order, each about as often as its chance says: counts are rounded, not drawn."""
    edges = np.rint(np.cumsum(chances) * (rows / chances.sum())).astype(np.int64)
    codes = np.repeat(np.arange(len(chances)), np.diff(edges, prepend=0))
    return codes[_shuffled(rows, coins)]


def _move(made: Integers, table: Table, target: Floats, sizes: Sequence[int], step: float, coins: Coins) -> None:
    """Move rows from cells that have too many to cells that have too few, a part `step` of the difference."""
    shape = tuple(sizes[i] for i in table)
    cells = np.ravel_multi_index(tuple(made[:, i] for i in table), shape)
    counts = np.bincount(cells, minlength=target.size)
    difference = (target.ravel() - counts) * step
    whole = np.floor(difference + _uniform(len(difference), coins)).astype(np.int64)
    surplus, deficit = np.maximum(-whole, 0), np.maximum(whole, 0)
    moved = int(min(surplus.sum(), deficit.sum()))
    if not moved:
        return
    order = _shuffled(len(cells), coins)
    ranked = order[np.argsort(cells[order], kind="stable")]  # rows by cell, in random order within each
    starts = np.concatenate([[0], np.cumsum(counts)])
    within = np.arange(len(ranked)) - np.repeat(starts[:-1], counts)
    leaving = ranked[within < np.repeat(np.minimum(surplus, counts), counts)]
    arriving = np.repeat(np.arange(len(deficit)), deficit)
    moved = min(moved, len(leaving))
    leaving = leaving[_shuffled(len(leaving), coins)[:moved]]
    arriving = arriving[_shuffled(len(arriving), coins)[:moved]]
    copied = (counts[arriving] > 0) & (np.arange(moved) % 2 == 0)
    # A row that is there already, at random among those of its cell.
    places = starts[arriving[copied]] + (_uniform(int(copied.sum()), coins) * counts[arriving[copied]]).astype(int)
    made[leaving[copied]] = made[ranked[places]]
    for column, codes in zip(table, np.unravel_index(arriving[~copied], shape), strict=True):
        made[leaving[~copied], column] = codes


def _uniform(count: int, coins: Coins) -> Floats:
    """Numbers in [0, 1)."""
    return np.asarray(coins.words64(count) * 2.0**-64 * (1 - 2.0**-53), np.float64)


def _shuffled(count: int, coins: Coins) -> Integers:
    """The numbers from 0 in random order."""
    return np.argsort(coins.words64(count))


def distance(made: Integers, counts: Mapping[Table, Floats], sizes: Sequence[int]) -> float:
    """The mean over tables of Σ |made-up share − share|."""
    total = []
    for table, target in counts.items():
        shape = tuple(sizes[i] for i in table)
        cells = np.ravel_multi_index(tuple(made[:, i] for i in table), shape)
        own = np.bincount(cells, minlength=target.size) / max(len(made), 1)
        total.append(np.abs(own - target.ravel() / target.sum()).sum())
    return float(np.mean(total))


def pairs(columns: int) -> list[Table]:
    """All tables of two columns."""
    return list(combinations(range(columns), 2))
