"""A geometric law in blocks: a table of digits whose last entry, the escape, adds one block and draws again.

The geometric law has no memory, so finitely many whole numbers reach all of 0, 1, 2, …
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import mul

import numpy as np
from numpy.typing import NDArray

from dproof.errors import TooLarge

_FARTHEST = 1 << 14  # blocks; beyond, a probability has a million digits


@dataclass(frozen=True, eq=False)
class Blocks:
    """T is a digit of `first`, or, at its escape, the number of its digits plus a draw that goes on with `tail`.

    `first` may be a part of a table of which `whole` is the sum: then all that is said of T is of that part.

    >>> halves = Blocks((1, 1), (1, 1), 2)
    >>> halves.chance(2), halves.above(2), halves.moments
    (Fraction(1, 8), Fraction(1, 8), (Fraction(1, 1), Fraction(3, 1)))
    """

    first: tuple[int, ...]
    tail: tuple[int, ...]
    whole: int

    def _place(self, t: int) -> tuple[Sequence[int], int, int]:
        """The table that t comes from, its digit there, and the weight of one part of that table."""
        if t < len(self.first) - 1:
            return self.first, t, 1
        blocks, digit = divmod(t - len(self.first) + 1, len(self.tail) - 1)
        if blocks > _FARTHEST:
            raise TooLarge("so far out a probability has more digits than are worth writing down; stay nearer")
        return self.tail, digit, self.first[-1] * int(self.tail[-1] ** blocks)

    def chance(self, t: int) -> Fraction:
        """P(T = t)."""
        table, digit, part = self._place(max(t, 0))
        return Fraction(part * table[digit] if t >= 0 else 0, self.denominator(t))

    def above(self, t: int) -> Fraction:
        """P(T > t)."""
        table, digit, part = self._place(max(t, 0))
        return Fraction(part * sum(table[digit + 1 :] if t >= 0 else table), self.denominator(t))

    def denominator(self, t: int) -> int:
        """A common denominator of all probabilities of T up to t."""
        blocks = (t - len(self.first) + 1) // (len(self.tail) - 1)
        return int(self.whole * sum(self.tail) ** max(0, blocks + 1))

    @cached_property
    def moments(self) -> tuple[Fraction, Fraction]:
        """E T and E T²."""
        # A draw that starts in the tail: its mean and mean square are on both sides of their equations.
        inside, (t, t2) = sum(self.tail[:-1]), _digit_sums(self.tail)
        n, escape = len(self.tail) - 1, self.tail[-1]
        mean = Fraction(t + escape * n, inside)
        square = (t2 + escape * (n * n + 2 * n * mean)) / inside
        t, t2 = _digit_sums(self.first)
        n, escape = len(self.first) - 1, self.first[-1]
        first, second = t + escape * (n + mean), t2 + escape * (n * n + 2 * n * mean + square)
        return first / self.whole, second / self.whole


def _digit_sums(table: Sequence[int]) -> tuple[int, int]:
    """Σ w·t and Σ w·t² over the digits t, without the escape."""
    digits = range(len(table) - 1)
    weighted = list(map(mul, digits, table))
    return sum(weighted), sum(map(mul, digits, weighted))


def go_on(fresh: Callable[[int], NDArray[np.int64]], count: int, escape: int) -> NDArray[np.int64]:
    """What comes on top of so many escapes: `fresh` draws, each followed by another as long as it escapes too."""
    added = np.zeros(count, np.int64)
    waiting = np.arange(count)
    while len(waiting):
        drawn = fresh(len(waiting))
        added[waiting] += drawn
        waiting = waiting[drawn == escape]
    return added


def falling(first: int, fall: Fraction, cells: int) -> list[int]:
    """`first`, then each weight at least the one before it over `fall`: no ratio of neighbours exceeds it.

    >>> falling(8, Fraction(3), 4)
    [8, 3, 1, 1]
    """
    table, p, q = [first], fall.numerator, fall.denominator
    while len(table) < cells:
        table.append(-(-table[-1] * q // p))
    return table
