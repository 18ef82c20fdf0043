"""DuckDB: a relation, or a table in a database file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from dproof.engines.arrow import batches
from dproof.engines.source import Source, refusing
from dproof.errors import InputError, did_you_mean


def _example(table: Any) -> Any:
    return duckdb.connect().from_arrow(table)


EXAMPLES = (_example,)


def open_(thing: Any, table: str | None = None) -> Source:
    """Open a relation, or one table of a database file, which is only read."""
    if isinstance(thing, Path):
        return _open_file(thing, table)
    if not isinstance(thing, duckdb.DuckDBPyRelation):
        raise InputError(f"a DuckDB source is a relation or a file, not a {type(thing).__name__}")
    with refusing("the DuckDB relation cannot be read", duckdb.Error):
        return Source(tuple(thing.columns), lambda columns: _read(thing, columns))


def _read(relation: Any, columns: Sequence[str]) -> Iterator[Any]:
    with refusing("the DuckDB relation cannot be read", duckdb.Error):
        chosen = relation.project(", ".join(quoted(name) for name in columns))
        yield from batches(pa.RecordBatchReader.from_stream(chosen), columns, "the DuckDB relation")


def _open_file(path: Path, table: str | None) -> Source:
    with refusing(f"{path.name!r} cannot be opened as a DuckDB file", duckdb.Error):
        with duckdb.connect(str(path), read_only=True) as database:
            known = [str(name) for (name,) in database.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
            known += [
                str(name)
                for (name,) in database.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
            ]
        if table is None and len(known) == 1:
            table = known[0]
        if table is None:
            raise InputError(f"{path.name!r} holds {len(known)} tables: name one of them{did_you_mean('', known)}")
        if table not in known:
            raise InputError(f"{path.name!r} has no table {table!r}{did_you_mean(table, known)}")
        with duckdb.connect(str(path), read_only=True) as database:
            names = tuple(database.table(quoted(table)).columns)
            found = database.execute(f"SELECT count(*) FROM {quoted(table)}").fetchone()
    chosen = table
    return Source(names, lambda columns: _read_file(path, chosen, columns), int(found[0]) if found else None)


def _read_file(path: Path, table: str, columns: Sequence[str]) -> Iterator[Any]:
    what = f"{path.name!r} cannot be read"
    with refusing(what, duckdb.Error), duckdb.connect(str(path), read_only=True) as database:
        yield from _read(database.table(quoted(table)), columns)


def quoted(name: str) -> str:
    """A name as SQL writes it, whatever characters it has."""
    return '"' + name.replace('"', '""') + '"'
