"""Counting the private rows: exact whole numbers, in one pass, in bounded memory.

Every value becomes a code of its declared space first, as the plan says, so no value can stop the work or show in a
message. Sums are of whole numbers and do not depend on the order of the rows.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.curation.measurement import Measurement
from dproof.curation.persons import counted_rows
from dproof.errors import TooLarge
from dproof.plans.plan import Plan
from dproof.plans.schema import answerable
from dproof.questions.cells import cut
from dproof.questions.predicates import Missing, both, leaves
from dproof.questions.question import Aggregate, columns
from dproof.questions.regions import grouping
from dproof.questions.schema import Open, Schema
from dproof.questions.sums import Term, present
from dproof.tables import Source
from dproof.tables.source import Bound

_MOST_CELLS = 1 << 24
_SHORT = 1 << 40  # codes below this add up in a machine word over a batch
_PART = 21  # bits: a batch of such numbers adds up below 2^53, where floats are exact

Codes = dict[str, NDArray[Any]]
Places = NDArray[np.int64] | int  # of each row, or of all


@dataclass(frozen=True, slots=True)
class Tally:
    """What was counted: for each sum a whole number per group, for each choice a histogram of codes per group.

    And all rows that there are, whether or not they satisfy a condition; and for curves a vector of sums per group.
    """

    sums: dict[Term, list[int]]
    histograms: dict[Aggregate, list[dict[int, int]]]
    rows: int
    vectors: list[list[int]] = field(default_factory=list)


def source_columns(plan: Plan, names: Sequence[str]) -> list[str]:
    """The columns of the source that hold some columns of the plan, or any one of them."""
    return list(dict.fromkeys(part for name in names for part in plan.column(name).sources)) or [plan.sources[0]]


def read_codes(source: Source, plan: Plan, names: Sequence[str]) -> Iterator[tuple[int, Codes]]:
    """The codes of some columns, batch by batch, with the number of rows that count.

    Which rows of a person count is known when all have been seen; so that every row is taken with its own person the
    table is read once, for a source may give its rows in another order the next time, and the codes are kept till then.
    """
    chosen = [answerable(plan.column(name)) for name in names]
    wanted = source_columns(plan, names)
    treat = [(column.name, column.sources, column.encoder()) for column in chosen]
    persons, waiting = [], []
    for batch in source.read(wanted if plan.person is None else [*wanted, plan.person]):
        codes = {name: treated([batch.column(part) for part in parts]) for name, parts, treated in treat}
        if plan.person is None:
            yield batch.num_rows, codes
        else:
            persons.append(batch.column(plan.person))
            waiting.append(codes)
    kept = counted_rows(persons, plan.rows_per_person)
    start = 0
    for array, codes in zip(persons, waiting, strict=True):
        rows = kept[start : start + len(array)]
        start += len(array)
        yield int(rows.sum()), {name: found[rows] for name, found in codes.items()}


def read_rows(source: Source, plan: Plan, names: Sequence[str], schema: Schema) -> Iterator[dict[str, Any]]:
    """The rows as dicts of declared values, None for what is not there."""
    for _, codes in read_codes(source, plan, names):
        read = []
        for name in names:
            space, found = schema.spaces[name], codes[name].astype(np.int64)
            assert not isinstance(space, Open)
            labels = space.decode(np.maximum(found, 0))
            read.append([label if code >= 0 else None for label, code in zip(labels, found, strict=True)])
        for row in zip(*read, strict=True):
            yield dict(zip(names, row, strict=True))


def tally(source: Source, plan: Plan, measurement: Measurement) -> Tally:
    """Count what a measurement needs."""
    names = columns(measurement.question)
    return _added(Counter(measurement).finish(), count_parts(source, plan, names, partial(_counted, measurement)))


def count_parts(
    source: Source, plan: Plan, names: Sequence[str], count: Callable[[Iterator[tuple[int, Codes]]], Any]
) -> list[Any]:
    """What `count` makes of the codes of some columns: of all, or of each part where the rows lie on many machines."""
    if source.spread is None:
        return [count(read_codes(source, plan, names))]
    bound = None if plan.person is None else Bound(plan.person, plan.rows_per_person, plan.sources)
    work = partial(_counted_part, replace(plan, person=None), names, count)
    return [json.loads(part) for part in source.spread(source_columns(plan, names), work, bound=bound)]


def _counted_part(plan: Plan, names: Sequence[str], count: Callable[..., Any], batches: Iterator[Any]) -> bytes:
    return json.dumps(count(read_codes(Source(plan.sources, lambda columns: batches), plan, names))).encode()


def _counted(measurement: Measurement, batches: Iterator[tuple[int, Codes]]) -> Any:
    counter = Counter(measurement)
    for rows, codes in batches:
        counter.add(rows, codes)
    found = counter.finish()
    histograms = [[list(group.items()) for group in groups] for groups in found.histograms.values()]
    return [list(found.sums.values()), histograms, found.rows, found.vectors]


def _added(empty: Tally, parts: Sequence[Any]) -> Tally:
    """The tally of the whole table: whole numbers add up, whatever the order."""
    for sums, histograms, _, vectors in parts:
        for totals, more in zip(empty.sums.values(), sums, strict=True):
            totals[:] = [a + b for a, b in zip(totals, more, strict=True)]
        for groups, found in zip(empty.histograms.values(), histograms, strict=True):
            for group, counts in zip(groups, found, strict=True):
                for code, count in counts:
                    group[code] = group.get(code, 0) + count
        for totals, more in zip(empty.vectors, vectors, strict=True):
            totals[:] = [a + b for a, b in zip(totals, more, strict=True)]
    return replace(empty, rows=sum(rows for _, _, rows, _ in parts))


class _Sum:
    """Sums of products of whole numbers over many cells, in parts of 21 bits whose sums never overflow."""

    def __init__(self, term: Term, schema: Schema, cells: int) -> None:
        self.scales = [(name, term.scale(name, schema)) for name in term.columns]
        self.parts = np.zeros((3, cells), np.int64)
        self.large: dict[int, int] = defaultdict(int)  # what was added up elsewhere, by cell
        spaces = [schema.spaces[name] for name in term.columns]
        self.short = all(space.line is not None and space.size < _SHORT for space in spaces)

    def add(self, rows: int, codes: Codes, place: Places) -> None:
        """Add a batch to these cells."""
        if not self.scales and isinstance(place, int):
            self.parts[0, place] += rows
            return
        if not self.scales:
            self.parts[0] += np.bincount(place, minlength=self.parts.shape[1])
            return
        if isinstance(place, int) and self.short and len(self.scales) == 1:
            # In one cell all numbers are there, or all are missing, and what that cell holds no sum takes.
            ((name, scale),) = self.scales
            self.large[place] += scale.shift * rows + scale.factor * int(codes[name].sum(dtype=np.int64))
            return
        product = math.prod(scale.whole(codes[name]) for name, scale in self.scales)
        assert isinstance(product, np.ndarray)
        if isinstance(place, int):
            self.large[place] += (int((product >> 32).sum()) << 32) + int((product & 0xFFFFFFFF).sum())
            return
        for n in range(3):
            part = product >> (_PART * n) if n == 2 else product >> (_PART * n) & ((1 << _PART) - 1)
            # A batch adds up to less than 2^53 in every part, so that these floats are exact.
            self.parts[n] += np.bincount(place, part, self.parts.shape[1]).astype(np.int64)

    def totals(self) -> NDArray[Any]:
        """The sum of each cell as a Python integer."""
        low, middle, high = self.parts.astype(object)
        total: NDArray[Any] = low + (middle << _PART) + (high << 2 * _PART)
        for cell, more in self.large.items():
            total[cell] += more
        return total


class Counter:
    """The running counts of one measurement."""

    def __init__(self, measurement: Measurement) -> None:
        question, self.schema = measurement.question, measurement.schema
        self.groups = measurement.groups
        self.keys = [(key.column, grouping(key, self.schema)) for key in measurement.keys]
        wanted = [noisy.statistic for noisy in measurement.noisy] + [c.aggregate for c in measurement.chosen]
        self.terms = {s: both(question.where, s.where) for s in wanted if isinstance(s, Term)}
        self.picked = {s: both(question.where, present(s, self.schema)) for s in wanted if isinstance(s, Aggregate)}
        self.curves, self.where = measurement.curves, question.where
        whole = [] if self.curves is None else [self.where]
        self.grid = cut(self.schema, [*self.terms.values(), *self.picked.values(), *whole])
        self.cells = math.prod(self.grid.shape)
        widest = max((self._size(aggregate) for aggregate in self.picked), default=1)
        if self.groups * self.cells > _MOST_CELLS or self.groups * widest >= 1 << 62:
            raise TooLarge(f"groups and conditions make more than {_MOST_CELLS} cells: ask for fewer at once")
        products = {(term.columns, term.centred): replace(term, where=None) for term in self.terms}
        self.sums = {key: _Sum(term, self.schema, self.groups * self.cells) for key, term in products.items()}
        self.pieces: dict[Aggregate, list[tuple[NDArray[Any], NDArray[Any]]]] = {s: [] for s in self.picked}
        self.vectors = np.zeros((self.groups, 0 if self.curves is None else self.curves.size), np.int64)
        self.rows = 0

    def add(self, rows: int, codes: Codes) -> None:
        """Count a batch of rows."""
        self.rows += rows
        group, cell = self._places(codes)
        for product in self.sums.values():
            product.add(rows, codes, group * self.cells + cell)
        for aggregate in self.picked:
            self.pieces[aggregate].append(np.unique(self._found(aggregate, codes, group, cell)[0], return_counts=True))
        if self.curves is not None:
            chosen = np.broadcast_to(self.grid.mask(self.where).ravel()[cell], rows)
            coordinates = self.curves.coordinates(codes[self.curves.column])
            np.add.at(self.vectors, np.broadcast_to(group, rows)[chosen], coordinates[chosen])

    def add_alike(self, codes: Codes, sums: Mapping[tuple[tuple[str, ...], bool], Sequence[int]]) -> None:
        """Count rows that were brought together where they are alike: their codes, and the sums over each kind."""
        counts = np.array(sums[(), False], np.int64)
        self.rows += int(counts.sum())
        group, cell = self._places(codes)
        places = np.broadcast_to(group * self.cells + cell, counts.shape).tolist()
        for key, totals in self.sums.items():
            for place, total in zip(places, sums[key], strict=True):
                totals.large[place] += total
        for aggregate in self.picked:
            found, chosen = self._found(aggregate, codes, group, cell)
            self.pieces[aggregate].append((found, counts[chosen]))

    def _places(self, codes: Codes) -> tuple[Places, Places]:
        """The group and the cell of each row, or of all."""
        group: Places = 0
        cell: Places = 0
        for column, groups in self.keys:
            group = group * len(groups.labels) + groups.of(codes[column])
        for axis in self.grid.axes:
            found = codes[axis.column]
            # Where conditions only leave out missing values, and none is, all rows lie in one cell.
            block = axis.of_all(found)
            cell = cell * axis.blocks + (axis.of(found) if block is None else block)
        return group, cell

    def _found(self, aggregate: Aggregate, codes: Codes, group: Places, cell: Places) -> tuple[Any, Any]:
        """The groups and values of the rows that a choice looks at, as one number each, and which rows these are."""
        values = codes[aggregate.columns[0]]
        chosen = np.broadcast_to(self.grid.mask(self.picked[aggregate]).ravel()[cell], values.shape)
        groups = np.broadcast_to(group, values.shape)[chosen]
        return groups * self._size(aggregate) + values[chosen].astype(np.int64), chosen

    @property
    def looked_at(self) -> list[str]:
        """The columns whose values decide where a row counts."""
        picked = [aggregate.columns[0] for aggregate in self.picked]
        return list(dict.fromkeys([*(c for c, _ in self.keys), *(a.column for a in self.grid.axes), *picked]))

    @property
    def valued(self) -> set[str]:
        """Those of which more matters than whether a value is there."""
        wheres = [*self.terms.values(), *self.picked.values()]
        tested = {leaf.column for where in wheres for leaf in leaves(where) if not isinstance(leaf, Missing)}
        return tested | {c for c, _ in self.keys} | {aggregate.columns[0] for aggregate in self.picked}

    def _size(self, aggregate: Aggregate) -> int:
        space = self.schema.spaces[aggregate.columns[0]]
        assert not isinstance(space, Open)
        return space.size

    def finish(self) -> Tally:
        sums = {}
        for term, where in self.terms.items():
            totals = self.sums[term.columns, term.centred].totals().reshape(self.groups, self.cells)
            sums[term] = [int(x) for x in totals[:, self.grid.mask(where).ravel()].sum(axis=1)]
        histograms = {aggregate: self._histograms(aggregate) for aggregate in self.picked}
        return Tally(sums, histograms, self.rows, self.vectors.tolist())

    def _histograms(self, aggregate: Aggregate) -> list[dict[int, int]]:
        histograms: list[dict[int, int]] = [{} for _ in range(self.groups)]
        size = self._size(aggregate)
        for pairs, counts in self.pieces[aggregate]:
            for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
                histogram, code = histograms[pair // size], pair % size
                histogram[code] = histogram.get(code, 0) + count
        return histograms
