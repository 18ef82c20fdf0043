"""The stored rows of a release: the one place where they are read, by SQL that is written here and nowhere else.

The columns that a mechanism has sanitised together become axes of a table of counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import gcd, prod
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.ipc

from dproof.errors import InputError
from dproof.laws.debias import Axis, Bins, Scale, Seen, Unmixed
from dproof.laws.scores import Array
from dproof.plans.row_law import Group
from dproof.questions.cells import Cut
from dproof.questions.sums import whole_scale
from dproof.spaces.arrow import as_numpy
from dproof.spaces.column import Column, quoted
from dproof.tables.source import Parts

_MOST_BINS = 1 << 14
_GLOBS = frozenset("*?[]{}")

_CLOSED: dict[str, Any] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}

Decode = Callable[[Sequence[Any]], Array]


@dataclass(frozen=True, slots=True, eq=False)
class AxisReader:
    """Axes that are read together: the columns cut along them, SQL expressions, and states from their values.

    Without `decode` the one expression is a number whose powers are summed rather than counted.
    """

    columns: tuple[str, ...]
    axes: tuple[Axis, ...]
    expressions: tuple[str, ...]
    decode: Decode | None


@contextmanager
def connected(data: Any, view: str) -> Iterator[Any]:
    """A DuckDB connection of its own, in which the stored rows are a view."""
    with duckdb.connect(config=_CLOSED) as database:
        try:
            relation(database, data).create_view(view)
        except duckdb.Error:
            raise InputError(
                "the stored table of the release cannot be read: dproof verify says what is wrong"
            ) from None
        yield database


def relation(database: Any, data: Any) -> Any:
    """The stored rows, from Parquet files or an Arrow table."""
    if isinstance(data, Parts):
        data = data.files
    if not isinstance(data, tuple):
        return database.from_arrow(data)
    paths = [str(path) for path in data]
    if _GLOBS.isdisjoint("".join(paths)):
        return database.read_parquet(paths)
    import pyarrow.parquet

    # DuckDB would take such a name for a pattern.
    return database.from_arrow(pyarrow.concat_tables(pyarrow.parquet.read_table(path) for path in paths))


def count(data: Any, keys: Sequence[str], sums: Sequence[str]) -> tuple[list[Any], Array, list[Array]]:
    """The values of the key expressions, how many rows have each, and sums of expressions over these.

    Where the rows lie on many machines the same values may come several times.
    """
    parts = [f"{key} AS k{n}" for n, key in enumerate(keys)]
    parts += ["count(*) AS n", *(f"coalesce(sum({each}), 0)::DOUBLE AS s{n}" for n, each in enumerate(sums))]
    places = ", ".join(str(n + 1) for n in range(len(keys)))
    text = f"SELECT {', '.join(parts)} FROM stored" + (f" GROUP BY {places}" if keys else "")
    if isinstance(data, Parts):
        counted = data.each(lambda part: _packed(_found(part, text)))
        found = pa.concat_tables(pa.ipc.open_stream(part).read_all() for part in counted)
    else:
        found = _found(data, text)
    columns = [found.column(f"k{n}").combine_chunks() for n in range(len(keys))]
    totals = [as_numpy(found.column(f"s{n}")) for n in range(len(sums))]
    return columns, as_numpy(found.column("n")).astype(float), totals


def _found(data: Any, text: str) -> Any:
    with connected(data, "stored") as database:
        try:
            return database.sql(text).to_arrow_table()
        except duckdb.Error as error:
            raise InputError(f"the question does not fit the stored columns: {_first(error)}") from None


def _packed(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def _first(error: duckdb.Error) -> str:
    return str(error).split("\n")[0].removeprefix("Conversion Error: ").removeprefix("Binder Error: ")


def integers(array: Any) -> Array:
    """An Arrow array of whole numbers or flags."""
    return as_numpy(array).astype(np.int64)


def column_reader(column: Column, space: Any, bits: Sequence[int] | None) -> tuple[list[str], Decode]:
    """SQL expressions that tell the codes of a column apart, and how their values are decoded.

    Of a set only the given bits are read, and the code has only these.
    """
    expressions, decode = space.reader(column, bits)
    return expressions, decode


def scale_of(space: Any) -> Scale:
    """The scale on which the numbers of a space go from −1 to 1."""
    exact = whole_scale(space, True)
    return Scale(float(exact.origin), float(exact.unit * exact.ends[1]) or 1.0)


def readers_of(group: Group, cuts: Mapping[str, Cut], scales: Mapping[str, Scale]) -> Iterator[AxisReader]:
    """The axes of a mechanism for those of its columns that are cut; `scales` has those whose numbers are summed.

    The first reader has the columns; a number that is counted by one axis and summed along another has two.
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
        yield AxisReader(
            names,
            unmixed.axes,
            (_binned(column, unmixed.bins),),
            lambda arrays: state([as_numpy(arrays[0], missing=outputs.absent)]),
        )
    elif state is not None and unmixed.by_presence:
        there = f"{quoted(touched[0][0].stored[0])} IS NOT NULL"
        yield AxisReader(names, unmixed.axes, (there,), lambda arrays: state([integers(arrays[0])]))
    elif state is not None:
        yield _by_codes(names, touched, unmixed, cuts)
    if unmixed.moments is not None:
        ((column, _),), scale = touched, seen[0].scale
        assert scale is not None
        number = f"(({column.space.number_sql(column)} - {scale.middle!r}) / {scale.unit!r})"
        yield AxisReader(() if state is not None else names, (unmixed.moments,), (number,), None)


def _by_codes(
    names: tuple[str, ...], touched: Sequence[tuple[Column, Any]], unmixed: Unmixed, cuts: Mapping[str, Cut]
) -> AxisReader:
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
    return AxisReader(names, unmixed.axes, expressions, decode)


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
