"""Ranges with interval arithmetic: what an answer can be at all.

An interval that is cut to the possible range covers the truth as often as before, for the truth is in the range. One
that is all of it says nothing.

Before it is cut, an interval whose middle is not possible is moved until that is: chance made such an estimate, and
what a cut would leave of the interval could be as short as a point. Moved, it holds all possible values that it held
before (Mandelkern 2002, Setting confidence intervals for bounded parameters).

So the answers that tell something cover as often as they say, if errors are symmetric and the half-width h is always
the same. With h below half of the range all answers tell something, and with h above the range none does. In between
only a truth within range − h of an end can be missed, on one side, and then every second answer tells something.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, isfinite
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from dproof.questions.answer import Cell

LARGEST = 10**300
End: TypeAlias = Fraction | float  # exact, or −∞ or ∞


@dataclass(frozen=True, slots=True)
class Range:
    """From `low` to `high`, both possible; without either, from −∞ to ∞.

    >>> from dproof.questions.answer import Cell
    >>> Range(Fraction(0), Fraction(40)).cut(Cell(-3.0, -23.0, 17.0, 10.2, 5))
    Cell(estimate=-3.0, low=0.0, high=20.0, stderr=10.2, raw=5, informative=True)
    """

    low: End = -inf
    high: End = inf

    def cut(self, cell: Cell) -> Cell:
        """The cell with its interval moved and cut to what is possible; the estimate stays as it is."""
        ends = self.ends
        everything = ends if self.low < self.high else None  # where one number alone is possible, it is known
        if isinstance(cell.low, list):  # a curve, point by point
            points = [_cut(*point, *ends) for point in zip(cell.low, cell.high, strict=True)]
            informative = any(point != everything for point in points)
            return replace(cell, low=[a for a, _ in points], high=[b for _, b in points], informative=informative)
        if cell.low is None or cell.high is None:
            return cell
        low, high = _cut(cell.low, cell.high, *ends)
        if not (isfinite(low) and isfinite(high)):  # it could be anything
            return replace(cell, low=None, high=None, informative=False)
        return replace(cell, low=low, high=high, informative=(low, high) != everything)

    def is_narrowed_by(self, half_width: float | None) -> bool:
        """Whether an interval of ± this width around the middle leaves out anything that is possible, as in answers.

        One that is not known beforehand, None, may.

        >>> [Range(Fraction(0), Fraction(40)).is_narrowed_by(half_width) for half_width in (19, 20)]
        [True, False]
        """
        low, high = self.ends
        return half_width is None or low == high or 2 * half_width < high - low

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends as floats."""
        return _float(self.low), _float(self.high)

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Range) -> Range:
        return self + other * point(-1)

    def __mul__(self, other: Range) -> Range:
        # A bound of 0 times one that is infinite is 0: what lies between them is finite.
        ends = [a * b if a and b else Fraction(0) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Range(min(ends), max(ends))

    def __truediv__(self, other: Range) -> Range:
        if other.low < 0 < other.high or other.low == other.high == 0:
            return Range()
        return self * Range(1 / other.high if other.high else -inf, 1 / other.low if other.low else inf)


def _cut(low: float, high: float, least: float, most: float) -> tuple[float, float]:
    half = (high - low) / 2
    if isfinite(half):
        low, high = min(low, most - half), max(high, least + half)
    return min(max(low, least), most), max(min(high, most), least)


def _float(end: End) -> float:
    """An end as a float; what no float reaches is infinite."""
    return float(end) if -LARGEST < end < LARGEST else inf if end > 0 else -inf


def point(number: int | Fraction) -> Range:
    return Range(Fraction(number), Fraction(number))
