"""Intervals for conditions on numbers under wide noise that hold for every distribution, heaps and point masses too.

Let F be the numbers of the rows that other columns choose, a measure on the codes of the column, and K its law. For
any function φ of the sanitised number the sum Σ φ(Y) is known, and differs from ∫ Kφ dF by noise of known size. So
with the chance of the level, F is one of the measures with

    | ∫ Kφ dF − Σ φ(Y) | ≤ r_φ    for indicators φ of Y below some thresholds, and for the score of the answer,

and a sum ∫ u dF over the rows lies between its least and its greatest value for these: two linear programmes. Half of
the chance to miss goes to the thresholds, which tell roughly where F lies, and half to the score, whose bias is then
bounded by what F can be (F-localisation and bias-aware intervals: Ignatiadis and Wager 2022, Armstrong and Kolesár
2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dproof.laws.debias import Mixed, is_rough
from dproof.laws.scores import Array, Powers
from dproof.local.contingency import NO_BIAS, Contingency, Estimates, Groups, Layout, Sets, Sum, Target
from dproof.local.hypothesis_test import can_reach
from dproof.local.measures import NOTHING, Linear, Measures

_EVEN, _MANY = 12, 40  # thresholds that share the states evenly, beside those at cuts and in the place of them
_MOST_CUTS = 8
_AROUND = np.array([0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98])  # quantiles of the noise at a cut that are thresholds too
_MOST_CHECKED = 1000  # blocks whose scores are looked through for a bias


@dataclass(frozen=True, slots=True, eq=False)
class ChosenRows:
    """Rows that other columns choose: the cells of these, and the weights of the number's blocks in each sum."""

    cells: Array
    weights: Array  # (sums, blocks)


class Condition:
    """The sums of a question as functions of one number under wide noise."""

    def __init__(self, table: Contingency, sums: Sequence[Sum], groups: Groups, number: int) -> None:
        axis = table.axes[number]
        assert isinstance(axis, Mixed)
        self.table, self.sums, self.groups, self.number, self.axis = table, sums, groups, number, axis
        self.layout, self.points = Layout(table, groups), axis.singles()
        self.others = [n for n in self.layout.rest if n != number]
        self._weights = [self.layout.split(wanted.weights) for wanted in sums]
        states = np.arange(axis.states)[:, None]
        self.tests = np.hstack([states < self._thresholds(), states >= 0]).astype(float)
        self.test_means, self.test_gaps = self.points.means(self.tests)
        # The bins between the thresholds, but for those that no law reaches: differences of `test_means` would leave
        # what rounding left of them.
        bins = np.diff(self.tests, prepend=0.0)
        law, _ = self.points.means(bins)
        self.occur = law.any(axis=0)
        self.bins, self.law = bins[:, self.occur], law[:, self.occur]
        self._measured: dict[tuple[bytes, tuple[Powers, ...]], Estimates] = {}
        self._attained: dict[tuple[bytes, Powers], bool] = {}

    def _thresholds(self) -> Array:
        """The states below which rows are counted: public, and the same for all groups."""
        cuts = np.flatnonzero(np.diff(self.points.block)) + 1
        few = len(cuts) <= _MOST_CUTS
        count = _EVEN if few else _MANY
        thresholds = [np.searchsorted(np.cumsum(self.axis.evenly()), (np.arange(count) + 0.5) / count)]
        if few:
            laws = self.points.matrix[self.points.start[cuts]]
            thresholds += [np.searchsorted(np.cumsum(law), _AROUND) for law in laws]
        return np.unique(np.clip(np.concatenate([*thresholds, [self.axis.states - 2]]) + 1, 1, self.axis.states - 1))

    def _blocks(self, group: int) -> Array:
        """The weights of a group: by sums, blocks of the number, and those of each other column."""
        cell, chosen = divmod(int(self.groups.order[group]), self.layout.sets.count)
        shape = [self.layout.shape[n] for n in self.layout.rest]
        (taken,) = self.layout.sets.rows(np.array([chosen]))
        weights = np.stack([(split[cell] * taken).reshape(shape) for split in self._weights])
        return np.moveaxis(weights, self.layout.rest.index(self.number) + 1, 1)

    def parts(self, group: int, largest: Array) -> list[ChosenRows]:
        """The rows of a group, apart where sums weigh the number in different ways.

        Where other numbers are under wide noise too, a sum has the `largest` weight over all of their blocks, or the
        smallest.
        """
        weights = self._blocks(group)
        for place, n in enumerate(self.others, 2):
            if is_rough(self.table.axes[n]):
                ends = weights.max(axis=place, keepdims=True), weights.min(axis=place, keepdims=True)
                weights = np.where(largest.reshape(-1, *[1] * (weights.ndim - 1)), ends[0], ends[1])
        columns, kind = _distinct(weights.reshape(-1, weights[0, 0].size))
        shaped = columns.reshape(-1, len(self.sums), self.axis.blocks)
        return [ChosenRows(kind == n, by_sum) for n, by_sum in enumerate(shaped) if by_sum.any()]

    def around(self, part: ChosenRows, place: int) -> Array | None:
        """The one or two points of the grid between which all codes lie that a count takes; None where it takes more.

        Only where there are more blocks than nodes, of which several then share a programme.
        """
        weights, points = part.weights[place], self.points
        if self.axis.blocks <= len(self.axis.matrix) or any(map(any, self.sums[place].powers)):
            return None
        taken = weights[points.block] != 0
        first, last = points.start[taken].min(), (points.start + ~points.on_grid)[taken].max()
        if last - first > 1 or (weights[weights != 0] != 1).any():
            return None
        return np.asarray(points.on_grid & (first <= points.start) & (points.start <= last), float)

    def matters(self, group: int, sums: Array) -> bool:
        """Whether some of these sums depend on the number, in a group."""
        weights, chosen = self._blocks(group)[sums], np.flatnonzero(sums).tolist()
        return any(any(self.sums[n].powers[self.number]) for n in chosen) or bool((weights != weights[:, :1]).any())

    def attained(self, group: int) -> Array:
        """Which sums have scores without a bias in a group, wherever between two nodes a number lies."""
        attained = np.ones(len(self.sums), bool)
        for n, (wanted, weights) in enumerate(zip(self.sums, self._blocks(group), strict=True)):
            powers = wanted.powers[self.number]
            columns, _ = _distinct(weights.reshape(self.axis.blocks, -1))
            attained[n] = all(self._is_attained(column, powers) for column in columns)
        return attained

    def _is_attained(self, weights: Array, powers: Powers) -> bool:
        if not any(powers) and (weights == weights[0]).all():
            return True
        if self.axis.blocks > _MOST_CHECKED:
            return False
        key = weights.tobytes(), powers
        if key not in self._attained:
            means, gap = self.points.means(self.axis.scores(powers).of_sum(weights))
            bias = np.abs(means - self.wanted(weights, powers)).max() + gap
            self._attained[key] = bool(bias <= NO_BIAS)
        return self._attained[key]

    def wanted(self, weights: Array, powers: Powers) -> Array:
        """What a sum adds up, at each point."""
        return np.asarray(weights[self.points.block] * self.points.values ** sum(powers))

    def other_powers(self, wanted: Sum) -> tuple[Powers, ...]:
        """The powers of all numbers but this one."""
        return tuple((0,) * len(p) if n == self.number else p for n, p in enumerate(wanted.powers))

    def noise_target(self, target: Target) -> Target:
        """Whose variance a test has: where in a node its rows lie is not known, and that of a population is larger,
        wherever they do."""
        return "population" if self.points.even else target

    @property
    def plain(self) -> tuple[Powers, ...]:
        """The powers of a count."""
        return tuple((0,) * len(p) for p in self.sums[0].powers)

    def measured(self, part: ChosenRows, powers: tuple[Powers, ...]) -> Estimates:
        """The sums of all tests over the rows of a part times powers of other numbers, in each cell of fixed axes."""
        key = part.cells.tobytes(), powers
        if key not in self._measured:
            self._measured[key] = self._sums(part, powers, self.tests)
        return self._measured[key]

    def _sums(self, part: ChosenRows, powers: tuple[Powers, ...], tests: Array) -> Estimates:
        axes = list(self.table.axes)
        for n, axis in enumerate(axes):
            if isinstance(axis, Mixed) and axis.rough:
                axes[n] = axis.tested(tests if n == self.number else np.ones((axis.states, 1)))
        blocks, size = [axes[n].blocks for n in self.others], tests.shape[1]
        by_test = np.eye(size).reshape(size, *[1] * len(blocks), size)
        chosen = np.moveaxis(part.cells.reshape(1, *blocks, 1) * by_test, -1, self.layout.rest.index(self.number) + 1)
        every = Sum(np.ones([axis.blocks for axis in axes]), powers)
        sets = Sets(size, chosen.reshape(size, -1))
        asked = Groups((), np.arange(self.layout.cells * size), self.groups.fixed, sets)
        return self.table.tested(axes).estimates([every], asked)

    def rows(self, group: int, tests: int) -> slice:
        """Where the sums of so many tests stand for a group."""
        cell = int(self.groups.order[group]) // self.layout.sets.count
        return slice(cell * tests, (cell + 1) * tests)

    def counts(self, group: int, part: ChosenRows) -> Array:
        """The estimated rows of a part of a group in each bin."""
        upto = self.measured(part, self.plain).values[self.rows(group, self.tests.shape[1]), 0]
        return np.asarray(np.diff(upto, prepend=0.0)[self.occur])

    def scored(self, group: int, part: ChosenRows, scores: Array, target: Target) -> tuple[Array, ...]:
        """The sum of scores of the bins over a part of a group, its variance, and the largest score of one row."""
        estimates, row = self._sums(part, self.plain, self.bins @ scores[:, None]), self.rows(group, 1)
        return estimates.values[row, 0], estimates.covariance(target, row)[:, 0, 0], estimates.heaviest[row, 0]


def _distinct(matrix: Array) -> tuple[Array, Array]:
    """The distinct columns of a matrix, as rows, and which of them each column is.

    >>> _distinct(np.array([[1, 0, 1], [2, 0, 2]]))[1].tolist()
    [0, 1, 0]
    """
    columns, places = np.ascontiguousarray(matrix.T), dict[bytes, int]()
    which = np.array([places.setdefault(column.tobytes(), len(places)) for column in columns])
    return columns[np.unique(which, return_index=True)[1]], which


class DistributionFree:
    """Which sums of which groups need these intervals, and the intervals."""

    def __init__(self, table: Contingency, sums: Sequence[Sum], groups: Groups, estimates: Estimates) -> None:
        numbers = [n for n, axis in enumerate(table.axes) if is_rough(axis)]
        self.estimates, self.conditions = estimates, [Condition(table, sums, groups, number) for number in numbers]
        self._most: dict[tuple[Any, ...], float] = {}

    @cached_property
    def biased(self) -> Array:
        """Which sums have a score with a bias, by groups."""
        biased = np.zeros(self.estimates.values.shape, bool)
        for condition in self.conditions:
            biased |= ~np.stack([condition.attained(group) for group in range(len(biased))])
        return biased

    def some_biased(self, groups: range) -> bool:
        """Whether a sum of some of these groups has a score with a bias."""
        return any(not condition.attained(group).all() for group in groups for condition in self.conditions)

    def _concerned(self, group: int, used: Array) -> list[Condition]:
        """The numbers that some of the sums depend on; all rows of a group may be counted by any of them."""
        if len(self.conditions) == 1:
            return self.conditions
        return [condition for condition in self.conditions if condition.matters(group, used)] or self.conditions[:1]

    def can_reach(self, group: int, sign: int, least: float, level: float, target: Target) -> bool:
        """Whether sign · (the first sum of a group) ≥ `least` for some distribution that fits the rows."""
        conditions = self._concerned(group, np.arange(self.estimates.values.shape[1]) == 0)
        level = 1 - (1 - level) / len(conditions)
        return all(
            can_reach(condition, group, condition.parts(group, np.array([sign > 0])), sign, least, level, target)
            for condition in conditions
        )

    def interval(
        self, group: int, top: Linear, bottom: Linear | None, level: float, target: Target
    ) -> tuple[float, float]:
        """What a linear function of the sums, or a ratio of two of them, can be in a group."""
        used = top.coefficients != 0 if bottom is None else (top.coefficients != 0) | (bottom.coefficients != 0)
        conditions = self._concerned(group, used)
        alone = len(conditions) == 1
        if not alone and bottom is not None:
            return NOTHING
        if alone and bottom is None and used.sum() == 1:
            parts = conditions[0].parts(group, top.coefficients > 0)
            around = conditions[0].around(parts[0], int(used.argmax())) if len(parts) == 1 else None
            if around is not None:
                ends = 0.0, self._most_around(conditions[0], group, parts[0], around, used, level, target)
                low, high = sorted(float(top.coefficients[used][0]) * end for end in ends)
                return low + top.shift, high + top.shift
        # Each number by itself bounds the sums, with the weights that are largest, or smallest, over the others.
        level, low, high = 1 - (1 - level) / len(conditions), *NOTHING
        for condition in conditions:
            ranges = []
            for largest in (True,) if alone else (False, True):
                parts = condition.parts(group, (top.coefficients > 0) == largest)
                measures = Measures(condition, group, parts, self.estimates, target)
                ranges.append(measures.interval(top, bottom, level, alone=alone))
            low, high = max(low, ranges[0][0]), min(high, ranges[-1][1])
        return low, high

    def _most_around(
        self,
        condition: Condition,
        group: int,
        part: ChosenRows,
        around: Array,
        used: Array,
        level: float,
        target: Target,
    ) -> float:
        """How many rows of a group may lie around points of the grid; one answer serves all values there."""
        key = condition.number, condition.rows(group, 1).start, part.cells.tobytes(), around.tobytes(), level, target
        if key not in self._most:
            measures = Measures(condition, group, [part], self.estimates, target, around)
            self._most[key] = measures.interval(Linear(used.astype(float)), None, level, alone=True)[1]
        return self._most[key]
