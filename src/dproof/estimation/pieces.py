"""From the mechanism of some columns to axes of a table: which states are counted, and how they were mixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from dproof.estimation.axes import Kept, Mixed, whole_law
from dproof.estimation.cuts import Cut, Piece, values_of
from dproof.estimation.inverse import Array
from dproof.estimation.numbers import number_piece
from dproof.estimation.reading import Decode, column_reader
from dproof.laws.bits import Bits
from dproof.laws.keep_or_other import KeepOrOther
from dproof.sanitisation.row_law import Group
from dproof.spaces.interval import Interval


def piece_of(group: Group, cuts: Mapping[str, Cut], numbers: Mapping[str, tuple[float, float]]) -> Piece:
    """The axes of a mechanism for those of its columns that are cut.

    `numbers` has the middle and the unit of the columns whose numbers are summed.
    """
    family, touched = group.mechanism.family, [c for c in group.columns if c.name in cuts]
    names = tuple(column.name for column in touched)
    called = f"column {names[0]!r}" if len(names) == 1 else "columns " + ", ".join(map(repr, names))
    if isinstance(family, Bits):
        found = cuts[names[0]]
        bits = tuple(range(family.bits)) if found.axis.bits is None else found.axis.bits
        total = family.stay + family.flip
        # The blocks count the bits from the lowest up, so the first axis is the highest bit; all have the same law.
        bit = Kept(called, np.ones(2), family.stay / total, family.flip / total, (None,))
        expressions, decode = column_reader(touched[0], touched[0].space, bits)
        return Piece(names, (bit,) * len(bits), tuple(expressions), lambda arrays: found.of(decode(arrays)))
    if isinstance(family, KeepOrOther):
        weights = np.full(1, float(prod(c.space.size for c in group.columns if c.name not in cuts)))
        for column in names:
            weights = np.multiply.outer(weights, cuts[column].weights).reshape(-1)
        codes = np.meshgrid(*(cuts[column].first for column in names), indexing="ij")
        values = [_number(c.space, n.reshape(-1), numbers.get(c.name)) for c, n in zip(touched, codes, strict=True)]
        kept = Kept(called, weights, family.keep / family.total, family.other / family.total, tuple(values))
        readers = [column_reader(c, c.space, cuts[c.name].axis.bits) for c in touched]
        radix = [cuts[column].blocks for column in names]
        blocks = [cuts[column] for column in names]
        return Piece(names, (kept,), _expressions(readers), _together(readers, radix, blocks))
    if len(group.columns) == 1 and isinstance(touched[0].space, Interval):
        return number_piece(touched[0], group.mechanism, cuts[names[0]], numbers.get(names[0]), called)
    return _mixed(group, cuts, numbers, names, called)


def _mixed(
    group: Group,
    cuts: Mapping[str, Cut],
    numbers: Mapping[str, tuple[float, float]],
    names: tuple[str, ...],
    called: str,
) -> Piece:
    """Any finite law: all its outputs are told apart, whatever the question."""
    mechanism = group.mechanism
    matrix = whole_law(mechanism.family, called)
    codes = np.indices([column.space.size for column in group.columns]).reshape(len(group.columns), -1)
    block = np.zeros(codes.shape[1], np.int64)
    values: list[Array | None] = []
    for column, part in zip(group.columns, codes, strict=True):
        if column.name in cuts:
            block = block * cuts[column.name].blocks + cuts[column.name].of(part)
            values.append(_number(column.space, part, numbers.get(column.name)))
    blocks = prod(cuts[column].blocks for column in names)
    labels = [mechanism.inputs.label(n) for n in range(mechanism.inputs.size)]
    axis = Mixed(called, matrix, block, blocks, tuple(values), labels, mechanism.inputs == mechanism.outputs)
    outputs = getattr(mechanism.outputs, "columns", {column.name: mechanism.outputs for column in group.columns})
    readers = [column_reader(column, outputs[column.name], None) for column in group.columns]
    radix = [outputs[column.name].size for column in group.columns]
    return Piece(names, (axis,), _expressions(readers), _together(readers, radix, None))


def _expressions(readers: Sequence[tuple[list[str], Decode]]) -> tuple[str, ...]:
    return tuple(expression for expressions, _ in readers for expression in expressions)


def _together(readers: Sequence[tuple[list[str], Decode]], radix: Sequence[int], cuts: Sequence[Cut] | None) -> Decode:
    """The joint states of several columns in mixed radix, the last the fastest; of their blocks, or of their codes."""

    def decode(arrays: Sequence[Any]) -> Array:
        state, place = np.zeros((), np.int64), 0
        for n, (expressions, read) in enumerate(readers):
            codes = read(arrays[place : place + len(expressions)])
            state = state * radix[n] + (codes if cuts is None else cuts[n].of(codes))
            place += len(expressions)
        return state

    return decode


def _number(space: Any, codes: Array, scale: tuple[float, float] | None) -> Array | None:
    if scale is None:
        return None
    middle, unit = scale
    return np.asarray((values_of(space, codes) - middle) / unit)
