"""Numbers plus noise: what every law of noise on Z offers, and the law of lattice points with noise.

`Geometric` is the law in blocks that Laplace noise and stairs are made of. `Lattice` is the law of the points
0, …, size − 1 plus noise, and `Nodes` are what a question sees of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil
from operator import mul
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.errors import TooLarge, VerificationFailed
from dproof.laws.debias import Array, Blocks, CodeBins, DebiasAxes, MatrixAxis, MomentsAxis, Points, Scale, SeenColumn
from dproof.laws.divergence import Odds, Worst, profile_odds
from dproof.laws.law import LAWS, SIZE, Range, listed, read_number
from dproof.laws.optional import Centred
from dproof.spaces.interval import ABSENT
from dproof.spaces.space import Space

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
        """The farthest value from 0; None where there is no end."""
        return None

    @property
    def scale(self) -> float | None:
        """In steps: b of Laplace noise, over which it falls by the factor e, as of stairs; σ of Gaussian noise."""
        return None

    @property
    def block(self) -> int | None:
        """The number of values of its table before it is gone through again; None where it is not."""
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
    """The sums on top of `count` escapes: `fresh` draws, each followed by another as long as it escapes too."""
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


_MOST_DEVIATIONS = 4.0  # standard deviations of noise that one row may add to a sum
_MOST_CLAMPED = 1 << 21  # points of a recorded clamped law, times the blocks of noise that they lie in
NODES = 128  # true values that are told apart at most
_STATES = 3 * NODES
_TAIL = 1e-5  # what the noise may do beyond the outermost states


@dataclass(frozen=True, slots=True, eq=False)
class Lattice(Centred):
    """Y_i = i + X on all of Z, or clamped to 0, …, size − 1; X has one law whatever i.

    Two inputs are a shift of at most size − 1 apart, and their laws differ by no more than the noise does under that
    shift; clamping only post-processes.

    >>> from dproof.laws.laplace import two_sided
    >>> law = Lattice(3, two_sided(Fraction(2)), clamped=True)
    >>> float(law.odds(Fraction(0)).value) <= 4, [round(float(law.probability(0, y)), 4) for y in range(3)]
    (True, [0.6667, 0.1667, 0.1667])
    """

    kind: ClassVar[str] = "lattice"

    size: int
    noise: NoiseLaw
    clamped: bool = False

    @property
    def inputs(self) -> int:
        return self.size

    @property
    def outputs(self) -> int | None:
        """None on all of Z."""
        return self.size if self.clamped else None

    @property
    def total(self) -> int | None:
        """None on all of Z."""
        return self.noise.denominator(self.size) if self.clamped else None

    @property
    def farthest(self) -> int | None:
        return None if self.clamped else self.noise.farthest

    @property
    def scale(self) -> float | None:
        return self.noise.scale

    @property
    def moments(self) -> tuple[Fraction, Fraction, Fraction] | None:
        return None if self.clamped else self.noise.moments

    def maximal_error(self, space: Space) -> Fraction:
        # In the middle the ends are the farthest, so clamping helps least.
        return space.separation * max(map(self._steps_off, ((self.size - 1) // 2, self.size // 2)))

    def probability(self, source: int, target: int) -> Fraction:
        shift, last = target - source, self.size - 1
        if not self.clamped or 0 < target < last:
            return self.noise.probability(shift)
        if not 0 <= target <= last:
            return Fraction(0)
        below = self.noise.cumulative(shift - 1) if target else Fraction(0)
        return (self.noise.cumulative(shift) if target < last else Fraction(1)) - below

    def cumulative(self, source: int, target: int) -> Fraction:
        if self.clamped and not 0 <= target < self.size - 1:
            return Fraction(int(target >= 0))
        return self.noise.cumulative(target - source)

    def weights(self, source: int) -> NDArray[Any]:
        _, _, total = listed(self)
        chances = (self.probability(source, target) for target in range(self.size))
        return np.array([p.numerator * (total // p.denominator) for p in chances], object)

    def worst(self, odds: Fraction) -> Worst:
        return Worst(self.noise.delta(odds, self.size - 1), 0, self.size - 1)

    def odds(self, delta: Fraction) -> Odds:
        shift = self.size - 1
        value = profile_odds(lambda odds: self.noise.delta(odds, shift), self.noise.pure(shift), delta)
        return Odds(value, 0, shift)

    def error(self, source: int, space: Space) -> Fraction:
        return space.separation * self._steps_off(source)

    def _steps_off(self, source: int) -> Fraction:
        """E|Y_i − i|, exactly."""
        if not self.clamped:
            return self.noise.moments[1]
        return self.noise.capped(1, source) + self.noise.capped(0, self.size - 1 - source)

    def debias_axes(self, seen: Sequence[SeenColumn], others: int, name: str) -> DebiasAxes:
        """Numbers under noise: their moments where only sums are asked for, else nodes and states as fine as the noise
        and the question need."""
        (column,) = seen
        blocks, scale = column.blocks, column.scale or Scale()
        if blocks.blocks == 1 and (moments := self.moments_of(column)) is not None:
            return DebiasAxes((), None, moments=moments)
        cuts = blocks.first[1:]
        nodes = lay_nodes(self, cuts)
        lower = nodes.lower
        # A state holds the block of its codes; beyond the interval that of the nearer end.
        held = blocks.of(np.clip(lower, 0, self.size - 1))
        middles = (lower + np.append(lower[1:], lower[-1] + nodes.wide) - 1) / 2
        numbers = scale.numbers(column.space, nodes.centres), held, scale.numbers(column.space, middles)
        points = None if nodes.step == 1 else self._points(nodes, column)
        law = node_law(self, nodes) if points is None else points.matrix[: points.even]
        axis = MatrixAxis(name, law, membership(nodes, blocks), *numbers, rough=True, points=points)
        bins = CodeBins(int(lower[0]), int(lower[-1]), nodes.wide, tuple(map(int, cuts)))
        return DebiasAxes((axis,), lambda released: np.searchsorted(nodes.edges, released[0], side="right"), bins=bins)

    def upto(self, below: Array, centres: Array) -> Array:
        """P(Y ≤ edge) for each node and edge, from those of the noise alone."""
        return below

    def _points(self, nodes: Nodes, column: SeenColumn) -> Points:
        """The nodes, the last code, and both ends of every run of a block."""
        grid = np.unique(np.append(nodes.centres, self.size - 1))
        codes = np.unique(np.concatenate([grid, column.blocks.first, column.blocks.last]))
        start = np.searchsorted(grid, codes, side="right") - 1
        part = (codes - grid[start]) / np.append(np.diff(grid), 1)[start]
        values = (column.scale or Scale()).numbers(column.space, codes)
        law = node_law(self, replace(nodes, centres=grid))
        return Points(law, start, part, column.blocks.of(codes), values, len(nodes.centres))

    def moments_of(self, seen: SeenColumn) -> MomentsAxis | None:
        if seen.scale is None or self.clamped:
            return None
        mean, _, square = (float(moment) for moment in self.noise.moments)
        assert seen.space.spacing is not None
        step = float(seen.space.spacing) / seen.scale.unit
        spread = max(square - mean**2, 0.0) ** 0.5 * step
        return MomentsAxis(5, (mean * step, square * step**2), 1 + _MOST_DEVIATIONS * spread)

    # Missing values ------------------------------------------------------------------------------------------------

    @property
    def middle(self) -> int:
        return (self.size - 1) // 2

    @property
    def nearer(self) -> Lattice:
        return Lattice(self.size // 2 + 1, self.noise, self.clamped)

    @property
    def spare(self) -> int:
        return self.size if self.clamped else ABSENT

    def is_absent(self, codes: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(codes == self.size)

    # ---------------------------------------------------------------------------------------------------------------

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        drawn = self.noise.draw(len(codes), coins)
        drawn += codes.astype(np.int64, copy=False)
        return drawn.clip(0, self.size - 1, out=drawn) if self.clamped else drawn

    def to_json(self) -> Mapping[str, Any]:
        noise = dict(self.noise.to_json())
        return {"kind": self.kind, "size": str(self.size), "clamped": self.clamped, "noise": noise}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Lattice:
        noise = NOISES[record["noise"]["kind"]](record["noise"])
        law = cls(read_number(record, "size", SIZE), noise, bool(record["clamped"]))
        if law.clamped and law.size * (law.size // (noise.block or law.size) + 1) > _MOST_CLAMPED:
            raise VerificationFailed("the certificate cannot be read: a clamped law has too many points to go through")
        return law


LAWS[Lattice.kind] = Lattice.from_json


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """A lattice seen at `step` codes at a time, and the edges between the states of its noisy values.

    State n has the codes from edges[n − 1] to edges[n] − 1; the outer two go on for ever. Every multiple of `wide`
    among them is an edge, and there may be others.
    """

    centres: Array
    step: int
    edges: Array
    wide: int

    @property
    def lower(self) -> Array:
        """Where each state begins, the first as if it were `wide` like others."""
        return np.append(self.edges[:1] - self.wide if len(self.edges) else 0, self.edges)


def lay_nodes(law: Lattice, cuts: Array) -> Nodes:
    """Nodes and edges fine enough for the noise; every cut between two blocks is an edge too."""
    step = max(1, ceil(law.size / NODES))
    reach = 0 if law.clamped else _reach(law, step)
    wide = step * max(1, ceil((law.size + 2 * reach) / (step * _STATES)))
    first, last = (wide, law.size) if law.clamped else (-(reach // wide + 1) * wide, law.size + reach + wide)
    edges = np.unique(np.concatenate([np.arange(first, last, wide), cuts]))
    return Nodes(np.arange(0, law.size, step), step, edges, wide)


def _reach(law: Lattice, step: int) -> int:
    """How far the noise goes, all but surely."""
    reach = step
    while 1 - law.noise.cumulative(reach) > _TAIL:
        reach += reach // 4 + 1
    return reach


def node_law(law: Lattice, nodes: Nodes) -> Array:
    """P(state | node), from the exact cumulative law of the noise."""
    gaps, which = np.unique(nodes.edges - nodes.centres[:, None] - 1, return_inverse=True)
    below = np.array([float(law.noise.cumulative(int(gap))) for gap in gaps])
    upto = law.upto(below[which].reshape(len(nodes.centres), -1), nodes.centres)
    return np.diff(np.pad(upto, ((0, 0), (1, 1)), constant_values=((0, 0), (0, 1))), axis=1)


def membership(nodes: Nodes, cut: Blocks) -> Array:
    """The part of the codes around each node that lies in each block."""
    starts = np.maximum(nodes.centres - (nodes.step - 1) // 2, 0)
    return overlaps(starts, np.append(starts[1:], cut.last[-1] + 1), cut)


def overlaps(starts: Array, stops: Array, cut: Blocks) -> Array:
    """The part of the codes from each start up to its stop that lies in each block."""
    shares = np.zeros((len(starts), cut.blocks))
    for first, last, block in zip(cut.first, cut.last, cut.block, strict=True):
        shares[:, block] += np.maximum(np.minimum(stops, last + 1) - np.maximum(starts, first), 0) / (stops - starts)
    return shares
