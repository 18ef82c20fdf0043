"""Counting the private rows: exact whole numbers, in one pass, in bounded memory.

In DuckDB at its own speed where it reads the table by itself, in batches where not, and part by part where the rows lie
on many machines. Every value becomes a code of its declared space first, as the plan says, so no value can stop the
work or show in a message.

In DuckDB rows that are alike in every column that decides where they count are brought together, and whole numbers are
added up as they are. What a value means is decided here, once for each kind of row, by the plan as always. Where
a number lies outside its bounds, or the plan's stand-in takes its place, the rows are read one by one instead. One row
may decide which way is taken, so both must count the same: a column that DuckDB and Arrow may read differently is
always read row by row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dproof.curation.measurement import Measurement
from dproof.curation.persons import counted_rows
from dproof.plans.plan import Plan
from dproof.questions.counting import Codes, Counter, Tally
from dproof.questions.question import columns
from dproof.questions.regions import MISSING
from dproof.questions.schema import Schema
from dproof.questions.sums import Term
from dproof.spaces.arrow import as_numpy
from dproof.spaces.column import Column, quoted
from dproof.tables import Source
from dproof.tables.counting import Decoder, count_alike, decode_all
from dproof.tables.source import Bound, InDuckDB

_MOST_KINDS = 1 << 17
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_ALIKE = (*_WHOLE, "UBIGINT", "BOOLEAN", "FLOAT", "DOUBLE", "VARCHAR")  # values that Arrow and DuckDB agree on


def tally(source: Source, plan: Plan, measurement: Measurement) -> Tally:
    """Count what a measurement needs."""
    table = source.relation()
    counted = None if table is None else tally_in_duckdb(table, plan, measurement)
    return tally_in_batches(source, plan, measurement) if counted is None else counted


def counter_of(measurement: Measurement) -> Counter:
    """What a measurement counts, with nothing counted yet; refuses what is too large to count."""
    statistics = [*(n.statistic for n in measurement.noisy), *(c.aggregate for c in measurement.chosen)]
    return Counter(measurement.schema, measurement.keys, measurement.question.where, statistics)


def answerable(column: Column) -> Column:
    """A column treated so that no value stops the work: what the plan refuses is missing."""
    return replace(column, gaps=True)


# In batches -----------------------------------------------------------------------------------------------------------


def source_columns(plan: Plan, names: Sequence[str]) -> list[str]:
    """The columns of the source that hold some columns of the plan, or any one of them."""
    return list(dict.fromkeys(part for name in names for part in plan.column(name).sources)) or [plan.sources[0]]


def read_codes(source: Source, plan: Plan, names: Sequence[str]) -> Iterator[tuple[int, Codes]]:
    """The codes of some columns, batch by batch, with the number of rows that count.

    Which rows of a person count is known when all have been seen; so that every row is taken with its own person the
    table is read once, for a source may give its rows in another order the next time, and the codes are kept till then.
    """
    chosen = [answerable(plan.column(name)) for name in names]
    wanted = source_columns(plan, names)
    treat = [(column.name, column.sources, column.encoder()) for column in chosen]
    persons, waiting = [], []
    for batch in source.read(wanted if plan.person is None else [*wanted, plan.person]):
        codes = {name: treated([batch.column(part) for part in parts]) for name, parts, treated in treat}
        if plan.person is None:
            yield batch.num_rows, codes
        else:
            persons.append(batch.column(plan.person))
            waiting.append(codes)
    kept = counted_rows(persons, plan.rows_per_person)
    start = 0
    for array, codes in zip(persons, waiting, strict=True):
        rows = kept[start : start + len(array)]
        start += len(array)
        yield int(rows.sum()), {name: found[rows] for name, found in codes.items()}


def read_rows(source: Source, plan: Plan, names: Sequence[str], schema: Schema) -> Iterator[dict[str, Any]]:
    """The rows as dicts of declared values, None for what is not there."""
    for _, codes in read_codes(source, plan, names):
        read = []
        for name in names:
            found = codes[name].astype(np.int64)
            labels = schema.declared(name).decode(np.maximum(found, 0))
            read.append([label if code >= 0 else None for label, code in zip(labels, found, strict=True)])
        for row in zip(*read, strict=True):
            yield dict(zip(names, row, strict=True))


def tally_in_batches(source: Source, plan: Plan, measurement: Measurement) -> Tally:
    """Count what a measurement needs, row by row."""
    names = columns(measurement.question)
    return _added(counter_of(measurement).finish(), count_parts(source, plan, names, partial(_counted, measurement)))


def count_parts(
    source: Source, plan: Plan, names: Sequence[str], count: Callable[[Iterator[tuple[int, Codes]]], Any]
) -> list[Any]:
    """What `count` makes of the codes of some columns: of all, or of each part where the rows lie on many machines."""
    if source.spread is None:
        return [count(read_codes(source, plan, names))]
    bound = None if plan.person is None else Bound(plan.person, plan.rows_per_person, plan.sources)
    work = partial(_counted_part, replace(plan, person=None), names, count)
    return [json.loads(part) for part in source.spread(source_columns(plan, names), work, bound=bound)]


def _counted_part(plan: Plan, names: Sequence[str], count: Callable[..., Any], batches: Iterator[Any]) -> bytes:
    return json.dumps(count(read_codes(Source(plan.sources, lambda columns: batches), plan, names))).encode()


def _counted(measurement: Measurement, batches: Iterator[tuple[int, Codes]]) -> Any:
    counter = counter_of(measurement)
    for rows, codes in batches:
        counter.add(rows, codes)
    found = counter.finish()
    histograms = [[list(group.items()) for group in groups] for groups in found.histograms.values()]
    return [list(found.sums.values()), histograms, found.rows]


def _added(empty: Tally, parts: Sequence[Any]) -> Tally:
    """The tally of the whole table: whole numbers add up, whatever the order."""
    for sums, histograms, _ in parts:
        for totals, more in zip(empty.sums.values(), sums, strict=True):
            totals[:] = [a + b for a, b in zip(totals, more, strict=True)]
        for groups, found in zip(empty.histograms.values(), histograms, strict=True):
            for group, counts in zip(groups, found, strict=True):
                for code, count in counts:
                    group[code] = group.get(code, 0) + count
    return replace(empty, rows=sum(rows for _, _, rows in parts))


# In DuckDB ------------------------------------------------------------------------------------------------------------


def tally_in_duckdb(table: InDuckDB, plan: Plan, measurement: Measurement) -> Tally | None:
    """Count what a measurement needs; None where the rows have to be read one by one."""
    import duckdb  # lazy: most questions are asked of a text file, which is read without it

    counter = counter_of(measurement)
    looked_at = [answerable(plan.column(name)) for name in counter.looked_at]
    products = [names for names, _ in counter.sums]
    summed = {name: plan.column(name) for names in products for name in names}
    if plan.person is not None or not _counts_alike(table, looked_at, list(summed.values()), products):
        return None
    # Of a number that is added up it may matter no more than whether it is there; mostly all are.
    flags = [column for column in looked_at if column.name in summed and column.name not in counter.valued]
    decoders = {column.name: Decoder([quoted(column.sources[0])], column.encoder()) for column in looked_at}
    decoders |= {column.name: Decoder([], lambda _: np.zeros(1, np.int64)) for column in flags}
    sums = _sums_in_sql(table, summed, products)
    try:
        kinds = _kinds(table, decoders, sums)
        if not all(kinds.column(f"there {column.name}").equals(kinds.column("n")) for column in flags):
            decoders |= {c.name: Decoder([f"{quoted(c.sources[0])} IS NOT NULL"], _presence) for c in flags}
            kinds = _kinds(table, decoders, sums)
    except duckdb.Error:
        return None
    if kinds.num_rows > _MOST_KINDS or not all(_is_clean(kinds, column) for column in summed.values()):
        return None
    keys = [column.combine_chunks() for column in kinds.columns]
    codes = dict(zip(decoders, decode_all(decoders.values(), keys), strict=True))
    wanted = dict.fromkeys([*counter.sums, ((), False)])
    counter.add_alike(codes, {key: _sums(Term(key[0], None, key[1]), kinds, measurement.schema) for key in wanted})
    return counter.finish()


def _counts_alike(
    table: InDuckDB, looked_at: Sequence[Column], summed: Sequence[Column], products: Sequence[tuple[str, ...]]
) -> bool:
    """Whether DuckDB reads these columns as Arrow does, and adds these numbers up as they are."""
    types = dict(zip(table.relation.columns, map(str, table.relation.types), strict=True))
    # DuckDB takes names that differ in case alone for one, and gives one of them another name.
    known = table.arrow is None or table.arrow.names == table.relation.columns
    # Products of three and more numbers are added up row by row.
    return (
        known
        and all(len(names) <= 2 for names in products)
        and all(len(c.sources) == 1 and _is_alike(types, table.arrow, c.sources[0]) for c in looked_at)
        and all(types.get(c.sources[0]) in _WHOLE and _is_whole(c) for c in summed)
    )


def _is_alike(types: dict[str, str], arrow: Any, source: str) -> bool:
    """Whether a column has the same values in DuckDB and in Arrow: numbers, texts, true and false."""
    if types.get(source) not in _ALIKE:
        return False
    if arrow is None:
        return True
    kind = arrow.field(source).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    plain = (pa.types.is_integer, pa.types.is_float32, pa.types.is_float64, pa.types.is_boolean, pa.types.is_string)
    return any(check(kind) for check in (*plain, pa.types.is_large_string))


def _is_whole(column: Column) -> bool:
    """Whether the numbers of a column are whole and stand for themselves, so that DuckDB may add them up."""
    space, line = column.space, column.space.line
    return bool(space.has_sums and line is not None and line.step == 1 and line.origin.denominator == 1)


def _presence(arrays: Sequence[Any]) -> NDArray[np.int64]:
    """Codes of numbers of which it matters only whether they are there: the first code, or that of a missing value."""
    return np.where(as_numpy(arrays[0]), 0, MISSING)


def _sums_in_sql(table: InDuckDB, summed: dict[str, Column], products: Sequence[tuple[str, ...]]) -> dict[str, str]:
    """What is added up over the rows of each kind: how many numbers there are, how many inside, and their sums."""
    sums = {}
    for name, column in summed.items():
        x, low, high = quoted(column.sources[0]), int(column.space.low), int(column.space.high)
        inside = f"CASE WHEN min({x}) >= {low} AND max({x}) <= {high} THEN count({x}) END"
        sums[f"inside {name}"] = f"count_if({x} BETWEEN {low} AND {high})" if table.parquet else inside
        sums[f"there {name}"] = f"count({x})"
        sums[f"sum {(name,)}"] = f"sum({x})::VARCHAR"
    for names in (names for names in products if len(names) == 2):
        x, y = (quoted(summed[name].sources[0]) for name in names)
        sums[f"sum {names}"] = f"sum({x}::HUGEINT * {y}::HUGEINT)::VARCHAR"
    return sums


def _kinds(table: InDuckDB, decoders: dict[str, Decoder], sums: dict[str, str]) -> Any:
    keys = [expression for decoder in decoders.values() for expression in decoder.expressions]
    return count_alike(table.relation, keys, sums)


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
