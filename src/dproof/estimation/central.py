"""SQL on a release of measured tables: best linear unbiased answers, with variances that do not depend on the data.

A sum over rows is Σ q·v over the cells of one table v, with weights q: 1 where a condition holds, or a number where
numbers are added up. What was measured tells every table as a sum of independent residuals with known variances, and
with it the covariances of all sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.central.residuals import Estimates
from dproof.errors import InputError
from dproof.estimation.central_distribution import Distribution
from dproof.estimation.central_projection import nearest
from dproof.estimation.central_weights import Weights, covariances
from dproof.estimation.contingency import Estimates as SumEstimates
from dproof.estimation.estimated import Estimated, Options, options_of
from dproof.estimation.stored import scale_of
from dproof.laws.debias import Scale
from dproof.laws.scores import Array
from dproof.plans.central import Axis
from dproof.plans.schema import schema_of
from dproof.questions.aggregates import Frequent, Rank, Values, deviation, variance
from dproof.questions.answer import Answer, Cell
from dproof.questions.building import Asked, as_question
from dproof.questions.cells import Cut, cut
from dproof.questions.measured import answer
from dproof.questions.predicates import Contains, both, leaves
from dproof.questions.question import Aggregate, Expression, Question, aggregates, aggregates_of, expressions
from dproof.questions.regions import grouping
from dproof.questions.schema import Schema, resolve
from dproof.questions.sums import Term, centred_terms, present

_METHODS = {
    "inverse": "best linear unbiased estimate",
    "projection": "best linear unbiased estimate, moved to the nearest tables without negative counts",
}
_INTERVALS = "; intervals for the table that was measured (privacy noise only)"
_WAYS_OUT = "a release with a larger ε, fewer or coarser columns, or `dproof ask` on the private table"
_MOST_GROUPS = 10_000
_WITHIN = "numbers are known by their bins: the interval of a variance or deviation holds wherever they lie in them"
_MODEL = "; or ask with method = 'model' for what the made-up rows say, without an interval"
_NO_MODEL = "; or declare rows = true under [release] next time, and ask with method = 'model'"


def query(release: Any, asked: Asked, **options: Any) -> Answer:
    """The unbiased answer to a question on a release of tables, with an interval for each estimate.

    `level` of the intervals; `method` "inverse", or "projection" for counts without negative ones, whose interval is
    the unbiased one, made wider where the count lies outside; `simultaneous=True` for intervals that hold all at once.

    >>> import pyarrow, dproof as dp
    >>> columns = {"read": {"space": "categories", "values": ["yes", "no"]}}
    >>> plan = {"privacy": {"model": "central", "epsilon": 1, "delta": "1e-6"}, "columns": columns}
    >>> release = dp.sanitise(pyarrow.table({"read": ["yes"] * 300 + ["no"] * 700}), plan)
    >>> [row["read"] for row in query(release, "SELECT read, count(*) FROM release GROUP BY read").rows]
    ['yes', 'no']
    """
    chosen = options_of(options)
    if chosen.method not in _METHODS:
        raise InputError(
            f"method={chosen.method!r} is for releases row by row: tables have inverse, projection and model"
        )
    if chosen.simultaneous and release.law.is_pure:
        raise InputError("simultaneous intervals need Gaussian noise, so delta above 0: leave simultaneous out")
    if chosen.target != "table":
        raise InputError("the intervals of a release of tables are for the table that was measured: leave target out")
    schema = schema_of(release.law.plan, "release")
    question = resolve(as_question(asked, "release"), schema)
    try:
        measured = MeasuredTables(release, question, schema, chosen)
        answered = answer(question, schema, measured, chosen.level)
    except Untold as refused:
        has_rows = release.certificate["release"]["made_up_rows"] is not None
        raise InputError(f"{refused}{_MODEL if has_rows else _NO_MODEL}") from None
    return replace(answered, method=_METHODS[chosen.method] + _INTERVALS)


class Untold(InputError):
    """A question that the measured tables do not tell, and made-up rows do."""


@dataclass(frozen=True, slots=True)
class Scales:
    """The schema of a question, and the scales on which its numbers are added up."""

    schema: Schema
    numbers: Mapping[str, Scale]

    @property
    def values(self) -> dict[str, Values]:
        return {c: Values(s.middle, s.unit, 1.0, s.middle - s.unit, s.middle + s.unit) for c, s in self.numbers.items()}


class MeasuredTables:
    """One question on the measured tables of a release (see `Measured`)."""

    ways_out = _WAYS_OUT

    def __init__(self, release: Any, question: Question, schema: Schema, options: Options) -> None:
        self.question, self.schema, self.release = question, schema, release
        self.rows, self.private = release.rows, release.private
        self.axes = {axis.name: (place, axis) for place, axis in enumerate(release.law.axes)}
        for key in question.group_by:
            if schema.declared(key.column).items is not None:
                raise InputError(
                    f"GROUP BY {key.column} would need all its items at once: ask for each with list_contains"
                )
        asked = aggregates(question)
        # What is no formula of sums, or a formula of squares that were not added up.
        special = [
            aggregate for aggregate in asked if aggregate.definition.formula is None or self._is_spread(aggregate)
        ]
        formulas = [aggregate for aggregate in asked if aggregate not in special] or [Aggregate("count")]
        needed = list(dict.fromkeys(t for a in formulas for t in centred_terms(a, question.where, schema)))
        numbers = {column: scale_of(schema.spaces[column]) for term in needed for column in term.columns}
        self.keys = [grouping(key, schema) for key in question.group_by]
        groups = prod(len(key.labels) for key in self.keys)
        if groups > _MOST_GROUPS:
            raise InputError(
                f"the question has {groups:,} groups, and {_MOST_GROUPS:,} are the most: group by fewer columns"
            )
        self.labels = list(product(*(key.labels for key in self.keys)))
        sums = [self._weights(term, numbers) for term in needed]
        values, nothing = _totals(release.estimates, sums, groups), np.zeros((groups, len(sums)))
        self.shown = self._occurring(groups)
        self.told = release.estimates  # by the method that was asked for
        if options.method == "projection":
            self.told = {**release.estimates, None: nearest(release.estimates[None], release.law.tables)}
        fitted = _totals(self.told, sums, groups) if options.method == "projection" else None
        covariance = covariances(release.estimates, sums, groups)
        found = SumEstimates(values, values, nothing, nothing, covariance, covariance, self.rows or 0)
        scales = Scales(schema, numbers)
        careful = replace(options, level=release.law.normal_level(options.level))
        self.estimated = Estimated(scales, needed, question.where, careful, found, fitted, covariance, None)
        within = ((_WITHIN, np.ones(groups, bool)),)
        self.found: dict[Expression, Any] = {
            aggregate: (self._special(aggregate, groups, careful.level), within if self._is_spread(aggregate) else ())
            for aggregate in special
        }

    def _occurring(self, groups: int) -> list[int]:
        """The groups that WHERE leaves rows for, whatever the aggregates take of them."""
        if not self.keys:
            return [0]
        rows = self._weights(Term((), self.question.where), {})
        return np.flatnonzero(np.bincount(rows.groups, rows.weights != 0, groups)).tolist()

    def _is_spread(self, aggregate: Aggregate) -> bool:
        """Whether it is the variance or deviation of a number in bins, whose squares were not added up."""
        squares = aggregate.definition.formula in (variance, deviation)
        return squares and bool(self.axes[aggregate.columns[0]][1].reach)

    def _special(self, aggregate: Aggregate, groups: int, level: float) -> list[Cell]:
        """What is told by the counts of the values or bins of a column, in every group."""
        definition = aggregate.definition
        if definition.chosen == Rank():
            return self._quantiles(aggregate, groups, level)
        if isinstance(definition.chosen, Frequent):
            return self._most_frequent(aggregate, groups)
        if definition.formula is not None:
            spread = self._distribution(aggregate, groups)
            return spread.deviations(aggregate.argument, level, squared=definition.formula is variance)
        name = "COUNT DISTINCT" if definition.counts else definition.name_of(aggregate.argument)[0].upper()
        raise Untold(f"{name} is not answered from measured tables: ask for counts by {aggregate.columns[0]}")

    def _distribution(self, aggregate: Aggregate, groups: int) -> Distribution:
        """A number by its bins, in every group."""
        (column,) = aggregate.columns
        place, axis = self.axes[column]
        if axis.size == 1:
            raise Untold(f"{column!r} has one bin, so that nothing is known of how it is spread: declare `bins`")
        where = both(self.question.where, present(aggregate, self.schema))
        counts = self._weights(Term((), where), {}, [column])
        return Distribution(counts, place, axis, groups, self.release.estimates, self.told[None])

    def _quantiles(self, aggregate: Aggregate, groups: int, level: float) -> list[Cell]:
        """A quantile in every group, from the counts of the bins of its column."""
        (column,) = aggregate.columns
        if any(key.column == column for key in self.question.group_by):
            raise Untold(f"within a bin of {column!r} no quantile is known: group by another column")
        share = float(aggregate.argument or 0)
        if not 0 < share < 1:
            raise Untold("the least and the greatest value are not told by tables: ask for a share between 0 and 1")
        return self._distribution(aggregate, groups).quantiles(share, level)

    def _most_frequent(self, aggregate: Aggregate, groups: int) -> list[Cell]:
        """The values, bins or items of the largest estimated counts, in every group."""
        (column,) = aggregate.columns
        space, where = self.schema.declared(column), both(self.question.where, present(aggregate, self.schema))
        if space.items is not None:
            labels: list[Any] = list(space.items)
            sums = [self._weights(Term((), both(where, Contains(column, item))), {}) for item in labels]
            counts = _totals(self.told, sums, groups)
        else:
            place, axis = self.axes[column]
            labels = [label for label in axis.bins.labels if label is not None]
            table = self._weights(Term((), where), {}, [column])
            values = table.weights * self.told[None].table(table.table).ravel()
            cells = table.groups * axis.size + table.places(place)
            counts = np.bincount(cells, values, groups * axis.size).reshape(groups, -1)[:, : len(labels)]
        order = np.argsort(-counts, axis=1, kind="stable")
        most = int(aggregate.argument or 0)
        chosen = ([labels[n] for n in row[:most]] if most else labels[row[0]] for row in order)
        return [Cell(best, raw=best) for best in chosen]

    def _weights(self, term: Term, numbers: Mapping[str, Scale], also: Sequence[str] = ()) -> Weights:
        """The weight and the group of every cell of the table that a sum needs."""
        keys = self.question.group_by
        named = dict.fromkeys([*(key.column for key in keys), *(leaf.column for leaf in leaves(term.where))])
        grid = cut(self.schema, [term.where], keys, list(dict.fromkeys([*named, *term.columns, *also])))
        axes, indices = [], []
        for part in grid.axes:
            own, blocks = self._blocks(part)
            axes += own
            indices.append(blocks)
        number = self._summed(term)
        weights = grid.mask(term.where)[_outer(indices)].astype(float)
        order = sorted(range(len(axes)), key=lambda n: self.axes[axes[n].name][0])
        axes, weights = [axes[n] for n in order], weights.transpose(order)
        if number is not None:
            summed = self.release.law.axes[number]
            weights = _same_for_all(weights, axes.index(summed), summed) / summed.reach
            axes.remove(summed)
        names = [axis.name for axis in axes]
        self._refuse_unmeasured(axes, number)
        for name in (name for name in term.columns if name in names):
            n = names.index(name)
            weights = weights * _along(_numbers(axes[n], numbers[name]), n, len(axes))
        group = np.zeros(weights.shape, np.int64)
        for key, groups in zip(keys, self.keys, strict=True):
            n = names.index(key.column)
            group = group * len(groups.labels) + _along(groups.of(np.array(axes[n].bins.starts)), n, len(axes))
        several = [axis for axis in axes if axis.size > 1]
        table = tuple(self.axes[axis.name][0] for axis in several)
        return Weights(number, table, np.ravel(weights), np.ravel(group), tuple(axis.size for axis in several))

    def _blocks(self, part: Cut) -> tuple[list[Axis], NDArray[np.int64]]:
        """The axes of a column of a question, and the block of each of their cells."""
        if part.bits is None:
            axis = self.axes[part.column][1]
            _refuse_cut(axis, part)
            return [axis], part.of(np.array(axis.bins.starts))
        items = {axis.item: axis for _, axis in self.axes.values() if axis.column.name == part.column}
        places = np.indices((2,) * len(part.bits))
        return [items[bit] for bit in part.bits], np.asarray(sum(place << n for n, place in enumerate(places)))

    def _summed(self, term: Term) -> int | None:
        """The number in bins that a sum adds up, by its place; None where the values of all numbers are counted."""
        binned = [name for name in term.columns if self.axes[name][1].reach]
        if not binned:
            return None
        place = self.axes[binned[0]][0]
        if place not in self.release.estimates:
            raise Untold(
                f"the numbers of {binned[0]!r} were counted in bins and not added up: declare sums = true under "
                f"[release] next time, or ask for counts by {binned[0]}"
            )
        if len(binned) > 1:
            raise Untold(f"squares and products of {binned[0]!r} were not added up: ask for its mean, or for counts")
        if any(key.column == binned[0] for key in self.question.group_by):
            raise Untold(f"{binned[0]!r} was not added up within its bins: group by another column")
        return place

    def _refuse_unmeasured(self, axes: Sequence[Axis], number: int | None) -> None:
        table = tuple(self.axes[axis.name][0] for axis in axes if axis.size > 1)
        if table not in self.release.estimates[number].variances:
            own = [] if number is None else [self.release.law.axes[number]]
            names = ", ".join(f'"{axis.name}"' for axis in [*axes, *own])
            raise Untold(
                f"the question needs the table of {' × '.join(axis.name for axis in [*axes, *own])}, which was not "
                f"measured: ask about fewer columns at once, or declare [[release.tables]] with columns = [{names}] "
                "next time"
            )

    def _cells(self, expression: Expression) -> Any:
        special = [a for a in aggregates_of(expression) if a.definition.formula is None]
        if special and expression not in self.found:
            raise InputError(f"{special[0].kind.upper()} cannot be calculated with: select it by itself")
        if expression not in self.found:
            self.found[expression] = self.estimated.cells(expression)
        return self.found[expression]

    def estimates(self, expression: Expression) -> Sequence[Any]:
        return self._cells(expression)[0]  # type: ignore[no-any-return]

    def cells(self, expression: Expression, groups: Sequence[int]) -> Sequence[Any]:
        cells: list[Cell] = self._cells(expression)[0]
        return [cells[n] for n in groups]

    def notes(self, groups: Sequence[int]) -> Iterator[str]:
        warnings = [w for part in expressions(self.question) if part in self.found for w in self.found[part][1]]
        yield from (note for n in groups for note, which in warnings if which[n])
        if not self.private:
            yield "NOT PRIVATE: drawn with seeded coins"


def _totals(estimates: Mapping[int | None, Estimates], sums: Sequence[Weights], groups: int) -> Array:
    """Some sums in every group."""
    tables = [estimates[one.number].table(one.table).ravel() for one in sums]
    columns = [np.bincount(s.groups, s.weights * table, groups) for s, table in zip(sums, tables, strict=True)]
    return np.stack(columns, axis=1)


def _outer(indices: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], ...]:
    """Indices that pick every combination of the cells of several arrays, each along axes of its own."""
    total, start, found = sum(index.ndim for index in indices), 0, []
    for index in indices:
        found.append(index.reshape([1] * start + list(index.shape) + [1] * (total - start - index.ndim)))
        start += index.ndim
    return tuple(found)


def _along(values: Array, place: int, axes: int) -> Array:
    """Values along one of several axes."""
    return values.reshape([-1 if n == place else 1 for n in range(axes)])


def _numbers(axis: Axis, scale: Scale) -> Array:
    """The number of each value of an axis, on its scale; 0 for a missing one."""
    codes, absent = np.array(axis.bins.starts), axis.column.space.absent
    numbers = (axis.column.space.values_of(codes) - scale.middle) / scale.unit
    return np.where(codes == absent, 0.0, numbers) if absent is not None else numbers


def _same_for_all(weights: Array, place: int, axis: Axis) -> Array:
    """Weights that do not depend on an axis, but for its missing value: that adds nothing to a sum."""
    there = [n for n, start in enumerate(axis.bins.starts) if start != axis.column.space.absent]
    found = weights.take(there, axis=place)
    if (found != found.take([0], axis=place)).any():
        raise Untold(f"{axis.name!r} was added up over all its values: leave the condition on it out")
    return np.asarray(found.take(0, axis=place))


def _refuse_cut(axis: Axis, cut: Cut) -> None:
    """Refuse a question that tells values apart which were counted together."""
    bins, changes = axis.bins, np.flatnonzero(np.diff(cut.block)) + 1
    inside = bins.cut_by(cut.first[changes].tolist())
    if inside:
        edges = ", ".join(str(label) for label in bins.labels)
        raise Untold(
            f"the question cuts the bin {bins.labels[inside[0]]} of {axis.name!r}, whose values were counted together: "
            f"ask at the edges of {edges}, or declare other `bins`"
        )
