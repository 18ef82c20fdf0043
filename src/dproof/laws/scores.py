"""Scores: what a sanitised value is worth for a question about the true ones.

A score s for a function f of the true value satisfies Σ_y P(Y_x = y) s(y) = f(x) for every x; then the sum of the
scores of the sanitised rows is an unbiased estimate of the sum of f over the true rows. Scores come in blocks: one
column for each indicator that a question needs, times a power of the value.

The exact inverse of wide noise exists, but its scores are so large that they tell nothing. A smoothed score s does
not attain an indicator f: its mean P s differs from f, most where f jumps. The score is chosen to make the whole
half-width least, standard error plus bias, and the bias is then part of the interval, which is thereby honest about
what the noise hides (bias-aware intervals, Armstrong and Kolesár 2018).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from dproof.errors import ArgumentError

Array = NDArray[Any]
Powers = tuple[int, ...]  # of each number that an axis carries
_LEAST_SINGULAR = 1e-12  # singular values below this part of the largest count as zero
_UNSOLVED = 1e-8  # what may be left of f, as a part of its largest value
_STEPS = 200  # of iterative Bayes: a rough distribution is enough to weigh bias against variance
_ROWS_ANYWHERE = 500  # spread evenly beside those counted: few rows do not tell where wide noise hides the others
_STRENGTHS = 10.0 ** np.arange(-1, 13)
_WIDER_FOR_LESS_BIAS = 1.25  # how much wider an interval may be for less bias
_WIDEST_TRIED = 4.0  # how much wider one may get before sharper scores are not tried any more
_WIDTH = 1.96


class Transform(Protocol):
    """A matrix over sanitised states (rows) and blocks (columns), or others, whatever its shape."""

    def gather(self, counts: Array, axis: int) -> Array:
        """Σ_y counts(y) s(y, b): from counts of states to estimates of blocks."""
        ...

    def spread(self, weights: Array, axis: int) -> Array:
        """Σ_b s(y, b) weights(b): the score of each state for a sum over blocks."""
        ...


class Scores(Transform, Protocol):
    """Scores of states for blocks."""

    def times(self, other: Any) -> Transform:
        """The product of two scores of the same state, block by block."""
        ...

    def largest(self) -> Array:
        """The largest absolute score of each block."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class SpikeScores:
    """s(y, b) = own(b)·[y = b] + flat(b): the inverse of keep-or-other laws, and of no noise at all."""

    own: Array
    flat: Array

    def gather(self, counts: Array, axis: int) -> Array:
        own, flat = _along(self.own, counts, axis), _along(self.flat, counts, axis)
        return np.asarray(own * counts + flat * counts.sum(axis=axis, keepdims=True))

    def spread(self, weights: Array, axis: int) -> Array:
        own, flat = _along(self.own, weights, axis), _along(self.flat, weights, axis)
        return np.asarray(own * weights + (flat * weights).sum(axis=axis, keepdims=True))

    def times(self, other: SpikeScores) -> SpikeScores:
        own = self.own * other.own + self.own * other.flat + self.flat * other.own
        return SpikeScores(own, self.flat * other.flat)

    def largest(self) -> Array:
        own = np.abs(self.own + self.flat)
        return np.asarray(np.maximum(own, np.abs(self.flat)) if len(own) > 1 else own)


@dataclass(frozen=True, slots=True, eq=False)
class DenseScores:
    """Any scores, written out."""

    matrix: Array

    def gather(self, counts: Array, axis: int) -> Array:
        return np.moveaxis(np.tensordot(counts, self.matrix, axes=(axis, 0)), -1, axis)

    def spread(self, weights: Array, axis: int) -> Array:
        # A block without scores (NaN) must not spoil the sums that give it no weight.
        return np.moveaxis(np.tensordot(weights, np.nan_to_num(self.matrix), axes=(axis, 1)), -1, axis)

    def of_sum(self, weights: Array) -> Array:
        """The score of each state for one sum over blocks."""
        used = weights != 0  # often one of thousands
        return np.asarray(self.matrix[:, used] @ weights[used])

    def times(self, other: Any) -> DenseScores:
        return DenseScores(self.matrix * other.matrix)

    def largest(self) -> Array:
        return np.asarray(np.abs(self.matrix).max(axis=0, initial=0.0))


@dataclass(frozen=True, slots=True, eq=False)
class SharedScores:
    """Scores that blocks have in common: those of block b are column `kind[b]` of the matrix.

    >>> shared = SharedScores(np.array([[1.0, 3.0]]), np.array([1, 0, 1]))
    >>> dense = DenseScores(np.array([[3.0, 1.0, 3.0]]))
    >>> [scores.spread(np.array([2.0, 5.0, 7.0]), 0).tolist() for scores in (shared, dense)]
    [[32.0], [32.0]]
    """

    matrix: Array
    kind: Array

    def gather(self, counts: Array, axis: int) -> Array:
        return DenseScores(self.matrix).gather(counts, axis).take(self.kind, axis)

    def spread(self, weights: Array, axis: int) -> Array:
        return DenseScores(self.matrix).spread(_summed(weights, self.kind, self.matrix.shape[1], axis), axis)

    def of_sum(self, weights: Array) -> Array:
        return DenseScores(self.matrix).of_sum(np.bincount(self.kind, weights, self.matrix.shape[1]))

    def times(self, other: Any) -> SharedScores:
        return SharedScores(self.matrix * other.matrix, self.kind)

    def largest(self) -> Array:
        return DenseScores(self.matrix).largest()[self.kind]


@dataclass(frozen=True, slots=True, eq=False)
class PlacedValues:
    """The values that states show as they are: each has one `block`, and a value there.

    >>> PlacedValues(np.array([0, 2, 0]), np.array([1.0, 3.0, 4.0]), 3).gather(np.array([1, 1, 2]), 0).tolist()
    [9.0, 0.0, 3.0]
    """

    block: Array
    values: Array
    blocks: int

    def gather(self, counts: Array, axis: int) -> Array:
        return _summed(counts * _along(self.values, counts, axis), self.block, self.blocks, axis)

    def spread(self, weights: Array, axis: int) -> Array:
        shown = weights.take(self.block, axis)
        return np.asarray(shown * _along(self.values, shown, axis))


@dataclass(frozen=True, slots=True, eq=False)
class PolynomialScores:
    """A polynomial of a number with noise, for one block: the states are the powers 0, 1, … of the number.

    `reach` is how far the number goes, all but surely.
    """

    coefficients: Array
    degrees: int
    reach: float

    def gather(self, counts: Array, axis: int) -> Array:
        padded = np.zeros(self.degrees)
        padded[: len(self.coefficients)] = self.coefficients
        return np.moveaxis(np.tensordot(counts, padded[:, None], axes=(axis, 0)), -1, axis)

    def spread(self, weights: Array, axis: int) -> Array:
        raise AssertionError("a single block is always one factor by itself")

    def times(self, other: PolynomialScores) -> PolynomialScores:
        return PolynomialScores(np.convolve(self.coefficients, other.coefficients), self.degrees, self.reach)

    def largest(self) -> Array:
        return np.array([np.abs(self.coefficients) @ self.reach ** np.arange(len(self.coefficients))])


def _along(vector: Array, array: Array, axis: int) -> Array:
    shape = [1] * array.ndim
    shape[axis] = -1
    return vector.reshape(shape)


def _summed(array: Array, kind: Array, kinds: int, axis: int) -> Array:
    """The sum of the entries of each kind along an axis."""
    order = np.argsort(kind, kind="stable")
    present, first = np.unique(kind[order], return_index=True)
    entries = np.moveaxis(array, axis, 0)[order]
    found = np.zeros((kinds, *entries.shape[1:]))
    found[present] = np.add.reduceat(entries, first, axis=0)
    return np.moveaxis(found, 0, axis)


def gather(scores: Iterable[Transform], table: Array) -> Array:
    """A table over the states of several axes as one over their blocks."""
    for axis, score in enumerate(scores):
        table = score.gather(table, axis)
    return table


def solve(law: Array, wanted: Array) -> Array:
    """The scores s with P s = f for each column f of `wanted`, of least variance for evenly spread values.

    Minimises Σ_y λ(y) s(y)² with λ the mean of the rows of P (generalised least squares): for a square law this is
    P⁻¹ f, for a rectangular one the best of many. Columns that no score can attain come back as NaN.

    >>> solve(np.array([[0.75, 0.25], [0.25, 0.75]]), np.eye(2)).round(6).tolist()
    [[1.5, -0.5], [-0.5, 1.5]]
    """
    mean = law.mean(axis=0)
    seen = mean > 0
    root = np.where(seen, np.sqrt(np.where(seen, mean, 1.0)), np.inf)
    left, sizes, right = np.linalg.svd(law / root, full_matrices=False)
    kept = sizes > sizes[0] * _LEAST_SINGULAR
    scores: Array = (right[kept].T @ ((left[:, kept].T @ wanted) / sizes[kept, None])) / root[:, None]
    missed = np.abs(law @ scores - wanted).max(axis=0)
    scores[:, missed > _UNSOLVED * np.maximum(np.abs(wanted).max(axis=0), 1e-300)] = np.nan
    return scores


def likely_nodes(matrix: Array, counts: Array) -> Array:
    """Roughly how many rows each node has, from counts of the states: some steps of iterative Bayes."""
    likely = np.full(len(matrix), 1 / len(matrix))
    if counts.sum():
        share = counts / counts.sum()
        for _ in range(_STEPS):
            likely = likely * (matrix @ (share / np.maximum(likely @ matrix, 1e-300)))
    return np.asarray(likely / likely.sum() * max(float(counts.sum()), 1.0))


def cautious_nodes(likely: Array) -> Array:
    """Likely counts of nodes with some rows spread evenly: a bias that is overlooked is missing from the intervals."""
    rows = float(likely.sum())
    known = rows / (rows + _ROWS_ANYWHERE)
    return np.asarray(known * likely + (1 - known) * rows / len(likely))


def smoothed(matrix: Array, wanted: Array, nodes: Array) -> Array:
    """The scores with little bias among those with nearly the least half-width; exact ones if they are so good.

    `matrix` is the law, from nodes to states, and `nodes` has the likely counts of these.
    """
    tried: list[tuple[float, Array]] = []
    for scores in _ever_sharper(matrix, wanted, nodes / nodes.sum()):
        tried.append((_half_width(matrix, scores, wanted, nodes), scores))
        if tried[-1][0] > _WIDEST_TRIED * min(width for width, _ in tried):
            break
    else:
        exact = solve(matrix, wanted)
        if not np.isnan(exact).any():
            tried.append((_half_width(matrix, exact, wanted, nodes), exact))
    least = min(width for width, _ in tried)
    return [scores for width, scores in tried if width <= _WIDER_FOR_LESS_BIAS * least][-1]


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


def refuse_flat(name: str) -> NoReturn:
    """Refuse to debias what shows every value alike."""
    why = "its law is the same for every value, so nothing but the number of rows can be estimated"
    raise ArgumentError(f"{name} cannot be debiased: {why}; raw(...) shows the rows as they are")


def explain_singular(law: Array, labels: Sequence[Any]) -> str:
    """Why a law cannot be undone, and what of it can: values that look alike, and what can be told nevertheless."""
    rank = int(np.linalg.matrix_rank(law, tol=_LEAST_SINGULAR * len(law)))
    alone = {repr(label): np.eye(len(law))[n] for n, label in enumerate(labels)}
    if isinstance(labels[0], frozenset):
        items = sorted({item for label in labels for item in label}, key=str)
        alone = {f"sets with {item!r}": np.array([float(item in label) for label in labels]) for item in items}
    solved = ~np.isnan(solve(law, np.stack(list(alone.values()), axis=1)).sum(axis=0))
    answerable = [text for text, can in zip(alone, solved, strict=True) if can][:5]
    part = f"; {', '.join(answerable)} can be asked for" if answerable else ""
    _, groups = np.unique(law.round(12), axis=0, return_inverse=True)
    groups = groups.reshape(-1)
    twins = np.flatnonzero(np.bincount(groups) > 1)
    if len(twins):
        alike = [repr(labels[n]) for n in np.flatnonzero(groups == twins[0])[:3]]
        return f"its law treats {' and '.join(alike)} alike, so only their total can be asked for{part}"
    return f"its law has rank {rank} over {len(law)} values, so it cannot tell them all apart{part}"


def noiseless_powers(moments: Sequence[float], highest: int) -> list[Array]:
    """Polynomials q_k with E q_k(x + Z) = x^k for noise Z with these moments E Z, E Z², …

    E (x + Z)^k = Σ_i C(k, i) x^(k−i) E Z^i, solved for x^k from k = 0 upwards (Appell polynomials).

    >>> [q.tolist() for q in noiseless_powers([0.0, 2.0], 2)]
    [[1.0], [0.0, 1.0], [-2.0, 0.0, 1.0]]
    """
    polynomials: list[Array] = []
    for k in range(highest + 1):
        q = np.eye(k + 1)[k]
        for i in range(1, k + 1):
            q[: k - i + 1] -= comb(k, i) * moments[i - 1] * polynomials[k - i]
        polynomials.append(q)
    return polynomials


def support_variance(hit: Fraction, miss: Fraction) -> float | None:
    """The largest variance that a row adds to a debiased count, where it shows what is counted with the chance `hit` if
    it has it and `miss` if not; None where the two are the same."""
    p, q = float(hit), float(miss)
    return None if hit == miss else max(p * (1 - p), q * (1 - q)) / (p - q) ** 2


def on_simplex(rows: NDArray[np.float64], totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each row moved to the nearest one without negative entries whose sum is its total.

    Held, Wolfe and Crowder 1974.

    >>> on_simplex(np.array([[3.0, -1.0, 2.0]]), np.array([4.0])).tolist()
    [[2.5, 0.0, 1.5]]
    """
    falling = -np.sort(-rows, axis=1)
    excess = (np.cumsum(falling, axis=1) - totals[:, None]) / np.arange(1, rows.shape[1] + 1)
    last = np.maximum((falling > excess).sum(axis=1) - 1, 0)
    return np.asarray(np.maximum(rows - excess[np.arange(len(rows)), last][:, None], 0.0))
