"""Numbers of NumPy become exact ones of Python, which cannot overflow."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dproof.exact import exact

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
