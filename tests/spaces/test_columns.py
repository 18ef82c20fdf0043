"""Columns of every space and form: the encoder that sanitises reads what is stored, and so does the one that counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dproof import Categories, InputError, Interval, Subsets, add_space
from dproof.columns.values import as_numpy, from_numpy, from_texts
from dproof.plans.reader import SPACES, Reader, read_column
from dproof.testing import check_column

COLUMNS: dict[str, dict[str, Any]] = {
    "texts": {"space": "categories", "values": ["a", "b c", "ü"], "outside": "category", "missing": "category"},
    "numbers": {"space": "categories", "values": [1, 2.5, -3], "missing": "category"},
    "truth": {"space": "categories", "values": [True, False]},
    "whole": {"space": "interval", "low": -3, "high": 110, "step": 1},
    "quarters": {"space": "interval", "low": "-1.5", "high": 3, "step": "0.25"},
    "thirds": {"space": "interval", "low": 0, "high": 3, "step": "1/3"},
    "wide steps": {"space": "interval", "low": 5, "high": 50, "step": 5},
    "joined": {"space": "subsets", "values": ["x", "y", "z z"], "separator": ";", "missing": []},
    "list": {"space": "subsets", "values": ["x", "y", "no"]},
    "flags": {"space": "subsets", "columns": ["Q - x", "Q - y"], "values": ["x", "y"]},
}


@pytest.mark.parametrize("name", COLUMNS)
def test_what_is_stored_is_read_back(name: str) -> None:
    check_column(read_column("q", Reader(COLUMNS[name], ())))


@pytest.mark.parametrize("space", [Categories(["a", "b"]), Interval(0, 9, 1), Subsets(["a", "b"])], ids=repr)
def test_arrays_and_lists_are_encoded_alike(space: Any) -> None:
    labels = [space.label(code) for code in range(space.size)]
    array = pa.array([sorted(label) for label in labels] if space.items else labels)
    assert space.encode(array).tolist() == space.encode(labels).tolist() == list(range(space.size))
    assert space.encode(array).dtype == space.encode(labels).dtype


@pytest.mark.parametrize("name", COLUMNS)
def test_a_stored_null_is_possible_only_where_missing_is_a_value(name: str) -> None:
    column = read_column("q", Reader(COLUMNS[name], ()))
    stored = column.codec.store(np.zeros(2, np.int64))
    nulls = [pa.concat_arrays([array, pa.nulls(1, array.type)]) for array in stored]
    assert column.codec.possible(nulls, None, None) is (column.space.absent is not None)


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("texts", pa.array(["a", "d"])),
        ("joined", pa.array(["y;x"])),
        ("joined", pa.array(["x; y"])),
        ("joined", pa.array(["x;x"])),
        ("list", pa.array([["y", "x"]])),
        ("whole", pa.array([111])),
        ("wide steps", pa.array([6])),
        ("quarters", pa.array([0.3])),
        ("quarters", pa.array([float("inf")])),
    ],
)
def test_another_way_to_write_a_value_is_not_possible(name: str, stored: Any) -> None:
    """Else a file could carry a message in the way its values are written."""
    column = read_column("q", Reader(COLUMNS[name], ()))
    assert not column.codec.possible([stored], None, None)


def test_a_name_is_one_space() -> None:
    add_space("interval", Interval)  # the same again: a module may be loaded twice
    with pytest.raises(InputError, match="there is a space called 'interval' already"):
        add_space("interval", Categories)
    with pytest.raises(InputError, match="must be a class of spaces"):
        add_space("ages", Interval(0, 110))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="must not be blank"):
        add_space(" ", Interval)
    assert SPACES["interval"] is Interval and {"ages", " "}.isdisjoint(SPACES)


# Between Arrow and NumPy by buffers: the same as Arrow's own conversions, whatever is missing or cut off --------------


KINDS = [pa.int8(), pa.uint16(), pa.int32(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.bool_()]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(values=st.lists(st.none() | st.sampled_from([0, 1]), max_size=40), cut=st.integers(0, 12))
def test_numbers_and_flags_out_of_arrow(kind: Any, values: list[int | None], cut: int) -> None:
    array = pa.array([value if value is None else kind.to_pandas_dtype()(value) for value in values], kind)[cut:]
    for given_as in (array, pa.chunked_array([array[:3], array[3:]], kind)):
        found = as_numpy(given_as, missing=1)
        assert found.dtype == kind.to_pandas_dtype()
        assert found.tolist() == [1 if value is None else value for value in array.to_pylist()]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(values=st.lists(st.tuples(st.sampled_from([0, 1]), st.booleans()), max_size=40))
def test_numbers_and_flags_into_arrow(kind: Any, values: list[tuple[int, bool]]) -> None:
    numbers = np.array([value for value, _ in values], kind.to_pandas_dtype())
    absent = np.array([gone for _, gone in values], np.bool_)
    assert from_numpy(numbers).equals(pa.array(numbers)) and from_numpy(numbers).type == kind
    assert from_numpy(numbers, absent).equals(pa.array(numbers, mask=absent))
    assert from_numpy(numbers[::2]).equals(pa.array(numbers[::2]))
    from_numpy(numbers, absent).validate(full=True)


@given(st.lists(st.none() | st.text()))
def test_texts_into_arrow(texts: list[str | None]) -> None:
    made = from_texts(texts)
    made.validate(full=True)
    assert made.equals(pa.array(texts, pa.string()))


def test_what_is_neither_number_nor_flag_is_left_to_arrow() -> None:
    assert as_numpy(pa.array(["a", None])).tolist() == ["a", None]
    assert np.isnan(as_numpy(pa.array([1, None]))[1])
