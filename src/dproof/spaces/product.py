"""Products of spaces under the l1, l2 or sup metric: what a row, a table and a vector have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, reduce
from math import isqrt, lcm, prod
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import COLUMN, choice, described, listed
from dproof.errors import InputError, TooLarge
from dproof.exact import exact, whole_numbers
from dproof.spaces.space import Space, narrowest

Metric = Literal["l1", "l2", "sup"]
_LARGEST = 1 << 22  # points whose distances from one are written out
_MOST_COMPARED = 1 << 12  # points of a part whose distances are gone through for their common denominator
_ONE = 1 << 96
_LESS = _ONE - 64  # an irrational distance is told a little too small, by less than one part in 2^89


class ProductSpace(Space):
    """D_1 × … × D_n with the l1, l2 or sup norm of the distances in each part.

    The code of a point is the codes of its parts in mixed radix, the last part the fastest. Distances are exact, but
    for roots that are no fractions: these are rounded down a little, which is on the side of privacy where ε is
    multiplied by them, and so that the triangle inequality holds: the ceiling of √s·(2^96 − 64), over 2^96, is
    subadditive.
    """

    metric: Metric

    @property
    @abstractmethod
    def parts(self) -> Sequence[Space]:
        """The spaces of which this is the product."""
        ...

    @abstractmethod
    def cells(self, value: Any) -> Sequence[Any]:
        """The values of the parts of one point."""
        ...

    def joined(self, cells: Sequence[Any]) -> Any:
        """The point with these values of its parts."""
        return tuple(cells)

    @property
    def size(self) -> int:
        return prod(part.size for part in self.parts)

    @property
    def diameter(self) -> Fraction:
        return self.norm([part.diameter for part in self.parts])

    @property
    def separation(self) -> Fraction:
        return min((part.separation for part in self.parts if part.size > 1), default=Fraction(0))

    def largest_sum(self) -> Fraction:
        if self.metric != "l1":
            return super().largest_sum()
        return sum((part.largest_sum() * (self.size // part.size) for part in self.parts), Fraction(0))

    @cached_property
    def _unit(self) -> int:
        """All distances in a part are whole numbers over this."""
        return lcm(*map(_denominator, set(self.parts)))

    def norm(self, distances: Sequence[Fraction]) -> Fraction:
        """The distance of two points that lie this far apart in each part."""
        return self.root(reduce(self.join, map(self.power, distances)))

    # The norm of distances is root(join(power(x_1), power(x_2), …)).

    def power(self, distance: Fraction) -> Any:
        return int(distance * self._unit) ** 2 if self.metric == "l2" else distance

    def join(self, x: Any, y: Any) -> Any:
        return max(x, y) if self.metric == "sup" else x + y

    def root(self, joined: Any) -> Fraction:
        if self.metric != "l2":
            return Fraction(joined)
        square = int(joined)
        root = isqrt(square)
        if root**2 == square:
            return Fraction(root, self._unit)
        return Fraction(isqrt(square * _LESS**2) + 1, _ONE * self._unit)

    def distance(self, x: Any, y: Any) -> Fraction:
        cells = zip(self.parts, self.cells(x), self.cells(y), strict=True)
        return self.norm([part.distance(a, b) for part, a, b in cells])

    def distances(self, code: int) -> NDArray[Any]:
        if self.size > _LARGEST:
            raise TooLarge(f"the distances to all points are too many to list: there are more than {_LARGEST:,}")
        ways = [part.distances(digit) for part, digit in zip(self.parts, self.digits(code), strict=True)]
        scaled = [whole_numbers([way], "a distance") for way in ways]
        unit = self._unit if self.metric == "l2" else lcm(*(unit for _, unit in scaled))
        distances = np.zeros(1, object)
        for (whole,), own in scaled:
            way = whole.astype(object) * (unit // own)
            join = np.maximum if self.metric == "sup" else np.add
            distances = join.outer(distances, way**2 if self.metric == "l2" else way).reshape(-1)
        if self.metric == "l2":
            squares, places = np.unique(distances, return_inverse=True)
            return np.array([self.root(square) for square in squares], object)[places.reshape(-1)]
        return distances if unit == 1 else np.asarray(distances * Fraction(1, unit))

    def code(self, value: Any) -> int:
        code = 0
        for part, cell in zip(self.parts, self.cells(value), strict=True):
            code = code * part.size + part.code(cell)
        return code

    def digits(self, code: int) -> list[int]:
        """The codes of the parts of a point."""
        digits = []
        for part in reversed(self.parts):
            code, digit = divmod(int(code), part.size)
            digits.append(digit)
        return digits[::-1]

    def label(self, code: int) -> Any:
        return self.joined([part.label(digit) for part, digit in zip(self.parts, self.digits(code), strict=True)])

    def encode(self, values: Any) -> NDArray[Any]:
        return np.array([self.code(value) for value in listed(values, "values", COLUMN)], narrowest(self.size))

    def decode(self, codes: NDArray[Any]) -> list[Any]:
        return [self.label(code) for code in codes]


class Tuples(ProductSpace):
    """A product whose points are lists of values, one for each part."""

    nouns: ClassVar[tuple[str, str]]  # for a point and for its parts, in messages

    def cells(self, value: Any) -> Sequence[Any]:
        cells: Sequence[Any] = as_cells(value, len(self.parts), *self.nouns)
        return cells

    def is_point(self, value: Any) -> bool:
        try:
            return self.code(value) >= 0
        except InputError:
            return False


def as_cells(value: Any, count: int, noun: str = "point", parts: str = "parts") -> Any:
    """The values of one point, given as a list of so many."""
    if not isinstance(value, (Sequence, np.ndarray)) or isinstance(value, (str, bytes)):
        raise InputError(
            f"a {noun} must be a list of {count} values, and a column a list of {noun}s; one is {described(value)}"
        )
    if len(value) != count:
        raise InputError(f"a {noun} has {count} {parts} here; one has {len(value)}")
    return value


def as_metric(metric: Any) -> Metric:
    """An argument that must name a metric of products."""
    return choice(metric, get_args(Metric), "metric")  # type: ignore[return-value]  # one of them


def _denominator(space: Space) -> int:
    """A common denominator of all distances in a space."""
    differences = space.by_differences()
    if differences is not None:
        return lcm(*(distance.denominator for distance in differences))
    if space.spacing is not None or space.is_discrete:
        return (space.spacing or space.diameter).denominator
    if space.size > _MOST_COMPARED:
        raise TooLarge(f"the l2 metric looks at all distances of a part, which may have {_MOST_COMPARED:,} points")
    return lcm(*(exact(x).denominator for code in range(space.size) for x in space.distances(code)))
