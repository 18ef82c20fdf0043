"""Rows that are alike, counted together in DuckDB: one GROUP BY, for a private table and for a stored release.

    rows ─ SQL expressions ─► kinds of rows, with their numbers and sums ─ decoders ─► codes ─► cells

The decoders of a private table are the plan's encoders; those of a release read what was stored, as states of its law.
Two more things differ, and must. A curator's sums are exact whole numbers, for noise is added to them, and what DuckDB
may read otherwise than the plan says is read in batches (`dproof.curation.tally`). A release was written by dproof, so
DuckDB always reads it, and the sums of its numbers are floats, as its estimates are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.spaces.column import quoted

_PATTERNS = frozenset("*?[]{}")


@dataclass(frozen=True, slots=True, eq=False)
class Decoder:
    """SQL expressions that tell values apart, and the code that their values stand for."""

    expressions: Sequence[str]
    decode: Callable[[Sequence[Any]], NDArray[np.int64]]


def expressions(decoders: Iterable[Decoder]) -> list[str]:
    """The expressions of all decoders, in their order."""
    return [expression for decoder in decoders for expression in decoder.expressions]


def decode_all(decoders: Iterable[Decoder], arrays: Iterable[Any]) -> list[NDArray[np.int64]]:
    """The codes of every decoder, from the values of the expressions of all."""
    values = iter(arrays)
    return [decoder.decode(list(islice(values, len(decoder.expressions)))) for decoder in decoders]


def count_alike(relation: Any, keys: Sequence[str], sums: Mapping[str, str]) -> Any:
    """One row for each combination of keys: their values, the number of rows `n` that have them, and named sums.

    >>> import duckdb
    >>> table = duckdb.sql("SELECT unnest([1, 2, 2]) AS x")
    >>> sorted(count_alike(table, ["x > 1"], {"total": "sum(x)::INT"}).to_pylist(), key=str)
    [{'k0': False, 'n': 1, 'total': 1}, {'k0': True, 'n': 2, 'total': 4}]
    """
    wanted = {**{f"k{n}": key for n, key in enumerate(keys)}, "n": "count(*)", **sums}
    columns = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in wanted.items())
    return relation.aggregate(columns, ", ".join(keys)).to_arrow_table()


@dataclass(frozen=True, slots=True)
class InDuckDB:
    """A table as DuckDB reads it, with the types that Arrow finds in it unless DuckDB reads the single rows too."""

    relation: Any
    arrow: Any = None

    @property
    def types(self) -> dict[str, str]:
        return dict(zip(self.relation.columns, map(str, self.relation.types), strict=True))


def in_duckdb(data: Any, arrow: Any) -> InDuckDB | None:
    """An Arrow table or Parquet files as DuckDB reads them; None where it cannot, or has no such types."""
    import duckdb  # lazy: most tables are text files, which are read without it

    with suppress(duckdb.Error):
        relation = relation_of(duckdb.connect(), data)
        return None if relation is None else InDuckDB(relation, arrow)
    return None


def relation_of(database: Any, data: Any) -> Any | None:
    """An Arrow table or a tuple of Parquet files in DuckDB; None where it would take a file's name for a pattern."""
    if not isinstance(data, tuple):
        return database.from_arrow(data)
    names = [str(path) for path in data]
    # A folder a=3 is part of a name too, and no column.
    return database.read_parquet(names, hive_partitioning=False) if _PATTERNS.isdisjoint("".join(names)) else None
