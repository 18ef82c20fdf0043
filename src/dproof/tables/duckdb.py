"""DuckDB, in which rows that are alike are counted together.

One GROUP BY counts, for a private table and for a stored release:

    rows ─ SQL expressions ─► kinds of rows, with their numbers and sums ─ decoders ─► codes ─► cells

The decoders of a release read what was stored, as states of its law; the expressions of a private table are the codes
themselves. Two more things differ, and must. A curator's sums are exact whole numbers, for noise is added to them, and
all but whole numbers is read in batches (`dproof.curator.draw`). A release was written by dproof, so DuckDB always
reads it, and the sums of its numbers are floats, as its estimates are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dproof.columns.codec import quoted
from dproof.errors import QuestionError
from dproof.tables.source import Parts

# A release is read by DuckDB from its own files, and from nowhere else.
CLOSED: dict[str, Any] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}


_PATTERNS = frozenset("*?[]{}")


@dataclass(frozen=True, slots=True, eq=False)
class Decoder:
    """SQL expressions that tell values apart, and the code that their values stand for."""

    expressions: Sequence[str]
    decode: Callable[[Sequence[Any]], NDArray[np.int64]]

    @classmethod
    def joined(cls, decoders: Sequence[Decoder], code: Callable[[Sequence[Any]], NDArray[np.int64]]) -> Decoder:
        """One decoder in the place of several, whose code follows from theirs."""
        return cls(expressions(decoders), lambda arrays: code(decode_all(decoders, arrays)))


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
    columns = [*(f"{key} AS k{n}" for n, key in enumerate(keys)), "count(*) AS n"]
    columns += [f"{sql} AS {quoted(name)}" for name, sql in sums.items()]
    return relation.aggregate(", ".join(columns), ", ".join(keys)).to_arrow_table()


@dataclass(frozen=True, slots=True)
class InDuckDB:
    """A table as DuckDB reads it, with the types that Arrow finds in it."""

    relation: Any
    arrow: Any

    def whole(self, sources: Sequence[str]) -> str | None:
        """The SQL of a column of whole numbers, which DuckDB and Arrow read alike; None for any other."""
        # DuckDB takes names that differ in case alone for one, and gives one of them another name.
        if len(sources) != 1 or self.relation.columns != self.arrow.names:
            return None
        kind = self.arrow.field(sources[0]).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        return f"{quoted(sources[0])}::BIGINT" if pa.types.is_integer(kind) and not pa.types.is_uint64(kind) else None


def in_duckdb(data: Any, arrow: Any) -> InDuckDB | None:
    """An Arrow table or Parquet files as DuckDB reads them; None where it cannot, or has no such types."""
    import duckdb  # lazy: most tables are text files, which are read without it

    with suppress(duckdb.Error):
        # What a file says of its least and greatest value must not choose how DuckDB counts.
        relation = relation_of(duckdb.connect(config={"disabled_optimizers": "statistics_propagation"}), data)
        return None if relation is None else InDuckDB(relation, arrow)
    return None


def relation_of(database: Any, data: Any) -> Any | None:
    """An Arrow table or a tuple of Parquet files in DuckDB; None where it would take a file's name for a pattern."""
    if not isinstance(data, tuple):
        return database.from_arrow(data)
    names = [str(path) for path in data]
    # A folder a=3 is part of a name too, and no column.
    return database.read_parquet(names, hive_partitioning=False) if _PATTERNS.isdisjoint("".join(names)) else None


def stored_relation(database: Any, data: Any) -> Any:
    """The stored rows of a release, from Parquet files or an Arrow table."""
    import duckdb

    data = data.files() if isinstance(data, Parts) else data
    try:
        rows = relation_of(database, data)
    except duckdb.Error:
        raise QuestionError(
            "the stored table of the release cannot be read: dproof verify says what is wrong"
        ) from None
    if rows is not None:
        return rows
    from pyarrow.parquet import read_table

    return database.from_arrow(pa.concat_tables(map(read_table, data)))
