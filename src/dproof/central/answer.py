"""Answers to SQL on a release of measured tables: best linear unbiased ones, whose variances no data change.

A sum over rows is Σ q·v over the cells of one table v, with weights q: 1 where a condition holds, or a number where
numbers are added up. What was measured tells every table as a sum of independent residuals with known variances, and
with it the covariances of all sums. Quantiles and deviations of a number follow from the counts of its bins.
Questions that tables cannot answer are answered from the synthetic rows: by a model, without an interval. What a
release of an even table would tell is known before any data is opened: ± comes from it.

The coefficients of curves were added up in whole numbers, as the numbers of a column are, and got the same noise. A
mean is their sum over the number of rows, with a band that holds at every grid point at once. The noise of a sum has
the same variance for every coefficient, independent of each other and of the noise of the counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial, reduce
from itertools import product
from math import isinf
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dproof.central.estimates import ResidualEstimates, projection, spread_evenly
from dproof.central.question_sums import BinCounts, QuestionSums, Weights, covariances, measured_sum
from dproof.central.recipe import TableLaw
from dproof.central.workload import laplace_law
from dproof.coins import NOT_PRIVATE, Coins
from dproof.curves.bands import DRAWS, normal_band_quantile, quantile_of_draws
from dproof.curves.lattice import CurveLattice
from dproof.errors import NotMeasured, QuestionError
from dproof.laws.debias import Array, SumEstimates, tilted
from dproof.plans.plan import TableAxis, preprocessing_notes
from dproof.questions.aggregates import Frequent, Rank
from dproof.questions.answer import EVERY_POINT, EVERY_ROW, Answer, Cell, covered
from dproof.questions.curve_estimate import CurveEstimate, MeasuredCurves, noisy_curve
from dproof.questions.estimated import EstimatedSums, Options, Value, Warnings, half_widths, warned
from dproof.questions.measured import (
    EXPECTED_ERRORS,
    NO_ERROR,
    AnswerSource,
    Shares,
    calculated,
    different,
    level_of_each,
    most_frequent,
    normal_quantile,
    number_of_values,
    over_errors,
    passing,
    possible,
    refuse_calculation,
    rows_of_group,
    told,
)
from dproof.questions.partition import grouping
from dproof.questions.question import (
    Aggregate,
    Expression,
    Question,
    Schema,
    aggregates_of,
    asks_for_curves,
    both,
    leaves,
)
from dproof.questions.sums import Counter, Statistics, Term, centred_terms, present, terms, value_of
from dproof.spaces.interval import Scale

Estimates: TypeAlias = Mapping[int | None, ResidualEstimates]  # of counts, and of the sums of each column
_METHODS = {
    "inverse": "best linear unbiased estimate",
    "projection": "shrinkage estimate (empirical Bayes), without negative counts",
}
_INTERVALS = "; intervals for the table that was measured (privacy noise only)"
_SUGGESTIONS = "a release with a larger ε, fewer or coarser columns, or `dproof ask` on the private table"
_WITHIN = "numbers were counted in bins: the interval of {} holds wherever they lie in their bins"
_MODEL_METHOD = "model-based: counted in the synthetic rows"
_MODEL_NOTE = "model-based: synthetic rows are near the measured tables; all else is a guess without an interval"


def answer_source(release: Any, question: Question, options: Options) -> AnswerSource:
    """What answers a question from the measured tables of a release, or by `method = "model"` from synthetic rows."""
    schema = release.law.schema
    if options.method == "model":
        return ModelRows(release, question, options)
    if options.simultaneous and release.law.is_pure:
        raise QuestionError("simultaneous intervals need Gaussian noise, so delta above 0: leave simultaneous out")
    if asks_for_curves(question, schema):
        return TableCurves(release, question, schema, options)
    try:
        return ResidualAnswerSource(release, question, schema, options)
    except NotMeasured as refused:
        raise NotMeasured(f"{refused}{release.way_out}") from None


def described(release: Any, found: Answer, question: Question, options: Options) -> Answer:
    """An answer with how it was made, and what was done with values before they were counted."""
    if options.method == "model":
        return replace(found, method=_MODEL_METHOD)
    notes = (*found.notes, *preprocessing_notes(release.law.plan, question.columns))
    has_curves = asks_for_curves(question, release.law.schema)
    at_once = EVERY_POINT if has_curves else EVERY_ROW * options.simultaneous
    return replace(
        found,
        notes=notes,
        method=CURVES if has_curves else _METHODS[options.method] + _INTERVALS,
        covers=covered(found.level, at_once=at_once, method="" if options.method == "inverse" else options.method),
    )


class ResidualAnswerSource:
    """One question on the measured tables of a release (see `AnswerSource`)."""

    suggestions = _SUGGESTIONS

    def __init__(self, release: Any, question: Question, schema: Schema, options: Options) -> None:
        if options.method not in _METHODS:
            raise QuestionError(
                f"method={options.method!r} is for releases of rows: tables have inverse, projection and model"
            )
        if options.target != "table":
            raise QuestionError(
                "the intervals of a release of tables are for the table that was measured: leave target out"
            )
        self.question, self.release, self.options = question, release, options
        self.rows, self.private = release.rows, release.private
        self.asked = QuestionSums(question, schema, release.law.axes)
        groups, needed = self.asked.groups, self.asked.needed
        numbers = self.asked.scales
        self.labels = list(product(*(key.labels for key in self.asked.keys)))
        parts = [[measured_sum(release, part) for part in self.asked.parts(term)] for term in needed]
        sums, together = (
            [part for some in parts for part in some],
            np.repeat(np.eye(len(parts)), list(map(len, parts)), 0),
        )
        values, nothing = _totals(release.estimates, sums, groups) @ together, np.zeros((groups, len(parts)))
        self.shown = self.asked.occurring()
        self.by_method = release.estimates  # what is shown; intervals are those of the unbiased estimates
        if options.method == "projection":
            self.by_method = {**release.estimates, None: projection(release.estimates[None], release.law.tables)}
        fitted = _totals(self.by_method, sums, groups) @ together if options.method == "projection" else None
        covariance = together.T @ covariances(release.estimates, sums, groups) @ together
        estimates = SumEstimates(values, values, nothing, nothing, covariance, covariance, self.rows or 0)
        careful = replace(options, level=release.law.normal_level(options.level)).for_each(rows_of_group(question))
        self.estimated = EstimatedSums(
            *(schema, numbers, needed, question.where, careful, estimates, fitted, covariance, None),
            seldom=release.law.seldom,
        )
        self.answered: dict[Expression, tuple[Sequence[Cell], Warnings]] = {}
        self.expected: dict[Aggregate, Estimates] = {}  # before there is data: of the even rows that each is told from
        for aggregate in self.asked.by_counts:
            self._answered(aggregate)  # what is not measured is refused here

    def _counts_for(self, aggregate: Aggregate) -> tuple[Estimates, Estimates]:
        """What was measured, and what the method makes of it; before there is data both are of even rows."""
        expected = self.expected.get(aggregate)
        return (self.release.estimates, self.by_method) if expected is None else (expected, expected)

    def _told_by_counts(self, aggregate: Aggregate, level: float) -> list[Cell]:
        """What is told by the counts of the values or bins of a column, in every group."""
        definition = aggregate.definition
        estimates, by_method = self._counts_for(aggregate)
        if isinstance(definition.chosen, Frequent):
            labels, _, by_value = self._by_value(aggregate)
            shown = by_value(lambda one, size: _totals(by_method, [one], size))
            return [Cell(best, raw=best) for best in (most_frequent(aggregate, labels, row) for row in shown)]
        if definition.counts:
            return self._different(aggregate, level)
        counts = self.asked.by_bins(aggregate)
        measured_sum(self.release, counts.counts)
        errors = EXPECTED_ERRORS if isinstance(self.release, EvenTable) else NO_ERROR
        spread = BinnedDistribution(counts, counts.ends, self.asked.groups, estimates, by_method, errors)
        if definition.chosen == Rank():
            law, parts = self.release.law, (_FINE, 1 - _FINE) if counts.has_ladder else (1.0,)
            missed = 1 - law.plain_level(level)
            levels = [law.normal_level(1 - part * missed) for part in parts]
            return spread.quantiles(float(aggregate.argument or 0), level, levels)
        if definition.moment == "mean":
            return spread.bin_means(level, self.estimated)
        return spread.deviations(aggregate.argument, level, self.estimated, squared=definition.moment == "variance")

    def _different(self, aggregate: Aggregate, level: float) -> list[Cell]:
        """How many values or items there are in every group, by the interval of the count of each."""
        labels, sizes, by_value = self._by_value(aggregate)
        counts, shown = (
            by_value(lambda one, size, by=by: _totals(by, [one], size))  # type: ignore[misc]
            for by in self._counts_for(aggregate)
        )
        variance = by_value(lambda one, size: covariances(self.release.estimates, [one], size)[:, :, 0])
        law = self.release.law
        level_of_value = law.normal_level(level_of_each(law.plain_level(level), len(labels)))
        half = half_widths(variance, np.zeros_like(variance), level_of_value).half
        return different(shown, counts - half, counts + half, counts, sizes)

    def _by_value(
        self, aggregate: Aggregate
    ) -> tuple[list[Any], Array, Callable[[Callable[[Weights, int], Array]], Array]]:
        """The values, bins or items of a column, how many values each stands for, and what tables a function of sums,
        and of how many numbers it is to give, by group and value."""
        counts = [(measured_sum(self.release, one), bins) for one, bins in self.asked.by_value(aggregate)]
        every = [pair for _, bins in counts for pair in zip(bins.labels, bins.sizes, strict=True)]
        there, groups = [n for n, (label, _) in enumerate(every) if label is not None], self.asked.groups

        def tabled(of: Callable[[Weights, int], Array]) -> Array:
            return np.hstack([of(one, groups * bins.size).reshape(groups, -1) for one, bins in counts])[:, there]

        return [every[n][0] for n in there], np.array([every[n][1] for n in there]), tabled

    def _answered(self, expression: Expression) -> tuple[Sequence[Cell], Warnings]:
        if expression not in self.answered:
            parts = aggregates_of(expression)
            special = [part for part in dict.fromkeys(parts) if part in self.asked.by_counts]
            if expression not in special:
                refuse_calculation(expression, [a for a in special if a.definition.is_by_count])
            reach = possible(expression, self.question, self.asked.schema, self.rows)
            if special:
                level, law = self.estimated.options.for_each(self.asked.groups).level, self.release.law
                found = told(lambda at: self._at(expression, at), reach, level, law.seldom), self._within(special)
            else:
                found = self.estimated.cells(expression, reach)
            self.answered[expression] = found
        return self.answered[expression]

    def _within(self, special: Sequence[Aggregate]) -> Warnings:
        moments, everywhere = [part.definition.moment for part in special], np.ones(self.asked.groups, bool)
        return tuple((_WITHIN.format(f"a {moment}"), everywhere) for moment in moments if moment)

    def _at(self, expression: Expression, level: float) -> Sequence[Cell]:
        """An expression with intervals of this level.

        A calculation with what bins tell is interval arithmetic, from intervals that hold all at once (Bonferroni).
        """
        law = self.release.law
        if isinstance(expression, Aggregate):
            if expression in self.asked.by_counts:
                return self._told_by_counts(expression, level)
            return replace(self.estimated, options=Options(level)).cells(expression)[0]
        parts = dict.fromkeys(aggregates_of(expression))
        apart = law.normal_level(1 - (1 - law.plain_level(level)) / len(parts))
        reach = {part: possible(part, self.question, self.asked.schema, self.rows) for part in parts}
        found = {part: reach[part].cut_each(self._at(part, apart)) for part in parts}
        groups = ({part: cells[n] for part, cells in found.items()} for n in range(len(self.labels)))
        cells, z = [calculated(expression, group) for group in groups], normal_quantile(law.plain_level(level))
        widths = [None if cell.low is None else (cell.high - cell.low) / (2 * z) for cell in cells]
        return [replace(cell, stderr=width) for cell, width in zip(cells, widths, strict=True)]

    def cells(self, expression: Expression, groups: Sequence[int]) -> Sequence[Any]:
        cells, _ = self._answered(expression)
        return [cells[n] for n in groups]

    def notes(self, groups: Sequence[int]) -> Iterator[str]:
        yield from warned(self.question, self.answered, groups, self.private)


def _totals(estimates: Estimates, sums: Sequence[Weights], groups: int) -> Array:
    """Some sums in every group."""
    tables = [estimates[one.number].table(one.table).ravel() for one in sums]
    columns = [np.bincount(s.groups, s.weights * table, groups) for s, table in zip(sums, tables, strict=True)]
    beside = [0.0 if s.fine is None else s.fine @ estimates[None].ladders[s.table[0]].deviations for s in sums]
    return np.asarray(np.stack(columns, axis=1) + np.array(beside))


_FINE = 0.8  # of what a quantile's interval may miss, for that by all steps of a ladder
_EVENLY = 12  # the square of a bin's width over the variance of numbers that lie evenly in it


@dataclass(frozen=True, slots=True, eq=False)
class BinnedDistribution:
    """A number by its bins in every group: the counts that are asked for, and the ends of the bins of the column there.

    `estimates` are unbiased, and intervals come from them; `by_method` are the counts that what is shown is made from.
    Before there is data quantiles are the mean over so many standard `errors` of the noise.
    """

    counts: BinCounts
    ends: Array  # the least and the greatest number of each bin
    groups: int
    estimates: Estimates
    by_method: Estimates
    errors: Sequence[float] = NO_ERROR

    def quantiles(self, share: float, level: float, levels: Sequence[float]) -> list[Cell]:
        """The value with this share of the rows at or below it, with the interval of Woodruff 1952.

        On a ladder that is the interval by all its steps, as far as it lies in that by the ends of bins alone: few
        steps are better where the noise is large. Each has a level of its own, and what they miss adds up.
        """
        steps = self._ladder_steps(share) if self.counts.has_ladder else list(self._steps(share))
        fitted, totals, variances = (np.stack(part, axis=1) for part in zip(*steps, strict=True))
        groups = zip(fitted, totals, np.sqrt(np.maximum(variances, 0.0)), strict=True)

        def cell(shown: Array, total: Array, deviation: Array) -> Cell:
            return over_errors(
                lambda error: self._cell(
                    shown + error * deviation, total + error * deviation, deviation, share, level, levels
                ),
                self.errors,
            )

        return [cell(*group) for group in groups]

    def _steps(self, share: float) -> Iterator[tuple[Array, Array, Array]]:
        """For each bin (rows up to its end) − share · (all rows), by group: as shown, unbiased, and its variance."""
        for last in range(len(self.ends)):
            moved = [self.counts.up_to(last, share)]
            shown, unbiased = (_totals(by, moved, self.groups)[:, 0] for by in (self.by_method, self.estimates))
            yield shown, unbiased, covariances(self.estimates, moved, self.groups)[:, 0, 0]

    def _ladder_steps(self, share: float) -> list[tuple[Array, Array, Array]]:
        """The steps of a ladder, worked out all at once: it is of one column, and in one group."""
        moved = [self.counts.up_to(last, share) for last in range(len(self.ends))]
        weights, fine = (np.array(part) for part in zip(*((one.weights, one.fine) for one in moved), strict=True))
        totals, (table,) = [], {one.table for one in moved}
        for by in (self.by_method[None], self.estimates[None]):
            totals.append(weights @ by.table(table).ravel() + fine @ by.ladders[table[0]].deviations)
        known, means = self.estimates[None], weights.mean(axis=1)
        variances = known.variances[()] * means**2 + known.ladders[table[0]].variance * (fine**2).sum(axis=1)
        variances += known.variances[table] * ((weights - means[:, None]) ** 2).sum(axis=1)
        return [
            (fitted[None], total[None], variance[None])
            for fitted, total, variance in zip(*totals, variances, strict=True)
        ]

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

        def moments(by: Estimates) -> tuple[Value, Value]:
            """The variance of the middles, and the mean of width²."""
            n, first, second, widths = self._values(sums, by)
            return (second - first * first / n) / (n - float(less or 0)), widths / n

        with np.errstate(divide="ignore", invalid="ignore"):
            (between, within), (variance, spread) = moments(self.estimates), moments(self.by_method)
            z, middles = normal_quantile(level), self._noise(sums_of, len(sums)).spread(between.root(), level)
            rest = np.sqrt(np.maximum(within.value + z * np.sqrt(np.maximum(within.variance, 0.0)), 0.0)) / 2
            estimate = np.sqrt(np.maximum(variance.value, 0.0) + np.maximum(spread.value, 0.0) / _EVENLY)
            low = np.minimum(np.maximum(middles.low - rest, 0.0), estimate)
            high = np.maximum(middles.high + rest, estimate)
        if squared:
            estimate, low, high = estimate**2, low**2, high**2
        unsure = middles.unsure | (_totals(self.estimates, sums[:1], self.groups)[:, 0] <= 1)
        return _cells(estimate, low, high, unsure, z)

    def bin_means(self, level: float, sums_of: EstimatedSums) -> list[Cell]:
        """The mean of the numbers: between the mean of the least of their bins and the mean of the greatest.

        The estimate takes the middles of bins.
        """
        least, most, origin = self._bins()
        sums = self._weighted(least, most)
        noise = self._noise(sums_of, len(sums))
        with np.errstate(divide="ignore", invalid="ignore"):
            n, below, above = self._values(sums, self.estimates)
            lowest, highest = (noise.spread(side / n, level) for side in (below, above))
            n, below, above = self._values(sums, self.by_method)
            estimate = (below.value + above.value) / (2 * n.value)
            low, high = np.minimum(lowest.low, estimate), np.maximum(highest.high, estimate)
        unsure = lowest.unsure | highest.unsure
        return _cells(estimate + origin, low + origin, high + origin, unsure, normal_quantile(level))

    def _bins(self) -> tuple[Array, Array, float]:
        """The least and the greatest number of every bin, about an origin among them, and that."""
        used = self.counts.used
        ends = np.vstack([self.ends, np.zeros(2)])[: len(used)]  # the last, if any, is missing
        origin = float(ends[used].mean()) if used.any() else 0.0
        return ends[:, 0] - origin, ends[:, 1] - origin, origin

    def _weighted(self, *numbers: Array) -> list[Weights]:
        """The counts that are asked for, and the sums of some numbers of their bins."""
        return [self.counts.counts, *map(self.counts.weighed, numbers)]

    def _values(self, sums: list[Weights], by: Estimates) -> list[Value]:
        covariance = covariances(self.estimates, sums, self.groups)
        slopes = np.broadcast_to(np.eye(len(sums))[:, None], (len(sums), self.groups, len(sums)))
        totals = zip(_totals(by, sums, self.groups).T, slopes, strict=True)
        return [Value(total, slope, covariance, linear=True) for total, slope in totals]

    def _noise(self, sums_of: EstimatedSums, sums: int) -> EstimatedSums:
        """What makes intervals of so many sums of counts."""
        nothing = np.zeros((self.groups, sums))
        noise = replace(sums_of.estimates, heaviest=nothing, doubts=nothing)
        return replace(sums_of, estimates=noise, options=Options())

    def _cell(
        self, fitted: Array, total: Array, error: Array, share: float, level: float, levels: Sequence[float]
    ) -> Cell:
        rising = np.maximum.accumulate(fitted)
        if not (np.abs(total) + error).any() or rising[-1] <= 0:  # perhaps of no rows
            return Cell(None, informative=False) if error.any() else Cell(None)
        half = normal_quantile(levels[0]) * error
        middle, low, high = passing(rising, total - half, total + half)
        if len(levels) > 1:
            last, half = self.counts.last_parts, normal_quantile(levels[1]) * error
            _, first_bin, last_bin = passing(rising[last], (total - half)[last], (total + half)[last])
            low = max(low, int(last[first_bin - 1]) + 1 if first_bin else 0)
            high = min(high, int(last[last_bin]))
            low, high = min(low, high), max(low, high)
            middle = min(max(middle, low), high)
        before = rising[middle - 1] if middle else -share * rising[-1] / (1 - share)
        part = -before / (rising[middle] - before) if rising[middle] > before else 0.5
        (least, greatest), (start, _), (_, stop) = self.ends[[middle, low, high]].tolist()
        estimate = least + part * (greatest - least)
        return Cell(estimate, start, stop, (stop - start) / (2 * normal_quantile(level)), estimate)


def _cells(estimate: Array, low: Array, high: Array, unsure: Array, z: float) -> list[Cell]:
    error = (high - low) / (2 * z)  # bins are part of it, as of a quantile's
    nothing = unsure | ~np.isfinite(error) | ~np.isfinite(estimate)
    cells = zip(*(numbers.tolist() for numbers in (estimate, low, high, error, estimate)), strict=True)
    return [Cell(None, informative=False) if doubt else Cell(*cell) for doubt, cell in zip(nothing, cells, strict=True)]


class ModelRows:
    """One question on the synthetic rows of a release (see `AnswerSource`).

    Nobody knows how far they are from the truth, so that nothing has an interval.
    """

    suggestions = "a release with a larger ε"

    def __init__(self, release: Any, question: Question, options: Options) -> None:
        self.schema: Schema = release.law.schema
        self.private, self.rows = release.private, None
        if options.simultaneous:
            raise QuestionError("answers of method='model' have no intervals: leave simultaneous out")
        curve = next((name for name in question.columns if self.schema.spaces[name].holds_curves), None)
        if curve is not None:
            raise QuestionError(f"synthetic rows leave out curves: ask about {curve!r} without method='model'")
        wanted = question.aggregates
        sums = [term for aggregate in wanted for term in terms(aggregate, self.schema)]
        every, chosen = Term((), None), [aggregate for aggregate in wanted if not terms(aggregate, self.schema)]
        counter = Counter(self.schema, question.group_by, question.where, list(dict.fromkeys([every, *sums, *chosen])))
        read = [release.plan.column(name) for name in question.columns]
        for batch in release.to_arrow().to_batches():
            # What stored rows hold. A source is read otherwise: a missing set, for one, is stored as an item.
            codes = {c.name: c.codec.restore([batch.column(name) for name in c.stored]) for c in read}
            counter.add(batch.num_rows, codes)
        counted = counter.finish()
        self.labels = list(product(*(grouping(key, self.schema).labels for key in question.group_by)))
        self.shown = [n for n, rows in enumerate(counted.sums[every]) if rows or not question.group_by]
        self.stats: Statistics = {term: np.array(totals, float) for term, totals in counted.sums.items()}
        self.chosen = {one: [self._chosen(one, histogram) for histogram in counted.histograms[one]] for one in chosen}

    def _chosen(self, aggregate: Aggregate, histogram: Mapping[int, int]) -> Any:
        """A quantile, an extreme, the most frequent values, or how many values there are: None of no rows."""
        definition, space = aggregate.definition, self.schema.declared(aggregate.columns[0])
        if definition.counts == "values":
            return number_of_values(aggregate, self.schema, histogram)
        counts: dict[Any, int]
        if space.items is not None:
            counts = {space.candidate(place): rows for place, rows in space.tallies(histogram).items()}
        else:
            counts = {space.label(code): rows for code, rows in histogram.items()}
        labels = sorted(counts) if isinstance(definition.chosen, Rank) else [one for one in counts if counts[one]]
        rows = np.array([counts[one] for one in labels])
        if not isinstance(definition.chosen, Rank):
            return most_frequent(aggregate, labels, rows)
        if not labels or aggregate.end:
            return (labels[0] if aggregate.end == "least" else labels[-1]) if labels else None
        total = np.cumsum(rows) - float(aggregate.argument or 0) * rows.sum()
        return labels[passing(total, total, total)[0]]

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
        yield _MODEL_NOTE
        if not self.private:
            yield NOT_PRIVATE


# What would be told of an even table ---------------------------------------------------------------------------------


class EvenTable(NamedTuple):
    """What is measured of a table of so many rows, spread evenly over all cells, if no noise is drawn."""

    law: TableLaw
    rows: int | None
    estimates: Mapping[int | None, ResidualEstimates]
    private: bool = True
    way_out: str = ""


@lru_cache(maxsize=4)  # many questions are asked of the same one
def even_table(law: TableLaw, rows: float, mean: tuple[int, float] | None = None) -> EvenTable:
    """Rows whose codes are spread evenly and independently, or the numbers at one place `tilted` to a mean: the
    residual of a table is then the product of those of its columns, which are 0 but for bins of different sizes;
    numbers about the middle add up to nothing."""
    nobody = law.precisions
    shares, ladders = [np.array(axis.bins.sizes) / sum(axis.bins.sizes) for axis in law.axes], nobody[None].ladders
    if mean is not None:
        place, axis = mean[0], law.axes[mean[0]]
        by_bins, by_parts = _about(axis, mean[1])
        shares[place] = by_bins
        if axis.has_ladder:
            deviations = rows * (by_parts - spread_evenly(axis.parts, by_parts))
            ladders = {**ladders, place: replace(ladders[place], deviations=deviations)}
    apart = [part - 1 / len(part) for part in shares]
    residuals = {
        table: rows * reduce(np.multiply.outer, (apart[place] for place in table), np.array(1.0))
        for table in nobody[None].residuals
    }
    counts = replace(nobody[None], residuals=residuals, ladders=ladders)
    return EvenTable(law, int(rows) if law.plan.rows_are_public else None, {**nobody, None: counts})


def _about(axis: TableAxis, mean: float) -> tuple[Array, Array]:
    """The shares of the rows in each bin of a number, and in each part of these, that lie about a mean."""
    bins, space = axis.ladder if axis.has_ladder else axis.bins, axis.column.space
    starts, sizes = np.array(bins.starts), np.array(bins.sizes)
    there, found = starts != space.absent, sizes / sizes.sum()
    numbers = (np.asarray(space.values_of(starts)) + np.asarray(space.values_of(starts + sizes - 1))) / 2
    found[there] = tilted(numbers[there], found[there], mean) * found[there].sum()
    first = np.cumsum([0, *axis.parts[:-1]]) if axis.has_ladder else np.arange(len(found))
    return np.add.reduceat(found, first), found


def expected_source(law: TableLaw, question: Question, rows: int, shares: Shares, level: float) -> AnswerSource:
    """What a release of the tables of so many rows, with values that are spread evenly, would tell of a question."""
    table, options = even_table(law, rows), Options(level)
    found = answer_source(table, question, options)
    if shares == Shares() or asks_for_curves(question, law.schema):
        return found
    assert isinstance(found, ResidualAnswerSource)
    found.estimated = found.estimated.with_shares(bool(question.group_by), shares, rows)
    chosen = bool(question.group_by) or question.where is not None
    for aggregate in found.asked.by_counts:
        factor = 1.0
        if chosen:
            where = both(question.where, present(aggregate, law.schema))
            (counts,) = (measured_sum(table, part) for part in found.asked.parts(Term((), where)))
            of_group = float(counts.weights @ table.estimates[None].table(counts.table).ravel()) / found.asked.groups
            factor = shares.factor(of_group, rows)
        found.expected[aggregate] = even_table(law, factor * rows, _mean_of(found.asked, aggregate, shares)).estimates
    found.answered.clear()
    return found


def _mean_of(asked: QuestionSums, aggregate: Aggregate, shares: Shares) -> tuple[int, float] | None:
    """The column whose mean or deviation is asked for, and the mean that its numbers are to have, if it is another; of
    all rows, so that none is told where a condition is on that column."""
    is_cut = any(leaf.column in aggregate.columns for leaf in leaves(asked.question.where))
    if aggregate.definition.moment is None or is_cut or not (shares.uneven or shares.mean is not None):
        return None
    place, axis = asked.axes[aggregate.columns[0]]
    low, high = map(float, axis.column.space.ends)
    scale = Scale((low + high) / 2, 1.0, (high - low) / 2, low, high)
    return place, scale.middle + shares.mean_on(scale)


# Mean curves and totals -----------------------------------------------------------------------------------------------

CURVES = "sums of measured coefficients; simultaneous bands for the table that was measured (privacy noise only)"
_OF_COUNT = laplace_law(Fraction(1, 64))  # the shape of the noise of a count
_SEED = bytes(32)  # of the noise that the width of a band is read from: public, and the same for every answer


class TableCurves(MeasuredCurves):
    """AVG and SUM of a curve column on the measured tables of a release (see `AnswerSource`)."""

    suggestions = "a release with a larger ε, or fewer tables"

    def __init__(self, release: Any, question: Question, schema: Schema, options: Options) -> None:
        if options.method != "inverse":
            raise QuestionError("mean curves are answered by method = 'inverse' alone: leave the method out")
        if options.target != "table":
            raise QuestionError(
                "the bands of a release of tables are for the table that was measured: leave target out"
            )
        self.release, self.question = release, question
        self.rows, self.private = release.rows, release.private
        self.asked = QuestionSums(question, schema, release.law.axes)
        self.labels = list(product(*(key.labels for key in self.asked.keys)))
        self.level = options.for_each(len(self.labels)).level
        self.place, _ = self.asked.axes[question.aggregates[0].columns[0]]
        self.lattice: CurveLattice = release.law.lattices[self.place]
        self.lattices = (self.lattice,)
        self.shown = self.asked.occurring()

    def functions(self, expression: Expression, groups: Sequence[int]) -> Sequence[CurveEstimate | None]:
        """The mean or the total of some groups; None where their number of rows may be 0, so that no mean is known."""
        (aggregate,) = aggregates_of(expression)
        rows, curves = centred_terms(aggregate, self.question.where, self.asked.schema)
        counts, sums = (measured_sum(self.release, self.asked.parts(term)[0]) for term in (rows, curves))
        estimates, every = self.release.estimates, len(self.labels)
        totals = np.zeros((every, self.lattice.terms))
        by_cell = estimates[self.place].table(sums.table).reshape(-1, self.lattice.terms)
        np.add.at(totals, sums.groups, sums.weights[:, None] * by_cell)
        numbers = np.bincount(counts.groups, counts.weights * estimates[None].table(counts.table).ravel(), every)
        spread = np.sqrt(np.maximum(covariances(estimates, [counts, sums], every), 0.0))
        known = [(totals[n], float(numbers[n]), (spread[n, 0, 0], spread[n, 1, 1])) for n in groups]
        law, is_total = self.release.law, aggregate.definition.shape == "linear"
        return [curve_function(law, self.place, *one, self.level, is_total=is_total) for one in known]


def curve_function(
    law: TableLaw,
    place: int,
    total: Array,
    count: float,
    deviations: tuple[float, float],
    level: float,
    *,
    is_total: bool = False,
) -> CurveEstimate | None:
    """The mean of so many curves with this sum of coefficients, or their total; None where there may be no curve.

    `deviations` are those of the count and of each coefficient.
    """
    quantile = partial(_quantile, law, place, level)
    made = noisy_curve(law.lattices[place], total, count, deviations, level, quantile, is_total=is_total)
    return None if isinf(made.quantile) else made


def _quantile(law: TableLaw, place: int, level: float, loadings: Array, at_points: bool) -> float:
    """How many standard errors hold at every point at once.

    With δ = 0 the noise of one cell is drawn, and what a table tells may be a sum of several cells: that lies between
    one draw and normal noise, of which either may be the wider. One draw of K-norm noise by the sup norm has all its
    numbers in one cube, and none is far beyond the others.
    """
    normal = normal_band_quantile(loadings, level, at_points=at_points)
    if not law.is_pure:
        return normal
    noise = next(law.law_of(one) for one in law.noise if one.number == place)
    drawn = _drawn(noise, law.lattices[place].terms)[:, : len(loadings)]  # where the count is public it has no noise
    return max(normal, quantile_of_draws(drawn, loadings, level))


@lru_cache(maxsize=4)  # every group of an answer takes the same draws
def _drawn(noise: Any, terms: int) -> Array:
    """The noise of so many coefficients and of a count, each number with variance 1, again and again."""
    coins, laws = Coins(_SEED, private=False), ((noise, terms), (_OF_COUNT, 1))
    drawn = [law.draw(DRAWS * n, coins).reshape(DRAWS, n) / float(law.variance) ** 0.5 for law, n in laws]
    return np.hstack(drawn)
