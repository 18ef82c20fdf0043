"""Intervals for conditions on numbers under wide noise that hold for every distribution, heaps and point masses too.

Why they are needed. A number x from 0 to 100 is released as Y = x + noise, and the noise is 30 wide. COUNT(*) WHERE
x < 40 is the sum of u(x) = [x < 40] over the rows. Scores s with E s(Y) = u(x) for every x are so large that they tell
nothing, so `laws.debias` takes smooth ones, whose mean at x is only near u(x). How far the estimate is off on average
depends on the rows: much if all of them have x = 39, hardly at all if they are spread out, and the noise hides which it
is. An interval by the standard error alone would miss the truth for some tables; these hold for all.

Who asks. A question makes a `DistributionFree` from its table of counts: `local.estimate` for sums, `local.ranks` for
order statistics. `questions.estimated` asks it which sums of which groups have a biased score (`biased`), and for the
`interval` of those; `local.ranks` asks `can_reach`, a yes or no for every step of a distribution.

What is where, in the order of the file: `NoisyNumber`, one column under wide noise, with its thresholds and the sums of
them that were seen; `DistributionFree`, which numbers an answer depends on; `Constraints`, a linear programme;
`Measures`, the programme of one group; `is_not_refuted`, the test behind `can_reach`. The mathematics is in the last
three: the first two only say which rows and which weights are meant.

The intervals. Let F be the numbers of the rows that other columns choose, a measure on the codes of the column, and K
its law (`Points.matrix`). For any function φ of the sanitised number the sum Σ φ(Y) is known (`measured`), and differs
from ∫ Kφ dF by noise of known size. So with the chance of the level, F is one of the measures with

    | ∫ Kφ dF − Σ φ(Y) | ≤ r_φ    for indicators φ of Y below thresholds (`tests`), and for the score of the answer,

and a sum ∫ u dF over the rows (u is `wanted`) lies between its least and its greatest value for these: two linear
programmes. Half of the chance to miss goes to the thresholds, which tell roughly where F lies, and half to the score,
whose bias is then bounded by what F can be (F-localisation and bias-aware intervals: Ignatiadis and Wager 2022,
Armstrong and Kolesár 2018).

The test. For a quantile it is enough to test on which side of a value F has passed it, by one score. The hypothesis is
∫ h dF ≥ a. A score s of the sanitised number with

    K s ≥ κ h  at every code, for some κ ≥ 0,

has a sum with the mean ∫ Ks dF ≥ κ a, so a sum that lies further below κ a than its standard error allows refutes the
hypothesis. That is true of any such s; a good one tells the rows apart from what they would be under the hypothesis.
Here s is the ratio of the two nearest laws of the sanitised number: that of a smooth fit to the rows (`_fit`), and that
of the likeliest distribution within the hypothesis for it (`_within`; a least favourable one: Huber and Strassen 1973).
The fit takes few steps and so hardly follows the noise of the rows, and the score is nearly the same for all noise: one
linear function of the counts at its own level, where bounds on all thresholds at once would share it (test inversion;
Donoho 1994).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dproof.laws.debias import (
    NO_BIAS,
    AnswerGroups,
    Array,
    Contingency,
    GroupLayout,
    MatrixAxis,
    MomentsAxis,
    Powers,
    Sets,
    Sum,
    SumEstimates,
    Target,
)
from dproof.questions.estimated import Linear, half_widths

_THRESHOLDS_BESIDE_CUTS, _THRESHOLDS_ALONE = 12, 40  # that share the states evenly, with those at cuts or without
_MOST_CUTS_WITH_THRESHOLDS = 8
_AROUND = np.array([0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98])  # quantiles of the noise at a cut that are thresholds too
_MOST_CHECKED = 1000  # blocks whose scores are looked through for a bias


@dataclass(frozen=True, slots=True, eq=False)
class ChosenRows:
    """Rows that other columns choose: the cells of these, and the weights of the number's blocks in each sum."""

    cells: Array
    weights: Array  # (sums, blocks)


class NoisyNumber:
    """One number under wide noise, and the sums of a question as functions of it.

    A state is a sanitised number as it was counted, a block what the question tells apart, a point one true code (see
    `laws.debias`). The other columns only choose rows, `ChosenRows`.
    """

    def __init__(self, table: Contingency, sums: Sequence[Sum], groups: AnswerGroups, number: int) -> None:
        axis = table.axes[number]
        assert isinstance(axis, MatrixAxis)
        self.table, self.sums, self.groups, self.number, self.axis = table, sums, groups, number, axis
        self.layout, self.points, self.blocks = GroupLayout(table, groups), axis.singles(), table.shape[number]
        self.others = [n for n in self.layout.rest if n != number]
        self._weights = [self.layout.split(wanted.weights) for wanted in sums]
        self._measured: dict[tuple[bytes, tuple[Powers, ...]], SumEstimates] = {}
        self._attained: dict[tuple[bytes, Powers], bool] = {}

    @cached_property
    def tests(self) -> Array:
        """Whether each state lies below each of the thresholds, which are public and the same for all groups.

        States of a number in bins are in no order: there it is the score of whether the number lies below an edge.
        """
        if self.axis.between_edges:
            return self._edges()
        cuts = np.flatnonzero(np.diff(self.points.block)) + 1
        few = len(cuts) <= _MOST_CUTS_WITH_THRESHOLDS
        count = _THRESHOLDS_BESIDE_CUTS if few else _THRESHOLDS_ALONE
        thresholds = [np.searchsorted(np.cumsum(self.axis.matrix.mean(axis=0)), (np.arange(count) + 0.5) / count)]
        if few:
            laws = self.points.matrix[self.points.start[cuts]]
            thresholds += [np.searchsorted(np.cumsum(law), _AROUND) for law in laws]
        size = self.axis.states
        states, below = np.arange(size)[:, None], np.concatenate([*thresholds, [size - 2]]) + 1
        return np.hstack([states < np.unique(np.clip(below, 1, size - 1)), states >= 0]).astype(float)

    def _edges(self) -> Array:
        """The scores of all bins up to each edge: next to cuts, and others that share the bins evenly."""
        laws, first, bin_of = np.unique(self.axis.matrix, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.argsort(order)[bin_of.reshape(-1)]
        cuts = rank[np.flatnonzero(np.diff(self.points.block))]
        few = len(cuts) <= _MOST_CUTS_WITH_THRESHOLDS
        evenly = np.linspace(0, len(laws), (_THRESHOLDS_BESIDE_CUTS if few else _THRESHOLDS_ALONE) + 1).round()
        edges = np.concatenate([evenly, *([cuts, cuts + 1] if few else ())]).astype(int)
        below = np.arange(len(laws))[:, None] < np.unique(edges[(edges > 0) & (edges < len(laws))])
        return np.hstack([np.linalg.pinv(laws[order]) @ below, np.ones((self.axis.states, 1))])

    @cached_property
    def test_means(self) -> tuple[Array, Array]:
        """The means of the tests at each point, and how far any code between may be off that."""
        return self.points.means_and_gaps(self.tests)

    @cached_property
    def bins(self) -> tuple[Array, Array, Array]:
        """The bins between the thresholds that some law reaches, by states; their law at each point; which they are.

        Differences of `test_means` would leave what rounding left of the others.
        """
        bins = np.diff(self.tests, prepend=0.0)
        law, _ = self.points.means_and_gaps(bins)
        occur = np.asarray(law.any(axis=0))
        return bins[:, occur], law[:, occur], occur

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
            if self.table.axes[n].rough:
                ends = weights.max(axis=place, keepdims=True), weights.min(axis=place, keepdims=True)
                weights = np.where(largest.reshape(-1, *[1] * (weights.ndim - 1)), ends[0], ends[1])
        columns, kind = _distinct(weights.reshape(-1, weights[0, 0].size))
        shaped = columns.reshape(-1, len(self.sums), self.blocks)
        return [ChosenRows(kind == n, by_sum) for n, by_sum in enumerate(shaped) if by_sum.any()]

    def around(self, part: ChosenRows, place: int) -> Array | None:
        """The one or two points of the grid between which all codes lie that a count takes; None where it takes more.

        Only where there are more blocks than nodes, of which several then share a programme.
        """
        weights, points = part.weights[place], self.points
        if self.blocks <= len(self.axis.matrix) or any(map(any, self.sums[place].powers)):
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
            columns, _ = _distinct(weights.reshape(self.blocks, -1))
            attained[n] = all(self._is_attained(column, powers) for column in columns)
        return attained

    def _is_attained(self, weights: Array, powers: Powers) -> bool:
        if not any(powers) and (weights == weights[0]).all():
            return True
        if self.blocks > _MOST_CHECKED:
            return False
        key = weights.tobytes(), powers
        if key not in self._attained:
            means, gap = self.points.means_and_gaps(self.axis.scores(powers).of_sum(weights))
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

    def measured(self, part: ChosenRows, powers: tuple[Powers, ...]) -> SumEstimates:
        """The sums of all tests over the rows of a part times powers of other numbers, in each cell of fixed axes."""
        key = part.cells.tobytes(), powers
        if key not in self._measured:
            self._measured[key] = self._sums(part, powers, self.tests)
        return self._measured[key]

    def _sums(self, part: ChosenRows, powers: tuple[Powers, ...], tests: Array) -> SumEstimates:
        axes = list(self.table.axes)
        for n, axis in enumerate(axes):
            if isinstance(axis, MatrixAxis) and axis.rough:
                axes[n] = axis.tested(tests if n == self.number else np.ones((axis.states, 1)))
        blocks, size = [axes[n].blocks for n in self.others], tests.shape[1]
        by_test = np.eye(size).reshape(size, *[1] * len(blocks), size)
        chosen = np.moveaxis(part.cells.reshape(1, *blocks, 1) * by_test, -1, self.layout.rest.index(self.number) + 1)
        every = Sum(np.ones([axis.blocks for axis in axes]), powers)
        sets = Sets(size, chosen.reshape(size, -1))
        asked = AnswerGroups((), np.arange(self.layout.cells * size), self.groups.fixed, sets)
        return self.table.tested(axes).estimates([every], asked)

    def rows(self, group: int, tests: int) -> slice:
        """Where the sums of so many tests stand for a group."""
        cell = int(self.groups.order[group]) // self.layout.sets.count
        return slice(cell * tests, (cell + 1) * tests)

    def counts(self, group: int, part: ChosenRows) -> Array:
        """The estimated rows of a part of a group in each bin."""
        upto = self.measured(part, self.plain).values[self.rows(group, self.tests.shape[1]), 0]
        return np.asarray(np.diff(upto, prepend=0.0)[self.bins[2]])

    def scored(self, group: int, part: ChosenRows, scores: Array, target: Target) -> tuple[Array, ...]:
        """The sum of scores of the bins over a part of a group, its variance, and the largest score of one row."""
        estimates, row = self._sums(part, self.plain, self.bins[0] @ scores[:, None]), self.rows(group, 1)
        return estimates.values[row, 0], estimates.covariance(target, row)[:, 0, 0], estimates.heaviest[row, 0]


def _distinct(matrix: Array) -> tuple[Array, Array]:
    """The distinct columns of a matrix, as rows, and which of them each column is.

    >>> _distinct(np.array([[1, 0, 1], [2, 0, 2]]))[1].tolist()
    [0, 1, 0]
    """
    columns, places = np.ascontiguousarray(matrix.T), dict[bytes, int]()
    which = np.array([places.setdefault(column.tobytes(), len(places)) for column in columns])
    return columns[np.unique(which, return_index=True)[1]], which


# Which numbers an answer depends on -----------------------------------------------------------------------------------


class DistributionFree:
    """Which sums of which groups need these intervals, and the intervals."""

    def __init__(self, table: Contingency, sums: Sequence[Sum], groups: AnswerGroups, estimates: SumEstimates) -> None:
        numbers = [n for n, axis in enumerate(table.axes) if axis.rough]
        self.estimates, self.noisy_numbers = estimates, [NoisyNumber(table, sums, groups, number) for number in numbers]
        self._most: dict[tuple[Any, ...], float] = {}

    @cached_property
    def biased(self) -> Array:
        """Which sums have a score with a bias, by groups."""
        biased = np.zeros(self.estimates.values.shape, bool)
        for group, noisy in product(range(len(biased)), self.noisy_numbers):
            biased[group] |= ~noisy.attained(group)
        return biased

    def some_biased(self, groups: range) -> bool:
        """Whether a sum of some of these groups has a score with a bias."""
        return any(not noisy.attained(group).all() for group in groups for noisy in self.noisy_numbers)

    def _concerned(self, group: int, used: Array) -> list[NoisyNumber]:
        """The numbers that some of the sums depend on; all rows of a group may be counted by any of them."""
        if len(self.noisy_numbers) == 1:
            return self.noisy_numbers
        return [noisy for noisy in self.noisy_numbers if noisy.matters(group, used)] or self.noisy_numbers[:1]

    def can_reach(self, group: int, sign: int, least: float, level: float, target: Target) -> bool:
        """Whether sign · (the first sum of a group) ≥ `least` for some distribution that fits the rows."""
        noisy_numbers = self._concerned(group, np.arange(self.estimates.values.shape[1]) == 0)
        level = 1 - (1 - level) / len(noisy_numbers)
        return all(
            is_not_refuted(noisy, group, noisy.parts(group, np.array([sign > 0])), sign, least, level, target)
            for noisy in noisy_numbers
        )

    def interval(
        self, group: int, top: Linear, bottom: Linear | None, level: float, target: Target
    ) -> tuple[float, float]:
        """What a linear function of the sums, or a ratio of two of them, can be in a group."""
        used = top.coefficients != 0 if bottom is None else (top.coefficients != 0) | (bottom.coefficients != 0)
        noisy_numbers = self._concerned(group, used)
        alone = len(noisy_numbers) == 1
        adds_up = any(any(map(any, noisy_numbers[0].sums[n].powers)) for n in np.flatnonzero(used).tolist())
        # Without being alone each needs sums of what is never negative, as rows are: weights of others bound no more.
        if not alone and (bottom is not None or adds_up):
            return ANYTHING
        if alone and bottom is None and used.sum() == 1:
            parts = noisy_numbers[0].parts(group, top.coefficients > 0)
            around = noisy_numbers[0].around(parts[0], int(used.argmax())) if len(parts) == 1 else None
            if around is not None:
                ends = 0.0, self._most_around(noisy_numbers[0], group, parts[0], around, used, level, target)
                low, high = sorted(float(top.coefficients[used][0]) * end for end in ends)
                return low + top.shift, high + top.shift
        # Each number by itself bounds the sums, with the weights that are largest, or smallest, over the others.
        level, low, high = 1 - (1 - level) / len(noisy_numbers), *ANYTHING
        for noisy in noisy_numbers:
            ranges = []
            for largest in (True,) if alone else (False, True):
                parts = noisy.parts(group, (top.coefficients > 0) == largest)
                measures = Measures(noisy, group, parts, self.estimates, target)
                ranges.append(measures.interval(top, bottom, level, alone=alone))
            low, high = max(low, ranges[0][0]), min(high, ranges[-1][1])
        return low, high

    def _most_around(
        self,
        noisy: NoisyNumber,
        group: int,
        part: ChosenRows,
        around: Array,
        used: Array,
        level: float,
        target: Target,
    ) -> float:
        """How many rows of a group may lie around points of the grid; one answer serves all values there."""
        key = noisy.number, noisy.rows(group, 1).start, part.cells.tobytes(), around.tobytes(), level, target
        if key not in self._most:
            measures = Measures(noisy, group, [part], self.estimates, target, around)
            self._most[key] = measures.interval(Linear(used.astype(float)), None, level, alone=True)[1]
        return self._most[key]


# The least and the greatest value: a linear programme -----------------------------------------------------------------

_OPTIONS = {"output_flag": False, "solver": "simplex", "presolve": "off"}


class Constraints:
    """All x ≥ 0 with lower ≤ A x ≤ upper.

    >>> Constraints(np.array([[1.0, 1.0], [1.0, 0.0]]), np.array([2.0, 0.5]), np.array([2.0, 1.0])).range(np.eye(2)[1])
    (1.0, 1.5)
    """

    def __init__(self, matrix: Array, lower: Array, upper: Array) -> None:
        highspy: Any = import_module("highspy")  # quick, but not needed by most
        rows, self._columns = matrix.shape
        nothing = np.zeros(self._columns)
        row, column = np.nonzero(matrix)
        start = np.searchsorted(row, np.arange(rows + 1)).astype(np.int32)
        self._solver = highspy.Highs()
        for option, value in _OPTIONS.items():
            self._solver.setOptionValue(option, value)
        # In one call: each field of a model by itself takes as long as all of them.
        self._solver.passModel(
            self._columns,
            rows,
            len(row),
            int(highspy.MatrixFormat.kRowwise),
            int(highspy.ObjSense.kMinimize),
            0.0,
            nothing,
            nothing,
            nothing + np.inf,
            lower,
            upper,
            start,
            column.astype(np.int32),
            matrix[row, column],
            nothing.astype(np.int32),  # no variable is a whole number
        )
        self._senses = highspy.ObjSense.kMinimize, highspy.ObjSense.kMaximize
        self._status = highspy.HighsModelStatus

    def range(self, costs: Array) -> tuple[float, float] | None:
        """The least and the greatest Σ costs · x, infinite where there is none; None where no x satisfies all."""
        self._solver.changeColsCost(self._columns, np.arange(self._columns, dtype=np.int32), costs)
        ends = []
        for sense, without in zip(self._senses, (-np.inf, np.inf), strict=True):
            self._solver.changeObjectiveSense(sense)
            self._solver.run()
            status = self._solver.getModelStatus()
            if status == self._status.kInfeasible:
                return None
            # Whatever else happened, the solver proved no end.
            is_proven = status == self._status.kOptimal
            ends.append(float(self._solver.getInfo().objective_function_value) if is_proven else without)
        return ends[0], ends[1]


ANYTHING = -np.inf, np.inf
_WIDER = (1.0, 1.5, 3.0, 10.0)  # factors of the radii, until some measure fits
_ROUNDING = 1e-7  # what the solver may miss, as a part of all rows
Measure: TypeAlias = tuple[int, tuple[Powers, ...]]  # the rows of a part, times powers of other numbers


class RowBounds(NamedTuple):
    """Functions of the variables, in rows, and what they are, give or take a radius."""

    matrix: Array
    values: Array
    radii: Array


class Measures:
    """What a group has at each point of a number, as shares of all rows: the variables of a linear programme.

    A part has the measure F of its rows, and for each product z of other numbers, which lie in [−1, 1], that of 1 + z,
    so that both are at least 0 and the second is at most 2F. With `around`, points of the grid, these are counted in
    the place of codes between them: a row between two such points has the law of one that is at either.
    """

    def __init__(
        self,
        noisy: NoisyNumber,
        group: int,
        parts: list[ChosenRows],
        estimates: SumEstimates,
        target: Target,
        around: Array | None = None,
    ) -> None:
        self.noisy, self.group, self.parts, self.estimates, self.target = noisy, group, parts, estimates, target
        self.around = around
        self.rows = max(noisy.table.rows, 1)
        self.powers = [wanted.powers[noisy.number] for wanted in noisy.sums]
        self.others = [noisy.other_powers(wanted) for wanted in noisy.sums]
        self.plain = noisy.plain
        weights = np.concatenate([np.zeros((1, noisy.blocks)), *(part.weights for part in parts)])
        jump = np.pad(np.diff(weights[:, noisy.points.block], axis=1).any(axis=0), 1)
        self.kept = noisy.points.on_grid
        if around is None:
            self.kept = self.kept | jump[1:] | jump[:-1]
        self.measures: list[Measure] = []

    def interval(self, top: Linear, bottom: Linear | None, level: float, *, alone: bool) -> tuple[float, float]:
        """What a linear function of the sums, or a ratio of two of them, can be.

        Without being `alone` the number shares the conditions with others under wide noise.
        """
        if not self.parts:
            return (top.shift, top.shift) if bottom is None else ANYTHING
        asked = [top] if bottom is None else [top, bottom]
        used = np.flatnonzero(np.any([linear.coefficients != 0 for linear in asked], axis=0)).tolist()
        if not all(map(self._is_bounded, used)):
            return ANYTHING
        products = dict.fromkeys([self.plain, *(self.others[j] for j in used)])
        self.measures = [(m, powers) for m in range(len(self.parts)) for powers in products]
        if alone:
            half = (1 + level) / 2
            bounds = [*self._tests(half), self._scores(asked, half)]
        else:
            bounds = list(self._tests(level))
        for factor in _WIDER:
            extremes = self._extremes(bounds, factor, top, bottom)
            if extremes is not None:
                return extremes
        return ANYTHING

    def _is_bounded(self, place: int) -> bool:
        """Whether the numbers of a sum are known to lie in [−1, 1]: those of public columns are not declared."""
        powers = self.noisy.sums[place].powers
        axes = [axis for axis, p in zip(self.noisy.table.axes, powers, strict=True) if any(p)]
        return not any(isinstance(axis, MomentsAxis) and not axis.is_declared for axis in axes)

    def _integral(self, measure: Measure, values: Array) -> Array:
        """∫ values d(measure) as a function of the variables; values may be several, by columns."""
        kept = values[self.kept].T
        placed = np.zeros((*kept.shape[:-1], len(self.measures), kept.shape[-1]))
        placed[..., self.measures.index(measure), :] = kept
        if measure[1] != self.plain:
            placed[..., self.measures.index((measure[0], self.plain)), :] = -kept
        return placed.reshape(*kept.shape[:-1], -1)

    def _function(self, linear: Linear) -> Array:
        """Σ coefficients · sums as a function of the variables."""
        coefficients = np.zeros(len(self.measures) * int(self.kept.sum()))
        for m, part in enumerate(self.parts):
            for j in np.flatnonzero(linear.coefficients):
                wanted = self.around
                if wanted is None:
                    wanted = self.noisy.wanted(part.weights[j], self.powers[j])
                coefficients += linear.coefficients[j] * self._integral((m, self.others[j]), wanted)
        return coefficients

    def _tests(self, level: float) -> Iterator[RowBounds]:
        """How many rows of each measure lie below the thresholds."""
        noisy, size = self.noisy, self.noisy.tests.shape[1]
        rows = noisy.rows(self.group, size)
        target = noisy.noise_target(self.target)
        one_level = 1 - (1 - level) / (len(self.measures) * size)
        for m, powers in self.measures:
            estimates = noisy.measured(self.parts[m], powers)
            half = half_widths(estimates.covariance(target, rows)[:, 0, 0], estimates.heaviest[rows, 0], one_level).half
            means, gaps = noisy.test_means
            yield RowBounds(
                self._integral((m, powers), means), estimates.values[rows, 0] / self.rows, half / self.rows + gaps
            )

    def _scores(self, asked: list[Linear], level: float) -> RowBounds:
        """The estimates of the functions that are asked for, as they are without what is added for their bias."""
        noisy, matrix, gaps = self.noisy, [], np.zeros(len(asked))
        for n, linear in enumerate(asked):
            row = np.zeros(len(self.measures) * int(self.kept.sum()))
            for m, part in enumerate(self.parts):
                for j in np.flatnonzero(linear.coefficients):
                    scores = noisy.axis.scores(self.powers[j]).of_sum(part.weights[j])
                    means, gap = noisy.points.means_and_gaps(scores)
                    row += linear.coefficients[j] * self._integral((m, self.others[j]), means)
                    gaps[n] += abs(linear.coefficients[j]) * gap
            matrix.append(row)
        a = np.stack([linear.coefficients for linear in asked])
        variance = np.einsum(
            "ni,ij,nj->n", a, self.estimates.covariance(self.target, slice(self.group, self.group + 1))[0], a
        )
        heaviest = np.abs(a) @ self.estimates.heaviest[self.group]
        half = half_widths(variance, heaviest, 1 - (1 - level) / len(asked)).half
        return RowBounds(np.stack(matrix), a @ self.estimates.values[self.group] / self.rows, half / self.rows + gaps)

    def _extremes(
        self, bounds: list[RowBounds], factor: float, top: Linear, bottom: Linear | None
    ) -> tuple[float, float] | None:
        """The least and the greatest, None where no measure fits."""
        matrix, values, radii = (np.concatenate(arrays) for arrays in zip(*bounds, strict=True))
        twice = self._at_most_twice()
        radii = factor * radii + (_ROUNDING if factor > 1 else 0.0)  # a radius of 0 does not get wider
        matrix = np.concatenate([matrix, twice])
        lower = np.concatenate([values - radii, np.full(len(twice), -np.inf)])
        upper = np.concatenate([values + radii, np.zeros(len(twice))])
        constraints, function = Constraints(matrix, lower, upper), self._function(top)
        if bottom is None:
            extremes = constraints.range(function)
            return None if extremes is None else _wider(extremes, self.rows, top.shift)
        divisor = self._function(bottom)
        sizes = constraints.range(divisor)
        if sizes is None or _wider(sizes, self.rows, bottom.shift)[0] <= 0:
            return None if sizes is None else ANYTHING
        # The ratio is linear in the variables over the divisor, with one more for 1 over it (Charnes, Cooper 1962).
        below, above = np.isfinite(lower), np.isfinite(upper)
        scaled = np.concatenate([
            np.column_stack([matrix[below], -lower[below]]),
            -np.column_stack([matrix[above], -upper[above]]),
            [[*divisor, bottom.shift / self.rows]],
        ])  # fmt: skip
        ends = np.append(np.zeros(len(scaled) - 1), 1.0), np.append(np.full(len(scaled) - 1, np.inf), 1.0)
        extremes = Constraints(scaled, *ends).range(np.append(function, top.shift / self.rows))
        return None if extremes is None else _wider(extremes, 1.0, 0.0)

    def _at_most_twice(self) -> Array:
        """G ≤ 2F at each point, where G is the measure of 1 + z for a product z of other numbers."""
        points = np.eye(int(self.kept.sum()))
        rows = [np.zeros((0, len(self.measures) * len(points)))]
        for n, (m, powers) in enumerate(self.measures):
            if powers != self.plain:
                block = np.zeros((len(points), len(self.measures), len(points)))
                block[:, n], block[:, self.measures.index((m, self.plain))] = points, -2 * points
                rows.append(block.reshape(len(points), -1))
        return np.concatenate(rows)


def _wider(ends: tuple[float, float], unit: float, shift: float) -> tuple[float, float]:
    """Both ends in other units, with what the solver may have missed."""
    return (ends[0] - _ROUNDING) * unit + shift, (ends[1] + _ROUNDING) * unit + shift


# The test of one hypothesis about a quantile --------------------------------------------------------------------------

_FEW_STEPS = 20  # of the fit to the rows
_ANYWHERE = 0.02  # of the rows may lie anywhere, whatever the fit says
_STRICT = 1e3  # how much more a constraint weighs than what is seen
_ROUNDS, _SETTLED, _TINY = 200, 1e-9, 1e-12  # of the least squares within the hypothesis


def is_not_refuted(
    noisy: NoisyNumber, group: int, parts: list[ChosenRows], sign: int, least: float, level: float, target: Target
) -> bool:
    """Whether sign · (the first sum of a group) ≥ `least` for some distribution that fits the rows."""
    if not parts:
        return least <= 0
    counts = np.maximum(np.stack([noisy.counts(group, part) for part in parts]), 0.0)
    heights = sign * np.stack([part.weights[0][noisy.points.block] for part in parts])
    bins, law, _ = noisy.bins
    fit = _fit(law, counts)
    mean = least / max(float(counts.sum()), 1.0)
    if (heights * fit).sum() >= mean:
        return True
    seen = fit @ law
    scores = _within(law, seen, heights - mean) @ law / seen - 1
    means, gaps = zip(*(noisy.points.means_and_gaps(bins @ score) for score in scores), strict=True)
    slope, shift = _above(heights, np.stack(means) - np.array(gaps)[:, None])
    target = noisy.noise_target(target)
    pairs = zip(parts, scores + shift, strict=True)
    scored = [noisy.scored(group, part, score, target) for part, score in pairs]
    totals, variances, heaviest = (np.concatenate(numbers) for numbers in zip(*scored, strict=True))
    # The parts are of the same rows: at worst their errors are those of one.
    variance = np.array([np.sqrt(np.abs(variances)).sum() ** 2])
    half = half_widths(variance, np.array([heaviest.sum()]), level).half
    return bool(totals.sum() + half[0] >= slope * least)


def _fit(law: Array, counts: Array) -> Array:
    """A smooth distribution that is likely for the counts, over parts and points: some steps of iterative Bayes."""
    size = counts.shape[0] * len(law)
    shares = np.full((len(counts), len(law)), 1 / size)
    if counts.any():
        for _ in range(_FEW_STEPS):
            shares = shares * ((counts / counts.sum() / (shares @ law)) @ law.T)
    return np.asarray((1 - _ANYWHERE) * shares + _ANYWHERE / size)


def _within(law: Array, seen: Array, heights: Array) -> Array:
    """The distribution with Σ heights · shares = 0 whose law is nearest to what is seen, in χ²."""
    root, (points, bins) = np.sqrt(seen), law.shape
    matrix = np.zeros((root.size + 2, heights.size))
    for n, scale in enumerate(root):
        matrix[n * bins : (n + 1) * bins, n * points : (n + 1) * points] = (law / scale).T
    matrix[-2], matrix[-1] = _STRICT, _STRICT * heights.reshape(-1)
    return nonnegative(matrix, np.append(root, [_STRICT, 0.0])).reshape(heights.shape)


def nonnegative(matrix: Array, wanted: Array) -> Array:
    """The x ≥ 0 with the least |A x − b|² (Lawson and Hanson 1974).

    >>> nonnegative(np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([1.0, -1.0])).tolist()
    [1.0, 0.0]
    """
    x, free = np.zeros(matrix.shape[1]), np.zeros(matrix.shape[1], bool)
    for _ in range(_ROUNDS):
        gain = np.where(free, -np.inf, matrix.T @ (wanted - matrix @ x))
        if gain.max() <= _SETTLED:
            break
        free[gain.argmax()] = True
        while True:
            best = np.zeros_like(x)
            best[free] = np.linalg.lstsq(matrix[:, free], wanted, rcond=None)[0]
            out = free & (best <= 0)
            if not out.any():
                break
            # As far towards the best as nothing gets negative; what has come to 0 stays there.
            step = (x[out] / np.maximum(x[out] - best[out], _TINY)).min()
            x = np.maximum(x + step * (best - x), 0.0)
            free &= x > _TINY
            x[~free] = 0.0
        x = best
    return x


def _above(heights: Array, means: Array) -> tuple[float, float]:
    """κ ≥ 0 and the least shift with means + shift ≥ κ · heights.

    >>> _above(np.array([0.5, -0.5]), np.array([3.0, 1.0]))
    (2.0, -2.0)
    """
    levels, which = np.unique(heights, return_inverse=True)
    least = np.full(len(levels), np.inf)
    np.minimum.at(least, which.reshape(-1), means.reshape(-1))
    rise = levels[:, None] - levels
    slopes = np.divide(least[:, None] - least, rise, out=np.zeros_like(rise), where=rise > 0)
    slopes = np.unique(np.maximum(slopes, 0.0))  # 0, and where two of the lines cross
    shifts = (slopes[:, None] * levels - least).max(axis=1)
    best = int(shifts.argmin())
    return float(slopes[best]), float(shifts[best])
