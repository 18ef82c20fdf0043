"""How estimation undoes a law: the axes of the law of a row, scores of what they show, and sums over the true rows.

A law says by `debias_axes` which axes undo it for a question (`DebiasAxes`). An axis is cut into the blocks that the
question tells apart, and its sanitised states are counted. Its law goes from nodes, the true values as far as it knows
them, to states. `scores(powers)` are those of every block's indicator times these powers of its numbers, NaN where
there are none; `naive(powers)` the same as if the states were true; `wanted(powers)` what they stand for, from nodes to
blocks; `even_nodes()` the share of each node where values are spread evenly.

A score s of a sanitised value satisfies Σ_y P(Y_x = y) s(y) = f(x) for every x; then the sum of the scores of the
sanitised rows is an unbiased estimate of the sum of f over the true rows.

The exact inverse of wide noise exists, but its scores are so large that they tell nothing. A smoothed score s does
not attain an indicator f: its mean P s differs from f, most where f jumps. The score is chosen to make the whole
half-width least, standard error plus bias, and the bias is then part of the interval, which is thereby honest about
what the noise hides (bias-aware intervals, Armstrong and Kolesár 2018).

The axes of a row are independent under the law, so the score of a row is a product of scores, one for each axis of a
table of counts (`Contingency`), and estimates and variances are contractions of the counts with these factors; nothing
as large as all states times all groups is ever made. Two variances (they must not be confused):

    of the table that was sanitised   Σ_rows Var s(Y)     estimated by Σ s² − (the estimate of Σ f²)
    of the population it stands for   n · Var s(Y)        estimated by Σ s² − (Σ s)²/n

A random part of the rows says what all of them are like: rows that answer for one group are such a part. What a row is
asked is drawn whatever it holds, so given how many rows n were asked for a group, they are a simple random sample of
all N. With T the estimate from these, (N/n) T estimates the sum over all rows, with the variance

    (N/n)² n Var s(Y)                     for the population that the rows were drawn from
    less N S², S² that of f over the rows     for the table that was sanitised (the finite population correction)

Several such parts are disjoint, and their means have the covariance −S²/N; so of λ-weighted estimates, Σ λ = 1, the
first terms add up with λ², and the last is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import combinations_with_replacement
from math import comb, isfinite, prod
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dproof.errors import ArgumentError, TooLarge
from dproof.spaces.interval import Line, Scale
from dproof.spaces.space import Partition, Space, along

Array = NDArray[Any]
Powers = tuple[int, ...]  # of each number that an axis carries
Target = Literal["table", "population"]  # whose sums are estimated: of the rows, or of what they were drawn from


@dataclass(frozen=True, slots=True, eq=False)
class DebiasAxes:
    """The axes that undo the law of some columns, and how their released codes are counted.

    `state` tells the state on the axes from the released codes of each column. With `by_block` it looks at nothing but
    the blocks of these codes, so of a set only some items need be read; with `by_presence` it gets 1 for a value that
    is there and 0 for a missing one. A number whose powers are summed rather than counted has its `moments`.
    """

    axes: tuple[DebiasAxis, ...]
    state: Callable[[Sequence[Array]], Array] | None
    by_block: bool = False
    bins: CodeBins | None = None
    by_presence: bool = False
    moments: MomentsAxis | None = None


def presence(
    column: SeenColumn, chances: tuple[float, float], name: str, moments: MomentsAxis | None = None
) -> DebiasAxes | None:
    """The axes of a law that shows a value with these chances, where it is there and where it is missing; None where a
    question tells values apart that are there."""
    absent = column.space.absent
    assert absent is not None
    there = column.blocks.present(absent).block
    if len(np.unique(there)) > 1:
        return None
    member = np.eye(column.blocks.blocks)[[there[0], *column.blocks.of(np.array([absent]))]]
    law, values = np.array([[chance, 1 - chance] for chance in chances]), np.array([1.0, 0.0])
    # Of values without number, such as curves, an even table has none that is missing.
    sizes = np.array([1.0, 0.0] if column.space.size is None else [column.values_in_blocks.sum() - 1, 1.0])
    axis = PresenceAxis(name, law, member, values, member, values, node_sizes=sizes)
    return DebiasAxes((axis,), lambda released: 1 - released[0], by_presence=True, moments=moments)


@dataclass(frozen=True, eq=False)  # without slots: the law is decomposed once
class MatrixAxis:
    """Any finite law: `matrix` has a row for each node and a column for each state.

    `member` is the part of each node that lies in each block and `values` the number it stands for; `seen` and
    `seen_values` are the same for the states; `seen` may also have the one block of each state. A `rough` axis tells
    numbers apart no better than their noise allows: its scores do not quite attain their blocks, and are best for the
    `cautious` counts of its nodes, those that are `likely` and some more anywhere; `fit` finds both. A node that
    stands for several codes is described by the `points`; where nodes stand for different numbers of values, these are
    `node_sizes`. `between_edges` of bins nodes share their laws, and the states
    are in no order.
    """

    exact: ClassVar[bool] = False
    name: str
    matrix: Array
    member: Array
    values: Array
    seen: Array
    seen_values: Array
    labels: Sequence[Any] = ()
    rough: bool = False
    likely: Array | None = None
    cautious: Array | None = None
    points: NodePoints | None = None
    node_sizes: Array | None = None
    between_edges: bool = False
    _scores: dict[Powers, DenseScores] = field(default_factory=dict, init=False)

    @property
    def blocks(self) -> int:
        return int(self.member.shape[1])

    @property
    def states(self) -> int:
        return int(self.matrix.shape[1])

    @property
    def law(self) -> Scores:
        return DenseScores(self.matrix)

    @property
    def is_fitted(self) -> bool:
        """Whether the scores depend on the counts of the states."""
        return self.rough

    def fit(self, counts: Array) -> MatrixAxis:
        """The axis for these counts of its states."""
        likely = likely_nodes(self.matrix, np.maximum(counts, 0.0))
        return replace(self, likely=likely, cautious=cautious_nodes(likely))

    def scores(self, powers: Powers) -> DenseScores:
        if powers not in self._scores:
            wanted, kind = self.wanted(powers).matrix, None
            if self.blocks > len(self.matrix):  # then nodes have several blocks, with the same scores
                _, first, kind = np.unique(self.member, axis=1, return_index=True, return_inverse=True)
                wanted = wanted[:, first]
            self._scores[powers] = DenseScores(self._solve(wanted), None if kind is None else kind.reshape(-1))
        return self._scores[powers]

    @cached_property
    def _solve(self) -> Callable[[Array], Array]:
        """What finds the scores of any functions of the nodes."""
        return solver(self.matrix) if self.cautious is None else smoother(self.matrix, self.cautious)

    def kinds(self, every: Sequence[Powers]) -> Array | None:
        """The kind of each block, where those of a kind share their scores for all of these powers."""
        found = [self.scores(powers).kind for powers in every]
        return None if any(kind is None for kind in found) else found[0]

    def wanted(self, powers: Powers) -> DenseScores:
        return DenseScores(self.member * self.values[:, None] ** sum(powers))

    def naive(self, powers: Powers) -> Transform:
        values = self.seen_values ** sum(powers)
        if self.seen.ndim == 1:
            return BlockSums(self.seen, values, self.blocks)
        return DenseScores(self.seen * values[:, None])

    def score_means(self, powers: Powers) -> DenseScores:
        """The means of the scores, for each node and block: P s."""
        scores = self.scores(powers)
        return replace(scores, matrix=self.matrix @ scores.matrix)

    def singles(self) -> NodePoints:
        """The true values of a rough axis one by one, for what must hold wherever inside of a node they lie."""
        if self.points is not None:
            return self.points
        start = np.arange(len(self.matrix))
        return NodePoints(self.matrix, start, np.zeros(len(start)), self.member.argmax(axis=1), self.values)

    def tested(self, tests: Array) -> MatrixAxis:
        """The axis with any functions of its states in the place of blocks, which stand for their own means."""
        found = replace(self, member=self.matrix @ tests, seen=tests)
        found._scores[(0,)] = DenseScores(tests)
        return found

    def assign(self, *, cautiously: bool) -> DenseScores:
        """The likely nodes of each state (Bayes); cautiously, with some rows thought to lie anywhere."""
        nodes = self.cautious if cautiously else self.likely
        assert nodes is not None
        joint = nodes[:, None] * self.matrix
        return DenseScores((joint / np.maximum(joint.sum(axis=0), 1e-300)).T)

    def inverse(self) -> DenseScores:
        """The scores of every single node."""
        return DenseScores(solver(self.matrix)(np.eye(len(self.matrix))))

    def even_nodes(self) -> Array:
        sizes = np.ones(len(self.matrix)) if self.node_sizes is None else self.node_sizes
        return np.asarray(sizes / sizes.sum())

    def refuse(self) -> None:
        """Say why some question on it has no answer, if that is so."""
        if not self.rough and np.isnan(self.inverse().matrix).any():
            why = explain_singular(self.matrix, self.labels)
            way = "method='likelihood' fits one of the possible answers, raw(...) shows the rows as they are"
            raise ArgumentError(f"{self.name} cannot be debiased: {why}; {way}")


class PresenceAxis(MatrixAxis):
    """Whether a value is there: two nodes, there and missing, and as many states, shown and not shown.

    Where numbers are summed their `MomentsAxis` stands beside it. A missing number is shown at 0, where those begin, so
    it adds nothing to E(Y^k; shown) = p·x^k: a number that is shown counts 1/p times, and one that is not counts 0.
    """

    def scores(self, powers: Powers) -> DenseScores:
        if any(powers):
            return DenseScores(self.wanted(powers).matrix / self.matrix[0, 0])
        return MatrixAxis.scores(self, powers)


@dataclass(frozen=True, slots=True, eq=False)
class MomentsAxis:
    """A number that is only summed: x + Z with noise of known moments E Z, E Z², …, or without noise.

    The states are the powers of the number up to `states − 1`; `reach` bounds it, noise and all, all but surely;
    it is infinite where nobody has read or declared the number.
    """

    exact: ClassVar[bool] = False
    rough: ClassVar[bool] = False
    states: int
    noise: tuple[float, ...]
    reach: float

    @property
    def blocks(self) -> int:
        return 1

    @property
    def is_declared(self) -> bool:
        """Whether x is known to lie in [−1, 1]: what has no noise is of a public column, which nobody declared."""
        return any(self.noise)

    def scores(self, powers: Powers) -> Scores:
        (power,) = powers
        if power > len(self.noise):
            return PolynomialScores(np.full(power + 1, np.nan), self.states, self.reach)
        return PolynomialScores(noiseless_powers(self.noise, power)[power], self.states, self.reach)

    def naive(self, powers: Powers) -> Scores:
        (power,) = powers
        return PolynomialScores(np.eye(power + 1)[power], self.states, self.reach)

    def even_states(self, mean: float = 0.0) -> Array:
        """E (x + Z)^k for x spread evenly over what it may be, or `tilted` to a mean, and Laplace noise's moments."""
        if not isfinite(self.reach):
            raise ArgumentError("the numbers of a public column are not declared, so their ± cannot be predicted")
        most, noise = 1.0 if self.is_declared else self.reach, self._moments_of_noise
        even = [0.0 if k % 2 else most**k / (k + 1) for k in range(5)]
        if mean:
            x = np.linspace(-most, most, _STEPS_OF_TILTED)
            shares = tilted(x, np.ones(len(x)), mean)
            even = [float(shares @ x**k) for k in range(5)]
        return np.array([sum(comb(k, i) * even[k - i] * noise[i] for i in range(k + 1)) for k in range(self.states)])

    @property
    def _moments_of_noise(self) -> list[float]:
        spread = self.noise[1]
        return [1.0, 0.0, spread, 0.0, 6 * spread**2]

    @property
    def noise_alone(self) -> Array:
        """E Z^k: what is shown of a missing number."""
        return np.array(self._moments_of_noise[: self.states])


@dataclass(frozen=True, slots=True, eq=False)
class NodePoints:
    """Single codes of a number, each in one block: both ends of every run of codes in a block, and a grid of others.

    `matrix` is the law of the codes of the grid. A point lies `part` of the way from code `start` of the grid to the
    next, and its law that far between theirs. The first `even` codes of the grid are as far from each other, with
    other codes between them; 0 where every code is on the grid, and every law is exact.
    """

    matrix: Array
    start: Array
    part: Array
    block: Array
    values: Array
    even: int = 0

    @property
    def on_grid(self) -> Array:
        return np.asarray(self.part == 0)

    def means_and_gaps(self, scores: Array) -> tuple[Array, Array]:
        """The means of scores of the states at each point, and how far any code between may be off that.

        A function that bends by d, the second difference on the grid, is at most d/8 away from its chords.
        """
        grid = self.matrix @ scores
        after = grid[np.minimum(self.start + 1, len(grid) - 1)]
        found = grid[self.start] + self.part.reshape(-1, *[1] * (grid.ndim - 1)) * (after - grid[self.start])
        return found, np.abs(np.diff(grid[: self.even], n=2, axis=0)).max(axis=0, initial=0.0) / 4


_STEPS_OF_TILTED = 401  # from end to end of a number
_END, _HALVINGS = 1e-3, 40  # of the way between the ends, which a mean is away from them


def tilted(values: Array, weights: Array, mean: float) -> Array:
    """The shares of some values that are nearest to these weights among all that have a mean: w·e^(λx), normed.

    >>> tilted(np.array([-1.0, 0.0, 1.0]), np.ones(3), 0.5).round(3).tolist()
    [0.116, 0.268, 0.616]
    """
    used = values[weights > 0]
    low, high = float(used.min()), float(used.max())
    if low == high:
        return np.asarray(weights / weights.sum())
    wanted, x = min(max((mean - low) / (high - low), _END), 1 - _END), (values - low) / (high - low)
    least, most = -1 / _END, 1 / _END
    for _ in range(_HALVINGS):
        slope = (least + most) / 2
        shares = weights * np.exp(np.where(weights > 0, slope * x - max(slope, 0.0), 0.0))
        shares /= shares.sum()
        least, most = (slope, most) if float(shares @ x) < wanted else (least, slope)
    return np.asarray(shares)


# What a question sees of a column -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class SeenColumn:
    """A column as a question sees it: its blocks, where its values and its released values live, and the scale of its
    numbers, where sums of them are asked for; whether it is `asked` about, or only released with one that is. A code
    that is a bin stands for as many values as it has in `sizes`, any other for one."""

    blocks: Partition
    space: Space
    outputs: Space | Line
    scale: Scale | None
    asked: bool = True
    sizes: Array | None = None

    def values_of(self, codes: Array) -> Array:
        """How many values each code stands for."""
        if self.sizes is not None:
            return self.sizes[codes]
        singles = np.arange(self.space.size)
        return replace(self, blocks=Partition("", singles, singles, len(singles))).values_in_blocks[codes]

    @property
    def values_in_blocks(self) -> Array:
        """How many values each block has."""
        if self.sizes is not None:
            return np.bincount(self.blocks.of(np.arange(len(self.sizes))), self.sizes, self.blocks.blocks)
        absent = None if self.space.items is None else self.space.absent
        return self.blocks.sizes if absent is None else self.blocks.sets(absent)

    def numbers(self, codes: Array) -> Array | None:
        return None if self.scale is None else self.scale.numbers(self.space, codes)


@dataclass(frozen=True, slots=True)
class CodeBins:
    """Released codes that may be brought together before they are counted: from one multiple of `wide` to the next,
    or to a cut; those below `first` and beyond `last` with these."""

    first: int
    last: int
    wide: int
    cuts: tuple[int, ...]


# The axis of a block design -------------------------------------------------------------------------------------------

_MOST_PRODUCTS = 1 << 30  # of scores, which are written out so many at a time
_PRODUCTS_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class Shifts:
    """The relation of the first `size` residues of a modulus to blocks that hold them: block (j, y) holds x where y − x
    is one of the residues of row j, which are gone through one by one. With the residue 0 alone block y holds y."""

    modulus: int
    residues: Array
    size: int

    @property
    def states(self) -> int:
        return self.modulus * len(self.residues)

    def count(self, counts: Array) -> Array:
        """The number of rows whose block holds each value, from the number with each block, along the last axis."""
        counted = np.zeros((*counts.shape[:-1], self.size))
        for j, row in enumerate(self.residues.tolist()):
            shifted = counts[..., j * self.modulus : (j + 1) * self.modulus]
            twice = np.concatenate([shifted, shifted[..., : self.size]], axis=-1)  # residues go round
            for d in row:
                counted += twice[..., d : d + self.size]
        return counted

    def add(self, weights: Array) -> Array:
        """The sum of the weights of the values that each block holds, along the last axis."""
        added = np.zeros((*weights.shape[:-1], len(self.residues), self.modulus))
        for j, row in enumerate(self.residues.tolist()):
            twice = np.zeros((*weights.shape[:-1], self.modulus + self.size))
            for d in row:
                twice[..., d : d + self.size] += weights
            twice[..., : self.size] += twice[..., self.modulus :]
            added[..., j, :] = twice[..., : self.modulus]
        return added.reshape(*weights.shape[:-1], self.states)


@dataclass(frozen=True, slots=True, eq=False)
class IncidenceScores:
    """s(y, b) = own(b)·(how many values of b lie in block y) + flat(b), for blocks b of values.

    `rest` is a group of values whose score is what the scores of all others leave of 1, so that they sum to 1.
    """

    incidence: Shifts
    block_of: Array  # of each value
    own: Array
    flat: Array
    rest: int | None = None

    def gather(self, counts: Array, axis: int) -> Array:
        counts = np.moveaxis(counts, axis, -1)
        counted, total = self.incidence.count(counts), counts.sum(axis=-1, keepdims=True)
        if not self._is_single:
            counted = _summed(counted, self.block_of, len(self.own), -1)
        estimates = self.own * counted + self.flat * total
        if self.rest is not None:
            others = estimates.sum(axis=-1) - estimates[..., self.rest]
            estimates[..., self.rest] = total[..., 0] - others
        return np.moveaxis(estimates, -1, axis)

    def spread(self, weights: Array, axis: int) -> Array:
        weights = np.moveaxis(weights, axis, -1)
        shift = np.zeros((*weights.shape[:-1], 1)) if self.rest is None else weights[..., self.rest, None]
        own = self.own * (weights - shift)
        scores = self.incidence.add(own if self._is_single else own[..., self.block_of])
        scores += shift + (self.flat * (weights - shift)).sum(axis=-1, keepdims=True)
        return np.moveaxis(scores, -1, axis)

    @property
    def _is_single(self) -> bool:
        """Whether every value is asked about by itself."""
        return np.array_equal(self.block_of, np.arange(len(self.own)))

    def times(self, other: Any) -> Transform:
        if not self._is_single:
            return ScoreProducts(self, other)
        own = self.own * other.own + self.own * other.flat + self.flat * other.own
        return IncidenceScores(self.incidence, self.block_of, own, self.flat * other.flat)

    def largest(self) -> Array:
        many = np.bincount(self.block_of, minlength=len(self.own))
        largest = np.abs(self.own * many + self.flat)
        if self.incidence.size > 1:  # a single value is held by every block
            largest = np.maximum(largest, np.abs(self.flat))
        if self.rest is not None:  # where the block holds none of the other values, or all of them
            others = np.arange(len(largest)) != self.rest
            none = 1 - self.flat[others].sum()
            largest[self.rest] = max(abs(none), abs(none - (self.own * many)[others].sum()))
        return np.asarray(largest)


@dataclass(frozen=True, slots=True, eq=False)
class ScoreProducts:
    """The products of two scores of the same state, of groups of several values: written out some groups at a time."""

    one: IncidenceScores
    other: IncidenceScores

    def _parts(self) -> Iterator[tuple[slice, Array]]:
        """Some groups, and the products of their scores: (groups, states)."""
        groups, states = len(self.one.own), self.one.incidence.states
        if groups * states > _MOST_PRODUCTS:
            raise TooLarge("the question has too many groups of several values each: ask for single values, or fewer")
        many = max(1, _PRODUCTS_AT_ONCE // states)
        for first in range(0, groups, many):
            each = np.eye(min(many, groups - first), groups, first)
            yield slice(first, first + many), self.one.spread(each, 1) * self.other.spread(each, 1)

    def gather(self, counts: Array, axis: int) -> Array:
        moved = np.moveaxis(counts, axis, -1)
        found = np.concatenate([moved @ products.T for _, products in self._parts()], axis=-1)
        return np.moveaxis(found, -1, axis)

    def spread(self, weights: Array, axis: int) -> Array:
        moved = np.moveaxis(weights, axis, -1)
        found = sum(moved[..., part] @ products for part, products in self._parts())
        return np.moveaxis(np.asarray(found), -1, axis)


@dataclass(frozen=True, slots=True, eq=False)
class Transition:
    """P(block y | value x) = low(y) + more·[y holds x], from values to the blocks of a design, and back."""

    incidence: Shifts
    more: float
    low: Array | float

    def gather(self, counts: Array, axis: int) -> Array:
        moved = np.moveaxis(counts, axis, -1)
        shown = self.low * moved.sum(axis=-1, keepdims=True) + self.more * self.incidence.add(moved)
        return np.moveaxis(shown, -1, axis)

    def spread(self, weights: Array, axis: int) -> Array:
        moved = np.moveaxis(weights, axis, -1)
        shown = (self.low * moved).sum(axis=-1, keepdims=True) + self.more * self.incidence.count(moved)
        return np.moveaxis(shown, -1, axis)


@dataclass(frozen=True, slots=True, eq=False)
class DesignAxis:
    """The axis of a block design: a state for each block, a node for each value, or for `weights` values at once.

    A value lies in the block of a row that has it with probability `hit`, and of any other row with `miss`, so that
    (how often it does − miss·n)/(hit − miss) is an unbiased count. Each block is shown with the chance `low`, and with
    `more` beside that if it holds the value of the row. On an even table a node has rows as `even` says.
    """

    rough: ClassVar[bool] = False
    name: str
    incidence: Shifts
    block_of: Array
    blocks: int
    hit: float
    miss: float
    more: float
    low: Array | float
    numbers: tuple[Array | None, ...]  # of each value, for each column that is asked about
    weights: Array | None = None
    even: Array | None = None

    @property
    def states(self) -> int:
        return self.incidence.states

    @property
    def exact(self) -> bool:
        """Whether what is counted is what is true."""
        return self.hit == 1 and self.miss == 0

    @property
    def law(self) -> Transition:
        return Transition(self.incidence, self.more, self.low)

    def _values(self, powers: Powers) -> Array:
        """The product of the powers of the numbers of each group of values."""
        values = np.ones(self.blocks)
        for number, power in zip(self.numbers, powers, strict=True):
            if power:
                assert number is not None
                values[self.block_of] *= number**power
        return values

    def scores(self, powers: Powers) -> IncidenceScores:
        if self.hit == self.miss:
            why = "its law is the same for every value, so nothing but the number of rows can be estimated"
            raise ArgumentError(f"{self.name} cannot be debiased: {why}; raw(...) shows the rows as they are")
        held = np.bincount(self.block_of, minlength=self.blocks)
        own = self._values(powers) / (self.hit - self.miss)
        # The variance of a group goes with its size: more than half of the values are counted by the others.
        most = 2 * held.max() >= held.sum() and not sum(powers)
        rest = int(held.argmax()) if most and held.max() > 1 else None
        sizes = held if self.weights is None else self.weights
        return IncidenceScores(self.incidence, self.block_of, own, -self.miss * sizes * own, rest)

    def naive(self, powers: Powers) -> IncidenceScores:
        """A row counts for every value that its block holds."""
        return IncidenceScores(self.incidence, self.block_of, self._values(powers), np.zeros(self.blocks))

    def wanted(self, powers: Powers) -> BlockSums:
        return BlockSums(self.block_of, self._values(powers)[self.block_of], self.blocks)

    def inverse(self) -> IncidenceScores:
        """The scores of every single value."""
        size = self.incidence.size
        own = np.full(size, 1 / (self.hit - self.miss))
        flat = -self.miss * own if self.weights is None else -self.miss * self.weights * own
        return IncidenceScores(self.incidence, np.arange(size), own, flat)

    def even_nodes(self) -> Array:
        weights = np.ones(self.incidence.size) if self.even is None else self.even
        return np.asarray(weights / weights.sum())


def response_axis(
    name: str,
    weights: Array,
    keep: float,
    other: float,
    numbers: tuple[Array | None, ...] = (),
    even: Array | None = None,
) -> DesignAxis:
    """A keep-or-other law over blocks of `weights` values each: a block is kept or becomes any block, by its weight.

    P(Y_x = y) = other for each y, but keep for y = x, so that π_b = (λ_b − other·w_b)/(keep − other). HLM15, Example 6;
    Warner 1965. `numbers` has for each column of the law the number that a block stands for, where sums are asked for;
    `even` the rows of each block on an even table, where these do not go by the weights.

    >>> hobby = response_axis("hobby", np.ones(5), 6 / 10, 1 / 10)
    >>> hobby.scores(()).gather(np.array([310, 150, 240, 120, 180]), 0).round(6).tolist()
    [420.0, 100.0, 280.0, 40.0, 160.0]
    """
    blocks, low, even = len(weights), other * weights, weights if even is None else even
    singles = Shifts(blocks, np.zeros((1, 1), np.int64), blocks)
    return DesignAxis(name, singles, np.arange(blocks), blocks, keep, other, keep - other, low, numbers, weights, even)


def public(blocks: int, columns: int = 0) -> DesignAxis:
    """Columns without noise."""
    return response_axis("", np.ones(blocks), 1.0, 0.0, (None,) * columns)


DebiasAxis: TypeAlias = MatrixAxis | MomentsAxis | DesignAxis


# Scores of states -----------------------------------------------------------------------------------------------------


class Transform(Protocol):
    """A matrix over sanitised states (rows) and blocks (columns), or others, whatever its shape."""

    def gather(self, counts: Array, axis: int) -> Array:
        """Σ_y counts(y) s(y, b): from counts of states to estimates of blocks."""

    def spread(self, weights: Array, axis: int) -> Array:
        """Σ_b s(y, b) weights(b): the score of each state for a sum over blocks."""


class Scores(Transform, Protocol):
    """Scores of states for blocks."""

    def times(self, other: Any) -> Transform:
        """The product of two scores of the same state, block by block."""

    def largest(self) -> Array:
        """The largest absolute score of each block."""


@dataclass(frozen=True, slots=True, eq=False)
class DenseScores:
    """Any scores, written out; where blocks have some in common, those of block b are column `kind[b]` of the matrix.

    >>> shared = DenseScores(np.array([[1.0, 3.0]]), np.array([1, 0, 1]))
    >>> dense = DenseScores(np.array([[3.0, 1.0, 3.0]]))
    >>> [scores.spread(np.array([2.0, 5.0, 7.0]), 0).tolist() for scores in (shared, dense)]
    [[32.0], [32.0]]
    """

    matrix: Array
    kind: Array | None = None

    def gather(self, counts: Array, axis: int) -> Array:
        found = np.moveaxis(np.tensordot(counts, self.matrix, axes=(axis, 0)), -1, axis)
        return found if self.kind is None else found.take(self.kind, axis)

    def spread(self, weights: Array, axis: int) -> Array:
        if self.kind is not None:
            weights = _summed(weights, self.kind, self.matrix.shape[1], axis)
        # A block without scores (NaN) must not spoil the sums that give it no weight.
        return np.moveaxis(np.tensordot(weights, np.nan_to_num(self.matrix), axes=(axis, 1)), -1, axis)

    def of_sum(self, weights: Array) -> Array:
        """The score of each state for one sum over blocks."""
        if self.kind is not None:
            weights = np.bincount(self.kind, weights, self.matrix.shape[1])
        used = weights != 0  # often one of thousands
        return np.asarray(self.matrix[:, used] @ weights[used])

    def times(self, other: Any) -> DenseScores:
        return replace(self, matrix=self.matrix * other.matrix)

    def largest(self) -> Array:
        largest = np.asarray(np.abs(self.matrix).max(axis=0, initial=0.0))
        return largest if self.kind is None else largest[self.kind]


@dataclass(frozen=True, slots=True, eq=False)
class BlockSums:
    """From states or single values, each with one `block` and a value there, to the sum of each block.

    >>> BlockSums(np.array([0, 2, 0]), np.array([1.0, 3.0, 4.0]), 3).gather(np.array([1, 1, 2]), 0).tolist()
    [9.0, 0.0, 3.0]
    """

    block: Array
    values: Array
    blocks: int

    def gather(self, counts: Array, axis: int) -> Array:
        return _summed(counts * along(self.values, axis, counts.ndim), self.block, self.blocks, axis)

    def spread(self, weights: Array, axis: int) -> Array:
        shown = weights.take(self.block, axis)
        return np.asarray(shown * along(self.values, axis, shown.ndim))


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


# Sums over the true rows, estimated from the counts -------------------------------------------------------------------

NO_BIAS = 1e-7  # a bias below this is none
_MOST_SCORES = 1 << 28  # of groups by states, where they are written out
_MOST_WEIGHTS = 1 << 22  # of sets by cells, at a time
_ROUNDING = 1e-11  # a variance below this part of its terms is zero


@dataclass(frozen=True, slots=True, eq=False)
class Sum:
    """Σ over the rows of a weight that depends on the blocks, times powers of numbers of each axis."""

    weights: Array
    powers: tuple[Powers, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Sets:
    """So many sets of cells: `takes` has a row of weights of the cells for each set, or, in one dimension, the one set
    that each cell is in."""

    count: int
    takes: Array

    def rows(self, which: Array) -> Array:
        """How much some of the sets take of each cell."""
        return self.takes[which] if self.takes.ndim == 2 else (which[:, None] == self.takes).astype(float)

    def totals(self, cells: Array) -> Array:
        """The sum of each set, for each row of numbers of the cells."""
        step = max(1, _MOST_WEIGHTS // max(1, cells.shape[1]))
        every = (np.arange(first, min(first + step, self.count)) for first in range(0, self.count, step))
        return np.hstack([cells @ self.rows(some).T for some in every])

    def kinds(self, marks: Array) -> tuple[Array, Array]:
        """One set of every kind, and the kind of each set, where cells with the same column of marks are alike."""
        mark = np.unique(marks, axis=1, return_inverse=True)[1].reshape(-1)
        order = np.lexsort((mark, self.takes))
        ends = np.searchsorted(self.takes[order], np.arange(1, self.count))
        places: dict[bytes, int] = {}
        kind = np.array([places.setdefault(cells.tobytes(), len(places)) for cells in np.split(mark[order], ends)])
        return np.unique(kind, return_index=True)[1], kind


@dataclass(frozen=True, slots=True, eq=False)
class AnswerGroups:
    """The groups of an answer: a block of each of the `fixed` axes, and one of the `sets` of cells of all others.

    Group `order[n]` of these, the fixed axes varying slowest, is row n of the answer, and has the labels[n].
    """

    labels: Sequence[tuple[Any, ...]]
    order: Array
    fixed: tuple[int, ...]
    sets: Sets


@dataclass(frozen=True, slots=True, eq=False)
class SumEstimates:
    """For every group the estimates of m sums, what their variances are made of, and the naive values."""

    values: Array  # (groups, m)
    naive: Array  # (groups, m)
    heaviest: Array  # (groups, m): the largest score of one row
    doubts: Array  # (groups, m): how far smoothed scores may be off on average
    squares: Array  # (groups, m, m): Σ s_i s_j
    products: Array  # (groups, m, m): the estimates of Σ f_i f_j
    rows: int  # of the table

    def covariance(self, target: Target, groups: slice = slice(None)) -> Array:
        """The covariances of the sums of each group."""
        values, squares = self.values[groups], self.squares[groups]
        population = squares - values[:, :, None] * values[:, None, :] / max(self.rows, 1)
        table = squares - self.products[groups]
        # Where f² has no estimate, (Σ f)²/n is below Σ f²: the variance is then too large rather than too small.
        covariances = population if target == "population" else np.where(np.isnan(table), population, table)
        scales = np.sqrt(np.abs(np.einsum("gii->gi", squares)))
        return np.where(np.abs(covariances) <= _ROUNDING * scales[:, :, None] * scales[:, None, :], 0.0, covariances)


class Contingency:
    """Counts of the sanitised rows over the states of some axes."""

    def __init__(self, axes: Sequence[DebiasAxis], counts: Array, rows: int) -> None:
        self.axes, self.counts, self.rows = axes, counts, rows
        self.shape, self.states = tuple(axis.blocks for axis in axes), counts.shape
        # By their places, those under wide noise.
        self.rough = {n: axis for n, axis in enumerate(axes) if isinstance(axis, MatrixAxis) and axis.rough}
        self._scores: dict[tuple[int, Powers], Scores] = {}
        self._tables: dict[tuple[tuple[Powers, ...], bool], Array] = {}
        self._likely: dict[tuple[tuple[Powers, ...], bool] | None, Array] = {}
        self._assigned: dict[tuple[int, bool], Transform] = {}

    @classmethod
    def fitted(cls, axes: Sequence[DebiasAxis], counts: Array, rows: int) -> Contingency:
        """The table, each axis whose scores depend on counts fitted to those of its own states."""
        fitted: list[DebiasAxis] = []
        for n, axis in enumerate(axes):
            if isinstance(axis, MatrixAxis) and axis.is_fitted:
                marginal = np.moveaxis(counts, n, 0)
                for other in reversed([*axes[:n], *axes[n + 1 :]]):
                    marginal = marginal[..., 0] if isinstance(other, MomentsAxis) else marginal.sum(axis=-1)
                axis = axis.fit(marginal)
            fitted.append(axis)
        return cls(fitted, counts, rows)

    def scores(self, axis: int, powers: Powers) -> Scores:
        """The scores of the states of an axis, for powers of its numbers."""
        if (axis, powers) not in self._scores:
            self._scores[axis, powers] = self.axes[axis].scores(powers)
        return self._scores[axis, powers]

    def tested(self, axes: Sequence[DebiasAxis]) -> Contingency:
        """These counts, asked for other functions of the states of rough axes: their likely nodes stay."""
        other = Contingency(axes, self.counts, self.rows)
        other._likely, other._assigned = self._likely, self._assigned
        return other

    def blocks(self, powers: tuple[Powers, ...], *, naive: bool = False) -> Array:
        """The estimated sums of all blocks, or those that the sanitised rows have as they are."""
        if (powers, naive) not in self._tables:
            scores = (self.axes[n].naive(p) if naive else self.scores(n, p) for n, p in enumerate(powers))
            self._tables[powers, naive] = gather(scores, self.counts)
        return self._tables[powers, naive]

    def nodes(self, powers: tuple[Powers, ...], *, cautiously: bool) -> Array:
        """The estimated sums of all blocks, but for rough axes the likely counts of their nodes.

        A bias must not be overlooked, so it is weighed cautiously. Rows that are not there would make Σ f² too large
        and the variance, from which it is taken away, too small.
        """
        if not self.rough:
            return self.blocks(powers)
        if (powers, cautiously) not in self._likely:
            factors = (
                self._assign(n, cautiously) if n in self.rough else self.scores(n, p) for n, p in enumerate(powers)
            )
            self._likely[powers, cautiously] = gather(factors, self.counts)
        return self._likely[powers, cautiously]

    def _assign(self, axis: int, cautiously: bool) -> Transform:
        """The likely nodes of each state of a rough axis."""
        if (axis, cautiously) not in self._assigned:
            self._assigned[axis, cautiously] = self.rough[axis].assign(cautiously=cautiously)
        return self._assigned[axis, cautiously]

    def predicted(self) -> Array:
        """The counts that the likely nodes of rough axes would show on average; other axes as they are.

        With these Σ s² − Σ f² is the sum of the variances of the likely rows, whatever part of the counts the nodes do
        not explain; a design has nearly the same variance for all values, so that hardly matters.
        """
        if None not in self._likely:
            counts = self.counts
            for n, axis in self.rough.items():
                counts = axis.law.gather(self._assign(n, cautiously=False).gather(counts, n), n)
            self._likely[None] = counts
        return self._likely[None]

    def total(self, blocks: Array, wanted: Sum, groups: AnswerGroups) -> Array:
        """The sum of every group, from the sums of all blocks."""
        return GroupLayout(self, groups).total(blocks, wanted)[groups.order]

    def likely_bias(self, wanted: Sum, groups: AnswerGroups) -> Array:
        """The bias of the estimate of a sum in every group, for the likely nodes of rough axes."""
        factor = _Factor(GroupLayout(self, groups), wanted)
        return factor.layout.bias(self.nodes(wanted.powers, cautiously=True), factor)[groups.order]

    def estimates(self, sums: Sequence[Sum], groups: AnswerGroups) -> SumEstimates:
        """The estimates of these sums in every group; of groups that are alike but for their naive values once."""
        if not groups.order.size:  # of the public values of no rows
            none, pairs = np.zeros((0, len(sums))), np.zeros((0, len(sums), len(sums)))
            return SumEstimates(none, none, none, none, pairs, pairs, self.rows)
        every = GroupLayout(self, groups)
        first, kind = every.kinds(sums)
        few = AnswerGroups(
            (), np.arange(every.cells * len(first)), groups.fixed, Sets(len(first), groups.sets.rows(first))
        )
        layout, m = GroupLayout(self, few), len(sums)
        factors = [_Factor(layout, wanted) for wanted in sums]
        values = np.stack([layout.total(self.blocks(wanted.powers), wanted) for wanted in sums], axis=1)
        naive = np.stack([every.total(self.blocks(wanted.powers, naive=True), wanted) for wanted in sums], axis=1)
        heaviest = np.stack([factor.heaviest() for factor in factors], axis=1)
        doubts = np.stack(
            [layout.doubt(self.nodes(factor.powers, cautiously=True), factor) for factor in factors], axis=1
        )
        squares, products = np.zeros((2, len(values), m, m))
        for i, j in combinations_with_replacement(range(m), 2):
            a, b = factors[i], factors[j]
            powers = tuple(tuple(map(sum, zip(*pair, strict=True))) for pair in zip(a.powers, b.powers, strict=True))
            squares[:, i, j] = squares[:, j, i] = layout.square(a, b)
            products[:, i, j] = products[:, j, i] = layout.product(self.nodes(powers, cautiously=False), a, b)
        cell, chosen = np.divmod(groups.order, groups.sets.count)
        n = cell * len(first) + kind[chosen]
        return SumEstimates(values[n], naive[groups.order], heaviest[n], doubts[n], squares[n], products[n], self.rows)


class GroupLayout:
    """The axes in two parts: those that the group fixes, and the rest, with the counts of the likely rows."""

    def __init__(self, table: Contingency, groups: AnswerGroups) -> None:
        self.table, self.axes, self.fixed, self.sets = table, table.axes, groups.fixed, groups.sets
        self.rest = tuple(n for n in range(len(table.axes)) if n not in groups.fixed)
        self.order = (*self.fixed, *self.rest)
        self.shape, self.cells = table.shape, prod(table.shape[n] for n in self.fixed)
        self.fixed_states = tuple(table.states[n] for n in self.fixed)

    @cached_property
    def counts(self) -> Array:
        return self.table.predicted().transpose(self.order).reshape(prod(self.fixed_states), -1)

    def split(self, blocks: Array) -> Array:
        """An array over all blocks, as a matrix of fixed cells by other cells."""
        others = prod(self.shape[n] for n in self.rest)
        return np.broadcast_to(blocks, self.shape).transpose(self.order).reshape(self.cells, others)

    def total(self, blocks: Array, wanted: Sum) -> Array:
        matrix = self.split(np.where(wanted.weights == 0, 0.0, blocks * wanted.weights))
        return self.sets.totals(matrix).reshape(-1)

    def kinds(self, sums: Sequence[Sum]) -> tuple[Array, Array]:
        """One set of cells of every kind, and the kind of each: where they differ in blocks with the same scores."""
        rest = [(self.axes[n], [wanted.powers[n] for wanted in sums]) for n in self.rest]
        shared = [axis.kinds(powers) if isinstance(axis, MatrixAxis) else None for axis, powers in rest]
        if self.sets.takes.ndim == 2 or all(kinds is None for kinds in shared):
            return np.arange(self.sets.count), np.arange(self.sets.count)
        sizes = (self.shape[n] for n in self.rest)
        codes = [np.arange(size) if kind is None else kind for size, kind in zip(sizes, shared, strict=True)]
        marks = [mesh.reshape(-1) for mesh in np.meshgrid(*codes, indexing="ij")]
        weights = [np.unique(self.split(wanted.weights), axis=0) for wanted in sums]
        return self.sets.kinds(np.vstack([*marks, *weights]))

    def product(self, nodes: Array, a: _Factor, b: _Factor) -> Array:
        """The estimate of Σ f_a f_b for every group, f being what the scores are on average."""
        return self._by_pattern(a, b, nodes, lambda one, other: a.node_means(one) * b.node_means(other))

    def bias(self, nodes: Array, a: _Factor) -> Array:
        """Σ mean − f over the likely nodes, for every group."""
        return self._by_pattern(a, a, nodes, lambda one, _: a.biases(one))

    def doubt(self, nodes: Array, a: _Factor) -> Array:
        """How large the bias of the scores is in every group: Σ |mean − f| over the likely nodes."""
        if not self.table.rough:
            return np.zeros(self.cells * self.sets.count)
        return np.abs(self._by_pattern(a, a, nodes, lambda one, _: np.abs(a.biases(one))))

    def _by_pattern(self, a: _Factor, b: _Factor, nodes: Array, weigh: Callable[[int, int], Array]) -> Array:
        matrix = nodes.transpose(self.order).reshape(self.cells, -1)
        totals = np.zeros((self.cells, self.sets.count))
        for cells, one, other in self._patterns(a, b):
            weights = weigh(one, other)
            used = weights.any(axis=0)  # what has no weight may have no estimate either
            totals[cells] = (matrix[cells][:, used]) @ weights[:, used].T
        return totals.reshape(-1)

    def _patterns(self, a: _Factor, b: _Factor) -> Iterator[tuple[Array, int, int]]:
        """The cells of the fixed axes in which two sums have the same weights on the others."""
        pairs, which = np.unique(np.stack([a.pattern, b.pattern]), axis=1, return_inverse=True)
        for n, (one, other) in enumerate(pairs.T):
            yield which.reshape(-1) == n, int(one), int(other)

    def square(self, a: _Factor, b: _Factor) -> Array:
        """Σ_y counts(y) s_a(y) s_b(y) for every group."""
        totals = np.zeros((self.cells, self.sets.count))
        for cells, one, other in self._patterns(a, b):
            weights = a.rest(one) * b.rest(other)
            if weights.any():
                part = (self.counts @ weights.T).reshape(*self.fixed_states, -1)
                part = gather((a.scores[axis].times(b.scores[axis]) for axis in self.fixed), part)
                totals[cells] = part.reshape(self.cells, -1)[cells]
        return totals.reshape(-1)


class _Factor:
    """The score of a row for one sum, as scores of the fixed axes times a few functions of the other states."""

    def __init__(self, layout: GroupLayout, wanted: Sum) -> None:
        self.layout, self.powers = layout, wanted.powers
        self.scores = [layout.table.scores(n, p) for n, p in enumerate(wanted.powers)]
        weights = layout.split(wanted.weights).astype(float)
        if len(weights) > 1 and (weights == weights[0]).all():
            weights = weights[:1]  # nearly always: the conditions do not depend on the group
        self.patterns, pattern = np.unique(weights, axis=0, return_inverse=True)
        self.pattern = np.broadcast_to(pattern.reshape(-1), layout.cells)
        self._rest: dict[int, Array] = {}
        self._means: dict[int, Array] = {}

    def rest(self, pattern: int) -> Array:
        """The score of every state of the other axes, for each chosen set: (sets, states)."""
        if pattern not in self._rest:
            scores = self._blocks(pattern)
            if len(scores) * prod(self.layout.table.states[n] for n in self.layout.rest) > _MOST_SCORES:
                raise TooLarge("too many groups for a column with so many codes: group by fewer columns")
            for place, axis in enumerate(self.layout.rest):
                scores = self.scores[axis].spread(scores, place + 1)
            self._rest[pattern] = scores.reshape(len(scores), -1)
        return self._rest[pattern]

    def node_means(self, pattern: int) -> Array:
        """What these scores are on average, for each chosen set and the nodes of the other axes."""
        if pattern not in self._means:
            self._means[pattern] = self._on_nodes(pattern, MatrixAxis.score_means)
        return self._means[pattern]

    def biases(self, pattern: int) -> Array:
        """How far the means are from what they stand for."""
        bias = self.node_means(pattern) - self._on_nodes(pattern, MatrixAxis.wanted)
        return np.where(np.abs(bias) < NO_BIAS, 0.0, bias)

    def _on_nodes(self, pattern: int, values: Callable[[MatrixAxis, Powers], Transform]) -> Array:
        weights = self._blocks(pattern)
        for place, n in enumerate(self.layout.rest):
            if n in self.layout.table.rough:
                weights = values(self.layout.table.rough[n], self.powers[n]).spread(weights, place + 1)
        return weights.reshape(len(weights), -1)

    def _blocks(self, pattern: int) -> Array:
        """The weight of every block of the other axes, for each chosen set."""
        shape = [self.layout.shape[n] for n in self.layout.rest]
        taken = self.layout.sets.rows(np.arange(self.layout.sets.count))
        return np.asarray(taken * self.patterns[pattern]).reshape(-1, *shape)

    def heaviest(self) -> Array:
        """The largest score that one row can have, in every group."""
        fixed = np.ones(())
        for axis in self.layout.fixed:
            fixed = np.multiply.outer(fixed, self.scores[axis].largest())
        rest = np.stack([np.abs(self.rest(n)).max(axis=1, initial=0.0) for n in range(len(self.patterns))])
        return np.asarray(fixed.reshape(-1, 1) * rest[self.pattern]).reshape(-1)


# Sums over all rows, from a random part of them -----------------------------------------------------------------------

_SAME = 1e-9  # two floats are the same number


def scale_up(rows: int, release_rows: int) -> float:
    """How many rows of a release one row of a part stands for."""
    return max(release_rows, 1) / max(rows, 1)


def of_whole(sample: SumEstimates, release_rows: int) -> SumEstimates:
    """The sums over all rows, from estimates for a random part of them.

    A score that was the same in all rows of the part shows no variance; unless it is 1 whatever a row holds, it has
    that of one row at least.
    """
    if sample.rows == release_rows:
        return sample
    scale, population = scale_up(sample.rows, release_rows), sample.covariance("population").copy()
    certain = np.abs(sample.values - sample.rows) + np.abs(sample.heaviest - 1) <= _SAME * max(sample.rows, 1)
    places = np.arange(population.shape[1])
    variances = population[:, places, places]
    population[:, places, places] = np.where((variances == 0) & ~certain, sample.heaviest**2, variances)
    values = scale * sample.values
    return replace(
        sample,
        values=values,
        naive=scale * sample.naive,
        heaviest=scale * sample.heaviest,
        doubts=scale * sample.doubts,
        squares=scale**2 * population + _outer(values) / max(release_rows, 1),
        products=scale * sample.products,
        rows=release_rows,
    )


def pooled(parts: Sequence[SumEstimates], weights: Sequence[float]) -> SumEstimates:
    """The sums over all rows, from the estimates of several disjoint random parts of them; the weights sum to 1."""
    first, rows = parts[0], max(parts[0].rows, 1)
    weighted = list(zip(weights, parts, strict=True))
    values = np.sum([w * part.values for w, part in weighted], axis=0)
    population = np.sum([w**2 * (part.squares - _outer(part.values) / rows) for w, part in weighted], axis=0)
    return replace(
        first,
        values=values,
        naive=np.sum([w * part.naive for w, part in weighted], axis=0),
        heaviest=np.max([w * part.heaviest for w, part in weighted], axis=0),
        doubts=np.sum([w * part.doubts for w, part in weighted], axis=0),
        squares=population + _outer(values) / rows,
        products=np.sum([w * part.products for w, part in weighted], axis=0),
    )


def _outer(values: Any) -> Any:
    return values[:, :, None] * values[:, None, :]


# How scores are found -------------------------------------------------------------------------------------------------

_LEAST_SINGULAR = 1e-12  # singular values below this part of the largest count as zero
_UNSOLVED = 1e-8  # what may be left of f, as a part of its largest value
_BAYES_STEPS = 200  # a rough distribution is enough to weigh bias against variance
_ROWS_ANYWHERE = 500  # spread evenly beside those counted: few rows do not tell where wide noise hides the others
_BIAS_PENALTIES = 10.0 ** np.arange(-1, 13)  # tried from smooth scores to sharp ones
_WIDER_FOR_LESS_BIAS = 1.25  # how much wider an interval may be for less bias
_WIDEST_TRIED = 4.0  # how much wider one may get before sharper scores are not tried any more
_STANDARD_ERRORS = 1.96  # of the half-width that is made least


def solver(law: Array) -> Callable[[Array], Array]:
    """What finds the scores s with P s = f for each column f of a matrix, of least variance for evenly spread values.

    Minimises Σ_y λ(y) s(y)² with λ the mean of the rows of P (generalised least squares): for a square law this is
    P⁻¹ f, for a rectangular one the best of many. Columns that no score can attain come back as NaN.

    >>> solver(np.array([[0.75, 0.25], [0.25, 0.75]]))(np.eye(2)).round(6).tolist()
    [[1.5, -0.5], [-0.5, 1.5]]
    """
    mean = law.mean(axis=0)
    seen = mean > 0
    root = np.where(seen, np.sqrt(np.where(seen, mean, 1.0)), np.inf)
    left, sizes, right = np.linalg.svd(law / root, full_matrices=False)
    kept = sizes > sizes[0] * _LEAST_SINGULAR

    def solve(wanted: Array) -> Array:
        scores: Array = (right[kept].T @ ((left[:, kept].T @ wanted) / sizes[kept, None])) / root[:, None]
        missed = np.abs(law @ scores - wanted).max(axis=0)
        scores[:, missed > _UNSOLVED * np.maximum(np.abs(wanted).max(axis=0), 1e-300)] = np.nan
        return scores

    return solve


def likely_nodes(matrix: Array, counts: Array) -> Array:
    """Roughly how many rows each node has, from counts of the states: some steps of iterative Bayes."""
    likely = np.full(len(matrix), 1 / len(matrix))
    if counts.sum():
        share = counts / counts.sum()
        for _ in range(_BAYES_STEPS):
            likely = likely * (matrix @ (share / np.maximum(likely @ matrix, 1e-300)))
    return np.asarray(likely / likely.sum() * max(float(counts.sum()), 1.0))


def cautious_nodes(likely: Array) -> Array:
    """Likely counts of nodes with some rows spread evenly: a bias that is overlooked is missing from the intervals."""
    rows = float(likely.sum())
    known = rows / (rows + _ROWS_ANYWHERE)
    return np.asarray(known * likely + (1 - known) * rows / len(likely))


def smoother(matrix: Array, nodes: Array) -> Callable[[Array], Array]:
    """What finds the scores with little bias among those with nearly the least half-width; exact ones if so good.

    `matrix` is the law, from nodes to states, and `nodes` has the likely counts of these.
    """
    ever_sharper, exactly = _ever_sharper(matrix, nodes / nodes.sum()), cache(lambda: solver(matrix))

    def smoothed(wanted: Array) -> Array:
        tried: list[tuple[float, Array]] = []
        for scores in ever_sharper(wanted):
            tried.append((_half_width(matrix, scores, wanted, nodes), scores))
            if tried[-1][0] > _WIDEST_TRIED * min(width for width, _ in tried):
                break
        else:
            exact = exactly()(wanted)
            if not np.isnan(exact).any():
                tried.append((_half_width(matrix, exact, wanted, nodes), exact))
        least = min(width for width, _ in tried)
        return [scores for width, scores in tried if width <= _WIDER_FOR_LESS_BIAS * least][-1]

    return smoothed


def _half_width(matrix: Array, scores: Array, wanted: Array, nodes: Array) -> float:
    means = matrix @ scores
    variance = np.maximum(nodes @ (matrix @ scores**2 - means**2), 0.0)
    return float((_STANDARD_ERRORS * np.sqrt(variance) + nodes @ np.abs(means - wanted)).sum())


def _ever_sharper(matrix: Array, shares: Array) -> Callable[[Array], Iterator[Array]]:
    """For functions f the scores c + t that minimise Σ λ t² + μ Σ ω (c + P t − f)², for growing strengths μ."""
    states = np.maximum(shares @ matrix, 1e-12)
    root = np.sqrt((shares + 1 / len(shares)) / 2)
    scaled = root[:, None] * matrix / np.sqrt(states)
    sizes, vectors = np.linalg.eigh(scaled @ scaled.T)
    ones = vectors.T @ root

    def scores(wanted: Array) -> Iterator[Array]:
        target = vectors.T @ (root[:, None] * wanted)
        for strength in _BIAS_PENALTIES:
            weight = strength / (strength * np.maximum(sizes, 0.0) + 1)
            level = (ones * weight) @ target / ((ones * weight) @ ones)
            rest = vectors @ (weight[:, None] * (target - ones[:, None] * level))
            yield level + (scaled.T @ rest) / np.sqrt(states)[:, None]

    return scores


def explain_singular(law: Array, labels: Sequence[Any]) -> str:
    """Why a law cannot be undone, and what of it can: values that look alike, and what can be told nevertheless."""
    rank = int(np.linalg.matrix_rank(law, tol=_LEAST_SINGULAR * len(law)))
    alone = {repr(label): np.eye(len(law))[n] for n, label in enumerate(labels)}
    if isinstance(labels[0], frozenset):
        items = sorted({item for label in labels for item in label}, key=str)
        alone = {f"sets with {item!r}": np.array([float(item in label) for label in labels]) for item in items}
    solved = ~np.isnan(solver(law)(np.stack(list(alone.values()), axis=1)).sum(axis=0))
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
