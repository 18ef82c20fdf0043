"""Numbers plus noise: what every law of noise on Z offers, lattice points with noise, and values that may be missing.

`Lattice` is the law of the points 0, …, size − 1 plus noise, and `Nodes` are what a question sees of them. Where a
value may be missing, `OptionalLaw` says whether it is shown at all, and what is shown if it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins, Guide, guide
from dproof.errors import ArgumentError, InputError, VerificationFailed
from dproof.exact import bisect, exp_below
from dproof.laws.debias import Array, CodeBins, DebiasAxes, MatrixAxis, MomentsAxis, NodePoints, SeenColumn, presence
from dproof.laws.divergence import Odds, Worst, profile_odds
from dproof.laws.law import SIZE, TOTAL, Law, Span, law_from_json, listed_sizes, read_number
from dproof.spaces.interval import Scale
from dproof.spaces.space import ABSENT, Partition, Space

TABLED: Span = (1, 1 << 128)  # a weight of a recorded table of noise: none is 0


class NoiseLaw(Protocol):
    """A law on Z that is added to a number, the same whatever the number.

    A noise of a new shape is a frozen dataclass that subclasses this one and says what has no default here. The line
    `NOISES[TheNoise.kind] = TheNoise.from_json` after the class makes its certificates readable.
    """

    kind: ClassVar[str]

    def probability(self, k: int) -> Fraction:
        """P(X = k), exactly."""

    def cumulatives(self, places: Array) -> Array:
        """P(X ≤ k) of many k, each rounded once."""
        return np.array([float(self.cumulative(k)) for k in places.tolist()])

    def cumulative(self, k: int) -> Fraction:
        """P(X ≤ k), exactly."""

    def denominator(self, reach: int) -> int:
        """A common denominator of every P(X = k) and P(X ≤ k) with |k| ≤ reach."""

    def delta(self, odds: Fraction, shift: int) -> Fraction:
        """The least δ, or a proven bound of it, at these odds over all shifts of at most `shift`."""

    def pure(self, shift: int) -> Fraction | None:
        """Odds that serve all shifts of at most `shift` at δ = 0, if any do; none do where the values end."""
        return None if shift else Fraction(1)

    @property
    def moments(self) -> tuple[Fraction, Fraction, Fraction]:
        """E X, E|X| and E X²."""

    @property
    def variance(self) -> Fraction:
        """E (X − E X)²."""
        mean, _, square = self.moments
        return square - mean**2

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

    def to_json(self) -> Mapping[str, Any]:
        """The record of a certificate: the tables."""


NOISES: dict[str, Callable[[Mapping[str, Any]], NoiseLaw]] = {}  # how each kind is read back


_WHOLE = 1 << 40  # parts in which the chances to show a value and a missing one are written
_LEAST_GAP = Fraction(1, 1000)  # of p, between p and q: with less, missing values cannot be counted


class LawWithMiddle(Law, ABC):
    """Noise around a value, with a middle value that lies nearer to every other than others may lie to each other."""

    @property
    @abstractmethod
    def middle(self) -> Any:
        """The code of the middle value."""

    @property
    @abstractmethod
    def nearer(self) -> Law:
        """The law of this noise for inputs that lie no farther apart than the middle lies from any other."""

    @property
    @abstractmethod
    def spare(self) -> int:
        """A code that no output has, so that it may stand for a missing value."""

    @abstractmethod
    def is_absent(self, codes: NDArray[Any]) -> NDArray[np.bool_]:
        """Which input codes stand for a missing value."""

    @abstractmethod
    def moments_of(self, seen: SeenColumn) -> MomentsAxis | None:
        """The axis of a number of which only sums are asked for; None where the noise has no known moments."""

    def with_missing(self, epsilon: Fraction, delta: Fraction) -> OptionalLaw:
        """The law that tells missing values from others as well as the promise allows.

        With 1 − q = e(1 − p), which is the most that may be hidden, and p/q = r that is q = (e − 1)/(e·r − 1); p − q
        rises with r, and r is the largest for which a value and a missing one keep the promise. For Laplace noise of
        scale diam/ε the middle is half as far from a value as another may be, and r = e^(ε/2).
        """
        odds = exp_below(epsilon)

        def law(ratio: Fraction) -> OptionalLaw:
            """With q/p at least this ratio, both rounded towards more privacy."""
            missing = ceil(_WHOLE * (odds - 1) / (odds / ratio - 1))
            return OptionalLaw(self, floor(min(missing / ratio, _WHOLE - (_WHOLE - missing) / odds)), missing, _WHOLE)

        def keeps(ratio: Fraction) -> bool:
            return law(ratio).worst(odds).value <= delta

        least, most = 1 / odds, 1 - _LEAST_GAP
        if odds == 1 or not keeps(most):
            raise ArgumentError(
                "with this mechanism and epsilon a missing value cannot be told from others: use laplace, or "
                "randomised_response for few values, a mechanism made for less than this epsilon, such as "
                "staircase(space, 0.5).with_missing(1), or another value in the place of a missing one"
            )
        return law(least if keeps(least) else bisect(keeps, least, most, 1 << 40))


_MOST_DEVIATIONS = 4.0  # standard deviations of noise that one row may add to a sum
_MOST_CLAMPED = 1 << 21  # points of a recorded clamped law, times the blocks of noise that they lie in
NODES = 128  # true values that are told apart at most
_STATES = 3 * NODES
_TAIL = 1e-5  # what the noise may do beyond the outermost states


@dataclass(frozen=True, slots=True, eq=False)
class Lattice(LawWithMiddle):
    """Y_i = i + X on all of Z, or clamped to 0, …, size − 1; X has one law whatever i.

    Two inputs are a shift of at most size − 1 apart, and their laws differ by no more than the noise does under that
    shift; clamping only post-processes.

    >>> from dproof.laws.laplace import two_sided
    >>> law = Lattice(3, two_sided(Fraction(2)), clamped=True)
    >>> float(law.odds(Fraction(0)).value) <= 4, [round(float(law.probability(0, y)), 4) for y in range(3)]
    (True, [0.6667, 0.1667, 0.1667])
    """

    kind: ClassVar[str] = "lattice"  # in certificates

    size: int
    noise: NoiseLaw
    clamped: bool = False

    @property
    def inputs(self) -> int:
        return self.size

    @property
    def outputs(self) -> int | None:
        return self.size if self.clamped else None

    @property
    def total(self) -> int | None:
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
        _, _, total = listed_sizes(self)
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
        member, sizes = membership(nodes, blocks), np.subtract(*nodes.held(self.size)[::-1])
        axis = MatrixAxis(name, law, member, *numbers, rough=True, points=points, node_sizes=sizes)
        bins = CodeBins(int(lower[0]), int(lower[-1]), nodes.wide, tuple(map(int, cuts)))
        return DebiasAxes((axis,), lambda released: np.searchsorted(nodes.edges, released[0], side="right"), bins=bins)

    def upto(self, below: Array, centres: Array) -> Array:
        """P(Y ≤ edge) for each node and edge, from those of the noise alone."""
        return below

    def _points(self, nodes: Nodes, column: SeenColumn) -> NodePoints:
        """The nodes, the last code, and both ends of every run of a block."""
        grid = np.unique(np.append(nodes.centres, self.size - 1))
        codes = np.unique(np.concatenate([grid, column.blocks.first, column.blocks.last]))
        start = np.searchsorted(grid, codes, side="right") - 1
        part = (codes - grid[start]) / np.append(np.diff(grid), 1)[start]
        values = (column.scale or Scale()).numbers(column.space, codes)
        law = node_law(self, replace(nodes, centres=grid))
        return NodePoints(law, start, part, column.blocks.of(codes), values, len(nodes.centres))

    def moments_of(self, seen: SeenColumn) -> MomentsAxis | None:
        if seen.scale is None or self.clamped:
            return None
        mean, _, square = (float(moment) for moment in self.noise.moments)
        assert seen.space.spacing is not None
        step = float(seen.space.spacing) / seen.scale.unit
        spread = max(square - mean**2, 0.0) ** 0.5 * step
        return MomentsAxis(5, (mean * step, square * step**2), 1 + _MOST_DEVIATIONS * spread)

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

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        drawn = self.noise.draw(len(codes), coins)
        drawn += codes.astype(np.int64, copy=False)
        return drawn.clip(0, self.size - 1, out=drawn) if self.clamped else drawn

    def to_json(self) -> Mapping[str, Any]:
        """The record of a certificate."""
        noise = dict(self.noise.to_json())
        return {"kind": self.kind, "size": str(self.size), "clamped": self.clamped, "noise": noise}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Lattice:
        noise = NOISES[record["noise"]["kind"]](record["noise"])
        law = cls(read_number(record, "size", SIZE), noise, bool(record["clamped"]))
        if law.clamped and law.size * (law.size // (noise.block or law.size) + 1) > _MOST_CLAMPED:
            raise VerificationFailed("the certificate cannot be read: a clamped law has too many points to go through")
        return law


# What conditions tell apart on a lattice ------------------------------------------------------------------------------


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

    def held(self, size: int) -> tuple[Array, Array]:
        """The codes from each start up to its stop, for which a node stands."""
        starts = np.maximum(self.centres - (self.step - 1) // 2, 0)
        return starts, np.append(starts[1:], size)

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
    below = law.noise.cumulatives(gaps)
    upto = law.upto(below[which].reshape(len(nodes.centres), -1), nodes.centres)
    return np.diff(np.pad(upto, ((0, 0), (1, 1)), constant_values=((0, 0), (0, 1))), axis=1)


def membership(nodes: Nodes, cut: Partition) -> Array:
    """The part of the codes around each node that lies in each block."""
    return overlaps(*nodes.held(cut.last[-1] + 1), cut)


def overlaps(starts: Array, stops: Array, cut: Partition) -> Array:
    """The part of the codes from each start up to its stop that lies in each block."""
    shares = np.zeros((len(starts), cut.blocks))
    for first, last, block in zip(cut.first, cut.last, cut.block, strict=True):
        shares[:, block] += np.maximum(np.minimum(stops, last + 1) - np.maximum(starts, first), 0) / (stops - starts)
    return shares


# Values that may be missing -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OptionalLaw(Law):
    """A value is shown with probability p = present/whole where it is there, and q = missing/whole where it is missing.

    What is shown is a draw of the inner law L: L(x) of a value x, and L(m) of the middle value m where it is missing.
    What is not shown is "missing", the last output, as a missing value is the last input.

    Why it is private: with H(P, Q; e) = Σ_y max(0, P(y) − e·Q(y)),
    - two values are told apart by what is shown alone: δ(e) = p·H(L(x), L(x'); e), so L may use all of ε;
    - a value and a missing one have δ(e) = p·H(L(x), L(m); e·q/p) + max(0, (1 − p) − e(1 − q)), and the other way
      round q·H(L(m), L(x); e·p/q) + max(0, (1 − q) − e(1 − p)). L(m) is nearer to L(x) than L(x') may be, and that
      is what lets p exceed q. For e < 1, H(P, Q; e) = 1 − e + e·H(Q, P; 1/e).

    >>> from dproof.laws.laplace import two_sided
    >>> from dproof.laws.noise import Lattice
    >>> law = OptionalLaw(Lattice(3, two_sided(Fraction(2))), 3, 2, 4)
    >>> float(law.odds(Fraction(0)).value) <= 4, law.probability(3, law.absent)
    (True, Fraction(1, 2))
    """

    kind: ClassVar[str] = "optional"  # in certificates

    inner: LawWithMiddle
    present: int
    missing: int
    whole: int

    def __post_init__(self) -> None:
        if not 0 < self.missing <= self.present < self.whole:
            raise ArgumentError("a value must be shown at least as often as a missing one, neither always nor never")

    @property
    def inputs(self) -> int | None:
        return None if self.inner.inputs is None else self.inner.inputs + 1

    @property
    def outputs(self) -> int | None:
        return None if self.inner.outputs is None else self.inner.outputs + 1

    @property
    def total(self) -> int | None:
        return None if self.inner.total is None else self.inner.total * self.whole

    @property
    def absent(self) -> int:
        return self.inner.spare

    @property
    def shown(self) -> LawWithMiddle:
        return self.inner

    @property
    def farthest(self) -> int | None:
        return self.inner.farthest

    @property
    def _chances(self) -> tuple[Fraction, Fraction]:
        """p and q."""
        return Fraction(self.present, self.whole), Fraction(self.missing, self.whole)

    def _shown(self, source: int) -> tuple[Fraction, int]:
        """How likely a value is shown, and as which input of the inner law."""
        p, q = self._chances
        return (q, self.inner.middle) if source == self.inner.inputs else (p, source)

    def probability(self, source: int, target: int) -> Fraction:
        chance, code = self._shown(source)
        return 1 - chance if target == self.absent else chance * self.inner.probability(code, target)

    def cumulative(self, source: int, target: int) -> Fraction:
        """P(Y_source ≤ target) over the values that are shown: a missing one has no place among them."""
        chance, code = self._shown(source)
        return chance * self.inner.cumulative(code, target)

    def weights(self, source: int) -> NDArray[Any]:
        _, _, total = listed_sizes(self)
        chance, code = self._shown(source)
        part = int(chance * self.whole)
        return np.append(self.inner.weights(code) * part, (self.whole - part) * (total // self.whole))

    def worst(self, odds: Fraction) -> Worst:
        (p, q), inside, nearer = self._chances, self.inner.worst(odds), self.inner.nearer

        def apart(own: Fraction, other: Fraction) -> Fraction:
            ratio = odds * other / own
            shown = nearer.worst(ratio).value if ratio >= 1 else 1 - ratio + ratio * nearer.worst(1 / ratio).value
            return own * shown + max(Fraction(0), 1 - own - odds * (1 - other))

        # The last value and a missing one; where inputs cannot be listed a missing one has the code −1.
        value, missing = (0, -1) if self.inner.inputs is None else (self.inner.inputs - 1, self.inner.inputs)
        found = [(p * inside.value, inside.source, inside.target), (apart(p, q), value, missing)]
        return Worst(*max(*found, (apart(q, p), missing, value), key=lambda pair: pair[0]))

    def odds(self, delta: Fraction) -> Odds:
        values, one = self.inner.odds(Fraction(0)), self.inner.nearer.odds(Fraction(0)).value
        hidden = Fraction(self.whole - self.missing, self.whole - self.present)
        pure = None
        if values.value is not None and one is not None:
            pure = max(values.value, one * self.present / self.missing, hidden)
        odds_at_delta = profile_odds(lambda odds: self.worst(odds).value, pure, delta)
        worst = self.worst(max(Fraction(1), (odds_at_delta or Fraction(1)) * (1 - Fraction(1, 1 << 40))))
        return Odds(odds_at_delta, worst.source, worst.target)

    def shown_chances(self, absent: int) -> tuple[Fraction, Fraction]:
        return self._chances

    def chances(self) -> tuple[str, Mapping[str, float]]:
        p, q = map(float, self._chances)
        return "a value is", {
            "present, and shown with noise": p,
            "present, and shown as missing": 1 - p,
            "missing, and shown as missing": 1 - q,
            "missing, and shown as the middle with noise": q,
        }

    def error(self, source: int, space: Space) -> Fraction:
        chance, code = self._shown(source)
        if source == self.inner.inputs:
            return chance * space.diameter
        return chance * self.inner.error(code, space.without_missing) + (1 - chance) * space.diameter

    def maximal_error(self, space: Space) -> Fraction:
        p, q = self._chances
        return max(p * self.inner.maximal_error(space.without_missing) + (1 - p) * space.diameter, q * space.diameter)

    @cached_property
    def _guide(self) -> Guide:
        """Shown or not, of a value that is there and of a missing one."""
        return guide([[part, self.whole - part] for part in (self.present, self.missing)], self.whole)

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        """Noise is drawn for every row, whether it is shown or not."""
        absent = self.inner.is_absent(codes)
        hidden = self._guide.draw(absent.view(np.uint8), coins) == 1
        filled = codes.copy()
        filled[absent] = self.inner.middle
        drawn = self.inner.draw(filled, coins)
        drawn[hidden] = self.absent
        return drawn

    def mean_variance(self, space: Space) -> float | None:
        """With s = Y/p for a number that is shown and t the score for being there, the mean is Σ s/Σ t, and a row adds
        s − x·t to its error; all numbers x lie as far from the middle as they can."""
        inside, moments = space.present, self.inner.moments
        if moments is None or inside is None or inside.spacing is None:
            return None
        p, q = map(float, self._chances)
        far, shown, hidden = (inside.size // 2) ** 2, (1 - q) / (p - q), -q / (p - q)
        steps = (far + float(moments[2])) / p - 2 * far * shown + far * (p * shown**2 + (1 - p) * hidden**2)
        return float(steps * float(inside.spacing) ** 2)

    def debias_axes(self, seen: Sequence[SeenColumn], others: int, name: str) -> DebiasAxes:
        """Whether a value is there, which two chances tell exactly; where values are told apart as well, the nodes and
        states of the inner law, and one more of each."""
        (column,) = seen
        space, absent = column.space.present, column.space.absent
        p, q = map(float, self._chances)
        assert space is not None and absent is not None
        inside = replace(column, blocks=column.blocks.present(absent), space=space)
        moments = self.inner.moments_of(inside)
        if moments is not None or column.scale is None:
            by_presence = presence(column, (p, q), name, moments)
            if by_presence is not None:
                return by_presence
        debias = self.inner.debias_axes([inside], others, name)
        (axis,), state = debias.axes, debias.state
        assert isinstance(axis, MatrixAxis) and state is not None
        # The middle lies at a node, or between two whose laws it shares.
        number = (column.scale or Scale()).numbers(space, np.array([self.inner.middle]))
        middle = np.stack([np.interp(number, axis.values, chance) for chance in axis.matrix.T], axis=1)
        lacking = np.eye(axis.blocks)[column.blocks.of(np.array([absent]))]
        points = axis.points
        if points is not None:
            points = NodePoints(
                self._with_hidden(points.matrix, middle),
                np.append(points.start, len(points.matrix)),
                np.append(points.part, 0.0),
                np.append(points.block, lacking.argmax()),
                np.append(points.values, 0.0),
                points.even,
            )
        mixed = replace(
            axis,
            matrix=self._with_hidden(axis.matrix, middle),
            member=np.concatenate([axis.member, lacking]),
            values=np.append(axis.values, 0.0),
            seen=np.concatenate([axis.seen, lacking if axis.seen.ndim == 2 else lacking.argmax(axis=1)]),
            seen_values=np.append(axis.seen_values, 0.0),
            node_sizes=None if axis.node_sizes is None else np.append(axis.node_sizes, 1.0),
            points=points,
        )

        def states(released: Sequence[Array]) -> Array:
            hidden = released[0] == self.absent
            return np.where(hidden, axis.states, state([np.where(hidden, 0, released[0])]))

        return DebiasAxes((mixed,), states, bins=debias.bins)

    def _with_hidden(self, law: Array, middle: Array) -> Array:
        """The law of some values and of a missing one, with one more state for what is not shown."""
        shown = np.repeat([float(chance) for chance in self._chances], [len(law), 1])[:, None]
        return np.hstack([shown * np.concatenate([law, middle]), 1 - shown])

    def to_json(self) -> Mapping[str, Any]:
        """The record of a certificate."""
        chances = {name: str(getattr(self, name)) for name in ("present", "missing", "whole")}
        return {"kind": self.kind, **chances, "law": dict(self.inner.to_json())}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> OptionalLaw:
        return cls.around(law_from_json(record["law"]), record)

    @classmethod
    def around(cls, inner: Law, record: Mapping[str, Any]) -> OptionalLaw:
        """The law that a certificate has around this one."""
        if not isinstance(inner, LawWithMiddle):
            raise VerificationFailed("the certificate cannot be read: 'law' has no middle value")
        try:
            _ = inner.nearer
        except InputError:
            raise VerificationFailed("the certificate cannot be read: 'law' has no output for missing values") from None
        return cls(inner, *(read_number(record, name, TOTAL) for name in ("present", "missing", "whole")))
