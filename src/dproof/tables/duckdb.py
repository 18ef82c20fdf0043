"""DuckDB: a relation, or a table in a database file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from dproof.columns.column import quoted
from dproof.errors import InputError, did_you_mean
from dproof.tables.frames import batches
from dproof.tables.source import Source, refusing

# Whoever made the file may have put a view into it that reads another one, over the network too.
_ALONE: dict[str, Any] = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "lock_configuration": "true",
}


def open_relation(thing: Any) -> Source:
    """Open a relation."""
    if not isinstance(thing, duckdb.DuckDBPyRelation):
        raise InputError(f"a DuckDB source is a relation or a file, not a {type(thing).__name__}")
    with refusing("the DuckDB relation cannot be read"):
        return Source(tuple(thing.columns), lambda columns: _read(thing, columns))


def _read(relation: Any, columns: Sequence[str]) -> Iterator[Any]:
    with refusing("the DuckDB relation cannot be read"):
        chosen = relation.project(", ".join(quoted(name) for name in columns))
        yield from batches(pa.RecordBatchReader.from_stream(chosen), columns, "the DuckDB relation")


def open_file(path: Path, table: str | None) -> Source:
    """Open one table or view of a database file, which is only read, and nothing beside it."""
    with refusing(f"{path.name!r} cannot be opened as a DuckDB file"), _connected(path) as database:
        tables = _names(database, "SELECT table_name FROM duckdb_tables()")
        known = [*tables, *_names(database, "SELECT view_name FROM duckdb_views() WHERE NOT internal")]
        if table is None and len(known) == 1:
            table = known[0]
        if table is None:
            raise InputError(f"{path.name!r} holds {len(known)} tables: name one of them{did_you_mean('', known)}")
        if table not in known:
            raise InputError(f"{path.name!r} has no table {table!r}{did_you_mean(table, known)}")
        chosen, is_view = table, table not in tables
        why = "it needs something outside the file, which is not followed; store what it shows as a table"
        with refusing(f"the view {chosen!r} of {path.name!r} cannot be read", why) if is_view else nullcontext():
            names = tuple(database.table(quoted(chosen)).columns)
            found = database.execute(f"SELECT count(*) FROM {quoted(chosen)}").fetchone()
    return Source(names, lambda columns: _read_file(path, chosen, columns), int(found[0]) if found else None)


def _read_file(path: Path, table: str, columns: Sequence[str]) -> Iterator[Any]:
    with refusing(f"{path.name!r} cannot be read"), _connected(path) as database:
        yield from _read(database.table(quoted(table)), columns)


def _names(database: Any, question: str) -> list[str]:
    return [str(name) for (name,) in database.execute(question).fetchall()]


def _connected(path: Path) -> Any:
    return duckdb.connect(str(path), read_only=True, config=_ALONE)
