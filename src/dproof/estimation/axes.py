"""The independent factors of the law of a row, as a question sees them: how they mix, and how they are un-mixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from dproof.errors import InputError, TooLarge
from dproof.estimation.contingency import Powers
from dproof.estimation.inverse import (
    Array,
    Dense,
    Polynomial,
    Scores,
    Spiked,
    exact,
    explain_singular,
    randomised,
    solve,
    unmixed_powers,
)
from dproof.laws.family import Family

_LARGEST_LAW = 1 << 24


@dataclass(frozen=True, slots=True, eq=False)
class Public:
    """A column without noise: what is counted is what is true."""

    blocks: int

    @property
    def states(self) -> int:
        return self.blocks

    @property
    def nodes(self) -> int:
        return self.blocks

    @property
    def law(self) -> Scores:
        return exact(self.blocks)

    def scores(self, powers: Powers) -> Scores:
        return exact(self.blocks)

    def naive(self, powers: Powers) -> Scores:
        return exact(self.blocks)

    def fold(self, table: Array, axis: int, powers: Powers) -> Array:
        return table


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """A keep-or-other law over blocks of `weights` values each: a block is kept or becomes any block, by its weight.

    `numbers` has for each column of the law the number that a block stands for, where sums are asked for.
    """

    name: str
    weights: Array
    keep: float
    other: float
    numbers: tuple[Array | None, ...] = ()

    @property
    def blocks(self) -> int:
        return len(self.weights)

    @property
    def states(self) -> int:
        return len(self.weights)

    @property
    def nodes(self) -> int:
        return self.blocks

    @property
    def law(self) -> Scores:
        """P(block b becomes block c), in the place of a score of c for b."""
        return Spiked(np.full(self.blocks, self.keep - self.other), self.other * self.weights)

    def scores(self, powers: Powers) -> Scores:
        try:
            return randomised(self.weights, self.keep, self.other, self._values(powers))
        except InputError as error:
            raise InputError(f"{self.name} cannot be debiased: {error}; raw(...) shows the rows as they are") from None

    def naive(self, powers: Powers) -> Scores:
        return Spiked(self._values(powers), np.zeros(self.blocks))

    def fold(self, table: Array, axis: int, powers: Powers) -> Array:
        """Sums of blocks from counts of blocks."""
        return Spiked(self._values(powers), np.zeros(self.blocks)).gather(table, axis)

    def _values(self, powers: Powers) -> Array:
        return monomial(self.numbers, powers, self.blocks)


@dataclass(frozen=True, slots=True, eq=False)
class Mixed:
    """Any finite law: `matrix` has a row for each true code and a column for each sanitised one.

    `block` is the block of each true code, and `same` tells that sanitised codes stand for the same values.
    """

    name: str
    matrix: Array
    block: Array
    blocks: int
    numbers: tuple[Array | None, ...]
    labels: Sequence[Any]
    same: bool

    @property
    def states(self) -> int:
        return int(self.matrix.shape[1])

    @property
    def nodes(self) -> int:
        return len(self.matrix)

    @property
    def law(self) -> Scores:
        return Dense(self.matrix)

    def scores(self, powers: Powers) -> Scores:
        return Dense(solve(self.matrix, self._wanted(powers)))

    def naive(self, powers: Powers) -> Scores | None:
        return Dense(self._wanted(powers)) if self.same else None

    def fold(self, table: Array, axis: int, powers: Powers) -> Array:
        """Sums of blocks from counts of codes."""
        return Dense(self._wanted(powers)).gather(table, axis)

    def inverse(self) -> Scores:
        """The scores of every single true code."""
        return Dense(solve(self.matrix, np.eye(len(self.matrix))))

    def _wanted(self, powers: Powers) -> Array:
        wanted = np.zeros((len(self.block), self.blocks))
        wanted[np.arange(len(self.block)), self.block] = monomial(self.numbers, powers, len(self.block))
        return wanted

    def is_singular(self) -> bool:
        """Whether some indicator of a true code has no score."""
        return bool(np.isnan(solve(self.matrix, np.eye(len(self.matrix)))).any())

    def explain(self) -> str:
        """Why some question on it has no answer."""
        why = explain_singular(self.matrix, self.labels)
        way = "method='likelihood' fits one of the possible answers, raw(...) shows the rows as they are"
        return f"{self.name} cannot be debiased: {why}; {way}"


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """A number that is only summed: x + Z with noise of known moments E Z, E Z², …, or without noise.

    The states are the powers of the number up to `degrees − 1`; `reach` bounds it, all but surely.
    """

    degrees: int
    noise: tuple[float, ...]
    reach: float

    @property
    def blocks(self) -> int:
        return 1

    @property
    def states(self) -> int:
        return self.degrees

    def scores(self, powers: Powers) -> Scores:
        (power,) = powers
        if power > len(self.noise):
            return Polynomial(np.full(power + 1, np.nan), self.degrees, self.reach)
        return Polynomial(unmixed_powers(self.noise, power)[power], self.degrees, self.reach)

    def expected(self) -> Array:
        """E (x + Z)^k for x spread evenly over [−1, 1] and noise with the moments of Laplace's law."""
        spread = self.noise[1]
        noise = [1.0, 0.0, spread, 0.0, 6 * spread**2]
        even = [0.0 if k % 2 else 1 / (k + 1) for k in range(5)]
        return np.array([sum(comb(k, i) * even[k - i] * noise[i] for i in range(k + 1)) for k in range(self.degrees)])

    def naive(self, powers: Powers) -> Scores:
        (power,) = powers
        return Polynomial(np.eye(power + 1)[power], self.degrees, self.reach)


def monomial(numbers: Sequence[Array | None], powers: Powers, length: int) -> Array:
    """The product of powers of numbers, entry by entry."""
    result = np.ones(length)
    for number, power in zip(numbers, powers, strict=True):
        if power:
            assert number is not None
            result = result * number**power
    return result


def whole_law(family: Family, name: str) -> Array:
    """The law as a matrix of floats, where it fits."""
    if family.inputs * family.outputs > _LARGEST_LAW:
        raise TooLarge(f"{name} has a law of {family.inputs} by {family.outputs}, too large to be undone")
    weights = np.array([family.weights(n) for n in range(family.inputs)])
    return np.asarray(weights / family.total, float)
