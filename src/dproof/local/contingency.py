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
from functools import cached_property
from itertools import combinations_with_replacement
from math import prod
from typing import Any, Literal

import numpy as np

from dproof.errors import TooLarge
from dproof.laws.debias import Axis, Mixed, is_rough
from dproof.laws.scores import Array, Powers, Transform, gather

Target = Literal["table", "population"]
_ROUNDING = 1e-11  # a variance below this part of its terms is zero
NO_BIAS = 1e-7  # a bias below this is none
_MOST_SCORES = 1 << 28  # of groups by states, where they are written out
_MOST_WEIGHTS = 1 << 22  # of sets by cells, at a time


@dataclass(frozen=True, slots=True, eq=False)
class Sum:
    """Σ over the rows of a weight that depends on the blocks, times powers of numbers of each axis."""

    weights: Array
    powers: tuple[Powers, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Sets:
    """So many sets of cells: `takes` has a row of weights of the cells for each set, or the one set of each cell."""

    count: int
    takes: Array

    def rows(self, which: Array) -> Array:
        """How much some of the sets take of each cell."""
        return self.takes[which] if self.takes.ndim == 2 else (which[:, None] == self.takes).astype(float)

    def totals(self, cells: Array) -> Array:
        """The sum of each set, for each row of numbers of the cells."""
        step = max(1, _MOST_WEIGHTS // max(1, cells.shape[1]))
        every = (np.arange(first, min(first + step, self.count)) for first in range(0, self.count, step))
        return np.hstack([cells @ self.rows(some).T for some in every])

    def kinds(self, marks: Array) -> tuple[Array, Array]:
        """One set of every kind, and the kind of each set, where cells with the same column of marks are alike."""
        mark = np.unique(marks, axis=1, return_inverse=True)[1].reshape(-1)
        order = np.lexsort((mark, self.takes))
        ends = np.searchsorted(self.takes[order], np.arange(1, self.count))
        places: dict[bytes, int] = {}
        kind = np.array([places.setdefault(cells.tobytes(), len(places)) for cells in np.split(mark[order], ends)])
        return np.unique(kind, return_index=True)[1], kind


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The groups of an answer: a block of each of the `fixed` axes, and one of the `sets` of cells of all others.

    Group `order[n]` of these, the fixed axes varying slowest, is row n of the answer, and has the labels[n].
    """

    labels: Sequence[tuple[Any, ...]]
    order: Array
    fixed: tuple[int, ...]
    sets: Sets


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """For every group the estimates of m sums, what their variances are made of, and the naive values."""

    values: Array  # (groups, m)
    naive: Array  # (groups, m)
    heaviest: Array  # (groups, m): the largest score of one row
    doubts: Array  # (groups, m): how far smoothed scores may be off on average
    squares: Array  # (groups, m, m): Σ s_i s_j
    products: Array  # (groups, m, m): the estimates of Σ f_i f_j
    rows: int  # of the table

    def covariance(self, target: Target, groups: slice = slice(None)) -> Array:
        """The covariances of the sums of each group."""
        values, squares = self.values[groups], self.squares[groups]
        population = squares - values[:, :, None] * values[:, None, :] / max(self.rows, 1)
        table = squares - self.products[groups]
        # Where f² has no estimate, (Σ f)²/n is below Σ f²: the variance is then too large rather than too small.
        covariances = population if target == "population" else np.where(np.isnan(table), population, table)
        scales = np.sqrt(np.abs(np.einsum("gii->gi", squares)))
        return np.where(np.abs(covariances) <= _ROUNDING * scales[:, :, None] * scales[:, None, :], 0.0, covariances)


@dataclass(slots=True, eq=False)
class Contingency:
    """Counts of the sanitised rows over the states of some axes."""

    axes: Sequence[Axis]
    counts: Array
    rows: int
    _tables: dict[tuple[tuple[Powers, ...], bool], Array] = field(default_factory=dict)
    _likely: dict[tuple[tuple[Powers, ...], bool] | None, Array] = field(default_factory=dict)

    def tested(self, axes: Sequence[Axis]) -> Contingency:
        """The same counts where other functions of the states of rough axes are asked for: their likely nodes stay."""
        return Contingency(axes, self.counts, self.rows, _likely=self._likely)

    def blocks(self, powers: tuple[Powers, ...], *, naive: bool = False) -> Array:
        """The estimated sums of all blocks, or those that the sanitised rows have as they are."""
        if (powers, naive) not in self._tables:
            pairs = zip(self.axes, powers, strict=True)
            scores = (axis.naive(p) if naive else axis.scores(p) for axis, p in pairs)
            self._tables[powers, naive] = gather(scores, self.counts)
        return self._tables[powers, naive]

    def nodes(self, powers: tuple[Powers, ...], *, cautiously: bool) -> Array:
        """The estimated sums of all blocks, but for rough axes the likely counts of their nodes.

        A bias must not be overlooked, so it is weighed cautiously. Rows that are not there would make Σ f² too large
        and the variance, from which it is taken away, too small.
        """
        if not any(map(is_rough, self.axes)):
            return self.blocks(powers)
        if (powers, cautiously) not in self._likely:
            pairs = zip(self.axes, powers, strict=True)
            factors = (
                a.assign(cautiously=cautiously) if isinstance(a, Mixed) and a.rough else a.scores(p) for a, p in pairs
            )
            self._likely[powers, cautiously] = gather(factors, self.counts)
        return self._likely[powers, cautiously]

    def predicted(self) -> Array:
        """The counts that the likely nodes of rough axes would show on average; other axes as they are.

        With these Σ s² − Σ f² is the sum of the variances of the likely rows, whatever part of the counts the nodes do
        not explain; a design has nearly the same variance for all values, so that hardly matters.
        """
        if None not in self._likely:
            counts = self.counts
            for n, axis in enumerate(self.axes):
                if isinstance(axis, Mixed) and axis.rough:
                    counts = axis.law.gather(axis.assign(cautiously=False).gather(counts, n), n)
            self._likely[None] = counts
        return self._likely[None]

    def total(self, blocks: Array, wanted: Sum, groups: Groups) -> Array:
        """The sum of every group, from the sums of all blocks."""
        return Layout(self, groups).total(blocks, wanted)[groups.order]

    def likely_bias(self, wanted: Sum, groups: Groups) -> Array:
        """The bias of the estimate of a sum in every group, for the likely nodes of rough axes."""
        factor = _Factor(Layout(self, groups), wanted)
        return factor.layout.bias(self.nodes(wanted.powers, cautiously=True), factor)[groups.order]

    def estimates(self, sums: Sequence[Sum], groups: Groups) -> Estimates:
        """The estimates of these sums in every group; of groups that are alike but for their naive values once."""
        if not groups.order.size:  # of the public values of no rows
            none, pairs = np.zeros((0, len(sums))), np.zeros((0, len(sums), len(sums)))
            return Estimates(none, none, none, none, pairs, pairs, self.rows)
        every = Layout(self, groups)
        first, kind = every.kinds(sums)
        few = Groups((), np.arange(every.cells * len(first)), groups.fixed, Sets(len(first), groups.sets.rows(first)))
        layout, m = Layout(self, few), len(sums)
        factors = [_Factor(layout, wanted) for wanted in sums]
        values = np.stack([layout.total(self.blocks(wanted.powers), wanted) for wanted in sums], axis=1)
        naive = np.stack([every.total(self.blocks(wanted.powers, naive=True), wanted) for wanted in sums], axis=1)
        heaviest = np.stack([factor.heaviest() for factor in factors], axis=1)
        doubts = np.stack(
            [layout.doubt(self.nodes(factor.powers, cautiously=True), factor) for factor in factors], axis=1
        )
        squares, products = np.zeros((2, len(values), m, m))
        for i, j in combinations_with_replacement(range(m), 2):
            a, b = factors[i], factors[j]
            powers = tuple(tuple(map(sum, zip(*pair, strict=True))) for pair in zip(a.powers, b.powers, strict=True))
            squares[:, i, j] = squares[:, j, i] = layout.square(a, b)
            products[:, i, j] = products[:, j, i] = layout.product(self.nodes(powers, cautiously=False), a, b)
        cell, chosen = np.divmod(groups.order, groups.sets.count)
        n = cell * len(first) + kind[chosen]
        return Estimates(values[n], naive[groups.order], heaviest[n], doubts[n], squares[n], products[n], self.rows)


class Layout:
    """The axes in two parts: those that the group fixes, and the rest, with the counts of the likely rows."""

    def __init__(self, table: Contingency, groups: Groups) -> None:
        self.table, self.axes, self.fixed, self.sets = table, table.axes, groups.fixed, groups.sets
        self.rest = tuple(n for n in range(len(table.axes)) if n not in groups.fixed)
        self.order = (*self.fixed, *self.rest)
        self.shape = [axis.blocks for axis in table.axes]
        self.cells = prod(table.axes[n].blocks for n in self.fixed)
        self.fixed_states = tuple(table.axes[n].states for n in self.fixed)

    @cached_property
    def counts(self) -> Array:
        return self.table.predicted().transpose(self.order).reshape(prod(self.fixed_states), -1)

    def split(self, blocks: Array) -> Array:
        """An array over all blocks, as a matrix of fixed cells by other cells."""
        return np.broadcast_to(blocks, self.shape).transpose(self.order).reshape(self.cells, -1)

    def total(self, blocks: Array, wanted: Sum) -> Array:
        matrix = self.split(np.where(wanted.weights == 0, 0.0, blocks * wanted.weights))
        return self.sets.totals(matrix).reshape(-1)

    def kinds(self, sums: Sequence[Sum]) -> tuple[Array, Array]:
        """One set of cells of every kind, and the kind of each: where they differ in blocks with the same scores."""
        rest = [(self.axes[n], [wanted.powers[n] for wanted in sums]) for n in self.rest]
        shared = [axis.kinds(powers) if isinstance(axis, Mixed) else None for axis, powers in rest]
        if self.sets.takes.ndim == 2 or all(kinds is None for kinds in shared):
            return np.arange(self.sets.count), np.arange(self.sets.count)
        codes = [np.arange(axis.blocks) if kind is None else kind for (axis, _), kind in zip(rest, shared, strict=True)]
        marks = [mesh.reshape(-1) for mesh in np.meshgrid(*codes, indexing="ij")]
        weights = [np.unique(self.split(wanted.weights), axis=0) for wanted in sums]
        return self.sets.kinds(np.vstack([*marks, *weights]))

    def product(self, nodes: Array, a: _Factor, b: _Factor) -> Array:
        """The estimate of Σ f_a f_b for every group, f being what the scores are on average."""
        return self._by_pattern(a, b, nodes, lambda one, other: a.means(one) * b.means(other))

    def bias(self, nodes: Array, a: _Factor) -> Array:
        """Σ mean − f over the likely nodes, for every group."""
        return self._by_pattern(a, a, nodes, lambda one, _: a.biases(one))

    def doubt(self, nodes: Array, a: _Factor) -> Array:
        """How large the bias of the scores is in every group: Σ |mean − f| over the likely nodes."""
        if not any(map(is_rough, self.axes)):
            return np.zeros(self.cells * self.sets.count)
        return np.abs(self._by_pattern(a, a, nodes, lambda one, _: np.abs(a.biases(one))))

    def _by_pattern(self, a: _Factor, b: _Factor, nodes: Array, weigh: Callable[[int, int], Array]) -> Array:
        matrix = nodes.transpose(self.order).reshape(self.cells, -1)
        totals = np.zeros((self.cells, self.sets.count))
        for cells, one, other in self._patterns(a, b):
            weights = weigh(one, other)
            used = weights.any(axis=0)  # what has no weight may have no estimate either
            totals[cells] = (matrix[cells][:, used]) @ weights[:, used].T
        return totals.reshape(-1)

    def _patterns(self, a: _Factor, b: _Factor) -> Iterator[tuple[Array, int, int]]:
        """The cells of the fixed axes in which two sums have the same weights on the others."""
        pairs, which = np.unique(np.stack([a.pattern, b.pattern]), axis=1, return_inverse=True)
        for n, (one, other) in enumerate(pairs.T):
            yield which.reshape(-1) == n, int(one), int(other)

    def square(self, a: _Factor, b: _Factor) -> Array:
        """Σ_y counts(y) s_a(y) s_b(y) for every group."""
        totals = np.zeros((self.cells, self.sets.count))
        for cells, one, other in self._patterns(a, b):
            weights = a.rest(one) * b.rest(other)
            if weights.any():
                part = (self.counts @ weights.T).reshape(*self.fixed_states, -1)
                part = gather((a.scores[axis].times(b.scores[axis]) for axis in self.fixed), part)
                totals[cells] = part.reshape(self.cells, -1)[cells]
        return totals.reshape(-1)


class _Factor:
    """The score of a row for one sum, as scores of the fixed axes times a few functions of the other states."""

    def __init__(self, layout: Layout, wanted: Sum) -> None:
        self.layout, self.powers = layout, wanted.powers
        self.scores = [axis.scores(p) for axis, p in zip(layout.axes, wanted.powers, strict=True)]
        weights = layout.split(wanted.weights).astype(float)
        if len(weights) > 1 and (weights == weights[0]).all():
            weights = weights[:1]  # nearly always: the conditions do not depend on the group
        self.patterns, pattern = np.unique(weights, axis=0, return_inverse=True)
        self.pattern = np.broadcast_to(pattern.reshape(-1), layout.cells)
        self._rest: dict[int, Array] = {}

    def rest(self, pattern: int) -> Array:
        """The score of every state of the other axes, for each chosen set: (sets, states)."""
        if pattern not in self._rest:
            scores = self._blocks(pattern)
            if len(scores) * prod(self.layout.axes[n].states for n in self.layout.rest) > _MOST_SCORES:
                raise TooLarge("too many groups for a column with so many codes: group by fewer columns")
            for place, axis in enumerate(self.layout.rest):
                scores = self.scores[axis].spread(scores, place + 1)
            self._rest[pattern] = scores.reshape(len(scores), -1)
        return self._rest[pattern]

    def means(self, pattern: int) -> Array:
        """What these scores are on average, for each chosen set and the nodes of the other axes."""
        return self._on_nodes(pattern, Mixed.means)

    def biases(self, pattern: int) -> Array:
        """How far the means are from what they stand for."""
        bias = self.means(pattern) - self._on_nodes(pattern, Mixed.wanted)
        return np.where(np.abs(bias) < NO_BIAS, 0.0, bias)

    def _on_nodes(self, pattern: int, values: Callable[[Mixed, Powers], Transform]) -> Array:
        weights = self._blocks(pattern)
        for place, n in enumerate(self.layout.rest):
            axis = self.layout.axes[n]
            if isinstance(axis, Mixed) and axis.rough:
                weights = values(axis, self.powers[n]).spread(weights, place + 1)
        return weights.reshape(len(weights), -1)

    def _blocks(self, pattern: int) -> Array:
        """The weight of every block of the other axes, for each chosen set."""
        shape = [self.layout.shape[n] for n in self.layout.rest]
        taken = self.layout.sets.rows(np.arange(self.layout.sets.count))
        return np.asarray(taken * self.patterns[pattern]).reshape(-1, *shape)

    def heaviest(self) -> Array:
        """The largest score that one row can have, in every group."""
        fixed = np.ones(())
        for axis in self.layout.fixed:
            fixed = np.multiply.outer(fixed, self.scores[axis].largest())
        rest = np.stack([np.abs(self.rest(n)).max(axis=1, initial=0.0) for n in range(len(self.patterns))])
        return np.asarray(fixed.reshape(-1, 1) * rest[self.pattern]).reshape(-1)
