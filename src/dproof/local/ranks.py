"""Quantiles, extremes, the most frequent values and the number of values of estimated distributions."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dproof.errors import QuestionError
from dproof.exact import int_or_float
from dproof.laws.debias import Array, Contingency, Target, of_whole, scale_up
from dproof.laws.noise import NODES
from dproof.local.counts import Combos, QuestionAxes, StoredRows, count
from dproof.local.distribution_free import DistributionFree
from dproof.local.estimate import estimate, refuse_singular
from dproof.questions.aggregates import Frequent
from dproof.questions.answer import Cell, Range
from dproof.questions.estimated import Ends, EstimatedSums, Options, half_widths
from dproof.questions.measured import (
    EXPECTED_ERRORS,
    NO_ERROR,
    different,
    level_of_each,
    most_frequent,
    normal_quantile,
    over_errors,
    passing,
    possible,
    told,
    values_of,
)
from dproof.questions.question import Aggregate, Compare, Contains, Key, Predicate, Question, both, name
from dproof.questions.sums import Term, present

_MOST_STEPS = 512  # thresholds at which a distribution is estimated
_BIAS_LEFT = (
    0.5  # of the bias at a threshold: where values are smooth, that before it and that behind it cancel in part
)


class Steps(NamedTuple):
    """The distribution of one group at rising values, T(t) being the rows up to t, and n all of them."""

    values: Array
    stand_for: Ends  # the values between which those of a step lie
    total: Array  # T(t) − q·n
    deviation: Array  # of the total: its standard error
    bounds: Callable[[float, float], Ends]  # of the total, by the level, if it is off by so many standard errors
    naive: Array  # T(t) − q·n of the rows as they are


class OrderStatistics:
    """The order statistics of one question on stored rows; what is read for one of them serves the others.

    `combos` are the groups of the public keys, where rows of other parts have these too.
    """

    def __init__(
        self,
        stored: StoredRows,
        question: Question,
        options: Options,
        labels: Sequence[tuple[Any, ...]],
        combos: Combos | None = None,
    ) -> None:
        self.combos = combos
        self.stored = stored
        self.schema = stored.law.schema
        self.question, self.options, self.labels = question, options.for_each(len(labels)), labels
        self.rough = np.zeros(len(labels), bool)  # groups with a distribution that wide noise hides
        self.tables: dict[Any, tuple[QuestionAxes, Contingency, Combos]] = {}  # by column and condition

    def cells(self, aggregate: Aggregate) -> list[Cell]:
        """One cell for every group of the answer."""
        definition = aggregate.definition
        if not self.labels:  # of the public values of no rows
            return []
        where = both(self.question.where, present(aggregate, self.schema.with_undeclared_missing))
        if definition.counts == "values":
            return self._different(aggregate, where)
        if isinstance(definition.chosen, Frequent):
            return self._most_frequent(aggregate, where)
        if definition.chosen is None:
            raise KeyError(f"{aggregate.kind} is no order statistic")
        is_public = self.schema.is_open(aggregate.columns[0])
        groups = self._public(aggregate, where) if is_public else self._private(aggregate, where)
        errors = EXPECTED_ERRORS if self.stored.data is None else NO_ERROR
        return [_told_cell(aggregate, self.options.level, group, errors) for group in groups]

    def _private(self, aggregate: Aggregate, where: Predicate | None) -> Iterator[Steps]:
        """The estimated counts below each value of a sanitised column, in every group."""
        (column,), options = aggregate.columns, self.options
        if (column, where) not in self.tables:
            counting = self._step_axes(column, where)
            self.tables[column, where] = (counting, *counting.read(self.stored, self.combos))
        counting, table, combos = self.tables[column, where]
        ends = _block_ends(counting, column)
        values = ends[0] if aggregate.end == "least" else ends[1]
        if column in self.schema.bins and not aggregate.end:
            values = (ends[0] + ends[1]) / 2
        order = np.argsort(values, kind="stable")
        if aggregate.end == "greatest":
            order = order[::-1]
        marks = np.unique(np.linspace(0, len(order) - 1, min(len(order), _MOST_STEPS)).astype(np.int64))
        takes = (np.argsort(order)[None, :] <= marks[:, None]) - _share(aggregate)
        sums, groups = [counting.sum_of(Term((), where))], counting.groups(combos, {column: takes})
        estimates = table.estimates(sums, groups)
        refuse_singular(counting, estimates.values)
        free = DistributionFree(table, sums, groups, estimates)
        rows, all_rows = self.stored.rows, self.stored.release_rows
        scale, estimates = scale_up(rows, all_rows), of_whole(estimates, all_rows)
        variance = estimates.covariance(options.target)[:, 0, 0]
        deviation = np.sqrt(np.maximum(variance, 0.0))
        bias = scale * np.abs(table.likely_bias(sums[0], groups)) + _BIAS_LEFT * estimates.doubts[:, 0]
        total, naive = (numbers[:, 0].reshape(-1, len(marks)) for numbers in (estimates.values, estimates.naive))
        starts = range(0, total.size, len(marks))
        biased = np.array([free.some_biased(range(start, start + len(marks))) for start in starts], bool)
        self.rough |= biased

        def bounds(n: int, level: float, error: float) -> Ends:
            steps = slice(n * len(marks), (n + 1) * len(marks))
            off = error * deviation[steps]
            if biased[n] and options.assume == "nothing" and self.stored.rows:
                return self._bounds(free, steps.start, _mark(aggregate, total[n]) - off, level)
            half = half_widths(variance[steps], estimates.heaviest[steps, 0], level).half + bias[steps]
            return total[n] + off - half, total[n] + off + half

        stand_for = ends[0][order[marks]], ends[1][order[marks]]
        for n in range(len(total)):
            parts = total[n], deviation[n * len(marks) : (n + 1) * len(marks)]
            yield Steps(values[order[marks]], stand_for, *parts, partial(bounds, n), naive[n])

    def _bounds(self, free: DistributionFree, first: int, marks: Array, level: float) -> Ends:
        """Bounds of T(t) − q·n that only say on which side of the mark it is: −∞ before, ∞ behind.

        The lower one is behind the mark from where on every distribution that fits the rows has passed it, the upper
        one from where on some has.
        """
        target: Target = self.options.target if self.stored.release_rows == self.stored.rows else "population"
        marks = (marks * (self.stored.rows / self.stored.release_rows)).tolist()

        def some(step: int) -> bool:
            return free.can_reach(first + step, 1, marks[step], level, target)

        def every(step: int) -> bool:
            return not free.can_reach(first + step, -1, -marks[step], level, target)

        places = np.arange(len(marks))
        until = [bisect_left(places, True, key=has_passed) for has_passed in (every, some)]
        return np.where(places < until[0], -np.inf, np.inf), np.where(places < until[1], -np.inf, np.inf)

    def _step_axes(self, column: str, where: Predicate | None) -> QuestionAxes:
        """The axes along which a column is counted: a block for every value, or as many steps as can be told apart."""
        space: Any = self.schema.spaces[column]
        most = _MOST_STEPS if self.stored.law.group_of(column).mechanism.family.is_sharp else NODES
        cuts: list[Predicate] = []
        if column in self.schema.bins:  # as many steps as were told apart
            starts = self.schema.bins[column].starts[1:]
            cuts = [Compare(column, "<", space.label(start)) for start in starts if start != space.absent]
        elif space.line is not None and space.candidates > most:
            places = np.unique(np.linspace(0, space.candidates - 1, most + 1).astype(np.int64)[1:-1])
            cuts = [Compare(column, "<=", space.label(int(place))) for place in places]
        needed = [Term((), condition) for condition in (where, *cuts)]
        return QuestionAxes(self.stored.law, needed, self.question.group_by, () if cuts else [column])

    def _public(self, aggregate: Aggregate, where: Predicate | None) -> Iterator[Steps]:
        """The steps of a public column in every group: its values are exact, and the groups need not be."""
        (column,), options = aggregate.columns, self.options
        counting = QuestionAxes(self.stored.law, [Term((), where)], [*self.question.group_by, Key(column)])
        table, combos = counting.read(self.stored)
        inner = counting.groups(combos)
        estimates = table.estimates([counting.sum_of(Term((), where))], inner)
        parts: dict[tuple[Any, ...], list[tuple[float, ...]]] = {labels: [] for labels in self.labels}
        by_value = (
            estimates.values[:, 0],
            estimates.naive[:, 0],
            estimates.squares[:, 0, 0],
            estimates.products[:, 0, 0],
            estimates.heaviest[:, 0],
        )
        for (*group, value), row in zip(inner.labels, np.stack(by_value, axis=1).tolist(), strict=True):
            if isinstance(value, (int, float, Decimal)):
                parts[tuple(group)].append((float(value), *row))
            elif value is not None:
                raise QuestionError(
                    f"{aggregate.kind.upper()} needs numbers, and column {column!r} has other values: COUNT it"
                )
        for rows in parts.values():
            steps = np.array(sorted(rows, reverse=aggregate.end == "greatest")).reshape(-1, 6)
            values, heaviest, sums = steps[:, 0], steps[:, 5], steps[:, 1:5]
            q, upto, all_of = _share(aggregate), np.cumsum(sums, axis=0), sums.sum(axis=0)
            total, naive, *_ = (upto - q * all_of).T
            # Rows with different public values are different rows, so their squares add up: (1 − q)² before t, q²
            # behind.
            *_, square, product = ((1 - 2 * q) * upto + q**2 * all_of).T
            exact = options.target == "table" and self.stored.release_rows == self.stored.rows
            less = product if exact else total**2 / max(self.stored.rows, 1)
            variance = np.where(np.abs(square - less) < 1e-9 * np.abs(square), 0.0, square - less)
            heavy = np.asarray(max(q, 1 - q) * heaviest.max(initial=0.0))

            deviation = np.sqrt(np.maximum(variance, 0.0))

            def bounds(
                level: float,
                error: float,
                total: Array = total,
                variance: Array = variance,
                deviation: Array = deviation,
                heavy: Array = heavy,
            ) -> Ends:
                half, seen = half_widths(variance, heavy, level).half, total + error * deviation
                return seen - half, seen + half

            yield Steps(values, (values, values), total, deviation, bounds, naive)

    def _most_frequent(self, aggregate: Aggregate, where: Predicate | None) -> list[Cell]:
        """The values or items of the largest estimated counts."""
        items, counted = self.schema.spaces[aggregate.columns[0]].items is not None, self._nothing()
        for places, estimated in self._counts(aggregate, where, items, self.options):
            rows = zip(places, estimated.best[:, 0].tolist(), estimated.estimates.naive[:, 0].tolist(), strict=True)
            for (group, value), estimated_rows, naive in rows:
                if value is not None:
                    counted[group].append((estimated_rows, naive, value))
        cells = []
        for found in counted.values():
            labels = [value for _, _, value in found]
            best, raw = (most_frequent(aggregate, labels, np.array([row[n] for row in found])) for n in (0, 1))
            cells.append(Cell(best, raw=raw))
        return cells

    def _different(self, aggregate: Aggregate, where: Predicate | None) -> list[Cell]:
        """How many values or items there are, by the interval of the count of each."""
        column, unseen = aggregate.columns[0], 0
        bins = self.schema.bins.get(column)
        sizes = {} if bins is None else dict(zip(bins.labels, bins.sizes, strict=True))
        if self.schema.is_open(column):  # the values that rows have, also those that are not counted here
            values = len(count(self.stored.data, [name(column)])[1])
            unseen = values - len(self.stored.count([name(column)])[1])
        else:
            values = values_of(aggregate, self.schema)
        options = replace(self.options, level=level_of_each(self.options.level, values), simultaneous=False)
        counts = list(self._counts(aggregate, where, aggregate.definition.of_items, options))
        reach = possible(aggregate, self.question, self.schema, self.stored.release_rows)

        def at(level: float) -> list[Cell]:
            counted = self._nothing()
            for places, estimated in counts:
                cells, _ = estimated.at(level_of_each(level, values)).cells(Aggregate("count"))
                for (group, value), cell in zip(places, cells, strict=True):
                    if value is not None:
                        # In a population there may be any value, however rare.
                        high = cell.high if self.options.target == "table" else np.inf
                        counted[group].append((cell.estimate, cell.low, high, cell.raw, sizes.get(value, 1)))
            more = [(0.0, 0.0, np.inf, 0.0, 1.0)] * unseen
            groups = (np.array([*found, *more], float).reshape(-1, 5, 1) for found in counted.values())
            return [different(*group.transpose(1, 2, 0))[0] for group in groups]

        return [*told(at, reach, self.options.level)]

    def _nothing(self) -> dict[tuple[Any, ...], list[Any]]:
        return {labels: [] for labels in self.labels}

    def _counts(
        self, aggregate: Aggregate, where: Predicate | None, items: bool, options: Options
    ) -> Iterator[tuple[list[tuple[tuple[Any, ...], Any]], EstimatedSums]]:
        """The rows of each group and value or item, several of these at a time: which they are, and their estimates."""
        (column,) = aggregate.columns
        chosen: list[tuple[Any, Predicate | None]] = [(None, where)]
        if items:
            listed: Any = self.schema.declared(column).items
            chosen = [(item, both(where, Contains(column, item))) for item in listed]
        for item, condition in chosen:
            keys = [*self.question.group_by, *(() if items else (Key(column),))]
            counting = QuestionAxes(self.stored.law, [Term((), condition)], keys)
            table, combos = counting.read(self.stored)
            groups = counting.groups(combos)
            estimated = estimate(counting, table, groups, condition, options, self.stored.release_rows)
            places = [(labels, item) if items else (tuple(labels[:-1]), labels[-1]) for labels in groups.labels]
            yield places, estimated


def _mark(aggregate: Aggregate, total: Array) -> float:
    """What T(t) − q·n passes at the statistic.

    An extreme is where half a row is passed; a quantile may be hit exactly, whatever floats make of it.
    """
    return 0.5 if aggregate.end else -1e-9 * float(np.abs(total).max())


def _told_cell(aggregate: Aggregate, level: float, steps: Steps, errors: Sequence[float]) -> Cell:
    """The order statistic of a group, as it is told; an interval that leaves nothing out is not.

    Before there is data it is the mean over so many standard errors of the noise.
    """
    if not len(steps.values):  # of nobody
        return Cell(None)
    everything = Range(Fraction(float(steps.stand_for[0].min())), Fraction(float(steps.stand_for[1].max())))

    def at(level: float) -> list[Cell]:
        return [over_errors(partial(_cell, aggregate, level, steps), errors)]

    (cell,) = told(at, everything, level)
    return cell


def _cell(aggregate: Aggregate, level: float, steps: Steps, error: float) -> Cell:
    """Where an estimated distribution passes its mark, and where it may pass it (Woodruff 1952)."""
    values, total, (least, greatest) = steps.values, steps.total + error * steps.deviation, steps.bounds(level, error)
    if not (total.any() or (least != greatest).any()):  # of no rows, surely
        return Cell(None)
    mark = _mark(aggregate, total)
    rising = (np.maximum.accumulate(total) + np.minimum.accumulate(total[::-1])[::-1]) / 2
    middle, *reach = passing(rising, least, greatest, mark)
    raw, _, _ = passing(steps.naive, least, greatest, mark)
    ends = float(steps.stand_for[0][reach].min()), float(steps.stand_for[1][reach].max())
    stderr = (ends[1] - ends[0]) / (2 * normal_quantile(level))
    return Cell(_number(values[middle]), ends[0], ends[1], stderr, _number(values[raw]))


def _number(value: float) -> int | float:
    return int_or_float(Fraction(float(value)))


def _share(aggregate: Aggregate) -> float:
    """q of a quantile: T(t) − q·n passes 0 there."""
    return 0.0 if aggregate.end else float(aggregate.argument or 0)


def _block_ends(counting: QuestionAxes, column: str) -> Ends:
    """The least and the greatest number of each block of a column."""
    cut, space = counting.cuts[column], counting.schema.declared(column)
    last = cut.samples
    last[cut.block] = cut.last  # the last of its runs is assigned last
    return np.asarray(space.values_of(cut.samples)), np.asarray(space.values_of(last))
