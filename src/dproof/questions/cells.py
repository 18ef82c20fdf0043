"""The cells that conditions cut the rows of a table into.

A condition on a column is a set of codes: runs of consecutive codes, or one bit of a set. The conditions of a
question cut each column into blocks inside which none of them changes, and the product of the blocks is the grid
of cells. A column of a million codes that is compared with two numbers has three blocks at most.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.errors import TooLarge
from dproof.questions.predicates import Atom, Predicate, atoms, leaves, normal
from dproof.questions.question import Key
from dproof.questions.regions import MISSING, Bit, Region, Runs, grouping, region, satisfied, size_of
from dproof.questions.schema import Schema

_MOST_ITEMS = 16
MOST_CELLS = 1 << 24
_MOST_VALUES = 1 << 22

Places = NDArray[np.int64] | int  # of each row, or of all rows


def numbered(places: Iterable[tuple[Places, int]]) -> Places:
    """One number for each combination of places, each among so many; the last varies fastest.

    >>> numbered([(np.array([0, 1, 1]), 2), (np.array([2, 0, 1]), 3)])
    array([2, 3, 4])
    """
    number: Places = 0
    for place, size in places:
        number = number * size + place
    return number


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """One column in blocks of codes that nothing tells apart.

    The codes from `first[n]` to `last[n]` lie in `block[n]`; with `bits` those that agree with `first[n]` in these. A
    missing value has the code −1. A column that nobody declared (`Open`) has a bit for each condition on it: its code
    is the pattern of those that hold. `sizes` has the number of codes in each block.
    """

    column: str
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    block: NDArray[np.int64]
    sizes: NDArray[Any]
    bits: tuple[int, ...] | None = None

    @property
    def blocks(self) -> int:
        return len(self.sizes)

    @property
    def samples(self) -> NDArray[np.int64]:
        """One code of each block, the least."""
        return self.first[np.unique(self.block, return_index=True)[1]]

    def of(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        """The block of each code."""
        places = np.asarray(codes).astype(np.int64)
        if places.ndim > 1:
            places = places[:, 0]  # a curve has all its places, or none
        if self.bits is None:
            return self.block[np.searchsorted(self.first, places, side="right") - 1]
        block = np.zeros_like(places)
        for n, bit in enumerate(self.bits):
            block |= (places >> bit & 1) << n
        return np.where(places == MISSING, self.blocks - 1, block)

    def places(self, codes: NDArray[Any]) -> Places:
        """The block of each code, or that of all codes where there is one alone: no code decides what is done."""
        return self.of(codes) if self.blocks > 1 else 0


@dataclass(frozen=True, slots=True)
class Grid:
    """The product of the blocks of some columns."""

    axes: tuple[Cut, ...]
    regions: dict[Atom, Region]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.blocks for axis in self.axes)

    def mask(self, predicate: Predicate | None) -> NDArray[np.bool_]:
        """Which cells satisfy a predicate that the grid was cut by; None is satisfied by all."""
        if predicate is None:
            return np.ones(self.shape, bool)
        return np.broadcast_to(satisfied(normal(predicate), self._mask), self.shape)

    def _mask(self, predicate: Atom) -> NDArray[np.bool_]:
        place = self.position(_column(predicate))
        shape = [1] * len(self.axes)
        shape[place] = -1
        return self.regions[predicate].holds(self.axes[place].samples).reshape(shape)

    def cells(self, codes: Mapping[str, NDArray[Any]]) -> Places:
        """The cell of each row, from the codes of its columns; one number where all rows lie in the same."""
        return numbered((axis.places(codes[axis.column]), axis.blocks) for axis in self.axes)

    def position(self, column: str) -> int:
        """Which axis a column has."""
        return [axis.column for axis in self.axes].index(column)


def _column(atom: Atom) -> str:
    (leaf,) = leaves(atom)
    return leaf.column


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
    for atom in dict.fromkeys(atom for p in predicates if p is not None for atom in atoms(normal(p))):
        beside = by_column.setdefault(_column(atom), [])
        regions[atom] = Bit(len(beside)) if schema.is_open(_column(atom)) else region(atom, schema)
        beside.append(regions[atom])
    for column in (*(key.column for key in keys), *columns):
        by_column.setdefault(column, [])
    axes = []
    for column, found in by_column.items():
        by = [key for key in keys if key.column == column]
        bits = schema.is_open(column) or (schema.spaces[column].items is not None and not by)
        axes.append(_bit_axis(column, schema, found) if bits else _axis(column, schema, found, by, column in spelled))
    if math.prod(axis.blocks for axis in axes) > MOST_CELLS:
        raise TooLarge(f"the conditions and groups make more than {MOST_CELLS} cells: ask for fewer at once")
    return Grid(tuple(axes), regions)


def _gap(column: str, schema: Schema) -> list[int]:
    return [MISSING] if column in schema.nullable else []


def _bit_axis(column: str, schema: Schema, regions: Sequence[Region]) -> Cut:
    """Blocks of codes that agree in all bits that a condition looks at."""
    bits = tuple(sorted({bit for region in regions if isinstance(region, Bit) for bit in region.bits}))
    if len(bits) > _MOST_ITEMS:
        raise TooLarge(f"column {column!r} has conditions on {len(bits)} items, too many at once: ask for fewer")
    patterns = [sum(1 << bit for n, bit in enumerate(bits) if p >> n & 1) for p in range(1 << len(bits))]
    each = 1.0 if schema.is_open(column) else schema.declared(column).size / len(patterns)
    first = np.array([*patterns, *_gap(column, schema)])
    return Cut(column, first, first, np.arange(len(first)), np.full(len(first), each), bits)


def _axis(column: str, schema: Schema, regions: Sequence[Region], keys: Sequence[Key], spelled: bool) -> Cut:
    """Blocks of runs of codes for which every condition and every key say the same."""
    space = schema.declared(column)
    groups = [grouping(key, schema) for key in keys]
    if spelled or space.items is not None:  # the law of sets is undone bit by bit, so each has a block
        if space.size > _MOST_VALUES:
            raise TooLarge(f"column {column!r} has {space.size} values, too many to tell apart")
        first = np.concatenate([np.array(_gap(column, schema), np.int64), np.arange(space.size)])
        block = np.arange(len(first))
    else:
        ends = {0, *(end for region in regions if isinstance(region, Runs) for end in region.ends)}
        ends |= {start for group in groups for start in group.starts.tolist()}
        first = np.array([*_gap(column, schema), *sorted(end for end in ends if 0 <= end < size_of(space))])
        # The groups decide first, so that their blocks come in their order.
        marks = [*(group.of(first) for group in groups), *(region.holds(first) for region in regions), first * 0]
        patterns = list(zip(*(mark.tolist() for mark in marks), strict=True))
        number = {pattern: n for n, pattern in enumerate(sorted(set(patterns)))}
        block = np.array([number[pattern] for pattern in patterns])
    last = np.append(first[1:], size_of(space)) - 1
    return Cut(column, first, last, block, np.bincount(block, last - first + 1.0))
