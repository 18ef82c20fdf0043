"""Products of spaces under the l1, l2 or sup metric: what a row, a table and a vector have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from math import isqrt, lcm, prod
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import choice, described, expect, listed, whole
from dproof.errors import ArgumentError, InputError, TooLarge
from dproof.exact import exact, whole_numbers
from dproof.spaces.interval import Interval
from dproof.spaces.space import Endless, Space, as_space

Metric = Literal["l1", "l2", "sup"]
_MOST_LISTED = 1 << 22  # points whose distances from one are written out
_MOST_TABLES = 1 << 12  # tables whose neighbours are written out
_MOST_COMPARED = 1 << 12  # points of a part whose distances are gone through for their common denominator
_ONE = 1 << 96
_WORD = 63  # bits of a code that is a plain number
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

    @abstractmethod
    def cells(self, value: Any) -> Sequence[Any]:
        """The values of the parts of one point."""

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

    def power(self, distance: Fraction) -> Any:
        """What is joined of the distance in one part: the norm is root(join(power(x_1), power(x_2), …))."""
        return int(distance * self._unit) ** 2 if self.metric == "l2" else distance

    def join(self, x: Any, y: Any) -> Any:
        """The sum of the powers of two parts, or the larger one."""
        return max(x, y) if self.metric == "sup" else x + y

    def root(self, joined: Any) -> Fraction:
        """The distance whose power this is."""
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
        if self.size > _MOST_LISTED:
            raise TooLarge(f"the distances to all points are too many to list: there are more than {_MOST_LISTED:,}")
        ways = [part.distances(digit) for part, digit in zip(self.parts, self.digits(code), strict=True)]
        scaled = [whole_numbers(np.asarray(way)[None], "a distance") for way in ways]
        unit = self._unit if self.metric == "l2" else lcm(*(unit for _, unit in scaled))
        distances = np.zeros(1, object)
        for (steps,), own in scaled:
            way = steps.astype(object) * (unit // own)
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


class Tuples(ProductSpace):
    """A product whose points are lists of values, one for each part."""

    nouns: ClassVar[tuple[str, str]]  # for a point and for its parts, in messages

    def cells(self, value: Any) -> Sequence[Any]:
        cells: Sequence[Any] = cells_of(value, len(self.parts), *self.nouns)
        return cells

    def is_point(self, value: Any) -> bool:
        try:
            return self.code(value) >= 0
        except InputError:
            return False


def cells_of(value: Any, count: int, noun: str = "point", parts: str = "parts") -> Any:
    """The values of one point, given as a list of so many."""
    if not isinstance(value, (Sequence, np.ndarray)) or isinstance(value, (str, bytes)):
        raise ArgumentError(
            f"a {noun} must be a list of {count} values, and a column a list of {noun}s; one is {described(value)}"
        )
    if len(value) != count:
        raise ArgumentError(f"a {noun} has {count} {parts} here; one has {len(value)}")
    return value


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


@dataclass(frozen=True, init=False, eq=False)
class Rows(ProductSpace):
    """One person's row: the product of named spaces, with the sum of their metrics; a mapping from name to value.

    Any two rows are neighbours. A table of n people is `Table(row, n)`.

    >>> from dproof.spaces.categories import Categories
    >>> row = Rows({"read": Categories([0, 1]), "gender": Categories(["M", "F"])})
    >>> row.size, row.diameter, row.code({"read": 1, "gender": "M"})
    (4, Fraction(2, 1), 2)
    """

    columns: Mapping[str, Space]
    mechanisms: ClassVar[str] = "joint"
    metric: ClassVar[Metric] = "l1"  # type: ignore[misc]  # of all rows

    def __init__(self, columns: Mapping[str, Space]) -> None:
        if not isinstance(columns, Mapping) or not columns:
            raise ArgumentError("columns must be a mapping from the name of each column, one at least, to its space")
        spaces = {name: as_space(space, f"the space of column {str(name)[:40]!r}") for name, space in columns.items()}
        object.__setattr__(self, "columns", spaces)

    @property
    def parts(self) -> Sequence[Space]:
        return tuple(self.columns.values())

    @property
    def factors(self) -> Mapping[str, Space]:
        return self.columns

    def cells(self, value: Mapping[str, Any]) -> Sequence[Any]:
        if not isinstance(value, Mapping):
            raise ArgumentError("a row must be a mapping from the names of its columns to their values")
        for name in self.columns:
            if name not in value:
                raise ArgumentError(f"a row has no value for the column {name!r}")
        return [value[name] for name in self.columns]

    def joined(self, cells: Sequence[Any]) -> dict[str, Any]:
        return dict(zip(self.columns, cells, strict=True))


@dataclass(frozen=True, init=False)
class Table(Tuples):
    """D^n: tables of n rows, each a value of one space; two tables are neighbours if they differ in one row.

    A table is a list of n values. `metric` is "l1", the sum of the rows' distances: the Hamming distance where the
    rows have the discrete metric (HLM16, equation (1)); "l2", the root of the sum of their squares; or "sup", the
    largest. HLM16, Definition 1.

    >>> from dproof.spaces.categories import Categories
    >>> table = Table(Categories([0, 1, 2]), 2)
    >>> table.size, table.diameter, table.distance([0, 1], [2, 1]), int(table.neighbours().sum())
    (9, Fraction(2, 1), Fraction(1, 1), 36)
    """

    space: Space
    n: int
    metric: Metric
    nouns: ClassVar[tuple[str, str]] = ("table", "rows")

    def __init__(self, space: Space, n: int, metric: Metric = "l1") -> None:
        object.__setattr__(self, "space", as_space(space))
        object.__setattr__(self, "n", whole(n, "n, the number of rows,", 1))
        object.__setattr__(self, "metric", choice(metric, get_args(Metric), "metric"))

    @property
    def parts(self) -> Sequence[Space]:
        return (self.space,) * self.n

    @property
    def size(self) -> int:
        return int(self.space.size**self.n)

    def code(self, value: Any) -> int:
        return int(join_codes([self.space.code(cell) for cell in self.cells(value)], self.space.size))

    def digits(self, code: int) -> list[int]:
        return split_code(int(code), self.space.size, self.n)

    @property
    def rows(self) -> int:
        return self.n * self.space.rows

    @property
    def row(self) -> Space:
        return self.space

    @property
    def around(self) -> Any:
        line = self.space.around
        return None if line is None else Lines((line,) * self.n)

    def neighbours(self) -> NDArray[np.bool_]:
        """Which ordered pairs of tables differ in exactly one row, as a matrix. HLM16, Definition 1.

        A table has n·m neighbours, so there are n·m·(m+1)^n ordered pairs.
        """
        return one_row_apart(self.space.size, self.n, self.space.neighbours())


@dataclass(frozen=True, slots=True)
class Lines(Endless):
    """All lists of one point of each line: where unbounded noise on a table or a vector ends up.

    A code is the list of the codes of its points.

    >>> from fractions import Fraction
    >>> from dproof.spaces.interval import Line
    >>> Lines((Line(Fraction(0), Fraction(1)), Line(Fraction(0), Fraction(1, 2)))).decode(np.array([[3, -7]]))
    [(3, -3.5)]
    """

    lines: tuple[Any, ...]

    @property
    def code_shape(self) -> tuple[int, ...]:
        return (len(self.lines),)

    def with_missing(self) -> Any:
        raise ArgumentError(
            "a table or a vector is there or it is not; say of each of its values whether it may be missing"
        )

    def code(self, value: Any) -> Any:
        cells = zip(self.lines, cells_of(value, len(self.lines)), strict=True)
        return tuple(line.code(cell) for line, cell in cells)

    def label(self, code: Any) -> tuple[Any, ...]:
        return tuple(line.label(part) for line, part in zip(self.lines, code, strict=True))

    def encode(self, values: Any) -> NDArray[np.int64]:
        return np.array([self.code(value) for value in values], np.int64).reshape(-1, len(self.lines))

    def decode(self, codes: NDArray[Any]) -> list[tuple[Any, ...]]:
        columns = [line.decode(codes[:, n]) for n, line in enumerate(self.lines)]
        return list(zip(*columns, strict=True))


def split_code(code: Any, size: int, n: int) -> list[Any]:
    """The codes of n rows of a space of this size, from the code of the table: a number, or an array of them.

    >>> split_code(5, 3, 2), join_codes([1, 2], 3)
    ([1, 2], 5)
    """
    if n == 1:
        return [code]
    if n * size.bit_length() < _WORD:
        digits = []
        for _ in range(n):
            digits.append(code % size)
            code = code // size
        return digits[::-1]
    half = n // 2  # in halves, for the numbers are long
    step = size**half
    first = code // step
    return split_code(first, size, n - half) + split_code(code - first * step, size, half)  # one long division


def join_codes(codes: Sequence[Any], size: int) -> Any:
    """The code of a table, from those of its rows."""
    if len(codes) * size.bit_length() < _WORD:
        return reduce(lambda code, digit: code * size + digit, codes)
    if len(codes) == 1:
        return codes[0]
    half = len(codes) // 2
    return join_codes(codes[:-half], size) * size**half + join_codes(codes[-half:], size)


def one_row_apart(size: int, n: int, within: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
    """Which ordered pairs of tables of n rows of a space of this size differ in exactly one row; `within` says which
    pairs of rows are neighbours, where it is not all of them."""
    if size**n > _MOST_TABLES:
        raise TooLarge(f"the neighbours of so many tables are not written out; take at most {_MOST_TABLES} tables")
    pairs = ~np.eye(size, dtype=bool) if within is None else within
    apart, same = np.zeros((1, 1), bool), np.ones((1, 1), bool)
    for _ in range(n):  # one row more: it differs where the others are the same, or it is the same
        apart = np.kron(same, pairs) | np.kron(apart, np.eye(size, dtype=bool))
        same = np.kron(same, np.eye(size, dtype=bool))
    return apart


@dataclass(frozen=True, init=False)
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
            raise ArgumentError(f"axes must be {what}, and there is none")
        object.__setattr__(self, "axes", given)
        object.__setattr__(self, "metric", choice(metric, get_args(Metric), "metric"))

    @property
    def parts(self) -> Sequence[Space]:
        return self.axes

    @property
    def around(self) -> Any:
        return Lines(tuple(axis.line for axis in self.axes))
