"""From the law of some columns to axes of a table: what is read of the stored rows, and which state it stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd, prod
from typing import Any

from dproof.estimation.reading import Piece, column_reader, integers
from dproof.laws.axes import Bins, Scale, Seen
from dproof.laws.inverse import Array
from dproof.plans.column import Column
from dproof.plans.row_law import Group
from dproof.plans.storage import output_spaces
from dproof.questions.canonical import name
from dproof.questions.cells import Axis as Cut
from dproof.questions.sums import scale_of as exact_scale

_MOST_BINS = 1 << 14


def scale_of(space: Any) -> Scale:
    """The scale on which the numbers of a space go from −1 to 1."""
    exact = exact_scale(space, True)
    return Scale(float(exact.origin), float(exact.unit * exact.ends[1]) or 1.0)


def piece_of(group: Group, cuts: Mapping[str, Cut], scales: Mapping[str, Scale]) -> Piece:
    """The axes of a mechanism for those of its columns that are cut; `scales` has those whose numbers are summed."""
    pairs = zip(group.columns, output_spaces(group), strict=True)
    touched = [(column, outputs) for column, outputs in pairs if column.name in cuts]
    names = tuple(column.name for column, _ in touched)
    called = f"column {names[0]!r}" if len(names) == 1 else "columns " + ", ".join(map(repr, names))
    seen = [Seen(cuts[c.name], c.space, outputs, scales.get(c.name)) for c, outputs in touched]
    others = prod(column.space.size for column in group.columns if column.name not in cuts)
    unmixed = group.mechanism.family.unmix(seen, others, called)
    state = unmixed.state
    if state is None:
        (column,), scale = names, seen[0].scale
        assert scale is not None
        number = f"(({name(column)}::DOUBLE - {scale.middle!r}) / {scale.unit!r})"
        return Piece(names, unmixed.axes, (number,), None)
    if unmixed.bins is not None:
        expression = _binned(touched[0][0], unmixed.bins)
        return Piece(names, unmixed.axes, (expression,), lambda arrays: state([integers(arrays[0])]))
    readers = [
        column_reader(column, outputs, cuts[column.name].bits if unmixed.by_block else None)
        for column, outputs in touched
    ]

    def decode(arrays: Sequence[Any]) -> Array:
        released, place = [], 0
        for expressions, read in readers:
            released.append(read(arrays[place : place + len(expressions)]))
            place += len(expressions)
        return state(released)

    expressions = tuple(expression for found, _ in readers for expression in found)
    return Piece(names, unmixed.axes, expressions, decode)


def _binned(column: Column, bins: Bins) -> str:
    """A code in the state of a number, in SQL: the lower end of a bin, or a cut that it has passed inside of that."""
    code = f"round(({name(column.name)}::DOUBLE - {float(column.space.low)!r}) / {float(column.space.step)!r})"
    first, last, wide, passed = bins.first, bins.last, gcd(bins.wide, *bins.cuts), ""
    if last - first > _MOST_BINS * wide:  # too many bins if every edge shall be the end of one
        wide = bins.wide
        passed = f", CASE {' '.join(f'WHEN {code} >= {cut} THEN {cut}' for cut in bins.cuts[::-1])} ELSE {first} END"
    return f"greatest({first}, least({last}, floor({code} / {wide}) * {wide}){passed})::BIGINT"
