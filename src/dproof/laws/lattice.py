"""Numbers: the lattice points 0, …, size − 1 plus noise, and the nodes and states that a question sees of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.errors import VerificationFailed
from dproof.laws.debias import Bins, Blocks, Mixed, Scale, Seen, Unmixed
from dproof.laws.divergence import Odds, Worst, profile_odds
from dproof.laws.law import LAWS, SIZE, listed, read_number
from dproof.laws.moments import Moments
from dproof.laws.noise import NOISES, NoiseLaw
from dproof.laws.optional import Centred
from dproof.laws.points import Points
from dproof.laws.scores import Array
from dproof.spaces.interval import ABSENT
from dproof.spaces.space import Space

_FAR = 4.0  # standard deviations of noise that one row may add to a sum
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

    def unmix(self, seen: Sequence[Seen], others: int, name: str) -> Unmixed:
        """Numbers under noise: their moments where only sums are asked for, else nodes and states as fine as the noise
        and the question need."""
        (column,) = seen
        blocks, scale = column.blocks, column.scale or Scale()
        if blocks.blocks == 1 and (moments := self.moments_of(column)) is not None:
            return Unmixed((), None, moments=moments)
        cuts = blocks.first[1:]
        nodes = lay_nodes(self, cuts)
        lower = nodes.lower
        # A state holds the block of its codes; beyond the interval that of the nearer end.
        held = blocks.of(np.clip(lower, 0, self.size - 1))
        middles = (lower + np.append(lower[1:], lower[-1] + nodes.wide) - 1) / 2
        numbers = scale.numbers(column.space, nodes.centres), held, scale.numbers(column.space, middles)
        points = None if nodes.step == 1 else self._points(nodes, column)
        law = node_law(self, nodes) if points is None else points.matrix[: points.even]
        axis = Mixed(name, law, membership(nodes, blocks), *numbers, rough=True, points=points)
        bins = Bins(int(lower[0]), int(lower[-1]), nodes.wide, tuple(map(int, cuts)))
        return Unmixed((axis,), lambda released: np.searchsorted(nodes.edges, released[0], side="right"), bins=bins)

    def _points(self, nodes: Nodes, column: Seen) -> Points:
        """The nodes, the last code, and both ends of every run of a block."""
        grid = np.unique(np.append(nodes.centres, self.size - 1))
        codes = np.unique(np.concatenate([grid, column.blocks.first, column.blocks.last]))
        start = np.searchsorted(grid, codes, side="right") - 1
        part = (codes - grid[start]) / np.append(np.diff(grid), 1)[start]
        values = (column.scale or Scale()).numbers(column.space, codes)
        law = node_law(self, replace(nodes, centres=grid))
        return Points(law, start, part, column.blocks.of(codes), values, len(nodes.centres))

    def moments_of(self, seen: Seen) -> Moments | None:
        if seen.scale is None or self.clamped:
            return None
        mean, _, square = (float(moment) for moment in self.noise.moments)
        assert seen.space.spacing is not None
        step = float(seen.space.spacing) / seen.scale.unit
        spread = max(square - mean**2, 0.0) ** 0.5 * step
        return Moments(5, (mean * step, square * step**2), 1 + _FAR * spread)

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
    upto = below[which].reshape(len(nodes.centres), -1)
    return np.diff(np.pad(upto, ((0, 0), (1, 1)), constant_values=((0, 0), (0, 1))), axis=1)


def membership(nodes: Nodes, cut: Blocks) -> Array:
    """Which part of the codes around each node lies in each block."""
    starts = np.maximum(nodes.centres - (nodes.step - 1) // 2, 0)
    return overlaps(starts, np.append(starts[1:], cut.last[-1] + 1), cut)


def overlaps(starts: Array, stops: Array, cut: Blocks) -> Array:
    """Which part of the codes from each start up to its stop lies in each block."""
    shares = np.zeros((len(starts), cut.blocks))
    for first, last, block in zip(cut.first, cut.last, cut.block, strict=True):
        shares[:, block] += np.maximum(np.minimum(stops, last + 1) - np.maximum(starts, first), 0) / (stops - starts)
    return shares
