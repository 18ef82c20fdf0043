"""The lattice of an interval: exact bounds, exact codes, exact decimals."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dproof import InputError, Interval, TooLarge
from dproof.columns.values import object_array
from dproof.exact import exact
from dproof.plans.reader import Reader, read_column
from dproof.spaces.interval import Line
from dproof.testing import check_metric
from tests.laws.test_examples import SPACES


@pytest.mark.parametrize("space", SPACES[Interval], ids=str)
def test_it_is_a_metric_space(space: Interval) -> None:
    check_metric(space)


@pytest.mark.parametrize(
    ("low", "high", "step", "size"),
    [
        (0, 110, "0.01", 11001),
        (0, 1, "0.0001", 10001),
        ("-1e12", "1e12", "1e8", 20001),
        (0, "1e-9", "1e-13", 10001),
        ("0.5", "99.7", "0.01", 9921),
        (0, "1/3", "1/30000", 10001),
        (5, 5, 1, 1),
    ],
)
def test_without_a_step_the_bounds_alone_choose_a_fine_lattice(low: object, high: object, step: str, size: int) -> None:
    space = Interval(low, high)
    assert (space.step, space.size) == (exact(step), size)


@given(st.fractions(-1000, 1000), st.fractions(Fraction(1, 1000), 10**6))
def test_rounding_to_the_chosen_lattice_costs_under_a_thousandth_of_the_noise(low: Fraction, width: Fraction) -> None:
    """Half a step against the scale diam/ε, up to ε = 10."""
    space = Interval(low, low + width)
    assert space.step / 2 <= space.diameter / 10 / 1000
    assert space.low == low and space.high == low + width


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 0), "low must not lie above high"),
        ((0, 1, 0), "step must be above 0"),
        ((0, 1, -1), "step must be above 0"),
        ((0, 10, 3), "end at 9 or 12"),
        ((0, "inf"), "high must be a finite number"),
        ((float("nan"), 1), "low must be a finite number"),
    ],
)
def test_what_is_no_interval_is_refused_with_the_way_out(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Interval(*arguments)


def test_too_many_points_are_refused() -> None:
    with pytest.raises(TooLarge):
        Interval(0, "1e18", 1)


GRIDS = [Interval(-7, 8, 1), Interval("-1.5", "2.5", "0.25"), Interval(0, 1, "1/3"), Interval("-0.3", "0.7", "0.1")]


@given(st.sampled_from(GRIDS), st.lists(st.floats(-0.3, 0.7), min_size=1, max_size=20), st.integers(1, 6))
def test_float_columns_get_the_nearest_point_of_their_shortest_decimals(
    space: Interval, values: list[float], digits: int
) -> None:
    """Rounded values sit half-way between two points every so often, where floats cannot tell."""
    inside = [v for v in (round(x, digits) for x in values) if space.low <= exact(v) <= space.high]
    column = np.array(inside, np.float64)
    assert space.encode(column).tolist() == [space.code(v) for v in inside]
    assert space.encode(inside).tolist() == [space.code(v) for v in inside]


@given(st.sampled_from(GRIDS), st.fractions(-2, 9))
def test_a_code_is_the_nearest_point_and_the_upper_one_half_way(space: Interval, value: Fraction) -> None:
    if not space.low <= value <= space.high:
        with pytest.raises(InputError, match="outside"):
            space.code(value)
        return
    points = [space.low + space.step * n for n in range(space.size)]
    nearest = max(range(space.size), key=lambda n: (-abs(points[n] - value), n))
    assert space.code(value) == nearest


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64, np.float32, np.float64, object])
def test_columns_of_every_type(dtype: type) -> None:
    values = np.array([0, 3, 7, 8], dtype)
    assert Interval(0, 8, 1).encode(values).tolist() == [0, 3, 7, 8]
    assert Interval("-0.5", 8, "0.5").encode(values).tolist() == [1, 7, 15, 17]


def test_float32_means_its_own_shortest_decimal() -> None:
    tenths = np.array([0.1, 0.9, 0.25], np.float32)
    assert Interval("0.1", "0.9", "0.1").encode(tenths).tolist() == [0, 8, 2]


def test_arrow_decimals_and_texts() -> None:
    space = Interval(0, 10, "0.5")
    assert space.encode(pa.array([1, 2, 3])).tolist() == [2, 4, 6]
    assert space.encode(pa.chunked_array([[1.5], [2.5, 10.0]])).tolist() == [3, 5, 20]
    assert space.encode([Decimal("0.25"), "1e0", Fraction(1, 3), 2]).tolist() == [1, 2, 1, 4]
    with pytest.raises(InputError, match="missing"):
        space.encode(pa.array([1, None]))


@pytest.mark.parametrize("bad", [[1.0, float("nan")], ["seventeen"], [None], [True]])
def test_what_is_no_number_is_refused_without_being_named(bad: list[object]) -> None:
    with pytest.raises(InputError, match="missing or no number") as caught:
        Interval(0, 10, 1).encode(bad, clamp=True)
    assert "seventeen" not in str(caught.value)


def test_outside_values_are_refused_or_clamped() -> None:
    space = Interval("0.5", "9.5", 1)
    for column in ([11.25], [-3], np.array([200], np.uint8), np.array([np.inf]), ["1e9"]):
        with pytest.raises(InputError, match="outside") as caught:
            space.encode(column)
        assert "11.25" not in str(caught.value)
    assert space.encode(np.array([-np.inf, 0.2, 100, np.inf]), clamp=True).tolist() == [0, 0, 9, 9]
    assert space.encode(np.array([0, 200, 5], np.uint8), clamp=True).tolist() == [0, 9, 5]
    assert space.encode(np.array([-(2**63), 2**63 - 1]), clamp=True).tolist() == [0, 9]
    assert space.encode(["-1e300", "1e300"], clamp=True).tolist() == [0, 9]


def test_whole_numbers_near_the_ends_of_the_machine_word() -> None:
    space = Interval(-(2**63), 2**63, 2**20)
    assert space.encode(np.array([-(2**63), 0, 2**63 - 1])).tolist() == [0, 2**43, 2**44]
    assert space.encode(np.array([2**63], np.uint64)).tolist() == [2**44]


@given(
    st.decimals(-1000, 1000, places=3, allow_nan=False),
    st.sampled_from(["1", "0.1", "0.25", "1e-6", "1e-9", "3", "1e6"]),
    st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=8),
)
def test_points_print_as_the_exact_multiple_of_the_step(origin: Decimal, step: str, codes: list[int]) -> None:
    line = Line(exact(origin), exact(step))
    for code, label in zip(codes, line.decode(np.array(codes)), strict=True):
        assert Fraction(str(label)) == line.origin + line.step * code
        assert line.code(str(label)) == code
        assert label == line.label(code)


def test_points_that_no_float_prints_are_decimals_or_fractions() -> None:
    assert Line(Fraction(0), exact("0.123456789012345678")).label(1) == Decimal("0.123456789012345678")
    assert Line(Fraction(0), Fraction(1, 3)).label(2) == Fraction(2, 3)
    numbers = Line(Fraction(0), Fraction(1, 3)).numbers(np.array([1, 2, 3]))
    assert numbers.tolist() == [1 / 3, 2 / 3, 1.0]


def test_numbers_are_whole_where_the_lattice_is() -> None:
    assert Interval(0, 110, 1).numbers(np.array([0, 36], np.uint8)).dtype == np.int64
    assert Interval(0, 1, "0.1").numbers(np.array([3])).tolist() == [0.3]
    wide = Line(Fraction(10**17), Fraction(10**16))
    assert wide.decode(np.array([10**6])) == [10**17 + 10**22]


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble])
def test_rare_floats_mean_their_own_shortest_decimal_too(dtype: type[np.floating]) -> None:
    assert Interval(0, 1, "0.1").encode(np.array(["0.1", "0.35"]).astype(dtype)).tolist() == [1, 4]
    with pytest.raises(InputError, match="no number"):
        Interval(0, 10**6, 1).encode(np.array([np.inf], dtype))


# A float means its shortest decimal, also at a bound that no float is: alone, beside texts, and in a typed column -----


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


def test_points_of_a_very_fine_beginning_are_told_one_by_one() -> None:
    """The first code alone went to machine integers, which hold no such step: so which code it was stopped the work."""
    space = Interval("-1e-300", Fraction(1) - Fraction(1, 10**300), "1/2")
    for codes in ([0], [0, 0], [1], [0, 1, 2], []):
        told = space.decode(np.array(codes, np.int64))
        assert [float(value) for value in told] == pytest.approx([code / 2 for code in codes], abs=1e-200)
        assert space.numbers(np.array(codes, np.int64)).tolist() == pytest.approx([code / 2 for code in codes])


@pytest.mark.parametrize("step", ["1e-20", "1e-200", "1e-300", "4.9e-321", "1e-400"])
@pytest.mark.parametrize("low", ["0", "-3", "0.1", "1e15"])
@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint64, np.float32, np.float64])
def test_no_number_stops_a_very_fine_lattice(low: str, step: str, dtype: type) -> None:
    """A whole number outside went to a machine integer in units of the step, floats to quotients that no float holds:
    so which number it was stopped the work, or all did, and of some a warning told."""
    space = Interval(low, Fraction(low) + 5 * Fraction(step), step)
    kind = np.finfo if np.issubdtype(dtype, np.floating) else np.iinfo
    values = np.array([kind(dtype).min, 0, 1, 100, kind(dtype).max], dtype)
    if kind is np.finfo:
        values = np.append(values, np.array([-np.inf, np.inf, np.nextafter(dtype(0), dtype(1)), float(low)], dtype))
    finite = values[np.isfinite(values)]
    codes = [space.codes_of(finite[n : n + 1], clamp=True).item() for n in range(len(finite))]
    assert codes == [space.nearest(Fraction(str(value))) for value in finite]
    infinite = space.codes_of(values[np.isinf(values)], clamp=True).tolist()
    assert infinite == [0, 5][: len(infinite)]


def test_floats_of_no_full_precision_get_the_nearest_point_of_their_shortest_decimals() -> None:
    for dtype, step in (np.float32, Fraction(1, 10**45)), (np.float64, Fraction(7, 3 * 10**323)):
        space, least = Interval(-2 * step, 50 * step, step), np.nextafter(dtype(0), dtype(1))
        values = np.arange(60).astype(dtype) * least
        assert space.codes_of(values, clamp=True).tolist() == [space.nearest(Fraction(str(x))) for x in values]
