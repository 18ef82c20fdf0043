"""Arrow in memory: tables, record batches and readers of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import pyarrow as pa

from dproof.errors import InputError
from dproof.tables.counting import in_duckdb
from dproof.tables.source import BATCH_ROWS, Source, refusing

EXAMPLES = (
    lambda table: table,
    lambda table: pa.record_batch([column.combine_chunks() for column in table.columns], table.column_names),
    lambda table: table.to_reader(max_chunksize=3),
)


def open_(thing: Any, table: str | None = None) -> Source:
    """Open a table, a record batch, or a reader, which can be read once."""
    if isinstance(thing, pa.RecordBatch):
        thing = pa.Table.from_batches([thing])
    if isinstance(thing, pa.Table):
        names, relation = tuple(thing.schema.names), cache(lambda: in_duckdb(thing, thing.schema))
        return Source(names, lambda columns: _slices(thing, columns), thing.num_rows, thing.schema, relation=relation)
    if isinstance(thing, pa.RecordBatchReader):
        names = tuple(thing.schema.names)
        return Source(names, lambda columns: batches(thing, columns, "the reader"), types=thing.schema)
    raise InputError(f"an Arrow source is a Table, a RecordBatch or a RecordBatchReader, not a {type(thing).__name__}")


def _slices(table: Any, columns: Sequence[str]) -> Iterator[Any]:
    yield from table.select(list(columns)).to_batches(max_chunksize=BATCH_ROWS)


def batches(reader: Any, columns: Sequence[str], what: str) -> Iterator[Any]:
    """The batches of anything that yields them, cut to the columns asked for and to a bounded size."""
    with refusing(f"{what} cannot be read"):
        for batch in reader:
            part = batch.select(list(columns))
            for start in range(0, part.num_rows, BATCH_ROWS):
                yield part.slice(start, BATCH_ROWS)
