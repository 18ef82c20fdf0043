"""Estimates that are distributions themselves: never negative, and right in total."""

from __future__ import annotations

from math import prod
from typing import Protocol, runtime_checkable

import numpy as np

from dproof.errors import InputError, TooLarge
from dproof.estimation.axes import Kept, Mixed, Public
from dproof.estimation.contingency import Contingency, Powers, Sum
from dproof.estimation.inverse import Array, Scores, exact

_STEPS = 5_000
_SETTLED = 1e-8  # relative change of the likeliest counts at which they stand still
_MOST_DRAWN = 1 << 17
_GRID, _FEW_STEPS = 200, 30  # values that a count may be thought to have, and steps of fitting how likely they are


@runtime_checkable
class Foldable(Protocol):
    """An axis with finitely many true values, its nodes."""

    @property
    def nodes(self) -> int: ...

    @property
    def law(self) -> Scores:
        """P(state | node)."""
        ...

    def fold(self, table: Array, axis: int, powers: Powers) -> Array:
        """Sums of blocks, from counts of nodes."""
        ...


def likelihood(table: Contingency) -> Array:
    """The true counts under which the sanitised ones are likeliest, found by iterative Bayes.

    π ← π · P(N/(πP)): the expectation and maximisation steps of Dempster, Laird and Rubin 1977 for a mixture.

    >>> flip = Kept("flip", np.ones(2), 0.75, 0.25)
    >>> likelihood(Contingency([flip], np.array([20.0, 80.0]), 100)).round(3).tolist()
    [0.0, 100.0]
    """
    axes = [_finite(axis) for axis in table.axes]
    laws, cells = [axis.law for axis in axes], np.ones([axis.nodes for axis in axes])
    cells *= table.counts.sum() / cells.size
    for _ in range(_STEPS):
        mixed = _gather(laws, cells)
        share = np.divide(table.counts, mixed, out=np.zeros_like(mixed), where=mixed > 0)
        following = cells * _spread(laws, share)
        still = np.abs(following - cells).max(initial=0.0) <= _SETTLED * max(1.0, float(following.max(initial=0.0)))
        cells = following
        if still:
            break
    return cells


def projection(table: Contingency) -> Array:
    """The nearest counts to the unbiased ones that are not negative and keep every exact total.

    >>> flip = Kept("flip", np.ones(2), 0.75, 0.25)
    >>> projection(Contingency([flip], np.array([20.0, 80.0]), 100)).round(3).tolist()
    [0.0, 100.0]
    """
    cells = table.counts
    for n, axis in enumerate(table.axes):
        cells = _inverse(axis).gather(cells, n)
    public = [n for n, axis in enumerate(table.axes) if isinstance(axis, Public)]
    order = [*public, *(n for n in range(cells.ndim) if n not in public)]
    moved = cells.transpose(order)
    rows = moved.reshape(prod(moved.shape[: len(public)]), -1)
    return _nearest(rows).reshape(moved.shape).transpose(np.argsort(order))


def shrinkage(table: Contingency) -> Array:
    """The unbiased counts, each drawn towards where most counts lie, as far as its noise makes that likely.

    Empirical Bayes: counts are taken for draws from one unknown distribution, which is fitted to all of them
    (Kiefer and Wolfowitz 1956, by a few steps of iterative Bayes), and each becomes its mean given what was seen
    (Jiang and Zhang 2009). Best where there are many cells under much noise.

    >>> flip = Kept("flip", np.ones(4), 0.5, 1 / 6)
    >>> shrinkage(Contingency([flip], np.array([24.0, 25.0, 26.0, 25.0]), 100)).round(1).tolist()
    [24.9, 25.0, 25.1, 25.0]
    """
    if table.counts.size > _MOST_DRAWN:
        raise TooLarge(f"shrinkage takes at most {_MOST_DRAWN} cells: ask for fewer columns at once")
    cells, squares = table.counts, table.counts
    for n, axis in enumerate(table.axes):
        scores = _inverse(axis)
        cells, squares = scores.gather(cells, n), scores.times(scores).gather(squares, n)
    seen = cells.reshape(-1)
    spread = np.sqrt(np.maximum((squares.reshape(-1) - seen), 1e-9))
    values = np.linspace(0.0, max(float(seen.max(initial=0.0)), 1e-9), _GRID)
    near = np.exp(-0.5 * ((seen[:, None] - values) / spread[:, None]) ** 2) + 1e-300
    weights = np.full(_GRID, 1 / _GRID)
    for _ in range(_FEW_STEPS):
        shares = near * weights
        weights = (shares / shares.sum(axis=1, keepdims=True)).mean(axis=0)
    shares = near * weights
    drawn = (shares @ values / shares.sum(axis=1)).reshape(cells.shape)
    private = tuple(n for n, axis in enumerate(table.axes) if not isinstance(axis, Public))
    had, has = cells.sum(axis=private, keepdims=True), drawn.sum(axis=private, keepdims=True)
    return np.asarray(drawn * np.divide(had, has, out=np.zeros_like(had), where=has > 0))


def fold(table: Contingency, cells: Array, each: Sum) -> Array:
    """The sums of all blocks, from counts of the true values."""
    for n, (axis, powers) in enumerate(zip(table.axes, each.powers, strict=True)):
        cells = _finite(axis).fold(cells, n, powers)
    return cells


def _nearest(rows: Array) -> Array:
    """Each row moved to the nearest one of the same sum without negative entries (Held, Wolfe and Crowder 1974)."""
    totals = np.maximum(rows.sum(axis=1), 0.0)
    falling = -np.sort(-rows, axis=1)
    excess = (np.cumsum(falling, axis=1) - totals[:, None]) / np.arange(1, rows.shape[1] + 1)
    last = np.maximum((falling > excess).sum(axis=1) - 1, 0)
    return np.asarray(np.maximum(rows - excess[np.arange(len(rows)), last][:, None], 0.0))


def _inverse(axis: object) -> Scores:
    if isinstance(axis, Public):
        return exact(axis.blocks)
    if isinstance(axis, Kept):
        return axis.scores((0,) * len(axis.numbers))
    if isinstance(axis, Mixed):
        return axis.inverse()
    raise InputError("numbers under noise have no table of counts to project: use method='likelihood'")


def _finite(axis: object) -> Foldable:
    if isinstance(axis, Foldable):
        return axis
    raise InputError("sums of numbers under noise are unbiased as they are: leave the method out")


def _gather(laws: list[Scores], cells: Array) -> Array:
    for n, law in enumerate(laws):
        cells = law.gather(cells, n)
    return cells


def _spread(laws: list[Scores], share: Array) -> Array:
    for n, law in enumerate(laws):
        share = law.spread(share, n)
    return share
