"""Noise on Z: what every law of noise offers, and the geometric law in blocks that two of them are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import mul
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.errors import TooLarge
from dproof.laws.law import Range

_FARTHEST = 1 << 14  # blocks; beyond, a probability has a million digits
TABLED: Range = (1, 1 << 128)  # a weight of a recorded table of noise: none is 0


class NoiseLaw(Protocol):
    """A law on Z that is added to a number, the same whatever the number.

    A noise of a new shape is a frozen dataclass that subclasses this one and says what has no default here. The line
    `NOISES[TheNoise.kind] = TheNoise.from_json` after the class makes its certificates readable.
    """

    kind: ClassVar[str]

    def probability(self, k: int) -> Fraction:
        """P(X = k), exactly."""
        ...

    def cumulative(self, k: int) -> Fraction:
        """P(X ≤ k), exactly."""
        ...

    def denominator(self, reach: int) -> int:
        """A common denominator of every P(X = k) and P(X ≤ k) with |k| ≤ reach."""
        ...

    def delta(self, odds: Fraction, shift: int) -> Fraction:
        """The least δ, or a proven bound of it, at these odds over all shifts of at most `shift`."""
        ...

    def pure(self, shift: int) -> Fraction | None:
        """Odds that serve all shifts of at most `shift` at δ = 0, if any do; none do where the values end."""
        return None if shift else Fraction(1)

    @property
    def moments(self) -> tuple[Fraction, Fraction, Fraction]:
        """E X, E|X| and E X²."""
        ...

    def capped(self, sign: int, most: int) -> Fraction:
        """E min(|X|, most) over X ≥ 0, or with sign 1 over X < 0: the sum of all P(X ≥ j), or P(X ≤ −j), up to it."""
        total = self.denominator(most)
        if sign:
            return Fraction(sum(int(self.cumulative(-j) * total) for j in range(1, most + 1)), total)
        return Fraction(sum(total - int(self.cumulative(j) * total) for j in range(most)), total)

    @property
    def farthest(self) -> int | None:
        """How far it reaches from 0 at most; None where there is no end."""
        return None

    @property
    def scale(self) -> float | None:
        """In steps: b of Laplace noise, over which it falls by the factor e, as of stairs; σ of Gaussian noise."""
        return None

    @property
    def block(self) -> int | None:
        """How many values its table has before it is gone through again; None where it is not."""
        return None

    def draw(self, count: int, coins: Coins) -> NDArray[np.int64]:
        """Independent draws."""
        ...

    def to_json(self) -> Mapping[str, Any]:
        """The tables as JSON."""
        ...


NOISES: dict[str, Callable[[Mapping[str, Any]], NoiseLaw]] = {}  # how each kind is read back; every noise adds itself


@dataclass(frozen=True, eq=False)
class Geometric:
    """A geometric law on 0, 1, 2, … in blocks: a table of digits whose last entry, the escape, adds one block and draws
    again. It has no memory, so finitely many whole numbers reach everything.

    T is a digit of `first`, or, at its escape, the number of its digits plus a draw that goes on with `tail`.
    `first` may be a part of a table of which `whole` is the sum: then all that is said of T is of that part.

    >>> halves = Geometric((1, 1), (1, 1), 2)
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
            raise TooLarge("the exact probability so far from 0 has too many digits to write down; ask nearer to 0")
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


def draw_on(fresh: Callable[[int], NDArray[np.int64]], count: int, escape: int) -> NDArray[np.int64]:
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
