"""Databases: a relation or a table of DuckDB, a table of a SQLite file, which Python reads by itself, and one of a
PostgreSQL server, through ADBC.

A read is one statement, so it sees one state of the table, whatever others write meanwhile. An address may hold a
password: it is handed to the driver, and no message, name or file of dproof has any part of it but the table's name.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import pyarrow as pa

from dproof.columns.codec import quoted, text_literal
from dproof.errors import SourceError, did_you_mean
from dproof.tables.source import BATCH_ROWS, Source, refusing

# Whoever made the file may have put a view into it that reads another one, over the network too.
_ALONE: dict[str, Any] = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "lock_configuration": "true",
}
_MAGIC = b"SQLite format 3\0"
_UNREACHABLE = "check the address, the user and the password (PGPASSWORD, or ~/.pgpass), and that the server runs"
_LOST = "the connection was lost, or the table has changed meanwhile"
# What Arrow has as it is, as it has most dates; of every other type the text is read.
_PLAIN = ("boolean", "smallint", "integer", "bigint", "real", "double precision", "text", "character varying")
# What Arrow has no type for, also as a list: DuckDB gives it times of day without their zone, and -1 for the largest
# whole number. So their texts are read.
_TEXTS = re.compile(r"(TIME WITH TIME ZONE|UHUGEINT|BIT|BIGNUM|VARINT)(?P<list>(\[[0-9]*\])*)")


def open_database(path: Path, table: str | None) -> Source:
    """Open one table or view of a file of DuckDB or of SQLite, by what it is: many of either end in .db."""
    return open_sqlite(path, table) if is_sqlite(path) else open_duckdb(path, table)


def is_sqlite(path: Path) -> bool:
    """Whether a file is one of SQLite, by its first bytes."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _chosen(table: str | None, known: Sequence[str], what: str) -> str:
    """The table that is meant: the only one, or that of the name."""
    if table is None and len(known) == 1:
        return known[0]
    if table is None:
        raise SourceError(f"{what} holds {len(known)} tables: name one of them{did_you_mean('', known)}")
    if table not in known:
        raise SourceError(f"{what} has no table {table!r}{did_you_mean(table, known)}")
    return table


# DuckDB ---------------------------------------------------------------------------------------------------------------


def open_relation(thing: Any) -> Source:
    """Open a relation."""
    import duckdb

    if not isinstance(thing, duckdb.DuckDBPyRelation):
        raise SourceError(f"a DuckDB source is a relation or a file, not a {type(thing).__name__}")
    with refusing("the DuckDB relation cannot be read"):
        names, types = tuple(thing.columns), [_reader(thing.limit(0), thing.columns).schema]
        return Source(names, lambda columns: iter(_reader(thing, columns)), types=types, what="the DuckDB relation")


def _reader(relation: Any, columns: Sequence[str]) -> Any:
    kinds = dict(zip(relation.columns, map(str, relation.types), strict=True))

    def selected(name: str) -> str:
        written = _TEXTS.fullmatch(kinds[name])
        return quoted(name) if written is None else f"{quoted(name)}::VARCHAR{written['list']} AS {quoted(name)}"

    return pa.RecordBatchReader.from_stream(relation.project(", ".join(map(selected, columns))))


def open_duckdb(path: Path, table: str | None) -> Source:
    """Open one table or view of a database file, which is only read, and nothing beside it."""
    with refusing(f"{path.name!r} cannot be opened as a DuckDB file"), _connected(path) as database:
        tables = _names(database, "SELECT table_name FROM duckdb_tables()")
        known = [*tables, *_names(database, "SELECT view_name FROM duckdb_views() WHERE NOT internal")]
        chosen = _chosen(table, known, repr(path.name))
        unreadable = f"the view {chosen!r} of {path.name!r} cannot be read"
        why = "it needs something outside the file, which is not followed; store what it shows as a table"
        with nullcontext() if chosen in tables else refusing(unreadable, why):
            shown = database.table(quoted(chosen))
            names, types = tuple(shown.columns), [_reader(shown.limit(0), shown.columns).schema]
            found = database.execute(f"SELECT count(*) FROM {quoted(chosen)}").fetchone()

    def read(columns: Sequence[str]) -> Iterator[Any]:
        with _connected(path) as database:
            yield from _reader(database.table(quoted(chosen)), columns)

    return Source(names, read, int(found[0]) if found else None, types, what=f"{path.name!r}")


def _names(database: Any, question: str) -> list[str]:
    return [str(name) for (name,) in database.execute(question).fetchall()]


def _connected(path: Path) -> Any:
    import duckdb

    return duckdb.connect(str(path), read_only=True, config=_ALONE)


# SQLite ---------------------------------------------------------------------------------------------------------------


def open_sqlite(path: Path, table: str | None) -> Source:
    """Open one table or view of a SQLite file, which is only read.

    A column of SQLite may hold values of any type, so that each is read by its text.
    """
    with refusing(f"{path.name!r} cannot be opened as a SQLite file"), _sqlite(path) as database:
        found = database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY rowid")
        known = [name for (name,) in found if not name.startswith("sqlite_")]
        chosen = _chosen(table, known, repr(path.name))
        names = tuple(row[1] for row in database.execute(f"PRAGMA table_info({quoted(chosen)})"))

    def read(columns: Sequence[str]) -> Iterator[Any]:
        kind = pa.schema([(name, pa.string()) for name in columns])
        with _sqlite(path) as database:
            rows = database.execute(f"SELECT {', '.join(map(quoted, columns))} FROM {quoted(chosen)}")
            while some := rows.fetchmany(BATCH_ROWS):
                arrays = [pa.array(map(_text, values), pa.string()) for values in zip(*some, strict=True)]
                yield pa.record_batch(arrays, schema=kind)

    return Source(names, read, typed=False, what=f"{path.name!r}")


@contextmanager
def _sqlite(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
        database.text_factory = lambda text: text.decode("utf-8", "replace")
        yield database


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else repr(value)


# PostgreSQL -----------------------------------------------------------------------------------------------------------


def open_postgresql(address: str, table: str | None) -> Source:
    """Open one table or view of a PostgreSQL server, by its address; `table` is SCHEMA.TABLE, or TABLE alone."""
    try:
        parts = urlsplit(address)
        given = dict(parse_qsl(parts.query, keep_blank_values=True))
        named = given.pop("table", None)
        address = urlunsplit(parts._replace(query=urlencode(given)))
    except ValueError:
        raise SourceError("the address of the database cannot be read: postgresql://user@host/name?table=…") from None
    if table is not None and named is not None and table != named:
        raise SourceError("the address and `table` name different tables: leave one of them out")
    with _postgresql(address) as database, refusing("the tables of the database cannot be listed", _LOST):
        rows = _rows(database, "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema "
                     "NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2")  # fmt: skip
        known = {f"{schema}.{name}": (schema, name) for schema, name in rows}
        known |= {name: (schema, name) for schema, name in rows if schema == "public"}
        wanted = table or named
        short = [name for name in known if "." not in name] or list(known)
        schema, name = known[wanted if wanted in known else _chosen(wanted, short, "the database")]
        columns = _rows(
            database,
            "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = "
            f"{text_literal(schema)} AND table_name = {text_literal(name)} ORDER BY ordinal_position",
        )
    kinds = dict(columns)

    def read(wanted: Sequence[str]) -> Iterator[Any]:
        selected = (f"{_selected(quoted(one), kinds[one])} AS {quoted(one)}" for one in wanted)
        with _postgresql(address) as database, closing(database.cursor()) as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            cursor.execute(f"SELECT {', '.join(selected)} FROM {quoted(schema)}.{quoted(name)}")
            yield from cursor.fetch_record_batch()

    return Source(tuple(kinds), read, what=f"the table {name!r}", why=_LOST)


def _selected(column: str, kind: str) -> str:
    """What is read of a column. The driver would take the end of all days for one long past."""
    if kind == "date":
        ends = "WHEN 'infinity' THEN DATE '5874897-12-31' WHEN '-infinity' THEN DATE '4713-01-01 BC'"
        return f"CASE {column} {ends} ELSE {column} END"
    return column if kind in _PLAIN else f"{column}::text"


@contextmanager
def _postgresql(address: str) -> Iterator[Any]:
    """A connection; what a driver says of a failure may have the password in it, so that it is not passed on."""
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise SourceError("PostgreSQL needs a driver: pip install adbc-driver-postgresql") from None
    with refusing("the database cannot be reached", _UNREACHABLE):
        database = dbapi.connect(address)
    with closing(database):
        yield database


def _rows(database: Any, question: str) -> list[tuple[str, str]]:
    with closing(database.cursor()) as cursor:
        cursor.execute(question)
        return [(str(one), str(other)) for one, other in cursor.fetchall()]
