"""Numbers under heavy noise: conditions on them, answered as sharply as the noise allows and no sharper.

The exact inverse of wide noise exists, but its scores are so large that they tell nothing. A smoothed score s does
not attain an indicator f: its mean P s differs from f, most where f jumps. The score is chosen to make the whole
half-width least, standard error plus bias, and the bias is then part of the interval, which is thereby honest about
what the noise hides (bias-aware intervals, Armstrong and Kolesár 2018).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from dproof.laws.inverse import Array, solve

if TYPE_CHECKING:
    from dproof.laws.axes import Blocks
    from dproof.laws.lattice import Lattice

NODES = 128  # true values that are told apart at most
_STATES = 3 * NODES
_TAIL = 1e-5  # what the noise may do beyond the outermost states
_STEPS = 200  # of iterative Bayes: a rough distribution is enough to weigh bias against variance
_EVENLY = 500  # rows thought to lie evenly beside those counted: few rows do not tell where wide noise hides the others
_STRENGTHS = 10.0 ** np.arange(-1, 13)
_SHARPER = 1.25  # how much wider an interval may be for less bias
_HOPELESS = 4.0  # how much wider one may get before sharper scores are not tried any more
_WIDTH = 1.96


def likely_nodes(matrix: Array, counts: Array) -> Array:
    """Roughly how many rows each node has, from counts of the states: a few steps of iterative Bayes.

    What it overlooks is missing from the bias that intervals allow for, so few rows are not believed to the letter.
    """
    found = np.full(len(matrix), 1 / len(matrix))
    if counts.sum():
        share = counts / counts.sum()
        for _ in range(_STEPS):
            found = found * (matrix @ (share / np.maximum(found @ matrix, 1e-300)))
    rows = max(float(counts.sum()), 1.0)
    known = rows / (rows + _EVENLY)
    return np.asarray((known * found / found.sum() + (1 - known) / len(found)) * rows)


def smoothed(matrix: Array, wanted: Array, nodes: Array) -> Array:
    """The scores with little bias among those with nearly the least half-width; exact ones if they are so good.

    `matrix` is the law, from nodes to states, and `nodes` has the likely counts of these.
    """
    tried: list[tuple[float, Array]] = []
    for scores in _ever_sharper(matrix, wanted, nodes / nodes.sum()):
        tried.append((_half_width(matrix, scores, wanted, nodes), scores))
        if tried[-1][0] > _HOPELESS * min(width for width, _ in tried):
            break
    else:
        exact = solve(matrix, wanted)
        if not np.isnan(exact).any():
            tried.append((_half_width(matrix, exact, wanted, nodes), exact))
    least = min(width for width, _ in tried)
    return [scores for width, scores in tried if width <= _SHARPER * least][-1]


def _half_width(matrix: Array, scores: Array, wanted: Array, nodes: Array) -> float:
    means = matrix @ scores
    variance = np.maximum(nodes @ (matrix @ scores**2 - means**2), 0.0)
    return float((_WIDTH * np.sqrt(variance) + nodes @ np.abs(means - wanted)).sum())


def _ever_sharper(matrix: Array, wanted: Array, shares: Array) -> Iterator[Array]:
    """The scores c + t that minimise Σ λ t² + μ Σ ω (c + P t − f)², for growing strengths μ."""
    states = np.maximum(shares @ matrix, 1e-12)
    root = np.sqrt((shares + 1 / len(shares)) / 2)
    scaled = root[:, None] * matrix / np.sqrt(states)
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


def lay_nodes(family: Lattice, cuts: Array) -> Nodes:
    """Nodes and edges fine enough for the noise; every cut between two blocks is an edge too."""
    step = max(1, ceil(family.size / NODES))
    reach = 0 if family.clamped else _reach(family, step)
    wide = step * max(1, ceil((family.size + 2 * reach) / (step * _STATES)))
    first, last = (wide, family.size) if family.clamped else (-(reach // wide + 1) * wide, family.size + reach + wide)
    edges = np.unique(np.concatenate([np.arange(first, last, wide), cuts]))
    return Nodes(np.arange(0, family.size, step), step, edges, wide)


def _reach(family: Lattice, step: int) -> int:
    """How far the noise goes, all but surely."""
    reach = step
    while 1 - family.noise.cumulative(reach) > _TAIL:
        reach += reach // 4 + 1
    return reach


def node_law(family: Lattice, nodes: Nodes) -> Array:
    """P(state | node), from the exact cumulative law of the noise."""
    gaps, which = np.unique(nodes.edges - nodes.centres[:, None] - 1, return_inverse=True)
    below = np.array([float(family.noise.cumulative(int(gap))) for gap in gaps])
    upto = below[which].reshape(len(nodes.centres), -1)
    return np.diff(np.pad(upto, ((0, 0), (1, 1)), constant_values=((0, 0), (0, 1))), axis=1)


def membership(nodes: Nodes, cut: Blocks) -> Array:
    """Which part of the codes around each node lies in each block."""
    starts = np.maximum(nodes.centres - (nodes.step - 1) // 2, 0)
    stops = np.append(starts[1:], cut.last[-1] + 1)
    part = np.zeros((len(starts), cut.blocks))
    for first, last, block in zip(cut.first, cut.last, cut.block, strict=True):
        part[:, block] += np.maximum(np.minimum(stops, last + 1) - np.maximum(starts, first), 0) / (stops - starts)
    return part
