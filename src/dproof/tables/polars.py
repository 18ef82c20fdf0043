"""Polars: eager frames, and lazy ones streamed in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars
import pyarrow as pa

from dproof.errors import InputError
from dproof.spaces.objects import object_array
from dproof.tables.arrow import batches
from dproof.tables.source import BATCH_ROWS, Source, refusing

EXAMPLES = (
    lambda table: polars.from_arrow(table),
    lambda table: polars.DataFrame(table).lazy(),
)


def open_(thing: Any, table: str | None = None) -> Source:
    """Open a DataFrame or a LazyFrame."""
    if isinstance(thing, polars.DataFrame):
        return Source(tuple(thing.columns), lambda columns: _read_eager(thing, columns), thing.height)
    if isinstance(thing, polars.LazyFrame):
        with refusing("the lazy frame cannot be read"):
            return Source(tuple(thing.collect_schema().names()), lambda columns: _read_lazy(thing, columns))
    raise InputError(f"a Polars source is a DataFrame or a LazyFrame, not a {type(thing).__name__}")


def _read_eager(frame: Any, columns: Sequence[str]) -> Iterator[Any]:
    for part in frame.select(columns).iter_slices(BATCH_ROWS):
        yield from batches(_arrow(part).to_batches(), columns, "the frame")


def _read_lazy(frame: Any, columns: Sequence[str]) -> Iterator[Any]:
    with refusing("the lazy frame cannot be read"):
        # Order is kept so that `order = "keep"` means what it says.
        for part in frame.select(columns).collect_batches(chunk_size=BATCH_ROWS, maintain_order=True):
            yield from batches(_arrow(part).to_batches(), columns, "the lazy frame")


def _arrow(frame: Any) -> Any:
    """A frame as Arrow; of objects Polars would hand over where they lie in memory, so they are read one by one."""
    typed = {name for name, kind in frame.schema.items() if kind != polars.Object}
    known = frame.select(column for column in frame.columns if column in typed).to_arrow()
    return pa.table(
        [known[name] if name in typed else object_array(frame[name]) for name in frame.columns], frame.columns
    )
