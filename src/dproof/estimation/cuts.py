"""Columns cut into the blocks that a question tells apart, and pieces: axes that are read together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dproof.errors import TooLarge
from dproof.estimation.contingency import Axis
from dproof.estimation.inverse import Array
from dproof.estimation.reading import Decode
from dproof.queries.cells import Axis as GridAxis
from dproof.queries.cells import Grid
from dproof.queries.question import Key
from dproof.queries.regions import grouping
from dproof.queries.schema import Open, Schema
from dproof.spaces import Categories

_MOST_VALUES = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """A column in blocks of codes that a question does not tell apart.

    `grid` is the block of the question's grid that each block lies in, `first` one of its codes, `weights` how many
    codes it has. `merged` is the block of each block of the grid; None where every code is a block.
    """

    axis: GridAxis
    grid: Array
    first: Array
    weights: Array
    merged: Array | None

    @property
    def blocks(self) -> int:
        return len(self.first)

    def of(self, codes: Array) -> Array:
        """The block of each code."""
        return codes if self.merged is None else np.asarray(self.merged[self.axis.of(codes)])


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Axes that are read together: the columns cut along them, SQL expressions, and states from their values.

    Without `decode` the one expression is a number whose powers are summed rather than counted.
    """

    columns: tuple[str, ...]
    axes: tuple[Axis, ...]
    expressions: tuple[str, ...]
    decode: Decode | None


def cut_column(axis: GridAxis, schema: Schema, grid: Grid, keys: Sequence[Key], *, spelled: bool) -> Cut:
    """The blocks of a column; where it is spelled out, every code is one."""
    space, first = schema.spaces[axis.column], np.array(axis.first)
    every = np.arange(axis.blocks)
    if isinstance(space, Open):
        return Cut(axis, every, first, np.ones(axis.blocks), every)
    if spelled:
        if space.size > _MOST_VALUES:
            raise TooLarge(f"column {axis.column!r} has {space.size} values, too many to tell apart")
        codes = np.arange(space.size)
        return Cut(axis, axis.of(codes), codes, np.ones(space.size), None)
    if axis.bits is not None:
        return Cut(axis, every, first, np.full(axis.blocks, space.size / axis.blocks), every)
    marks: list[Array] = [found.holds(first) for (leaf, _), found in grid.regions.items() if leaf.column == axis.column]
    marks += [grouping(key, schema).of(first) for key in keys if key.column == axis.column]
    rows = np.stack([np.zeros(axis.blocks, np.int64), *(mark.astype(np.int64) for mark in marks)])
    _, where, merged = np.unique(rows, axis=1, return_index=True, return_inverse=True)
    merged = merged.reshape(-1)
    return Cut(axis, where, first[where], np.bincount(merged, np.array(axis.last) - first + 1.0), merged)


def values_of(space: Any, codes: Array) -> Array:
    """The numbers that codes stand for; 0 for a missing one, which no sum takes."""
    if isinstance(space, Categories):
        return np.array([0.0 if label is None else float(label) for label in space.values])[codes]  # type: ignore[arg-type]
    return np.asarray(float(space.low) + float(space.step) * codes)


def scale_of(space: Any) -> tuple[float, float]:
    """A middle and a unit of the numbers of a space, so that powers of (value − middle)/unit stay small."""
    if isinstance(space, Open):
        return 0.0, 1.0
    ends = values_of(space, np.array([0, space.size - 1]))
    if isinstance(space, Categories):
        known = [float(label) for label in space.values if label is not None]  # type: ignore[arg-type]
        ends = np.array([min(known), max(known)])
    low, high = float(ends[0]), float(ends[1])
    return (low + high) / 2, (high - low) / 2 if high > low else 1.0
