"""How counts of blocks of values are undone: by which values each block holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from dproof.errors import TooLarge
from dproof.laws.scores import Array, Powers, Transform, refuse_flat

_MOST_PRODUCTS = 1 << 30  # of scores, which are written out so many at a time
_WRITTEN_OUT = 1 << 22
_TRANSFORMED = 1 << 15  # numbers whose transforms are computed together


class Incidence(Protocol):
    """Which of the first `size` residues lie in which of `states` blocks."""

    @property
    def size(self) -> int: ...

    @property
    def states(self) -> int: ...

    def count(self, counts: Array) -> Array:
        """How many rows have a block that holds each value, from how many have each block, along the last axis."""
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
class Held:
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
            counted = Folded(self.block_of, np.ones(len(self.block_of)), len(self.own)).gather(counted, -1)
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
            return Products(self, other)
        own = self.own * other.own + self.own * other.flat + self.flat * other.own
        return Held(self.incidence, self.block_of, own, self.flat * other.flat)

    def largest(self) -> Array:
        many = np.bincount(self.block_of, minlength=len(self.own))
        largest = np.maximum(np.abs(self.own * many + self.flat), np.abs(self.flat))
        if self.rest is not None:  # where the block holds none of the other values, or all of them
            others = np.arange(len(largest)) != self.rest
            none = 1 - self.flat[others].sum()
            largest[self.rest] = max(abs(none), abs(none - (self.own * many)[others].sum()))
        return np.asarray(largest)


@dataclass(frozen=True, slots=True, eq=False)
class Products:
    """The products of two scores of the same state, of groups of several values: written out some groups at a time."""

    one: Held
    other: Held

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
class Folded:
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
class Blocked:
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

    def scores(self, powers: Powers) -> Held:
        if self.hit == self.miss:
            refuse_flat(self.name)
        sizes = np.bincount(self.block_of, minlength=self.blocks)
        own = self._values(powers) / (self.hit - self.miss)
        # The variance of a group goes with its size: more than half of the values are counted by the others.
        most = 2 * sizes.max() >= sizes.sum() and not sum(powers)
        rest = int(sizes.argmax()) if most and sizes.max() > 1 else None
        return Held(self.incidence, self.block_of, own, -self.miss * sizes * own, rest)

    def naive(self, powers: Powers) -> Held:
        """A row counts for every value that its block holds."""
        return Held(self.incidence, self.block_of, self._values(powers), np.zeros(self.blocks))

    def wanted(self, powers: Powers) -> Folded:
        return Folded(self.block_of, self._values(powers)[self.block_of], self.blocks)

    def inverse(self) -> Held:
        """The scores of every single value."""
        one = np.full(self.incidence.size, 1 / (self.hit - self.miss))
        return Held(self.incidence, np.arange(self.incidence.size), one, -self.miss * one)

    def evenly(self) -> Array:
        return self.law.gather(np.full(self.incidence.size, 1 / self.incidence.size), 0)
