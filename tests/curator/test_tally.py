"""Counting rows by cell: a private table in DuckDB and in batches, and the parts that a release shares with it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest

from dproof import Plan, Privacy
from dproof.curator.draw import tally, tally_in_batches
from dproof.plans.plan import schema_of
from dproof.tables import open_source
from dproof.tables.duckdb import Decoder, count_alike, decode_all, expressions
from tests.makers import measured_for

SEX = {"space": "categories", "values": ["f", "m"]}
AGE = {"space": "interval", "low": 3, "high": 90, "step": 1, "outside": "clamp"}
PLAN = Plan.from_dict({"privacy": {"epsilon": 600}, "columns": {"sex": SEX, "age": AGE}})
TABLE = pa.table({"sex": ["f", "m", "m", "f", "m"], "age": pa.array([30, 41, None, 29, 41])})


def opened(kind: str, folder: Path) -> Any:
    if kind == "parquet":
        pyarrow.parquet.write_table(TABLE, folder / "x.parquet")
        return folder / "x.parquet"
    if kind == "record batch":
        return TABLE.combine_chunks().to_batches()[0]
    return {"table": TABLE, "relation": duckdb.connect().from_arrow(TABLE), "pandas": TABLE.to_pandas()}[kind]


@pytest.mark.parametrize("kind", ["table", "record batch", "parquet", "relation", "pandas"])
def test_a_source_says_itself_whether_duckdb_reads_it(kind: str, tmp_path: Path) -> None:
    """The relation is opened once, and what is counted in it is what the batches hold."""
    source = open_source(opened(kind, tmp_path))
    assert (source.relation() is None) == (kind in ("pandas", "relation"))
    assert source.relation() is source.relation()
    sql = "SELECT sex, sum(age), var(age), median(age), count(*) FROM data GROUP BY sex"
    measurement = measured_for(sql, schema_of(PLAN), Privacy(1))
    counted = tally(source, PLAN, measurement)
    assert counted == tally_in_batches(source, PLAN, measurement)
    assert counted.rows == 5 and [59, 82, 0] in counted.sums.values()
    assert [{26: 1, 27: 1}, {38: 2}, {}] in counted.histograms.values()


def test_decoders_get_the_values_of_their_own_expressions() -> None:
    pair = Decoder(["a", "b"], lambda arrays: arrays[0] * 10 + arrays[1])
    none, one = Decoder([], lambda arrays: len(arrays)), Decoder(["c"], lambda arrays: arrays[0])  # type: ignore
    assert expressions([none, pair, one]) == ["a", "b", "c"]
    assert decode_all([none, pair, one], [1, 2, 3, 4]) == [0, 12, 3]


def test_columns_may_be_called_as_the_counts_are() -> None:
    table = duckdb.connect().from_arrow(pa.table({"n": [1, 1, 2], "k0": [5, 6, 7], "k1": [0, 1, 1]}))
    rows = count_alike(table, ['"k1"', '"n"'], {"total": 'sum("k0")::INT'}).to_pylist()
    assert sorted(tuple(row.values()) for row in rows) == [(0, 1, 1, 5), (1, 1, 1, 6), (1, 2, 1, 7)]


@pytest.mark.parametrize("missing", ["refuse", "centre"])
def test_vectors_of_curves_add_up_over_the_parts_of_a_table(missing: str) -> None:
    load = {"space": "curves", "points": 5, "low": 0, "high": 2, "terms": 3, "missing": missing}
    plan = Plan.from_dict({"privacy": {"epsilon": 600}, "columns": {"sex": SEX, "load": load}})
    loads = [[n % 3 / 2, 1.0, 2.0, n / 9, 0.5] for n in range(9)]
    source = open_source(pa.table({"sex": ["f", "m", "f"] * 3, "load": loads}))

    def spread(columns: Any, work: Any, **ways: Any) -> list[bytes]:
        (batch,) = source.read(columns)
        return [work(iter([part])) for part in (batch[:4], batch[4:4], batch[4:])]

    sql = "SELECT sex, avg(load) FROM data GROUP BY sex"
    schema = schema_of(plan)
    measurement = measured_for(sql, schema, Privacy(1))
    counted = tally(source, plan, measurement)
    assert tally(replace(source, spread=spread, relation=lambda: None), plan, measurement) == counted
    assert counted.rows == 9 and all(map(any, counted.vectors[:2]))
    assert counted.vectors[0][-1] == 2 * counted.vectors[1][-1]  # six rows of f, three of m: the weighted count


@pytest.mark.parametrize("cuts", [[], [0, 6], [0, 2, 2, 6]])
def test_sums_and_choices_add_up_over_however_many_parts(cuts: list[int]) -> None:
    age = {"space": "interval", "low": 0, "high": 9, "step": 1}
    plan = Plan.from_dict({"privacy": {"epsilon": 9}, "columns": {"sex": SEX, "age": age}})
    table = pa.table({"sex": ["f", "m", "f"] * 2, "age": [1, 2, 1, 4, 9, 1]})
    source, schema = open_source(table if cuts else table[:0]), schema_of(plan)

    def spread(columns: Any, work: Any, **ways: Any) -> list[bytes]:
        return [work(iter(table[a:b].select(columns).combine_chunks().to_batches())) for a, b in pairwise(cuts)]

    sql = "SELECT sex, count(*) AS n, sum(age) AS s, median(age) AS m FROM data GROUP BY sex"
    measurement = measured_for(sql, schema, Privacy(1))
    counted = tally(source, plan, measurement)
    assert tally(replace(source, spread=spread, relation=lambda: None), plan, measurement) == counted
    assert counted.rows == (6 if cuts else 0)
