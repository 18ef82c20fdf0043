"""Columns under other laws than keep-or-other: any finite law, and numbers under noise.

Numbers are summed by their moments where nothing is asked of them but sums, else told apart as well as the noise lets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np

from dproof.estimation.axes import Mixed, Moments, whole_law
from dproof.estimation.inverse import Array
from dproof.estimation.reading import Piece, column_reader, integers
from dproof.estimation.smoothing import Nodes, lay_nodes, membership, node_law
from dproof.laws.lattice import Lattice
from dproof.mechanisms.mechanism import Mechanism
from dproof.queries.canonical import name
from dproof.queries.cells import Axis as Cut
from dproof.queries.linear import scale_of as exact_scale
from dproof.sanitisation.column import Column
from dproof.spaces import Categories
from dproof.spaces.interval import Interval

_MOST_BINS = 1 << 14
_FAR = 4.0  # standard deviations of noise that one row may add to a sum


@dataclass(frozen=True, slots=True)
class Scale:
    """value = middle + unit · number, so that powers of the numbers stay small."""

    middle: float = 0.0
    unit: float = 1.0

    def numbers(self, space: Any, codes: Array) -> Array:
        """The numbers that codes stand for, also between and beyond those of an interval."""
        return np.asarray((values_of(space, codes) - self.middle) / self.unit)


def values_of(space: Any, codes: Array) -> Array:
    """The values that codes stand for; 0 for a missing one, which no sum takes."""
    if isinstance(space, Categories):
        return np.array([0.0 if label is None else float(label) for label in space.values])[codes]  # type: ignore[arg-type]
    return np.asarray(float(space.low) + float(space.step) * codes)


def scale_of(space: Any) -> Scale:
    """The scale on which the numbers of a space go from −1 to 1."""
    exact = exact_scale(space, True)
    return Scale(float(exact.origin), float(exact.unit * exact.ends[1]) or 1.0)


def summed_piece(column: Column, family: Lattice, scale: Scale) -> Piece:
    """Numbers under noise of which only sums of powers are asked."""
    mean, _, square = (float(moment) for moment in family.noise.moments)
    step = float(column.space.step) / scale.unit
    spread = max(square - mean**2, 0.0) ** 0.5 * step
    axis = Moments(5, (mean * step, square * step**2), 1 + _FAR * spread)
    number = f"(({name(column.name)}::DOUBLE - {scale.middle!r}) / {scale.unit!r})"
    return Piece((column.name,), (axis,), (number,), None)


def finite_piece(column: Column, mechanism: Mechanism, cut: Cut, scale: Scale | None, called: str) -> Piece:
    """Any finite law, such as bounded noise or a designed one: every output is a state, whatever the question."""
    space, outputs = column.space, mechanism.outputs
    codes = np.arange(space.size)
    member = np.eye(cut.blocks)[cut.of(codes)]
    matrix = whole_law(mechanism.family, called)
    expressions, decode = column_reader(column, outputs, None)
    if isinstance(space, Interval):
        scale, seen = scale or scale_of(space), np.arange(matrix.shape[1])
        nearest = np.rint((values_of(outputs, seen) - float(space.low)) / float(space.step)).astype(np.int64)
        held = member[np.clip(nearest, 0, space.size - 1)]
        numbers = scale.numbers(space, codes), held, scale.numbers(outputs, seen)
        axis = Mixed(called, matrix, member, *numbers, rough=True)
    else:
        values = np.zeros(space.size) if scale is None else scale.numbers(space, codes)
        axis = Mixed(called, matrix, member, values, member, values, space.decode(codes))
    return Piece((column.name,), (axis,), tuple(expressions), decode)


def lattice_piece(column: Column, family: Lattice, cut: Cut, scale: Scale | None, called: str) -> Piece:
    """Numbers under noise, in nodes and states as fine as the noise and the question need."""
    space, scale = column.space, scale or scale_of(column.space)
    nodes = lay_nodes(family, cut.first[1:])
    lower = nodes.lower
    # A state holds the block of its codes; beyond the interval that of the nearer end.
    held = np.eye(cut.blocks)[cut.of(np.clip(lower, 0, space.size - 1))]
    middles = (lower + np.append(lower[1:], lower[-1] + nodes.wide) - 1) / 2
    numbers = scale.numbers(space, nodes.centres), held, scale.numbers(space, middles)
    axis = Mixed(called, node_law(family, nodes), membership(nodes, cut), *numbers, rough=True)

    def decode(arrays: Sequence[Any]) -> Array:
        return np.searchsorted(nodes.edges, integers(arrays[0]), side="right")

    return Piece((column.name,), (axis,), (_state(column, nodes, cut.first[1:]),), decode)


def _state(column: Column, nodes: Nodes, cuts: Array) -> str:
    """A code in the state of a number, in SQL: the lower end of a bin, or a cut that it has passed inside of that."""
    code = f"round(({name(column.name)}::DOUBLE - {float(column.space.low)!r}) / {float(column.space.step)!r})"
    first, last, wide = int(nodes.lower[0]), int(nodes.lower[-1]), gcd(nodes.wide, *map(int, cuts))
    passed = ""
    if last - first > _MOST_BINS * wide:  # too many bins if every edge shall be the end of one
        wide = nodes.wide
        passed = f", CASE {' '.join(f'WHEN {code} >= {cut} THEN {cut}' for cut in cuts[::-1])} ELSE {first} END"
    return f"greatest({first}, least({last}, floor({code} / {wide}) * {wide}){passed})::BIGINT"
