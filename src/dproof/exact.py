"""Exact numbers: read, bounded from one side where they are irrational, searched for, and written.

A guarantee rests on comparisons such as P(A) ≤ e^ε P'(A) + δ. The probabilities are whole numbers over a whole
number; ε and δ are fractions; only e^ε is irrational, and it enters as a fraction that is known to lie below or
above it. No comparison is ever made in floating point.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import described
from dproof.errors import ArgumentError, InputError, TooLarge

_LARGEST_EXPONENT = 400  # 10^±400: beyond any quantity of use, and small enough to hold as a fraction
_LONGEST_DENOMINATOR = 4096  # bits, of the numbers of one matrix together
_LARGEST_ADDED = 1 << 61  # machine integers below this can be added without a thought


def exact(value: Any, name: str = "value") -> Fraction:
    """The number that was meant, exactly; a float means its shortest decimal.

    >>> exact(0.1), exact("1e-6"), exact("1/3")
    (Fraction(1, 10), Fraction(1, 1000000), Fraction(1, 3))
    """
    if isinstance(value, Fraction) and type(value.numerator) is type(value.denominator) is int:
        return value
    if isinstance(value, (Fraction, int, np.integer)) and not isinstance(value, bool):
        # Also a fraction of NumPy integers, which would overflow later on.
        return Fraction(int(value.numerator), int(value.denominator))
    if not isinstance(value, (float, np.floating, Decimal, str)):
        raise _not_a_number(name, described(value))
    text = float.__repr__(value) if isinstance(value, float) else str(value).strip()
    try:
        return _parse(text)
    except (ValueError, ZeroDivisionError, InvalidOperation):
        shown = " ".join(text[:40].split())  # whoever reads private values catches it, as `exact_number` does
        point = ": write a point for the comma" if re.fullmatch(r"[+-]?\d*,\d+", shown) else ""
        raise _not_a_number(name, f"{shown!r}{point}" if shown else "nothing") from None


def _not_a_number(name: str, shown: str) -> InputError:
    return ArgumentError(f"{name} must be a finite number such as 1, 0.5, '1/3' or '1e-6', not {shown}")


def _parse(text: str) -> Fraction:
    if "/" in text:
        top, bottom = text.split("/")
        return _parse(top) / _parse(bottom)
    number = Decimal(text)
    if not number.is_finite() or (number and abs(number.adjusted()) > _LARGEST_EXPONENT) or len(text) > 2000:
        raise ValueError(text)
    return Fraction(number)


def level_of(level: Any) -> float:
    """A level of confidence as a plain float between 0 and 1, which is written out as itself."""
    given = exact(level, "level")
    if not 0 < given < 1:
        raise ArgumentError("level must lie between 0 and 1, such as 0.95")
    return float(given)


def has_shape(rows: Any, height: int, width: int) -> bool:
    """Whether something a user gave is a list of `height` lists, or an array, of `width` entries each."""
    lists = (list, tuple, np.ndarray)
    return (
        isinstance(rows, lists)
        and len(rows) == height
        and all(isinstance(row, lists) and len(row) == width for row in rows)
    )


def whole_numbers(rows: Sequence[Any] | NDArray[Any], name: str = "an entry") -> tuple[NDArray[Any], int]:
    """The numbers of a matrix as whole numbers over their least common denominator, exactly, in an array of their own.

    >>> whole_numbers([["1/3", 0.5], [1, 0]])
    (array([[2, 3],
           [6, 0]], dtype=object), 6)
    """
    if isinstance(rows, np.ndarray):
        if rows.dtype == np.float64 and np.isfinite(rows).all():
            return _whole_floats(rows)
        if rows.dtype.kind == "i" and -_LARGEST_ADDED < rows.min() <= rows.max() < _LARGEST_ADDED:
            return rows.astype(np.int64), 1
    numbers: list[Fraction] = []
    for n, row in enumerate(rows, 1):
        where = f"{name} in row {n}"
        numbers += [exact(x, where) for x in row]
    total = 1
    for denominator in {x.denominator for x in numbers}:
        total = math.lcm(total, denominator)
        if total.bit_length() > _LONGEST_DENOMINATOR:
            raise TooLarge(f"{name} has too long a common denominator with the others; round them to decimals")
    whole = [x.numerator * (total // x.denominator) for x in numbers]
    return np.array(whole, object).reshape(len(rows), -1), total


def _whole_floats(floats: NDArray[np.float64]) -> tuple[NDArray[Any], int]:
    """`whole_numbers` of an array of floats, from their shortest decimals and without a fraction for each."""
    values, places = np.unique(floats, return_inverse=True)
    digits, exponents = [], []
    for text in map(repr, values.tolist()):
        mantissa, _, power = text.partition("e")
        whole, _, part = mantissa.partition(".")
        digits.append(int(whole + part))
        exponents.append(int(power or 0) - len(part))
    lowest = min(0, *exponents)
    powers = [10**power for power in range(max(exponents) - lowest + 1)]
    scaled = [digit * powers[exponent - lowest] for digit, exponent in zip(digits, exponents, strict=True)]
    total = 10**-lowest
    common = math.gcd(total, *scaled)
    if common > 1:
        scaled, total = [number // common for number in scaled], total // common
    return np.array(scaled, object)[places].reshape(floats.shape), total


# Bounds of exp, log and the root --------------------------------------------------------------------------------------


def _rational(x: Any) -> Fraction:
    """An arb whose radius is zero, as a fraction."""
    mantissa, exponent = x.man_exp()
    m, e = int(mantissa), int(exponent)
    return Fraction(m << e) if e >= 0 else Fraction(m, 1 << -e)


@lru_cache(maxsize=4096)
def _enclose(function: str, x: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    from flint import arb, ctx, fmpq  # lazy: a query of a release needs neither exp nor log

    before = ctx.prec
    ctx.prec = bits + 16
    try:
        y = getattr(arb(fmpq(x.numerator, x.denominator)), function)()
        return _rational(y.lower()), _rational(y.upper())
    finally:
        ctx.prec = before


def exp_below(x: Fraction, bits: int = 128) -> Fraction:
    """A fraction at most e^x, within about 2^-bits of it relatively; e^0 is exactly 1.

    >>> exp_below(Fraction(1)) < exp_above(Fraction(1))
    True
    """
    return _enclose("exp", x, bits)[0] if x else Fraction(1)


def exps_below(xs: Sequence[Fraction]) -> list[Fraction]:
    """A fraction at most e^x for each of several x."""
    return [exp_below(x) for x in xs]


def exp_above(x: Fraction, bits: int = 128) -> Fraction:
    """A fraction at least e^x, within about 2^-bits of it relatively; e^0 is exactly 1."""
    return _enclose("exp", x, bits)[1] if x else Fraction(1)


def log_below(x: Fraction, bits: int = 128) -> Fraction:
    """A fraction at most log x; log 1 is exactly 0."""
    return _enclose("log", x, bits)[0] if x != 1 else Fraction(0)


def log_above(x: Fraction, bits: int = 128) -> Fraction:
    """A fraction at least log x; log 1 is exactly 0."""
    return _enclose("log", x, bits)[1] if x != 1 else Fraction(0)


def root_above(x: Fraction, bits: int = 96) -> Fraction:
    """A fraction at least √x, within about 2^-bits of it relatively; exact where x is a square.

    >>> root_above(Fraction(9, 4)), root_above(Fraction(2)) ** 2 > 2
    (Fraction(3, 2), True)
    """
    top, bottom = math.isqrt(x.numerator), math.isqrt(x.denominator)
    if top * top == x.numerator and bottom * bottom == x.denominator:
        return Fraction(top, bottom)
    shift = max(0, bits - (x.numerator.bit_length() - x.denominator.bit_length()) // 2)
    return Fraction(math.isqrt((x.numerator << 2 * shift) // x.denominator) + 1, 1 << shift)


# The least number that serves -----------------------------------------------------------------------------------------


def bisect(good: Callable[[Fraction], bool], low: Fraction, high: Fraction, parts: int = 1 << 60) -> Fraction:
    """The least good number between `low`, which is not good, and `high`, which is, to one part in so many. What is
    returned has been found good, or is `high`.

    >>> round(float(bisect(lambda x: x * x >= 2, Fraction(0), Fraction(2))), 12)
    1.414213562373
    """
    while high - low > high / parts:
        middle = (low + high) / 2
        scale = Fraction(2) ** (64 - (middle.numerator.bit_length() - middle.denominator.bit_length()))
        middle = Fraction(round(middle * scale)) / scale  # 64 significant bits, so that repeated halving stays cheap
        low, high = (low, middle) if good(middle) else (middle, high)
    return high


def least(good: Callable[[Fraction], bool], start: Fraction, high: Fraction | None = None) -> Fraction:
    """The least good number to one part in 2^28, where every larger one is good; found good itself, or `high`.

    The search begins at `start`, and goes down from there if that is good, to 2^-21 at the lowest.

    >>> [round(float(least(lambda x: x * x >= 2, Fraction(n))), 6) for n in (1, 5)]
    [1.414214, 1.414214]
    """
    low = start
    if good(low):
        while good(low / 2) and low > Fraction(1, 1 << 20):
            low /= 2
        low, high = low / 2, low
    elif high is None:
        high = 2 * low
        while not good(high):
            low, high = high, 2 * high
    return bisect(good, low, high, 1 << 28)


_SECANTS = 8  # that a search takes at most
_NEAR, _FAR = 2.0**-20, 20.0  # steps of a logarithm: so small that it is found, and too large to be believed
_LARGEST_TOLD = Fraction(1 << 1000)
_LARGEST_TIMES = Fraction(10**9)  # that a guess goes in one step


def least_falling(value: Callable[[Fraction], Fraction], most: Fraction, start: Fraction) -> Fraction:
    """What `least` finds for a value that falls, and is to be at most so much.

    How large it is elsewhere tells where to look (the secant of both logarithms), so that it is asked for less often.

    >>> asked = []
    >>> found = least_falling(lambda x: asked.append(x) or 1 / x**3, Fraction(1, 8), Fraction(1))
    >>> found == least(lambda x: x**3 >= 8, Fraction(1)), len(asked) < 16
    (True, True)
    """
    bad, fine = Fraction(0), None  # the greatest that is known to be too small, and the least known to do

    def height(x: Fraction) -> float:
        nonlocal bad, fine
        found = value(x)
        if found > most:
            bad = max(bad, x)
        else:
            fine = x if fine is None else min(fine, x)
        times = float(min(found / most, _LARGEST_TOLD))
        return math.log(times) if times else -math.inf

    def good(x: Fraction) -> bool:
        if x > bad and (fine is None or x < fine):
            height(x)
        return fine is not None and x >= fine

    place, here = start, height(start)
    other = 2 * start if here > 0 else start / 2
    there = height(other)
    for _ in range(_SECANTS):
        slope = (there - here) / math.log(other / place)
        step = -there / slope if math.isfinite(slope) and slope < 0 else 0.0
        if abs(step) < _NEAR or abs(step) > _FAR:
            break
        place, here, other = other, there, other * Fraction(math.exp(step))
        there = height(other)
    for side in (1 - _NEAR, 1 + _NEAR):
        good(other * Fraction(side))
    return least(good, start)


def guessed(
    value: Callable[[Fraction], float | None],
    wanted: Fraction,
    start: Fraction,
    power: float,
    rounded: Callable[[Fraction], Fraction],
) -> Fraction:
    """About where a value that goes as a power of its place is the wanted one, to begin a search there.

    The power is corrected by each value that is asked for; where one is 0 or not known, the guess ends.

    >>> asked = []
    >>> found = guessed(lambda x: asked.append(x) or 3 / x**1.5, Fraction(7), Fraction(1), -1, lambda x: round(x, 2))
    >>> str(found), len(asked)
    ('57/100', 3)
    """
    here = value(start)
    for _ in range(_SECANTS // 2):
        if not here or not math.isfinite(here):
            break
        times = float(min(max(wanted / Fraction(here), 1 / _LARGEST_TIMES), _LARGEST_TIMES))
        place = rounded(start * Fraction(times ** (1 / power)))
        if place == start:
            break
        there = value(place)
        if there and math.isfinite(there):
            found = math.log(there / here) / math.log(place / start)
            power = found if found * power > 0 and abs(found) > abs(power) / _SECANTS else power
        start, here = place, there
    return start


def least_whole(good: Callable[[int], bool], near: int = 0) -> int:
    """The least whole number n ≥ 0 that is good, where every one above it is good too; the search starts `near` it.

    >>> least_whole(lambda n: n * n >= 40), least_whole(lambda n: n * n >= 40, 1000), least_whole(lambda n: True, 5)
    (7, 7, 0)
    """
    high, step = max(near, 0), 1
    if good(high):
        low = high - 1
        while low >= 0 and good(low):
            low, high, step = low - step, low, 2 * step
    else:
        low, high = high, high + step
        while not good(high):
            step *= 2
            low, high = high, high + step
    low = max(low, -1)
    while high - low > 1:  # not bisect_left, which takes no more than 63 bits
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high


def least_decimal(
    good: Callable[[Fraction], bool], near: Fraction, least: Fraction, most: Fraction, digits: int, decimals: int = 0
) -> Fraction | None:
    """The least good number from `least` to `most` of so many digits, or decimals where these are finer.

    Every number above a good one must be good; None where `most` is not. The search starts `near` it.

    >>> [str(least_decimal(lambda x: 3 * x > n, Fraction(1), Fraction(1, 10), Fraction(50), 2)) for n in (1, 100, 200)]
    ['17/50', '34', 'None']
    """
    grid = []  # of each power of ten: the step, and how many steps its numbers are
    for power in range(-12, 3):
        step = Fraction(10) ** min(power + 1 - digits, -decimals)
        first, last = max(least, Fraction(10) ** power), min(most, Fraction(10) ** (power + 1) - step)
        grid.append((step, range(math.ceil(first / step), math.floor(last / step) + 1)))

    def number(place: int) -> Fraction:
        for step, steps in grid:
            if place < len(steps):
                return step * steps[place]
            place -= len(steps)
        raise IndexError(place)

    every = range(sum(len(steps) for _, steps in grid))
    start = min(bisect_left(every, near, key=number), len(every) - 1)
    found = least_whole(lambda place: place >= len(every) or good(number(place)), start)
    return number(found) if found < len(every) else None


def least_with(
    value: Callable[[Fraction], float | None],
    wanted: Fraction,
    start: Fraction,
    least: Fraction,
    most: Fraction,
    digits: int,
    decimals: int = 0,
) -> Fraction | None:
    """The least number whose falling value is at most the wanted one, of those of `least_decimal`; None: there is none.

    The search begins where the value would be that if it fell as a power from what it is at the `start`. None is more
    than is wanted; where it is that at the start, the end of the range is asked for next.

    >>> asked = []
    >>> found = least_with(lambda x: asked.append(x) or 3 / x**1.5, Fraction(7), Fraction(1), Fraction("0.1"), 9, 2)
    >>> str(found), len(asked)
    ('57/100', 4)
    """
    values = cache(value)

    def reaches(place: Fraction) -> bool:
        found = values(place)
        return found is not None and found <= wanted

    def tried(place: Fraction) -> Fraction:
        return min(max(Fraction(f"{float(min(max(place, least), most)):.{digits - 1}e}"), least), most)

    if values(start) is None and not reaches(most):
        return None
    return least_decimal(reaches, guessed(values, wanted, start, -1, tried), least, most, digits, decimals)


# Numbers as they are shown --------------------------------------------------------------------------------------------


def float_above(x: Fraction) -> float:
    """The least float whose shortest decimal is at least x, so that passing it on keeps the bound.

    >>> float_above(Fraction(3, 10)), float_above(Fraction(1, 3)) >= Fraction(1, 3)
    (0.3, True)
    """
    value = float(x)
    while Fraction(repr(value)) < x:
        value = math.nextafter(value, math.inf)
    return value


def floats_above(xs: Sequence[Fraction]) -> list[float]:
    """`float_above` of each of several numbers."""
    return [float_above(x) for x in xs]


def float_below(x: Fraction) -> float:
    """The greatest float whose shortest decimal is at most x."""
    return -float_above(-x)


def int_or_float(number: Fraction) -> int | float:
    """A number as it is shown: whole as an int."""
    return int(number) if number.denominator == 1 else float(number)


def decimals(number: Fraction | int) -> str:
    """A number with all of its decimals where they end, else as a fraction.

    >>> decimals(Fraction(-1, 8)), decimals(Fraction(1, 3)), decimals(1000)
    ('-0.125', '1/3', '1000')
    """
    bottom, places = number.denominator, 0
    for factor in (10, 5, 2):
        while bottom % factor == 0:
            bottom, places = bottom // factor, places + 1
    if bottom > 1:
        return str(number)
    digits = str(abs(number.numerator) * 10**places // number.denominator).rjust(places + 1, "0")
    text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    return f"-{text}" if number < 0 else text


def percent(level: float) -> str:
    """A level with every digit that it was given.

    >>> percent(0.95), percent(0.9999)
    ('95%', '99.99%')
    """
    return f"{100 * level:.12g}%"


def several(count: int, noun: str) -> str:
    """A count with its noun, in the plural unless it is one.

    >>> several(1, "row"), several(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def written(number: Any, digits: int = 3) -> str:
    """A number as people write it: short decimals as they are, others to some digits, thousands apart, no e+06.

    >>> [written(x) for x in (Fraction(4, 21), 1.05e6, "0.0625", "1e-5", "2.5e-9", 8)]
    ['0.19', '1,050,000', '0.0625', '0.00001', '2.5 × 10⁻⁹', '8']
    """
    value = exact(number)
    if abs(value) >= 1000:
        return f"{round(value):,}"
    if Fraction(f"{float(value):.6g}") != value:
        value = Fraction(f"{float(value):.{digits}g}")
    if not value or abs(value) >= Fraction(1, 10**6):
        return format(Decimal(f"{float(value):.12g}"), "f")
    mantissa, _, power = f"{float(value):.6e}".partition("e")
    first = mantissa.rstrip("0").rstrip(".")
    raised = f"10{str(int(power)).translate(_RAISED)}"
    return raised if first == "1" else f"{first} × {raised}"


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def plain_number(number: Fraction) -> Any:
    """An int, else a float whose shortest decimal is the number, else a Decimal, else the fraction."""
    if number.denominator == 1:
        return number.numerator
    value = float(number)
    if Fraction(repr(value)) == number:
        return value
    text = decimals(number)
    return number if "/" in text else Decimal(text)
