"""Numbers under heavy noise: conditions on them, answered as sharply as the noise allows and no sharper.

The exact inverse of wide noise exists, but its scores are so large that they tell nothing. A smoothed score s does
not attain an indicator f: its mean P s differs from f, most where f jumps. The score is chosen to make the whole
half-width least, standard error plus bias, and the bias is then part of the interval, which is thereby honest about
what the noise hides (bias-aware intervals, Armstrong and Kolesár 2018).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil

import numpy as np

from dproof.estimation.contingency import Powers
from dproof.estimation.inverse import Array, Dense, Scores, solve
from dproof.laws.lattice import Lattice

NODES = 128  # true values that are told apart at most
_STATES = 3 * NODES
_TAIL = 1e-5  # what the noise may do beyond the outermost states
_STEPS = 200  # of iterative Bayes: a rough distribution is enough to weigh bias against variance
_STRENGTHS = 10.0 ** np.arange(-1, 13)
_SHARPER = 1.25  # how much wider an interval may be for less bias
_HOPELESS = 4.0  # how much wider one may get before sharper scores are not tried any more
_WIDTH = 1.96


@dataclass(eq=False)
class Blurred:
    """A number whose law is `matrix`, from nodes (true values) to states; `member` is the part of each node in a block.

    `naive_member` is the same for the states, as if they were true. `fit` adapts it to the states' counts.
    """

    name: str
    matrix: Array
    member: Array
    values: Array
    naive_member: Array
    naive_values: Array
    counts: Array | None = None
    _scores: dict[int, Array] = field(default_factory=dict)

    @property
    def blocks(self) -> int:
        return int(self.member.shape[1])

    @property
    def states(self) -> int:
        return int(self.matrix.shape[1])

    @property
    def nodes(self) -> int:
        return len(self.matrix)

    @property
    def law(self) -> Scores:
        return Dense(self.matrix)

    def fit(self, counts: Array) -> Blurred:
        """The same axis for these counts of its states."""
        return Blurred(
            self.name,
            self.matrix,
            self.member,
            self.values,
            self.naive_member,
            self.naive_values,
            np.maximum(counts, 0),
        )

    def wanted(self, powers: Powers) -> Array:
        return np.asarray(self.member * self.values[:, None] ** sum(powers))

    def naive(self, powers: Powers) -> Scores:
        return Dense(self.naive_member * self.naive_values[:, None] ** sum(powers))

    def fold(self, table: Array, axis: int, powers: Powers) -> Array:
        """Sums of blocks from counts of nodes."""
        return Dense(self.wanted(powers)).gather(table, axis)

    def scores(self, powers: Powers) -> Scores:
        return Dense(self._found(sum(powers)))

    def means(self, powers: Powers) -> Array:
        """What the scores are on average, for each node and block: P s."""
        return np.asarray(self.matrix @ self._found(sum(powers)))

    def biases(self, powers: Powers) -> Array:
        """P s − f; zero where the score is exact."""
        bias = self.means(powers) - self.wanted(powers)
        return np.where(np.abs(bias) < 1e-7, 0.0, bias)

    def assign(self) -> Scores:
        """The likely nodes of each state, under the estimated distribution (Bayes)."""
        joint = self._distribution[:, None] * self.matrix
        return Dense((joint / np.maximum(joint.sum(axis=0), 1e-300)).T)

    @cached_property
    def _distribution(self) -> Array:
        """A rough estimate of how the nodes are distributed."""
        found = np.full(len(self.matrix), 1 / len(self.matrix))
        if self.counts is None or not self.counts.sum():
            return found
        share = self.counts / self.counts.sum()
        for _ in range(_STEPS):
            found = found * (self.matrix @ (share / np.maximum(found @ self.matrix, 1e-300)))
        return np.asarray(found / found.sum())

    def _found(self, power: int) -> Array:
        if power not in self._scores:
            self._scores[power] = self._best(self.wanted((power,)))
        return self._scores[power]

    def _best(self, wanted: Array) -> Array:
        """The scores with little bias among those with nearly the least half-width; exact ones if they are so good."""
        tried: list[tuple[float, Array]] = []
        for scores in self._smoothed(wanted):
            tried.append((self._half_width(scores, wanted), scores))
            if tried[-1][0] > _HOPELESS * min(width for width, _ in tried):
                break
        else:
            exact = solve(self.matrix, wanted)
            if not np.isnan(exact).any():
                tried.append((self._half_width(exact, wanted), exact))
        least = min(width for width, _ in tried)
        return [scores for width, scores in tried if width <= _SHARPER * least][-1]

    def _half_width(self, scores: Array, wanted: Array) -> float:
        nodes = self._distribution * (1.0 if self.counts is None else max(float(self.counts.sum()), 1.0))
        means = self.matrix @ scores
        variance = np.maximum(nodes @ (self.matrix @ scores**2 - means**2), 0.0)
        return float((_WIDTH * np.sqrt(variance) + nodes @ np.abs(means - wanted)).sum())

    def _smoothed(self, wanted: Array) -> Iterator[Array]:
        """The scores c + t that minimise Σ λ t² + μ Σ ω (c + P t − f)², for growing strengths μ."""
        nodes = self._distribution
        states = np.maximum(nodes @ self.matrix, 1e-12)
        root = np.sqrt((nodes + 1 / len(nodes)) / 2)
        scaled = root[:, None] * self.matrix / np.sqrt(states)
        sizes, vectors = np.linalg.eigh(scaled @ scaled.T)
        target, ones = vectors.T @ (root[:, None] * wanted), vectors.T @ root
        for strength in _STRENGTHS:
            weight = strength / (strength * np.maximum(sizes, 0.0) + 1)
            level = (ones * weight) @ target / ((ones * weight) @ ones)
            rest = vectors @ (weight[:, None] * (target - ones[:, None] * level))
            yield level + (scaled.T @ rest) / np.sqrt(states)[:, None]


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """A lattice seen at `step` codes at a time, and the edges between the states of its noisy values.

    State n has the codes from edges[n − 1] to edges[n] − 1; the outer two go on for ever.
    """

    centres: Array
    step: int
    edges: Array


def lay_nodes(family: Lattice, cuts: Array) -> Nodes:
    """Nodes and edges fine enough for the noise; every cut between two blocks is an edge too."""
    step = max(1, ceil(family.size / NODES))
    centres = np.arange(0, family.size, step)
    reach = 0 if family.clamped else _reach(family, step)
    wide = step * max(1, ceil((family.size + 2 * reach) / (step * _STATES)))
    first, last = -(reach // wide + 1) * wide, family.size + reach + wide
    edges = np.arange(first, last, wide) if not family.clamped else np.arange(wide, family.size, wide)
    return Nodes(centres, step, np.unique(np.concatenate([edges, cuts])))


def _reach(family: Lattice, step: int) -> int:
    """How far the noise goes, all but surely."""
    reach = step
    while 1 - family.noise.cumulative(reach) > _TAIL:
        reach += reach // 4 + 1
    return reach


def node_law(family: Lattice, nodes: Nodes) -> Array:
    """P(state | node), from the exact cumulative law of the noise."""
    known: dict[int, float] = {}

    def upto(k: int) -> float:
        if k not in known:
            known[k] = float(family.noise.cumulative(k))
        return known[k]

    below = np.array([[upto(int(edge - centre) - 1) for edge in nodes.edges] for centre in nodes.centres])
    ends = np.concatenate([np.zeros((len(below), 1)), below, np.ones((len(below), 1))], axis=1)
    return np.diff(ends, axis=1)


def membership(nodes: Nodes, size: int, firsts: Array, block: Array, blocks: int) -> Array:
    """Which part of the codes around each node lies in each block; runs of codes start at `firsts`."""
    starts = np.maximum(nodes.centres - (nodes.step - 1) // 2, 0)
    stops = np.append(starts[1:], size)
    ends = np.append(firsts[1:], size)
    part = np.zeros((len(starts), blocks))
    for first, end, which in zip(firsts, ends, block, strict=True):
        part[:, which] += np.maximum(np.minimum(stops, end) - np.maximum(starts, first), 0) / (stops - starts)
    return part
