"""What an object means depends on that object and the plan alone: not on the other rows, nor on where a batch ends."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dproof.columns.values import _bytes, object_array, single, texts
from dproof.local.draw import _plain
from dproof.plans.reader import Reader, read_column
from dproof.plans.rows import counted_rows
from dproof.tables import open_source
from tests.odd_objects import COLUMNS, FRAMES, ODD, Sex, batches_of


def _batches(frame: Any, rows: int) -> list[Any]:
    """The column as it is read in batches of so many rows."""
    with batches_of(rows):
        return [batch.column(0) for batch in open_source(frame).read(["x"])]


def _of(values: list[Any]) -> Any:
    return FRAMES["pandas"]({"x": values})


def _reader(name: str) -> Callable[[list[Any]], list[Any]]:
    """What becomes of the arrays of a column under a plan: codes, persons as they are told apart, or public values."""
    if name == "person":
        return lambda arrays: [text for array in arrays for text in texts(array).to_pylist()]
    if name == "public":
        return lambda arrays: [text for array in arrays for text in _plain("x", array).to_pylist()]
    column = read_column("x", Reader(COLUMNS[name], ()))
    if "gaps" in name:
        column = column.with_missing_allowed()
    treat = column.encoder()
    return lambda arrays: [code for array in arrays for code in treat([array] * len(column.sources)).tolist()]


READERS = {name: _reader(name) for name in [*COLUMNS, "person"]}
_SCALARS = st.one_of(
    st.integers(0, len(ODD) - 1).map(lambda n: ODD[n]),
    *(st.text(max_size=3), st.integers(), st.floats(), st.booleans(), st.binary(max_size=3)),
    *(st.decimals(), st.fractions(), st.dates(), st.datetimes(), st.timedeltas(), st.times(), st.complex_numbers()),
)
OBJECTS = st.one_of(_SCALARS, _SCALARS, st.lists(_SCALARS, max_size=3), st.tuples(_SCALARS, _SCALARS))


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
@settings(max_examples=15, deadline=None)
@given(values=st.lists(OBJECTS, min_size=1, max_size=8), rows=st.integers(1, 4))
@example(values=ODD, rows=10**6)
@example(values=ODD[::-1], rows=7)
@example(values=[Sex.F] * 5 + ["m"], rows=10)
@example(values=[Sex.F] * 5 + [7], rows=10)
def test_what_is_read_is_what_would_be_read_alone(frame: Any, values: list[Any], rows: int) -> None:
    whole = _batches(frame({"x": values}), rows)
    alone = [array for value in values for array in _batches(frame({"x": [value]}), 1)]
    for name, read in READERS.items():
        for value, found, expected in zip(values, read(whole), read(alone), strict=True):
            assert found == expected, (name, type(value))


@settings(max_examples=60, deadline=None)
@given(values=st.lists(st.one_of(st.text(max_size=3), st.integers(), st.floats(), st.none()), min_size=1, max_size=6))
def test_public_objects_are_stored_as_texts(values: list[Any]) -> None:
    read = _reader("public")
    whole = _batches(_of(values), 4)
    assert {array.type for array in map(texts, whole)} == {pa.large_binary()}
    assert read(whole) == [text for value in values for text in read(_batches(_of([value]), 1))]


_OF_ONE_KIND = [
    *(st.text(max_size=3), st.integers(), st.integers(0, 3), st.integers(-(2**63), 2**63 - 1)),
    *(st.booleans(), st.integers(-(2**63), 2**63 - 1).map(np.int64), st.integers(-(2**54), 2**54).map(float)),
    *(st.floats(), st.floats().map(np.float64), st.sampled_from([0.0, 1.0, 0.5, -0.0, 1e15, 1e16, float("inf")])),
]


@pytest.mark.parametrize("kind", range(len(_OF_ONE_KIND)))
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_usual_types_are_written_as_all_are(kind: int, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.one_of(_OF_ONE_KIND[kind], st.none(), st.just(float("nan"))), max_size=6))
    assert single(object_array(values)).to_pylist() == [_bytes(value) for value in values]


def test_categories_of_mixed_objects_are_read_one_by_one() -> None:
    some = [Sex.F, "m", 7, 0.5, b"a", True, "x", ("a", "f"), dt.date(2020, 1, 1), pandas.Interval(0, 1), 1j, 2**70]
    places = [*range(len(some)), -1, *range(len(some))]
    column = pandas.Series(pandas.Categorical.from_codes(places, categories=pandas.Index(some, dtype=object)))
    whole = _batches(pandas.DataFrame({"x": column}), 5)
    for name, read in READERS.items():
        alone = [code for place in places for code in read(_batches(_of([None if place < 0 else some[place]]), 1))]
        assert read(whole) == alone, name


def test_enumerations_of_texts_are_their_texts_whoever_is_beside_them() -> None:
    for other in ("m", 7, None, ["f"]):
        codes = READERS["texts"](_batches(_of([Sex.F] * 9 + [other]), 100))
        assert codes[:9] == [0] * 9


@pytest.mark.parametrize("text", ["inf", "+inf", "Infinity", " -inf "])
@pytest.mark.parametrize("beside", [0.5, "x", None])
def test_infinity_is_the_end_of_the_range_in_every_form(text: str, beside: Any) -> None:
    for value in (text, float(text), Decimal(text.strip()), np.float32(text)):
        (wide,) = _batches(_of([value, beside]), 10)
        (curve,) = _batches(_of([[value, value], beside]), 10)
        end = 0 if "-" in text else 1
        assert READERS["interval"]([wide])[0] == 100 * end
        assert READERS["wide"]([wide])[0] == [2**24 * end] * 2
        assert READERS["curves"]([curve])[0] == [2**24 * end] * 2


def test_persons_are_told_apart_by_their_texts_beyond_one_batch() -> None:
    persons = [1, "1", uuid.UUID(int=1), uuid.UUID(int=2), None, float("nan"), ["a"], ("a",), {"a"}]
    for frame in FRAMES.values():
        for rows in (1, 2, 100):
            kept = counted_rows(_batches(frame({"x": persons}), rows), 1)
            assert kept.sum() == 5  # 1, two UUIDs, nobody, and what is no name


def test_durations_are_read_alike_whatever_stands_beside_them() -> None:
    """pandas has a type for durations alone, and objects where a text is among them: one value was read in two ways."""
    eight = dt.timedelta(hours=8)
    for values in ([eight], [eight, "09:00"], [eight, None], [eight, dt.timedelta(days=900)]):
        (array,) = _batches(pandas.DataFrame({"x": values}), 10**6)
        assert texts(array).to_pylist()[0] == b"8:00:00"
