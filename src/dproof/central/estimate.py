"""Answers to SQL on a release of measured tables: best linear unbiased ones, whose variances no data change.

A sum over rows is Σ q·v over the cells of one table v, with weights q: 1 where a condition holds, or a number where
numbers are added up. What was measured tells every table as a sum of independent residuals with known variances, and
with it the covariances of all sums. Quantiles and deviations of a number follow from the counts of its bins.
Questions that tables cannot answer are answered from the made-up rows: by a model, without an interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from dproof.central.curves import CURVES, TableCurves
from dproof.central.question_sums import QuestionSums, Weights, covariances, measured_sum
from dproof.central.smooth import projection
from dproof.central.workload import ResidualEstimates
from dproof.coins import NOT_PRIVATE
from dproof.columns.column import Column
from dproof.errors import NotMeasured, QuestionError
from dproof.laws.debias import Array
from dproof.plans.plan import preprocessing_notes, schema_of
from dproof.plans.release_table import TableAxis
from dproof.questions.aggregates import Frequent, Rank
from dproof.questions.answer import Answer, Cell
from dproof.questions.counting import Counter
from dproof.questions.estimated import (
    EstimatedSums,
    Options,
    SumEstimates,
    Value,
    Warnings,
    half_widths,
    normal_quantile,
    options_of,
    warned,
)
from dproof.questions.measured import (
    AnswerSource,
    answer,
    calculated,
    different,
    level_of_each,
    number_of_values,
    possible,
    refuse_calculation,
    rows_of_group,
)
from dproof.questions.partition import grouping
from dproof.questions.question import Aggregate, Expression, Item, Question, aggregates, aggregates_of, columns
from dproof.questions.schema import Schema, asks_for_curves, resolve
from dproof.questions.sql import Asked, as_question
from dproof.questions.sums import Statistics, Term, terms, value_of, values_on

_METHODS = {
    "inverse": "best linear unbiased estimate",
    "projection": "shrinkage estimate (empirical Bayes), without negative counts",
}
_INTERVALS = "; intervals for the table that was measured (privacy noise only)"
_SUGGESTIONS = "a release with a larger ε, fewer or coarser columns, or `dproof ask` on the private table"
_WITHIN = "numbers were counted in bins: the interval of {} holds wherever they lie in their bins"
_MODEL = "; or ask with method = 'model' for what the made-up rows say, without an interval"
_NO_MODEL = "; or declare rows = true under [release] next time, and ask with method = 'model'"


def query(release: Any, asked: Asked, **options: Any) -> Answer:
    """The unbiased answer to a question on a release of tables, with an interval for each estimate.

    `level` of the intervals; `method` "inverse", or "projection" for counts with less noise and without negative ones,
    whose interval is the unbiased one, made wider where the count lies outside; `simultaneous=True` for intervals that
    hold all at once.

    >>> import pyarrow, dproof as dp
    >>> columns = {"read": {"space": "categories", "values": ["yes", "no"]}}
    >>> plan = {"privacy": {"model": "central", "epsilon": 1, "delta": "1e-6"}, "columns": columns}
    >>> release = dp.sanitise(pyarrow.table({"read": ["yes"] * 300 + ["no"] * 700}), plan)
    >>> [row["read"] for row in query(release, "SELECT read, count(*) FROM release GROUP BY read").rows]
    ['yes', 'no']
    """
    chosen = options_of(options)
    if chosen.method not in _METHODS:
        raise QuestionError(
            f"method={chosen.method!r} is for releases of rows: tables have inverse, projection and model"
        )
    if chosen.simultaneous and release.law.is_pure:
        raise QuestionError("simultaneous intervals need Gaussian noise, so delta above 0: leave simultaneous out")
    if chosen.target != "table":
        raise QuestionError(
            "the intervals of a release of tables are for the table that was measured: leave target out"
        )
    schema = release.law.schema
    question = resolve(as_question(asked, "release"), schema)
    has_curves = asks_for_curves(question, schema)
    try:
        answered = answer(question, schema, lambda level: source(release, question, chosen.at(level)), chosen.level)
    except NotMeasured as refused:
        if has_curves:  # made-up rows leave them out
            raise
        has_rows = release.certificate["release"]["made_up_rows"] is not None
        raise NotMeasured(f"{refused}{_MODEL if has_rows else _NO_MODEL}") from None
    notes = (*answered.notes, *preprocessing_notes(release.law.plan, columns(question)))
    return replace(answered, notes=notes, method=CURVES if has_curves else _METHODS[chosen.method] + _INTERVALS)


def source(release: Any, question: Question, options: Options) -> AnswerSource:
    """What answers a question from the measured tables of a release."""
    schema = release.law.schema
    asker = TableCurves if asks_for_curves(question, schema) else ResidualAnswerSource
    return asker(release, question, schema, options)


class ResidualAnswerSource:
    """One question on the measured tables of a release (see `AnswerSource`)."""

    suggestions = _SUGGESTIONS

    def __init__(self, release: Any, question: Question, schema: Schema, options: Options) -> None:
        self.question, self.release, self.options = question, release, options
        self.rows, self.private = release.rows, release.private
        self.asked = QuestionSums(question, schema, release.law.axes)
        groups, needed = self.asked.groups, self.asked.needed
        self.keys, numbers = self.asked.keys, values_on(self.asked.scales)
        self.labels = list(product(*(key.labels for key in self.keys)))
        sums = [measured_sum(release, self.asked.weights(term)) for term in needed]
        values, nothing = _totals(release.estimates, sums, groups), np.zeros((groups, len(sums)))
        self.shown = self.asked.occurring()
        self.by_method = release.estimates  # what is shown; intervals are those of the unbiased estimates
        if options.method == "projection":
            self.by_method = {**release.estimates, None: projection(release.estimates[None], release.law.tables)}
        fitted = _totals(self.by_method, sums, groups) if options.method == "projection" else None
        covariance = covariances(release.estimates, sums, groups)
        estimates = SumEstimates(values, values, nothing, nothing, covariance, covariance, self.rows or 0)
        careful = replace(options, level=release.law.normal_level(options.level)).for_each(rows_of_group(question))
        one_group = careful.for_each(groups)
        self.plain_level = options.for_each(rows_of_group(question)).for_each(groups).level
        self.estimated = EstimatedSums(
            schema, numbers, needed, question.where, careful, estimates, fitted, covariance, None
        )
        self.answered: dict[Expression, Any] = {}
        for aggregate in self.asked.special:
            moment = aggregate.definition.moment
            within = ((_WITHIN.format(f"a {moment}"), np.ones(groups, bool)),) if moment else ()
            self.answered[aggregate] = self._special(aggregate, groups, one_group.level), within

    def _special(self, aggregate: Aggregate, groups: int, level: float) -> list[Cell]:
        """What is told by the counts of the values or bins of a column, in every group."""
        definition = aggregate.definition
        if isinstance(definition.chosen, Frequent):
            return self._most_frequent(aggregate, groups)
        if definition.counts:
            return self._different(aggregate, groups, self.plain_level)
        counts, place, axis = self.asked.counts_by(aggregate)
        estimates = self.release.estimates
        spread = Distribution(measured_sum(self.release, counts), place, axis, groups, estimates, self.by_method[None])
        if definition.chosen == Rank():
            return spread.quantiles(float(aggregate.argument or 0), level)
        if definition.moment == "mean":
            return spread.means(level, self.estimated)
        return spread.deviations(aggregate.argument, level, self.estimated, squared=definition.moment == "variance")

    def _most_frequent(self, aggregate: Aggregate, groups: int) -> list[Cell]:
        """The values, bins or items of the largest estimated counts, in every group."""
        labels, _, by_value = self._by_value(aggregate, groups)
        order = np.argsort(-by_value(lambda one, size: _totals(self.by_method, [one], size)), axis=1, kind="stable")
        most = int(aggregate.argument or 0)
        chosen = ([labels[n] for n in row[:most]] if most else labels[row[0]] for row in order)
        return [Cell(best, raw=best) for best in chosen]

    def _different(self, aggregate: Aggregate, groups: int, level: float) -> list[Cell]:
        """How many values or items there are in every group, by the interval of the count of each."""
        labels, sizes, by_value = self._by_value(aggregate, groups)
        counts, shown = (
            by_value(lambda one, size, by=by: _totals(by, [one], size))  # type: ignore[misc]
            for by in (self.release.estimates, self.by_method)
        )
        variance = by_value(lambda one, size: covariances(self.release.estimates, [one], size)[:, :, 0])
        level = self.release.law.normal_level(level_of_each(level, len(labels)))
        half = half_widths(variance, np.zeros_like(variance), level).half
        return different(shown, counts - half, counts + half, counts, sizes)

    def _by_value(
        self, aggregate: Aggregate, groups: int
    ) -> tuple[list[Any], Array, Callable[[Callable[[Weights, int], Array]], Array]]:
        """The values, bins or items of a column, how many values each stands for, and what tables a function of sums,
        and of how many numbers it is to give, by group and value."""
        space = self.asked.schema.declared(aggregate.columns[0])
        if space.items is not None:
            labels: list[Any] = list(space.items)
            sums = [measured_sum(self.release, one) for one in self.asked.counts_of_items(aggregate, labels)]
            return labels, np.ones(len(labels)), lambda of: np.hstack([of(one, groups) for one in sums])
        counts, place, axis = self.asked.counts_by(aggregate)
        there = [n for n, label in enumerate(axis.bins.labels) if label is not None]
        labels, sizes = [axis.bins.labels[n] for n in there], np.array(axis.bins.sizes)[there]
        by_bin = measured_sum(self.release, counts).by(place, axis.size)
        return labels, sizes, lambda of: of(by_bin, groups * axis.size).reshape(groups, -1)[:, there]

    def _answered(self, expression: Expression) -> Any:
        if expression not in self.answered:
            refuse_calculation(expression, [a for a in self.asked.special if isinstance(a.definition.chosen, Frequent)])
            by_bins = not set(self.asked.special).isdisjoint(aggregates_of(expression))
            self.answered[expression] = (self._calculated if by_bins else self.estimated.cells)(expression)
        return self.answered[expression]

    def _calculated(self, expression: Expression) -> tuple[list[Cell], Warnings]:
        """A calculation with what bins tell: interval arithmetic, from intervals that hold all at once (Bonferroni)."""
        parts, options = dict.fromkeys(aggregates_of(expression)), self.options.for_each(rows_of_group(self.question))
        apart = replace(options, level=1 - (1 - options.level) / len(parts))
        alone = tuple(Item("", part) for part in parts)
        question = replace(self.question, select=alone, having=(), order_by=(), limit=None, unnest=None)
        measured = ResidualAnswerSource(self.release, question, self.asked.schema, apart)
        found = {part: measured._answered(part) for part in parts}
        reach = {part: possible(part, question, self.asked.schema, self.rows) for part in parts}
        groups = ({part: reach[part].cut(found[part][0][n]) for part in parts} for n in range(len(self.labels)))
        cells, z = [calculated(expression, group) for group in groups], normal_quantile(options.level)
        widths = [None if cell.low is None else (cell.high - cell.low) / (2 * z) for cell in cells]
        cells = [replace(cell, stderr=width) for cell, width in zip(cells, widths, strict=True)]
        return cells, tuple(warning for _, warnings in found.values() for warning in warnings)

    def cells(self, expression: Expression, groups: Sequence[int]) -> Sequence[Any]:
        cells: list[Cell] = self._answered(expression)[0]
        return [cells[n] for n in groups]

    def notes(self, groups: Sequence[int]) -> Iterator[str]:
        yield from warned(self.question, self.answered, groups, self.private)


def _totals(estimates: Mapping[int | None, ResidualEstimates], sums: Sequence[Weights], groups: int) -> Array:
    """Some sums in every group."""
    tables = [estimates[one.number].table(one.table).ravel() for one in sums]
    columns = [np.bincount(s.groups, s.weights * table, groups) for s, table in zip(sums, tables, strict=True)]
    return np.stack(columns, axis=1)


_EVENLY = 12  # the square of a bin's width over the variance of numbers that lie evenly in it


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """A number by its bins in every group: the counts that are asked for, and the axis of the number.

    `estimates` are unbiased, and intervals come from them; `by_method` are the counts that what is shown is made from.
    """

    counts: Weights
    place: int
    axis: TableAxis
    groups: int
    estimates: Mapping[int | None, ResidualEstimates]
    by_method: ResidualEstimates

    def quantiles(self, share: float, level: float) -> list[Cell]:
        """The value with this share of the rows at or below it, with the interval of Woodruff 1952."""
        steps = list(self._steps(share))
        fitted, totals, variances = (np.stack(part, axis=1) for part in zip(*steps, strict=True))
        halves = normal_quantile(level) * np.sqrt(np.maximum(variances, 0.0))
        return [self._cell(*group, share, level) for group in zip(fitted, totals, halves, strict=True)]

    def _steps(self, share: float) -> Iterator[tuple[Array, Array, Array]]:
        """For each bin (rows up to its end) − share · (all rows), by group: as shown, unbiased, and its variance."""
        for last in range(len(self._ends())):
            moved = self.counts.up_to(self.place, last, share)
            variance = covariances(self.estimates, [moved], self.groups)[:, 0, 0]
            yield self._total(moved, self.by_method), self._total(moved, self.estimates[None]), variance

    def _total(self, sums: Weights, counts: ResidualEstimates) -> Array:
        return np.bincount(sums.groups, sums.weights * counts.table(sums.table).ravel(), self.groups)

    def deviations(self, less: Fraction | None, level: float, sums_of: EstimatedSums, *, squared: bool) -> list[Cell]:
        """The standard deviation of the numbers, or its square.

        A number is the middle of its bin and a rest of at most half the bin's width. The deviation of a sum of two
        numbers is at most the sum and at least the difference of their deviations, so what the middles have is right to
        r = √(mean of width²)/2. The interval is that of the middles, as `sums_of` has it for every variance, with r on
        both sides. The estimate takes numbers to lie evenly within their bins.
        """
        least, most, _ = self._bins()
        middle, width = (least + most) / 2, most - least
        sums = self._weighted(middle, middle**2, width**2)

        def moments(counts: ResidualEstimates) -> tuple[Value, Value]:
            """The variance of the middles, and the mean of width²."""
            n, first, second, widths = self._values(sums, counts)
            return (second - first * first / n) / (n - float(less or 0)), widths / n

        with np.errstate(divide="ignore", invalid="ignore"):
            (between, within), (variance, spread) = moments(self.estimates[None]), moments(self.by_method)
            z, middles = normal_quantile(level), self._noise(sums_of, len(sums), level).spread(between.root())
            rest = np.sqrt(np.maximum(within.value + z * np.sqrt(np.maximum(within.variance, 0.0)), 0.0)) / 2
            estimate = np.sqrt(np.maximum(variance.value, 0.0) + np.maximum(spread.value, 0.0) / _EVENLY)
            low = np.minimum(np.maximum(middles.low - rest, 0.0), estimate)
            high = np.maximum(middles.high + rest, estimate)
        if squared:
            estimate, low, high = estimate**2, low**2, high**2
        unsure = middles.unsure | (self._total(sums[0], self.estimates[None]) <= 1)
        return _cells(estimate, low, high, unsure, z)

    def means(self, level: float, sums_of: EstimatedSums) -> list[Cell]:
        """The mean of the numbers: between the mean of the least of their bins and the mean of the greatest.

        The estimate takes the middles of bins.
        """
        least, most, origin = self._bins()
        sums = self._weighted(least, most)
        noise = self._noise(sums_of, len(sums), level)
        with np.errstate(divide="ignore", invalid="ignore"):
            n, below, above = self._values(sums, self.estimates[None])
            lowest, highest = (noise.spread(side / n) for side in (below, above))
            n, below, above = self._values(sums, self.by_method)
            estimate = (below.value + above.value) / (2 * n.value)
            low, high = np.minimum(lowest.low, estimate), np.maximum(highest.high, estimate)
        unsure = lowest.unsure | highest.unsure
        return _cells(estimate + origin, low + origin, high + origin, unsure, normal_quantile(level))

    def _bins(self) -> tuple[Array, Array, float]:
        """The least and the greatest number of the bin of every cell, about an origin among them, and that."""
        ends = np.array([*self._ends(), (0.0, 0.0)])[self.counts.places(self.place)]  # the last, if any, is missing
        used = self.counts.weights != 0
        origin = float(ends[used].mean()) if used.any() else 0.0
        return ends[:, 0] - origin, ends[:, 1] - origin, origin

    def _weighted(self, *numbers: Array) -> list[Weights]:
        """The counts that are asked for, and the sums of some numbers of their bins."""
        return [self.counts, *(replace(self.counts, weights=self.counts.weights * each) for each in numbers)]

    def _values(self, sums: list[Weights], counts: ResidualEstimates) -> list[Value]:
        covariance, certain = covariances(self.estimates, sums, self.groups), np.zeros(self.groups, bool)
        slopes = np.broadcast_to(np.eye(len(sums))[:, None], (len(sums), self.groups, len(sums)))
        return [
            Value(self._total(one, counts), slope, covariance, certain, linear=True)
            for one, slope in zip(sums, slopes, strict=True)
        ]

    def _noise(self, sums_of: EstimatedSums, sums: int, level: float) -> EstimatedSums:
        """What makes intervals of so many sums of counts."""
        nothing = np.zeros((self.groups, sums))
        noise = replace(sums_of.estimates, heaviest=nothing, doubts=nothing)
        return replace(sums_of, estimates=noise, options=Options(level))

    def _ends(self) -> list[tuple[float, float]]:
        """The least and the greatest number of each bin."""
        space, bins = self.axis.column.space, self.axis.bins
        stops = [start - 1 for start in (*bins.starts[1:], bins.stop)]
        pairs = [(start, stop) for start, stop in zip(bins.starts, stops, strict=True) if start != space.absent]
        return [tuple(map(float, space.values_of(np.array(pair)))) for pair in pairs]  # type: ignore[misc]

    def _cell(self, fitted: Array, total: Array, half: Array, share: float, level: float) -> Cell:
        rising, ends = np.maximum.accumulate(fitted), self._ends()
        if not (np.abs(total) + half).any() or rising[-1] <= 0:  # perhaps of no rows
            return Cell(None, informative=False) if half.any() else Cell(None)
        middle = int(np.argmax(rising >= 0))
        low = int(np.argmax(total + half >= 0)) if (total + half >= 0).any() else middle
        below = np.flatnonzero(total - half < 0)
        high = min(int(below[-1]) + 1, len(ends) - 1) if len(below) else 0
        low, high = min(low, middle), max(high, middle)
        before = rising[middle - 1] if middle else -share * rising[-1] / (1 - share)
        part = -before / (rising[middle] - before) if rising[middle] > before else 0.5
        estimate = ends[middle][0] + part * (ends[middle][1] - ends[middle][0])
        spread = (ends[high][1] - ends[low][0]) / (2 * normal_quantile(level))
        return Cell(estimate, ends[low][0], ends[high][1], spread, estimate)


def _cells(estimate: Array, low: Array, high: Array, unsure: Array, z: float) -> list[Cell]:
    error = (high - low) / (2 * z)  # bins are part of it, as of a quantile's
    nothing = unsure | ~np.isfinite(error) | ~np.isfinite(estimate)
    cells = zip(*(numbers.tolist() for numbers in (estimate, low, high, error, estimate)), strict=True)
    return [Cell(None, informative=False) if doubt else Cell(*cell) for doubt, cell in zip(nothing, cells, strict=True)]


_METHOD = "model-based: counted in the made-up rows"
_NOTE = (
    "model-based: made-up rows are near the measured tables, and what goes beyond these is a guess without an interval"
)


def query_model(release: Any, asked: Asked, **options: Any) -> Answer:
    """What the made-up rows of a release say, without intervals: nobody knows how far they are from the truth."""
    if options_of(options).simultaneous:
        raise QuestionError("answers of method='model' have no intervals: leave simultaneous out")
    schema = schema_of(release.plan, "release")
    question = resolve(as_question(asked, "release"), schema)
    curve = next((name for name in columns(question) if schema.spaces[name].holds_curves), None)
    if curve is not None:
        raise QuestionError(f"made-up rows leave out curves: ask about {curve!r} without method='model'")
    rows = ModelRows(release, question, schema)
    return answer(question, schema, lambda _: rows, options_of(options).level, _METHOD)


def _restored_codes(column: Column, batch: Any) -> Any:
    """What stored rows hold. A source is read otherwise: a missing set, for one, is stored as an item."""
    return column.codec.restore([batch.column(name) for name in column.stored])


class ModelRows:
    """One question on the made-up rows of a release (see `AnswerSource`)."""

    suggestions = "a release with a larger ε"

    def __init__(self, release: Any, question: Question, schema: Schema) -> None:
        self.schema, self.private, self.rows = schema, release.private, None
        wanted = aggregates(question)
        sums = [term for aggregate in wanted for term in terms(aggregate, schema)]
        every, chosen = Term((), None), [aggregate for aggregate in wanted if not terms(aggregate, schema)]
        counter = Counter(schema, question.group_by, question.where, list(dict.fromkeys([every, *sums, *chosen])))
        for batch in release.to_arrow().to_batches():
            counter.add(
                batch.num_rows, {name: _restored_codes(release.plan.column(name), batch) for name in columns(question)}
            )
        counted = counter.finish()
        self.labels = list(product(*(grouping(key, schema).labels for key in question.group_by)))
        occurs = counted.sums[every]
        self.shown = [n for n, rows in enumerate(occurs) if rows or not question.group_by]
        self.stats: Statistics = {term: np.array(totals, float) for term, totals in counted.sums.items()}
        self.chosen = {one: [self._chosen(one, histogram) for histogram in counted.histograms[one]] for one in chosen}

    def _chosen(self, aggregate: Aggregate, histogram: Mapping[int, int]) -> Any:
        """A quantile, an extreme, the most frequent values, or how many values there are: None of no rows."""
        definition, space = aggregate.definition, self.schema.declared(aggregate.columns[0])
        if definition.counts == "values":
            return number_of_values(aggregate, self.schema, histogram)
        if space.items is not None:
            counts: dict[Any, int] = {
                item: sum(n for code, n in histogram.items() if code >> place & 1)
                for place, item in enumerate(space.items)
            }
        else:
            counts = {space.label(code): n for code, n in histogram.items()}
        if not isinstance(definition.chosen, Rank):
            ranked = sorted((value for value in counts if counts[value]), key=lambda value: -counts[value])
            return ranked[: int(aggregate.argument)] if aggregate.argument else next(iter(ranked), None)
        ordered = sorted(counts)
        if not ordered or definition.chosen.end:
            return (ordered[0] if definition.chosen.end == "least" else ordered[-1]) if ordered else None
        below = np.cumsum([counts[value] for value in ordered])
        return ordered[int(np.argmax(below >= float(aggregate.argument or 0) * below[-1]))]

    def _estimates(self, expression: Expression) -> Sequence[Any]:
        if isinstance(expression, Aggregate) and expression in self.chosen:
            return self.chosen[expression]
        refuse_calculation(expression, self.chosen)
        with np.errstate(all="ignore"):
            found = value_of(expression, self.stats, self.schema, clip=False)
        numbers = np.broadcast_to(found, len(self.labels)).tolist()
        whole = isinstance(expression, Aggregate) and expression.definition.counts
        return [None if not np.isfinite(n) else round(n) if whole else n for n in numbers]

    def cells(self, expression: Expression, groups: Sequence[int]) -> Sequence[Any]:
        estimates = self._estimates(expression)
        return [Cell(estimates[n], raw=estimates[n]) for n in groups]

    def notes(self, groups: Sequence[int]) -> Iterator[str]:
        yield _NOTE
        if not self.private:
            yield NOT_PRIVATE
