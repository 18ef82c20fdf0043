"""Exact numbers: what was meant is what is computed with, and bounds lie on the side they say."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dproof import InputError, TooLarge
from dproof.exact import (
    exact,
    exp_above,
    exp_below,
    float_above,
    float_below,
    has_shape,
    log_above,
    log_below,
    whole_numbers,
)

FRACTIONS = st.fractions(min_value=-50, max_value=50, max_denominator=10**6)


@pytest.mark.parametrize(
    ("given_as", "meant"),
    [
        (1, 1),
        (0.1, "1/10"),
        (-0.0, 0),
        (1e-300, Fraction(1, 10**300)),
        ("0.1", "1/10"),
        (" 1/3 ", "1/3"),
        ("1e-6", "1/1000000"),
        ("1_000.5", "2001/2"),
        ("-2.5e3", -2500),
        ("0.3/0.9", "1/3"),
        (Decimal("0.30"), "3/10"),
        (Fraction(2, 6), "1/3"),
        (np.float64(0.1), "1/10"),
        (np.float32(0.1), "1/10"),
        (np.int8(-3), -3),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (5e-324, Fraction("5e-324")),
        (1.7976931348623157e308, Fraction("1.7976931348623157e308")),
    ],
)
def test_the_number_that_was_meant(given_as: object, meant: object) -> None:
    assert exact(given_as) == Fraction(meant)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_its_shortest_decimal(value: float) -> None:
    assert exact(value) == Fraction(repr(value)) == exact(np.float64(value)) == exact(repr(value))


@pytest.mark.parametrize(
    "wrong",
    [
        float("nan"), float("inf"), -float("inf"), "nan", "inf", "-Infinity", "sNaN", "1e999", "1e-999", "", "one",
        "1/0", "1/2/3", "0x10", "1,5", None, True, np.bool_(False), [1], np.array(1), np.array([1, 2]), 1j, b"1",
        object(), Decimal("nan"), Decimal("inf"), Decimal("1e999"), "9" * 3000, np.float32("inf"),
    ],
    ids=lambda wrong: type(wrong).__name__,
)  # fmt: skip
def test_what_is_no_number_is_refused_with_examples(wrong: object) -> None:
    with pytest.raises(InputError, match=r"^epsilon must be a finite number such as 1, 0\.5, '1/3' or '1e-6', not"):
        exact(wrong, "epsilon")


def test_a_refusal_is_short_whatever_was_given() -> None:
    with pytest.raises(InputError) as refusal:
        exact("x" * 10**6)
    assert len(str(refusal.value)) < 200


@given(FRACTIONS, st.sampled_from([64, 128, 512]))
def test_exponentials_are_bounded_from_both_sides(x: Fraction, bits: int) -> None:
    below, above = exp_below(x, bits), exp_above(x, bits)
    assert 0 < below <= above
    assert (above - below) / above <= Fraction(1, 1 << (bits - 4))
    assert float(below) == pytest.approx(math.exp(float(x)), rel=1e-12)
    assert exp_below(x, 2048) >= below and exp_above(x, 2048) <= above, "more digits lie between them"
    assert exp_below(-x, bits) * below <= 1 <= exp_above(-x, bits) * above


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9, max_denominator=10**9))
def test_logarithms_are_bounded_from_both_sides(x: Fraction) -> None:
    below, above = log_below(x), log_above(x)
    assert below <= above
    assert above - below <= Fraction(1, 1 << 110)
    assert exp_below(below) <= x <= exp_above(above)


def test_the_exact_points() -> None:
    assert exp_below(Fraction(0)) == exp_above(Fraction(0)) == 1
    assert log_below(Fraction(1)) == log_above(Fraction(1)) == 0
    assert exp_below(Fraction(1)) < exp_above(Fraction(1)), "e is no fraction"


@given(st.fractions())
def test_floats_on_the_safe_side(x: Fraction) -> None:
    up, down = float_above(x), float_below(x)
    assert Fraction(repr(down)) <= x <= Fraction(repr(up))
    assert Fraction(repr(math.nextafter(up, -math.inf))) < x < Fraction(repr(math.nextafter(down, math.inf)))


def test_a_float_that_is_the_number_stays() -> None:
    assert float_above(Fraction(3, 10)) == float_below(Fraction(3, 10)) == 0.3
    assert float_above(Fraction(1, 10**400)) == 5e-324
    assert float_below(Fraction(1, 10**400)) == 0.0


# Matrices of numbers -------------------------------------------------------------------------------------------------


def test_a_matrix_over_its_least_common_denominator() -> None:
    whole, total = whole_numbers([["1/6", 0.25], [1, Decimal("0.5")]])
    assert (whole.tolist(), total) == ([[2, 3], [12, 6]], 12)


@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(
            st.lists(st.floats(-1e12, 1e12, allow_subnormal=True), min_size=width, max_size=width),
            min_size=1,
            max_size=4,
        )
    )
)
def test_an_array_of_floats_reads_as_its_decimals_do(rows: list[list[float]]) -> None:
    quick, total = whole_numbers(np.array(rows))
    slow, same = whole_numbers(rows)
    assert total == same
    assert quick.tolist() == slow.tolist()
    assert [[Fraction(w, total) for w in row] for row in quick] == [[exact(x) for x in row] for row in rows]


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_an_array_with_a_hole_names_the_row(wrong: float) -> None:
    with pytest.raises(InputError, match="a weight in row 2 must be a finite number"):
        whole_numbers(np.array([[1.0, 2.0], [3.0, wrong]]), "a weight")


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8, np.uint64])
def test_an_array_of_whole_numbers(dtype: type) -> None:
    rows = np.array([[0, 1], [100, np.iinfo(dtype).max]], dtype)
    whole, total = whole_numbers(rows)
    assert (whole.tolist(), total) == (rows.tolist(), 1)
    whole[0, 0] = 7
    assert rows[0, 0] == 0, "what was given is not touched"


def test_denominators_that_grow_without_end_are_refused_in_time() -> None:
    primes_of_a_kind = [[Fraction(1, 10**60 + n) for n in range(200)]]
    with pytest.raises(TooLarge, match="round them to decimals"):
        whole_numbers(primes_of_a_kind)


@pytest.mark.parametrize(
    ("rows", "fits"),
    [
        ([[1, 2]], True),
        (((1, 2),), True),
        (np.ones((1, 2)), True),
        ([np.ones(2)], True),
        ([[1]], False),
        ([[1, 2], [1, 2]], False),
        ([1, 2], False),
        ("ab", False),
        (["ab"], False),
        (None, False),
        (np.ones(2), False),
    ],
)
def test_shapes(rows: object, fits: bool) -> None:
    assert has_shape(rows, 1, 2) == fits


# Numbers of NumPy become exact ones of Python, which cannot overflow --------------------------------------------------


INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


@pytest.mark.parametrize("kind", INTEGERS)
def test_whole_numbers_of_any_width_do_not_overflow(kind: type[np.integer]) -> None:
    largest = np.iinfo(kind).max
    given = exact(kind(largest))
    assert type(given.numerator) is type(given.denominator) is int
    assert given**3 == int(largest) ** 3


@pytest.mark.parametrize(
    "given",
    [Fraction(np.int64(2**62)), Fraction(np.int64(2**62), np.int64(3)), Fraction(2**62, np.int64(3))],
)
def test_a_fraction_of_numpy_integers_does_not_overflow(given: Fraction) -> None:
    meant = exact(given)
    assert type(meant.numerator) is type(meant.denominator) is int
    assert meant**3 == Fraction(2**62) ** 3 / int(given.denominator) ** 3


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble])
def test_a_float_of_any_width_is_its_shortest_decimal(kind: type[np.floating]) -> None:
    assert exact(kind("0.1")) == Fraction(1, 10)


@pytest.mark.parametrize(
    "given", [np.True_, np.float32("nan"), np.float64("inf"), np.complex128(1), np.datetime64("2020")]
)
def test_what_is_no_finite_number_is_refused(given: object) -> None:
    with pytest.raises(ValueError, match="must be a finite number"):
        exact(given)
