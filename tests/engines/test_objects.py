"""A column of objects has no type of its own, and no row may decide how the others are read."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas
import pyarrow as pa
import pytest

from dproof import InputError
from dproof.columns.values import single
from dproof.plans.reader import Reader, read_column
from dproof.plans.rows import counted_rows
from dproof.tables import open_source

OBJECTS: list[Any] = [
    *(True, np.True_, False, 1, 0, 1.0, 0.15, -0.0, 1e300, 2**70, 2**53 + 1, np.float32(0.15), np.int8(1)),
    *(float("nan"), float("inf"), None, pandas.NA, pandas.NaT, "a", "1", "True", "", "\ud800", b"a", b"\xff"),
    *(Decimal("1.0"), Decimal("0.150"), Decimal("1E+5"), Decimal("NaN"), date(2020, 1, 1), datetime(2020, 1, 1)),
    *(pandas.Timestamp("2020-01-01 00:00:00.000000001"), pandas.Timedelta(1), 1j),
]
TEXTS = ["1", "1.0", "1.00", "true", "True", "a", "b'a'", "-0.0", "0", "2020-01-01 00:00:00", "1e+300"]
COLUMNS: dict[str, dict[str, Any]] = {
    "texts": {"space": "categories", "values": TEXTS, "outside": "category", "missing": "category"},
    "numbers": {
        "space": "categories",
        "values": [0, 1, 0.15],
        "outside": "category",
        "outside_value": 9,
        "missing": "category",
    },
    "interval": {"space": "interval", "low": 0, "high": 1, "step": "0.1", "missing": "0.5"},
    "set": {"space": "subsets", "values": ["a", "1", "true"], "separator": ";", "outside": "clamp", "missing": []},
    "flags": {"space": "subsets", "columns": ["x", "y"], "outside": "clamp", "missing": ["x"]},
}


def _pandas(values: list[Any]) -> Any:
    return pandas.DataFrame({"x": pandas.Series(values, dtype=object)})


def _numpy(values: list[Any]) -> Any:
    array = np.empty(len(values), [("x", object)])
    array["x"] = values
    return array


@pytest.mark.parametrize("frame", [_pandas, _numpy])
@pytest.mark.parametrize("name", COLUMNS)
def test_no_row_decides_how_another_is_read(frame: Any, name: str) -> None:
    column = read_column("x", Reader(COLUMNS[name], ()))
    treat = column.encoder()

    def codes(*values: Any) -> list[int]:
        (batch,) = open_source(frame(list(values))).read(["x"])
        found: list[int] = treat([batch.column(0)] * len(column.sources)).tolist()
        return found

    alone = [codes(value)[0] for value in OBJECTS]
    for value, code in zip(OBJECTS, alone, strict=True):
        for other, others in zip(OBJECTS, alone, strict=True):
            assert codes(value, other) == [code, others], (value, other)


def test_what_lies_under_a_mask_is_missing() -> None:
    array = np.ma.array([(1, "a"), (2, "b")], mask=[(True, False), (False, True)], dtype=[("x", int), ("y", "U1")])
    (batch,) = open_source(array).read(["x", "y"])
    assert batch.to_pydict() == {"x": [None, 2], "y": ["a", None]}


def test_categories_are_objects_but_for_numbers_texts_and_truth_values() -> None:
    days = pandas.Series(pandas.to_datetime(["2020-01-01", "2020-01-02"])).astype("category")
    mixed = pandas.Series(pandas.Categorical([True, "x"], categories=[True, "x"]))
    (batch,) = open_source(pandas.DataFrame({"x": days, "y": mixed})).read(["x", "y"])
    assert single(batch.column("x")).to_pylist() == [b"2020-01-01 00:00:00", b"2020-01-02 00:00:00"]
    assert single(batch.column("y")).to_pylist() == [b"true", b"x"]


def test_a_dictionary_may_be_as_long_as_its_index_can_tell() -> None:
    items = [str(n) for n in range(128)]
    lists = pa.ListArray.from_arrays(
        pa.array([0, 1, 128], pa.int32()),
        pa.DictionaryArray.from_arrays(pa.array(range(128), pa.int8()), pa.array(items)),
    )
    column = read_column("x", Reader({"space": "subsets", "values": ["0", "127"], "outside": "clamp"}, ()))
    assert column.encoder()([lists]).tolist() == [1, 2]


def test_persons_of_several_types_are_refused_in_words() -> None:
    with pytest.raises(InputError, match="int64 and string"):
        counted_rows([pa.array([1]), pa.array(["1"])], 1)
