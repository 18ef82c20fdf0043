"""A table of any other package that hands out an Arrow stream, by the method `__arrow_c_stream__`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from dproof.tables.arrow import batches
from dproof.tables.source import Source, refusing


class _Example:
    """A table of a class that dproof does not know."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)


EXAMPLES = (_Example,)


def open_(thing: Any, table: str | None = None) -> Source:
    """Open a table, which is then read once, in bounded memory.

    A frame would give its rows again when it is asked again, but a stream would give none, and nothing tells them
    apart: so the method is called once.
    """
    reader = _reader(thing)
    names, types = tuple(reader.schema.names), reader.schema
    return Source(names, lambda columns: batches(reader, columns, "the Arrow stream"), types=types)


def in_memory(thing: Any) -> Any:
    """A stream as an Arrow table, which can be read again."""
    reader = thing if hasattr(thing, "read_all") else _reader(thing)
    with refusing("the Arrow stream cannot be read"):
        return reader.read_all()


def _reader(thing: Any) -> Any:
    why = "its __arrow_c_stream__ gives no stream of columns"
    with refusing(f"the source of the class {type(thing).__name__} cannot be read", why):
        return pa.RecordBatchReader.from_stream(thing)
