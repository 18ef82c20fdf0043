"""Rows that are alike, counted together in DuckDB: one GROUP BY, for a private table and for a stored release.

    rows ─ SQL expressions ─► kinds of rows, with their numbers and sums ─ decoders ─► codes ─► cells

A private table and a release differ in their decoders: those of a private table are the encoders of the plan, those of
a release read what was stored and undo its law. They differ in two more things, and must. A curator's sums are whole
numbers that noise is added to, so they stay exact, and a table that DuckDB may read otherwise than the plan says is
read in batches (`dproof.curation.tally`); a release was written by dproof, so DuckDB reads it always, and the sums of
its numbers under noise are floats, as its estimates are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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


def decode_all(decoders: Iterable[Decoder], arrays: Iterable[Any]) -> list[NDArray[np.int64]]:
    """The codes of every decoder, from the values of the expressions of all, in their order."""
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


def parquet_relation(database: Any, paths: Sequence[Any]) -> Any | None:
    """Parquet files as DuckDB reads them; None where it would take a name for a pattern of names."""
    names = [str(path) for path in paths]
    # A folder a=3 is a name too, and no column.
    return database.read_parquet(names, hive_partitioning=False) if _PATTERNS.isdisjoint("".join(names)) else None
