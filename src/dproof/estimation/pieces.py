"""From the law of some columns to axes of a table: what is read of the stored rows, and which state it stands for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import gcd, prod
from typing import Any

from dproof.estimation.reading import Piece, column_reader, integers
from dproof.laws.debias import Bins, Scale, Seen, Unmixed
from dproof.laws.scores import Array
from dproof.plans.row_law import Group
from dproof.questions.cells import Axis as Cut
from dproof.questions.linear import scale_of as exact_scale
from dproof.spaces.arrow import as_numpy
from dproof.spaces.column import Column, quoted

_MOST_BINS = 1 << 14


def scale_of(space: Any) -> Scale:
    """The scale on which the numbers of a space go from −1 to 1."""
    exact = exact_scale(space, True)
    return Scale(float(exact.origin), float(exact.unit * exact.ends[1]) or 1.0)


def pieces_of(group: Group, cuts: Mapping[str, Cut], scales: Mapping[str, Scale]) -> Iterator[Piece]:
    """The axes of a mechanism for those of its columns that are cut; `scales` has those whose numbers are summed.

    The first piece has the columns; a number that is counted by one axis and summed along another has two.
    """
    pairs = zip(group.columns, group.outputs, strict=True)
    touched = [(column, outputs) for column, outputs in pairs if column.name in cuts]
    names = tuple(column.name for column, _ in touched)
    called = f"column {names[0]!r}" if len(names) == 1 else "columns " + ", ".join(map(repr, names))
    seen = [Seen(cuts[c.name], c.space, outputs, scales.get(c.name)) for c, outputs in touched]
    others = prod(column.space.size for column in group.columns if column.name not in cuts)
    unmixed = group.mechanism.family.unmix(seen, others, called)
    state = unmixed.state
    if state is not None and unmixed.bins is not None:
        ((column, outputs),) = touched
        yield Piece(
            names,
            unmixed.axes,
            (_binned(column, unmixed.bins),),
            lambda arrays: state([as_numpy(arrays[0], missing=outputs.absent)]),
        )
    elif state is not None and unmixed.by_presence:
        there = f"{quoted(touched[0][0].stored[0])} IS NOT NULL"
        yield Piece(names, unmixed.axes, (there,), lambda arrays: state([integers(arrays[0])]))
    elif state is not None:
        yield _counted(names, touched, unmixed, cuts)
    if unmixed.moments is not None:
        ((column, _),), scale = touched, seen[0].scale
        assert scale is not None
        number = f"(({column.space.number_sql(column)} - {scale.middle!r}) / {scale.unit!r})"
        yield Piece(() if state is not None else names, (unmixed.moments,), (number,), None)


def _counted(
    names: tuple[str, ...], touched: Sequence[tuple[Column, Any]], unmixed: Unmixed, cuts: Mapping[str, Cut]
) -> Piece:
    """The axes of columns whose codes are read one by one."""
    state = unmixed.state
    assert state is not None
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
    line = column.space.line
    code = f"round(({column.space.number_sql(column)} - {float(line.origin)!r}) / {float(line.step)!r})"
    first, last, wide, passed = bins.first, bins.last, gcd(bins.wide, *bins.cuts), ""
    if last - first > _MOST_BINS * wide:  # too many bins if every edge shall be the end of one
        wide = bins.wide
        passed = f", CASE {' '.join(f'WHEN {code} >= {cut} THEN {cut}' for cut in bins.cuts[::-1])} ELSE {first} END"
    binned = f"greatest({first}, least({last}, floor({code} / {wide}) * {wide}){passed})::BIGINT"
    return binned if column.space.absent is None else f"CASE WHEN {column.sql} IS NOT NULL THEN {binned} END"
