"""Counting the private rows: exact whole numbers, in one pass, in bounded memory.

Every value becomes a code of its declared space, as the plan says, so no value can stop the work or show in a message.
Rows are read in batches, part by part where they lie on many machines. Where a question is about whole numbers alone,
and DuckDB reads the table by itself, the codes are written in SQL: it brings rows together that are alike in every
column that decides where they count, and adds up the codes. The plan, the question and the types of the columns choose
the way, and no value does: the time of an answer would tell it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import compress, product
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dproof.columns.arrow import as_numpy, decoded, is_text
from dproof.columns.column import Column, quoted
from dproof.columns.objects import stored, texts
from dproof.curator.recipe import Measurement
from dproof.errors import InputError
from dproof.plans.plan import Plan
from dproof.plans.schema import answerable
from dproof.questions.counting import Codes, Counter, Tally
from dproof.questions.question import columns
from dproof.questions.schema import Schema
from dproof.questions.sums import Term, multiplied_out
from dproof.tables import Source
from dproof.tables.counting import InDuckDB, count_alike
from dproof.tables.source import Bound

_MOST_KINDS = 1 << 17


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


def check_types(source: Source, plan: Plan, names: Sequence[str]) -> None:
    """Refuse columns whose types hold nothing that the plan can read, where the types are known without a row."""
    if source.types is None:
        return

    def nothing(name: str) -> Any:
        return pa.nulls(1, source.types.field(name).type)

    for column in (answerable(plan.column(name)) for name in names):
        column.encoder()([nothing(part) for part in column.sources])
    if plan.person is not None:
        counted_rows([nothing(plan.person)], plan.rows_per_person)


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
    named = [stored(texts(array)) for array in arrays]
    if not named:
        return np.ones(0, bool)
    try:
        plain = [decoded(array) for array in named]
        # As bytes: a text that is no UTF-8 comes as bytes, and a batch of them would differ from the others in type.
        chunks = [array.cast(pa.large_binary()) if is_text(array.type) else array for array in plain]
        coded = pa.chunked_array(chunks).dictionary_encode(null_encoding="encode").combine_chunks()
    except pa.ArrowException:
        kinds = " and ".join(dict.fromkeys(str(array.type) for array in named))
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
    """Count what a measurement needs; None where the plan and the types of the columns ask for batches."""
    if plan.person is not None or measurement.curves is not None:
        return None
    import duckdb  # lazy: most questions are asked of a text file, which is read without it

    counter = counter_of(measurement)
    used = {name: answerable(plan.column(name)) for name in columns(measurement.question)}
    in_sql = {name: column.space.code_sql(column, table.whole(column.sources)) for name, column in used.items()}
    # Of a number that is added up it may matter no more than whether it is there.
    keys = {
        name: quoted(name) if name in counter.valued else f"-({quoted(name)} < 0)::TINYINT"
        for name in counter.looked_at
    }
    kinds_at_most = math.prod(used[name].space.size + 1 if name in counter.valued else 2 for name in keys)
    if None in in_sql.values() or kinds_at_most > _MOST_KINDS or any(len(t.columns) > 2 for t in counter.sums):
        return None
    try:
        codes = (
            table.relation
            if not in_sql
            else table.relation.project(", ".join(f"{sql} AS {quoted(name)}" for name, sql in in_sql.items()))
        )
        kinds = count_alike(codes, list(keys.values()), _sums_in_sql(counter.sums))
    except duckdb.Error:  # the file is damaged
        return None
    found = {name: as_numpy(kinds.column(f"k{n}")) for n, name in enumerate(keys)}
    counter.add_alike(
        as_numpy(kinds.column("n")), found, {t: _sums(t, kinds, measurement.schema) for t in counter.sums}
    )
    return counter.finish()


def _sums_in_sql(terms: Iterable[Term]) -> dict[str, str]:
    """The sums of codes, and of products of two, over the rows of each kind."""
    products = dict.fromkeys(part for term in terms for part in multiplied_out(term.columns) if part)
    factors = {names: "::HUGEINT * ".join(map(quoted, names)) for names in products}
    return {f"sum {names}": f"sum({product})::VARCHAR" for names, product in factors.items()}


def _sums(term: Term, kinds: Any, schema: Schema) -> list[int]:
    """Σ ∏ (a + b·code) over each kind of row, multiplied out into the sums of products of some of the codes.

    What is added up of kinds in which a number is missing is never asked for.
    """
    scales = [term.scale(column, schema) for column in term.columns]
    totals = np.zeros(kinds.num_rows, object)
    for taken in product((0, 1), repeat=len(scales)):
        column = kinds.column(f"sum {tuple(compress(term.columns, taken))}" if any(taken) else "n")
        sums = np.array([int(text or 0) for text in column.to_pylist()], object)
        totals += math.prod(s.factor if took else s.shift for s, took in zip(scales, taken, strict=True)) * sums
    return list(totals)
