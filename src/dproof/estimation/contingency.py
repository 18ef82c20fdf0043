"""Sums over the true rows, estimated from a table of counts of the sanitised ones.

The columns of a row are independent under the law, so the score of a row is a product of scores, one for each axis of
the table, and estimates and variances are contractions of the counts with these factors; nothing as large as all
states times all groups is ever made. Two variances (they must not be confused):

    of the table that was sanitised   Σ_rows Var s(Y)     estimated by Σ s² − (the estimate of Σ f²)
    of the population it stands for   n · Var s(Y)        estimated by Σ s² − (Σ s)²/n
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from math import prod
from typing import Literal, Protocol, runtime_checkable

import numpy as np

from dproof.estimation.inverse import Array, Dense, Scores

Target = Literal["table", "population"]
Powers = tuple[int, ...]  # of each number that an axis carries
_ROUNDING = 1e-11  # a variance below this part of its terms is zero


class Axis(Protocol):
    """One independent factor of the law of a row, cut into the blocks that a question tells apart."""

    @property
    def blocks(self) -> int: ...

    @property
    def states(self) -> int:
        """How many sanitised states are counted."""
        ...

    def scores(self, powers: Powers) -> Scores:
        """The scores of every block's indicator times these powers of its numbers; NaN where there are none."""
        ...

    def naive(self, powers: Powers) -> Scores | None:
        """The same as if the sanitised values were the true ones; None where they are of another kind."""
        ...


@runtime_checkable
class Biased(Axis, Protocol):
    """An axis whose scores do not quite attain their blocks: their means and biases are known for nodes."""

    def means(self, powers: Powers) -> Array:
        """The mean score of each node for each block."""
        ...

    def biases(self, powers: Powers) -> Array:
        """The mean score less what it stands for."""
        ...

    def assign(self) -> Scores:
        """From states to their likely nodes."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Sum:
    """Σ over the rows of a weight that depends on the blocks, times powers of numbers of each axis."""

    weights: Array
    powers: tuple[Powers, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """The groups: a block of each of the `fixed` axes, and one of the `chosen` sets of blocks of all other axes.

    `chosen` has a row for each set and a column for each cell of the other axes, in their order; a set may give its
    blocks any weights.
    """

    fixed: tuple[int, ...]
    chosen: Array


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """For every group the estimates of m sums, what their variances are made of, and the naive values."""

    values: Array  # (groups, m)
    squares: Array  # (groups, m, m): Σ s_i s_j
    products: Array  # (groups, m, m): the estimates of Σ f_i f_j
    heaviest: Array  # (groups, m): the largest score of one row
    doubts: Array  # (groups, m): how far smoothed scores may be off on average
    naive: Array | None
    rows: int

    def covariance(self, target: Target) -> Array:
        """The covariances of the sums of each group."""
        population = self.squares - self._outer()
        if target == "population":
            return _clean(population, self.squares)
        table = self.squares - self.products
        # Where f² has no estimate, (Σ f)²/n is below Σ f²: the variance is then too large rather than too small.
        return _clean(np.where(np.isnan(table), population, table), self.squares)

    def _outer(self) -> Array:
        return self.values[:, :, None] * self.values[:, None, :] / max(self.rows, 1)


def _clean(covariance: Array, size: Array) -> Array:
    own = np.sqrt(np.abs(np.einsum("gii->gi", size)))
    return np.where(np.abs(covariance) <= _ROUNDING * own[:, :, None] * own[:, None, :], 0.0, covariance)


@dataclass(slots=True, eq=False)
class Contingency:
    """Counts of the sanitised rows over the states of some axes."""

    axes: Sequence[Axis]
    counts: Array
    rows: int
    _tables: dict[tuple[tuple[Powers, ...], bool], Array | None] = field(default_factory=dict)

    def blocks(self, powers: tuple[Powers, ...], *, naive: bool = False) -> Array | None:
        """The estimated sums of all blocks, or the naive ones where there are any."""
        key = (powers, naive)
        if key not in self._tables:
            table: Array | None = self.counts
            for n, (axis, power) in enumerate(zip(self.axes, powers, strict=True)):
                scores = axis.naive(power) if naive else axis.scores(power)
                table = None if table is None or scores is None else scores.gather(table, n)
            self._tables[key] = table
        return self._tables[key]

    def estimates(self, sums: Sequence[Sum], grouped: Grouped) -> Estimates:
        """The estimates of these sums in every group, the fixed axes varying slowest."""
        layout = _Layout(self, grouped)
        m, groups = len(sums), layout.groups
        values, heaviest, doubts = np.zeros((groups, m)), np.zeros((groups, m)), np.zeros((groups, m))
        squares, products = np.zeros((groups, m, m)), np.zeros((groups, m, m))
        factors = [_Factor(layout, each) for each in sums]
        for i, each in enumerate(sums):
            values[:, i] = layout.total(self._table(each.powers), each.weights)
            heaviest[:, i] = factors[i].heaviest()
            doubts[:, i] = layout.doubt(self._nodes(each.powers), factors[i]) if self._biased() else 0.0
        for i, j in combinations_with_replacement(range(m), 2):
            powers = tuple(
                tuple(a + b for a, b in zip(p, q, strict=True))
                for p, q in zip(sums[i].powers, sums[j].powers, strict=True)
            )
            products[:, i, j] = products[:, j, i] = layout.product(self._nodes(powers), factors[i], factors[j])
            squares[:, i, j] = squares[:, j, i] = layout.square(factors[i], factors[j])
        naive = self._naive(sums, layout)
        return Estimates(values, squares, products, heaviest, doubts, naive, self.rows)

    def _biased(self) -> bool:
        return any(isinstance(axis, Biased) for axis in self.axes)

    def _nodes(self, powers: tuple[Powers, ...]) -> Array:
        """The estimated sums of all blocks, but for biased axes the likely counts of their nodes."""
        if not self._biased():
            return self._table(powers)
        table = self.counts
        for n, (axis, power) in enumerate(zip(self.axes, powers, strict=True)):
            table = (axis.assign() if isinstance(axis, Biased) else axis.scores(power)).gather(table, n)
        return table

    def total(self, blocks: Array, each: Sum, grouped: Grouped) -> Array:
        """The sum of every group, from the sums of all blocks."""
        return _Layout(self, grouped).total(blocks, each.weights)

    def _table(self, powers: tuple[Powers, ...]) -> Array:
        table = self.blocks(powers)
        assert table is not None
        return table

    def _naive(self, sums: Sequence[Sum], layout: _Layout) -> Array | None:
        tables = [self.blocks(each.powers, naive=True) for each in sums]
        found = [layout.total(table, s.weights) for table, s in zip(tables, sums, strict=True) if table is not None]
        return np.stack(found, axis=1) if len(found) == len(sums) else None


class _Layout:
    """The axes in two parts: those that the group fixes, and the rest."""

    def __init__(self, table: Contingency, grouped: Grouped) -> None:
        self.axes, self.fixed, self.chosen = table.axes, grouped.fixed, grouped.chosen
        self.rest = tuple(n for n in range(len(table.axes)) if n not in grouped.fixed)
        self.order = (*self.fixed, *self.rest)
        self.shape = [axis.blocks for axis in table.axes]
        self.cells = prod(table.axes[n].blocks for n in self.fixed)
        self.groups = self.cells * len(self.chosen)
        self.fixed_states = tuple(table.axes[n].states for n in self.fixed)
        self.counts = table.counts.transpose(self.order).reshape(prod(self.fixed_states), -1)

    def split(self, blocks: Array) -> Array:
        """An array over all blocks, as a matrix of fixed cells by other cells."""
        return np.broadcast_to(blocks, self.shape).transpose(self.order).reshape(self.cells, -1)

    def total(self, blocks: Array, weights: Array) -> Array:
        matrix = self.split(np.where(weights == 0, 0.0, blocks * weights))
        return np.asarray(matrix @ self.chosen.T).reshape(-1)

    def product(self, nodes: Array, a: _Factor, b: _Factor) -> Array:
        """The estimate of Σ f_a f_b for every group, f being what the scores are on average."""
        return self._by_pattern(a, b, nodes, lambda one, other: a.means(one) * b.means(other))

    def doubt(self, nodes: Array, a: _Factor) -> Array:
        """How large the bias of the scores is in every group: Σ |mean − f| over the likely nodes."""
        return np.abs(self._by_pattern(a, a, nodes, lambda one, _: np.abs(a.biases(one))))

    def _by_pattern(self, a: _Factor, b: _Factor, nodes: Array, weigh: Callable[[int, int], Array]) -> Array:
        matrix = nodes.transpose(self.order).reshape(self.cells, -1)
        found = np.zeros((self.cells, len(self.chosen)))
        for chosen, one, other in self._patterns(a, b):
            weights = weigh(one, other)
            used = weights.any(axis=0)  # what has no weight may have no estimate either
            found[chosen] = (matrix[chosen][:, used]) @ weights[:, used].T
        return found.reshape(-1)

    def _patterns(self, a: _Factor, b: _Factor) -> Iterator[tuple[Array, int, int]]:
        """The cells of the fixed axes in which two sums have the same weights on the others."""
        pairs, which = np.unique(np.stack([a.pattern, b.pattern]), axis=1, return_inverse=True)
        for n, (one, other) in enumerate(pairs.T):
            yield which.reshape(-1) == n, int(one), int(other)

    def square(self, a: _Factor, b: _Factor) -> Array:
        """Σ_y counts(y) s_a(y) s_b(y) for every group."""
        found = np.zeros((self.cells, len(self.chosen)))
        for chosen, one, other in self._patterns(a, b):
            weights = a.rest(one) * b.rest(other)
            if not weights.any():
                continue
            part = (self.counts @ weights.T).reshape(*self.fixed_states, -1)
            for place, axis in enumerate(self.fixed):
                part = a.scores[axis].times(b.scores[axis]).gather(part, place)
            found[chosen] = part.reshape(self.cells, -1)[chosen]
        return found.reshape(-1)


class _Factor:
    """The score of a row for one sum, as scores of the fixed axes times a few functions of the other states."""

    def __init__(self, layout: _Layout, each: Sum) -> None:
        self.layout, self.powers = layout, each.powers
        self.scores = [axis.scores(p) for axis, p in zip(layout.axes, each.powers, strict=True)]
        weights = layout.split(each.weights).astype(float)
        if len(weights) > 1 and (weights == weights[0]).all():
            weights = weights[:1]  # nearly always: the conditions do not depend on the group
        self.patterns, pattern = np.unique(weights, axis=0, return_inverse=True)
        self.pattern = np.broadcast_to(pattern.reshape(-1), layout.cells)
        self._rest: dict[int, Array] = {}

    def rest(self, pattern: int) -> Array:
        """The score of every state of the other axes, for each chosen set: (sets, states)."""
        if pattern not in self._rest:
            part = self._blocks(pattern)
            for place, axis in enumerate(self.layout.rest):
                part = self.scores[axis].spread(part, place + 1)
            self._rest[pattern] = part.reshape(len(part), -1)
        return self._rest[pattern]

    def means(self, pattern: int) -> Array:
        """What these scores are on average, for each chosen set and the nodes of the other axes."""
        return self._through(pattern, [axis.means for axis in self._biased()])

    def biases(self, pattern: int) -> Array:
        """How far the means are from what they stand for."""
        means = self.means(pattern)
        true = [lambda p, axis=axis: axis.means(p) - axis.biases(p) for axis in self._biased()]
        bias = means - self._through(pattern, true)
        return np.where(np.abs(bias) < _ROUNDING * np.abs(means).max(initial=1.0), 0.0, bias)

    def _biased(self) -> list[Biased]:
        found = [self.layout.axes[n] for n in self.layout.rest]
        return [axis for axis in found if isinstance(axis, Biased)]

    def _through(self, pattern: int, to_nodes: Sequence[Callable[[Powers], Array]]) -> Array:
        part, left = self._blocks(pattern), iter(to_nodes)
        for place, n in enumerate(self.layout.rest):
            if isinstance(self.layout.axes[n], Biased):
                part = Dense(next(left)(self.powers[n])).spread(part, place + 1)
        return part.reshape(len(part), -1)

    def _blocks(self, pattern: int) -> Array:
        """The weight of every block of the other axes, for each chosen set."""
        shape = [self.layout.axes[n].blocks for n in self.layout.rest]
        return np.asarray(self.layout.chosen * self.patterns[pattern]).reshape(-1, *shape)

    def heaviest(self) -> Array:
        layout = self.layout
        fixed = np.ones(())
        for axis in layout.fixed:
            fixed = np.multiply.outer(fixed, self.scores[axis].largest())
        rest = np.stack([np.abs(self.rest(n)).max(axis=1, initial=0.0) for n in range(len(self.patterns))])
        return np.asarray(fixed.reshape(-1, 1) * rest[self.pattern]).reshape(-1)
