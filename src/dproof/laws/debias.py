"""How estimation undoes a law: the independent factors of the law of a row, as a question sees them.

A law says by `unmix` which axes undo it for a question (`Unmixed`). An axis is cut into the blocks that the question
tells apart, and its sanitised states are counted. Its law goes from nodes, the true values as far as it knows them, to
states. `scores(powers)` are those of every block's indicator times these powers of its numbers, NaN where there are
none; `naive(powers)` the same as if the states were true; `wanted(powers)` what they stand for, from nodes to blocks;
`evenly()` the share of each state where values are spread evenly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

import numpy as np

from dproof.errors import InputError
from dproof.laws.blocks import Blocked
from dproof.laws.moments import Moments
from dproof.laws.points import Points
from dproof.laws.scores import (
    Array,
    Dense,
    Placed,
    Powers,
    Scores,
    Shared,
    Spiked,
    Transform,
    cautious_nodes,
    explain_singular,
    likely_nodes,
    refuse_flat,
    smoothed,
    solve,
)
from dproof.spaces.interval import Line
from dproof.spaces.space import Space


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """A keep-or-other law over blocks of `weights` values each: a block is kept or becomes any block, by its weight.

    P(Y_x = y) = other for each y, but keep for y = x, so that π_b = (λ_b − other·w_b)/(keep − other). HLM15, Example 6;
    Warner 1965. `numbers` has for each column of the law the number that a block stands for, where sums are asked for.

    >>> hobby = Kept("hobby", np.ones(5), 6 / 10, 1 / 10)
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
        return Spiked(np.full(self.blocks, self.keep - self.other), self.other * self.weights)

    def scores(self, powers: Powers) -> Scores:
        if self.keep == self.other:
            refuse_flat(self.name)
        own = self.wanted(powers).own / (self.keep - self.other)
        return Spiked(own, -self.other * self.weights * own)

    def wanted(self, powers: Powers) -> Spiked:
        """The product of the powers of the numbers of each block."""
        values = np.ones(self.blocks)
        for number, power in zip(self.numbers, powers, strict=True):
            if power:
                assert number is not None
                values = values * number**power
        return Spiked(values, np.zeros(self.blocks))

    naive = wanted

    def inverse(self) -> Scores:
        return self.scores((0,) * len(self.numbers))

    def evenly(self) -> Array:
        return self.law.gather(self.weights / self.weights.sum(), 0)


def public(blocks: int, columns: int = 0) -> Kept:
    """Columns without noise."""
    return Kept("", np.ones(blocks), 1.0, 0.0, (None,) * columns)


@dataclass(frozen=True, slots=True, eq=False)
class Mixed:
    """Any finite law: `matrix` has a row for each node and a column for each state.

    `member` is the part of each node that lies in each block and `values` the number it stands for; `seen` and
    `seen_values` are the same for the states; `seen` may also have the one block of each state. A `rough` axis tells
    numbers apart no better than their noise allows: its scores do not quite attain their blocks, and are best for the
    `cautious` counts of its nodes, those that are `likely` and some more anywhere; `fit` finds both. A node that
    stands for several codes is described by the `points`.
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
    _scores: dict[Powers, Dense | Shared] = field(default_factory=dict, init=False)

    @property
    def blocks(self) -> int:
        return int(self.member.shape[1])

    @property
    def states(self) -> int:
        return int(self.matrix.shape[1])

    @property
    def law(self) -> Scores:
        return Dense(self.matrix)

    @property
    def is_fitted(self) -> bool:
        """Whether the scores depend on the counts of the states."""
        return self.rough

    def fit(self, counts: Array) -> Mixed:
        """The same axis for these counts of its states."""
        likely = likely_nodes(self.matrix, np.maximum(counts, 0.0))
        return replace(self, likely=likely, cautious=cautious_nodes(likely))

    def scores(self, powers: Powers) -> Dense | Shared:
        if powers not in self._scores:
            wanted, nodes, kind = self.wanted(powers).matrix, self.cautious, None
            if self.blocks > len(self.matrix):  # then nodes have several blocks, with the same scores
                _, first, kind = np.unique(self.member, axis=1, return_index=True, return_inverse=True)
                wanted = wanted[:, first]
            scores = solve(self.matrix, wanted) if nodes is None else smoothed(self.matrix, wanted, nodes)
            self._scores[powers] = Dense(scores) if kind is None else Shared(scores, kind.reshape(-1))
        return self._scores[powers]

    def kinds(self, every: Sequence[Powers]) -> Array | None:
        """The kind of each block, where those of a kind share their scores for all of these powers."""
        found = [scores.kind if isinstance(scores := self.scores(p), Shared) else None for p in every]
        return None if any(kind is None for kind in found) else found[0]

    def wanted(self, powers: Powers) -> Dense:
        return Dense(self.member * self.values[:, None] ** sum(powers))

    def naive(self, powers: Powers) -> Transform:
        values = self.seen_values ** sum(powers)
        return Placed(self.seen, values, self.blocks) if self.seen.ndim == 1 else Dense(self.seen * values[:, None])

    def means(self, powers: Powers) -> Dense | Shared:
        """What the scores are on average, for each node and block: P s."""
        scores = self.scores(powers)
        return replace(scores, matrix=self.matrix @ scores.matrix)

    def singles(self) -> Points:
        """The true values of a rough axis one by one, for what must hold wherever inside of a node they lie."""
        if self.points is not None:
            return self.points
        start = np.arange(len(self.matrix))
        return Points(self.matrix, start, np.zeros(len(start)), self.member.argmax(axis=1), self.values)

    def tested(self, tests: Array) -> Mixed:
        """The same axis with any functions of its states in the place of blocks, which stand for their own means."""
        found = replace(self, member=self.matrix @ tests, seen=tests)
        found._scores[(0,)] = Dense(tests)
        return found

    def assign(self, *, cautiously: bool) -> Dense:
        """The likely nodes of each state (Bayes); cautiously, with some rows thought to lie anywhere."""
        nodes = self.cautious if cautiously else self.likely
        assert nodes is not None
        joint = nodes[:, None] * self.matrix
        return Dense((joint / np.maximum(joint.sum(axis=0), 1e-300)).T)

    def inverse(self) -> Dense:
        """The scores of every single node."""
        return Dense(solve(self.matrix, np.eye(len(self.matrix))))

    def evenly(self) -> Array:
        return np.asarray(self.matrix.mean(axis=0))

    def refuse(self) -> None:
        """Say why some question on it has no answer, if that is so."""
        if not self.rough and np.isnan(self.inverse().matrix).any():
            why = explain_singular(self.matrix, self.labels)
            way = "method='likelihood' fits one of the possible answers, raw(...) shows the rows as they are"
            raise InputError(f"{self.name} cannot be debiased: {why}; {way}")


class Shown(Mixed):
    """Whether a value is there: two nodes, there and missing, and as many states, shown and not shown.

    Where numbers are summed their `Moments` stand beside it. A missing number is shown at 0, where those begin, so it
    adds nothing to E(Y^k; shown) = p·x^k: a number that is shown counts 1/p times, and one that is not counts nothing.
    """

    __slots__ = ()

    def scores(self, powers: Powers) -> Dense | Shared:
        return Dense(self.wanted(powers).matrix / self.matrix[0, 0]) if any(powers) else Mixed.scores(self, powers)

    def evenly(self) -> Array:
        """The same as where nothing is missing."""
        return np.asarray(self.matrix[0])


Axis: TypeAlias = Kept | Mixed | Moments | Blocked


def is_rough(axis: Axis) -> bool:
    """Whether the scores of an axis do not quite attain what they stand for."""
    return isinstance(axis, Mixed) and axis.rough


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
class Seen:
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
class Bins:
    """Released codes that may be brought together before they are counted: from one multiple of `wide` to the next,
    or to a cut; those below `first` and beyond `last` with these."""

    first: int
    last: int
    wide: int
    cuts: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Unmixed:
    """How the released codes of some columns are counted, and the axes that undo their law.

    `state` tells the state on the axes from the released codes of each column. With `by_block` it looks at nothing but
    the blocks of these codes, so of a set only some items need be read; with `by_presence` it gets 1 for a value that
    is there and 0 for a missing one. A number whose powers are summed rather than counted has its `moments`.
    """

    axes: tuple[Axis, ...]
    state: Callable[[Sequence[Array]], Array] | None
    by_block: bool = False
    bins: Bins | None = None
    by_presence: bool = False
    moments: Moments | None = None


def presence(column: Seen, chances: tuple[float, float], name: str, moments: Moments | None = None) -> Unmixed | None:
    """What undoes a law that shows a value with these chances, where it is there and where it is missing; None where a
    question tells values apart that are there."""
    absent = column.space.absent
    assert absent is not None
    there = PresentBlocks(column.blocks, absent).block
    if len(np.unique(there)) > 1:
        return None
    member = np.eye(column.blocks.blocks)[[there[0], *column.blocks.of(np.array([absent]))]]
    law, values = np.array([[chance, 1 - chance] for chance in chances]), np.array([1.0, 0.0])
    axis = Shown(name, law, member, values, member, values)
    return Unmixed((axis,), lambda released: 1 - released[0], by_presence=True, moments=moments)
