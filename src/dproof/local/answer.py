"""Answers to SQL on a release of rows: debiased, with intervals.

A question is measured by all rows, or by those that answer for what each of its expressions needs.

A released curve is the true one, as far as its basis can say it, plus noise of mean zero: the mean of released curves
is unbiased as it stands, and its band holds for the whole curve at once. Rows that a sanitised column chooses are
weighed by its inverse law. Where curves may be missing, one that is shown counts 1/p times, with p how likely a curve
is shown that is there; a missing one is shown about the centre, z = 0, and adds nothing to a sum of z.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement
from math import prod
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dproof.columns.codec import Column
from dproof.curves.bands import normal_band_quantile
from dproof.curves.columns import stored_values
from dproof.curves.lattice import CurveLattice
from dproof.curves.noise import CurveMechanism
from dproof.errors import QuestionError
from dproof.laws.debias import Array, Contingency, pooled
from dproof.laws.noise import NODES
from dproof.limits import MOST_GROUPS, MOST_NOISY_GROUPS
from dproof.local.counts import (
    Combos,
    QuestionAxes,
    StoredRows,
    all_rows,
    count,
    ends_of,
    fits,
    middle_of,
    rows_that_answer,
)
from dproof.local.estimate import estimate, refuse_singular
from dproof.local.ranks import OrderStatistics
from dproof.local.recipe import RowLaw
from dproof.questions.answer import EVERY_POINT, EVERY_ROW, Answer, Cell, covered
from dproof.questions.curve_estimate import CurveEstimate, MeasuredCurves
from dproof.questions.estimated import ROUGH, SMOOTH, SUGGESTIONS, EstimatedSums, Options, Warnings, warned
from dproof.questions.measured import AnswerSource, Shares, possible, refuse_calculation
from dproof.questions.partition import grouping
from dproof.questions.question import (
    Aggregate,
    And,
    Expression,
    Key,
    Predicate,
    Question,
    Schema,
    Unnest,
    aggregates_of,
    asks_for_curves,
    both,
    condition,
    leaves,
    name,
    normal,
)
from dproof.questions.sums import Term, centred_terms, present


def answer_source(release: Any, question: Question, options: Options) -> AnswerSource:
    """What answers a question from a release."""
    if options.method == "model":
        raise QuestionError("method='model' asks synthetic rows, and this release has none: leave the method out")
    if asks_for_curves(question, release.law.schema):
        return ReleaseCurves(release, question, options)
    if release.law.weights is None and question.unnest is None:
        return RowsAnswerSource([all_rows(release)], question, options)
    return PartsAnswerSource(release, question, options)


def expected_source(law: RowLaw, question: Question, rows: int, shares: Shares, level: float) -> AnswerSource:
    """What a release of so many rows, with values that are spread evenly but for shares, would tell of a question."""
    options, alike = Options(level), None
    if question.group_by and not asks_for_curves(question, law.schema):
        alike = _alike(law, question) if shares == Shares() else _one_group(law, question)
        options = replace(options, only=tuple(sorted(set(alike))))
    found = answer_source(StoredRows(law, None, rows, rows, private=True, shares=shares), question, options)
    return found if alike is None else AlikeGroups(found, alike)


def _one_group(law: RowLaw, question: Question) -> list[int]:
    """For each group the one that has the share of the rows that is stated."""
    private = [key for key in question.group_by if key.column not in law.schema.open_columns]
    sizes = [len(grouping(key, law.schema).labels) for key in private]
    return [int(np.ravel_multi_index([middle_of(size) for size in sizes], sizes))] * prod(sizes) if sizes else [0]


def _alike(law: RowLaw, question: Question) -> list[int]:
    """For each group one with the same interval where values are spread evenly: values of a column that only the groups
    tell apart are alike, if its law treats them so."""
    schema, elsewhere = law.schema, replace(question, group_by=()).columns
    families = {column.name: group.mechanism.family for group in law.groups for column in group.columns}
    private = [key for key in question.group_by if key.column not in schema.open_columns]
    sizes = [len(grouping(key, schema).labels) for key in private]
    if not private:
        return [0]
    places = np.indices(sizes).reshape(len(sizes), -1)
    for n, key in enumerate(private):
        space = schema.declared(key.column)
        single = key == Key(key.column) and space.absent is None and sizes[n] == space.size
        if single and key.column not in elsewhere and families[key.column].support_probabilities is not None:
            places[n] = 0
    alike: NDArray[np.int64] = np.ravel_multi_index(tuple(places), sizes)  # type: ignore[assignment]
    return [int(n) for n in alike]


class AlikeGroups:
    """Groups that are as others are, of which alone the intervals are worked out (see `AnswerSource`)."""

    def __init__(self, source: AnswerSource, alike: Sequence[int]) -> None:
        self.source, self.alike = source, alike
        self.labels, self.shown, self.rows, self.suggestions = source.labels, source.shown, source.rows, ""

    def cells(self, expression: Expression, groups: Sequence[int]) -> Sequence[Any]:
        return self.source.cells(expression, [self.alike[n] for n in groups])

    def notes(self, groups: Sequence[int]) -> Iterator[str]:
        yield from self.source.notes(groups)


class RowsAnswerSource:
    """One question on stored rows: estimated sums, and order statistics (see `AnswerSource`).

    `combos` are the groups of the public keys, where more rows than these have them. Where several parts of a release
    answer the question, the sums are pooled, and order statistics are those of the sharpest.
    """

    suggestions = SUGGESTIONS

    def __init__(
        self, parts: Sequence[StoredRows], question: Question, options: Options, combos: Combos | None = None
    ) -> None:
        self.question, self.rows, self.private = question, parts[0].release_rows, parts[0].private
        self.schema = schema = parts[0].law.schema
        asked = question.aggregates
        _check_groups(question, parts[0].law)
        for aggregate in asked:
            if aggregate.definition.counts == "values" and not aggregate.definition.of_items:
                keys = (*question.group_by, Key(aggregate.columns[0]))  # each value is counted in each group
                _check_groups(replace(question, group_by=keys), parts[0].law)
        formulas = [a for a in asked if a.definition.formula] or [Aggregate("count")]
        needed = list(dict.fromkeys(term for a in formulas for term in centred_terms(a, question.where, schema)))
        summed = sorted(schema.open_columns.intersection(c for term in needed for c in term.columns))
        has_ends = summed and parts[0].data is not None
        chosen = sharpest(parts, needed, question, ends_of(parts[0].data, summed) if has_ends else {})
        estimates = []
        for part, counting, _ in chosen:
            table, combos_read = counting.read(part, combos)
            groups = counting.groups(combos_read)
            estimates.append(estimate(counting, table, groups, question.where, options, self.rows))
        self.labels, self.shown = groups.labels, [0]
        if question.group_by:
            occurs = counting.occurring(question.where, table, groups, by_rows=combos is None)
            self.shown = np.flatnonzero(occurs).tolist()
        self.estimated = pool(estimates, [weight for _, _, weight in chosen])
        self.order_statistics: dict[Aggregate, list[Cell]] = {}
        without_formula = [aggregate for aggregate in asked if aggregate.definition.formula is None]
        if without_formula:
            statistics = OrderStatistics(chosen[0][0], question, options, groups.labels, combos)
            self.order_statistics = {aggregate: statistics.cells(aggregate) for aggregate in without_formula}
            self.order_note = self.estimated.rough_note(statistics.rough)
        self.answered: dict[Expression, tuple[Sequence[Cell], Warnings]] = {}

    def _answered(self, expression: Expression) -> tuple[Sequence[Cell], Warnings]:
        """The cells of all groups, and what to say about them."""
        if expression not in self.answered:
            if expression in self.order_statistics:
                self.answered[expression] = self.order_statistics[expression], self.order_note
            else:
                refuse_calculation(expression, self.order_statistics)
                reach = possible(expression, self.question, self.schema, self.rows)
                self.answered[expression] = self.estimated.cells(expression, reach)
        return self.answered[expression]

    def cells(self, expression: Expression, groups: Sequence[int]) -> Sequence[Any]:
        cells, _ = self._answered(expression)
        return [cells[n] for n in groups]

    def notes(self, groups: Sequence[int]) -> Iterator[str]:
        yield from warned(self.question, self.answered, groups, self.private)


class PartsAnswerSource:
    """A question whose expressions are measured by parts of their own, all with the same groups (see `AnswerSource`).

    Where each row answers for one group of columns, an expression is measured by the rows that answer for all columns
    that it needs. Where the items of sets are grouped by, each is measured by itself: a law may tell no two together.
    """

    suggestions = SUGGESTIONS

    def __init__(self, release: Any, question: Question, options: Options) -> None:
        self.rows, schema, is_sampled = release.rows, release.law.schema, release.law.weights is not None
        public = [key for key in question.group_by if is_sampled and schema.is_open(key.column)]
        self.places = [question.group_by.index(key) for key in public]
        combos = _public_combos(release, public) if is_sampled else None
        self.occurring = set(_public_combos(release, public, question.where))
        items: Sequence[Unnest | None] = [None]
        if question.unnest is not None:
            items = [replace(question.unnest, items=(item,)) for item in question.unnest.items]
            options = options.for_each(len(items))
        together: dict[tuple[Unnest | None, frozenset[str]], list[Expression]] = {}
        for item in items:
            measured = [e for e in dict.fromkeys(replace(question, unnest=item).expressions) if aggregates_of(e)]
            for asked in [[expression] for expression in measured] or [[]]:
                needed = frozenset(question.only(asked).columns) if is_sampled else frozenset[str]()
                together.setdefault((item, needed), []).extend(asked)
        self.parts: list[RowsAnswerSource] = []
        self.by: dict[Expression, RowsAnswerSource] = {}
        for (_, needed), asked in together.items():
            rows = rows_that_answer(release, needed)
            self.parts.append(RowsAnswerSource(rows, question.only(asked), options, combos))
            self.by |= dict.fromkeys(asked, self.parts[-1])
        self.labels = self.parts[0].labels

    @property
    def shown(self) -> list[int]:
        """The groups whose public keys some row of the whole release has."""
        found = self.parts[0].shown
        return [n for n in found if tuple(self.labels[n][place] for place in self.places) in self.occurring]

    def cells(self, expression: Expression, groups: Sequence[int]) -> Sequence[Any]:
        return self.by.get(expression, self.parts[0]).cells(expression, groups)

    def notes(self, groups: Sequence[int]) -> Iterator[str]:
        for part in self.parts:
            yield from part.notes(groups)


def _public_combos(release: Any, keys: Sequence[Key], where: Predicate | None = None) -> Combos:
    """The groups of public keys that rows of the whole release have, under what a condition says of public columns."""
    if not keys or release.data is None:
        return [("",) * len(keys)]
    schema = release.law.schema
    reduced = None if where is None else normal(where)
    parts = reduced.parts if isinstance(reduced, And) else () if reduced is None else (reduced,)
    known = [part for part in parts if all(schema.is_open(leaf.column) for leaf in leaves(part))]
    holds = " AND ".join(f"coalesce({condition(part)}, false)" for part in known) or "true"
    counting = QuestionAxes(release.law, [Term((), None)], keys)
    (*arrays, chosen), _, _ = count(release.data, [*counting.expressions, holds])
    return counting.cells([array.filter(chosen) for array in arrays], chosen.true_count)[1]


def sharpest(
    parts: Sequence[StoredRows],
    needed: list[Term],
    question: Question,
    ends: Mapping[str, tuple[float, float]] = MappingProxyType({}),
) -> list[tuple[StoredRows, QuestionAxes, float]]:
    """The parts of a release, the sharpest first: what is counted in each, and its weight, inverse to its variance.

    These are the variances for evenly spread values, which do not depend on the rows, and so do not bias what is
    pooled. Under wide noise intervals are worked out from one part alone, the sharpest. `ends` are those of the numbers
    of public columns, where rows are known.
    """
    countings = [QuestionAxes(part.law, needed, question.group_by, ends=ends) for part in parts]
    if len(parts) == 1:
        return [(parts[0], countings[0], 1.0)]
    precisions = [part.rows * _precision(counting, part) for part, counting in zip(parts, countings, strict=True)]
    order = np.argsort(precisions)[::-1].tolist()
    if any(axis.rough for counting in countings for axis in counting.axes) or not precisions[order[0]]:
        order = order[:1]
    total = sum(precisions[n] for n in order)
    used = [n for n in order if precisions[n] or not total]
    return [(parts[n], countings[n], precisions[n] / total if total else 1.0) for n in used]


def _precision(counting: QuestionAxes, part: StoredRows) -> float:
    """One over the variance of the sums from one row, for evenly spread values; 1 where they have none."""
    table, combos = counting.read(replace(part, data=None, rows=1, shares=Shares()))
    estimates = table.estimates(counting.sums, counting.groups(combos))
    variance = float(np.einsum("gii->", estimates.covariance("population")))
    return (1 / variance if variance > 0 else 1.0) if np.isfinite(variance) else 0.0


def pool(parts: Sequence[EstimatedSums], weights: Sequence[float]) -> EstimatedSums:
    """The estimates of several parts of a release as one."""
    first = parts[0]
    if len(parts) == 1:
        return first
    estimates = pooled([part.estimates for part in parts], weights)
    fits = [part.fitted for part in parts]
    fitted = None
    if all(fit is not None for fit in fits):
        fitted = np.sum([weight * fit for weight, fit in zip(weights, fits, strict=True) if fit is not None], axis=0)
    covariance = estimates.covariance(first.options.target)
    return replace(first, estimates=estimates, fitted=fitted, covariance=covariance, distribution_free=None, scale=1.0)


def _check_groups(question: Question, law: RowLaw) -> None:
    """Refuse more groups than can be told apart in good time; those of public columns are as many as there are."""
    private = [key for key in question.group_by if key.column not in law.schema.open_columns]
    groups = prod(len(grouping(key, law.schema).labels) for key in private)
    found, most = f"{groups:,} groups", f"{MOST_GROUPS:,} are the most"
    is_slow = _intervals_under_noise(question, law, private) > MOST_NOISY_GROUPS
    if is_slow:
        found += " of numbers under noise"
        most = f"{MOST_NOISY_GROUPS:,} are the most (more where rows are counted by one such number)"
    if is_slow or groups > MOST_GROUPS:
        raise QuestionError(
            f"the question has {found}, and {most}: group by fewer columns, by wider bins such as BIN(age, 10), or ask "
            "with WHERE for those that matter"
        )


def _intervals_under_noise(question: Question, law: RowLaw, private: Sequence[Key]) -> int:
    """How many groups have intervals of their own, each by linear programmes; 0 where no key is under wide noise.

    Rows counted at the same node of a number, or between the same two, have the same interval.
    """
    if not any(law.group_of(key.column).answers_conditions is False for key in private):
        return 0
    known = law.schema.open_columns
    noisy = {c for c in question.columns if c not in known and law.group_of(c).answers_conditions is False}
    asked = [part for part in question.expressions if aggregates_of(part)]
    counts = all(isinstance(part, Aggregate) and part.definition.counts for part in asked)
    sizes = ((key.column, len(grouping(key, law.schema).labels)) for key in private)
    return prod(min(size, 2 * NODES) if counts and noisy == {column} else size for column, size in sizes)


_METHODS = {
    "inverse": "inverse law (unbiased)",
    "approximate": "inverse law (some estimates are approximate, see the note)",
    "likelihood": "maximum likelihood (iterative Bayes)",
    "projection": "inverse law, moved to the nearest table without negative counts",
    "shrinkage": "inverse law, counts shrunk towards each other (empirical Bayes)",
    "loglinear": "inverse law, shrunk towards the tables of two columns (log-linear model; the level of the intervals "
    "holds on average over the cells of the table)",
}
_ON_AVERAGE = "loglinear, whose level holds on average over the cells of a table"
_TARGETS = {
    "table": "the table that was sanitised (privacy noise only)",
    "population": "the population that its rows were drawn from (privacy noise and sampling)",
}


def described(found: Answer, question: Question, options: Options, schema: Schema) -> Answer:
    """An answer with how it was made."""
    chosen = {"inverse": "", "loglinear": _ON_AVERAGE}.get(options.method, options.method)
    has_curves, sampling = asks_for_curves(question, schema), options.target == "population"
    at_once = EVERY_POINT if has_curves else EVERY_ROW * options.simultaneous
    found = replace(found, covers=covered(found.level, sampling=sampling, at_once=at_once, method=chosen))
    if has_curves:
        method = f"mean of the released curves (unbiased); simultaneous bands for the {options.target}"
        return replace(found, method=method)
    rough = options.method == "inverse" and not {ROUGH, SMOOTH}.isdisjoint(found.notes)
    method = _METHODS["approximate" if rough else options.method]
    if SMOOTH in found.notes:
        method += "; assuming smooth distributions"
    return replace(found, method=f"{method}; intervals for {_TARGETS[options.target]}")


# Mean curves and totals -----------------------------------------------------------------------------------------------

_ROWS_AT_ONCE = 1 << 16
_FEWEST_NORMAL_ROWS = 30  # rows below which a mean of noise is not yet normal


class ReleaseCurves(MeasuredCurves):
    """AVG and SUM of a curve column on the stored rows of a release (see `AnswerSource`)."""

    suggestions = SUGGESTIONS

    def __init__(self, release: Any, question: Question, options: Options) -> None:
        self.question, self.rows = question, release.rows
        (self.release,) = rows_that_answer(release, frozenset(question.columns))
        for aggregate in question.aggregates:
            if aggregate.definition.shape == "curved":
                raise QuestionError(
                    f"column {aggregate.columns[0]!r} holds curves: ask a release for AVG or SUM of them"
                )
        self.counted = _CountedGroups(self.release, question.where, question.group_by)
        self.labels, self.shown = self.counted.groups.labels, self.counted.occurs()
        self.private = self.release.private
        self.lattices = [_mechanism(self.release, one.columns[0]).lattice for one in question.aggregates]
        self.options = options.for_each(len(self.labels))

    def functions(self, expression: Expression, groups: Sequence[int]) -> Sequence[CurveEstimate | None]:
        """The means or totals of some groups; None where by the estimate there are no rows.

        What the basis cannot say is in no band.
        """
        (aggregate,), counted = aggregates_of(expression), self.counted
        taken = present(aggregate, counted.counting.schema)
        if taken is not None:
            counted = _CountedGroups(self.release, both(self.question.where, taken), self.question.group_by)
        is_total = aggregate.definition.shape == "linear"
        return _functions(counted, aggregate.columns[0], groups, is_total, self.options)


class _CountedGroups:
    """The stored rows that satisfy a condition, counted by the axes that tell which these are and their groups."""

    def __init__(self, release: StoredRows, where: Predicate | None, keys: Sequence[Key] = ()) -> None:
        self.release, self.where = release, where
        self.counting = QuestionAxes(release.law, [Term((), where)], keys)
        self.table, self.combos = self.counting.read(release)
        self.groups = self.counting.groups(self.combos)

    def occurs(self) -> list[int]:
        """The groups that belong into an answer."""
        if not self.counting.keys:
            return [0]
        return np.flatnonzero(self.counting.occurring(self.where, self.table, self.groups)).tolist()


def _mechanism(release: StoredRows, column: str) -> CurveMechanism:
    return cast(CurveMechanism, release.law.group_of(column).mechanism)


def _functions(
    counted: _CountedGroups, column: str, shown: Sequence[int], total: bool, options: Options
) -> list[CurveEstimate | None]:
    """The means or totals of some groups; None where by the estimate there are no rows.

    With the scores w of the rows for their number, the scores v for sums over them, which are the same where no curve
    may be missing, and lattice vectors z, the mean is m = Σvz / Σw, and its covariance by the delta method
    Σ (vz − wm)(vz − wm)ᵀ / (Σw)².
    """
    release, counting, table, groups = counted.release, counted.counting, counted.table, counted.groups
    if any(axis.rough for axis in counting.axes):
        raise QuestionError(
            "the rows of a mean curve cannot be chosen by numbers under noise, which do not tell them apart: "
            "choose them by public columns, categories or sets"
        )
    is_part = release.rows != release.release_rows
    exact = all(axis.exact for axis in counting.axes)
    if total and (not exact or (is_part and (counted.where is not None or counting.keys))):
        raise QuestionError(
            "a total of curves needs rows chosen by public columns, and a column where no curve may be missing: "
            "ask for the mean, or the count"
        )
    # First the number of rows, and last sums over them, which differ where a curve may be missing.
    products = [(), (column,)] if column in counting.cuts else [()]
    chosen = [counting.sum_of(Term(columns, counted.where)) for columns in products]
    refuse_singular(counting, table.estimates(chosen[:1], groups).values)
    mechanism = _mechanism(release, column)
    sums = _moments(counted, release.law.plan.column(column), cast(CurveLattice, mechanism.outputs))
    size = sums.shape[-1]
    first, second = np.zeros((len(groups.labels), size)), np.zeros((len(groups.labels), size, size))
    noise = float(mechanism.shown.noise.variance) if exact and not is_part and options.target == "table" else None
    for i, j in combinations_with_replacement(range(size), 2):
        if i and noise is not None:
            break  # the variance is known
        if 0 < i < j and mechanism.lattice.expansion.has_values:
            continue  # a band at grid points needs no covariance of two values
        # Estimates are linear in the counts, so that other sums over the rows may stand in their place.
        other = Contingency(table.axes, sums[:, i, j].reshape(table.counts.shape), release.rows)
        estimates = other.estimates(chosen, groups)
        left, right = (-1 if place else 0 for place in (i, j))  # 1 is counted, z is summed
        second[:, i, j] = second[:, j, i] = estimates.squares[:, left, right]
        if i == 0:
            first[:, j] = estimates.values[:, right]
    totalled = (release.release_rows / max(release.rows, 1)) if total else None
    return [_function(mechanism.lattice, first[n], second[n], noise, totalled, options.level) for n in shown]


def _moments(counted: _CountedGroups, column: Column, lattice: CurveLattice) -> Array:
    """Σ (1, z)(1, z)ᵀ over the rows of each cell, for their lattice vectors z."""
    counting, cells = counted.counting, counted.table.counts.size
    size, times = lattice.terms + 1, lattice.space.times
    fits(cells * size**2)
    sums = np.zeros((cells, size, size))
    undo = np.linalg.pinv(lattice.scales[:, None] * lattice.functions(times))
    wanted = [*counting.expressions, *map(name, column.stored)]
    with counted.release.relation() as rows:
        for batch in rows.project(", ".join(wanted)).to_arrow_reader(_ROWS_AT_ONCE):
            keys, held = batch.columns[: len(counting.expressions)], batch.columns[len(counting.expressions) :]
            values = stored_values(lattice, held)
            if values is None:
                raise QuestionError(f"the stored column {column.name!r} has a missing value: run dproof verify")
            z = np.column_stack([np.ones(len(values)), (values - lattice.centre(times)) @ undo])
            cell, _ = counting.cells(keys, batch.num_rows, counted.combos)
            for place in np.unique(cell):
                here = z[cell == place]
                sums[place] += here.T @ here
    return sums


def _function(
    lattice: CurveLattice, first: Array, second: Array, noise: float | None, total: float | None, level: float
) -> CurveEstimate | None:
    """The estimate from Σ w(1, z) and Σ w²(1, z)(1, z)ᵀ; with `noise` the variance of each z is known.

    It is a mean, or with `total` a total, where each row stands for so many.
    """
    weight, terms = float(first[0]), lattice.terms
    if weight <= 0:
        return None
    mean = first[1:] / weight
    centred = np.column_stack([-mean, np.eye(terms)])
    covariance = centred @ second @ centred.T / weight**2 if noise is None else np.eye(terms) * noise / weight
    factor = np.vstack([_root(covariance), np.zeros(terms)])
    notes = (
        (f"only {weight:.0f} rows: the band assumes that their mean is normal",) if weight < _FEWEST_NORMAL_ROWS else ()
    )
    # Where the variance is estimated it holds the spread of the curves too, and smoothing by that would bias the mean.
    smooth, scale = noise is not None and total is None, 1.0 if total is None else weight * total
    made = CurveEstimate(lattice, mean, factor, 1.0, scale, level, smooth, notes)
    return made.with_band(lambda path, at_points: normal_band_quantile(path, level, at_points=at_points))


def _root(covariance: Array) -> Array:
    """L with LLᵀ = covariance, which may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    root: Array = vectors * np.sqrt(np.clip(values, 0, None))
    return root
