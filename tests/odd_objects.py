"""Objects that no column should hold, plans that treat each of them, and frames of objects."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest

import dproof.tables.engines


class Sex(str, enum.Enum):  # noqa: UP042 - as people wrote it before StrEnum, with another str()
    F = "f"
    M = "m"


class Level(int, enum.Enum):
    LOW = 1


class Plain(enum.Enum):
    A = "a"


class Text(str):
    def __str__(self) -> str:
        return "something else"


class Number(float):
    pass


class Unreadable:
    def __str__(self) -> str:
        raise RuntimeError("a private value")


_released = memoryview(b"a")
_released.release()
ODD: list[Any] = [
    *(None, float("nan"), pandas.NA, pandas.NaT, np.float32("nan"), np.datetime64("NaT"), np.timedelta64("NaT")),
    *(Decimal("NaN"), Decimal("sNaN"), np.ma.masked, "", b"", [], (), np.array([]), [None], [float("nan")]),
    *(Sex.F, Sex.M, Level.LOW, Plain.A, Text("a"), Number(0.5), np.str_("a"), np.bytes_(b"a"), Unreadable()),
    *("f", "m", "a", "1", "0.5", "true", "True", "inf", "-Infinity", " 1 ", "1/2", "a;f", "\ud800", "ä", "x" * 99),
    *(b"a", b"\xff", bytearray(b"a"), memoryview(b"a"), memoryview(b"abc")[::2], _released),
    *(True, False, np.True_, 0, 1, -1, 2, 2**53 + 1, 2**63, 2**70, -(10**100), 10**5000),
    *(np.int8(1), np.uint64(2**64 - 1), np.float16(0.5), np.float32(0.1), np.float64(0.5), np.longdouble(1) / 3),
    *(np.longdouble("1e4000"), np.complex64(1), 1j, 0.0, -0.0, 0.5, 1.0, 0.15, 0.7, 1e300, 5e-324, 1e16, 1e15),
    *(float("inf"), -float("inf"), np.float32("inf"), Decimal("Infinity"), Decimal("0.50"), Decimal("1E+5")),
    *(Fraction(1, 2), Fraction(1, 3), Fraction(10**400), dt.date(2020, 1, 1), dt.time(1), dt.datetime(2020, 1, 1)),
    *(dt.timedelta(1), pandas.Timestamp("2020-01-01", tz="UTC"), pandas.Timedelta(1), pandas.Period("2020", "Y")),
    *(np.datetime64("2020-01-01"), np.datetime64(1, "ns"), np.timedelta64(1, "D"), pandas.Interval(0, 1)),
    *(uuid.UUID(int=1), {"a": 1}, {}, object, np.array(1), np.array("a"), np.void(b"a")),
    *(["a"], ["a", "f"], ("a",), {"a"}, frozenset({"f"}), [1], [True], [True, False], [Sex.F], [b"a"], ["1", 1, 1.0]),
    *([0.5, 1], [0.5, 1.0], [0.5, None], [0.5, "1"], [0.5, "x"], [0.5, float("inf")], [0.5], [0.5, 1, 0], [["a"], 1]),
    *(np.array([0.5, 1]), np.array([1, 0]), np.array(["a", "f"]), np.array([True, False]), np.array([[0.5, 1]])),
    *(np.array(["a", None], object), np.array([0.5, 1], np.float32), np.ma.array([0.5, 1], mask=[True, False])),
    *(pandas.Series([0.5, 1]), polars.Series(["a"]), pa.array([0.5, 1])),
]
COLUMNS: dict[str, dict[str, Any]] = {
    "texts": {
        "space": "categories",
        "values": ["f", "m", "a", "1", "0.5", "true", "inf", "['a']", "(0, 1]", "2020-01-01"],
        "outside": "category",
        "missing": "category",
    },
    "numbers": {"space": "categories", "values": [0, 1, 0.5], "outside": "category", "outside_value": 9, "missing": 0},
    "truths": {
        "space": "categories",
        "values": [True, False],
        "outside": "category",
        "outside_value": True,
        "missing": False,
    },
    "interval": {"space": "interval", "low": 0, "high": 1, "step": "0.01", "missing": "0.33"},
    "joined": {"space": "subsets", "values": ["a", "f", "1"], "separator": ";", "outside": "clamp", "missing": ["f"]},
    "list": {"space": "subsets", "values": ["a", "f", "1", "true"], "outside": "clamp", "missing": ["f"]},
    "flags": {"space": "subsets", "columns": ["x", "a"], "outside": "clamp", "missing": ["x"]},
    "wide": {"space": "curves", "columns": ["x", "y"], "low": 0, "high": 1, "terms": 1, "missing": "centre"},
    "curves": {"space": "curves", "points": 2, "low": 0, "high": 1, "terms": 1, "missing": "centre"},
    # What the plan refuses is a gap where the curator counts.
    "gaps": {"space": "categories", "values": ["f", "m", "a", "1"]},
    "flags of gaps": {"space": "subsets", "columns": ["x - yes", "a"]},
    # No float is exactly at these bounds.
    "bounds of gaps": {"space": "interval", "low": "0.15", "high": "0.7", "step": "0.05", "outside": "refuse"},
    "list of gaps": {"space": "subsets", "values": ["a", "f", "1"]},
    "curves of gaps": {"space": "curves", "points": 2, "low": 0, "high": 1, "terms": 1, "outside": "refuse"},
}


def _filled(values: Sequence[Any]) -> Any:
    """An array of objects that looks into none of them."""
    array = np.empty(len(values), object)
    for place, value in enumerate(values):
        array[place] = value
    return array


def _pandas(columns: Mapping[str, Sequence[Any]]) -> Any:
    return pandas.DataFrame({name: pandas.Series(_filled(column), dtype=object) for name, column in columns.items()})


def _numpy(columns: Mapping[str, Sequence[Any]]) -> Any:
    (rows,) = {len(column) for column in columns.values()}
    array = np.empty(rows, [(name, object) for name in columns])
    for name, column in columns.items():
        array[name] = _filled(column)
    return array


def _polars(columns: Mapping[str, Sequence[Any]]) -> Any:
    def series(given: Sequence[Any]) -> Any:
        # Polars looks at the first object to see what the others are: this one tells it nothing, and is left out.
        return polars.Series([object(), *given], dtype=polars.Object).slice(1)

    return polars.DataFrame({name: series(given) for name, given in columns.items()})


FRAMES: dict[str, Callable[[Mapping[str, Sequence[Any]]], Any]] = {
    "pandas": _pandas,
    "numpy": _numpy,
    "polars": _polars,
    "lazy": lambda columns: _polars(columns).lazy(),
}


@contextmanager
def batches_of(rows: int) -> Iterator[None]:
    """Have every engine cut its rows into batches of so many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dproof.tables.engines, "BATCH_ROWS", rows)
        yield
