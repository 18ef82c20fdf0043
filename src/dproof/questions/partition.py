"""Conditions and groups as sets of codes, and the cells that they cut the rows of a table into.

A condition on a column is a set of codes: runs of consecutive codes, or one bit of a set. The conditions of a
question cut each column into blocks inside which none of them changes, and the product of the blocks is the grid
of cells. A column of a million codes that is compared with two numbers has three blocks at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dproof.errors import QuestionError, TooLarge
from dproof.exact import int_or_float
from dproof.limits import MOST_CELLS, MOST_CONDITION_ITEMS, MOST_KEY_GROUPS
from dproof.questions.question import (
    Among,
    And,
    Atom,
    Compare,
    Contains,
    DatePart,
    Key,
    Leaf,
    Missing,
    Not,
    Or,
    Predicate,
    Schema,
    Value,
    atoms,
    label_of,
)
from dproof.spaces import Space
from dproof.spaces.interval import Line
from dproof.spaces.space import COMPARISONS, MISSING, Partition, Places, along


@dataclass(frozen=True, slots=True)
class Runs:
    """Codes between ends, in order: from the first end up to the second, from the third up to the fourth, …"""

    ends: tuple[int, ...]

    def holds(self, codes: NDArray[Any]) -> NDArray[np.bool_]:
        """Which codes lie in a run.

        >>> Runs((0, 2, 5, 6)).holds(np.array([-1, 1, 2, 5]))
        array([False,  True, False,  True])
        """
        inside: NDArray[np.bool_] = np.searchsorted(self.ends, codes, side="right") % 2 == 1
        return inside


@dataclass(frozen=True, slots=True)
class Bit:
    """Codes that have a bit set, or with `present=False` those that are there and have it not.

    A code that has the bit `absent` set is not there either.
    """

    bit: int
    present: bool = True
    absent: int | None = None

    @property
    def bits(self) -> set[int]:
        """The bits that are looked at."""
        return {self.bit} if self.absent is None else {self.bit, self.absent}

    def holds(self, codes: NDArray[Any]) -> NDArray[np.bool_]:
        holds: NDArray[np.bool_] = (codes != MISSING) & ((codes >> self.bit & 1 == 1) == self.present)
        return holds if self.absent is None else holds & (codes >> self.absent & 1 == 0)


Region: TypeAlias = Runs | Bit


def size_of(space: Space) -> int:
    """How many codes of a column its conditions know; of a curve no more than that it is there, or missing."""
    if space.holds_curves:
        return 1 if space.absent is None else 2
    return space.size


def _leaf(atom: Atom) -> Leaf:
    """The condition that an atom is, or that it negates."""
    leaf = atom.part if isinstance(atom, Not) else atom
    assert isinstance(leaf, Leaf), "the predicate is not in its normal form"
    return leaf


def region(atom: Atom, schema: Schema) -> Region:
    """The codes of the values that satisfy a checked condition; those missing satisfy neither it nor its negation.

    >>> from dproof.spaces import Categories
    >>> table = Schema("data", {"size": Categories(["S", "M", "L"])})
    >>> region(Among("size", ("S", "L")), table), region(Not(Among("size", ("S", "L"))), table)
    (Runs(ends=(0, 1, 2, 3)), Runs(ends=(0, 0, 1, 2, 3, 3)))
    """
    found: Region | None = schema.cache.get(atom)
    if found is None:
        found = schema.cache[atom] = _region(_leaf(atom), isinstance(atom, Not), schema)
    return found


def _region(leaf: Leaf, negated: bool, schema: Schema) -> Region:
    """The codes of `region`, worked out."""
    space = schema.declared(leaf.column)  # conditions on other columns are known by their positions, not by codes
    absent = space.absent
    gap = () if absent is None else (absent, absent + 1)
    match leaf:
        case Contains(_, item):
            assert space.items is not None
            # A missing set holds no item, so that only its not holding one must be told from that of others.
            return Bit(space.items.index(item), not negated, space.candidates if negated and gap else None)
        case Missing() if space.items is not None and absent is not None:
            return Bit(space.candidates, not negated)  # the item that says so is the last
        case Missing():
            # What nobody declared is not there, also where missing values are a category of their own.
            return Runs((0, *gap, size_of(space)) if negated else (MISSING, 0, *gap))
        case Among(part=part) | Compare(part=part) if part is not None:
            ends = _part_ends(leaf, part, space)
        case Among(_, values):
            ends = _singles({_code(space, value) for value in values})
        case Compare(_, sign, value):
            ends = space.selected(sign, value)
    runs = Runs((0, *ends, space.size) if negated else ends)
    return Runs(tuple(sorted((*runs.ends, *gap)))) if gap and runs.holds(np.array(absent)) else runs


def _part_ends(leaf: Compare | Among, part: DatePart, space: Space) -> tuple[int, ...]:
    """The ends of the runs of days of which a part satisfies a condition."""
    starts, parts = _parts(space, part)
    if isinstance(leaf, Compare):
        chosen = {number for number in set(parts.tolist()) if COMPARISONS[leaf.operator](number, leaf.value)}
    else:
        chosen = set(parts.tolist()) & {int(value) for value in leaf.values if value == int(value)}
    held = np.isin(parts, sorted(chosen))
    changes = np.flatnonzero(np.diff(np.concatenate([[False], held, [False]])))
    return tuple(np.append(starts, space.without_missing.size)[changes].tolist())


def _parts(space: Space, part: DatePart) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    found = space.date_part(part)
    assert found is not None, "the question was not checked"
    return found


def items_of(predicate: Predicate | None, schema: Schema) -> set[tuple[str, int]]:
    """The items of sets that a predicate looks at, as bits of columns: with that which says that a set is missing."""
    found = set[tuple[str, int]]()
    for atom in atoms(predicate):
        column = _leaf(atom).column
        if column not in schema.open_columns and isinstance(looked_at := region(atom, schema), Bit):
            found |= {(column, bit) for bit in looked_at.bits}
    return found


def absent_bit(schema: Schema, column: str) -> int | None:
    """The bit of the codes of a set that says that it is missing, where one does."""
    space = schema.declared(column)
    return None if space.items is None or space.absent is None else space.candidates


def satisfied(predicate: Predicate, atom: Callable[[Atom], NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """Where a predicate in its normal form holds, from where its atoms do."""
    if isinstance(predicate, (And, Or)):
        joined = np.logical_and if isinstance(predicate, And) else np.logical_or
        return np.asarray(joined.reduce(np.broadcast_arrays(*(satisfied(part, atom) for part in predicate.parts))))
    return atom(predicate)


def _code(space: Space, value: Value) -> int:
    return space.code(int(value) if isinstance(value, Fraction) and value.denominator == 1 else value)


def _singles(codes: set[int]) -> tuple[int, ...]:
    return tuple(end for code in sorted(codes) for end in (code, code + 1))


def grouping(key: Key, schema: Schema) -> Partition:
    """The groups of a key, worked out once. A column with missing values has a last group None for them.

    >>> from dproof.spaces import Categories
    >>> table = Schema("data", {"size": Categories([1, 2, 10])})
    >>> groups = grouping(Key("size", Fraction(5)), table)
    >>> groups.labels, groups.of(np.array([0, 1, 2]))
    ((0, 10), array([0, 0, 1]))
    """
    found: Partition | None = schema.cache.get(key)
    if found is None:
        if schema.is_open(key.column):
            raise QuestionError(
                f"column {key.column!r} has no declared values to group by: give it a space in the plan"
            )
        found = schema.cache[key] = (_cases if key.cases else _values)(key, schema, schema.declared(key.column))
    return found


def _values(key: Key, schema: Schema, space: Space) -> Partition:
    """The groups of a key without conditions: values by themselves, or in bins of the plan or of a width."""
    stop = size_of(space)
    if key.part is not None:
        starts, parts = _parts(space, key.part)
        found, groups = np.unique(parts, return_inverse=True)
        labels = list[Any](found.tolist())
        if space.absent is not None:
            labels, starts, groups = [*labels, None], np.append(starts, space.absent), np.append(groups, len(labels))
    elif key.width is None and key.column in schema.bins:
        bins = schema.bins[key.column]
        labels, starts, groups = list(bins.labels), np.array(bins.starts), np.arange(bins.size)
    elif key.width is not None and space.line is not None:
        edges, starts = _bins(key, space.line, space.candidates, key.width)
        labels = [space.shown(edge) for edge in edges]
        if space.absent is not None:
            labels, starts = [*labels, None], np.append(starts, space.absent)
        groups = np.arange(len(labels))
    else:
        _fits(key, stop)
        starts = np.arange(stop)
        edges_of_codes = [_edge(label, key.width) for label in space.decode(starts)]
        labels = list(dict.fromkeys(edges_of_codes))
        place = {label: n for n, label in enumerate(labels)}
        groups = np.array([place[label] for label in edges_of_codes])
    if key.column in schema.nullable:
        starts, groups = np.append(MISSING, starts), np.append(len(labels), groups)
        labels = [*labels, None]
    return Partition(key.column, starts, groups, stop, None, tuple(labels))


def _cases(key: Key, schema: Schema, space: Space) -> Partition:
    """The groups of a CASE; what is missing satisfies no comparison, so it goes where no condition holds."""
    regions = {a: region(a, schema) for case in key.cases if case.where for a in atoms(case.where)}
    spelled = any(isinstance(found, Bit) for found in regions.values())  # items of sets lie in no runs of codes
    if spelled:
        _fits(key, size_of(space))
    axis = _axis(schema, key.column, list(regions.values()), [], spelled)
    grid = Grid((axis,), regions)
    holds = [grid.mask(case.where) for case in key.cases]
    shown = [label_of(case.label) for case in key.cases]
    labels = list(dict.fromkeys(shown))
    places = np.array([labels.index(label) for label in shown])
    reached, groups = np.unique(places[np.argmax(holds, axis=0)], return_inverse=True)  # an ELSE may be left nothing
    return Partition(key.column, axis.first, groups[axis.block], axis.stop, None, tuple(labels[n] for n in reached))


def declared_labels(key: Key, schema: Schema) -> tuple[Any, ...]:
    """The groups of a key that the plan declares: what is in none of them belongs into no answer.

    So a group NULL, always the last, is left out where it has nothing but missing values that were not declared.
    """
    groups = grouping(key, schema)
    undeclared = key.column in schema.nullable - schema.null_groups and groups.labels[-1] is None
    only_missing = bool((groups.first[groups.block == len(groups.labels) - 1] == MISSING).all())
    return groups.labels[:-1] if undeclared and only_missing else groups.labels


def _edge(label: Any, width: Fraction | None) -> Any:
    """The group of a value: itself, or the lower edge of its bin."""
    return label if label is None or width is None else int_or_float(math.floor(Fraction(label) / width) * width)


def _bins(key: Key, line: Line, size: int, width: Fraction) -> tuple[list[Any], NDArray[np.int64]]:
    """The lower edges of the bins, and the first code in each."""
    low, step = line.origin, line.step
    first, last = math.floor(low / width), math.floor((low + step * (size - 1)) / width)
    _fits(key, last - first + 1)
    # Everything in whole numbers of one unit.
    unit = math.lcm(low.denominator, step.denominator, width.denominator)
    bottom, one, wide = int(low * unit), int(step * unit), int(width * unit)
    starts = [max(0, -((bottom - n * wide) // one)) for n in range(first, last + 1)]
    return [int_or_float(n * width) for n in range(first, last + 1)], np.array(starts)


def _fits(key: Key, groups: int) -> None:
    if groups > MOST_KEY_GROUPS:
        advice = f"group by BIN({key.column}, width) instead" if key.width is None else "take a greater width"
        raise TooLarge(f"column {key.column!r} has {groups} groups, more than {MOST_KEY_GROUPS}: {advice}")


_MOST_VALUES = 1 << 22


def combined_places(places: Iterable[tuple[Places, int]]) -> Places:
    """One place for each combination of places (in mixed radix), each given with its size; the last varies fastest.

    >>> combined_places([(np.array([0, 1, 1]), 2), (np.array([2, 0, 1]), 3)])
    array([2, 3, 4])
    """
    number: Places = 0
    for place, size in places:
        number = number * size + place
    return number


@dataclass(frozen=True)
class Grid:
    """The product of the blocks of some columns."""

    axes: tuple[Partition, ...]
    regions: dict[Atom, Region]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.blocks for axis in self.axes)

    def mask(self, predicate: Predicate | None) -> NDArray[np.bool_]:
        """Which cells satisfy a predicate that the grid was cut by; None is satisfied by all."""
        if predicate is None:
            return np.ones(self.shape, bool)
        return np.broadcast_to(satisfied(predicate, self._mask), self.shape)

    def _mask(self, predicate: Atom) -> NDArray[np.bool_]:
        place = self.position(_leaf(predicate).column)
        return along(self.regions[predicate].holds(self.axes[place].samples), place, len(self.axes))

    def cells(self, codes: Mapping[str, NDArray[Any]]) -> Places:
        """The cell of each row, from the codes of its columns; one number where all rows lie in the same."""
        return combined_places((axis.places(codes[axis.column]), axis.blocks) for axis in self.axes)

    def position(self, column: str) -> int:
        """Which axis a column has."""
        return [axis.column for axis in self.axes].index(column)


def cut(
    schema: Schema,
    predicates: Iterable[Predicate | None],
    keys: Sequence[Key] = (),
    columns: Iterable[str] = (),
    spelled: Container[str] = (),
) -> Grid:
    """The grid that these predicates and the groups of these keys cut the table into.

    More columns add an axis; those `spelled` out have a block for every code.

    >>> from dproof.questions.sql import parse_predicate
    >>> from dproof.spaces import Categories
    >>> table = Schema("data", {"size": Categories(["S", "M", "L", "XL"], metric="ordinal")})
    >>> large = parse_predicate("size IN ('S', 'XL')")
    >>> grid = cut(table, [large])
    >>> grid.axes[0].first, grid.axes[0].block, grid.mask(large)
    (array([0, 1, 3]), array([1, 0, 1]), array([False,  True]))
    """
    by_column: dict[str, list[Region]] = {}
    regions: dict[Atom, Region] = {}
    for atom in dict.fromkeys(
        atom for predicate in dict.fromkeys(predicates) if predicate for atom in atoms(predicate)
    ):
        column = _leaf(atom).column
        beside = by_column.setdefault(column, [])
        regions[atom] = Bit(len(beside)) if column in schema.open_columns else region(atom, schema)
        beside.append(regions[atom])
    for column in (*(key.column for key in keys), *columns):
        by_column.setdefault(column, [])
    axes = []
    for column, found in by_column.items():
        by = [key for key in keys if key.column == column]
        made = column, tuple(found), tuple(by), column in spelled
        axis: Partition | None = schema.cache.get(made)
        if axis is None:
            of_sets = schema.spaces[column].items is not None
            if column in schema.open_columns or (of_sets and not by):
                axis = _bit_axis(column, schema, found)
            else:  # the law of sets is undone bit by bit, so where they are groups each set has a block
                axis = _axis(schema, column, found, by, of_sets or column in spelled)
            schema.cache[made] = axis
        axes.append(axis)
    if math.prod(axis.blocks for axis in axes) > MOST_CELLS:
        raise TooLarge(f"the conditions and groups make more than {MOST_CELLS} cells: ask for fewer at once")
    return Grid(tuple(axes), regions)


_ITEMS_OF_GRID = 8  # of all sets, where one condition alone does not look at more


def by_grids(
    schema: Schema,
    predicates: Iterable[Predicate | None],
    keys: Sequence[Key] = (),
    columns: Iterable[str] = (),
) -> Iterator[tuple[list[Predicate | None], Grid]]:
    """The predicates a few at a time, with a grid that these cut: each looks at few items of sets.

    >>> from dproof.spaces import Subsets
    >>> table = Schema("data", {"likes": Subsets([f"i{n}" for n in range(20)])})
    >>> [len(grid.axes[0].first) for _, grid in by_grids(table, [Contains("likes", f"i{n}") for n in range(20)])]
    [256, 256, 16]
    """
    columns, few, items = tuple(columns), list[Predicate | None](), set[tuple[str, int]]()
    for predicate in dict.fromkeys(predicates):
        more = items | items_of(predicate, schema)
        if few and len(more) > max(_ITEMS_OF_GRID, len(items)):
            yield few, cut(schema, few, keys, columns)
            few, more = [], items_of(predicate, schema)
        few, items = [*few, predicate], more
    if few:
        yield few, cut(schema, few, keys, columns)


def _bit_axis(column: str, schema: Schema, regions: Sequence[Region]) -> Partition:
    """Blocks of codes that agree in all bits that a condition looks at."""
    bits = tuple(sorted({bit for region in regions if isinstance(region, Bit) for bit in region.bits}))
    if len(bits) > MOST_CONDITION_ITEMS:
        raise TooLarge(
            f"a condition on column {column!r} names {len(bits)} items, and {MOST_CONDITION_ITEMS} are the most: ask "
            f"about fewer in one, or by unnest({column}), which counts any number of items one by one"
        )
    patterns = [sum(1 << bit for n, bit in enumerate(bits) if p >> n & 1) for p in range(1 << len(bits))]
    stop = len(patterns) if schema.is_open(column) else schema.declared(column).size
    first = np.array([*patterns, *([MISSING] if column in schema.nullable else [])])
    return Partition(column, first, np.arange(len(first)), stop, bits)


def _axis(schema: Schema, column: str, regions: Sequence[Region], keys: Sequence[Key], spelled: bool) -> Partition:
    """Blocks of runs of codes for which every condition and every key say the same."""
    space, missing = schema.declared(column), [MISSING] if column in schema.nullable else []
    groups, stop = [grouping(key, schema) for key in keys], size_of(space)
    if spelled:
        if space.size > _MOST_VALUES:
            raise TooLarge(f"column {column!r} has {space.size} values, too many to tell apart")
        first = np.array([*missing, *range(space.size)])
        block = np.arange(len(first))
    else:
        ends = {0, *(end for region in regions if isinstance(region, Runs) for end in region.ends)}
        ends |= {start for group in groups for start in group.first.tolist()}
        first = np.array([*missing, *sorted(end for end in ends if 0 <= end < stop)])
        # The groups decide first, so that their blocks come in their order.
        marks = [*(group.of(first) for group in groups), *(region.holds(first) for region in regions), first * 0]
        patterns = list(zip(*(mark.tolist() for mark in marks), strict=True))
        number = {pattern: n for n, pattern in enumerate(sorted(set(patterns)))}
        block = np.array([number[pattern] for pattern in patterns])
    return Partition(column, first, block, stop)
