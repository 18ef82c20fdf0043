"""Vectors on a grid: a fixed number of coordinates, each a number of an interval, under the l1, l2 or sup metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from dproof.arguments import expect, listed
from dproof.errors import InputError
from dproof.spaces.interval import Interval
from dproof.spaces.product import Metric, Tuples, as_metric
from dproof.spaces.space import Space
from dproof.spaces.table import Lines


@dataclass(frozen=True, init=False, eq=False)
class Vectors(Tuples):
    """The grid of vectors whose coordinates are the points of given intervals, the last varying fastest.

    `metric` is "l1", Σ|x_i − y_i|; "l2", √Σ(x_i − y_i)²; or "sup", max|x_i − y_i|. A vector is one person's value. Laws
    that are written out take few points; `additive_noise` takes any number.

    >>> plane = Vectors([Interval(0, 2, 1), Interval(0, 1, "0.5")], metric="l1")
    >>> plane.size, plane.diameter, plane.distance((0, 0), (1, "0.5")), plane.label(4)
    (9, Fraction(3, 1), Fraction(3, 2), (1, 0.5))
    """

    axes: tuple[Interval, ...]
    metric: Metric
    nouns: ClassVar[tuple[str, str]] = ("vector", "coordinates")

    def __init__(self, axes: Sequence[Interval], metric: Metric = "l2") -> None:
        what = "a list of intervals, one for each coordinate"
        given = tuple(expect(axis, Interval, "an axis", "an Interval") for axis in listed(axes, "axes", what))
        if not given:
            raise InputError(f"axes must be {what}, and there is none")
        object.__setattr__(self, "axes", given)
        object.__setattr__(self, "metric", as_metric(metric))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vectors) and (self.axes, self.metric) == (other.axes, other.metric)

    def __hash__(self) -> int:
        return hash((self.axes, self.metric))

    @property
    def parts(self) -> Sequence[Space]:
        return self.axes

    @property
    def around(self) -> Any:
        return Lines(tuple(axis.line for axis in self.axes))
