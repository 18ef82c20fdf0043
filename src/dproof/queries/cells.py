"""The cells that conditions cut the rows of a table into.

A condition on a column is a set of codes: runs of consecutive codes, or one bit of a set. The conditions of a
question cut each column into blocks inside which none of them changes, and the product of the blocks is the grid
of cells. A column of a million codes that is compared with two numbers has three blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.errors import TooLarge
from dproof.queries.question import And, Key, Leaf, Not, Or, Predicate, normal
from dproof.queries.regions import MISSING, Bit, Region, Runs, key_regions, region
from dproof.queries.schema import Open, Schema
from dproof.spaces import Subsets

_MOST_ITEMS = 16
_MOST_CELLS = 1 << 22


@dataclass(frozen=True, slots=True)
class Axis:
    """One column in blocks: the codes from each of `first` to `last`, or all that agree in the given bits.

    A column in which values may be missing has one more block, the last, whose only code is −1. A column that
    nobody declared (`Open`) has a bit for each condition on it: its code is the pattern of those that hold.
    """

    column: str
    first: tuple[int, ...]
    last: tuple[int, ...]
    bits: tuple[int, ...] | None = None

    @property
    def blocks(self) -> int:
        return len(self.first)

    def of(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        """The block of each code."""
        found = np.asarray(codes).astype(np.int64)
        block = np.zeros_like(found)
        if self.bits is None:
            starts = np.array(self.first[:-1] if self.first[-1] == MISSING else self.first)
            block = np.searchsorted(starts, found, side="right") - 1
        else:
            for n, bit in enumerate(self.bits):
                block |= (found >> bit & 1) << n
        return np.where(found == MISSING, self.blocks - 1, block)


@dataclass(frozen=True, slots=True)
class Grid:
    """The product of the blocks of some columns."""

    axes: tuple[Axis, ...]
    regions: dict[tuple[Leaf, bool], Region]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.blocks for axis in self.axes)

    def mask(self, predicate: Predicate | None) -> NDArray[np.bool_]:
        """Which cells satisfy a predicate that the grid was cut by; None is satisfied by all."""
        if predicate is None:
            return np.ones(self.shape, bool)
        return np.broadcast_to(self._mask(normal(predicate)), self.shape)

    def _mask(self, predicate: Predicate) -> NDArray[np.bool_]:
        match predicate:
            case And(parts) | Or(parts):
                masks = np.broadcast_arrays(*(self._mask(part) for part in parts))
                joined = np.logical_and if isinstance(predicate, And) else np.logical_or
                result: NDArray[np.bool_] = joined.reduce(masks)
                return result
            case Not(part):
                leaf, negated = part, True
            case _:
                leaf, negated = predicate, False
        assert not isinstance(leaf, (And, Or, Not))  # the normal form
        axis = self.axes[self.position(leaf.column)]
        return self.along(leaf.column, self.regions[leaf, negated].holds(np.array(axis.first)))

    def position(self, column: str) -> int:
        """Which axis a column has."""
        return [axis.column for axis in self.axes].index(column)

    def along(self, column: str, values: NDArray[Any]) -> NDArray[Any]:
        """One value for each block of a column, shaped to be broadcast over the grid."""
        shape = [1] * len(self.axes)
        shape[self.position(column)] = -1
        return values.reshape(shape)


def cut(
    schema: Schema,
    predicates: Iterable[Predicate | None],
    keys: Sequence[Key] = (),
    columns: Iterable[str] = (),
) -> Grid:
    """The grid that these predicates and the groups of these keys cut the table into; more columns add an axis.

    >>> from dproof.queries.sql import parse_predicate
    >>> from dproof.spaces import Categories
    >>> table = Schema("data", {"size": Categories(["S", "M", "L", "XL"], metric="ordinal")})
    >>> large = parse_predicate("size >= 'L'")
    >>> grid = cut(table, [large])
    >>> grid.axes[0].first, grid.mask(large)
    ((0, 2), array([False,  True]))
    """
    signed = dict.fromkeys(pair for p in predicates if p is not None for pair in signed_leaves(normal(p)))
    by_column: dict[str, list[Region]] = {}
    regions: dict[tuple[Leaf, bool], Region] = {}
    for leaf, negated in signed:
        beside = by_column.setdefault(leaf.column, [])
        unknown = isinstance(schema.spaces[leaf.column], Open)
        regions[leaf, negated] = Bit(len(beside)) if unknown else region(leaf, schema, negated=negated)
        beside.append(regions[leaf, negated])
    for key in keys:
        by_column.setdefault(key.column, []).extend(runs for _, runs in key_regions(key, schema))
    for column in columns:
        by_column.setdefault(column, [])
    axes = tuple(_axis(column, schema, found) for column, found in by_column.items())
    if math.prod(axis.blocks for axis in axes) > _MOST_CELLS:
        raise TooLarge(f"the conditions and groups make more than {_MOST_CELLS} cells: ask for fewer at once")
    return Grid(axes, regions)


def signed_leaves(predicate: Predicate) -> Iterator[tuple[Leaf, bool]]:
    """The atomic conditions of a normal form, each with whether it is negated."""
    match predicate:
        case And(parts) | Or(parts):
            for part in parts:
                yield from signed_leaves(part)
        case Not(part):
            assert not isinstance(part, (And, Or, Not))
            yield part, True
        case _:
            yield predicate, False


def _axis(column: str, schema: Schema, regions: Sequence[Region]) -> Axis:
    space = schema.spaces[column]
    gap = (MISSING,) if column in schema.nullable else ()
    runs = [found for found in regions if isinstance(found, Runs)]
    bits = tuple(sorted({found.bit for found in regions if isinstance(found, Bit)}))
    if len(bits) > _MOST_ITEMS:
        raise TooLarge(f"column {column!r} meets {len(bits)} conditions at once: ask for fewer")
    if isinstance(space, Open) or (isinstance(space, Subsets) and not any(run[1] > 0 for r in runs for run in r.runs)):
        patterns = tuple(sum(1 << bit for n, bit in enumerate(bits) if p >> n & 1) for p in range(1 << len(bits)))
        others = 0 if isinstance(space, Open) else space.size - 1 - sum(1 << bit for bit in bits)
        return Axis(column, patterns + gap, tuple(pattern | others for pattern in patterns) + gap, bits)
    ends = {end for found in runs for run in found.runs for end in run}
    starts = tuple(range(space.size)) if bits else tuple(sorted({0} | {end for end in ends if 0 < end < space.size}))
    last = (*(start - 1 for start in starts[1:]), space.size - 1)
    return Axis(column, starts + gap, last + gap)


def over_codes(predicate: Predicate, schema: Schema) -> tuple[tuple[str, ...], NDArray[np.bool_]]:
    """A predicate over the product of all codes of the columns it touches (missing values last), and these columns.

    >>> from dproof.queries.sql import parse_predicate
    >>> from dproof.spaces import Categories
    >>> table = Schema("data", {"size": Categories(["S", "M", "L", "XL"])})
    >>> over_codes(parse_predicate("size IN ('S', 'L')"), table)
    (('size',), array([ True, False,  True, False]))
    """
    grid = cut(schema, [predicate])
    columns = tuple(axis.column for axis in grid.axes)
    spaces = [schema.spaces[column] for column in columns]
    sizes = [axis.blocks if isinstance(s, Open) else s.size for axis, s in zip(grid.axes, spaces, strict=True)]
    if math.prod(sizes) > _MOST_CELLS << 4:
        raise TooLarge(f"a condition over {math.prod(sizes)} codes is too large to write out: use the blocks of `cut`")
    codes = [
        np.append(np.arange(size), [MISSING] * (column in schema.nullable)).astype(np.int64)
        for column, size in zip(columns, sizes, strict=True)
    ]
    blocks = [axis.of(found) for axis, found in zip(grid.axes, codes, strict=True)]
    return columns, grid.mask(predicate)[np.ix_(*blocks)]
