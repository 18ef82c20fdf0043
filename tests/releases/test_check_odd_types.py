"""No type of a column and no value of it stops a check, of a plan or of a draft."""

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

import dproof as dp

_FAR = 1 << 60
_COLUMNS = {
    "struct": pa.array([{"a": 1}, None]),
    "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
    "lists": pa.array([["a", "b"], None]),
    "two numbers": pa.array([[1.0, 2.0], None], pa.list_(pa.float64(), 2)),
    "lists of lists": pa.array([[[1]], None]),
    "a far day": pa.array([10**7, None], pa.int32()).cast(pa.date32()),
    "a far moment": pa.array([_FAR, None]).cast(pa.timestamp("s")),
    "a far zone": pa.array([1, None]).cast(pa.timestamp("s", "Mars/Base")),
    "a long time": pa.array([_FAR, None]).cast(pa.duration("s")),
    "time": pa.array([datetime.time(1, 2), None]),
    "long decimal": pa.array([Decimal(10) ** 70, None], pa.decimal256(76, 0)),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array([1])),
    "union": pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]),
    "huge numbers": pa.array(["1e400", "-1e400"]),
    "days beyond the calendar": pa.array(["9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59"]),
}
_SPACES = {
    "interval": ({"low": "?", "high": "?"}, {"low": 0, "high": 10}),
    "date": ({"low": "?", "high": "?"}, {"low": "2020-01-01", "high": "2021-01-01"}),
    "categories": ({"values": []}, {"values": ["a", "x"]}),
    "subsets": ({"values": []}, {"values": ["a", "x"]}),
    "curves": ({"low": "?", "high": "?", "points": 2}, {"low": 0, "high": 1, "points": 2}),
}


@pytest.mark.parametrize("space", _SPACES)
@pytest.mark.parametrize("name", _COLUMNS)
def test_a_column_is_counted_or_refused_in_a_sentence(name, space):
    for keys in _SPACES[space]:
        columns = {"v": {"space": space, **keys}, "sex": {"space": "categories", "values": ["f", "m"]}}
        table = pa.table({"v": _COLUMNS[name], "sex": ["f", "m"]})
        try:
            found = dp.check(table, {"privacy": {"epsilon": 1}, "columns": columns})
        except dp.errors.SourceError as refused:
            assert "column" in str(refused)
        else:
            assert found.rows == 2


def test_days_beyond_the_calendar_and_numbers_beyond_floats_bound_nothing():
    columns = {"day": {"space": "date", "low": "?", "high": "?"}, "pay": {"space": "interval", "low": "?", "high": "?"}}
    table = pa.table({"day": ["9999-12-31T23:59:59-23:59", "2024-05-01"], "pay": ["1e400", "7"]})
    found = dp.check(table, {"privacy": {"epsilon": 1}, "columns": columns})
    assert [one.keys for one in found.suggestions] == [
        {"low": datetime.date(2024, 1, 1), "high": datetime.date(9999, 12, 31)},
        {"low": 7, "high": 7},
    ]


def test_a_person_is_named_by_one_value():
    plan = {
        "privacy": {"epsilon": 1, "person": "who", "rows_per_person": 2},
        "columns": {"who": {"drop": True}, "sex": {"space": "categories", "values": ["f", "m"]}},
    }
    with pytest.raises(dp.errors.SourceError, match="'who'"):
        dp.check(pa.table({"who": pa.array([{"a": 1}, {"a": 2}]), "sex": ["f", "m"]}), plan)


def test_a_format_that_the_plan_has_is_not_advised_again():
    columns = {"day": {"space": "date", "low": "2024-01-01", "high": "2024-12-31", "format": "%d.%m.%Y"}}
    found = dp.check(pa.table({"day": ["30.02.2024", "31.04.2024"]}), {"privacy": {"epsilon": 1}, "columns": columns})
    assert not any("add format" in hint for hint in found.hints)
    persian = dp.check(pa.table({"day": ["٣.٣.2024", "٤.٤.2024"]}), {"privacy": {"epsilon": 1}, "columns": columns})
    assert not any("add format" in hint for hint in persian.hints)
