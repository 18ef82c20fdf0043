"""The sums over rows that aggregates are computed from, and their exact counting.

For a curator every value is a whole number of public units: counts, sums, sums of squares and of products are what
noise is added to; means, variances and correlations are computed from them afterwards. A release estimates sums about
the middle of each range.

Rows are counted from the codes of their columns, in batches or brought together where they are alike, in bounded
memory. Sums of whole numbers do not depend on their order.
"""

from __future__ import annotations

import math
import operator
from collections import Counter as Counts
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dproof.errors import QuestionError, TooLarge
from dproof.limits import MOST_CELLS
from dproof.questions.aggregates import Sums
from dproof.questions.partition import Grid, by_grids, combined_places, grouping
from dproof.questions.question import (
    Aggregate,
    Applied,
    Arithmetic,
    Expression,
    Key,
    Missing,
    Not,
    Number,
    Predicate,
    Schema,
    Unnest,
    atoms,
    both,
    leaves,
)
from dproof.spaces.interval import Scale, WholeScale, whole_scale
from dproof.spaces.space import MISSING, Partition, Places, along

_LARGEST = 1 << 62


@dataclass(frozen=True, slots=True)
class Term:
    """Σ over the rows that satisfy `where` of the product of the whole numbers of `columns`; with none, a count."""

    columns: tuple[str, ...]
    where: Predicate | None
    centred: bool = False

    def unit(self, schema: Schema) -> Fraction:
        """What one whole number is worth."""
        worth = Fraction(1)
        for column in self.columns:
            worth *= self.scale(column, schema).unit
        return worth

    def scale(self, column: str, schema: Schema) -> WholeScale:
        scale = whole_scale(schema.spaces[column], self.centred)
        if max(map(abs, scale.ends)) ** len(self.columns) >= _LARGEST:
            raise TooLarge(f"column {column!r} has too many steps for its sums to be exact: take a greater step")
        return scale


def present(aggregate: Aggregate, schema: Schema) -> Predicate | None:
    """The rows that an aggregate of columns takes: those that satisfy its condition and miss no value of these."""
    where = aggregate.where
    for column in dict.fromkeys(aggregate.columns):
        if column in schema.may_be_missing:
            where = both(where, Not(Missing(column)))
    return where


def terms(aggregate: Aggregate, schema: Schema) -> tuple[Term, ...]:
    """The sums over rows that an aggregate is computed from; none where it is no formula of such sums.

    >>> from dproof.spaces import Categories
    >>> [term.columns for term in terms(Aggregate("avg", ("age",)), Schema("data", {"age": Categories([1, 2])}))]
    [(), ('age',)]
    """
    found: tuple[Term, ...] | None = schema.cache.get(aggregate)
    if found is None:
        definition, where = aggregate.definition, present(aggregate, schema)
        products = dict.fromkeys(tuple(aggregate.columns[place] for place in places) for places in definition.sums)
        found = tuple(Term(columns, where, definition.centred and bool(columns)) for columns in products)
        schema.cache[aggregate] = found
    return found


def centred_terms(aggregate: Aggregate, where: Predicate | None, schema: Schema) -> list[Term]:
    """Sums about the middle that tell the same of the rows that satisfy `where`, the number of rows first."""
    found: list[Term] | None = schema.cache.get((aggregate, where))
    if found is None:
        products = [part for term in terms(aggregate, schema) for part in multiplied_out(term.columns)]
        rows = both(where, present(aggregate, schema.with_undeclared_missing))
        found = [Term(columns, rows, bool(columns)) for columns in dict.fromkeys([(), *products])]
        schema.cache[aggregate, where] = found
    return found


def chooses(term: Term) -> bool:
    """Whether a sum is over some rows only, by more than that no value is missing.

    >>> chooses(Term((), Not(Missing("age")))), chooses(Term((), Missing("age")))
    (False, True)
    """
    return any(not (isinstance(atom, Not) and isinstance(atom.part, Missing)) for atom in atoms(term.where))


def multiplied_out(columns: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The products about the middle from which the product of the numbers as they are follows.

    >>> multiplied_out(("x", "y"))
    [(), ('x',), ('y',), ('x', 'y')]
    """
    return [part for size in range(len(columns) + 1) for part in combinations(columns, size)]


_OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


def evaluate(
    expression: Expression, aggregate: Callable[[Aggregate], Any], number: Callable[[Fraction], Any] = np.float64
) -> Any:
    """The value of an expression, from those of its aggregates and numbers: anything that can be calculated with.

    >>> half = Arithmetic("/", Aggregate("count"), Number(Fraction(2)))
    >>> float(evaluate(half, lambda aggregate: 7))
    3.5
    """
    match expression:
        case Number(value):
            return number(value)
        case Aggregate():
            return aggregate(expression)
        case Arithmetic(sign, left, right):
            x, y = evaluate(left, aggregate, number), evaluate(right, aggregate, number)
            with np.errstate(all="ignore"):
                return _OPERATIONS[sign](x, y)
        case Applied():
            raise QuestionError("a function such as ROUND goes around a whole calculation, and not around a part of it")
        case Key(column) | Unnest(column):
            raise QuestionError(f"column {column!r} is a group and cannot be calculated with: select it by itself")


# The value of each sum, number of distinct values or chosen value, per group.
Statistics = dict[Any, NDArray[np.float64]]


def value_of(
    expression: Expression, stats: Statistics, schema: Schema, *, clip: bool = True, doubt: int = 0
) -> NDArray[np.float64]:
    """The value of an expression; `clip` and `doubt` as in `Sums`.

    >>> from dproof.spaces import Categories
    >>> table = Schema("data", {"age": Categories([0, 10])})
    >>> mean = Aggregate("avg", ("age",))
    >>> n, total = terms(mean, table)
    >>> value_of(mean, {n: np.array([4.0]), total: np.array([2.0])}, table)
    array([7.5])
    """

    def value(aggregate: Aggregate) -> NDArray[np.float64]:
        definition = aggregate.definition
        if aggregate in stats:
            counted = clip and definition.counts == "values"
            return np.maximum(stats[aggregate], 0) if counted else stats[aggregate]
        if definition.formula is None:
            raise KeyError(aggregate)
        needed, values = terms(aggregate, schema), _scales(aggregate, schema)
        fewest = 2 if doubt and definition.shape == "curved" else 1
        sums = Sums({term.columns: stats[term] for term in needed}, values, fewest, clip, doubt)
        return np.asarray(definition.formula(sums, aggregate.columns, aggregate.argument))

    return np.asarray(evaluate(expression, value))


def _scales(aggregate: Aggregate, schema: Schema) -> Mapping[str, Scale]:
    """The scale of each number that an aggregate adds up, worked out once."""
    found: Mapping[str, Scale] | None = schema.cache.get(("scales", aggregate))
    if found is None:
        needed = terms(aggregate, schema)
        found = {column: term.scale(column, schema).in_floats() for term in needed for column in term.columns}
        schema.cache["scales", aggregate] = found
    return found


# Exact counting -------------------------------------------------------------------------------------------------------

_SHORT_SIZE = 1 << 40  # codes below this add up in a machine word over a batch
_PART_BITS = 21  # bits: a batch of such numbers adds up below 2^53, where floats are exact
_MOST_TABLED = 1 << 18  # groups and values of a choice that are counted in a table

CodesByColumn = dict[str, NDArray[Any]]


class SummedVectors(Protocol):
    """Vectors of whole numbers that the rows of a group are added up in: what each row adds, from its codes."""

    @property
    def column(self) -> str: ...
    @property
    def size(self) -> int: ...
    def coordinates(self, codes: NDArray[Any], /) -> NDArray[np.int64]: ...


@dataclass(frozen=True, slots=True)
class Tally:
    """The exact counts of a question: for each sum a whole number per group, for each choice a histogram per group.

    `rows` are all that there are, whether or not they satisfy a condition. Of curves a vector is added up per group.
    """

    sums: dict[Term, list[int]]
    histograms: dict[Aggregate, list[dict[int, int]]]
    rows: int
    vectors: list[list[int]] = field(default_factory=list)

    @classmethod
    def together(cls, statistics: Sequence[Term | Aggregate], parts: Sequence[Any]) -> Tally:
        """The tally of all parts, from what `Counter.counted` gave of each: the order of the parts does not matter."""
        sums, histograms, rows, vectors = zip(*parts, strict=True)
        summed = [[sum(group) for group in zip(*of_statistic, strict=True)] for of_statistic in zip(*sums, strict=True)]
        added = [[sum(coefficient) for coefficient in zip(*group, strict=True)] for group in zip(*vectors, strict=True)]
        chosen = [
            [dict(sum(map(Counts, map(dict, group)), Counts())) for group in zip(*of_statistic, strict=True)]
            for of_statistic in zip(*histograms, strict=True)
        ]
        terms = [s for s in statistics if isinstance(s, Term)]
        picked = [s for s in statistics if isinstance(s, Aggregate)]
        return cls(dict(zip(terms, summed, strict=True)), dict(zip(picked, chosen, strict=True)), sum(rows), added)


class CellSums:
    """Sums of whole numbers over the rows of each of many cells: exact, in parts that never overflow.

    Numbers below 2^24 need no parts, for no batch has 2^29 rows; others are added up in parts of 21 bits.
    """

    def __init__(self, cells: int, largest: int) -> None:
        self.shifts = [0] if largest < 1 << 24 else [0, _PART_BITS, 2 * _PART_BITS]
        self.parts = np.zeros((len(self.shifts), cells), np.int64)
        self.more: dict[int, int] = defaultdict(int)  # what was added up elsewhere, by cell

    def add(self, cells: NDArray[np.int64], numbers: NDArray[np.int64] | None = None) -> None:
        """Add the number of each row of a batch to its cell, or 1."""
        if numbers is None:
            self.parts[0] += np.bincount(cells, minlength=self.parts.shape[1])
            return
        for n, shift in enumerate(self.shifts):
            part = numbers >> shift if shift == self.shifts[-1] else numbers >> shift & ((1 << _PART_BITS) - 1)
            # A batch adds up to less than 2^53 in every part, so that these floats are exact.
            self.parts[n] += np.bincount(cells, part, self.parts.shape[1]).astype(np.int64)

    def totals(self) -> NDArray[Any]:
        """The sum of each cell, as a Python integer where a machine word may be too short."""
        if len(self.shifts) == 1 and not self.more:
            return np.asarray(self.parts[0])
        parts = zip(self.parts.astype(object), self.shifts, strict=True)
        total: NDArray[Any] = np.sum([part << shift for part, shift in parts], axis=0)
        for cell, more in self.more.items():
            total[cell] += more
        return total


class Product:
    """The product of the whole numbers of some columns, for each row of a batch."""

    def __init__(self, term: Term, schema: Schema) -> None:
        self.scales = [(name, term.scale(name, schema)) for name in term.columns]
        self.largest = math.prod(max(map(abs, scale.ends)) for _, scale in self.scales)
        spaces = [schema.spaces[name] for name in term.columns]
        self.short = all(space.line is not None and space.size < _SHORT_SIZE for space in spaces)

    def of(self, codes: CodesByColumn) -> NDArray[np.int64] | None:
        """The product of each row; None where only rows are counted."""
        return np.asarray(math.prod(s.whole(codes[name]) for name, s in self.scales)) if self.scales else None

    def total(self, rows: int, codes: CodesByColumn) -> int:
        """The sum over a batch that lies in one cell."""
        if self.short and len(self.scales) == 1:
            # Where there is one cell alone, no number of its rows is missing.
            ((name, scale),) = self.scales
            return scale.shift * rows + scale.factor * int(codes[name].sum(dtype=np.int64))
        products = self.of(codes)
        return rows if products is None else (int((products >> 32).sum()) << 32) + int((products & 0xFFFFFFFF).sum())


class Counter:
    """The running counts of some sums and histograms over the rows that satisfy `where`, by the groups of the keys.

    Where curves are asked for, their vectors are added up too; these rows come in batches alone.
    """

    def __init__(
        self,
        schema: Schema,
        keys: Sequence[Key],
        where: Predicate | None,
        statistics: Sequence[Term | Aggregate],
        curves: SummedVectors | None = None,
    ) -> None:
        self.schema, self.keys = schema, [grouping(key, schema) for key in keys]
        self.groups = math.prod(key.blocks for key in self.keys)
        self.terms = {s: both(where, s.where) for s in statistics if isinstance(s, Term)}
        self.picked = {s: both(where, present(s, schema)) for s in statistics if isinstance(s, Aggregate)}
        self.curves, self.where = curves, where
        self.wheres = dict.fromkeys([*self.terms.values(), *self.picked.values(), *([] if curves is None else [where])])
        # Where many items of a set are counted, a few of them at a time.
        grids = list(by_grids(schema, self.wheres))
        self.grids = [grid for _, grid in grids]
        self.place_of = {where: place for place, (few, _) in enumerate(grids) for where in few}
        self.cells = [math.prod(grid.shape) for grid in self.grids]
        self.sizes = {aggregate: schema.declared(aggregate.columns[0]).size for aggregate in self.picked}
        if self.groups * sum(self.cells) > MOST_CELLS or self.groups * max(self.sizes.values(), default=1) >= 1 << 62:
            raise TooLarge(f"groups and conditions make more than {MOST_CELLS} cells: ask for fewer at once")
        self.masks = {where: self.grids[place].mask(where).ravel() for where, place in self.place_of.items()}
        # What is added up in the cells of each grid.
        self.added = dict.fromkeys((self.place_of[where], replace(t, where=None)) for t, where in self.terms.items())
        self.products = {term: Product(term, schema) for _, term in self.added}
        self._begin()

    def fresh(self) -> Counter:
        """A counter of the same sums, histograms and groups, with nothing counted yet."""
        other = copy(self)
        other._begin()
        return other

    def _begin(self) -> None:
        self.sums = {
            (n, term): CellSums(self.groups * self.cells[n], self.products[term].largest) for n, term in self.added
        }
        # Counts of groups and values: in a table where that is small, whatever the values are.
        tabled = {s: self.groups * size for s, size in self.sizes.items() if self.groups * size <= _MOST_TABLED}
        self.tables = {s: np.zeros(size, np.int64) for s, size in tabled.items()}
        self.counts: dict[Aggregate, dict[int, int]] = {s: defaultdict(int) for s in self.picked if s not in tabled}
        self.vectors = np.zeros((self.groups, 0 if self.curves is None else self.curves.size), np.int64)
        self.rows = 0

    def add(self, rows: int, codes: CodesByColumn) -> None:
        """Count a batch of rows."""
        self.rows += rows
        group, cells = self._group(codes), self._cells(codes)
        for (n, term), total in self.sums.items():
            place = group * self.cells[n] + cells[n]
            if isinstance(place, int):
                total.more[place] += self.products[term].total(rows, codes)
            else:
                total.add(place, self.products[term].of(codes))
        for aggregate in self.picked:
            pairs, _ = self._pairs(aggregate, codes, group, cells)
            if aggregate in self.tables:
                self.tables[aggregate] += np.bincount(pairs, minlength=len(self.tables[aggregate]))
            else:
                self._add_pairs(aggregate, *np.unique(pairs, return_counts=True))
        if self.curves is not None:
            chosen = np.broadcast_to(self._holds(self.where, cells), rows)
            coordinates = self.curves.coordinates(codes[self.curves.column])
            np.add.at(self.vectors, np.broadcast_to(group, rows)[chosen], coordinates[chosen])

    def add_alike(self, rows: NDArray[np.int64], codes: CodesByColumn, sums: Mapping[Term, Sequence[int]]) -> None:
        """Count rows that were brought together where they are alike: how many, their codes, and their sums."""
        self.rows += int(rows.sum())
        group, cells = self._group(codes), self._cells(codes)
        for (n, term), total in self.sums.items():
            places = np.broadcast_to(group * self.cells[n] + cells[n], rows.shape).tolist()
            for place, more in zip(places, sums[term], strict=True):
                total.more[place] += more
        for aggregate in self.picked:
            pairs, chosen = self._pairs(aggregate, codes, group, cells)
            self._add_pairs(aggregate, pairs, rows[chosen])

    def _group(self, codes: CodesByColumn) -> Places:
        return combined_places((key.of(codes[key.column]), key.blocks) for key in self.keys)

    def _cells(self, codes: CodesByColumn) -> list[Places]:
        return [grid.cells(codes) for grid in self.grids]

    def _holds(self, where: Predicate | None, cells: Sequence[Places]) -> NDArray[np.bool_]:
        """Which rows satisfy a condition, by their cells."""
        chosen: NDArray[np.bool_] = self.masks[where][cells[self.place_of[where]]]
        return chosen

    def _pairs(self, aggregate: Aggregate, codes: CodesByColumn, group: Places, cells: Sequence[Places]) -> Any:
        """The groups and values of the rows that a choice looks at, as one number each, and which rows these are."""
        values = codes[aggregate.columns[0]]
        chosen = np.broadcast_to(self._holds(self.picked[aggregate], cells), values.shape)
        groups = np.broadcast_to(group, values.shape)[chosen]
        return groups * self.sizes[aggregate] + values[chosen].astype(np.int64), chosen

    @property
    def looked_at(self) -> dict[str, bool]:
        """The columns whose values decide where a row counts, and of which more matters than whether one is there."""
        valued = {leaf.column for where in self.wheres for leaf in leaves(where) if not isinstance(leaf, Missing)}
        own = [*(key.column for key in self.keys), *(aggregate.columns[0] for aggregate in self.picked)]
        axes = (axis.column for grid in self.grids for axis in grid.axes)
        every = dict.fromkeys([*own[: len(self.keys)], *axes, *own])
        return {column: column in valued or column in own for column in every}

    def _add_pairs(self, aggregate: Aggregate, pairs: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        if aggregate in self.tables:
            np.add.at(self.tables[aggregate], pairs, counts)
            return
        known = self.counts[aggregate]
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
            known[pair] += count

    def finish(self) -> Tally:
        """What was counted."""
        sums = {}
        for term, where in self.terms.items():
            n = self.place_of[where]
            totals = self.sums[n, replace(term, where=None)].totals().reshape(self.groups, self.cells[n])
            sums[term] = [int(x) for x in totals[:, self.masks[where]].sum(axis=1)]
        return Tally(sums, {s: self._histograms(s) for s in self.picked}, self.rows, self.vectors.tolist())

    def counted(self) -> list[Any]:
        """What was counted, as JSON can write it: sums, histograms, rows and vectors."""
        found = self.finish()
        histograms = [[list(group.items()) for group in groups] for groups in found.histograms.values()]
        return [list(found.sums.values()), histograms, found.rows, found.vectors]

    def _histograms(self, aggregate: Aggregate) -> list[dict[int, int]]:
        """For each group how many rows have each value that some row has."""
        counts = self.counts.get(aggregate)
        if counts is None:
            table = self.tables[aggregate]
            pairs = np.flatnonzero(table)
            counts = dict(zip(pairs.tolist(), table[pairs].tolist(), strict=True))
        histograms: list[dict[int, int]] = [{} for _ in range(self.groups)]
        for pair, count in counts.items():
            group, code = divmod(pair, self.sizes[aggregate])
            histograms[group][code] = count
        return histograms


def even_sums(
    schema: Schema, keys: Sequence[Key], where: Predicate | None, terms: Sequence[Term], rows: float
) -> dict[Term, NDArray[np.float64]]:
    """The sums over a table of so many rows whose values are spread evenly and independently, group by group.

    That a value is missing is as frequent as one of them, where the plan keeps it as a value of its own.

    >>> from dproof.spaces import Interval
    >>> table = Schema("data", {"age": Interval(0, 9, 1)})
    >>> [float(total[0]) for total in even_sums(table, [], None, [Term((), None), Term(("age",), None)], 100).values()]
    [100.0, 450.0]
    """
    wheres = {term: both(where, term.where) for term in terms}
    summed = dict.fromkeys(column for term in terms for column in term.columns)
    found: dict[Term, NDArray[np.float64]] = {}
    for few, grid in by_grids(schema, wheres.values(), keys, summed):
        found |= _even_sums_of(schema, keys, {t: w for t, w in wheres.items() if w in few}, grid, rows)
    return {term: found[term] for term in terms}


def _even_sums_of(
    schema: Schema, keys: Sequence[Key], wheres: Mapping[Term, Predicate | None], grid: Grid, rows: float
) -> dict[Term, NDArray[np.float64]]:
    """The sums of `even_sums`, over the cells of a grid that their conditions cut."""
    groupings = [(grid.position(key.column), grouping(key, schema)) for key in keys]
    shares = [_values(axis, schema) for axis in grid.axes]
    group: Any = combined_places(
        (along(groups.of(grid.axes[place].samples), place, len(grid.axes)), len(groups.labels))
        for place, groups in groupings
    )
    groups_of_cells, all_groups = np.broadcast_to(group, grid.shape), math.prod(len(g.labels) for _, g in groupings)
    found = {}
    for term, where in wheres.items():
        cells, powers = np.full(grid.shape, float(rows)) * grid.mask(where), Counts(term.columns)
        for place, axis in enumerate(grid.axes):
            power = powers[axis.column]
            sums = _power_sums(axis, term.scale(axis.column, schema), power) if power else shares[place]
            cells = cells * along(sums / shares[place].sum(), place, len(grid.axes))
        found[term] = np.asarray(np.bincount(groups_of_cells.ravel(), cells.ravel(), all_groups), np.float64)
    return found


def _values(axis: Partition, schema: Schema) -> NDArray[Any]:
    """How many values each block has."""
    sizes = axis.sizes[axis.block] if axis.bits is not None else axis.last - axis.first + 1.0
    # Of values without number, such as curves, an even table has none that is missing.
    is_value = axis.column in schema.null_groups and schema.declared(axis.column).size is not None
    return np.bincount(axis.block, np.where(axis.first == MISSING, float(is_value), sizes))


def _power_sums(axis: Partition, scale: WholeScale, power: int) -> NDArray[Any]:
    """Σ of the powers of the numbers of all codes in each block; a missing value has none."""
    sizes = np.where(axis.first == MISSING, 0.0, axis.last - axis.first + 1.0)
    if scale.table is not None:
        codes = np.arange(len(scale.table))
        return np.bincount(axis.of(codes), scale.whole(codes).astype(float) ** power, axis.blocks)
    if power > 4:
        raise QuestionError(f"a sum of products of {power} numbers of one column has no ± beforehand")
    middle = scale.shift + scale.factor * (axis.first + axis.last) / 2
    squares = sizes**2
    moments = (1.0, 0.0, (squares - 1) / 12, 0.0, (squares - 1) * (3 * squares - 7) / 240)  # of consecutive codes
    means = sum(math.comb(power, k) * middle ** (power - k) * scale.factor**k * moments[k] for k in range(power + 1))
    return np.bincount(axis.block, sizes * means)
