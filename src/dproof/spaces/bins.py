"""Bins: consecutive values of a column that are counted together, between public edges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dproof.errors import ArgumentError, InputError
from dproof.exact import plain_number

if TYPE_CHECKING:
    from dproof.spaces.categories import Categories
    from dproof.spaces.interval import Interval

_MOST = 12  # bins that an interval has by default
_EXAMPLE = "such as [0, 20, 40, 60]"


@dataclass(frozen=True, slots=True)
class Bins:
    """Bins by the first code of each: a bin has the codes from its start up to the next start, or to the stop."""

    starts: tuple[int, ...]
    labels: tuple[Any, ...]
    stop: int

    @property
    def size(self) -> int:
        return len(self.starts)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each bin has.

        >>> Bins((0, 8, 18), ("a", "b", "c"), 91).sizes
        (8, 10, 73)
        """
        return tuple(stop - start for start, stop in pairwise((*self.starts, self.stop)))

    def of(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        """The bin of each code.

        >>> Bins((0, 8, 18), ("a", "b", "c"), 91).of(np.array([0, 7, 8, 90])).tolist()
        [0, 0, 1, 2]
        """
        return np.asarray(np.searchsorted(self.starts, codes, side="right") - 1, np.int64)

    def cut_by(self, ends: Iterable[int]) -> tuple[int, ...]:
        """The bins that are cut when codes below one of these ends are told from the others; all else are covered.

        >>> Bins((0, 8, 18), ("a", "b", "c"), 91).cut_by([0, 8, 20])
        (2,)
        """
        inside = sorted({end for end in ends if 0 < end < self.stop} - set(self.starts))
        return tuple(dict.fromkeys(self.of(np.array(inside, np.int64)).tolist()))

    @property
    def space(self) -> Categories:
        """The bins as values of a column: what a number is sanitised as where it has bins.

        >>> Bins((0, 8, 18), ("a", "b", "c"), 91).space.size
        3
        """
        from dproof.spaces.categories import Categories

        return Categories(self.labels)

    def with_missing(self, absent: int | None) -> Bins:
        """These bins, and one more for a missing value if there is a code for it, which is the last."""
        return self if absent is None else Bins((*self.starts, absent), (*self.labels, None), absent + 1)


def bins_between(space: Interval, edges: Any) -> Bins:
    """The bins [a, b) between edges from the low to the high end of an interval, the last one closed.

    >>> from dproof.spaces import Interval
    >>> bins_between(Interval(17, 90, 1), [17, 25, 65, 90])
    Bins(starts=(0, 8, 48), labels=('[17, 25)', '[25, 65)', '[65, 90]'), stop=74)
    """
    if not isinstance(edges, Sequence) or isinstance(edges, str) or len(edges) < 2:
        raise ArgumentError(f"bins must be a list of edges from low to high, {_EXAMPLE}")
    try:
        numbers = [space.number(edge) for edge in edges]
    except InputError:
        raise ArgumentError(f"bins must be a list of edges of the same kind as low and high, {_EXAMPLE}") from None
    shown = [_shown(space, number) for number in numbers]
    if (numbers[0], numbers[-1]) != (space.low, space.high):
        ends = f"{_shown(space, space.low)} to {_shown(space, space.high)}"
        raise ArgumentError(f"bins must go from low to high, {ends}, and these go from {shown[0]} to {shown[-1]}")
    for n in range(1, len(numbers)):
        if numbers[n - 1] >= numbers[n]:
            raise ArgumentError(f"bins must rise from edge to edge, and {shown[n - 1]} comes before {shown[n]}")
    starts = [-int((space.low - number) // space.step) for number in numbers[:-1]]  # rounded up: [a, b)
    for n, (start, end) in enumerate(zip(starts, [*starts[1:], space.size], strict=True)):
        if start == end:
            raise ArgumentError(f"no value lies in the bin from {shown[n]} to {shown[n + 1]}: leave an edge out")
    return Bins(tuple(starts), _labels(shown), space.size)


def default_bins(space: Interval) -> Bins:
    """Each value by itself where there are few; else bins of one width, but for the ends.

    Numbers have edges at multiples of a round width, 1, 2 or 5 times a power of ten.

    >>> from dproof.spaces import Interval
    >>> default_bins(Interval(17, 90, 1)).labels
    ('[17, 20)', '[20, 30)', '[30, 40)', '[40, 50)', '[50, 60)', '[60, 70)', '[70, 80)', '[80, 90]')
    """
    if space.size <= _MOST:
        return each_value(space)
    if not space.has_sums:  # dates: no number of days is round
        codes = [n * space.size // _MOST for n in range(_MOST)]
        edges = [space.low + space.step * code for code in codes]
    else:
        width = _round_width((space.high - space.low) / _MOST)
        first, last = space.low // width + 1, -(-space.high // width)
        edges = [space.low, *(width * n for n in range(first, last))]
        codes = [-int((space.low - edge) // space.step) for edge in edges]
    return Bins(tuple(codes), _labels([_shown(space, edge) for edge in (*edges, space.high)]), space.size)


def each_value(space: Any) -> Bins:
    """A bin for each value of a finite space, a missing one included."""
    return Bins(tuple(range(space.size)), tuple(space.label(code) for code in range(space.size)), space.size)


def _round_width(least: Fraction) -> Fraction:
    """The least of 1, 2 and 5 times a power of ten that is not below this."""
    power = Fraction(10) ** (len(str(int(least))) if least >= 1 else -len(str(int(1 / least))))
    return next(width for scale in (power / 10, power, 10 * power) for n in (1, 2, 5) if (width := n * scale) >= least)


def _shown(space: Interval, number: Fraction) -> str:
    return str(plain_number(number) if space.has_sums else space.shown(float(number)))


def _labels(shown: Sequence[str]) -> tuple[str, ...]:
    pairs = list(pairwise(shown))
    return tuple(f"[{low}, {high}{']' if n == len(pairs) - 1 else ')'}" for n, (low, high) in enumerate(pairs))
