"""Exact counts of rows by group and cell, from the codes of their columns: whole numbers, in bounded memory.

Rows come in batches, or brought together where they are alike. Sums of whole numbers do not depend on their order.
"""

from __future__ import annotations

import math
from collections import Counter as Counts
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dproof.errors import QuestionError, TooLarge
from dproof.questions.partition import MISSING, MOST_CELLS, Partition, Places, cut, grouping, numbered
from dproof.questions.question import Aggregate, Key, Missing, Predicate, Schema, both, leaves
from dproof.questions.sums import Term, WholeScale, present

_SHORT = 1 << 40  # codes below this add up in a machine word over a batch
_PART = 21  # bits: a batch of such numbers adds up below 2^53, where floats are exact
_WHOLE = 1 << 24  # numbers below this need not be parted: no batch has 2^29 rows
_TABLED = 1 << 18  # groups and values of a choice that are counted in a table

Codes = dict[str, NDArray[Any]]
Histograms = dict[Aggregate, list[dict[int, int]]]


class Vectors(Protocol):
    """Vectors of whole numbers that the rows of a group are added up in: what each row adds, from its codes."""

    @property
    def column(self) -> str: ...
    @property
    def size(self) -> int: ...
    def coordinates(self, codes: NDArray[Any], /) -> NDArray[np.int64]: ...


@dataclass(frozen=True, slots=True)
class Tally:
    """What was counted: for each sum a whole number per group, for each choice a histogram of codes per group.

    And all rows that there are, whether or not they satisfy a condition; and for curves a vector of sums per group.
    """

    sums: dict[Term, list[int]]
    histograms: Histograms
    rows: int
    vectors: list[list[int]] = field(default_factory=list)


class _Sum:
    """Sums of products of whole numbers over many cells, in parts of 21 bits whose sums never overflow."""

    def __init__(self, term: Term, schema: Schema, cells: int) -> None:
        self.scales = [(name, term.scale(name, schema)) for name in term.columns]
        self.parts = np.zeros((3, cells), np.int64)
        self.large: dict[int, int] = defaultdict(int)  # what was added up elsewhere, by cell
        largest = math.prod(max(map(abs, scale.ends)) for _, scale in self.scales)
        self.shifts = [0] if largest < _WHOLE else [0, _PART, 2 * _PART]
        spaces = [schema.spaces[name] for name in term.columns]
        self.short = all(space.line is not None and space.size < _SHORT for space in spaces)

    def add(self, rows: int, codes: Codes, place: Places) -> None:
        """Add a batch to these cells."""
        if isinstance(place, int):
            self.large[place] += self._total(rows, codes)
            return
        if not self.scales:
            self.parts[0] += np.bincount(place, minlength=self.parts.shape[1])
            return
        product = self._product(codes)
        for n, shift in enumerate(self.shifts):
            part = product >> shift if shift == self.shifts[-1] else product >> shift & ((1 << _PART) - 1)
            # A batch adds up to less than 2^53 in every part, so that these floats are exact.
            self.parts[n] += np.bincount(place, part, self.parts.shape[1]).astype(np.int64)

    def _total(self, rows: int, codes: Codes) -> int:
        """The sum over a batch that lies in one cell."""
        if not self.scales:
            return rows
        if self.short and len(self.scales) == 1:
            # Where there is one cell alone, no number of its rows is missing.
            ((name, scale),) = self.scales
            return scale.shift * rows + scale.factor * int(codes[name].sum(dtype=np.int64))
        product = self._product(codes)
        return (int((product >> 32).sum()) << 32) + int((product & 0xFFFFFFFF).sum())

    def _product(self, codes: Codes) -> NDArray[np.int64]:
        return np.asarray(math.prod(scale.whole(codes[name]) for name, scale in self.scales))

    def totals(self) -> NDArray[Any]:
        """The sum of each cell as a Python integer."""
        low, middle, high = self.parts.astype(object)
        total: NDArray[Any] = low + (middle << _PART) + (high << 2 * _PART)
        for cell, more in self.large.items():
            total[cell] += more
        return total


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
        curves: Vectors | None = None,
    ) -> None:
        self.schema, self.keys = schema, [(key.column, grouping(key, schema)) for key in keys]
        self.groups = math.prod(len(groups.labels) for _, groups in self.keys)
        self.terms = {s: both(where, s.where) for s in statistics if isinstance(s, Term)}
        self.picked = {s: both(where, present(s, schema)) for s in statistics if isinstance(s, Aggregate)}
        self.curves, self.where = curves, where
        self.grid = cut(schema, [*self.terms.values(), *self.picked.values(), None if curves is None else where])
        self.cells = math.prod(self.grid.shape)
        widest = max((self._size(aggregate) for aggregate in self.picked), default=1)
        if self.groups * self.cells > MOST_CELLS or self.groups * widest >= 1 << 62:
            raise TooLarge(f"groups and conditions make more than {MOST_CELLS} cells: ask for fewer at once")
        products = [replace(term, where=None) for term in self.terms]
        self.sums = {term: _Sum(term, schema, self.groups * self.cells) for term in products}
        # Counts of groups and values: in a table where that is small, whatever the values are.
        sizes = {s: self.groups * self._size(s) for s in self.picked}
        self.tables = {s: np.zeros(size, np.int64) for s, size in sizes.items() if size <= _TABLED}
        self.counts: dict[Aggregate, dict[int, int]] = {s: defaultdict(int) for s in sizes if s not in self.tables}
        self.vectors = np.zeros((self.groups, 0 if curves is None else curves.size), np.int64)
        self.rows = 0

    def add(self, rows: int, codes: Codes) -> None:
        """Count a batch of rows."""
        self.rows += rows
        group, cell = self._group(codes), self.grid.cells(codes)
        for total in self.sums.values():
            total.add(rows, codes, group * self.cells + cell)
        for aggregate in self.picked:
            pairs, _ = self._pairs(aggregate, codes, group, cell)
            if aggregate in self.tables:
                self.tables[aggregate] += np.bincount(pairs, minlength=len(self.tables[aggregate]))
            else:
                self._add_pairs(aggregate, *np.unique(pairs, return_counts=True))
        if self.curves is not None:
            chosen = np.broadcast_to(self.grid.mask(self.where).ravel()[cell], rows)
            coordinates = self.curves.coordinates(codes[self.curves.column])
            np.add.at(self.vectors, np.broadcast_to(group, rows)[chosen], coordinates[chosen])

    def add_alike(self, rows: NDArray[np.int64], codes: Codes, sums: Mapping[Term, Sequence[int]]) -> None:
        """Count rows that were brought together where they are alike: how many, their codes, and their sums."""
        self.rows += int(rows.sum())
        group, cell = self._group(codes), self.grid.cells(codes)
        places = np.broadcast_to(group * self.cells + cell, rows.shape).tolist()
        for term, total in self.sums.items():
            for place, more in zip(places, sums[term], strict=True):
                total.large[place] += more
        for aggregate in self.picked:
            pairs, chosen = self._pairs(aggregate, codes, group, cell)
            self._add_pairs(aggregate, pairs, rows[chosen])

    def _group(self, codes: Codes) -> Places:
        return numbered((groups.of(codes[column]), len(groups.labels)) for column, groups in self.keys)

    def _pairs(self, aggregate: Aggregate, codes: Codes, group: Places, cell: Places) -> tuple[Any, Any]:
        """The groups and values of the rows that a choice looks at, as one number each, and which rows these are."""
        values = codes[aggregate.columns[0]]
        chosen = np.broadcast_to(self.grid.mask(self.picked[aggregate]).ravel()[cell], values.shape)
        groups = np.broadcast_to(group, values.shape)[chosen]
        return groups * self._size(aggregate) + values[chosen].astype(np.int64), chosen

    @property
    def looked_at(self) -> list[str]:
        """The columns whose values decide where a row counts."""
        axes, picked = (axis.column for axis in self.grid.axes), (aggregate.columns[0] for aggregate in self.picked)
        return list(dict.fromkeys([*(column for column, _ in self.keys), *axes, *picked]))

    @property
    def valued(self) -> set[str]:
        """The columns of which more matters than whether a value is there."""
        wheres = [*self.terms.values(), *self.picked.values()]
        tested = {leaf.column for where in wheres for leaf in leaves(where) if not isinstance(leaf, Missing)}
        return tested | {c for c, _ in self.keys} | {aggregate.columns[0] for aggregate in self.picked}

    def _size(self, aggregate: Aggregate) -> int:
        return self.schema.declared(aggregate.columns[0]).size

    def _add_pairs(self, aggregate: Aggregate, pairs: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        if aggregate in self.tables:
            np.add.at(self.tables[aggregate], pairs, counts)
            return
        known = self.counts[aggregate]
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
            known[pair] += count

    def finish(self) -> Tally:
        sums = {}
        for term, where in self.terms.items():
            totals = self.sums[replace(term, where=None)].totals().reshape(self.groups, self.cells)
            sums[term] = [int(x) for x in totals[:, self.grid.mask(where).ravel()].sum(axis=1)]
        return Tally(sums, {s: self._histograms(s) for s in self.picked}, self.rows, self.vectors.tolist())

    def _histograms(self, aggregate: Aggregate) -> list[dict[int, int]]:
        """For each group how many rows have each value that some row has."""
        counts = self.counts.get(aggregate)
        if counts is None:
            table = self.tables[aggregate]
            pairs = np.flatnonzero(table)
            counts = dict(zip(pairs.tolist(), table[pairs].tolist(), strict=True))
        histograms: list[dict[int, int]] = [{} for _ in range(self.groups)]
        size = self._size(aggregate)
        for pair, count in counts.items():
            histograms[pair // size][pair % size] = count
        return histograms


def even_sums(
    schema: Schema, keys: Sequence[Key], where: Predicate | None, terms: Sequence[Term], rows: float
) -> dict[Term, NDArray[np.float64]]:
    """The sums over a table of so many rows whose values are spread evenly and independently, group by group.

    >>> from dproof.spaces import Interval
    >>> table = Schema("data", {"age": Interval(0, 9, 1)})
    >>> [float(total[0]) for total in even_sums(table, [], None, [Term((), None), Term(("age",), None)], 100).values()]
    [100.0, 450.0]
    """
    wheres = {term: both(where, term.where) for term in terms}
    powers = {term: Counts(term.columns) for term in terms}
    grid = cut(schema, wheres.values(), keys, dict.fromkeys(column for term in terms for column in term.columns))
    groupings = [(grid.position(key.column), grouping(key, schema)) for key in keys]
    shares = [_power_sums(axis, None, 0) for axis in grid.axes]
    group: Any = numbered(
        (_along(groups.of(grid.axes[place].samples), place, grid.axes), len(groups.labels))
        for place, groups in groupings
    )
    groups_of_cells, all_groups = np.broadcast_to(group, grid.shape), math.prod(len(g.labels) for _, g in groupings)
    found = {}
    for term in terms:
        cells = np.full(grid.shape, float(rows)) * grid.mask(wheres[term])
        for place, axis in enumerate(grid.axes):
            power = powers[term][axis.column]
            sums = _power_sums(axis, term.scale(axis.column, schema), power) if power else shares[place]
            cells = cells * _along(sums / shares[place].sum(), place, grid.axes)
        found[term] = np.asarray(np.bincount(groups_of_cells.ravel(), cells.ravel(), all_groups), np.float64)
    return found


def _along(values: NDArray[Any], place: int, axes: Sequence[Partition]) -> NDArray[Any]:
    return values.reshape([-1 if n == place else 1 for n in range(len(axes))])


def _power_sums(axis: Partition, scale: WholeScale | None, power: int) -> NDArray[Any]:
    """Σ of the powers of the numbers of all codes in each block; a missing value has none."""
    sizes = axis.sizes[axis.block] if axis.bits is not None else axis.last - axis.first + 1.0
    sizes = np.where(axis.first == MISSING, 0.0, sizes)
    if scale is None:
        return np.bincount(axis.block, sizes)
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
