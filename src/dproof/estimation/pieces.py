"""From the mechanism of some columns to axes of a table: which states are counted, and how they were mixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from dproof.estimation.axes import Kept
from dproof.estimation.inverse import Array
from dproof.estimation.numbers import Scale, finite_piece, lattice_piece, summed_piece
from dproof.estimation.reading import Piece, column_reader
from dproof.laws.bits import Bits
from dproof.laws.keep_or_other import KeepOrOther
from dproof.laws.lattice import Lattice
from dproof.queries.cells import Axis as Cut
from dproof.sanitisation.row_law import Group


def piece_of(group: Group, cuts: Mapping[str, Cut], scales: Mapping[str, Scale]) -> Piece:
    """The axes of a mechanism for those of its columns that are cut; `scales` has those whose numbers are summed."""
    family, touched = group.mechanism.family, [c for c in group.columns if c.name in cuts]
    names = tuple(column.name for column in touched)
    called = f"column {names[0]!r}" if len(names) == 1 else "columns " + ", ".join(map(repr, names))
    if isinstance(family, KeepOrOther):
        return _kept(group, family, cuts, scales, called)
    column, cut, scale = touched[0], cuts[names[0]], scales.get(names[0])
    if isinstance(family, Bits):
        bits = tuple(range(family.bits)) if cut.bits is None else cut.bits
        total = family.stay + family.flip
        # The blocks count the bits from the lowest up, so the first axis is the highest bit; all have the same law.
        bit = Kept(called, np.ones(2), family.stay / total, family.flip / total, (None,))
        expressions, decode = column_reader(column, column.space, bits)
        return Piece(names, (bit,) * len(bits), tuple(expressions), lambda arrays: cut.of(decode(arrays)))
    if not isinstance(family, Lattice):
        return finite_piece(column, group.mechanism, cut, scale, called)
    if cut.blocks == 1 and scale is not None and not family.clamped:
        return summed_piece(column, family, scale)
    return lattice_piece(column, family, cut, scale, called)


def _kept(
    group: Group, family: KeepOrOther, cuts: Mapping[str, Cut], scales: Mapping[str, Scale], called: str
) -> Piece:
    """The joint blocks of columns under a keep-or-other law, the last column varying fastest."""
    touched = [(column, cuts[column.name]) for column in group.columns if column.name in cuts]
    weights = np.array([float(prod(column.space.size for column in group.columns if column.name not in cuts))])
    for _, cut in touched:
        weights = np.multiply.outer(weights, cut.sizes).reshape(-1)
    codes = np.meshgrid(*(cut.samples for _, cut in touched), indexing="ij")
    numbers = tuple(
        scales[column.name].numbers(column.space, code.reshape(-1)) if column.name in scales else None
        for (column, _), code in zip(touched, codes, strict=True)
    )
    readers = [column_reader(column, column.space, cut.bits) for column, cut in touched]

    def decode(arrays: Sequence[Any]) -> Array:
        state, place = np.zeros((), np.int64), 0
        for (_, cut), (expressions, read) in zip(touched, readers, strict=True):
            state = state * cut.blocks + cut.of(read(arrays[place : place + len(expressions)]))
            place += len(expressions)
        return state

    kept = Kept(called, weights, family.keep / family.total, family.other / family.total, numbers)
    expressions = tuple(expression for found, _ in readers for expression in found)
    return Piece(tuple(column.name for column, _ in touched), (kept,), expressions, decode)
