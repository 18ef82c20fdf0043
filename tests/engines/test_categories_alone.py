"""What a row of a pandas Categorical means does not depend on the type that all its categories happen to share."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas
import pytest

from dproof.columns.values import written
from dproof.plans.reader import Reader, read_column
from dproof.plans.rows import counted_rows
from dproof.tables import open_source
from tests.engines.test_objects_alone import READERS
from tests.odd_objects import batches_of

VALUES = [
    *(pandas.Timestamp("2020-01-01"), pandas.Timestamp("2020-01-01 01:02:03.5"), pandas.Timedelta("1D")),
    *(
        pandas.Timestamp("2020-01-01", tz="UTC"),
        dt.date(2020, 1, 1),
        pandas.Period("2020-01"),
        pandas.Interval(0.5, 1.5),
    ),
    *(0.15, 0.7, 1, 10**16, 1e16, 1e23, 1e300, True, False, "a", "0.5", b"a", np.float32(0.1)),
]


def _column(values: list[Any], kind: str | None = "category") -> list[Any]:
    frame = pandas.DataFrame({"x": pandas.Series(values).astype(kind)})
    return [batch.column(0) for batch in open_source(frame).read(["x"])]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{type(value).__name__} {value!a}")
def test_a_category_is_read_alike_whatever_the_others_are(value: Any) -> None:
    for name, read in READERS.items():
        if "list" in name or "curves" in name or name in ("wide", "person"):
            continue  # lists are no categories, truth values no points of curves, and persons only told apart
        found = {read(_column([value] * 3 + others))[0] for others in ([], [None], ["x"], [b"x"], [2.5])}
        assert len(found) == 1, name


@pytest.mark.parametrize("value", [value for value in VALUES if not isinstance(value, bytes)], ids=ascii)
def test_a_category_is_the_text_that_it_is_written_as(value: Any) -> None:
    table = {"space": "categories", "values": [written(value), "zz"], "outside": "category", "missing": "category"}
    treat = read_column("x", Reader(table, ())).encoder()
    for others in ([], [None], ["x"], [b"x"], [2.5]):
        (array,) = _column([value] * 3 + others)
        assert treat([array]).tolist()[:3] == [0] * 3


@pytest.mark.parametrize("number", [0, 7, -3, 10**15, 10**16, -(10**16), 10**19, 3 * 10**22, 10**23])
def test_a_whole_number_is_written_alike_in_every_type(number: int) -> None:
    assert written(number) == written(float(number)) == written(np.float64(number)) == str(number)


def test_a_person_that_is_no_text_changes_nothing_for_the_others() -> None:
    persons = ["p", "q", "p", "r", "\ud800", "q"]
    frame = pandas.DataFrame({"x": pandas.Series(persons, dtype=pandas.StringDtype("python"))})
    with batches_of(3):
        arrays = [batch.column(0) for batch in open_source(frame).read(["x"])]
    assert counted_rows(arrays, 1).sum() == 4
