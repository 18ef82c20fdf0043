"""Staircase noise on the lattice: flat stairs as wide as the sensitivity, each lower than the last by one ratio.

Stair 0 is |k| < inner, stair i ≥ 1 is inner + (i−1)·width ≤ |k| < inner + i·width. A shift of at most `width`
changes |k| by no more than that, so it moves at most one stair up or down, and costs at most the ratio of two
neighbouring stairs: finitely many fractions, as the stairs come in blocks without memory.
Geng and Viswanath 2016; Geng, Kairouz, Oh and Viswanath 2015.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain, pairwise
from math import ceil, log
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.errors import ArgumentError, TooLarge
from dproof.exact import log_above
from dproof.laws.guide import Guide, guide, uniform_below
from dproof.laws.law import SIZE, read_number
from dproof.laws.noise import NOISES, TABLED, Geometric, NoiseLaw, draw_on, falling

_ROOM = 1 << 52
_MOST_STAIRS = 2000
_WIDEST = 1 << 50  # in widths over ε, as for Laplace noise
_FLATTEST = Fraction(1, 1 << 20)  # of ε; below, one draw takes hundreds of blocks


@dataclass(frozen=True, eq=False)
class Stairs(NoiseLaw):
    """`first` holds the weights of stairs 0, …, B and of the escape beyond them, `tail` those of each later block.

    >>> law = stairs(Fraction(3), 10)
    >>> law.ratio <= 3, law.probability(0) > law.probability(9), law.probability(-4) == law.probability(4)
    (True, True, True)
    """

    kind: ClassVar[str] = "stairs"

    width: int
    inner: int
    first: tuple[int, ...]
    tail: tuple[int, ...]

    def __post_init__(self) -> None:
        """Only steps down are charged, so every stair must be at most as high as the one before it."""
        short = min(self.width, self.inner) < 1 or min(len(self.first), len(self.tail)) < 2
        if short or min(*self.first, *self.tail) < 1:
            raise ArgumentError("stairs need a width, a first block and a later one, and no weight of 0")
        later, cells = sum(self.tail), self._cells(0)
        first = [self.first[0] * 2 * self.width, *(w * cells for w in self.first[1:-1])]
        first_end = first[-1] * later, self.first[-1] * self.tail[0] * cells
        block_end = self.tail[-2] * later, self.tail[0] * self.tail[-1]
        if any(a < b for a, b in (*pairwise(first), *pairwise(self.tail[:-1]), first_end, block_end)):
            raise ArgumentError("a stair is higher than the one before it")

    @property
    def scale(self) -> float:
        return float(self.width / log_above(self.ratio))

    @cached_property
    def _blocks(self) -> Geometric:
        return Geometric(self.first, self.tail, sum(self.first))

    def _cells(self, stair: int) -> int:
        return 2 * self.inner - 1 if stair == 0 else 2 * self.width

    def _stair(self, k: int) -> int:
        return max(0, -((self.inner - 1 - abs(k)) // self.width))

    def probability(self, k: int) -> Fraction:
        stair = self._stair(k)
        return self._blocks.chance(stair) / self._cells(stair)

    def cumulative(self, k: int) -> Fraction:
        if k < 0:
            return (1 - self._within(-k - 1)) / 2
        return (1 + self._within(k)) / 2

    def _within(self, m: int) -> Fraction:
        """P(|X| ≤ m)."""
        stair = self._stair(m)
        if stair == 0:
            return self._blocks.chance(0) * Fraction(2 * m + 1, self._cells(0))
        start = self.inner + (stair - 1) * self.width
        return 1 - self._blocks.above(stair - 1) + self._blocks.chance(stair) * Fraction(m + 1 - start, self.width)

    def denominator(self, reach: int) -> int:
        return 2 * self._cells(0) * self._cells(1) * self._blocks.denominator(self._stair(reach))

    # Privacy -------------------------------------------------------------------------------------------------------

    def _levels(self) -> tuple[list[Fraction], list[Fraction]]:
        """Heights of stairs 0, …, B+1, and of B+1 to the first stair of the next block; later ones repeat these."""
        block = len(self.tail) - 1
        last = len(self.first) - 2
        heights = [self._blocks.chance(i) / self._cells(i) for i in range(last + block + 2)]
        return heights[: last + 2], heights[last + 1 :]

    def _steps(self) -> Iterator[tuple[Fraction, Fraction]]:
        return chain(*(pairwise(heights) for heights in self._levels()))

    @cached_property
    def ratio(self) -> Fraction:
        """The largest ratio of two neighbouring stairs, either way."""
        return max(max(a / b, b / a) for a, b in self._steps())

    def delta(self, odds: Fraction, shift: int) -> Fraction:
        """The tight δ at these odds over all shifts of at most `shift` ≤ width, exactly.

        Only the cells that move one stair down count: as many as the shift on each stair, fewer on a narrow first.
        """
        if shift > self.width:
            raise TooLarge("staircase noise is made for shifts of at most its width")
        start, block = ([max(Fraction(0), a - odds * b) for a, b in pairwise(part)] for part in self._levels())
        repeated = 1 / (1 - Fraction(self.tail[-1], sum(self.tail)))
        return min(shift, self._cells(0)) * start[0] + shift * (sum(start[1:]) + sum(block) * repeated)

    def pure(self, shift: int) -> Fraction | None:
        """The odds that no shift of at most `shift` exceeds: each width of it is at most one stair down."""
        return Fraction(self.ratio ** -(-shift // self.width))

    @cached_property
    def moments(self) -> tuple[Fraction, Fraction, Fraction]:
        """E X, E|X| and E X², exactly."""
        r, d = self.inner, self.width
        # With T ≥ 1, |X| = r + (T−1)·d + V and V uniform on 0, …, d−1.
        inside = self._blocks.chance(0)
        outside, (t, t2) = 1 - inside, self._blocks.moments
        t, t2 = t - outside, t2 - 2 * t + outside  # of T − 1, where T ≥ 1
        middle, spread = r + Fraction(d - 1, 2), Fraction(d * d - 1, 12)
        absolute = inside * Fraction(r * (r - 1), 2 * r - 1) + middle * outside + d * t
        square = inside * Fraction(r * (r - 1), 3)
        square += (middle**2 + spread) * outside + 2 * middle * d * t + d * d * t2
        return Fraction(0), absolute, square

    # Sampling ------------------------------------------------------------------------------------------------------

    @cached_property
    def _guides(self) -> tuple[Guide, Guide]:
        return guide([self.first], sum(self.first)), guide([self.tail], sum(self.tail))

    def draw(self, count: int, coins: Coins) -> NDArray[np.int64]:
        """Independent draws: a stair, then a cell of it."""
        first, tail = self._guides
        stair = first.sample(count, coins).astype(np.int64)
        escaped = np.flatnonzero(stair == len(self.first) - 1)
        stair[escaped] += draw_on(lambda n: tail.sample(n, coins).astype(np.int64), len(escaped), len(self.tail) - 1)
        cell = uniform_below(np.where(stair == 0, self._cells(0), self._cells(1)), coins)
        outside = self.inner + (stair - 1) * self.width + (cell >> 1)
        return np.asarray(np.where(stair == 0, cell - (self.inner - 1), np.where(cell & 1, -outside, outside)))

    def to_json(self) -> Mapping[str, Any]:
        tables = {"first": [str(w) for w in self.first], "tail": [str(w) for w in self.tail]}
        return {"kind": self.kind, "width": str(self.width), "inner": str(self.inner), **tables}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Stairs:
        sizes = (read_number(record, name, SIZE) for name in ("width", "inner"))
        return cls(*sizes, *(read_number(record, name, TABLED) for name in ("first", "tail")))


NOISES[Stairs.kind] = Stairs.from_json


def stairs(ratio: Fraction, width: int, inner: int | None = None) -> Stairs:
    """The staircase for shifts up to `width` at these odds; without `inner` its first stair errs least."""
    if ratio - 1 < _FLATTEST:
        raise TooLarge("epsilon is too small for staircase noise, and Laplace noise is as good there: use that")
    if width > _WIDEST * log(min(ratio, Fraction(1 << 900))):
        raise TooLarge("staircase noise that wide does not fit a machine word; use a coarser step, or more epsilon")
    if inner is not None:
        return _with_inner(ratio, width, inner)
    root = float(min(ratio, Fraction(1 << 900))) ** 0.5
    near = int(width / (1 + root))  # the best width of the first stair on the real line, width/(1 + e^(ε/2))
    candidates = (_with_inner(ratio, width, inner) for inner in range(near - 1, near + 3) if 1 <= inner <= width)
    return min(candidates, key=lambda law: law.moments[1])


def _with_inner(ratio: Fraction, width: int, inner: int) -> Stairs:
    """The tables, each weight at least the one before it over the ratio."""
    steep = float(min(ratio, Fraction(1 << 900)))
    count = min(_MOST_STAIRS, ceil(7 / log(steep)) + 1)  # an escape is rarer than one in a thousand
    peak = _ROOM // min(count, ceil(1 / (1 - 1 / steep)))
    tail = falling(peak, ratio, count)
    share = tail[-1] / (ratio * peak)
    tail.append(ceil(share * sum(tail) / (1 - share)))
    first = [peak, *falling(ceil(Fraction(peak * 2 * width, 2 * inner - 1) / ratio), ratio, count)]
    first.append(ceil(Fraction(first[-1] * sum(tail), peak) / ratio))
    return Stairs(width, inner, tuple(first), tuple(tail))
