"""Counting the private rows: exact whole numbers, in one pass, in bounded memory.

Rows come as codes (`plans.rows`), in batches, part by part where they lie on many machines. Where a question is about
whole numbers alone, and DuckDB reads the table by itself, the codes are written in SQL: it brings rows together that
are alike in every column that decides where they count, and adds up the codes. The plan, the question and the types of
the columns choose the way, and no value does: the time of an answer would tell it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import compress, product
from typing import Any

import numpy as np

from dproof.columns.arrow import as_numpy
from dproof.columns.column import quoted
from dproof.curator.recipe import Measurement
from dproof.plans.plan import Plan
from dproof.plans.rows import counted_in_parts, read_codes
from dproof.questions.counting import Codes, Counter, Tally
from dproof.questions.question import columns
from dproof.questions.schema import Schema
from dproof.questions.sums import Term, multiplied_out
from dproof.tables import Source
from dproof.tables.duckdb import InDuckDB, count_alike

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
    used = {name: plan.column(name).with_missing_allowed() for name in columns(measurement.question)}
    in_sql = {name: column.codec.code_sql(table.whole(column.sources)) for name, column in used.items()}
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
