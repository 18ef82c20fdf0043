"""What leaves the private table: exact whole numbers are counted, in one pass and bounded memory, and noise is added.

Rows come as codes (`plans.rows`), in batches, part by part where they lie on many machines. Where a question is about
whole numbers alone, and DuckDB reads the table by itself, the codes are written in SQL: it brings rows together that
are alike in every column that decides where they count, and adds up the codes. The plan, the question and the types of
the columns choose the way, and no value does: the time of an answer would tell it.

Noise is added to what was counted, candidates are chosen, and nothing else leaves the table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, product
from typing import Any

import numpy as np

from dproof.coins import Coins
from dproof.columns.codec import quoted
from dproof.columns.values import as_numpy
from dproof.curator.account import Released
from dproof.curator.recipe import CurveSums, Measurement
from dproof.curator.select import pick
from dproof.plans.plan import Plan
from dproof.plans.rows import count_rows, read_codes
from dproof.questions.measured import number_of_values, rows_by_value
from dproof.questions.question import Schema
from dproof.questions.sums import Tally, Term, multiplied_out
from dproof.spaces.space import MISSING, decode_present
from dproof.tables import Source
from dproof.tables.duckdb import InDuckDB, count_alike

_MOST_KINDS = 1 << 17  # of rows that are brought together


def tally(source: Source, plan: Plan, measurement: Measurement) -> Tally:
    """Count what a measurement needs."""
    table = source.relation()
    counted = None if table is None else tally_in_duckdb(table, plan, measurement)
    return tally_in_batches(source, plan, measurement) if counted is None else counted


def rehearsal_tally(measurement: Measurement) -> Tally:
    """The tally of a table of one row that nobody has: the first code of every column."""
    counter, declared = measurement.fresh_counter(), measurement.schema.declared
    counter.add(1, {name: np.zeros((1, *declared(name).code_shape), np.int64) for name in measurement.question.columns})
    return counter.finish()


def read_rows(source: Source, plan: Plan, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The rows as dicts of declared values, None for what is not there."""
    columns = [plan.true_columns[name] for name in names]
    for _, codes in read_codes(source, plan, columns):
        read = [decode_present(c.space.decode, codes[c.name].astype(np.int64), MISSING) for c in columns]
        for row in zip(*read, strict=True):
            yield dict(zip(names, row, strict=True))


def tally_in_batches(source: Source, plan: Plan, measurement: Measurement) -> Tally:
    """Count what a measurement needs, row by row; whole numbers of several parts add up, whatever the order."""
    parts = count_rows(source, plan, measurement.columns_of(plan), measurement.fresh_counter)
    return Tally.together(measurement.statistics, parts or [measurement.fresh_counter().counted()])


def tally_in_duckdb(table: InDuckDB, plan: Plan, measurement: Measurement) -> Tally | None:
    """Count what a measurement needs; None where the plan and the types of the columns ask for batches."""
    if plan.person is not None or measurement.curves is not None:
        return None
    import duckdb  # lazy: most questions are asked of a text file, which is read without it

    counter = measurement.fresh_counter()
    used = {column.name: column for column in measurement.columns_of(plan)}
    in_sql = {name: column.codec.code_sql(table.whole(column.sources)) for name, column in used.items()}
    # Of a number that is added up it may matter no more than whether it is there.
    valued = counter.looked_at
    keys = {name: quoted(name) if by_value else f"-({quoted(name)} < 0)::TINYINT" for name, by_value in valued.items()}
    kinds_at_most = math.prod(used[name].space.size + 1 if by_value else 2 for name, by_value in valued.items())
    if None in in_sql.values() or kinds_at_most > _MOST_KINDS or any(len(t.columns) > 2 for t in counter.products):
        return None
    try:
        projected = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in in_sql.items())
        codes = table.relation.project(projected) if in_sql else table.relation
        kinds = count_alike(codes, list(keys.values()), _sums_in_sql(counter.products))
    except duckdb.Error:  # the file is damaged
        return None
    found = {name: as_numpy(kinds.column(f"k{n}")) for n, name in enumerate(keys)}
    counter.add_alike(
        as_numpy(kinds.column("n")), found, {t: _sums_of_kinds(t, kinds, measurement.schema) for t in counter.products}
    )
    return counter.finish()


def _sums_in_sql(terms: Iterable[Term]) -> dict[str, str]:
    """The sums of codes, and of products of two, over the rows of each kind."""
    products = dict.fromkeys(part for term in terms for part in multiplied_out(term.columns) if part)
    factors = {names: "::HUGEINT * ".join(map(quoted, names)) for names in products}
    return {f"sum {names}": f"sum({product})::VARCHAR" for names, product in factors.items()}


def _sums_of_kinds(term: Term, kinds: Any, schema: Schema) -> list[int]:
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


# Noise ----------------------------------------------------------------------------------------------------------------


def draw(measurement: Measurement, counted: Tally, coins: Coins) -> Released:
    """The released numbers: `noisy`, a whole number for each statistic and group, and `chosen`, a code or codes.

    A number of distinct values may have a list of whole numbers in each group, the count of every value.

    Where the number of all rows is public, `rows` tells it. Curves have a vector of noisy sums for each group.
    """
    if measurement.curves is not None:
        return _drawn_curves(measurement.curves, counted, coins)
    noisy = []
    for part in measurement.noisy:
        statistic = part.statistic
        if isinstance(statistic, Term):
            exact = counted.sums[statistic]
        else:
            histograms, schema = counted.histograms[statistic], measurement.schema
            if part.values is None:
                exact = [number_of_values(statistic, schema, histogram) for histogram in histograms]
            else:
                exact = [count for histogram in histograms for count in rows_by_value(statistic, schema, histogram)]
        if part.noise is not None:
            drawn = part.noise.law.draw(len(exact), coins).tolist()
            exact = [value + more for value, more in zip(exact, drawn, strict=True)]
        noisy.append(
            exact if part.values is None else [exact[n : n + part.values] for n in range(0, len(exact), part.values)]
        )
    chosen = [
        [pick(choice, histogram, measurement.schema, coins) for histogram in counted.histograms[choice.aggregate]]
        for choice in measurement.chosen
    ]
    released: Released = {"noisy": noisy, "chosen": chosen, "private": coins.private}
    return {**released, "rows": counted.rows} if measurement.unit.rows_are_public else released


def _drawn_curves(sums: CurveSums, counted: Tally, coins: Coins) -> Released:
    totals = np.array(counted.vectors, np.int64)
    noisy = totals + sums.noise.draw(1, coins).reshape(totals.shape)
    released: Released = {"noisy": noisy.tolist(), "private": coins.private}
    return released if sums.weight else {**released, "rows": counted.rows}
