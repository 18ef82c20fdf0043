"""How the codes of a column become the numbers that are added up: exactly, or as floats.

Noise is added to sums of whole numbers, multiples of a public unit (`WholeScale`): sums of floats would depend on their
order, and so would the guarantee. Estimates and formulas calculate with floats, about the middle of the range, so that
powers stay small (`Scale`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import gcd, inf, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.exact import exact
from dproof.spaces.space import MISSING


@dataclass(frozen=True, slots=True)
class Scale:
    """x = middle + unit · z, with |z| ≤ half about the middle of a range, and low ≤ x ≤ high where that is known."""

    middle: float = 0.0
    unit: float = 1.0
    half: float = 1.0
    low: float = -inf
    high: float = inf

    def numbers(self, space: Any, codes: NDArray[Any]) -> NDArray[Any]:
        """The z that codes of a space or a line stand for, also between and beyond those of an interval."""
        return np.asarray((space.values_of(codes) - self.middle) / self.unit)


@dataclass(frozen=True, slots=True)
class WholeScale:
    """The numbers of a column as whole numbers: value = origin + unit · (shift + factor · code), or a table of them.

    `ends` are the least and the greatest.
    """

    unit: Fraction
    origin: Fraction
    ends: tuple[int, int]
    shift: int
    factor: int
    table: tuple[int, ...] | None = None

    def whole(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        """The whole number of each code; 0 for a missing value, which adds nothing to any sum."""
        integers = np.asarray(codes).astype(np.int64)
        if self.table is not None:
            return np.where(integers == MISSING, 0, np.array(self.table, np.int64)[integers])
        return np.where(integers == MISSING, 0, self.shift + self.factor * integers)

    def value(self, whole: int) -> Fraction:
        return self.origin + self.unit * whole

    def in_floats(self) -> Scale:
        """The scale whose z are these whole numbers."""
        low, high = (float(self.value(end)) for end in self.ends)
        return Scale(float(self.origin), float(self.unit), float(self.ends[1]), low, high)


@lru_cache(maxsize=256)  # a question needs it again and again
def whole_scale(space: Any, centred: bool) -> WholeScale:
    """The exact scale of a space of numbers, about zero or, centred, about the middle of its range.

    >>> from dproof.spaces import Categories
    >>> whole_scale(Categories([0, 5, 10]), True)
    WholeScale(unit=Fraction(5, 1), origin=Fraction(5, 1), ends=(-1, 1), shift=0, factor=0, table=(-1, 0, 1))
    """
    if space.line is None:
        numbers = [None if label is None else exact(label) for label in space.labels]
        known = [number for number in numbers if number is not None]
        low, high = min(known), max(known)
        origin = (low + high) / 2 if centred else Fraction(0)
        unit = _unit([number - origin for number in known])
        table = tuple(0 if number is None else int((number - origin) / unit) for number in numbers)
        return WholeScale(unit, origin, (int((low - origin) / unit), int((high - origin) / unit)), 0, 0, table)
    low, step = space.line.origin, space.line.step
    origin = space.middle if centred else Fraction(0)
    unit = _unit([low - origin, step])
    shift, factor = int((low - origin) / unit), int(step / unit)
    return WholeScale(unit, origin, (shift, shift + factor * (space.candidates - 1)), shift, factor)


def scale_of(space: Any) -> Scale:
    """The scale on which the numbers of a space go from −1 to 1."""
    whole = whole_scale(space, True)
    return Scale(float(whole.origin), float(whole.unit * whole.ends[1]) or 1.0)


def _unit(numbers: list[Fraction]) -> Fraction:
    """The greatest number of which all of these are whole multiples."""
    bottom = lcm(*(number.denominator for number in numbers))
    return Fraction(gcd(*(int(number * bottom) for number in numbers)) or 1, bottom)
