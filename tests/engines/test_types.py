"""A column is read or refused by its type: where one value of it is read, every other is, alone or among others."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet
import pytest

import dproof as dp
import dproof.tables.engines
import dproof.tables.source
from dproof import InputError
from dproof.columns.codec import Column
from dproof.plans.reader import Reader, read_column
from dproof.tables import open_source

_ENDS, _FLOATS = [2**63 - 1, -(2**63), 0, None], [0.15, -0.0, float("nan"), float("inf"), float("-inf"), None]
_TEXTS = ["", "1", "1e999", "-1e999", "+.5e-500", "nan", "-inf", "a;b", "x" * 10**5, "1" * 70, "١", "1/0", "\0", None]
ARRAYS = [
    *(pa.array([0, 1, 127, None], kind) for kind in (pa.int8(), pa.uint8(), pa.int64())),
    *(pa.array([0, 1, 2**64 - 1, None], pa.uint64()), pa.array(_ENDS, pa.int64())),
    *(pa.array(_FLOATS, kind) for kind in (pa.float32(), pa.float64())),
    pa.array(np.array(_FLOATS[:-1], np.float16)),
    *(pa.array(_TEXTS, kind) for kind in (pa.string(), pa.large_string(), pa.string_view())),
    *(pa.array([b"", b"1", b"\xff", None], kind) for kind in (pa.binary(), pa.large_binary(), pa.binary_view())),
    *(pa.nulls(2), pa.array([True, False, None]), pa.array([b"ab", b"\xff\xfe"], pa.binary(2))),
    pa.array([Decimal("0.15"), Decimal("9" * 36), None], pa.decimal128(38, 2)),
    pa.array([Decimal("9" * 76), None], pa.decimal256(76, 0)),
    pa.array([2**31 - 1, -(2**31), None], pa.int32()).view(pa.date32()),
    *(pa.array(_ENDS).view(kind) for kind in (pa.date64(), pa.timestamp("ns"), pa.time64("ns"), pa.duration("s"))),
    *(pa.array(_ENDS).view(pa.timestamp("us", zone)) for zone in ("Europe/Berlin", "No/Where")),
    pa.array([["a"], ["q", None], [], None]),
    pa.array([[1.0, 2.0], [1.0], [None, float("nan")], [float("inf"), -1e308], None]),
    pa.array([[1.0, 2.0], [None, 1.0], None], pa.list_(pa.float64(), 2)),
    pa.array([{"a": 1}, None]),
    pa.DictionaryArray.from_arrays(pa.array([0, None, 1], pa.uint8()), pa.array([1, 2**62])),
    pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["a", None])),
    pa.DictionaryArray.from_arrays(pa.array([0, 127, None], pa.int8()), pa.array(list(map(str, range(128))))),
    pa.DictionaryArray.from_arrays(pa.array([0, 1, 1]), pa.array(["a", "a"], pa.string_view())),
    *(pa.array([[], [None], None], pa.list_(pa.null())), pa.array([[True], [False, None], None])),
    *(
        pa.array([[1], [2**53 + 1, 0], None]),
        pa.array([[b"a", b"\xff"], []]),
        pa.array([["a"], None], pa.list_view(pa.string())),
    ),
    pa.array([[["a"]], None]),
    pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
    pa.array([(1, 2, 3), None], pa.month_day_nano_interval()),
    pa.UnionArray.from_dense(
        pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([1]), pa.array(["a"])]
    ),
    pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 0]), pa.array(["1", "a"])]),
    pa.RunEndEncodedArray.from_arrays([2, 3], ["a", None]),
    pa.array([b"0" * 16, None], pa.uuid()),
    pa.array(['"a"', None], pa.json_()),
    pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, 1, None], pa.int8())),
]
COLUMNS: dict[str, dict[str, Any]] = {
    "texts": {"space": "categories", "values": ["1", "true"], "outside": "category", "missing": "category"},
    "numbers": {"space": "categories", "values": [0, 1], "outside": "category", "outside_value": 9, "missing": 0},
    "truths": {
        "space": "categories",
        "values": [True, False],
        "outside": "category",
        "outside_value": True,
        "missing": False,
    },
    "interval": {"space": "interval", "low": 0, "high": 1, "step": "0.1", "missing": "0.5"},
    "joined": {"space": "subsets", "values": ["a", "1"], "separator": ";", "outside": "clamp", "missing": []},
    "list": {"space": "subsets", "values": ["a", "1"], "outside": "clamp", "missing": []},
    "flags": {"space": "subsets", "columns": ["x", "y"], "outside": "clamp", "missing": ["x"]},
    "wide": {"space": "curves", "columns": ["x", "y"], "low": 0, "high": 1, "terms": 1, "missing": "centre"},
    "curves": {"space": "curves", "points": 2, "low": 0, "high": 1, "terms": 1, "missing": "centre"},
}


def _codes(column: Column, array: Any) -> Any:
    """The codes of a column, or None where its type is refused."""
    try:
        return column.encoder()([array] * len(column.sources)).tolist()
    except (InputError, TypeError, pa.ArrowException):  # the last two are told as a refusal of the type
        return None


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: str(array.type))
@pytest.mark.parametrize("name", COLUMNS)
def test_a_type_is_read_or_refused_whatever_it_holds(array: Any, name: str) -> None:
    column = read_column("x", Reader(COLUMNS[name], ()))
    alone = [_codes(column, array.slice(n, 1)) for n in range(len(array))]
    together = _codes(column, array)
    assert (alone == [None] * len(array)) if together is None else ([code for (code,) in alone] == together)


def _relation(array: Any) -> Any:
    return duckdb.connect().from_arrow(pa.table({"x": array}))


@pytest.mark.parametrize(
    "make", [lambda a: pa.table({"x": a}), lambda a: polars.from_arrow(pa.table({"x": a})), _relation]
)
def test_where_a_batch_ends_changes_nothing(make: Any) -> None:
    """Every engine that has types: rows in one batch, or each in a batch of its own."""
    for array in (a for a in ARRAYS if not pa.types.is_decimal256(a.type)):  # on which Polars panics
        try:
            whole = make(array)
            (batch,) = open_source(whole).read(["x"])
        except (
            pa.ArrowException,
            duckdb.Error,
            polars.exceptions.PolarsError,
            InputError,
            ValueError,
            NotImplementedError,
        ):
            continue  # a type that the engine has not got
        with pytest.MonkeyPatch.context() as patch:
            for module in (dproof.tables.engines, dproof.tables.source):
                patch.setattr(module, "BATCH_ROWS", 1)
            parts = list(open_source(whole).read(["x"]))
        assert [part.num_rows for part in parts] == [1] * batch.num_rows
        for name, given in COLUMNS.items():
            column = read_column("x", Reader(given, ()))
            found = [_codes(column, one.column(0)) for one in (batch, *parts)]
            together = found[0] and [[code] for code in found[0]]
            assert found[1:] == (together or [None] * len(parts)), (str(array.type), name)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("far", [2**63 - 1, -(2**63) + 1])
def test_a_moment_beyond_all_calendars_stops_nothing(unit: str, far: int) -> None:
    moments = pa.array([0, far, 0], pa.int64()).cast(pa.timestamp(unit)).dictionary_encode()
    column = {"space": "categories", "values": ["a"], "outside": "category", "missing": "category"}
    plan = {"privacy": {"epsilon": 1}, "columns": {"x": column}}
    assert dp.sanitise(pa.table({"x": moments}), plan).rows == 3


@pytest.mark.parametrize("space", ["categories", "interval", "date"])
def test_a_dictionary_behind_several_batches_is_looked_up_once(space: str, monkeypatch: pytest.MonkeyPatch) -> None:
    declared: dict[str, dict[str, Any]] = {
        "categories": {"values": ["1", "2"], "outside": "category"},
        "interval": {"low": 0, "high": 9, "step": 1},
        "date": {"low": date(2024, 1, 1), "high": date(2024, 1, 9), "missing": date(2024, 1, 1)},
    }
    plan = dp.Plan.from_dict({"privacy": {"epsilon": 1}, "columns": {"x": {"space": space, **declared[space]}}})
    codec, looked_up = plan.column("x").codec, list[int]()
    lookups = type(codec).lookups

    def counted(self: Any, values: Any) -> Any:
        looked_up.append(len(values))
        return lookups(self, values)

    monkeypatch.setattr(type(codec), "lookups", counted)
    whole = pa.array(["1", "2", "3"] * 40).dictionary_encode()
    codes = [codec.encode([whole.slice(start, 30)]) for start in range(0, 120, 30)]
    assert looked_up == [3]
    other = pa.array(["3", "2", "1"] * 10).dictionary_encode()
    assert codec.encode([other]).tolist() == codec.encode([other.cast(pa.string())]).tolist()
    assert all(part.tolist() == codes[0].tolist() for part in codes)


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("(pow(2::DOUBLE, 127)::UHUGEINT + 5)", None),
        ("340282366920938463463374607431768211455::UHUGEINT", None),
        ("5::UHUGEINT", "5"),
        ("'101'::BIT", None),
        ("'1'::BIT", "1"),
        ("TIMETZ '24:00:00+00'", None),
    ],
)
def test_what_arrow_has_no_type_for_is_read_as_its_text(sql: str, value: str | None) -> None:
    """DuckDB hands the largest of these to Arrow as -1, and bits as bytes."""
    plan = {
        "privacy": {"epsilon": 800},
        "order": "keep",
        "columns": {
            "x": {"space": "interval", "low": -10, "high": 10, "step": 1, "outside": "clamp", "missing": -10},
            "many": {"space": "subsets", "values": ["-1", "1", "5"], "outside": "clamp", "missing": []},
        },
    }
    made = dp.sanitise(duckdb.sql(f"SELECT {sql} AS x, [{sql}] AS many"), plan).to_arrow().to_pylist()
    assert made == [{"x": int(value or (-10 if "TZ" in sql else 10)), "many": [value] if value else []}]


LISTS = pa.table({"x": pa.array([[1, 2], [3]])})


def _in_parquet(folder: Path) -> Path:
    """A folder of which only the last file has the type."""
    (rows := folder / "rows").mkdir()
    pyarrow.parquet.write_table(pa.table({"x": [1, 2]}), rows / "1.parquet")
    pyarrow.parquet.write_table(LISTS, rows / "2.parquet")
    return rows


def _in_duckdb(folder: Path) -> Path:
    with duckdb.connect(str(folder / "rows.duckdb")) as database:
        database.execute("CREATE TABLE t AS SELECT unnest([[1, 2], [3]]) AS x")
    return folder / "rows.duckdb"


@pytest.mark.parametrize("model", ["ask", "local", "central"])
@pytest.mark.parametrize(
    "make",
    [
        lambda folder: LISTS,
        lambda folder: LISTS.to_reader(),
        lambda folder: LISTS.to_pandas(types_mapper=pandas.ArrowDtype),
        lambda folder: polars.from_arrow(LISTS),
        lambda folder: polars.from_arrow(LISTS).lazy(),
        lambda folder: duckdb.sql("SELECT unnest([[1, 2], [3]]) AS x"),
        _in_duckdb,
        _in_parquet,
    ],
    ids=["arrow", "stream", "pandas", "polars", "lazy", "relation", "duckdb", "folder"],
)
def test_a_type_that_holds_no_such_values_is_refused_before_anything_is_paid(
    make: Any, model: str, tmp_path: Path
) -> None:
    plan = {
        "privacy": {"epsilon": 1, "model": "central" if model == "central" else "local"},
        "columns": {"x": {"space": "interval", "low": 0, "high": 9, "step": 1, "missing": 0, "outside": "clamp"}},
    }
    ledger, out = tmp_path / "ledger", tmp_path / "release"
    with pytest.raises(InputError, match=r"'x' has the type .*list<.*, which holds no such values"):
        if model == "ask":
            dp.Curator(make(tmp_path), plan, ledger=ledger).ask("SELECT sum(x) FROM data", epsilon=1)
        else:
            dp.sanitise(make(tmp_path), plan, out, payment=dp.ReleasePayment(ledger, out))
    assert not dp.Ledger.is_begun(ledger) or dp.Ledger(ledger).is_unspent
