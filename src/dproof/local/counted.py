"""What a question counts in a release: the axes of its table, their blocks, and the counts of the stored rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf, isnan, prod
from types import MappingProxyType
from typing import Any

import numpy as np

from dproof.errors import InputError, TooLarge
from dproof.laws.debias import Axis, Mixed, Scale, is_rough, public
from dproof.laws.moments import Moments
from dproof.laws.scores import Array
from dproof.local.contingency import Contingency, Groups, Sets, Sum
from dproof.local.law import RowLaw
from dproof.local.stored import AxisReader, count, integers, readers_of
from dproof.questions.aggregates import Values
from dproof.questions.canonical import condition, literal, name
from dproof.questions.partition import MOST_CELLS, Bit, cut, grouping, numbered
from dproof.questions.question import Key, Predicate, leaves
from dproof.questions.sums import Term, scale_of
from dproof.tables.counting import Decoder, decode_all, expressions

Combos = list[tuple[Any, ...]]  # the groups of the public keys that rows have, in order


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """Groups along one column, or along all public keys: how much of each block a group takes, and its labels.

    `takes` is a matrix of groups by blocks, or has the group of each block. Each group has as many labels as there are
    `places` for them in the labels of an answer's row.
    """

    column: str | None
    labels: Sequence[tuple[Any, ...]]
    places: tuple[int, ...]
    takes: Array

    def matrix(self) -> Array:
        if self.takes.ndim == 2:
            return self.takes
        return np.asarray(np.arange(len(self.labels))[:, None] == self.takes, float)

    def is_block(self) -> bool:
        """Whether every group is a block by itself, in the same order."""
        return np.array_equal(self.takes, np.arange(len(self.labels)))


class Counting:
    """The axes that the sums and keys of a question need, over the law of a release.

    A sum has a condition, and columns whose numbers it multiplies; `numbers` has the scales of these. The columns in
    `spelled` have a block for every value. `ends` are those of the numbers of public columns, which nobody declared:
    sums are taken about their middle, and no row has more than half of their range.
    """

    def __init__(
        self,
        law: RowLaw,
        needed: Sequence[Term],
        keys: Sequence[Key] = (),
        spelled: Iterable[str] = (),
        ends: Mapping[str, tuple[float, float]] = MappingProxyType({}),
    ) -> None:
        self.schema, self.keys = law.schema, tuple(keys)
        # The highest power of each number within one sum, and the columns whose values are known as they are.
        degrees = {c: max(other.columns.count(c) for other in needed) for term in needed for c in term.columns}
        known = self.schema.open_columns
        self._public_keys = [key for key in keys if key.column in known]
        self._private_keys = [key for key in keys if key.column not in known]
        middle = {c: sum(end / 2 for end in ends.get(c, ())) for c in degrees}
        self.numbers = {c: Scale(middle[c]) if c in known else scale_of(self.schema.spaces[c]) for c in degrees}
        private = [column for column in degrees if column not in known]
        # A sum under a law that is undone block by block needs the number of each value.
        kept = {c for c in private if law.group_of(c).mechanism.family.is_sharp and not law.plan.column(c).bins}
        self.grid = cut(
            self.schema, [term.where for term in needed], self._private_keys, [*private, *spelled], kept | set(spelled)
        )
        self.cuts = {axis.column: axis for axis in self.grid.axes}
        self.readers: list[AxisReader] = []
        # The axes that carry the number of each column, and its place among the columns there.
        self._places: dict[str, list[tuple[int, int]]] = {column: [] for column in self.cuts}
        for group in law.groups:
            if any(column.name in self.cuts for column in group.columns):
                readers = list(readers_of(group, self.cuts, self.numbers))
                for reader in readers:
                    for place, column in enumerate(readers[0].columns):
                        self._places[column].append((len(self.axes), place))
                    self.readers.append(reader)
        for column in sorted(known):
            if column in self.cuts:
                blocks = public(self.cuts[column].blocks, columns=1)
                pattern = Decoder([self._pattern(column)], lambda arrays: integers(arrays[0]))
                self.readers.append(AxisReader((column,), (blocks,), pattern))
            if column in degrees:
                self._places[column] = [(len(self.axes), 0)]
                highest = 2 * degrees[column]
                reach = max((abs(end - middle[column]) for end in ends.get(column, ())), default=inf)
                powers = Moments(highest + 1, (0.0,) * (highest + 1), reach)
                self.readers.append(AxisReader((), (powers,), None, f"({name(column)}::DOUBLE - {middle[column]!r})"))
        fits(prod(axis.states for axis in self.axes))
        # The axes whose states are counted, and how many states these have.
        self._counted = {r.decoder: prod(axis.states for axis in r.axes) for r in self.readers if r.decoder is not None}

    def _pattern(self, column: str) -> str:
        """Which conditions a public value satisfies, as the bits of a number."""
        terms = [
            f"CASE WHEN {condition(atom)} THEN {1 << region.bit} ELSE 0 END"
            for atom, region in self.grid.regions.items()
            if isinstance(region, Bit) and all(leaf.column == column for leaf in leaves(atom))
        ]
        return " + ".join(terms)

    @property
    def axes(self) -> list[Axis]:
        """The axes, but for that of the groups of public columns, which only the rows know."""
        return [axis for reader in self.readers for axis in reader.axes]

    def sum_of(self, term: Term) -> Sum:
        """A sum over the rows, by the blocks of the axes."""
        order = [self.grid.position(column) for reader in self.readers for column in reader.columns]
        shape = [*(axis.blocks for axis in self.axes), 1]
        powers = [[0] * max(1, len(reader.columns)) for reader in self.readers for _ in reader.axes]
        for column in term.columns:
            for axis, place in self._places[column]:
                powers[axis][place] += 1
        weights = self.grid.mask(term.where).transpose(order).reshape(shape).astype(float)
        return Sum(weights, (*map(tuple, powers), ()))

    @property
    def values(self) -> dict[str, Values]:
        """The numbers whose sums are taken, as a formula sees them."""
        return values_of(self.numbers)

    # Rows ----------------------------------------------------------------------------------------------------------

    @property
    def expressions(self) -> list[str]:
        """The SQL expressions that tell which cell of the counted axes a row lies in."""
        return [*expressions(self._counted), *map(_key_expression, self._public_keys)]

    def cells(self, arrays: Sequence[Any], rows: int, combos: Combos | None = None) -> tuple[Array, Combos]:
        """The cell of each row, from the values of the expressions; with the groups of the public keys, found or given.

        The cells are numbered over the states of the counted axes and the groups, the last varying fastest.
        """
        states = zip(decode_all(self._counted, arrays), self._counted.values(), strict=True)
        cell = np.zeros(rows, np.int64) + numbered(states)
        if not self._public_keys:
            return cell, [()]
        values = arrays[len(arrays) - len(self._public_keys) :]
        keys = list(zip(*(map(_hashable, array.to_pylist()) for array in values), strict=True))
        combos = _in_order(set(keys)) if combos is None else combos
        where = {combo: n for n, combo in enumerate(combos)}
        return cell * len(combos) + np.array([where[key] for key in keys], np.int64), combos

    def read(self, data: Any, rows: int, combos: Combos | None = None) -> tuple[Contingency, Combos]:
        """Count the stored rows; with the groups of the public keys, those that they have or those given."""
        summed = [reader for reader in self.readers if reader.decoder is None]
        sums = _products([(reader.number, reader.axes[0].states) for reader in summed])
        arrays, numbers, totals = count(data, self.expressions, sums)
        cell, combos = self.cells(arrays, len(numbers), combos)
        shape = (*(axis.states for reader in self.readers if reader.decoder for axis in reader.axes), len(combos))
        fits(prod(shape) * (len(sums) + 1))
        tables = [np.bincount(cell, column, prod(shape)) for column in (numbers, *totals)]
        counts = np.stack(tables, axis=-1).reshape(*shape, *(reader.axes[0].states for reader in summed))
        # Counted axes, public groups, powers: put back into the order of the readers, the public groups last.
        first, later = iter(range(len(shape))), iter(range(len(shape), counts.ndim))
        order = [next(first if reader.decoder else later) for reader in self.readers for _ in reader.axes]
        return self._table(counts.transpose([*order, len(shape) - 1]), len(combos), rows), combos

    def expect(self, rows: int) -> tuple[Contingency, Combos]:
        """The mean counts of a table whose values are spread evenly over their spaces."""
        counts = np.full((), float(rows))
        for axis in self.axes:
            counts = np.multiply.outer(counts, axis.evenly())
        return self._table(counts, 1, rows), [("",) * len(self._public_keys)]

    def _table(self, counts: Array, combos: int, rows: int) -> Contingency:
        """A table of counts, with axes fitted to the counts of their own states."""
        axes = [*self.axes, public(combos)]
        counts = counts.reshape([axis.states for axis in axes])
        fitted: list[Axis] = []
        for n, axis in enumerate(axes):
            if isinstance(axis, Mixed) and axis.is_fitted:
                marginal = np.moveaxis(counts, n, 0)
                for other in reversed([*axes[:n], *axes[n + 1 :]]):
                    marginal = marginal[..., 0] if isinstance(other, Moments) else marginal.sum(axis=-1)
                axis = axis.fit(marginal)
            fitted.append(axis)
        return Contingency(fitted, counts, rows)

    # Groups --------------------------------------------------------------------------------------------------------

    def groups(self, combos: Combos, takes: Mapping[str, Array] | None = None) -> Groups:
        """All combinations of the groups of the keys; and last of the rows of `takes`, for the blocks of a column."""
        choices = [self._choice(key, n) for n, key in enumerate(self.keys) if key in self._private_keys]
        for n, (column, matrix) in enumerate((takes or {}).items(), len(self.keys)):
            choices.append(Choice(column, [(row,) for row in range(len(matrix))], (n,), matrix))
        places = tuple(n for n, key in enumerate(self.keys) if key in self._public_keys)
        fixed_choices: list[Choice] = []
        fixed: list[int] = []
        rest: list[str] = []  # the columns of all other axes
        axis = 0
        for reader in self.readers:
            of_reader = [choice for column in reader.columns for choice in choices if choice.column == column]
            if _is_fixed(reader, of_reader):
                fixed_choices += of_reader
                fixed += range(axis, axis + len(reader.axes))
            else:
                rest += reader.columns
            axis += len(reader.axes)
        fixed_choices.append(Choice(None, combos, places, np.arange(len(combos))))
        free = [choice for choice in choices if choice not in fixed_choices]
        # Estimates stand by held and free choices; rows by keys, those of all public keys where the first of them is.
        stand = [*fixed_choices, *free]
        wanted = sorted(stand, key=lambda choice: choice.places[:1])
        sizes = [len(choice.labels) for choice in stand]
        order = np.arange(prod(sizes)).reshape(sizes).transpose([stand.index(choice) for choice in wanted]).reshape(-1)
        spots = np.argsort([place for choice in wanted for place in choice.places]).tolist()
        label_rows = ([label for part in parts for label in part] for parts in product(*(c.labels for c in wanted)))
        labels = [tuple(row[spot] for spot in spots) for row in label_rows]
        return Groups(labels, order, (*fixed, axis), self._sets(free, rest))

    def _choice(self, key: Key, place: int) -> Choice:
        """The declared groups of a key on a private column."""
        groups = grouping(key, self.schema)
        labels = [(label,) for label in groups.labels]
        return Choice(key.column, labels, (place,), groups.of(self.cuts[key.column].samples))

    def _sets(self, choices: Sequence[Choice], columns: Sequence[str]) -> Sets:
        """How much of each cell of some columns every combination of choices takes."""
        sizes = [self.cuts[column].blocks for column in columns]
        if all(choice.takes.ndim == 1 for choice in choices):
            along = ([-1 if column == choice.column else 1 for column in columns] for choice in choices)
            places = [(c.takes.reshape(shape), len(c.labels)) for c, shape in zip(choices, along, strict=True)]
            count = prod(size for _, size in places)
            return Sets(count, np.broadcast_to(numbered(places), sizes).reshape(-1))
        chosen = np.ones((1, *sizes))
        for choice in choices:
            shape = [-1 if column == choice.column else 1 for column in columns]
            takes = choice.matrix().reshape(len(choice.labels), *shape)
            chosen = (chosen[:, None] * takes[None]).reshape(-1, *sizes)
        return Sets(len(chosen), chosen.reshape(len(chosen), -1))

    def occurring(self, where: Predicate | None, table: Contingency, groups: Groups, *, by_rows: bool = True) -> Array:
        """The groups that a condition leaves any value for; of public columns those that rows have, if `by_rows`."""
        everything = self.sum_of(Term((), where))
        possible = table.total(np.ones(1), everything, groups) > 0
        if self._public_keys and by_rows:
            possible &= table.estimates([everything], groups).squares[:, 0, 0] > 0
        return np.asarray(possible)


def values_of(scales: Mapping[str, Scale]) -> dict[str, Values]:
    """Numbers on these scales, as a formula sees them."""
    return {c: Values(s.middle, s.unit, 1.0, s.middle - s.unit, s.middle + s.unit) for c, s in scales.items()}


def _is_fixed(reader: AxisReader, choices: Sequence[Choice]) -> bool:
    """Whether a group has one block of each of these axes; the bias of a rough one depends on all blocks together."""
    if any(map(is_rough, reader.axes)):
        return False
    if all(axis.blocks == 1 for axis in reader.axes) and not choices:
        return True
    together = len(reader.columns) == 1 or len(reader.axes) == 1
    return together and reader.columns == tuple(c.column for c in choices) and all(c.is_block() for c in choices)


def fits(cells: int) -> None:
    if cells > MOST_CELLS:
        raise TooLarge("the question needs too large a table of counts: ask for fewer columns at once")


def _key_expression(key: Key) -> str:
    if key.width is None:
        return name(key.column)
    return f"floor({name(key.column)}::DOUBLE / ({literal(key.width)})) * ({literal(key.width)})"


def _products(numbers: Sequence[tuple[str, int]]) -> list[str]:
    """All products of powers of the numbers, but for the empty one, the last number's power varying fastest."""
    factors = [["", *(" * ".join([text] * power) for power in range(1, powers))] for text, powers in numbers]
    return [" * ".join(part for part in parts if part) for parts in product(*factors)][1:]


def _in_order(combos: set[tuple[Any, ...]]) -> Combos:
    """Groups in the order of their values, nulls last."""
    try:
        return sorted(combos, key=lambda row: [(value is None, 0 if value is None else value) for value in row])
    except TypeError:
        raise InputError("a public column holds values that have no order, so it cannot be grouped by") from None


def _hashable(value: Any) -> Any:
    """A value as a label: a list as a tuple, what is no number as nothing."""
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    return None if isinstance(value, float) and isnan(value) else value
