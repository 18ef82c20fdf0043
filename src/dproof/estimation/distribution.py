"""Estimates that are distributions themselves: never negative, and right in total."""

from __future__ import annotations

from math import prod
from typing import Protocol, runtime_checkable

import numpy as np

from dproof.errors import InputError
from dproof.estimation.axes import Kept, Mixed, Public
from dproof.estimation.contingency import Contingency, Powers, Sum
from dproof.estimation.inverse import Array, Scores, exact

_STEPS = 5_000
_SETTLED = 1e-8  # relative change of the likeliest counts at which they stand still


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
