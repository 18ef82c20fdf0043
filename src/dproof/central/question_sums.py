"""The sums over rows that a question needs, as weights of the cells of measured tables: known from the plan alone.

The [[questions]] of a plan choose by them which tables and sums are measured, and with how much noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dproof.central.estimates import ResidualEstimates, spread_evenly
from dproof.central.workload import Costs, Domain, Residual, Table, cell_costs, parts_within
from dproof.columns.codec import quoted
from dproof.errors import InputError, NotMeasured, QuestionError, TooLarge
from dproof.laws.debias import Array
from dproof.limits import MOST_GROUPS, MOST_TABLE_CELLS
from dproof.plans.plan import AskedTables, Plan, TableAxis, schema_of
from dproof.plans.reader import MisplacedKey
from dproof.questions.aggregates import Rank
from dproof.questions.partition import combined_places, cut, grouping
from dproof.questions.question import Aggregate, Contains, Question, Schema, both, is_curve, leaves, resolve
from dproof.questions.sums import Term, centred_terms, present
from dproof.spaces.dates import uncut_period
from dproof.spaces.interval import Bins, Scale, scale_of
from dproof.spaces.space import Partition, along


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """A sum over rows in every group: a weight and a group for each cell of a table of counts, or of sums."""

    number: int | None
    table: Table
    weights: Array
    groups: NDArray[np.int64]
    sizes: tuple[int, ...]  # of the table's axes
    fine: Array | None = None  # of the parts of bins on the ladder of the one column, beside the mean of each bin

    @property
    def fewness(self) -> float:
        """How many times as many rows there are as a group has, if the cells of the table have equally many.

        Squared errors times it are those in parts of the rows of a group: of few rows a small error says as much.
        """
        used = self.weights != 0
        return len(used) * max(1, len(np.unique(self.groups[used]))) / max(1, int(np.count_nonzero(used)))

    def margin(self, part: Table, columns: Sequence[int]) -> tuple[NDArray[np.int64], Array]:
        """The weights added up over all axes but these: the numbers of group and cell, and their weights."""
        places = np.unravel_index(np.arange(len(self.weights)), self.sizes) if self.sizes else ()
        chosen = [(places[n], columns[i]) for n, i in enumerate(self.table) if i in part]
        keys = np.asarray(combined_places([(self.groups, 0), *chosen])) + np.zeros_like(self.groups)
        used, place = np.unique(keys[self.weights != 0], return_inverse=True)
        return used, np.bincount(place, self.weights[self.weights != 0], len(used))

    def places(self, column: int) -> NDArray[np.int64]:
        """The place of every cell along the axis of a column."""
        return np.asarray(np.unravel_index(np.arange(len(self.weights)), self.sizes)[self.table.index(column)])

    def by(self, place: int, bins: int) -> Weights:
        """A sum in every group and every bin of a column: each bin makes a group of its own."""
        return replace(self, groups=self.groups * bins + self.places(place))


@dataclass(frozen=True, slots=True, eq=False)
class BinCounts:
    """The rows that an aggregate looks at, by the bins of its column or, with a ladder, by parts of these."""

    counts: Weights
    place: int
    axis: TableAxis
    has_ladder: bool

    @property
    def bins(self) -> Bins:
        return self.axis.ladder if self.has_ladder else self.axis.bins

    @property
    def ends(self) -> Array:
        """The least and the greatest number of each bin, but for a missing one."""
        space, bins = self.axis.column.space, self.bins
        pairs = [pair for pair in pairwise((*bins.starts, bins.stop)) if pair[0] != space.absent]
        return np.asarray(space.values_of(np.array(pairs) - [0, 1]))

    @property
    def last_parts(self) -> NDArray[np.int64]:
        """The last part of each bin on the ladder, but for a missing one."""
        last = np.cumsum(self.axis.parts) - 1
        return last[last < len(self.ends)]

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which bins have rows that are looked at, for all that is known."""
        if self.has_ladder:
            return np.repeat(self.counts.weights != 0, self.axis.parts)
        return np.bincount(self.counts.places(self.place), self.counts.weights != 0, self.axis.size) > 0

    def weighed(self, numbers: Array) -> Weights:
        """The sum over rows of a number of their bin, in every group."""
        if not self.has_ladder:
            return replace(self.counts, weights=self.counts.weights * numbers[self.counts.places(self.place)])
        parts, weights = self.axis.parts, self.counts.weights
        even = spread_evenly(parts, numbers)
        means = even[np.cumsum([0, *parts[:-1]])]
        return replace(self.counts, weights=weights * means, fine=np.repeat(weights, parts) * (numbers - even))

    def up_to(self, last: int, share: float) -> Weights:
        """(rows up to this bin) − share · (all rows), in every group."""
        return self.weighed((np.arange(self.bins.size) <= last) - share)


class QuestionSums:
    """The sums over rows that one question needs of tables with these axes; refused where no table tells them."""

    def __init__(self, question: Question, schema: Schema, axes: Sequence[TableAxis]) -> None:
        self.question, self.schema = question, schema
        self.axes: dict[str, tuple[int, TableAxis]] = {axis.name: (place, axis) for place, axis in enumerate(axes)}
        for key in question.group_by:
            if schema.declared(key.column).items is not None:
                raise QuestionError(
                    f"GROUP BY {key.column} would need all its items at once: SELECT unnest({quoted(key.column)}) AS "
                    "item, count(*), and GROUP BY item"
                )
        asked = question.aggregates
        for aggregate in asked:
            if is_curve(aggregate, schema) and aggregate.definition.shape == "curved":
                raise QuestionError(
                    f"measured tables answer AVG and SUM of the curves {aggregate.columns[0]!r}: ask for these"
                )
        # What no formula of sums tells, but the counts of the values, bins or items of its column.
        self.by_counts = [one for one in asked if one.definition.formula is None or self.is_told_by_bins(one)]
        for aggregate in self.by_counts:
            self._check(aggregate)
        formulas = [aggregate for aggregate in asked if aggregate not in self.by_counts] or [Aggregate("count")]
        self.needed = list(dict.fromkeys(t for a in formulas for t in centred_terms(a, question.where, schema)))
        numbers = [c for term in self.needed for c in term.columns if not schema.spaces[c].holds_curves]
        self.scales: dict[str, Scale] = {name: scale_of(schema.spaces[name]) for name in numbers}
        self.keys: list[Partition] = [grouping(key, schema) for key in question.group_by]
        self.groups = prod(len(key.labels) for key in self.keys)
        if self.groups > MOST_GROUPS:
            raise QuestionError(
                f"the question has {self.groups:,} groups, and {MOST_GROUPS:,} are the most: group by fewer columns"
            )

    def occurring(self) -> list[int]:
        """The groups that WHERE leaves rows for, whatever the aggregates take of them."""
        if not self.keys:
            return [0]
        (rows,) = self.parts(Term((), self.question.where))
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
        if not is_quantile and definition.formula is None and not definition.is_by_count:
            name = definition.name_of(aggregate.argument)[0].upper()
            raise NotMeasured(f"{name} is not answered from measured tables: ask for counts by {column}")
        if is_quantile and any(key.column == column for key in self.question.group_by):
            raise NotMeasured(f"within a bin of {column!r} no quantile is known: group by another column")
        if is_quantile and aggregate.end is not None:
            place, name = ("0", "MIN") if aggregate.end == "least" else ("1", "MAX")
            raise NotMeasured(
                f"QUANTILE at {place} is {name}, which is not answered from measured tables: "
                "ask for a quantile between 0 and 1"
            )
        if not definition.is_by_count and self.axes[column][1].size == 1:
            raise NotMeasured(f"{column!r} has one bin, so that nothing is known of how it is spread: declare `bins`")

    def counts(self, aggregate: Aggregate) -> Weights:
        """The rows that an aggregate looks at, by the values or bins of its column."""
        where = both(self.question.where, present(aggregate, self.schema))
        return self.parts(Term((), where), aggregate.columns)[0]

    def by_bins(self, aggregate: Aggregate) -> BinCounts:
        """The rows that an aggregate looks at by the finest bins that are known: a ladder is of all rows at once."""
        counts, (place, axis) = self.counts(aggregate), self.axes[aggregate.columns[0]]
        return BinCounts(counts, place, axis, axis.has_ladder and counts.table == (place,) and not self.keys)

    def by_value(self, aggregate: Aggregate) -> list[tuple[Weights, Bins]]:
        """The rows of each value or bin of an aggregate's column, in groups of their own, or of each of its items."""
        (column,) = aggregate.columns
        items: Any = self.schema.declared(column).items
        if items is None:
            place, axis = self.axes[column]
            return [(self.counts(aggregate).by(place, axis.size), axis.bins)]
        where = both(self.question.where, present(aggregate, self.schema))
        counted = (self.parts(Term((), both(where, Contains(column, one)))) for one in items)
        return [(counts, Bins((0,), (one,), 1)) for (counts,), one in zip(counted, items, strict=True)]

    def every(self) -> Iterator[tuple[float, tuple[Weights, ...]]]:
        """Every sum that the answer is calculated from, in its parts, each with its weight.

        Of a quantile these are the rows up to each bin; of a mode or a deviation, the rows of each value, bin or item,
        but of a deviation with a ladder Σx and Σx² by parts of bins.
        """
        for term in self.needed:
            yield 1.0, self.parts(term)
        for aggregate in self.by_counts:
            is_quantile, moment = aggregate.definition.chosen == Rank(), aggregate.definition.moment
            spread = self.by_bins(aggregate) if is_quantile or moment else None
            if is_quantile and spread is not None:
                last = len(spread.ends)
                for n in range(last - 1):
                    yield 1 / last, (spread.up_to(n, float(aggregate.argument or 0)),)
            elif spread is not None and spread.has_ladder:
                middles = np.zeros(spread.bins.size)
                middles[: len(spread.ends)] = np.linspace(-1, 1, len(spread.ends))
                yield from ((1.0, (spread.weighed(middles**power),)) for power in (0, 1, 2))
            else:
                values = self.by_value(aggregate)
                yield from ((1 / len(values), (counts,)) for counts, _ in values)

    def parts(self, term: Term, also: Sequence[str] = ()) -> tuple[Weights, ...]:
        """The tables that a sum needs, with the weight and the group of every cell.

        Where a number is added up within its bins these are two: the rest within bins, and Σ middle · count.
        """
        keys = self.question.group_by
        named = dict.fromkeys([*(key.column for key in keys), *(leaf.column for leaf in leaves(term.where))])
        grid = cut(self.schema, [term.where], keys, list(dict.fromkeys([*named, *term.columns, *also])))
        by_column = [self._blocks(part) for part in grid.axes]
        axes, number = [axis for own, _ in by_column for axis in own], self._summed(term)
        if prod(axis.size for axis in axes) > MOST_TABLE_CELLS:
            raise TooLarge(
                f"the table of {' × '.join(axis.name for axis in axes)} has more than {MOST_TABLE_CELLS:,} cells: ask "
                "about fewer columns at once, or give numbers fewer `bins`"
            )
        weights = grid.mask(term.where).astype(float)
        for n, (_, blocks) in reversed(list(enumerate(by_column))):
            weights = weights.take(blocks, axis=n)
        order = sorted(range(len(axes)), key=lambda n: self.axes[axes[n].name][0])
        axes, weights = [axes[n] for n in order], weights.transpose(order)
        numbers = [axis for name in term.columns for axis in axes if axis.name == name]
        if number is None:
            return (self._part(None, axes, weights, numbers),)
        place, summed = number
        others, n = [axis for axis in axes if axis is not summed], axes.index(summed)
        rest = weights if summed.has_curves else weights * (float(summed.unit) / self.scales[summed.name].unit)
        if not summed.within:
            return (self._part(place, others, _same_for_all(rest, n, summed), numbers),)
        by = axes
        if not any(key.column == summed.name for key in keys) and _is_same_for_all(rest, n, summed):
            by, rest = others, np.asarray(rest.take(0, axis=n))
        known = [axis for axis in numbers if axis is not summed]
        return self._part(place, by, rest, known), self._part(None, axes, weights, numbers)

    def _part(self, place: int | None, axes: list[TableAxis], weights: Array, numbers: list[TableAxis]) -> Weights:
        """Weights of the cells of a table of counts, or of the sums of the column there, times some of its numbers."""
        for axis in (axis for axis in numbers if axis in axes):
            weights = weights * along(_numbers(axis, self.scales[axis.name]), axes.index(axis), len(axes))
        group, names = np.zeros(weights.shape, np.int64), [axis.name for axis in axes]
        for key, groups in zip(self.question.group_by, self.keys, strict=True):
            n = names.index(key.column)
            group = group * len(groups.labels) + along(groups.of(np.array(axes[n].bins.starts)), n, len(axes))
        several = {self.axes[axis.name][0]: axis.size for axis in axes if axis.size > 1}
        return Weights(place, tuple(several), np.ravel(weights), np.ravel(group), tuple(several.values()))

    def _blocks(self, column_cut: Partition) -> tuple[list[TableAxis], NDArray[np.int64]]:
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
        axis = self.axes[binned[0]][1]
        if not axis.within and any(key.column == binned[0] for key in self.question.group_by):
            raise NotMeasured(f"{binned[0]!r} was not added up within its bins: group by another column")
        return self.axes[binned[0]]


def _numbers(axis: TableAxis, scale: Scale) -> Array:
    """The number of each value of an axis, or of the middle of each bin, on its scale; 0 for a missing one."""
    codes, absent = np.array(axis.bins.starts), axis.column.space.absent
    numbers = scale.numbers(axis.column.space, axis.middles if axis.is_binned else codes)
    return np.where(codes == absent, 0.0, numbers) if absent is not None else numbers


def _is_same_for_all(weights: Array, place: int, axis: TableAxis) -> bool:
    """Whether weights do not depend on an axis, but for its missing value, the last: that adds nothing to a sum."""
    found = weights.take(
        [n for n, start in enumerate(axis.bins.starts) if start != axis.column.space.absent], axis=place
    )
    return not (found != found.take([0], axis=place)).any()


def _same_for_all(weights: Array, place: int, axis: TableAxis) -> Array:
    """Weights that do not depend on an axis, without it."""
    if not _is_same_for_all(weights, place, axis):
        raise NotMeasured(
            f"{axis.name!r} was added up over all its values: leave the condition on it out, or declare the question "
            "under [[questions]] next time"
        )
    return np.asarray(weights.take(0, axis=place))


_SHOWN_BINS = 12  # as many as there are by default


def _refuse_cut(axis: TableAxis, cut: Partition) -> None:
    """Refuse a question that tells values apart which were counted together."""
    bins, changes = axis.bins, np.flatnonzero(np.diff(cut.block)) + 1
    ends = cut.first[changes].tolist()
    inside = bins.cut_by(ends)
    if inside:
        labels = [str(label) for label in bins.labels if label is not None]  # a missing value, the last one, is no bin
        edges = ", ".join([*labels[:_SHOWN_BINS], "…"] if len(labels) > _SHOWN_BINS else labels)
        # A bin has its lower edge, and not its upper one: > and <= tell that one value from the rest of its bin.
        beside = all(end in bins.starts or end - 1 in bins.starts for end in ends)
        signs = "write >= for >, or < for <=, or " if beside else ""
        # Where a question makes groups of its own, such as by BIN, which puts a highest value by itself.
        groups = f"GROUP BY {quoted(axis.name)} alone, which has the bins, or " if len(ends) > 2 else ""
        period = uncut_period(axis.column.space.without_missing, ends)
        other = "other `bins`" if period is None else f'bins = "{period}"'
        raise NotMeasured(
            f"the question cuts the bin {labels[inside[0]]} of {axis.name!r}, whose values were counted together: "
            f"{signs}{groups}ask at the edges of {edges}, or declare {other}"
        )


_ROUNDING = 1e-12  # a product below this part of its terms is zero


def measured_sum(release: Any, needed: Weights) -> Weights:
    """A sum, or a part of one, that was measured; refused where it was not, with what to declare."""
    law, number = release.law, needed.number
    if number is not None and number not in release.estimates:
        name = law.axes[number].name
        if law.axes[number].has_curves:
            raise NotMeasured(f"the curves {name!r} were not added up: declare [[release.tables]] with them next time")
        raise NotMeasured(
            f"the numbers of {name!r} were counted in bins and not added up: declare sums = true under "
            f"[release] next time, or ask for counts by {name}"
        )
    if number in needed.table and needed.table not in release.estimates[number].variances:
        by = " × ".join(law.axes[place].name for place in needed.table)
        raise NotMeasured(
            f"{law.axes[number].name!r} was not added up by {by}: leave the condition on it out, or declare the "
            "question under [[questions]] next time"
        )
    if needed.table not in release.estimates[number].variances:
        axes = [law.axes[place] for place in (*needed.table, *([] if number is None else [number]))]
        columns = list(dict.fromkeys(axis.column.name for axis in axes))
        names = ", ".join(f'"{name}"' for name in columns)
        way = f"[[release.tables]] with columns = [{names}] next time"
        if len(columns) < len(axes):  # items of one set, which no listed table has together
            pairs = bool(law.asked.unpaired) and len(axes) == 2
            way = f"the question under [[questions]]{', or item_pairs = true under [release],' * pairs} next time"
        fewer = "ask about fewer columns at once, or " if len(axes) > 1 else ""
        raise NotMeasured(
            f"the question needs the table of {' × '.join(axis.name for axis in axes)}, which was not measured: "
            f"{fewer}declare {way}"
        )
    return needed


def covariances(estimates: Mapping[int | None, ResidualEstimates], sums: Sequence[Weights], groups: int) -> Array:
    """The covariances of some sums in each group, from the variances s_A of residuals.

    Cov(q, q') = Σ_A s_A ⟨P_A q_A, P_A q'_A⟩ over the A within both tables. Counts, and the sums of each number, were
    measured independently; so was the ladder of a number, of which the spread within each bin is used.
    """
    count, k = len(sums), estimates[None].sizes
    margins = [_margins(weights, k) for weights in sums]
    total = np.zeros((groups, count, count))
    for i, j in combinations_with_replacement(range(count), 2):
        first, second = sums[i], sums[j]
        if first.number == second.number:
            variances, products = estimates[first.number].variances, _products(margins[i], margins[j], k, groups)
            total[:, i, j] = total[:, j, i] = sum(variances[part] * product for part, product in products)
        if first.fine is not None and second.fine is not None:
            total[:, i, j] += estimates[None].ladders[first.table[0]].variance * float(first.fine @ second.fine)
            total[:, j, i] = total[:, i, j]
    return total


Margins: TypeAlias = Mapping[Table, tuple[NDArray[np.int64], Array]]


def _margins(one: Weights, sizes: Sequence[int]) -> Margins:
    """The weights of a sum added up over all columns but some, for each set of its columns."""
    return {part: one.margin(part, sizes) for part in parts_within(one.table)}


def _products(one: Margins, other: Margins, k: Sequence[int], groups: int) -> Iterator[tuple[Table, Array]]:
    """⟨P_A q_A, P_A q'_A⟩ in every group, for the A within the tables of both sums.

    q_A is the mean of q over the columns outside A. P_A = ⊗ (I − 11ᵀ/k), multiplied out, leaves products of margins:
    ⟨x, P_A y⟩ = Σ_{B ⊆ A} Π_{A∖B} (−1/k) ⟨x_B, y_B⟩, with x_B the sum of x over the columns outside B.
    """
    inner: dict[Table, Array] = {}
    for part in (part for part in one if part in other):
        (cells, x), (others, y) = one[part], other[part]
        both, left, right = np.intersect1d(cells, others, assume_unique=True, return_indices=True)
        inner[part] = np.asarray(np.bincount(both // prod(k[c] for c in part), x[left] * y[right], groups), float)
    whole = [max(margins, key=len) for margins in (one, other)]  # the tables themselves
    for part in inner:
        within = [b for b in inner if set(b) <= set(part)]
        signed = np.array([prod(-1 / k[c] for c in part if c not in b) * inner[b] for b in within])
        total, terms = signed.sum(axis=0), np.abs(signed).sum(axis=0)
        outside = prod(k[c] for table in whole for c in table if c not in part)
        yield part, np.where(np.abs(total) <= _ROUNDING * terms, 0.0, total) / outside


_LEAST_COST = 1e-4  # of what a cell of a table costs: what no question needs of the table gets at least so much


def with_question_tables(plan: Plan) -> Plan:
    """The plan with the tables that its questions need, besides those that it lists.

    >>> columns = {name: {"space": "categories", "values": ["x", "y", "z"]} for name in ("a", "b", "c")}
    >>> asked = [{"sql": "SELECT a, count(*) FROM release GROUP BY a"}]
    >>> asked += [{"sql": "SELECT c, count(*) FROM release WHERE b = 'x' GROUP BY c", "weight": 3}]
    >>> promise = {"model": "central", "epsilon": 1, "delta": "1e-6"}
    >>> plan = Plan.from_dict({"privacy": promise, "columns": columns, "questions": asked})
    >>> [(names, int(weight)) for names, weight in plan.asked.tables]
    [(('a',), 1), (('b', 'c'), 3)]
    """
    assert plan.asked is not None
    asked = plan.asked
    if not asked.listed and asked.version > 1:
        asked = replace(asked, axes=_centred(plan, asked.axes))
    axes, weights = asked.axes, dict[tuple[tuple[str, ...], str | None], Fraction]()
    for n, question in enumerate(plan.questions):
        parts = (one for _, parts in _question_sums(plan, axes, n) for one in parts)
        for table, number in dict.fromkeys((one.table, one.number) for one in parts):
            key = tuple(axes[place].name for place in table), None if number is None else axes[number].name
            weights[key] = weights.get(key, Fraction(0)) + question.weight
    if asked.listed:
        more = [key for key in weights if not _is_listed(asked, *key)]
        counted = tuple((names, Fraction(0)) for names, number in more if number is None)
        added = tuple((names, number, Fraction(0)) for names, number in more if number is not None)
        return replace(plan, asked=replace(asked, tables=asked.tables + counted, sums=asked.sums + added))
    tables = tuple((names, weight) for (names, number), weight in weights.items() if number is None)
    sums = tuple((names, number, weight) for (names, number), weight in weights.items() if number is not None)
    return replace(plan, asked=replace(asked, tables=tables, sums=sums))


def _centred(plan: Plan, axes: tuple[TableAxis, ...]) -> tuple[TableAxis, ...]:
    """The axes, with a number added up about the middle of its range where counts by its bins would serve no more.

    Σ middle · count has √(k/3) times the noise of one sum about the middle, k the number of bins. So a number is added
    up within its bins where a question looks at some of them alone, or where all counts that its sums need are asked
    for anyway and no bin is wide.
    """
    inside = tuple(axis.centred(within=True) for axis in axes)
    inside = tuple(axis.with_ladder(True) for axis in inside)
    every = [parts for n in range(len(plan.questions)) for _, parts in _question_sums(plan, inside, n)]
    added = [(parts[0], parts[-1].table) for parts in every if len(parts) > 1]
    needed = {weights.number for weights, _ in added if weights.number in weights.table}
    asked = [set(parts[0].table) for parts in every if len(parts) == 1]
    asked += [set(table) for weights, table in added if weights.number in needed]
    lacking = {weights.number for weights, table in added if not any(set(table) <= other for other in asked)} - needed
    chosen = (axis.centred(within=n in needed) if n in needed | lacking else axis for n, axis in enumerate(axes))
    fine = {parts[0].table for parts in every if parts[0].fine is not None}
    return tuple(replace(axis, has_ladder=(n,) in fine) for n, axis in enumerate(chosen))


def _question_sums(plan: Plan, axes: tuple[TableAxis, ...], n: int) -> list[tuple[float, tuple[Weights, ...]]]:
    """The sums that a question needs; a question that tables do not answer is refused with its place in the plan."""
    try:
        schema = schema_of(plan, "release")
        question = resolve(replace(plan.questions[n].question, table=schema.table), schema)
        return list(QuestionSums(question, schema, axes).every())
    except InputError as error:
        raise MisplacedKey(("questions", str(n + 1), "sql"), f"has no answer from tables: {error}") from None


def _is_listed(asked: AskedTables, names: tuple[str, ...], number: str | None) -> bool:
    """Whether the tables and sums that the plan lists tell this one."""
    listed = [table for table, _ in asked.tables]
    if number is not None:
        listed = [table for table, summed, _ in asked.sums if summed == number]
    return any(set(names) <= set(table) for table in listed)


def question_costs(plan: Plan, domain: Domain, *, alike: bool = False) -> list[tuple[float, Costs]]:
    """What the answer to every question costs, with its weight: the mean over its groups of the variance of each sum,
    times its `fewness`. All together cost as much as where sums are `alike`, as they were up to an earlier version.

    Numbers and curves are in units of half their range, so that a mean and a share of the same rows count alike.
    """
    assert plan.asked is not None
    every = [_question_sums(plan, plan.asked.axes, n) for n in range(len(plan.questions))]
    weights = [float(planned.weight) for planned in plan.questions]
    if not alike:
        whole = sum(weight * share for weight, sums in zip(weights, every, strict=True) for share, _ in sums)
        every = [[(share * parts[-1].fewness, parts) for share, parts in sums] for sums in every]
        few = sum(weight * share for weight, sums in zip(weights, every, strict=True) for share, _ in sums)
        weights = [weight * whole / few for weight in weights]
    return [(weight, _costs(domain, sums)) for weight, sums in zip(weights, every, strict=True)]


def _costs(domain: Domain, sums: list[tuple[float, tuple[Weights, ...]]]) -> Costs:
    """The variance of some sums for each unit of the variance of a residual, on average over the groups that each has.

    Weights of numbers are in units of half their range already.
    """
    costs: dict[Residual, float] = {}
    for weight, summed in ((weight, summed) for weight, parts in sums for summed in parts):
        unit = domain.added(summed.number).unit if summed.number in domain.curves else 1
        least, margins = cell_costs(domain, Residual(summed.table, summed.number)), _margins(summed, domain.sizes)
        groups = max(1, len(margins[()][0]))
        for part, product in _products(margins, margins, domain.sizes, int(summed.groups.max(initial=0)) + 1):
            residual = Residual(part, summed.number)
            cost = max(float(product.sum()) / groups / unit, _LEAST_COST * least[residual])
            costs[residual] = costs.get(residual, 0.0) + weight * cost
        if summed.fine is not None:
            ladder = Residual(summed.table, ladder=True)
            costs[ladder] = costs.get(ladder, 0.0) + weight * float(summed.fine @ summed.fine)
    return costs
