"""Columns of numbers as axes: summed by their moments where nothing is asked of them but sums, else blurred."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dproof.estimation.axes import Moments, whole_law
from dproof.estimation.cuts import Cut, Piece, scale_of, values_of
from dproof.estimation.inverse import Array
from dproof.estimation.reading import column_reader
from dproof.estimation.smoothing import Blurred, Nodes, lay_nodes, membership, node_law
from dproof.laws.lattice import Lattice
from dproof.mechanisms.mechanism import Mechanism
from dproof.queries.canonical import name
from dproof.sanitisation.column import Column
from dproof.spaces.interval import Interval

_FAR = 4.0  # standard deviations of noise that one row may add to a sum


def number_piece(
    column: Column, mechanism: Mechanism, cut: Cut, scale: tuple[float, float] | None, called: str
) -> Piece:
    """The axis of a column of numbers under noise, or under any finite law."""
    family, space = mechanism.family, column.space
    if not isinstance(family, Lattice):
        return _finite(column, mechanism, cut, scale, called)
    if cut.blocks == 1 and scale is not None and not family.clamped:
        return _summed(column, family, scale)
    firsts = np.array(cut.axis.first) if cut.merged is not None else cut.first
    block = cut.merged if cut.merged is not None else np.arange(cut.blocks)
    nodes = lay_nodes(family, firsts[1:])
    member = membership(nodes, space.size, firsts, block, cut.blocks)
    lower = np.append(2 * nodes.edges[0] - nodes.edges[1] if len(nodes.edges) > 1 else 0, nodes.edges)
    upper = np.append(nodes.edges, 2 * nodes.edges[-1] - nodes.edges[-2] if len(nodes.edges) > 1 else space.size)
    # A state holds the block of its codes; beyond the interval that of the nearer end.
    inside = np.clip(lower, 0, space.size - 1)
    naive = np.eye(cut.blocks)[block[np.searchsorted(firsts, inside, side="right") - 1]]
    middle, unit = scale or scale_of(space)
    axis = Blurred(
        called,
        node_law(family, nodes),
        member,
        (values_of(space, nodes.centres) - middle) / unit,
        naive,
        (values_of(space, (lower + upper - 1) / 2) - middle) / unit,
    )
    expressions, decode = _state_reader(column, space, nodes, firsts[1:])
    return Piece((column.name,), (axis,), expressions, decode)


def _summed(column: Column, family: Lattice, scale: tuple[float, float]) -> Piece:
    middle, unit = scale
    mean, _, square = (float(moment) for moment in family.noise.moments)
    step = float(column.space.step) / unit
    spread = max(square - mean**2, 0.0) ** 0.5 * step
    axis = Moments(5, (mean * step, square * step**2), 1 + _FAR * spread)
    return Piece((column.name,), (axis,), (f"(({name(column.name)}::DOUBLE - {middle!r}) / {unit!r})",), None)


def _finite(column: Column, mechanism: Mechanism, cut: Cut, scale: tuple[float, float] | None, called: str) -> Piece:
    """A law on the values themselves, such as bounded noise or a designed one; every output is a state."""
    space, outputs = column.space, mechanism.outputs
    codes = np.arange(space.size)
    middle, unit = scale or scale_of(space)
    member = np.eye(cut.blocks)[cut.of(codes)]
    seen = values_of(outputs, np.arange(outputs.size))
    low, step = float(space.low), float(space.step)
    nearest = np.clip(np.rint((seen - low) / step), 0, space.size - 1).astype(np.int64)
    axis = Blurred(
        called,
        whole_law(mechanism.family, called),
        member,
        (values_of(space, codes) - middle) / unit,
        member[nearest],
        (seen - middle) / unit,
    )
    expressions, decode = column_reader(column, outputs, None)
    return Piece((column.name,), (axis,), tuple(expressions), decode)


def _state_reader(column: Column, space: Interval, nodes: Nodes, cuts: Array) -> tuple[tuple[str, ...], Any]:
    """The state of a number in SQL: the bin between regular edges, and how many of the other edges it has passed."""
    steps = np.diff(nodes.edges)
    wide = int(steps.max()) if len(steps) else 1
    regular = nodes.edges[nodes.edges % wide == 0] if len(nodes.edges) else np.zeros(0, np.int64)
    odd = [int(cut) for cut in cuts if cut % wide]
    code = f"round(({name(column.name)}::DOUBLE - {float(space.low)!r}) / {float(space.step)!r})"
    first, last = (int(regular[0]) - wide, int(regular[-1])) if len(regular) else (0, 0)
    lower = f"greatest({first}, least({last}, floor({code} / {wide}) * {wide}))::BIGINT"
    passed = " + ".join(f"CASE WHEN {code} >= {cut} THEN 1 ELSE 0 END" for cut in odd)

    def decode(arrays: Sequence[Any]) -> Array:
        codes = np.asarray(arrays[0].to_numpy(zero_copy_only=False)).astype(np.int64)
        if odd:
            count = np.asarray(arrays[1].to_numpy(zero_copy_only=False)).astype(np.int64)
            codes = np.where(count > 0, np.maximum(codes, np.array([first, *odd])[count]), codes)
        return np.searchsorted(nodes.edges, codes, side="right")

    return (lower, passed) if odd else (lower,), decode
