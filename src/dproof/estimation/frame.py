"""A question laid over a release: the axes of the table it needs, their blocks, and the counts of the stored rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import isnan, prod
from typing import Any

import numpy as np

from dproof.errors import InputError, TooLarge
from dproof.estimation.axes import Kept, Mixed, Moments, Public
from dproof.estimation.contingency import Axis, Contingency, Grouped, Powers, Sum
from dproof.estimation.cuts import Piece, cut_column, scale_of
from dproof.estimation.inverse import Array
from dproof.estimation.pieces import piece_of
from dproof.estimation.reading import count
from dproof.estimation.smoothing import Blurred
from dproof.laws.keep_or_other import KeepOrOther
from dproof.queries.canonical import condition, literal, name
from dproof.queries.cells import Grid, cut
from dproof.queries.question import Key, Predicate
from dproof.queries.regions import Bit, grouping
from dproof.queries.schema import Open, Schema
from dproof.sanitisation.row_law import RowLaw

_MOST_CELLS = 1 << 24


def schema_of(law: RowLaw) -> Schema:
    """What is publicly known about the columns of a release; values of public columns are not declared."""
    columns = [column for column in law.plan.columns if column.kind != "drop"]
    return Schema("release", {c.name: c.space if c.private else Open() for c in columns})


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """Groups of one private column: labels, and the group of each block, or a matrix of labels by blocks."""

    column: str
    labels: tuple[Any, ...]
    takes: Array

    def matrix(self) -> Array:
        """How much of each block a group takes."""
        if self.takes.ndim == 2:
            return self.takes
        return np.asarray(np.arange(len(self.labels))[:, None] == self.takes, float)

    def is_block(self) -> bool:
        """Whether every group is a block by itself, in the same order."""
        return np.array_equal(self.takes, np.arange(len(self.labels)))


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The groups of an answer, in the order of its rows: their labels, and where their estimates stand."""

    labels: list[tuple[Any, ...]]
    grouped: Grouped
    order: Array


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """Where a number is found: the axis, its place among the axis's numbers, and value = middle + unit · number."""

    axis: int
    place: int
    middle: float
    unit: float


class Frame:
    """The axes that the conditions, keys and sums of a question need, over the law of a release.

    `degrees` has the highest power of each number within one sum; the columns in `spelled` have a block for every
    value.
    """

    def __init__(
        self,
        law: RowLaw,
        wheres: Iterable[Predicate | None],
        keys: Sequence[Key] = (),
        degrees: Mapping[str, int] | None = None,
        spelled: Iterable[str] = (),
    ) -> None:
        self.schema, self.keys, degrees, spelled = schema_of(law), tuple(keys), dict(degrees or {}), set(spelled)
        public = {c for c, space in self.schema.spaces.items() if isinstance(space, Open)}
        self._private_keys = [key for key in keys if key.column not in public]
        self._public_keys = [key for key in keys if key.column in public]
        more = [column for column in (*degrees, *spelled) if column not in public]
        self.grid: Grid = cut(self.schema, wheres, self._private_keys, more)
        for column in set(degrees) - public:
            if isinstance(law.group_of(column).mechanism.family, KeepOrOther):
                spelled.add(column)  # a sum needs the number of each value
        self.cuts = {
            axis.column: cut_column(axis, self.schema, self.grid, self._private_keys, spelled=axis.column in spelled)
            for axis in self.grid.axes
        }
        self.pieces: list[Piece] = []
        self.numbers: dict[str, Number] = {}
        for group in law.groups:
            if any(column.name in self.cuts for column in group.columns):
                scales = {c.name: scale_of(c.space) for c in group.columns if c.name in degrees}
                self._add(piece_of(group, self.cuts, scales), scales)
        for column in sorted(public):
            if column in self.cuts:
                blocks = Public(self.cuts[column].blocks)
                self._add(Piece((column,), (blocks,), (_pattern(column, self.grid),), lambda a: _integers(a[0])), {})
            if column in degrees:
                powers = Moments(2 * degrees[column] + 1, (0.0,) * (2 * degrees[column] + 1), 0.0)
                self._add(Piece((), (powers,), (f"{name(column)}::DOUBLE",), None), {})
                self.numbers[column] = Number(len(self.axes) - 1, 0, 0.0, 1.0)

    def _add(self, piece: Piece, scales: Mapping[str, tuple[float, float]]) -> None:
        for place, column in enumerate(piece.columns):
            if column in scales:
                self.numbers[column] = Number(len(self.axes), place, *scales[column])
        self.pieces.append(piece)
        if prod(axis.states for axis in self.axes) > _MOST_CELLS:
            raise TooLarge("the question needs too large a table of counts: ask for fewer columns at once")

    @property
    def axes(self) -> list[Axis]:
        """The axes, but for that of the groups of public columns, which only the rows know."""
        return [axis for piece in self.pieces for axis in piece.axes]

    def sum_of(self, where: Predicate | None, columns: Sequence[str] = ()) -> Sum:
        """Σ over the rows that satisfy a condition of the product of the numbers of these columns."""
        mask = self.grid.mask(where)
        if mask.ndim:
            mask = mask[np.ix_(*(self.cuts[axis.column].grid for axis in self.grid.axes))]
        order = [self.grid.position(column) for piece in self.pieces for column in piece.columns]
        shape = [*(axis.blocks for axis in self.axes), 1]
        powers = [[0] * max(1, len(piece.columns)) for piece in self.pieces for _ in piece.axes]
        for column in columns:
            powers[self.numbers[column].axis][self.numbers[column].place] += 1
        each: list[Powers] = [tuple(power) for power in powers]
        return Sum(mask.transpose(order).reshape(shape).astype(float), (*each, ()))

    # Rows ----------------------------------------------------------------------------------------------------------

    def read(self, data: Any, rows: int) -> tuple[Contingency, list[tuple[Any, ...]]]:
        """Count the stored rows; with the groups of the public keys that they have."""
        counted = [piece for piece in self.pieces if piece.decode is not None]
        summed = [piece for piece in self.pieces if piece.decode is None]
        keys = [expression for piece in counted for expression in piece.expressions]
        sums = _products([(piece.expressions[0], piece.axes[0].states) for piece in summed])
        arrays, numbers, totals = count(data, [*keys, *map(_key_expression, self._public_keys)], sums)
        states, place = [], 0
        for piece in counted:
            assert piece.decode is not None
            states.append(piece.decode(arrays[place : place + len(piece.expressions)]))
            place += len(piece.expressions)
        combos, which = _distinct(arrays[place:], len(numbers))
        shape = (*(prod(axis.states for axis in piece.axes) for piece in counted), len(combos))
        if prod(shape) * (len(sums) + 1) > _MOST_CELLS:
            raise TooLarge("the question needs too large a table of counts: ask for fewer columns at once")
        cell = np.ravel_multi_index((*states, which), shape)
        tables = [np.bincount(cell, column, prod(shape)) for column in (numbers, *totals)]
        counts = np.stack(tables, axis=-1).reshape(*shape, *(piece.axes[0].states for piece in summed))
        # Counted pieces, public groups, powers: put back into the order of the pieces, the public groups last.
        first, later = iter(range(len(counted))), iter(range(len(counted) + 1, counts.ndim))
        order = [next(later) if piece.decode is None else next(first) for piece in self.pieces]
        axes: list[Axis] = [*self.axes, Public(len(combos))]
        counts = counts.transpose([*order, len(counted)]).reshape([axis.states for axis in axes])
        return Contingency(_fitted(axes, counts), counts, rows), combos

    def expect(self, rows: int) -> tuple[Contingency, list[tuple[Any, ...]]]:
        """The mean counts of a table whose values are spread evenly over their spaces."""
        counts = np.full((), float(rows))
        for axis in self.axes:
            counts = np.multiply.outer(counts, _expected(axis))
        axes: list[Axis] = [*self.axes, Public(1)]
        return Contingency(_fitted(axes, counts[..., None]), counts[..., None], rows), [("",) * len(self._public_keys)]

    # Groups --------------------------------------------------------------------------------------------------------

    def choice(self, key: Key) -> Choice:
        """The declared groups of a key on a private column."""
        groups = grouping(key, self.schema)
        return Choice(key.column, groups.labels, groups.of(self.cuts[key.column].first))

    def groups(self, combos: list[tuple[Any, ...]], more: Sequence[Choice] = ()) -> Groups:
        """All combinations of the groups of the keys, and last of further choices."""
        choices = [*(self.choice(key) for key in self._private_keys), *more]
        fixed_pieces = [piece for piece in self.pieces if self._is_fixed(piece, choices)]
        rest = [piece for piece in self.pieces if piece not in fixed_pieces]
        fixed: list[int] = []
        place = 0
        for piece in self.pieces:
            if piece in fixed_pieces:
                fixed += range(place, place + len(piece.axes))
            place += len(piece.axes)
        grouped = Grouped((*fixed, place), self._chosen(choices, rest))
        # Estimates stand by fixed pieces, public groups and chosen sets; rows by keys and then further choices.
        held = [c for piece in fixed_pieces for c in choices if c.column in piece.columns]
        free = [c for c in choices if c not in held]
        stand: list[Any] = [*held, None, *free]
        wanted: list[Any] = []
        mine = iter(choices)
        for key in self.keys:
            part = None if key in self._public_keys else next(mine)
            wanted += [] if part is None and None in wanted else [part]
        wanted += [*([] if None in wanted else [None]), *mine]
        sizes = [len(combos) if part is None else len(part.labels) for part in stand]
        order = np.arange(prod(sizes)).reshape(sizes).transpose([_position(stand, part) for part in wanted]).reshape(-1)
        return Groups(self._labels(wanted, combos), grouped, order)

    def occurring(self, where: Predicate | None, table: Contingency, groups: Groups) -> Array:
        """The groups that a condition leaves any value for; of public columns those that rows have."""
        everything = self.sum_of(where)
        possible = table.total(np.ones(1), everything, groups.grouped) > 0
        if self._public_keys:
            possible &= table.estimates([everything], groups.grouped).squares[:, 0, 0] > 0
        return np.asarray(possible[groups.order])

    def _is_fixed(self, piece: Piece, choices: Sequence[Choice]) -> bool:
        """Whether a group has one block of each axis of a piece."""
        if isinstance(piece.axes[0], Blurred):
            return False  # its bias depends on all blocks together
        own = [choice for choice in choices if choice.column in piece.columns]
        if all(axis.blocks == 1 for axis in piece.axes) and not own:
            return True
        return len(piece.columns) == len(own) == 1 and own[0].is_block()

    def _chosen(self, choices: Sequence[Choice], rest: Sequence[Piece]) -> Array:
        columns = [column for piece in rest for column in piece.columns]
        sizes = [self.cuts[column].blocks for column in columns]
        chosen = np.ones((1, *sizes))
        for choice in choices:
            if choice.column in columns:
                shape = [1] * len(columns)
                shape[columns.index(choice.column)] = -1
                takes = choice.matrix().reshape(len(choice.labels), *shape)
                chosen = (chosen[:, None] * takes[None]).reshape(-1, *sizes)
        return chosen.reshape(len(chosen), -1)

    def _labels(self, wanted: Sequence[Choice | None], combos: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """The labels of each group, one for each key and each further choice."""
        found = []
        for parts in product(*(combos if part is None else part.labels for part in wanted)):
            public = iter(next(p for w, p in zip(wanted, parts, strict=True) if w is None))
            private = iter(p for w, p in zip(wanted, parts, strict=True) if w is not None)
            keys = [next(public) if key in self._public_keys else next(private) for key in self.keys]
            found.append((*keys, *private))
        return found


def _position(parts: Sequence[Any], part: Any) -> int:
    return next(n for n, other in enumerate(parts) if other is part)


def _pattern(column: str, grid: Grid) -> str:
    """Which conditions a public value satisfies, as the bits of a number."""
    terms = []
    for (leaf, negated), region in grid.regions.items():
        if leaf.column == column and isinstance(region, Bit):
            text = f"NOT ({condition(leaf)})" if negated else condition(leaf)
            terms.append(f"CASE WHEN {text} THEN {1 << region.bit} ELSE 0 END")
    return " + ".join(terms)


def _key_expression(key: Key) -> str:
    if key.width is None:
        return name(key.column)
    return f"floor({name(key.column)}::DOUBLE / ({literal(key.width)})) * ({literal(key.width)})"


def _integers(array: Any) -> Array:
    return np.asarray(array.to_numpy(zero_copy_only=False)).astype(np.int64)


def _products(numbers: Sequence[tuple[str, int]]) -> list[str]:
    """All products of powers of the numbers, but for the empty one, the last number's power varying fastest."""
    factors = [["", *(" * ".join([text] * power) for power in range(1, powers))] for text, powers in numbers]
    return [" * ".join(part for part in parts if part) for parts in product(*factors)][1:]


def _distinct(arrays: Sequence[Any], length: int) -> tuple[list[tuple[Any, ...]], Array]:
    """The different combinations of some columns in order, nulls last, and which of them each row has."""
    if not arrays:
        return [()], np.zeros(length, np.int64)
    rows = list(zip(*(map(_hashable, array.to_pylist()) for array in arrays), strict=True))
    try:
        combos = sorted(
            set(rows), key=lambda row: tuple((value is None, 0 if value is None else value) for value in row)
        )
    except TypeError:
        raise InputError("a public column holds values that have no order, so it cannot be grouped by") from None
    places = {combo: n for n, combo in enumerate(combos)}
    return combos, np.array([places[row] for row in rows], np.int64)


def _hashable(value: Any) -> Any:
    """A value as a label: a list as a tuple, what is no number as nothing."""
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    return None if isinstance(value, float) and isnan(value) else value


def _fitted(axes: Sequence[Axis], counts: Array) -> list[Axis]:
    """The axes, those of blurred numbers adapted to the counts of their own states."""
    found: list[Axis] = []
    for n, axis in enumerate(axes):
        if isinstance(axis, Blurred):
            own = np.moveaxis(counts, n, 0)
            others = [other for m, other in enumerate(axes) if m != n]
            for other in reversed(others):
                own = own[..., 0] if isinstance(other, Moments) else own.sum(axis=-1)
            axis = axis.fit(own)
        found.append(axis)
    return found


def _expected(axis: Axis) -> Array:
    """The mean share of each state, or the mean powers of a number, where values are spread evenly."""
    if isinstance(axis, Public):
        return np.full(axis.blocks, 1 / axis.blocks)
    if isinstance(axis, Kept):
        return np.asarray(axis.law.gather(axis.weights / axis.weights.sum(), 0))
    if isinstance(axis, (Mixed, Blurred)):
        return np.asarray(axis.matrix.mean(axis=0))
    if isinstance(axis, Moments) and axis.reach:
        return axis.expected()
    raise InputError("numbers of a public column are not declared, so nothing can be expected of them")
