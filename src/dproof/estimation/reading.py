"""Counting the stored rows: the one place where a release is read, by SQL that is written here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.ipc

from dproof.errors import InputError
from dproof.laws.debias import Axis
from dproof.laws.scores import Array
from dproof.spaces.arrow import as_numpy
from dproof.spaces.column import Column
from dproof.tables.source import Parts

_GLOBS = frozenset("*?[]{}")

_CLOSED: dict[str, Any] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}

Decode = Callable[[Sequence[Any]], Array]


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
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
