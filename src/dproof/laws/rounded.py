"""Numbers that are first rounded at random to a coarse lattice, without bias, and then drawn from a law of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.errors import InputError
from dproof.laws.debias import Mixed, Scale, Seen, Unmixed
from dproof.laws.divergence import Odds, Worst
from dproof.laws.guide import uniform_below
from dproof.laws.lattice import overlaps
from dproof.laws.law import LAWS, SIZE, Law, nearest_codes, presence_alone, read_number
from dproof.laws.matrix import Matrix
from dproof.laws.points import Points
from dproof.laws.scores import Dense, Powers, Shared
from dproof.spaces.interval import Line
from dproof.spaces.space import Space

_LARGEST = 1 << 48  # points of an interval
_STEPS = (1, 1 << 12)  # of the coarse lattice
_TABLED = 1 << 16  # codes whose chances are kept
_UNBIASED = 1e-9  # of half the interval, what the mean of a row may be off by
_CLOSE = 1e-6  # relative, between errors that floats do not put in order


@dataclass(frozen=True, eq=False)
class Rounded(Law):
    """Point c of `size` lies at c·steps/(size − 1) = k + f on a coarse lattice: it becomes k + 1 with probability f,
    else k, and is drawn from that row of the inner law.

    P(Y_c = y) = (1 − f)·P(L_k = y) + f·P(L_{k+1} = y). Inputs after the points, such as a missing value, are inputs of
    the inner law after its coarse points, as they are.

    Why it is private: a mixture of laws of a private family is no farther from another mixture than the worst two
    laws are from each other.

    >>> law = Rounded(5, 1, Matrix(np.array([[3, 1], [1, 3]]), 4))
    >>> [str(law.probability(c, 1)) for c in range(5)], law.odds(Fraction(0)).value
    (['1/4', '3/8', '1/2', '5/8', '3/4'], Fraction(3, 1))
    """

    kind: ClassVar[str] = "rounded"

    size: int
    steps: int
    inner: Matrix

    def __post_init__(self) -> None:
        if not 1 <= self.steps < self.size <= _LARGEST or not 0 <= self._more <= 1:
            raise InputError("a rounded law needs a row for every point of a coarse lattice, with fewer points")

    @property
    def _more(self) -> int:
        """How many inputs come after the points."""
        return self.inner.inputs - self.steps - 1

    @property
    def inputs(self) -> int:
        return self.size + self._more

    @property
    def outputs(self) -> int:
        return self.inner.outputs

    @property
    def total(self) -> int:
        return self.inner.total * (self.size - 1)

    def _place(self, codes: Any) -> tuple[Any, Any]:
        """The coarse point below each code, and how far beyond it the code lies, in parts of size − 1.

        >>> [part.tolist() for part in Rounded(5, 2, Matrix(np.eye(3, dtype=int), 1))._place(np.arange(5))]
        [[0, 0, 1, 1, 2], [0, 2, 0, 2, 0]]
        """
        below, part = np.divmod(np.minimum(codes, self.size - 1) * self.steps, self.size - 1)
        return below + np.maximum(codes - (self.size - 1), 0), part

    def weights(self, source: int) -> NDArray[Any]:
        (below, part), last = self._place(source), self.inner.inputs - 1
        row, after = (self.inner.rows[n].astype(object) for n in (below, min(below + 1, last)))
        return np.asarray(row * (self.size - 1 - int(part)) + after * int(part))

    @cached_property
    def _ends(self) -> tuple[list[int], Matrix]:
        """The codes next to coarse points and those after the points, and their laws. Between two of these in a cell
        the law is linear in the code, so it is a mixture of theirs, and no farther from others."""
        near = {end for k in range(self.steps + 1) for end in _beside(k * (self.size - 1), self.steps)}
        codes = [*sorted(near), *range(self.size, self.inputs)]
        return codes, Matrix(np.array([self.weights(code) for code in codes]), self.total)

    def worst(self, odds: Fraction) -> Worst:
        codes, law = self._ends
        worst = law.worst(odds)
        return Worst(worst.value, codes[worst.source], codes[worst.target])

    def odds(self, delta: Fraction) -> Odds:
        codes, law = self._ends
        odds = law.odds(delta)
        return Odds(odds.value, codes[odds.source], codes[odds.target])

    def maximal_expectation(self, losses: Callable[[int], Any]) -> Fraction:
        """Between two coarse points E|Y_c − c| and E(Y_c − c)² are quadratic in c, as outputs lie on that lattice. So
        three codes tell where the largest lies; floats tell in which cells it may lie, and these are gone through."""
        starts = [-(-k * (self.size - 1) // self.steps) for k in range(self.steps)]
        cells = list(zip(starts, [*(first - 1 for first in starts[1:]), self.size - 1], strict=True))

        def near(code: int) -> float:
            return float(np.asarray(self.weights(code) / self.total, float) @ np.asarray(losses(code), float))

        tried = [_peak(first, last, near) for first, last in cells]
        most = max(top for top, _ in tried)
        codes = {code for top, some in tried if top >= most * (1 - _CLOSE) for code in some}
        codes |= set(range(self.size, self.inputs))
        return max(self.expectation(code, losses(code)) for code in sorted(codes))

    def bias_and_variance(self, true: Line, released: Line) -> tuple[float, float]:
        """Over all numbers of the interval: (1 − f)·a + f·b + f(1 − f)·h² between neighbours with variances a and b."""
        law, points = self.inner.rows / self.inner.total, released.numbers(np.arange(self.outputs)).astype(np.float64)
        width = float(true.step) * (self.size - 1) / self.steps
        means = law @ points
        variances = law @ points**2 - means**2
        a, b = variances[:-1], variances[1:]
        f = np.clip(0.5 + (b - a) / (2 * width**2), 0, 1)
        largest = ((1 - f) * a + f * b + f * (1 - f) * width**2).max()
        return float(np.abs(means - float(true.origin) - width * np.arange(self.steps + 1)).max()), float(largest)

    def mean_variance(self, space: Space) -> float | None:
        if space.present is None:
            return None
        coarse = np.arange(self.steps + 1) * (self.size - 1) / self.steps
        return self.inner.variance_of_mean(space.present.values_of(coarse) - float(space.middle))

    def with_missing(self, epsilon: Fraction, delta: Fraction) -> Rounded:
        return Rounded(self.size, self.steps, self.inner.with_missing(epsilon, delta))

    def unmix(self, seen: Sequence[Seen], others: int, name: str) -> Unmixed:
        """The coarse points are nodes; a number between two of them has a law between theirs, exactly."""
        (column,) = seen
        matrix = np.asarray(self.inner.rows / self.inner.total, float)
        by_presence = presence_alone(column, matrix, name)
        if by_presence is not None:
            return by_presence
        blocks, scale = column.blocks, column.scale or Scale()
        near = np.arange(self.steps + 1) * (self.size - 1) / self.steps
        coarse = np.unique([np.floor(near), np.ceil(near)]).astype(np.int64)
        codes = np.unique(np.concatenate([coarse, blocks.first, blocks.last, np.arange(self.size, self.inputs)]))
        start, part = self._place(codes)
        share, absent = part / (self.size - 1), np.arange(self.size, self.inputs)
        halves = -(-(2 * np.arange(1, self.steps + 1) - 1) * (self.size - 1) // (2 * self.steps))
        starts = np.concatenate([[0], halves, absent])  # of the codes that are nearest to each node
        member = overlaps(starts, np.append(starts[1:], self.inputs), blocks)
        values = np.concatenate([scale.numbers(column.space, near), scale.numbers(column.space, absent)])
        shown = np.eye(blocks.blocks)[blocks.of(nearest_codes(column, self.outputs))]
        released = scale.numbers(column.outputs, np.arange(self.outputs))
        fair = not self._more and np.allclose(matrix @ released, values, rtol=0, atol=_UNBIASED)
        points = Points(matrix, start, share, blocks.of(codes), scale.numbers(column.space, codes))
        kind = Unbiased if fair else Mixed
        axis = kind(name, matrix, member, values, shown, released, rough=True, points=points)
        return Unmixed((axis,), lambda released: released[0])

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        below, first, rest = (part.take(codes) for part in self._tabled) if self._tabled else self._chances(codes)
        words = coins.words16(len(codes))
        up = words < first
        (even,) = np.nonzero(words == first)  # where 16 bits do not decide
        up[even] = uniform_below(np.full(len(even), self.size - 1), coins) < rest[even]
        return self.inner.draw(below + up, coins)

    def _chances(self, codes: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.uint16], NDArray[np.int64]]:
        """The coarse point below each code, and how likely it is rounded up: the first 16 bits of that number, and what
        is left of them, in parts of size − 1."""
        below, part = self._place(codes.astype(np.int64))
        first, rest = np.divmod(part.astype(np.uint64) << np.uint64(16), np.uint64(self.size - 1))
        return below, first.astype(np.uint16), rest.astype(np.int64)

    @cached_property
    def _tabled(self) -> tuple[NDArray[Any], ...]:
        """The same for every code; none where there are too many."""
        return self._chances(np.arange(self.inputs)) if self.inputs <= _TABLED else ()

    def to_json(self) -> Mapping[str, Any]:
        return {"kind": self.kind, "size": str(self.size), "steps": self.steps, "law": dict(self.inner.to_json())}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Rounded:
        size, steps = read_number(record, "size", SIZE), read_number(record, "steps", _STEPS)
        return cls(size, steps, Matrix.from_json(record["law"]))


LAWS[Rounded.kind] = Rounded.from_json


class Unbiased(Mixed):
    """Nodes under an unbiased law: a sum of all numbers is the sum of the released ones."""

    __slots__ = ()

    def scores(self, powers: Powers) -> Dense | Shared:
        if self.blocks == 1 and sum(powers) == 1:
            return Dense(self.seen_values[:, None])
        return super().scores(powers)


def _beside(top: int, bottom: int) -> tuple[int, int]:
    """A quotient rounded down, and up."""
    return top // bottom, -(-top // bottom)


def _peak(first: int, last: int, value: Callable[[int], float]) -> tuple[float, set[int]]:
    """The largest value of a parabola from one code to another, and the codes that may have it."""
    if last - first < 4:
        codes = set(range(first, last + 1))
        return max(map(value, codes)), codes
    middle = (first + last) // 2
    a, b, c = map(value, (first, middle, last))
    rise, fall = (b - a) / (middle - first), (c - b) / (last - middle)
    codes, most = {first, last}, max(a, b, c)
    if fall < rise:
        top = (first + middle - rise * (last - first) / (fall - rise)) / 2
        beside = {int(min(max(top + step, first), last)) for step in (-1, 0, 1, 2)}
        codes, most = codes | beside, max(most, *map(value, beside))
    return most, codes
