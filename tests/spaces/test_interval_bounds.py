"""A float means its shortest decimal, also at a bound that no float is: alone, beside texts, and in a typed column."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dproof import Interval
from dproof.columns.values import object_array
from dproof.plans.reader import Reader, read_column

BOUNDS = [
    ("0.3", "0.7", "0.1"),
    ("-0.7", "0.3", "0.1"),
    ("0.1", "0.1", None),
    ("1/3", "2/3", "1/3"),
    ("0.30000000000000004", "0.7", None),
    ("16777217", "16777219", "1"),
    (2**59 + 1, 2**59 + 131, 1),
    (2**53 + 1, 2**53 + 1, None),
]


def _at(number: Any, kind: Any) -> list[Any]:
    """The floats nearest to a number, and those around it."""
    near = kind(Fraction(number))
    steps = [near]
    for end in (-np.inf, np.inf):
        value = near
        for _ in range(3):
            value = np.nextafter(value, kind(end))
            steps.append(value)
    return steps


def _inside(space: Interval, value: Any) -> bool:
    return bool(np.isfinite(value)) and space.low <= Fraction(str(value)) <= space.high


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_float_is_inside_as_its_shortest_decimal_is(bounds: Any, kind: Any) -> None:
    space = Interval(*bounds)
    ends = [*_at(bounds[0], kind), *_at(bounds[1], kind), kind(0), kind(np.inf), kind(-np.inf), np.finfo(kind).max]
    values = np.array(ends, kind)
    assert space.holds(values).tolist() == [_inside(space, value) for value in values]
    codes = space.encode(values, clamp=True).tolist()
    for value, code in zip(values, codes, strict=True):
        number = Fraction(str(value)) if np.isfinite(value) else Fraction(10**50) * int(np.sign(value))
        assert code == space.nearest(number)


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
@example(data=None)
def test_typed_floats_objects_and_texts_are_read_alike(bounds: Any, data: Any) -> None:
    low, high, step = map(str, bounds)
    table = {"space": "interval", "low": low, "high": high, "outside": "refuse"}
    if bounds[2] is not None:
        table["step"] = step
    treat = read_column("x", Reader(table, ())).with_missing_allowed().encoder()
    at = [float(x) for end in bounds[:2] for x in _at(end, np.float64)]
    values = at if data is None else data.draw(st.lists(st.one_of(st.sampled_from(at), st.floats()), min_size=1))
    texts = pa.array([None if value != value else repr(value) for value in values])
    expected = treat([texts]).tolist()
    assert treat([pa.array(values)]).tolist() == expected
    assert treat([object_array(values)]).tolist() == expected
    assert treat([object_array([*values, "x"])]).tolist()[:-1] == expected
    assert [code for value in values for code in treat([object_array([value])]).tolist()] == expected


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint64])
def test_whole_numbers_are_compared_in_whole_numbers(kind: Any) -> None:
    ends = np.iinfo(kind)
    values = np.array([ends.min, 0, 1, 100, ends.max], kind)
    for low, high in (("0.3", "100.3"), (-1, 2**70), (-(2**70), "0.5"), (1, 100)):
        space = Interval(low, high)
        assert space.holds(values).tolist() == [space.low <= int(value) <= space.high for value in values]
