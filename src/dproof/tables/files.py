"""Files by their endings, and folders of files of one kind; those that Arrow reads by itself: Parquet and IPC."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from dproof.errors import SourceError
from dproof.limits import LARGEST_CHUNK
from dproof.tables.database import is_sqlite, open_sqlite
from dproof.tables.delimited import open_delimited
from dproof.tables.duckdb import in_duckdb, open_database
from dproof.tables.source import BATCH_ROWS, Layout, Source, ending, refusing
from dproof.tables.workbook import open_workbook

_SQLITE = (".sqlite", ".sqlite3")
_DATABASES = (".duckdb", ".db", *_SQLITE)
_WITH_TABLES = (*_DATABASES, ".xlsx")
NO_TABLES = "only a database holds tables, and a workbook sheets, to choose from: leave `table` out"


def open_file(path: Path, table: str | None, layout: Layout) -> Source:
    """Open one file by its ending, or a folder of files of one kind; `table` is one in a database, or a sheet."""
    if path.is_dir():
        return _open_folder(path, layout)
    if ending(path) not in FILES:
        raise SourceError(f"{path.name!r} is not of a known file type: expected one of {', '.join(FILES)}, or a folder")
    if table is not None and ending(path) not in _WITH_TABLES:
        raise SourceError(NO_TABLES)
    with refusing(f"{path.name!r} cannot be opened"):
        return FILES[ending(path)](path, table, layout)


def _open_parquet(path: Path, table: str | None, layout: Layout) -> Source:
    from pyarrow.parquet import ParquetFile  # lazy: it loads Arrow's file systems too, which a text file does not need

    with ParquetFile(path) as file:
        schema, rows = file.schema_arrow, file.metadata.num_rows
    texts = [f.name for f in schema if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)]
    relation = cache(lambda: in_duckdb((path,), schema))

    def read(columns: Sequence[str]) -> Iterator[Any]:
        with ParquetFile(path) as plain:
            for group in map(plain.metadata.row_group, range(plain.metadata.num_row_groups)):
                if any(group.column(n).total_uncompressed_size > LARGEST_CHUNK for n in range(group.num_columns)):
                    raise SourceError(f"{path.name!r} has a row group that is too large to read: write smaller ones")
        # Without buffering ahead, which would keep all of the file in memory.
        with ParquetFile(path, read_dictionary=texts, pre_buffer=False) as file:
            yield from file.iter_batches(BATCH_ROWS, columns=list(columns))

    return Source(tuple(schema.names), read, rows, schema, relation=relation, what=f"{path.name!r}")


def _open_ipc(path: Path, table: str | None, layout: Layout) -> Source:
    def reader() -> Any:
        try:
            return pa.ipc.open_file(pa.memory_map(str(path)))
        except pa.ArrowInvalid:
            return pa.ipc.open_stream(pa.memory_map(str(path)))

    def read(columns: Sequence[str]) -> Iterator[Any]:
        with reader() as opened:
            is_file = isinstance(opened, pa.ipc.RecordBatchFileReader)
            for batch in map(opened.get_batch, range(opened.num_record_batches)) if is_file else opened:
                batch.validate(full=True)  # every offset: a hostile one could point outside the file
                yield batch

    with reader() as opened:
        schema = opened.schema
    return Source(tuple(schema.names), read, types=schema, what=f"{path.name!r}")


def _open_database(path: Path, table: str | None) -> Source:
    """A file of DuckDB or of SQLite: many of either end in .db."""
    return open_sqlite(path, table) if is_sqlite(path) else open_database(path, table)


FILES: dict[str, Callable[[Path, str | None, Layout], Source]] = {
    **dict.fromkeys((".csv", ".csv.gz", ".tsv", ".tsv.gz"), lambda path, table, layout: open_delimited(path, layout)),
    ".xlsx": lambda path, table, layout: open_workbook(path, table or layout.sheet, layout),
    ".parquet": _open_parquet,
    **dict.fromkeys((".arrow", ".feather", ".ipc"), _open_ipc),
    **dict.fromkeys(_DATABASES, lambda path, table, layout: _open_database(path, table)),
}


def files_of(folder: Path) -> list[Path]:
    """The files of a folder, which are of one kind, in the order of their names."""
    kinds = [kind for kind in FILES if kind not in _DATABASES]
    paths = sorted(p for p in folder.iterdir() if ending(p) in kinds and p.name[0] not in "._")
    if len({ending(p) for p in paths}) != 1:
        raise SourceError(f"the folder {str(folder)!r} must hold files of one kind: {', '.join(kinds)}")
    return paths


def _open_folder(folder: Path, layout: Layout) -> Source:
    """Files of one kind and the same columns."""
    paths = files_of(folder)
    parts = [open_file(path, None, layout) for path in paths]
    for path, part in zip(paths, parts, strict=True):
        if set(part.names) != set(parts[0].names):
            raise SourceError(f"{path.name!r} has other columns than {paths[0].name!r}: a folder is one table")
    rows = [part.rows for part in parts if part.rows is not None]

    def start() -> None:
        for part in parts:
            part.start()

    return Source(
        parts[0].names,
        lambda columns: (batch for part in parts for batch in part.read(columns)),
        sum(rows) if len(rows) == len(parts) else None,
        parts[0].types,
        typed=any(part.typed for part in parts),
        start=start,
        fault=lambda: next(filter(None, (part.fault() for part in parts)), None),
    )
