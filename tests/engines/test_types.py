"""A column is read or refused by its type: where one value of it is read, every other is, alone or among others."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dproof.errors import InputError
from dproof.sanitisation.column import read_column
from dproof.sanitisation.reader import Reader
from dproof.sanitisation.treatment import treatment

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


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: str(array.type))
@pytest.mark.parametrize("name", COLUMNS)
def test_a_type_is_read_or_refused_whatever_it_holds(array: Any, name: str) -> None:
    column = read_column("x", Reader(COLUMNS[name], ()))
    treat = treatment(column)

    def codes(part: Any) -> Any:
        try:
            return treat([part] * len(column.sources)).tolist()
        except (InputError, TypeError, pa.ArrowException):  # the last two are told as a refusal of the type
            return None

    alone = [codes(array.slice(n, 1)) for n in range(len(array))]
    together = codes(array)
    assert (alone == [None] * len(array)) if together is None else ([code for (code,) in alone] == together)
