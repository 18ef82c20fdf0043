"""Tables of n rows: D^n, whose neighbours differ in one row. HLM15, section 2.1; HLM16, section 2.1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import whole
from dproof.errors import InputError, TooLarge
from dproof.spaces.product import Metric, Tuples, as_cells, as_metric
from dproof.spaces.space import Space, as_space

_LARGEST = 1 << 12  # tables whose neighbours are written out


@dataclass(frozen=True, init=False, eq=False)
class Table(Tuples):
    """D^n: tables of n rows, each a value of one space; two tables are neighbours if they differ in one row.

    A table is a list of n values. `metric` is "l1", the sum of the rows' distances: the Hamming distance where the
    rows have the discrete metric (HLM16, equation (1)); "l2", the root of the sum of their squares; or "sup", the
    largest. HLM16, Definition 1.

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
        object.__setattr__(self, "metric", as_metric(metric))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and (self.space, self.n, self.metric) == (other.space, other.n, other.metric)

    def __hash__(self) -> int:
        return hash((self.space, self.n, self.metric))

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
class Lines:
    """All lists of one point of each line: where unbounded noise on a table or a vector ends up.

    Like a space, but without what needs an end; a code is the list of the codes of its points.

    >>> from fractions import Fraction
    >>> from dproof.spaces.line import Line
    >>> Lines((Line(Fraction(0), Fraction(1)), Line(Fraction(0), Fraction(1, 2)))).decode(np.array([[3, -7]]))
    [(3, -3.5)]
    """

    lines: tuple[Any, ...]
    line: ClassVar[None] = None
    labels: ClassVar[None] = None
    items: ClassVar[None] = None
    absent: ClassVar[None] = None
    holds_curves: ClassVar[bool] = False

    @property
    def code_shape(self) -> tuple[int, ...]:
        return (len(self.lines),)

    def with_missing(self) -> Any:
        raise InputError(
            "a table or a vector is there or it is not; say of each of its values whether it may be missing"
        )

    def code(self, value: Any) -> Any:
        cells = zip(self.lines, as_cells(value, len(self.lines)), strict=True)
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
    half = n // 2  # in halves, for the numbers are long
    return split_code(code // size**half, size, n - half) + split_code(code % size**half, size, half)


def join_codes(codes: Sequence[Any], size: int) -> Any:
    """The code of a table, from those of its rows."""
    if len(codes) == 1:
        return codes[0]
    half = len(codes) // 2
    return join_codes(codes[:-half], size) * size**half + join_codes(codes[-half:], size)


def one_row_apart(size: int, n: int, within: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
    """Which ordered pairs of tables of n rows of a space of this size differ in exactly one row; `within` says which
    pairs of rows are neighbours, where it is not all of them."""
    if size**n > _LARGEST:
        raise TooLarge(f"the neighbours of so many tables are not written out; take at most {_LARGEST} tables")
    pairs = ~np.eye(size, dtype=bool) if within is None else within
    apart, same = np.zeros((1, 1), bool), np.ones((1, 1), bool)
    for _ in range(n):  # one row more: it differs where the others are the same, or it is the same
        apart = np.kron(same, pairs) | np.kron(apart, np.eye(size, dtype=bool))
        same = np.kron(same, np.eye(size, dtype=bool))
    return apart
