"""Between Arrow and NumPy by buffers: the same as Arrow's own conversions, whatever is missing or cut off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dproof.columns.values import as_numpy, from_numpy, from_texts

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
