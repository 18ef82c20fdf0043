"""Noise on vectors of numbers: a day of readings, whatever the number of points of the grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod, sqrt
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dproof import coins as own_coins
from dproof.arguments import COLUMN, choice, expect, listed
from dproof.coins import Coins
from dproof.curves.expansion import Integers, Norm, Split
from dproof.curves.vector_noise import VectorNoise, vector_noise
from dproof.errors import InputError
from dproof.laws.divergence import Odds, Worst
from dproof.laws.law import Law
from dproof.mechanisms.mechanism import Mechanism
from dproof.privacy import Privacy, Promise
from dproof.spaces.products import Vectors

_SPLITS: dict[Split, tuple[Norm, str]] = {
    "laplace": ("l1", "HLM15, Example 5, by the l1 norm"),
    "gaussian": ("l2", "Balle and Wang 2018, by the l2 norm"),
    "k_norm": ("linf", "Hardt and Talwar 2010, by the sup norm"),
}
_MOST_TERMS = 512  # that certificates have
_ROUNDED = 1 + Fraction(1, 1 << 40)  # for the errors of floats


@dataclass(frozen=True, slots=True, eq=False)
class VectorLaw(Law):
    """The vectors of a grid plus noise on Zᵏ, in steps of each coordinate.

    Two vectors lie no farther apart than opposite corners: `sides` are the steps between the ends of each coordinate.
    """

    kind: ClassVar[str] = "vectors"

    sides: tuple[int, ...]
    noise: VectorNoise

    @property
    def inputs(self) -> int:
        return prod(side + 1 for side in self.sides)

    @property
    def outputs(self) -> None:
        return None

    total = outputs

    def weights(self, source: int) -> NDArray[Any]:
        raise InputError("noise on vectors has no end, so no table of weights")

    def probability(self, source: int, target: Any) -> Fraction:
        """P(Y_source = target), exactly, where every coordinate has its own noise and that is written out."""
        chance: Any = getattr(self.noise.law, "probability", None)
        if chance is None:
            raise InputError("single probabilities are known for Laplace noise; this is other noise")
        shifts = np.asarray(target, object) - self._digits([source])[0]
        return prod((chance(int(shift)) for shift in shifts), start=Fraction(1))

    def worst(self, odds: Fraction) -> Worst:
        return Worst(self.noise.worst(odds), 0, self.inputs - 1)

    def odds(self, delta: Fraction) -> Odds:
        return Odds(self.noise.odds(delta), 0, self.inputs - 1)

    def error(self, source: int, space: Any) -> Fraction:
        return self.maximal_error(space)

    def maximal_error(self, space: Any) -> Fraction:
        """At least the expected error: exact for Laplace noise in l1, else E|X| ≤ √E X², E‖X‖_∞ ≤ E‖X‖₂ ≤ √E‖X‖₂²."""
        law: Any = self.noise.law
        if space.metric == "l1" and self.noise.split == "laplace":
            return Fraction(law.moments[1] * sum(axis.step for axis in space.axes))
        steps, deviation = [float(axis.step) for axis in space.axes], sqrt(self.noise.variance)
        if space.metric == "l1":
            return Fraction(deviation * sum(steps)) * _ROUNDED
        error = deviation * sqrt(sum(step * step for step in steps))
        if space.metric == "sup" and self.noise.split == "k_norm":  # |X_j| ≤ sT, and E X_j² ≥ E (sT)²/3
            error = min(error, sqrt(3) * deviation * max(steps))
        return Fraction(error) * _ROUNDED

    def _digits(self, codes: Any) -> NDArray[Any]:
        """The codes of the coordinates, one row for each vector."""
        rest, digits = np.array(codes, object), []
        for side in self.sides[::-1]:
            digits.append(rest % (side + 1))
            rest = rest // (side + 1)
        return np.stack(digits[::-1], axis=1)

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        return self.plus_noise(self._digits(codes).astype(np.int64), coins)

    def plus_noise(self, digits: Integers, coins: Coins) -> Integers:
        return np.asarray(digits + self.noise.draw(len(digits), coins))

    def to_json(self) -> Mapping[str, Any]:
        norm, _ = _SPLITS[self.noise.split]
        return {"kind": self.kind, "norm": norm, "sides": list(self.sides), "noise": dict(self.noise.law.to_json())}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class VectorMechanism(Mechanism):
    """A mechanism on vectors that encodes them coordinate by coordinate."""

    def draw(self, values: Any) -> Any:
        """The noisy vectors, one for each vector; one vector in, one vector out. An array gives an array."""
        space: Any = self.inputs
        if not isinstance(values, np.ndarray) and space.is_point(values):
            return self.draw([values])[0]
        array = isinstance(values, np.ndarray)
        single = array and values.ndim == 1 and values.dtype != object
        rows = [values] if single else listed(values, "values", COLUMN)
        columns = zip(*(space.cells(row) for row in rows), strict=True)
        codes = [
            axis.encode(np.array(column) if array else column)
            for axis, column in zip(space.axes, columns, strict=False)
        ]
        digits = np.stack(codes, axis=1).astype(np.int64) if codes else np.zeros((0, len(space.axes)), np.int64)
        law: Any = self.family
        drawn = self.outputs.decode(law.plus_noise(digits, own_coins.current()))
        return np.array(drawn[0] if single else drawn) if array else drawn


def additive_noise(
    vectors: Vectors, privacy: Promise, *, noise: Literal["auto", "laplace", "gaussian", "k_norm"] = "auto"
) -> Mechanism:
    """A vector plus noise on its grid, of whatever number of points: a day of 96 readings, as one person's value.

    Laplace noise on each coordinate by the l1 diameter (any δ), Gaussian noise by the l2 diameter (δ > 0), K-norm noise
    by the sup diameter (any δ), all in steps of the coordinate; "auto" takes the one with the least `error`, an upper
    bound of the expected error in the metric of the vectors. Outputs are not clamped.

    Why it is private: two vectors differ by at most the side of the grid in each coordinate, and noise on whole numbers
    hides a move of that size (`vector_noise`).

    >>> from dproof import Interval
    >>> day = Vectors([Interval(0, 5, "0.01")] * 96, metric="sup")
    >>> m = additive_noise(day, Privacy(2, "1e-6"))
    >>> m.name, m.delta(2) <= 1e-6, len(m.draw([1.25] * 96))
    ('K-norm noise on 96 coordinates', True, 96)
    """
    expect(vectors, Vectors, "vectors", "a grid of Vectors")
    choice(noise, ("auto", *_SPLITS), "noise")
    promise, sides = Privacy.of(privacy), tuple(axis.size - 1 for axis in vectors.axes)
    if not any(sides):
        raise InputError("the grid has one vector, which has nothing to hide")
    if len(sides) > _MOST_TERMS:
        raise InputError(f"noise on vectors takes up to {_MOST_TERMS} coordinates; here are {len(sides)}")
    sizes = {"laplace": sum(sides), "gaussian": sum(side * side for side in sides), "k_norm": max(sides)}
    made, refused = [], []
    for split in _SPLITS:
        try:
            if noise in ("auto", split):
                made.append(VectorLaw(sides, vector_noise(split, sizes[split], len(sides), promise)))
        except InputError as why:  # no δ, or no ε: then another noise must do
            refused.append(why)
    if not made:
        raise refused[0]
    best = min(made, key=lambda law: law.maximal_error(vectors))
    name = f"{best.noise.name} on {len(sides)} coordinates"
    return VectorMechanism(name, vectors, vectors.around, best, _SPLITS[best.noise.split][1])
