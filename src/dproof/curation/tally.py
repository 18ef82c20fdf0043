"""Counting the private rows: exact whole numbers, in one pass, in bounded memory.

Every value becomes a code of its declared space, as the plan says, so no value can stop the work or show in a message.
Rows are read in batches, part by part where they lie on many machines. Where DuckDB reads the table by itself, it
brings rows together that are alike in every column that decides where they count, and adds up whole numbers as they
are; what a value means is decided here, once for each kind of row. Where a number lies outside its bounds, or the
plan's stand-in takes its place, the rows are read in batches instead. One row may decide which way is taken, so both
must count the same: a column that DuckDB and Arrow may read differently is always read in batches.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress, product
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dproof.curation.measurement import Measurement
from dproof.errors import InputError
from dproof.plans.plan import Plan
from dproof.plans.schema import answerable
from dproof.questions.counting import Codes, Counter, Tally
from dproof.questions.question import columns
from dproof.questions.regions import MISSING
from dproof.questions.schema import Schema
from dproof.questions.sums import Term
from dproof.spaces.arrow import as_numpy
from dproof.spaces.column import Column, quoted
from dproof.spaces.objects import texts
from dproof.tables import Source
from dproof.tables.counting import Decoder, InDuckDB, count_alike, decode_all, expressions
from dproof.tables.source import Bound

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
    where, curves = measurement.question.where, measurement.curves
    return Counter(measurement.schema, measurement.keys, where, statistics, curves)


def made_up(measurement: Measurement) -> Tally:
    """What is counted of a table of one row that nobody has: the first code of every column."""
    counter, declared = counter_of(measurement), measurement.schema.declared
    counter.add(
        1, {name: np.zeros((1, *declared(name).code_shape), np.int64) for name in columns(measurement.question)}
    )
    return counter.finish()


def source_columns(plan: Plan, names: Sequence[str]) -> list[str]:
    """The columns of the source that hold some columns of the plan, or any one of them."""
    return list(dict.fromkeys(part for name in names for part in plan.column(name).sources)) or [plan.sources[0]]


def read_codes(
    source: Source, plan: Plan, names: Sequence[str], treatment: Callable[[Column], Column] = answerable
) -> Iterator[tuple[int, Codes]]:
    """The codes of some columns, batch by batch, with the number of rows that count.

    Which rows of a person count is known when all have been seen; so that every row is taken with its own person the
    table is read once, for a source may give its rows in another order the next time, and the codes are kept till then.
    """
    wanted, chosen = source_columns(plan, names), (treatment(plan.column(name)) for name in names)
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
        yield int(rows.sum()), {name: column[rows] for name, column in codes.items()}


def counted_rows(arrays: Iterable[Any], rows_per_person: int) -> NDArray[np.bool_]:
    """Which rows count, given the column that names the person of each; rows that name nobody are one person's.

    Which of a person's rows count depends on that person's rows alone, so another person's coming or going changes
    nothing for them, and no question can see more than `rows_per_person` rows of anyone.

    >>> counted_rows([pa.array(["ann", "bob", "ann", "ann"])], 2).sum()
    np.int64(3)
    """
    named = [texts(array) for array in arrays]
    plain = [array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array for array in named]
    # As bytes: a text that is no UTF-8 comes as bytes, and would make a batch of them differ from the others in type.
    chunks = [array.cast(pa.large_binary()) if _is_text(array.type) else array for array in plain]
    if not chunks:
        return np.ones(0, bool)
    try:
        coded = pa.chunked_array(chunks).dictionary_encode(null_encoding="encode").combine_chunks()
    except pa.ArrowException:
        kinds = " and ".join(dict.fromkeys(str(chunk.type) for chunk in plain))
        raise InputError(
            f"the column that names persons has the type {kinds}: give each a text, or each a number"
        ) from None
    persons = as_numpy(coded.indices).astype(np.int64)
    order = np.argsort(persons, kind="stable")
    first = np.flatnonzero(np.diff(persons[order], prepend=-1))
    start = np.repeat(first, np.diff(first, append=len(order)))
    turn = np.empty(len(order), np.int64)
    turn[order] = np.arange(len(order)) - start  # 0, 1, … over the rows of each person
    by_mix = np.lexsort((_mixed(turn), persons))
    kept = np.empty(len(order), bool)
    kept[by_mix] = np.arange(len(order)) - start < rows_per_person
    return kept


def _is_text(kind: Any) -> bool:
    texts_and_bytes = ("is_string", "is_large_string", "is_string_view", "is_binary", "is_binary_view")
    return any(getattr(pa.types, check)(kind) for check in texts_and_bytes)


def _mixed(numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A fixed scrambling, so that it is not always the first rows that count (splitmix64)."""
    x = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def read_rows(source: Source, plan: Plan, names: Sequence[str], schema: Schema) -> Iterator[dict[str, Any]]:
    """The rows as dicts of declared values, None for what is not there."""
    for _, codes in read_codes(source, plan, names):
        read = []
        for name in names:
            places = codes[name].astype(np.int64)
            labels = schema.declared(name).decode(np.maximum(places, 0))
            read.append([label if code >= 0 else None for label, code in zip(labels, places, strict=True)])
        for row in zip(*read, strict=True):
            yield dict(zip(names, row, strict=True))


def tally_in_batches(source: Source, plan: Plan, measurement: Measurement) -> Tally:
    """Count what a measurement needs, row by row."""
    empty, names = counter_of(measurement).finish(), columns(measurement.question)
    parts = counted_in_parts(source, plan, names, lambda batches: _counted(measurement, batches))
    return _added(empty, parts)


def counted_in_parts(
    source: Source,
    plan: Plan,
    names: Sequence[str],
    count: Callable[[Iterator[tuple[int, Codes]]], Any],
    treatment: Callable[[Column], Column] = answerable,
) -> list[Any]:
    """What is counted of the codes of some columns: of all rows, or of each part where they lie on many machines.

    A count is what JSON can write.
    """
    if source.spread is None:
        return [count(read_codes(source, plan, names, treatment))]
    bound = None if plan.person is None else Bound(plan.person, plan.rows_per_person, plan.sources)
    alone = replace(plan, person=None)

    def work(batches: Iterator[Any]) -> bytes:
        part = Source(plan.sources, lambda columns: batches)
        return json.dumps(count(read_codes(part, alone, names, treatment))).encode()

    return [json.loads(part) for part in source.spread(source_columns(plan, names), work, bound=bound)]


def _counted(measurement: Measurement, batches: Iterator[tuple[int, Codes]]) -> Any:
    counter = counter_of(measurement)
    for rows, codes in batches:
        counter.add(rows, codes)
    counted = counter.finish()
    histograms = [[list(group.items()) for group in groups] for groups in counted.histograms.values()]
    return [list(counted.sums.values()), histograms, counted.rows, counted.vectors]


def _added(empty: Tally, parts: Sequence[Any]) -> Tally:
    """The tally of the whole table: whole numbers add up, whatever the order."""
    for sums, histograms, _, vectors in parts:
        for totals, more in zip(empty.sums.values(), sums, strict=True):
            totals[:] = [a + b for a, b in zip(totals, more, strict=True)]
        for groups, counts_by_group in zip(empty.histograms.values(), histograms, strict=True):
            for group, counts in zip(groups, counts_by_group, strict=True):
                for code, count in counts:
                    group[code] = group.get(code, 0) + count
        for totals, more in zip(empty.vectors, vectors, strict=True):
            totals[:] = [a + b for a, b in zip(totals, more, strict=True)]
    return replace(empty, rows=sum(rows for _, _, rows, _ in parts))


def tally_in_duckdb(table: InDuckDB, plan: Plan, measurement: Measurement) -> Tally | None:
    """Count what a measurement needs; None where the rows have to be read one by one."""
    if plan.person is not None or measurement.curves is not None:
        return None
    import duckdb  # lazy: most questions are asked of a text file, which is read without it

    counter = counter_of(measurement)
    looked_at = [answerable(plan.column(name)) for name in counter.looked_at]
    summed = {name: answerable(plan.column(name)) for term in counter.sums for name in term.columns}
    if not _reads_alike(table, looked_at) or not _adds_up(table, counter.sums, summed):
        return None
    # Of a number that is added up it may matter no more than whether it is there; mostly all are.
    flags = [column for column in looked_at if column.name in summed and column.name not in counter.valued]
    decoders = {column.name: Decoder([quoted(column.sources[0])], column.encoder()) for column in looked_at}
    decoders |= {column.name: Decoder([], lambda arrays: np.zeros(1, np.int64)) for column in flags}
    sums = _sums_in_sql(counter.sums, summed)
    try:
        kinds = count_alike(table.relation, expressions(decoders.values()), sums)
        if not all(kinds.column(f"there {column.name}").equals(kinds.column("n")) for column in flags):
            there = {c.name: f"CASE WHEN {quoted(c.sources[0])} IS NULL THEN {MISSING} ELSE 0 END" for c in flags}
            decoders |= {name: Decoder([code], lambda arrays: as_numpy(arrays[0])) for name, code in there.items()}
            kinds = count_alike(table.relation, expressions(decoders.values()), sums)
    except duckdb.Error:
        return None
    if kinds.num_rows > _MOST_KINDS or not all(_is_clean(kinds, column) for column in summed.values()):
        return None
    arrays = [column.combine_chunks() for column in kinds.columns]
    codes = dict(zip(decoders, decode_all(decoders.values(), arrays), strict=True))
    sums_of = {term: _sums(term, kinds, measurement.schema) for term in counter.sums}
    counter.add_alike(as_numpy(kinds.column("n")), codes, sums_of)
    return counter.finish()


def _reads_alike(table: InDuckDB, columns: Sequence[Column]) -> bool:
    """Whether columns have the same values in DuckDB and in Arrow: numbers, texts, true and false."""
    types, plain = table.types, (pa.types.is_integer, pa.types.is_float32, pa.types.is_float64, pa.types.is_boolean)

    def is_alike(source: str) -> bool:
        if types.get(source) not in _ALIKE or table.arrow is None:
            return types.get(source) in _ALIKE
        kind = table.arrow.field(source).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        return any(check(kind) for check in (*plain, pa.types.is_string, pa.types.is_large_string))

    # DuckDB takes names that differ in case alone for one, and gives one of them another name.
    known = table.arrow is None or table.arrow.names == list(types)
    return known and all(len(column.sources) == 1 and is_alike(column.sources[0]) for column in columns)


def _adds_up(table: InDuckDB, terms: Iterable[Term], summed: Mapping[str, Column]) -> bool:
    """Whether numbers are whole and stand for themselves, so that DuckDB may add them up, or products of two."""
    types, spaces = table.types, [column.space for column in summed.values()]
    whole = all(s.has_sums and s.line and s.line.step == 1 and s.line.origin.denominator == 1 for s in spaces)
    stored = all(types.get(column.sources[0]) in _WHOLE for column in summed.values())
    return whole and stored and all(len(term.columns) <= 2 for term in terms)


def _sums_in_sql(terms: Iterable[Term], summed: Mapping[str, Column]) -> dict[str, str]:
    """What is added up over the rows of each kind: how many numbers there are, how many outside, and their sums."""
    sums = {}
    for name, column in summed.items():
        x = quoted(column.sources[0])
        sums[f"there {name}"] = f"count({x})"
        sums[f"outside {name}"] = f"count_if({x} NOT BETWEEN {int(column.space.low)} AND {int(column.space.high)})"
        sums[f"sum {(name,)}"] = f"sum({x})::VARCHAR"
    for names in (term.columns for term in terms if len(term.columns) == 2):
        x, y = (quoted(summed[name].sources[0]) for name in names)
        sums[f"sum {names}"] = f"sum({x}::HUGEINT * {y}::HUGEINT)::VARCHAR"
    return sums


def _is_clean(kinds: Any, column: Column) -> bool:
    """Whether every number lies within its bounds, and none has a stand-in: nothing had to be done to any of them."""
    filled = column.missing is not None and not kinds.column(f"there {column.name}").equals(kinds.column("n"))
    return not filled and not any(kinds.column(f"outside {column.name}").to_pylist())


def _sums(term: Term, kinds: Any, schema: Schema) -> list[int]:
    """Σ ∏ (a + b·x) over each kind of row, multiplied out into the sums of products of some of the x.

    Kinds in which a number is missing do not count.
    """
    lines = []
    for column in term.columns:
        scale, line = term.scale(column, schema), schema.declared(column).line
        assert line is not None
        lines.append((scale.shift - scale.factor * int(line.origin), scale.factor))
    totals = np.zeros(kinds.num_rows, object)
    for taken in product((0, 1), repeat=len(lines)):
        column = kinds.column(f"sum {tuple(compress(term.columns, taken))}" if any(taken) else "n")
        sums = np.array([int(text or 0) for text in column.to_pylist()], object)
        totals += math.prod(line[took] for line, took in zip(lines, taken, strict=True)) * sums
    return list(totals)
