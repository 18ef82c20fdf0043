"""Search for the least parameter that will do, by halving; what is returned has itself been found to do."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from dproof.exact import exp_below, log_above

Made = TypeVar("Made")


def least(
    make: Callable[[Fraction], Made], good: Callable[[Made], bool], low: Fraction, high: Fraction | None = None
) -> Made:
    """What the least good parameter makes, to one part in 2^28; whatever is returned has been found good.

    The search starts at `low`, and goes down if that is good; `high`, if given, is good.
    """
    if good(made := make(low)):
        while good(smaller := make(low / 2)) and low > Fraction(1, 1 << 20):
            low, made = low / 2, smaller
        low, high = low / 2, low
    elif high is not None:
        made = make(high)
    else:
        high = 2 * low
        while not good(made := make(high)):
            low, high = high, 2 * high
    while high - low > high / (1 << 28):
        middle = _short((low + high) / 2)
        if good(attempt := make(middle)):
            high, made = middle, attempt
        else:
            low = middle
    return made


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
    return bisect_left(range(low + 1, high), True, key=good) + low + 1


def _short(x: Fraction) -> Fraction:
    """A nearby fraction of 64 significant bits, so that repeated halving stays cheap."""
    places = 64 - (x.numerator.bit_length() - x.denominator.bit_length())
    scale = Fraction(2) ** places
    return Fraction(round(x * scale)) / scale


def tight_odds(delta_at: Callable[[Fraction], Fraction], pure: Fraction | None, delta: Fraction) -> Fraction | None:
    """The least odds, to one part in 2^60, at which a falling profile is at most δ; None where there are none.

    `pure` are odds that serve at δ = 0, if any do.
    """
    if delta_at(Fraction(1)) <= delta:
        return Fraction(1)
    if delta == 0:
        return pure
    low, high = Fraction(0), Fraction(1)
    while delta_at(exp_below(high)) > delta:
        if high > 4096:
            return None
        low, high = high, 2 * high
    if pure is not None:
        high = min(high, log_above(pure))
    while high - low > Fraction(1, 1 << 60) * high:
        middle = _short((low + high) / 2)
        low, high = (low, middle) if delta_at(exp_below(middle)) <= delta else (middle, high)
    odds = exp_below(high)
    return odds if delta_at(odds) <= delta else pure
