"""SQL on a release of measured tables: best linear unbiased answers, with variances that do not depend on the data.

A sum over rows is Σ q·v over the cells of one table v, with weights q: 1 where a condition holds, or a number where
numbers are added up. What was measured tells every table as a sum of independent residuals with known variances, and
with it the covariances of all sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from dproof.central.curves import CURVES, TableCurves
from dproof.central.distribution import Distribution
from dproof.central.projection import projection
from dproof.central.question_sums import QuestionSums, Untold, Weights
from dproof.central.residuals import Estimates
from dproof.central.weights import covariances, measured_sum
from dproof.errors import InputError
from dproof.laws.scores import Array
from dproof.local.contingency import Estimates as SumEstimates
from dproof.local.counted import values_of
from dproof.local.estimated import Estimated, Options, Warnings, options_of, warned
from dproof.local.intervals import half_widths, normal_quantile
from dproof.plans.schema import as_counted, schema_of
from dproof.questions.aggregates import Frequent, Rank
from dproof.questions.answer import Answer, Cell
from dproof.questions.distinct import different, level_of_each
from dproof.questions.measured import answer, calculated, possible, refuse_calculation, rows_of_group
from dproof.questions.question import Aggregate, Expression, Item, Question, aggregates_of, columns
from dproof.questions.schema import Schema, asks_for_curves, resolve
from dproof.questions.sql import Asked, as_question

_METHODS = {
    "inverse": "best linear unbiased estimate",
    "projection": "shrinkage estimate (empirical Bayes), without negative counts",
}
_INTERVALS = "; intervals for the table that was measured (privacy noise only)"
_WAYS_OUT = "a release with a larger ε, fewer or coarser columns, or `dproof ask` on the private table"
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
        raise InputError(f"method={chosen.method!r} is for releases of rows: tables have inverse, projection and model")
    if chosen.simultaneous and release.law.is_pure:
        raise InputError("simultaneous intervals need Gaussian noise, so delta above 0: leave simultaneous out")
    if chosen.target != "table":
        raise InputError("the intervals of a release of tables are for the table that was measured: leave target out")
    schema = schema_of(release.law.plan, "release")
    question = resolve(as_question(asked, "release"), schema)
    has_curves = asks_for_curves(question, schema)
    measured = TableCurves if has_curves else MeasuredTables
    try:
        answered = answer(
            question, schema, lambda level: measured(release, question, schema, chosen.at(level)), chosen.level
        )
    except Untold as refused:
        if has_curves:  # made-up rows leave them out
            raise
        has_rows = release.certificate["release"]["made_up_rows"] is not None
        raise InputError(f"{refused}{_MODEL if has_rows else _NO_MODEL}") from None
    notes = (*answered.notes, *as_counted(release.law.plan, columns(question)))
    return replace(answered, notes=notes, method=CURVES if has_curves else _METHODS[chosen.method] + _INTERVALS)


class MeasuredTables:
    """One question on the measured tables of a release (see `Measured`)."""

    ways_out = _WAYS_OUT

    def __init__(self, release: Any, question: Question, schema: Schema, options: Options) -> None:
        self.question, self.release, self.options = question, release, options
        self.rows, self.private = release.rows, release.private
        self.asked = QuestionSums(question, schema, release.law.axes)
        groups, needed = self.asked.groups, self.asked.needed
        self.keys, numbers = self.asked.keys, values_of(self.asked.scales)
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
        self.estimated = Estimated(
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
        measured = MeasuredTables(self.release, question, self.asked.schema, apart)
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


def _totals(estimates: Mapping[int | None, Estimates], sums: Sequence[Weights], groups: int) -> Array:
    """Some sums in every group."""
    tables = [estimates[one.number].table(one.table).ravel() for one in sums]
    columns = [np.bincount(s.groups, s.weights * table, groups) for s, table in zip(sums, tables, strict=True)]
    return np.stack(columns, axis=1)
