"""Numbers: the lattice points 0, …, size − 1 plus noise, as one family of laws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.errors import InputError
from dproof.laws.axes import Bins, Mixed, Moments, Scale, Seen, Unmixed
from dproof.laws.family import Family, Odds, Worst
from dproof.laws.search import tight_odds
from dproof.laws.smoothing import lay_nodes, membership, node_law
from dproof.spaces.space import Space

_FAR = 4.0  # standard deviations of noise that one row may add to a sum


class NoiseLaw(Protocol):
    """A law on Z that is added to a number."""

    def probability(self, k: int) -> Fraction: ...

    def cumulative(self, k: int) -> Fraction: ...

    def denominator(self, reach: int) -> int:
        """A common denominator of every P(X = k) and P(X ≤ k) with |k| ≤ reach."""
        ...

    def delta(self, odds: Fraction, shift: int) -> Fraction:
        """The least δ, or a proven bound of it, at these odds over all shifts of at most `shift`."""
        ...

    def pure(self, shift: int) -> Fraction | None:
        """Odds that serve all shifts of at most `shift` at δ = 0, if any do."""
        ...

    @property
    def moments(self) -> tuple[Fraction, Fraction, Fraction]:
        """E X, E|X| and E X²."""
        ...

    @property
    def farthest(self) -> int | None:
        """How far it reaches from 0 at most; None where there is no end."""
        ...

    @property
    def block(self) -> int | None:
        """How many values its table has before it is gone through again; None where it is not."""
        ...

    def draw(self, count: int, coins: Coins) -> NDArray[np.int64]: ...

    def record(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Lattice(Family):
    """Y_i = i + X on all of Z, or clamped to 0, …, size − 1; X has one law whatever i.

    Two inputs are a shift of at most size − 1 apart, and their laws differ by no more than the noise does under that
    shift; clamping only post-processes.

    >>> from dproof.laws.two_sided import two_sided
    >>> family = Lattice(3, two_sided(Fraction(2)), clamped=True)
    >>> float(family.odds(Fraction(0)).value) <= 4, [round(float(family.probability(0, y)), 4) for y in range(3)]
    (True, [0.6667, 0.1667, 0.1667])
    """

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
    def total(self) -> int:
        return self.noise.denominator(self.size)

    @property
    def farthest(self) -> int | None:
        return None if self.clamped else self.noise.farthest

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

    def weights(self, source: int) -> NDArray[Any]:
        if not self.clamped:
            raise InputError(
                "a law on all of the lattice has no list of weights; ask for single probabilities, or clamp"
            )
        total = self.total
        chances = (self.probability(source, target) for target in range(self.size))
        return np.array([p.numerator * (total // p.denominator) for p in chances], object)

    def worst(self, odds: Fraction) -> Worst:
        return Worst(self.noise.delta(odds, self.size - 1), 0, self.size - 1)

    def odds(self, delta: Fraction) -> Odds:
        shift = self.size - 1
        value = tight_odds(lambda odds: self.noise.delta(odds, shift), self.noise.pure(shift), delta)
        return Odds(value, 0, shift)

    def error(self, source: int, space: Space) -> Fraction:
        return space.separation * self._steps_off(source)

    def _steps_off(self, source: int) -> Fraction:
        """E|Y_i − i|, exactly."""
        if not self.clamped:
            return self.noise.moments[1]
        total = self.total
        down = sum(int(self.noise.cumulative(-j) * total) for j in range(1, source + 1))
        up = sum(total - int(self.noise.cumulative(j - 1) * total) for j in range(1, self.size - source))
        return Fraction(down + up, total)

    def unmix(self, seen: Sequence[Seen], others: int, name: str) -> Unmixed:
        """Numbers under noise: their moments where only sums are asked for, else nodes and states as fine as the noise
        and the question need."""
        (column,) = seen
        blocks, scale = column.blocks, column.scale or Scale()
        if blocks.blocks == 1 and column.scale is not None and not self.clamped:
            mean, _, square = (float(moment) for moment in self.noise.moments)
            assert column.space.spacing is not None
            step = float(column.space.spacing) / scale.unit
            spread = max(square - mean**2, 0.0) ** 0.5 * step
            return Unmixed((Moments(5, (mean * step, square * step**2), 1 + _FAR * spread),), None)
        cuts = blocks.first[1:]
        nodes = lay_nodes(self, cuts)
        lower = nodes.lower
        # A state holds the block of its codes; beyond the interval that of the nearer end.
        held = np.eye(blocks.blocks)[blocks.of(np.clip(lower, 0, self.size - 1))]
        middles = (lower + np.append(lower[1:], lower[-1] + nodes.wide) - 1) / 2
        numbers = scale.numbers(column.space, nodes.centres), held, scale.numbers(column.space, middles)
        axis = Mixed(name, node_law(self, nodes), membership(nodes, blocks), *numbers, rough=True)
        bins = Bins(int(lower[0]), int(lower[-1]), nodes.wide, tuple(map(int, cuts)))
        return Unmixed((axis,), lambda released: np.searchsorted(nodes.edges, released[0], side="right"), bins=bins)

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        drawn = self.noise.draw(len(codes), coins)
        drawn += codes.astype(np.int64, copy=False)
        return drawn.clip(0, self.size - 1, out=drawn) if self.clamped else drawn

    def record(self) -> Mapping[str, Any]:
        return {"kind": "lattice", "size": str(self.size), "clamped": self.clamped, "noise": dict(self.noise.record())}
