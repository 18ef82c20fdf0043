"""The axes by which estimation undoes a law: the independent factors of the law of a row, as a question sees them.

A law says by `debias_axes` which axes undo it for a question (`DebiasAxes`). An axis is cut into the blocks that the
question tells apart, and its sanitised states are counted. Its law goes from nodes, the true values as far as it knows
them, to states. `scores(powers)` are those of every block's indicator times these powers of its numbers, NaN where
there are none; `naive(powers)` the same as if the states were true; `wanted(powers)` what they stand for, from nodes to
blocks; `state_shares_if_uniform()` the share of each state where values are spread evenly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import comb, isfinite
from typing import Any, Protocol, TypeAlias

import numpy as np

from dproof.errors import ArgumentError, TooLarge
from dproof.laws.scores import (
    Array,
    DenseScores,
    PlacedValues,
    PolynomialScores,
    Powers,
    Scores,
    SharedScores,
    SpikeScores,
    Transform,
    cautious_nodes,
    explain_singular,
    likely_nodes,
    noiseless_powers,
    refuse_flat,
    smoothed,
    solve,
)
from dproof.spaces.interval import Line
from dproof.spaces.space import Space


@dataclass(frozen=True, slots=True, eq=False)
class ResponseAxis:
    """A keep-or-other law over blocks of `weights` values each: a block is kept or becomes any block, by its weight.

    P(Y_x = y) = other for each y, but keep for y = x, so that π_b = (λ_b − other·w_b)/(keep − other). HLM15, Example 6;
    Warner 1965. `numbers` has for each column of the law the number that a block stands for, where sums are asked for.

    >>> hobby = ResponseAxis("hobby", np.ones(5), 6 / 10, 1 / 10)
    >>> hobby.scores(()).gather(np.array([310, 150, 240, 120, 180]), 0).round(6).tolist()
    [420.0, 100.0, 280.0, 40.0, 160.0]
    """

    name: str
    weights: Array
    keep: float
    other: float
    numbers: tuple[Array | None, ...] = ()

    @property
    def blocks(self) -> int:
        return len(self.weights)

    states = blocks

    @property
    def exact(self) -> bool:
        """Whether what is counted is what is true."""
        return self.keep == 1 and self.other == 0

    @property
    def law(self) -> Scores:
        """P(block b becomes block c), in the place of a score of c for b."""
        return SpikeScores(np.full(self.blocks, self.keep - self.other), self.other * self.weights)

    def scores(self, powers: Powers) -> Scores:
        if self.keep == self.other:
            refuse_flat(self.name)
        own = self.wanted(powers).own / (self.keep - self.other)
        return SpikeScores(own, -self.other * self.weights * own)

    def wanted(self, powers: Powers) -> SpikeScores:
        """The product of the powers of the numbers of each block."""
        values = np.ones(self.blocks)
        for number, power in zip(self.numbers, powers, strict=True):
            if power:
                assert number is not None
                values = values * number**power
        return SpikeScores(values, np.zeros(self.blocks))

    naive = wanted

    def inverse(self) -> Scores:
        return self.scores((0,) * len(self.numbers))

    def state_shares_if_uniform(self) -> Array:
        return self.law.gather(self.weights / self.weights.sum(), 0)


def public(blocks: int, columns: int = 0) -> ResponseAxis:
    """Columns without noise."""
    return ResponseAxis("", np.ones(blocks), 1.0, 0.0, (None,) * columns)


@dataclass(frozen=True, slots=True, eq=False)
class MatrixAxis:
    """Any finite law: `matrix` has a row for each node and a column for each state.

    `member` is the part of each node that lies in each block and `values` the number it stands for; `seen` and
    `seen_values` are the same for the states; `seen` may also have the one block of each state. A `rough` axis tells
    numbers apart no better than their noise allows: its scores do not quite attain their blocks, and are best for the
    `cautious` counts of its nodes, those that are `likely` and some more anywhere; `fit` finds both. A node that
    stands for several codes is described by the `points`; where nodes stand for different numbers of codes, these are
    `node_sizes`.
    """

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
    points: Points | None = None
    node_sizes: Array | None = None
    _scores: dict[Powers, DenseScores | SharedScores] = field(default_factory=dict, init=False)

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

    def scores(self, powers: Powers) -> DenseScores | SharedScores:
        if powers not in self._scores:
            wanted, nodes, kind = self.wanted(powers).matrix, self.cautious, None
            if self.blocks > len(self.matrix):  # then nodes have several blocks, with the same scores
                _, first, kind = np.unique(self.member, axis=1, return_index=True, return_inverse=True)
                wanted = wanted[:, first]
            scores = solve(self.matrix, wanted) if nodes is None else smoothed(self.matrix, wanted, nodes)
            self._scores[powers] = DenseScores(scores) if kind is None else SharedScores(scores, kind.reshape(-1))
        return self._scores[powers]

    def kinds(self, every: Sequence[Powers]) -> Array | None:
        """The kind of each block, where those of a kind share their scores for all of these powers."""
        found = [scores.kind if isinstance(scores := self.scores(p), SharedScores) else None for p in every]
        return None if any(kind is None for kind in found) else found[0]

    def wanted(self, powers: Powers) -> DenseScores:
        return DenseScores(self.member * self.values[:, None] ** sum(powers))

    def naive(self, powers: Powers) -> Transform:
        values = self.seen_values ** sum(powers)
        return (
            PlacedValues(self.seen, values, self.blocks)
            if self.seen.ndim == 1
            else DenseScores(self.seen * values[:, None])
        )

    def means(self, powers: Powers) -> DenseScores | SharedScores:
        """The means of the scores, for each node and block: P s."""
        scores = self.scores(powers)
        return replace(scores, matrix=self.matrix @ scores.matrix)

    def singles(self) -> Points:
        """The true values of a rough axis one by one, for what must hold wherever inside of a node they lie."""
        if self.points is not None:
            return self.points
        start = np.arange(len(self.matrix))
        return Points(self.matrix, start, np.zeros(len(start)), self.member.argmax(axis=1), self.values)

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
        return DenseScores(solve(self.matrix, np.eye(len(self.matrix))))

    def state_shares_if_uniform(self) -> Array:
        return np.asarray(np.average(self.matrix, axis=0, weights=self.node_sizes))

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

    __slots__ = ()

    def scores(self, powers: Powers) -> DenseScores | SharedScores:
        return (
            DenseScores(self.wanted(powers).matrix / self.matrix[0, 0])
            if any(powers)
            else MatrixAxis.scores(self, powers)
        )

    def state_shares_if_uniform(self) -> Array:
        """The shares where nothing is missing."""
        return np.asarray(self.matrix[0])


def is_rough(axis: DebiasAxis) -> bool:
    """Whether the scores of an axis do not quite attain what they stand for."""
    return isinstance(axis, MatrixAxis) and axis.rough


class Blocks(Protocol):
    """The codes of a column in blocks that a question does not tell apart (`dproof.questions.partition.Axis`).

    The codes from `first[n]` to `last[n]` lie in `block[n]`; with `bits` those that agree with `first[n]` in these.
    """

    @property
    def first(self) -> Array: ...

    @property
    def last(self) -> Array: ...

    @property
    def block(self) -> Array: ...

    @property
    def sizes(self) -> Array: ...

    @property
    def bits(self) -> tuple[int, ...] | None: ...

    @property
    def blocks(self) -> int: ...

    @property
    def samples(self) -> Array: ...

    def of(self, codes: Array) -> Array: ...


@dataclass(frozen=True, slots=True, eq=False)
class PresentBlocks:
    """The blocks of a column without its last code, that of a missing value; they keep their numbers."""

    every: Blocks
    size: int  # codes of values that are there

    @property
    def first(self) -> Array:
        return self.every.first[self.every.first < self.size]

    @property
    def last(self) -> Array:
        return np.minimum(self.every.last[: len(self.first)], self.size - 1)

    @property
    def block(self) -> Array:
        return self.every.block[: len(self.first)]

    @property
    def blocks(self) -> int:
        return self.every.blocks

    sizes = samples = bits = property(lambda self: None)  # which the laws of numbers do not ask for

    def of(self, codes: Array) -> Array:
        return self.every.of(codes)


@dataclass(frozen=True, slots=True)
class Scale:
    """value = middle + unit · number, so that powers of the numbers stay small."""

    middle: float = 0.0
    unit: float = 1.0

    def numbers(self, space: Space | Line, codes: Array) -> Array:
        """The numbers that codes stand for, also between and beyond those of an interval."""
        return np.asarray((space.values_of(codes) - self.middle) / self.unit)


@dataclass(frozen=True, slots=True, eq=False)
class SeenColumn:
    """A column as a question sees it: its blocks, where its values and its released values live, and the scale of its
    numbers, where sums of them are asked for; whether it is `asked` about, or only released with one that is."""

    blocks: Blocks
    space: Space
    outputs: Space | Line
    scale: Scale | None
    asked: bool = True

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
    there = PresentBlocks(column.blocks, absent).block
    if len(np.unique(there)) > 1:
        return None
    member = np.eye(column.blocks.blocks)[[there[0], *column.blocks.of(np.array([absent]))]]
    law, values = np.array([[chance, 1 - chance] for chance in chances]), np.array([1.0, 0.0])
    axis = PresenceAxis(name, law, member, values, member, values)
    return DebiasAxes((axis,), lambda released: 1 - released[0], by_presence=True, moments=moments)


@dataclass(frozen=True, slots=True, eq=False)
class MomentsAxis:
    """A number that is only summed: x + Z with noise of known moments E Z, E Z², …, or without noise.

    The states are the powers of the number up to `states − 1`; `reach` bounds it, noise and all, all but surely;
    it is infinite where nobody has read or declared the number.
    """

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

    def state_shares_if_uniform(self) -> Array:
        """E (x + Z)^k for x spread evenly over what it may be and noise with the moments of Laplace's law."""
        if not isfinite(self.reach):
            raise ArgumentError("the numbers of a public column are not declared, so their ± cannot be predicted")
        spread = self.noise[1]
        noise = [1.0, 0.0, spread, 0.0, 6 * spread**2]
        most = 1.0 if self.is_declared else self.reach
        even = [0.0 if k % 2 else most**k / (k + 1) for k in range(5)]
        return np.array([sum(comb(k, i) * even[k - i] * noise[i] for i in range(k + 1)) for k in range(self.states)])


@dataclass(frozen=True, slots=True, eq=False)
class Points:
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

    def means(self, scores: Array) -> tuple[Array, Array]:
        """The means of scores of the states at each point, and how far any code between may be off that.

        A function that bends by d, the second difference on the grid, is at most d/8 away from its chords.
        """
        grid = self.matrix @ scores
        after = grid[np.minimum(self.start + 1, len(grid) - 1)]
        found = grid[self.start] + self.part.reshape(-1, *[1] * (grid.ndim - 1)) * (after - grid[self.start])
        return found, np.abs(np.diff(grid[: self.even], n=2, axis=0)).max(axis=0, initial=0.0) / 4


_MOST_PRODUCTS = 1 << 30  # of scores, which are written out so many at a time
_WRITTEN_OUT = 1 << 22
_TRANSFORMED = 1 << 15  # numbers whose transforms are computed together


class Incidence(Protocol):
    """The relation of the first `size` residues to the `states` blocks that hold them."""

    @property
    def size(self) -> int: ...

    @property
    def states(self) -> int: ...

    def count(self, counts: Array) -> Array:
        """The number of rows whose block holds each value, from the number with each block, along the last axis."""
        ...

    def add(self, weights: Array) -> Array:
        """The sum of the weights of the values that each block holds, along the last axis."""
        ...


@dataclass(frozen=True, eq=False)
class Classes:
    """Block (j, y) holds x where d = y − x lies in a set of residues of a prime, `holding(j)`: correlations, by fast
    Fourier transforms."""

    prime: int
    classes: int
    holding: Callable[[int], Array]
    size: int

    @property
    def states(self) -> int:
        return self.prime * self.classes

    @property
    def _length(self) -> int:
        """The length of the transforms: a prime would be slow, and twice the residues leave room to wrap around."""
        return min(odd << ((2 * self.prime - 1) // odd).bit_length() for odd in (1, 3, 5))

    @property
    def _parts(self) -> list[slice]:
        """The classes, as many at a time as fit a cache."""
        many = max(1, _TRANSFORMED // self._length)
        return [slice(j, j + many) for j in range(0, self.classes, many)]

    @cached_property
    def _transforms(self) -> Array:
        return np.stack([np.fft.rfft(self.holding(j), self._length) for j in range(self.classes)])

    def count(self, counts: Array) -> Array:
        by_class = counts.reshape(*counts.shape[:-1], self.classes, self.prime)
        spectrum = np.zeros((*counts.shape[:-1], self._length // 2 + 1), complex)
        for part in self._parts:
            moved = np.fft.rfft(by_class[..., part, :], self._length)
            spectrum += np.einsum("...jf,jf->...f", moved, self._transforms[part].conj())
        differences = np.fft.irfft(spectrum, self._length)
        before = self._length - self.prime
        return np.asarray(differences[..., : self.size] + differences[..., before : before + self.size])

    def add(self, weights: Array) -> Array:
        padded = np.fft.rfft(weights, self._length)[..., None, :]
        added = np.empty((*weights.shape[:-1], self.classes, self.prime))
        for part in self._parts:
            sums = np.fft.irfft(padded * self._transforms[part], self._length)
            added[..., part, :] = sums[..., : self.prime]
            added[..., part, :-1] += sums[..., self.prime : 2 * self.prime - 1]
        return added.reshape(*weights.shape[:-1], self.states)


@dataclass(frozen=True, slots=True, eq=False)
class Shifts:
    """Block (j, y) holds x where y − x is one of a few residues: those of row j, which are gone through one by one."""

    modulus: int
    residues: Array
    size: int

    @property
    def states(self) -> int:
        return self.modulus * len(self.residues)

    def count(self, counts: Array) -> Array:
        counted = np.zeros((*counts.shape[:-1], self.size))
        for j, row in enumerate(self.residues.tolist()):
            shifted = counts[..., j * self.modulus : (j + 1) * self.modulus]
            twice = np.concatenate([shifted, shifted[..., : self.size]], axis=-1)  # residues go round
            for d in row:
                counted += twice[..., d : d + self.size]
        return counted

    def add(self, weights: Array) -> Array:
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

    incidence: Incidence
    block_of: Array  # of each value
    own: Array
    flat: Array
    rest: int | None = None

    def gather(self, counts: Array, axis: int) -> Array:
        counts = np.moveaxis(counts, axis, -1)
        counted, total = self.incidence.count(counts), counts.sum(axis=-1, keepdims=True)
        if not self._is_single:
            counted = GroupSums(self.block_of, np.ones(len(self.block_of)), len(self.own)).gather(counted, -1)
        estimates = self.own * counted + self.flat * total
        if self.rest is not None:
            others = estimates.sum(axis=-1) - estimates[..., self.rest]
            estimates[..., self.rest] = total[..., 0] - others
        return np.moveaxis(estimates, -1, axis)

    def spread(self, weights: Array, axis: int) -> Array:
        weights = np.moveaxis(weights, axis, -1)
        shift = np.zeros((*weights.shape[:-1], 1)) if self.rest is None else weights[..., self.rest, None]
        scores = self.incidence.add((self.own * (weights - shift))[..., self.block_of])
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
        largest = np.maximum(np.abs(self.own * many + self.flat), np.abs(self.flat))
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
        many = max(1, _WRITTEN_OUT // states)
        for first in range(0, groups, many):
            part = slice(first, first + many)
            yield part, self.one.spread(np.eye(groups)[part], 1) * self.other.spread(np.eye(groups)[part], 1)

    def gather(self, counts: Array, axis: int) -> Array:
        moved = np.moveaxis(counts, axis, -1)
        found = np.concatenate([moved @ products.T for _, products in self._parts()], axis=-1)
        return np.moveaxis(found, -1, axis)

    def spread(self, weights: Array, axis: int) -> Array:
        moved = np.moveaxis(weights, axis, -1)
        found = sum(moved[..., part] @ products for part, products in self._parts())
        return np.moveaxis(np.asarray(found), -1, axis)


@dataclass(frozen=True, slots=True, eq=False)
class GroupSums:
    """From single values to groups of them: the sum of each group, times the number that each value stands for."""

    block_of: Array
    values: Array
    blocks: int

    def gather(self, counts: Array, axis: int) -> Array:
        moved = np.moveaxis(counts, axis, 0)
        folded = np.zeros((self.blocks, *moved.shape[1:]))
        np.add.at(folded, self.block_of, moved * self.values.reshape(-1, *[1] * (moved.ndim - 1)))
        return np.moveaxis(folded, 0, axis)

    def spread(self, weights: Array, axis: int) -> Array:
        moved = np.moveaxis(weights, axis, -1)
        return np.moveaxis(moved[..., self.block_of] * self.values, -1, axis)


@dataclass(frozen=True, slots=True, eq=False)
class Transition:
    """P(block y | value x) = low + (high − low)·[y holds x], from values to the blocks of a design, and back."""

    incidence: Incidence
    high: float
    low: float

    def gather(self, counts: Array, axis: int) -> Array:
        return self._mixed(counts, axis, self.incidence.add)

    def spread(self, weights: Array, axis: int) -> Array:
        return self._mixed(weights, axis, self.incidence.count)

    def _mixed(self, values: Array, axis: int, held: Callable[[Array], Array]) -> Array:
        moved = np.moveaxis(values, axis, -1)
        found = self.low * moved.sum(axis=-1, keepdims=True) + (self.high - self.low) * held(moved)
        return np.moveaxis(found, -1, axis)


@dataclass(frozen=True, slots=True, eq=False)
class DesignAxis:
    """The axis of a block design: a state for each block, a node for each value.

    A value lies in the block of a row that has it with probability `hit`, and of any other row with `miss`, so that
    (how often it does − miss·n)/(hit − miss) is an unbiased count.
    """

    name: str
    incidence: Incidence
    block_of: Array
    blocks: int
    hit: float
    miss: float
    high: float  # how likely each block is that holds the value of a row
    low: float
    numbers: tuple[Array | None, ...]  # of each value, for each column that is asked about

    @property
    def states(self) -> int:
        return self.incidence.states

    @property
    def law(self) -> Transition:
        return Transition(self.incidence, self.high, self.low)

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
            refuse_flat(self.name)
        sizes = np.bincount(self.block_of, minlength=self.blocks)
        own = self._values(powers) / (self.hit - self.miss)
        # The variance of a group goes with its size: more than half of the values are counted by the others.
        most = 2 * sizes.max() >= sizes.sum() and not sum(powers)
        rest = int(sizes.argmax()) if most and sizes.max() > 1 else None
        return IncidenceScores(self.incidence, self.block_of, own, -self.miss * sizes * own, rest)

    def naive(self, powers: Powers) -> IncidenceScores:
        """A row counts for every value that its block holds."""
        return IncidenceScores(self.incidence, self.block_of, self._values(powers), np.zeros(self.blocks))

    def wanted(self, powers: Powers) -> GroupSums:
        return GroupSums(self.block_of, self._values(powers)[self.block_of], self.blocks)

    def inverse(self) -> IncidenceScores:
        """The scores of every single value."""
        one = np.full(self.incidence.size, 1 / (self.hit - self.miss))
        return IncidenceScores(self.incidence, np.arange(self.incidence.size), one, -self.miss * one)

    def state_shares_if_uniform(self) -> Array:
        return self.law.gather(np.full(self.incidence.size, 1 / self.incidence.size), 0)


DebiasAxis: TypeAlias = ResponseAxis | MatrixAxis | MomentsAxis | DesignAxis
