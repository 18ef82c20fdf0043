"""Estimates that are distributions themselves: never negative, and right in total."""

from __future__ import annotations

from math import prod

import numpy as np

from dproof.errors import InputError, TooLarge
from dproof.laws.blocks import Blocked
from dproof.laws.debias import Axis, Kept, Mixed, is_rough
from dproof.laws.moments import Moments
from dproof.laws.scores import Array, Scores, Transform, gather
from dproof.laws.simplex import on_simplex
from dproof.local.contingency import Contingency, Sum

_STEPS = 5_000
_SETTLED = 1e-8  # relative change of the likeliest counts at which they stand still
_MOST_DRAWN = 1 << 17
_GRID, _FEW_STEPS = 200, 30  # values that a count may be thought to have, and steps of fitting how likely they are


def likelihood(table: Contingency) -> Array:
    """The true counts under which the sanitised ones are likeliest, found by iterative Bayes.

    π ← π · P(N/(πP)): the expectation and maximisation steps of Dempster, Laird and Rubin 1977 for a mixture.

    >>> flip = Kept("flip", np.ones(2), 0.75, 0.25)
    >>> likelihood(Contingency([flip], np.array([20.0, 80.0]), 100)).round(3).tolist()
    [0.0, 100.0]
    """
    laws: list[Transform] = [finite(axis).law for axis in table.axes]
    cells = np.ones_like(_spread(laws, table.counts))
    cells *= table.counts.sum() / cells.size
    for _ in range(_STEPS):
        mixed = gather(laws, cells)
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
    return _with_totals(table, gather(map(inverse, table.axes), table.counts))


def _with_totals(table: Contingency, cells: Array) -> Array:
    """The nearest counts that are not negative and keep every exact total."""
    noisy = _noisy(table)
    order = sorted(range(len(table.axes)), key=lambda n: n in noisy)
    moved = cells.transpose(order)
    rows = moved.reshape(prod(moved.shape[: len(order) - len(noisy)]), -1)
    totals = table.counts.sum(axis=noisy).reshape(-1)
    return on_simplex(rows, totals).reshape(moved.shape).transpose(np.argsort(order))


def shrinkage(table: Contingency) -> Array:
    """The unbiased counts, each drawn towards where most counts lie, as far as its noise makes that likely.

    Empirical Bayes: counts are taken for draws from one unknown distribution, which is fitted to all of them
    (Kiefer and Wolfowitz 1956, by a few steps of iterative Bayes), and each becomes its mean given what was seen
    (Jiang and Zhang 2009). Best where there are many cells under much noise.

    >>> flip = Kept("flip", np.ones(4), 0.5, 1 / 6)
    >>> shrinkage(Contingency([flip], np.array([24.0, 25.0, 26.0, 25.0]), 100)).round(1).tolist()
    [24.9, 25.0, 25.1, 25.0]
    """
    scores = [inverse(axis) for axis in table.axes]
    cells = gather(scores, table.counts)
    if cells.size > _MOST_DRAWN:
        raise TooLarge(f"shrinkage takes at most {_MOST_DRAWN} cells: ask for fewer columns at once")
    squares = gather((s.times(s) for s in scores), table.counts)
    seen = cells.reshape(-1)
    spread = np.sqrt(np.maximum((squares.reshape(-1) - seen), 1e-9))
    # Some values of every size, and more where many counts lie.
    even = np.linspace(0.0, max(float(seen.max(initial=0.0)), 1e-9), _GRID // 2)
    values = np.union1d(even, np.quantile(np.maximum(seen, 0.0), np.linspace(0, 1, _GRID // 2)))
    near = np.exp(-0.5 * ((seen[:, None] - values) / spread[:, None]) ** 2) + 1e-300
    weights = np.full(len(values), 1 / len(values))
    for _ in range(_FEW_STEPS):
        shares = near * weights
        weights = (shares / shares.sum(axis=1, keepdims=True)).mean(axis=0)
    shares = near * weights
    return _with_totals(table, (shares @ values / shares.sum(axis=1)).reshape(cells.shape))


def fold(table: Contingency, cells: Array, wanted: Sum) -> Array:
    """The sums of all blocks, from counts of the true values."""
    return gather((finite(axis).wanted(p) for axis, p in zip(table.axes, wanted.powers, strict=True)), cells)


def _noisy(table: Contingency) -> tuple[int, ...]:
    """The axes on which what is counted need not be true."""
    return tuple(n for n, axis in enumerate(table.axes) if not (isinstance(axis, Kept) and axis.exact))


def inverse(axis: Axis) -> Scores:
    """The scores of every single true value."""
    if isinstance(axis, Moments) or is_rough(axis):
        raise InputError("numbers under noise have no table of counts to project: use method='likelihood'")
    return axis.inverse()


def finite(axis: Axis) -> Kept | Mixed | Blocked:
    if isinstance(axis, Moments):
        raise InputError("sums of numbers under noise are unbiased as they are: leave the method out")
    return axis


def _spread(laws: list[Transform], share: Array) -> Array:
    for n, law in enumerate(laws):
        share = law.spread(share, n)
    return share
