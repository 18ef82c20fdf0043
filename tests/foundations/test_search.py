"""One search: what it returns is good, and nothing noticeably less is."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dproof.exact import bisect, exp_below, least, least_decimal, least_falling, least_whole, root_above

POSITIVE = st.fractions(min_value=Fraction(1, 10**5), max_value=10**9)


@given(POSITIVE)
def test_bisect_finds_the_threshold_to_sixty_bits(threshold: Fraction) -> None:
    found = bisect(lambda x: x >= threshold, Fraction(0), Fraction(10**9))
    assert threshold <= found <= threshold * (1 + Fraction(1, 1 << 59))


@given(POSITIVE)
def test_bisect_stops_where_the_ends_are_close(threshold: Fraction) -> None:
    asked: list[Fraction] = []

    def good(x: Fraction) -> bool:
        asked.append(x)
        return x >= threshold

    found = bisect(good, Fraction(0), Fraction(1 << 30), 1 << 10)
    apart = Fraction(1 << 30, 1 << len(asked))  # every number asked for halves what is left
    assert threshold <= found <= threshold + apart
    assert 1024 * apart <= found and 2 * 1024 * apart > threshold  # near enough, and no step more than that


def test_what_is_good_nowhere_gives_the_upper_end() -> None:
    assert bisect(lambda x: False, Fraction(0), Fraction(2)) == 2


def test_halving_keeps_numbers_short() -> None:
    seen: list[Fraction] = []
    start = Fraction(10**40 + 1, 3 * 10**39)
    least(lambda x: bool(seen.append(x)) or x * x >= 40, start)
    assert max(x.numerator.bit_length() for x in seen[8:]) <= 65


@given(POSITIVE, POSITIVE)
def test_least_finds_it_from_either_side(threshold: Fraction, start: Fraction) -> None:
    found = least(lambda x: x >= threshold, start)
    assert threshold <= found <= threshold * (1 + Fraction(1, 1 << 27))


def test_least_does_not_ask_below_a_millionth() -> None:
    assert 0 < least(lambda x: True, Fraction(1)) <= Fraction(1, 1 << 20)


@given(st.integers(0, 10**60), st.integers(-5, 10**60))
def test_least_whole_finds_it_from_anywhere(threshold: int, near: int) -> None:
    assert least_whole(lambda n: n >= threshold, near) == threshold


@given(st.fractions(min_value=0, max_value=10**30), st.sampled_from([8, 96, 200]))
def test_the_root_lies_above_and_close(x: Fraction, bits: int) -> None:
    root = root_above(x, bits)
    assert root * root >= x
    assert root == 0 or (root * (1 - Fraction(4, 1 << bits))) ** 2 <= x


@pytest.mark.parametrize("root", [Fraction(0), Fraction(7), Fraction(3, 2), Fraction(10**40, 7)])
def test_the_root_of_a_square_is_exact(root: Fraction) -> None:
    assert root_above(root * root) == root


@pytest.mark.parametrize("near", [Fraction(0), Fraction(1, 10**5), Fraction(1), Fraction(10**4)])
@pytest.mark.parametrize(("digits", "decimals"), [(2, 0), (3, 0), (3, 3)])
def test_least_decimal_is_the_first_good_number_of_its_digits(near: Fraction, digits: int, decimals: int) -> None:
    low, high = Fraction("0.005"), Fraction("12.3")
    steps = [(e, Fraction(10) ** min(e + 1 - digits, -decimals)) for e in range(-3, 2)]
    numbers = [
        k * step for e, step in steps for k in range(int(Fraction(10) ** e / step), int(Fraction(10) ** (e + 1) / step))
    ]
    every = [number for number in numbers if low <= number <= high]
    for wanted in (every[0], every[7], every[-1], Fraction(1), Fraction("0.0999"), Fraction("9.96")):
        found = least_decimal(lambda x, wanted=wanted: x >= wanted, near, low, high, digits, decimals)  # type: ignore[misc]
        assert found == next(number for number in every if number >= wanted)
    assert least_decimal(lambda x: False, near, low, high, digits, decimals) is None


FALLING: dict[str, Callable[[Fraction], Fraction]] = {
    "power": lambda x: 1 / x**3,
    "flat at first": lambda x: min(Fraction(1), 1000 / x**2),
    "exponential": lambda x: exp_below(-x),
    "zero at last": lambda x: max(Fraction(0), 10 - x),
    "in steps": lambda x: Fraction(1, 1 + x * 4 // 1),
    "a floor": lambda x: 1 / x + Fraction(1, 10**6),
}


@pytest.mark.parametrize("start", ["1", "1/1000", "4096"])
@pytest.mark.parametrize(("name", "most"), [*product(FALLING, ["1/2", "3/7", "1/1000"]), ("hardly", "9/4")])
def test_least_falling_is_the_least_that_bisection_finds(name: str, most: str, start: str) -> None:
    value, wanted, first = FALLING.get(name, lambda x: 2 + 1 / x), Fraction(most), Fraction(start)
    assert least_falling(value, wanted, first) == least(lambda x: value(x) <= wanted, first)


def test_least_falling_asks_for_fewer_values() -> None:
    asked: list[list[Fraction]] = [[], []]

    def value(x: Fraction, of: int) -> Fraction:
        asked[of].append(x)
        return 1 / x**3

    least_falling(lambda x: value(x, 0), Fraction(1, 8000), Fraction(1))
    least(lambda x: value(x, 1) <= Fraction(1, 8000), Fraction(1))
    assert 2 * len(asked[0]) < len(asked[1]) + 2
