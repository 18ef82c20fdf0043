"""The same counts from DuckDB, at its own speed, where a table lies in something that it reads itself.

Rows that are alike in every column that decides where they count are brought together by GROUP BY, and whole numbers
are added up as they are. What a value means is decided here, once for each kind of row, by the plan as always. Where
a number lies outside its bounds, or the plan's stand-in takes its place, the rows are read one by one instead. One row
may decide which way is taken, so both must count the same: a column that DuckDB and Arrow may read differently is
always read row by row.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dproof.curation.measurement import Measurement
from dproof.curation.tally import Counter, Tally
from dproof.plans.plan import Plan
from dproof.plans.schema import answerable
from dproof.questions.canonical import name
from dproof.questions.regions import MISSING
from dproof.questions.schema import Schema
from dproof.questions.sums import Term
from dproof.spaces.column import Column
from dproof.spaces.interval import Interval

_MOST_KINDS = 1 << 17
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_IS_THERE = "{} IS NOT NULL"
_ALIKE = (*_WHOLE, "UBIGINT", "BOOLEAN", "FLOAT", "DOUBLE", "VARCHAR")  # values that Arrow and DuckDB agree on


@dataclass(frozen=True, slots=True)
class Readable:
    """A table as DuckDB reads it, with the types that Arrow finds in it unless DuckDB reads the single rows too.

    From Parquet DuckDB compares numbers faster than it finds the least and the greatest.
    """

    relation: Any
    arrow: Any = None
    parquet: bool = False


def readable(thing: Any) -> Readable | None:
    """An Arrow table, a Parquet file or a relation as DuckDB reads it; None for anything else."""
    if isinstance(thing, (str, os.PathLike)):
        return _parquet(Path(thing))
    import duckdb  # lazy: most questions are asked of a text file, which is read without it

    if isinstance(thing, duckdb.DuckDBPyRelation):
        return Readable(thing)
    if isinstance(thing, pa.Table):
        with suppress(duckdb.Error):  # a type that DuckDB does not know
            return Readable(duckdb.connect().from_arrow(thing), thing.schema)
    return None


def _parquet(path: Path) -> Readable | None:
    if path.suffix.lower() != ".parquet" or not path.is_file() or set(str(path)) & set("*?["):  # patterns to DuckDB
        return None
    import duckdb  # lazy, as above
    import pyarrow.parquet

    with suppress(duckdb.Error):
        relation = duckdb.connect().read_parquet(str(path), hive_partitioning=False)
        return Readable(relation, pyarrow.parquet.read_schema(path), parquet=True)
    return None


def tally_in_duckdb(table: Readable, plan: Plan, measurement: Measurement) -> Tally | None:
    """Count what a measurement needs; None where the rows have to be read one by one."""
    import duckdb

    counter = Counter(measurement)
    looked_at = [answerable(plan.column(column)) for column in counter.looked_at]
    summed = list(dict.fromkeys(column for names, _ in counter.sums for column in names))
    simple = plan.person is None and all(len(c.sources) == 1 and _is_alike(table, c.sources[0]) for c in looked_at)
    # DuckDB takes names that differ in case alone for one, and gives one of them another name.
    known = table.arrow is None or table.arrow.names == table.relation.columns
    # Products of three and more numbers are added up row by row, and curves.
    if (
        not simple
        or not known
        or counter.curves is not None
        or any(len(names) > 2 for names, _ in counter.sums)
        or not all(_adds_up(table.relation, plan, column) for column in summed)
    ):
        return None
    pairs = [names for names, _ in counter.sums if len(names) == 2]
    # Of a number that is added up it may matter no more than whether it is there; mostly all are.
    there = [c.name for c in looked_at if c.name in summed and c.name not in counter.valued]
    keys = {c.sources[0]: "{}" for c in looked_at if c.name not in there}
    numbers = {column: answerable(plan.column(column)) for column in summed}
    spaces = {name: column.space for name, column in numbers.items()}
    try:
        kinds = _kinds(table, keys, spaces, pairs)
        if not all(kinds.column(f"there {column}").equals(kinds.column("n")) for column in there):
            kinds = _kinds(table, keys | dict.fromkeys(there, _IS_THERE), spaces, pairs)
    except duckdb.Error:
        return None
    if kinds.num_rows > _MOST_KINDS or not all(_is_clean(kinds, column) for column in numbers.values()):
        return None
    codes = {column: _presence(kinds, column) for column in there}
    for column in (column for column in looked_at if column.name not in there):
        codes[column.name] = column.encoder()([kinds.column(f"key {column.sources[0]}").combine_chunks()])
    wanted = dict.fromkeys([*counter.sums, ((), False)])
    counter.add_alike(codes, {key: _sums(Term(key[0], None, key[1]), kinds, measurement.schema) for key in wanted})
    return counter.finish()


def _is_alike(table: Readable, source: str) -> bool:
    """Whether a column has the same values in DuckDB and in Arrow: numbers, texts, true and false."""
    if str(dict(zip(table.relation.columns, table.relation.types, strict=True)).get(source)) not in _ALIKE:
        return False
    if table.arrow is None:
        return True
    kind = table.arrow.field(source).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    plain = (pa.types.is_integer, pa.types.is_float32, pa.types.is_float64, pa.types.is_boolean, pa.types.is_string)
    return any(check(kind) for check in (*plain, pa.types.is_large_string))


def _adds_up(relation: Any, plan: Plan, column: str) -> bool:
    """Whether a column's numbers are whole and stand for themselves, so that DuckDB may add them up."""
    declared = plan.column(column)
    kind = str(dict(zip(relation.columns, relation.types, strict=True)).get(declared.sources[0]))
    space = declared.space
    line = space.line
    return kind in _WHOLE and space.has_sums and line is not None and line.step == 1 and line.origin.denominator == 1


def _presence(kinds: Any, column: str) -> NDArray[np.int64]:
    """Codes of numbers of which it matters only whether they are there: the first code, or that of a missing value."""
    return np.where(np.asarray(kinds.column(f"there {column}")) > 0, 0, MISSING)


def _kinds(
    table: Readable, keys: Mapping[str, str], summed: Mapping[str, Interval], pairs: Sequence[tuple[str, ...]]
) -> Any:
    """One row for each kind of row: what it is like, how many there are, and what their numbers add up to.

    A key is a column and what is looked at of it.
    """
    looked_at = {key: what.format(name(key)) for key, what in keys.items()}
    wanted = [f"{what} AS {name(f'key {key}')}" for key, what in looked_at.items()] + ["count(*) AS n"]
    for column, space in summed.items():
        x, low, high = name(column), int(space.low), int(space.high)
        inside = f"CASE WHEN min({x}) >= {low} AND max({x}) <= {high} THEN count({x}) END"
        inside = f"count_if({x} BETWEEN {low} AND {high})" if table.parquet else inside
        wanted += [f"{inside} AS {name(f'inside {column}')}", f"count({x}) AS {name(f'there {column}')}"]
        wanted += [f"sum({x})::VARCHAR AS {name(f'sum {(column,)}')}"]
    for x, y in pairs:
        product = f"sum({name(x)}::HUGEINT * {name(y)}::HUGEINT)::VARCHAR"
        wanted.append(f"{product} AS {name(f'sum {(x, y)}')}")
    return table.relation.aggregate(", ".join(wanted), ", ".join(looked_at.values())).to_arrow_table()


def _is_clean(kinds: Any, column: Column) -> bool:
    """Whether every number lies within its bounds, and none has a stand-in: nothing had to be done to any of them."""
    every = "n" if column.missing is not None else f"there {column.name}"
    rows, inside = kinds.column(every).to_pylist(), kinds.column(f"inside {column.name}").to_pylist()
    return all(n == (found or 0) for n, found in zip(rows, inside, strict=True))


def _sums(term: Term, kinds: Any, schema: Schema) -> list[int]:
    """Σ ∏ (a + b·x) over each kind of row, from Σ 1, Σ x and Σ x·y; kinds in which a number is missing do not count."""
    n = np.array(kinds.column("n").to_pylist(), object)
    if not term.columns:
        return list(n.tolist())
    lines = []
    for column in term.columns:
        scale, space = term.scale(column, schema), schema.spaces[column]
        assert space.line is not None
        shift = scale.shift - scale.factor * int(space.line.origin)
        lines.append((shift, scale.factor, _whole(kinds, f"sum {(column,)}")))
    (a, b, x) = lines[0]
    if len(lines) == 1:
        return list((a * n + b * x).tolist())
    (c, d, y) = lines[1]
    both = _whole(kinds, f"sum {term.columns}")
    return list((a * c * n + a * d * y + b * c * x + b * d * both).tolist())


def _whole(kinds: Any, column: str) -> NDArray[Any]:
    return np.array([int(text or 0) for text in kinds.column(column).to_pylist()], object)
