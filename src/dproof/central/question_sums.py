"""The sums over rows that a question needs, as weights of the cells of measured tables: known from the plan alone.

The [[questions]] of a plan choose by them which tables and sums are measured, and with how much noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.central.noise import Costs, cell_costs
from dproof.central.workload import Domain, Residual, ResidualEstimates, Table, parts
from dproof.errors import InputError, NotMeasured, QuestionError, TooLarge
from dproof.laws.debias import Array, Scale
from dproof.plans.plan import Plan, schema_of
from dproof.plans.reader import Misplaced
from dproof.plans.release_table import TableAxis
from dproof.questions.aggregates import Frequent, Rank
from dproof.questions.partition import Cut, Grouping, cut, grouping, numbered
from dproof.questions.question import Aggregate, Contains, Question, aggregates, both, leaves
from dproof.questions.schema import Schema, is_curve, resolve
from dproof.questions.sql import parse
from dproof.questions.sums import Term, centred_terms, present, scale_of

_MOST_GROUPS = 10_000
_MOST_CELLS = 10_000_000  # of a table


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """A sum over rows in every group: a weight and a group for each cell of a table of counts, or of sums."""

    number: int | None
    table: Table
    weights: Array
    groups: NDArray[np.int64]
    sizes: tuple[int, ...]  # of the table's axes

    def margin(self, part: Table, columns: Sequence[int]) -> tuple[NDArray[np.int64], Array]:
        """The weights added up over all axes but these: the numbers of group and cell, and their weights."""
        places = np.unravel_index(np.arange(len(self.weights)), self.sizes) if self.sizes else ()
        chosen = [(places[n], columns[i]) for n, i in enumerate(self.table) if i in part]
        keys = np.asarray(numbered([(self.groups, 0), *chosen])) + np.zeros_like(self.groups)
        used, place = np.unique(keys[self.weights != 0], return_inverse=True)
        return used, np.bincount(place, self.weights[self.weights != 0], len(used))

    def places(self, column: int) -> NDArray[np.int64]:
        """The place of every cell along the axis of a column."""
        return np.asarray(np.unravel_index(np.arange(len(self.weights)), self.sizes)[self.table.index(column)])

    def up_to(self, place: int, last: int, share: float) -> Weights:
        """(rows up to this bin of a column) − share · (all rows), in every group."""
        return replace(self, weights=self.weights * ((self.places(place) <= last) - share))

    def by(self, place: int, bins: int) -> Weights:
        """A sum in every group and every bin of a column: each bin makes a group of its own."""
        return replace(self, groups=self.groups * bins + self.places(place))


class QuestionSums:
    """The sums over rows that one question needs of tables with these axes; refused where no table tells them."""

    def __init__(self, question: Question, schema: Schema, axes: Sequence[TableAxis]) -> None:
        self.question, self.schema = question, schema
        self.axes: dict[str, tuple[int, TableAxis]] = {axis.name: (place, axis) for place, axis in enumerate(axes)}
        for key in question.group_by:
            if schema.declared(key.column).items is not None:
                raise QuestionError(
                    f"GROUP BY {key.column} would need all its items at once: ask for each with list_contains"
                )
        asked = aggregates(question)
        for aggregate in asked:
            if is_curve(aggregate, schema) and aggregate.definition.shape == "curved":
                raise QuestionError(
                    f"measured tables answer AVG and SUM of the curves {aggregate.columns[0]!r}: ask for these"
                )
        self.special = [one for one in asked if one.definition.formula is None or self.is_told_by_bins(one)]
        for aggregate in self.special:
            self._check(aggregate)
        formulas = [aggregate for aggregate in asked if aggregate not in self.special] or [Aggregate("count")]
        self.needed = list(dict.fromkeys(t for a in formulas for t in centred_terms(a, question.where, schema)))
        numbers = [c for term in self.needed for c in term.columns if not schema.spaces[c].holds_curves]
        self.scales: dict[str, Scale] = {name: scale_of(schema.spaces[name]) for name in numbers}
        self.keys: list[Grouping] = [grouping(key, schema) for key in question.group_by]
        self.groups = prod(len(key.labels) for key in self.keys)
        if self.groups > _MOST_GROUPS:
            raise QuestionError(
                f"the question has {self.groups:,} groups, and {_MOST_GROUPS:,} are the most: group by fewer columns"
            )

    def occurring(self) -> list[int]:
        """The groups that WHERE leaves rows for, whatever the aggregates take of them."""
        if not self.keys:
            return [0]
        rows = self.weights(Term((), self.question.where))
        return np.flatnonzero(np.bincount(rows.groups, rows.weights != 0, self.groups)).tolist()

    def is_told_by_bins(self, aggregate: Aggregate) -> bool:
        """Whether it is a moment of a number in bins that is not added up: of dates any, of other numbers a square."""
        moment = aggregate.definition.moment
        axis = self.axes[aggregate.columns[0]][1] if moment else None
        return axis is not None and axis.is_binned and (moment != "mean" or axis.max_abs is None)

    def _check(self, aggregate: Aggregate) -> None:
        """Refuse what the counts of the values or bins of a column do not tell."""
        definition, column = aggregate.definition, aggregate.columns[0]
        is_quantile = definition.chosen == Rank()
        if definition.counts:
            if self.schema.declared(column).items is not None and not definition.of_items:
                raise NotMeasured(f"sets of {column} were not counted, but items: ask COUNT(DISTINCT unnest({column}))")
            return
        if not is_quantile and definition.formula is None and not isinstance(definition.chosen, Frequent):
            name = definition.name_of(aggregate.argument)[0].upper()
            raise NotMeasured(f"{name} is not answered from measured tables: ask for counts by {column}")
        if is_quantile and any(key.column == column for key in self.question.group_by):
            raise NotMeasured(f"within a bin of {column!r} no quantile is known: group by another column")
        if is_quantile and not 0 < float(aggregate.argument or 0) < 1:
            raise NotMeasured("MIN and MAX are not answered from measured tables: ask for a quantile between 0 and 1")
        if not isinstance(definition.chosen, Frequent) and self.axes[column][1].size == 1:
            raise NotMeasured(f"{column!r} has one bin, so that nothing is known of how it is spread: declare `bins`")

    def counts_by(self, aggregate: Aggregate) -> tuple[Weights, int, TableAxis]:
        """The counts of the values or bins of an aggregate's column, its place and its axis."""
        (column,) = aggregate.columns
        where = both(self.question.where, present(aggregate, self.schema))
        return self.weights(Term((), where), [column]), *self.axes[column]

    def counts_of_items(self, aggregate: Aggregate, items: Sequence[Any]) -> list[Weights]:
        """The count of each of these items of an aggregate's column of sets."""
        (column,) = aggregate.columns
        where = both(self.question.where, present(aggregate, self.schema))
        return [self.weights(Term((), both(where, Contains(column, item)))) for item in items]

    def every(self) -> Iterator[tuple[float, Weights]]:
        """Every sum that the answer is calculated from, each with its weight.

        Of a quantile these are the rows up to each bin; of a mode or a deviation, the rows of each value, bin or item.
        """
        for term in self.needed:
            yield 1.0, self.weights(term)
        for aggregate in self.special:
            items = self.schema.declared(aggregate.columns[0]).items
            if items is not None:
                yield from ((1 / len(items), counts) for counts in self.counts_of_items(aggregate, items))
                continue
            counts, place, axis = self.counts_by(aggregate)
            if aggregate.definition.chosen != Rank():
                yield 1.0, counts.by(place, axis.size)
                continue
            bins = [n for n, start in enumerate(axis.bins.starts) if start != axis.column.space.absent]
            for last in bins[:-1]:
                yield 1 / len(bins), counts.up_to(place, last, float(aggregate.argument or 0))

    def weights(self, term: Term, also: Sequence[str] = ()) -> Weights:
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
        if prod(axis.size for axis in axes) > _MOST_CELLS:
            raise TooLarge(
                f"the table of {' × '.join(axis.name for axis in axes)} has more than {_MOST_CELLS:,} cells: ask about "
                "fewer columns at once, or give numbers fewer `bins`"
            )
        weights = grid.mask(term.where)[_outer(indices)].astype(float)
        order = sorted(range(len(axes)), key=lambda n: self.axes[axes[n].name][0])
        axes, weights = [axes[n] for n in order], weights.transpose(order)
        if number is not None:
            place, summed = number
            weights = _same_for_all(weights, axes.index(summed), summed) / (summed.max_abs or 1)  # curves as they are
            axes.remove(summed)
        names = [axis.name for axis in axes]
        for name in (name for name in term.columns if name in names):
            n = names.index(name)
            weights = weights * _along(_numbers(axes[n], self.scales[name]), n, len(axes))
        group = np.zeros(weights.shape, np.int64)
        for key, groups in zip(keys, self.keys, strict=True):
            n = names.index(key.column)
            group = group * len(groups.labels) + _along(groups.of(np.array(axes[n].bins.starts)), n, len(axes))
        several = [axis for axis in axes if axis.size > 1]
        table = tuple(self.axes[axis.name][0] for axis in several)
        sizes = tuple(axis.size for axis in several)
        return Weights(None if number is None else place, table, np.ravel(weights), np.ravel(group), sizes)

    def _blocks(self, column_cut: Cut) -> tuple[list[TableAxis], NDArray[np.int64]]:
        """The axes of a column of a question, and the block of each of their cells."""
        if column_cut.bits is None:
            axis = self.axes[column_cut.column][1]
            _refuse_cut(axis, column_cut)
            return [axis], column_cut.of(np.array(axis.bins.starts))
        items = {axis.item: axis for _, axis in self.axes.values() if axis.column.name == column_cut.column}
        places = np.indices((2,) * len(column_cut.bits))
        return [items[bit] for bit in column_cut.bits], np.asarray(sum(place << n for n, place in enumerate(places)))

    def _summed(self, term: Term) -> tuple[int, TableAxis] | None:
        """The number in bins or the curve that a sum adds up, with its place; None where the values of all numbers are
        counted."""
        for name in term.columns:
            if self.axes[name][1].is_binned and self.axes[name][1].max_abs is None:
                raise NotMeasured(
                    f"{name!r} was counted in bins, which tell no product: ask for its mean, or for counts"
                )
        binned = [name for name in term.columns if self.axes[name][1].is_added_up]
        if not binned:
            return None
        if len(binned) > 1:
            raise NotMeasured(
                f"squares and products of {binned[0]!r} were not added up: ask for its mean, or for counts"
            )
        if any(key.column == binned[0] for key in self.question.group_by):
            raise NotMeasured(f"{binned[0]!r} was not added up within its bins: group by another column")
        return self.axes[binned[0]]


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


def _numbers(axis: TableAxis, scale: Scale) -> Array:
    """The number of each value of an axis, on its scale; 0 for a missing one."""
    codes, absent = np.array(axis.bins.starts), axis.column.space.absent
    numbers = (axis.column.space.values_of(codes) - scale.middle) / scale.unit
    return np.where(codes == absent, 0.0, numbers) if absent is not None else numbers


def _same_for_all(weights: Array, place: int, axis: TableAxis) -> Array:
    """Weights that do not depend on an axis, but for its missing value: that adds nothing to a sum."""
    there = [n for n, start in enumerate(axis.bins.starts) if start != axis.column.space.absent]
    found = weights.take(there, axis=place)
    if (found != found.take([0], axis=place)).any():
        raise NotMeasured(f"{axis.name!r} was added up over all its values: leave the condition on it out")
    return np.asarray(found.take(0, axis=place))


def _refuse_cut(axis: TableAxis, cut: Cut) -> None:
    """Refuse a question that tells values apart which were counted together."""
    bins, changes = axis.bins, np.flatnonzero(np.diff(cut.block)) + 1
    inside = bins.cut_by(cut.first[changes].tolist())
    if inside:
        edges = ", ".join(str(label) for label in bins.labels)
        raise NotMeasured(
            f"the question cuts the bin {bins.labels[inside[0]]} of {axis.name!r}, whose values were counted together: "
            f"ask at the edges of {edges}, or declare other `bins`"
        )


_ROUNDING = 1e-12  # a variance below this part of its terms is zero


def measured_sum(release: Any, needed: Weights) -> Weights:
    """A sum that was measured; refused where it was not, with what to declare."""
    law, number = release.law, needed.number
    if number is not None and number not in release.estimates:
        name = law.axes[number].name
        if law.axes[number].has_curves:
            raise NotMeasured(f"the curves {name!r} were not added up: declare [[release.tables]] with them next time")
        raise NotMeasured(
            f"the numbers of {name!r} were counted in bins and not added up: declare sums = true under "
            f"[release] next time, or ask for counts by {name}"
        )
    if needed.table not in release.estimates[number].variances:
        named = [law.axes[place].name for place in (*needed.table, *([] if number is None else [number]))]
        names = ", ".join(f'"{name}"' for name in named)
        raise NotMeasured(
            f"the question needs the table of {' × '.join(named)}, which was not measured: ask about "
            f"fewer columns at once, or declare [[release.tables]] with columns = [{names}] next time"
        )
    return needed


def covariances(estimates: Mapping[int | None, ResidualEstimates], sums: Sequence[Weights], groups: int) -> Array:
    """The covariances of some sums in each group, from the variances s_A of residuals.

    Counts, and the sums of each number, were measured independently.

    Cov(q, q') = Σ_A s_A ⟨P_A q_A, P_A q'_A⟩ over the A within both tables, with q_A the mean of q over the other
    columns. P_A = ⊗ (I − 11ᵀ/k), multiplied out, leaves products of margins: ⟨x, P_A y⟩ = Σ_{B ⊆ A} Π_{A∖B} (−1/k)
    ⟨x_B, y_B⟩, with x_B the sum of x over the columns outside B.
    """
    count, k = len(sums), estimates[None].sizes
    margins = [{part: one.margin(part, k) for part in parts([one.table])} for one in sums]
    total, terms = np.zeros((2, groups, count, count))
    for i, j in product(range(count), repeat=2):
        if j < i:
            total[:, i, j], terms[:, i, j] = total[:, j, i], terms[:, j, i]
            continue
        if sums[i].number != sums[j].number:
            continue
        variances = estimates[sums[i].number].variances
        shared = tuple(column for column in sums[i].table if column in sums[j].table)
        outside = prod(k[c] for one in (sums[i], sums[j]) for c in one.table if c not in shared)
        for inner in parts([shared]):
            cells = prod(k[c] for c in inner)
            weight = sum(
                variances[outer]
                * prod(-1 / k[c] for c in outer if c not in inner)
                / (outside * prod(k[c] for c in shared if c not in outer) ** 2)
                for outer in parts([shared])
                if set(inner) <= set(outer)
            )
            (one, x), (other, y) = margins[i][inner], margins[j][inner]
            both, left, right = np.intersect1d(one, other, assume_unique=True, return_indices=True)
            term = weight * np.bincount(both // cells, x[left] * y[right], groups)
            total[:, i, j] += term
            terms[:, i, j] += np.abs(term)
    return np.where(np.abs(total) <= _ROUNDING * terms, 0.0, total)


_LEAST = 1e-4  # of what a cell of a table costs: what no question needs of the table gets at least so much


def with_question_tables(plan: Plan) -> Plan:
    """The plan with the tables that its questions need or, where it lists tables, with questions that these answer.

    >>> columns = {name: {"space": "categories", "values": ["x", "y", "z"]} for name in ("a", "b", "c")}
    >>> asked = [{"sql": "SELECT a, count(*) FROM release GROUP BY a"}]
    >>> asked += [{"sql": "SELECT c, count(*) FROM release WHERE b = 'x' GROUP BY c", "weight": 3}]
    >>> promise = {"model": "central", "epsilon": 1, "delta": "1e-6"}
    >>> plan = Plan.from_dict({"privacy": promise, "columns": columns, "questions": asked})
    >>> [(names, int(weight)) for names, weight in plan.asked.tables]
    [(('a',), 1), (('b', 'c'), 3)]
    """
    assert plan.asked is not None
    axes = plan.asked.axes
    tables: dict[tuple[str, ...], Fraction] = {}
    sums: dict[tuple[tuple[str, ...], str], Fraction] = {}
    for n, question in enumerate(plan.questions):
        needed = {(one.table, one.number): None for _, one in _sums(plan, axes, n)}
        for table, number in needed:
            names = tuple(axes[place].name for place in table)
            if not plan.asked.questions:
                _refuse_unlisted(plan, n, names, None if number is None else axes[number].name)
            elif number is None:
                tables[names] = tables.get(names, Fraction(0)) + question.weight
            else:
                key = names, axes[number].name
                sums[key] = sums.get(key, Fraction(0)) + question.weight
    if not plan.asked.questions:
        return plan
    used = {name for names in tables for name in names} | {name for names, number in sums for name in (*names, number)}
    for column in (column for column in plan.columns if column.private):
        if not any(axis.name in used for axis in axes if axis.column is column):
            raise Misplaced(
                ("columns", column.name), "is needed by no question: ask about it, or leave it out (drop = true)"
            )
    listed = tuple((names, number, weight) for (names, number), weight in sums.items())
    return replace(plan, asked=replace(plan.asked, tables=tuple(tables.items()), sums=listed))


def _sums(plan: Plan, axes: tuple[TableAxis, ...], n: int) -> list[tuple[float, Weights]]:
    """The sums that a question needs; a question that tables do not answer is refused with its place in the plan."""
    try:
        parsed = parse(plan.questions[n].sql)
        schema = replace(schema_of(plan, "release"), table=parsed.table)
        return list(QuestionSums(resolve(parsed, schema), schema, axes).every())
    except InputError as error:
        raise Misplaced(("questions", str(n + 1), "sql"), f"has no answer from tables: {error}") from None


def _refuse_unlisted(plan: Plan, n: int, names: tuple[str, ...], number: str | None) -> None:
    """Refuse a question that needs more than the tables and sums that the plan lists."""
    assert plan.asked is not None
    if number is None:
        there = any(set(names) <= set(listed) for listed, _ in plan.asked.tables)
    else:
        there = any(number == summed and set(names) <= set(listed) for listed, summed, _ in plan.asked.sums)
    if not there:
        what = f"the table of {' × '.join(names)}" if number is None else f"sums of {number}"
        by = f" by {' × '.join(names)}" if number is not None and names else ""
        raise Misplaced(
            ("questions", str(n + 1), "sql"),
            f"needs {what}{by}, which [release] does not list: add it, or leave `tables` out: then questions choose",
        )


def question_costs(plan: Plan, domain: Domain) -> list[tuple[float, Costs]]:
    """What the answer to every question costs, with its weight: the mean over its groups of the variance of each sum.

    Numbers and curves are in units of half their range, so that a mean and a share of the same rows count alike.
    """
    assert plan.asked is not None
    axes = plan.asked.axes
    return [(float(question.weight), _added(domain, _sums(plan, axes, n))) for n, question in enumerate(plan.questions)]


def _added(domain: Domain, sums: list[tuple[float, Weights]]) -> Mapping[Residual, float]:
    found: dict[Residual, float] = {}
    for weight, one in sums:
        least = cell_costs(domain, Residual(one.table, one.number))
        for residual, cost in _costs(domain, one):
            found[residual] = found.get(residual, 0.0) + weight * max(cost, _LEAST * least[residual])
    return found


def _costs(domain: Domain, one: Weights) -> Iterator[tuple[Residual, float]]:
    """The variance of a sum for each unit of the variance of a residual, on average over the groups that it has.

    ‖P_A q_A‖² = Σ_{B ⊆ A} Π_{A∖B} (−1/k) ‖q_B‖² / Π_{M∖A} k², with q_B the weights of the table M added up over M∖B.
    Weights of numbers are in units of half their range already.
    """
    k, unit = domain.sizes, domain.added(one.number).unit if one.number in domain.curves else 1
    squares: dict[Table, float] = {}
    for part in parts([one.table]):
        _, weights = one.margin(part, k)
        squares[part] = float(weights @ weights)
    groups = max(1, len(one.margin((), k)[0]))
    for part in squares:
        outside = prod(k[i] for i in one.table if i not in part)
        inside = sum(
            square * prod(-1 / k[i] for i in part if i not in inner)
            for inner, square in squares.items()
            if set(inner) <= set(part)
        )
        yield Residual(part, one.number), inside / outside**2 / groups / unit
