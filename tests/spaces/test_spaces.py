"""Spaces: decode undoes encode for every kind of value and column, and what is not declared is refused unnamed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dproof import (
    Categories,
    InputError,
    Interval,
    Privacy,
    Rows,
    Space,
    Subsets,
    TooLarge,
    itemwise_response,
    randomised_response,
)
from dproof.spaces.space import narrowest
from dproof.testing import check_metric
from tests.strategies import metrics

LABELS = st.lists(
    st.one_of(st.text(max_size=5), st.integers(-5, 5), st.booleans(), st.none()),
    min_size=1,
    max_size=12,
    unique_by=hash,
).filter(lambda labels: len(set(labels)) == len(labels))


# Categories ----------------------------------------------------------------------------------------------------------


@given(LABELS, st.data())
def test_categories_of_any_kind(labels: list[object], data: st.DataObject) -> None:
    space = Categories(labels)
    column = data.draw(st.lists(st.sampled_from(labels), max_size=30))
    codes = space.encode(column)
    assert codes.dtype == narrowest(space.size)
    decoded = space.decode(codes)
    assert decoded == column
    assert [type(x) for x in decoded] == [type(labels[space.code(x)]) for x in column]
    assert isinstance(space, Space)


@given(metrics(), st.data())
def test_equal_spaces_are_equal(rho: list[list[Fraction]], data: st.DataObject) -> None:
    k = len(rho)
    one, same = Categories(range(k), metric=rho), Categories(range(k), metric=[[str(x) for x in row] for row in rho])
    assert one == same and hash(one) == hash(same)
    if k > 1:
        stretched = [[2 * x for x in row] for row in rho]
        assert one != Categories(range(k), metric=stretched)
        assert one != Categories(range(k))
    assert Categories(range(k)) == Categories(range(k)) != Categories(range(k), metric="ordinal")
    assert one != "something else"


@pytest.mark.parametrize(
    ("labels", "column", "codes"),
    [
        (["a", "b"], pa.array(["b", "a", "b"]), [1, 0, 1]),
        (["a", "b"], pa.array(["b", "a"], pa.large_string()), [1, 0]),
        (["a", None], pa.array(["a", None]), [0, 1]),
        ([1, 2, 3], pa.array([3, 1], pa.int16()), [2, 0]),
        ([True, False], pa.array([False, True]), [1, 0]),
        (["a", "b"], pa.array(["b", "a"]).dictionary_encode(), [1, 0]),
        (["a", "b"], pa.chunked_array([["b"], ["a", "a"]]), [1, 0, 0]),
        ([0.5, 1.5], pa.array([1.5]), [1]),
        (["a", "b"], pa.array([], pa.string()), []),
        (["a", "b"], np.array(["b", "a"]), [1, 0]),
        ([1, 2], np.array([2, 1], np.int8), [1, 0]),
        ([True, False], np.array([False]), [1]),
        (["a", None], np.array(["a", None], object), [0, 1]),
    ],
    ids=str,
)
def test_columns_from_arrow_and_numpy(labels: list[object], column: object, codes: list[int]) -> None:
    assert Categories(labels).encode(column).tolist() == codes


@pytest.mark.parametrize(
    "column",
    [
        ["secret"],
        [None],
        [["a"]],
        [float("nan")],
        np.array(["secret"]),
        pa.array(["secret"]),
        pa.array([None, "a"]),
        pa.array([1, 2]),
        pa.array(["secret"]).dictionary_encode(),
        pa.array([["a"]]),
    ],
    ids=str,
)
def test_undeclared_values_are_refused_without_being_named(column: object) -> None:
    with pytest.raises(InputError, match=r"declare|cast") as refusal:
        Categories(["a", "b"]).encode(column)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "at least one category"),
        (None, "at least one category"),
        ("abc", "at least one category"),
        (7, "at least one category"),
        (["a", "b", "a"], "'a' is listed twice; every category needs a name of its own"),
        ([1, True], "1 is listed twice"),
        ([["a"], ["b"]], "must be a text, a number, a boolean or None"),
        ([1.0, float("nan")], "declare None for what is missing"),
    ],
)
def test_what_makes_no_categories(values: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Categories(values)  # type: ignore[arg-type]


def test_a_million_categories_take_two_numbers() -> None:
    space = Categories(range(10**6))
    mechanism = randomised_response(space, Privacy(5))
    drawn = mechanism.draw_codes(np.arange(0, 10**6, 1000, dtype=np.uint32))
    assert drawn.dtype == np.uint32 and drawn.max() < 10**6
    assert mechanism.law(7)[7] > mechanism.law(7)[8] > 0
    assert mechanism.error == Fraction(mechanism.family.other * (10**6 - 1), mechanism.family.total)
    with pytest.raises(TooLarge, match=r"ask for law\(value\)"):
        mechanism.weights()


def test_the_error_on_a_long_line_needs_no_matrix() -> None:
    line = Categories(range(100_000), metric="ordinal")
    mechanism = randomised_response(line, Privacy(1))
    assert mechanism.error == Fraction(mechanism.family.other * (10**5 * (10**5 - 1) // 2), mechanism.family.total)
    tenths = randomised_response(Interval(0, 10_000, "0.1"), Privacy(1))
    sum_of_steps = Fraction(100_001 * 100_000, 2) / 10
    assert tenths.error == sum_of_steps * Fraction(tenths.family.other, tenths.family.total)
    short = randomised_response(Interval(-1, 1, "0.25"), Privacy(1))
    assert short.error == max(short.expected_errors())


# Subsets -------------------------------------------------------------------------------------------------------------


@given(st.integers(1, 6), st.data())
def test_sets_as_masks(items: int, data: st.DataObject) -> None:
    space = Subsets(range(items))
    column = data.draw(st.lists(st.sets(st.integers(0, items - 1)), max_size=20))
    assert space.decode(space.encode(column)) == column
    assert space.encode([list(row) * 2 for row in column]).tolist() == space.encode(column).tolist(), "lists will do"


def test_sets_from_arrow_lists() -> None:
    space = Subsets(["a", "b", "c"])
    assert space.encode(pa.array([["c", "a"], [], ["b"]])).tolist() == [5, 0, 2]
    assert space.encode(np.array([{"a"}, set()], object)).tolist() == [1, 0]


@pytest.mark.parametrize("value", [{"secret"}, ["a", "secret"], "a", b"a", None, 5, [["a"]], [None]], ids=str)
def test_what_is_no_set_of_declared_items(value: object) -> None:
    with pytest.raises(InputError, match=r"declare it|give a set") as refusal:
        Subsets(["a", "b"]).code(value)  # type: ignore[arg-type]
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("values", "metric", "message"),
    [
        ([], "symmetric", "at least one item"),
        ("abc", "symmetric", "at least one item"),
        (["a", "a"], "symmetric", "'a' is listed twice"),
        (range(513), "symmetric", "513 items; a space of subsets takes up to 512"),
        (["a"], "symetric", "did you mean 'symmetric'"),
    ],
)
def test_what_makes_no_subsets(values: object, metric: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Subsets(values, metric=metric)  # type: ignore[arg-type]


@pytest.mark.parametrize("items", [20, 24, 48, 62])
def test_many_items_without_a_list_of_all_sets(items: int) -> None:
    space = Subsets(range(items))
    mechanism = itemwise_response(space, Privacy(items))
    codes = np.array([0, space.size - 1, 5], np.uint64)
    drawn = mechanism.draw_codes(codes)
    assert drawn.dtype == np.uint64 and int(drawn.max()) < space.size
    assert mechanism.draw({0, items - 1}) <= set(range(items))
    assert float(mechanism.error) == pytest.approx(items / (1 + np.e), rel=1e-6)
    assert mechanism.epsilon() <= items
    if items <= 48:
        whole = randomised_response(space, Privacy(1))
        assert int(whole.draw_codes(codes).max()) < space.size
        assert whole.error == Fraction(whole.family.other * items * space.size, 2 * whole.family.total)
    if items > 26:
        law = mechanism.law(set())
        assert 0 < law[set()] < 1  # a single probability can always be told
        for refused in (law.items, mechanism.matrix, lambda: space.distances(0)):
            with pytest.raises(TooLarge):
                refused()


def test_too_many_sets_for_one_response() -> None:
    with pytest.raises(TooLarge, match="one by one"):
        randomised_response(Subsets(range(62)), Privacy(1))


# Rows ----------------------------------------------------------------------------------------------------------------


@given(st.integers(1, 3), st.integers(1, 3), st.data())
def test_rows_in_mixed_radix(first: int, second: int, data: st.DataObject) -> None:
    space = Rows({"x": Categories(range(first)), "y": Subsets(range(second))})
    check_metric(space)
    code = data.draw(st.integers(0, space.size - 1))
    row = space.label(code)
    assert space.code(row) == code == space.columns["x"].code(row["x"]) * 2**second + space.columns["y"].code(row["y"])
    assert space.decode(space.encode([row, row])) == [row, row]


@pytest.mark.parametrize("value", [{"x": 0}, {"x": 0, "y": 9}, {"x": 9, "y": 0}, None, (0, 0), 7], ids=str)
def test_what_is_no_row(value: object) -> None:
    space = Rows({"x": Categories([0, 1]), "y": Categories([0, 1])})
    for ask in (lambda: space.code(value), lambda: space.distance(value, {"x": 0, "y": 0})):  # type: ignore[arg-type]
        with pytest.raises(InputError):
            ask()


@pytest.mark.parametrize("columns", [{}, None, [Categories([0])]])
def test_a_row_needs_named_columns(columns: object) -> None:
    with pytest.raises(InputError, match="mapping from the name of each column"):
        Rows(columns)  # type: ignore[arg-type]


def test_the_error_on_rows_adds_up_over_columns() -> None:
    space = Rows({"x": Categories(range(4), metric="ordinal"), "y": Subsets(range(3)), "z": Categories(range(2))})
    mechanism = randomised_response(space, Privacy(1))
    assert mechanism.error == max(mechanism.expected_errors())


def test_what_is_always_missing_has_no_numbers() -> None:
    """All of none are numbers, and their ends were asked for: a ValueError."""
    assert not Categories([None]).has_numbers and Categories([None, 3]).has_numbers
