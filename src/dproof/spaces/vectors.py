"""Vectors on a grid: a fixed number of coordinates, each a number of an interval, under the l1, l2 or sup metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt, lcm, prod
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import COLUMN, choice, described, expect, listed
from dproof.errors import InputError, TooLarge
from dproof.spaces.interval import Interval
from dproof.spaces.space import Space, narrowest

Metric = Literal["l1", "l2", "sup"]
_LARGEST = 1 << 22  # points whose distances from one are written out
_ONE = 1 << 96
_LESS = _ONE - 64  # an irrational distance is told a little too small, by less than one part in 2^89


@dataclass(frozen=True, init=False, eq=False)
class Vectors(Space):
    """The grid of vectors whose coordinates are the points of given intervals, the last varying fastest.

    `metric` is "l1", Σ|x_i − y_i|; "l2", √Σ(x_i − y_i)²; or "sup", max|x_i − y_i|. Distances are exact, but for roots
    that are no fractions: these are rounded down a little, which is on the side of privacy where ε is multiplied by
    them, and so that the triangle inequality holds: the ceiling of √s·(2^96 − 64), over 2^96, is subadditive.

    >>> plane = Vectors([Interval(0, 2, 1), Interval(0, 1, "0.5")], metric="l1")
    >>> plane.size, plane.diameter, plane.distance((0, 0), (1, "0.5")), plane.label(4)
    (9, Fraction(3, 1), Fraction(3, 2), (1, 0.5))
    """

    axes: tuple[Interval, ...]
    metric: Metric

    def __init__(self, axes: Sequence[Interval], metric: Metric = "l2") -> None:
        what = "a list of intervals, one for each coordinate"
        given = tuple(expect(axis, Interval, "an axis", "an Interval") for axis in listed(axes, "axes", what))
        if not given:
            raise InputError(f"axes must be {what}, and there is none")
        choice(metric, get_args(Metric), "metric")
        if prod(axis.size for axis in given) > _LARGEST:
            raise TooLarge(f"a grid of vectors has at most {_LARGEST:,} points; use coarser steps or fewer coordinates")
        object.__setattr__(self, "axes", given)
        object.__setattr__(self, "metric", metric)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vectors) and (self.axes, self.metric) == (other.axes, other.metric)

    def __hash__(self) -> int:
        return hash((self.axes, self.metric))

    @property
    def size(self) -> int:
        return prod(axis.size for axis in self.axes)

    @property
    def diameter(self) -> Fraction:
        return self._norm([axis.diameter for axis in self.axes])

    @property
    def separation(self) -> Fraction:
        return min((axis.separation for axis in self.axes if axis.size > 1), default=Fraction(0))

    @cached_property
    def _unit(self) -> int:
        """All differences of coordinates are whole numbers over this."""
        return lcm(*(axis.step.denominator for axis in self.axes))

    def _norm(self, differences: Sequence[Fraction]) -> Fraction:
        if self.metric == "l1":
            return sum(differences, Fraction(0))
        if self.metric == "sup":
            return max(differences)
        return self._root(sum(int(x * self._unit) ** 2 for x in differences))

    def _root(self, square: int) -> Fraction:
        """√square over the unit."""
        root = isqrt(square)
        return (
            Fraction(root, self._unit)
            if root**2 == square
            else Fraction(isqrt(square * _LESS**2) + 1, _ONE * self._unit)
        )

    def distance(self, x: Any, y: Any) -> Fraction:
        here, there = (self._codes(value) for value in (x, y))
        return self._norm([axis.step * abs(a - b) for axis, a, b in zip(self.axes, here, there, strict=True)])

    def distances(self, code: int) -> NDArray[Any]:
        steps = [int(axis.step * self._unit) for axis in self.axes]
        here = np.unravel_index(int(code), [axis.size for axis in self.axes])
        ways = (
            step * abs(np.arange(axis.size) - at).astype(object)
            for axis, step, at in zip(self.axes, steps, here, strict=True)
        )
        distances = np.zeros(1, object)
        for way in ways:
            if self.metric == "sup":
                distances = np.maximum.outer(distances, way).reshape(-1)
            else:
                distances = np.add.outer(distances, way**2 if self.metric == "l2" else way).reshape(-1)
        if self.metric != "l2":
            return np.asarray(distances * Fraction(1, self._unit))
        squares, places = np.unique(distances, return_inverse=True)
        return np.array([self._root(int(square)) for square in squares], object)[places.reshape(-1)]

    def _codes(self, value: Any) -> tuple[int, ...]:
        if not isinstance(value, (Sequence, np.ndarray)) or isinstance(value, (str, bytes)):
            raise InputError(
                f"a vector must be a list of {len(self.axes)} numbers, and a column a list of vectors; one is "
                f"{described(value)}"
            )
        if len(value) != len(self.axes):
            raise InputError(f"a vector has {len(self.axes)} coordinates here; one has {len(value)}")
        return tuple(axis.code(x) for axis, x in zip(self.axes, value, strict=True))

    def code(self, value: Any) -> int:
        code = 0
        for axis, part in zip(self.axes, self._codes(value), strict=True):
            code = code * axis.size + part
        return code

    def label(self, code: int) -> tuple[Any, ...]:
        parts = np.unravel_index(int(code), [axis.size for axis in self.axes])
        return tuple(axis.label(int(part)) for axis, part in zip(self.axes, parts, strict=True))

    def encode(self, values: Any) -> NDArray[Any]:
        return np.array([self.code(value) for value in listed(values, "values", COLUMN)], narrowest(self.size))

    def decode(self, codes: NDArray[Any]) -> list[tuple[Any, ...]]:
        return [self.label(code) for code in codes]


EXAMPLES = (
    Vectors([Interval(0, 2, 1), Interval(-1, 1, "0.5")]),
    Vectors([Interval(0, 3, 1)] * 2, metric="l1"),
    Vectors([Interval(0, 1, "1/3"), Interval(0, 1, "1/2"), Interval(5, 5, 1)], metric="sup"),
)
