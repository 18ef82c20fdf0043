"""What a metric space of data offers. HLM15, section 2.1. Nothing outside this folder asks which space it has."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import described
from dproof.columns.column import ColumnSpace
from dproof.columns.values import plain
from dproof.errors import InputError
from dproof.exact import exact

if TYPE_CHECKING:
    from dproof.spaces.interval import Line


COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Space(ColumnSpace, ABC):
    """D inside (U, ρ): a finite set of values with distances, each value known by a code 0, 1, …, size − 1.

    A space of one's own subclasses this and says what is abstract; what a space does not have is None.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def size(self) -> int: ...

    @property
    @abstractmethod
    def diameter(self) -> Fraction:
        """The largest distance between two points. HLM15, equation (1)."""
        ...

    @property
    @abstractmethod
    def separation(self) -> Fraction:
        """The least distance between two distinct points; 0 where there is one point only."""
        ...

    @abstractmethod
    def distance(self, x: Any, y: Any) -> Fraction: ...

    @abstractmethod
    def distances(self, code: int) -> NDArray[Any]:
        """The exact distances from one point to all points, in the order of their codes."""
        ...

    @abstractmethod
    def code(self, value: Any) -> int: ...

    @abstractmethod
    def label(self, code: int) -> Any: ...

    @abstractmethod
    def encode(self, values: Any) -> NDArray[Any]:
        """The codes of a column of values: a sequence, a NumPy array or an Arrow array."""
        ...

    @abstractmethod
    def decode(self, codes: NDArray[Any]) -> list[Any]: ...

    # What only some spaces have -------------------------------------------------------------------------------------

    @property
    def line(self) -> Line | None:
        """The lattice of numbers from which the points are cut; None where they are no numbers."""
        return None

    @property
    def items(self) -> tuple[Hashable, ...] | None:
        """The items, where the points are all sets of these and the code of a set is its bit mask."""
        return None

    @property
    def factors(self) -> Mapping[str, Space] | None:
        """The spaces of which this is the product, the code in mixed radix with the last column the fastest."""
        return None

    @property
    def labels(self) -> tuple[Hashable, ...] | None:
        """The values, where each was declared by itself."""
        return None

    @property
    def absent(self) -> int | None:
        """The code of a missing value, where that is a value of its own; of sets it is the last item, alone."""
        return None

    @property
    def spacing(self) -> Fraction | None:
        """The distance of neighbouring points, where all points lie on a line, equally far apart, in their order."""
        return None

    @property
    def holds_curves(self) -> bool:
        return False

    @property
    def rows(self) -> int:
        """How many people's rows one point holds: 1, but for tables."""
        return 1

    @property
    def row(self) -> Space | None:
        """The space of one row, where points are tables."""
        return None

    def neighbours(self) -> NDArray[np.bool_] | None:
        """Which ordered pairs of points are neighbours, as a matrix; None for all: a point is one person's."""
        return None

    @property
    def around(self) -> Any:
        """Where unbounded noise on the points ends up; None where there is no such place."""
        return self.line

    def is_point(self, value: Any) -> bool:
        """Whether a list is one point and not a column of them: for spaces whose points are lists."""
        return False

    # What a question may ask of a column -----------------------------------------------------------------------------

    @property
    def has_numbers(self) -> bool:
        """Whether the values can be added up."""
        return self.line is not None

    @property
    def has_order(self) -> bool:
        """Whether < has a meaning."""
        return self.has_numbers

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The least and the greatest number."""
        raise InputError("the values of this space are not numbers")

    @property
    def middle(self) -> Fraction:
        """The number about which numbers are centred before they are summed."""
        return sum(self.ends, Fraction(0)) / 2

    @property
    def has_sums(self) -> bool:
        """Whether a sum of values means something: not so for dates, which have means only."""
        return self.has_numbers

    def shown(self, number: Any) -> Any:
        """A number of the space, such as a mean or a quantile, as people are shown it; None for not a number."""
        return number

    def refusal(self, value: Any, *, ordered: bool = False) -> str | None:
        """Why a value cannot be asked about, as the end of a sentence that begins with the column; None if it can.

        Where it is `ordered`, compared by < and the like, it may lie between the values of the column.
        """
        try:
            self.code(value)
        except InputError:
            return f"has no value {str(value)!r}"
        return None

    def selected(self, sign: str, value: Any) -> tuple[int, ...]:
        """The codes of the values that compare so with a value, as ends of runs: from the first up to the second, …"""
        code = self.code(value)  # without an order there are = and <> alone
        return (code, code + 1) if sign == "=" else (0, code, code + 1, self.size)

    # A mode or a list of the most frequent is chosen among the values that are there, or among the items of sets.

    @property
    def candidates(self) -> int:
        """How many there are to choose among."""
        return self.size - (self.absent is not None)

    def candidate(self, place: int) -> Any:
        """What is chosen with a place."""
        return self.label(place)

    def tallies(self, histogram: Mapping[int, int]) -> dict[int, int]:
        """How many rows have each candidate, by its place, from how many have each code."""
        return {code: histogram.get(code, 0) for code in range(self.size) if code != self.absent}

    # What follows from the rest, quicker where a space knows better -------------------------------------------------

    def values_of(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        """The numbers that codes stand for, on a lattice also between and beyond them; 0 for a missing one."""
        raise InputError("the values of this space are not numbers")

    @property
    def is_discrete(self) -> bool:
        """Whether all points are equally far apart."""
        return self.diameter == self.separation

    def largest_sum(self) -> Fraction:
        """max_d Σ_y ρ(d, y): how far all points together lie from the one that is farthest from them."""
        if self.is_discrete:
            return self.diameter * (self.size - 1)
        if self.spacing is not None:
            return self.spacing * Fraction(self.size * (self.size - 1), 2)  # from either end
        return max(exact(plain(self.distances(n).sum())) for n in range(self.size))

    def distances_from(self, value: Any) -> NDArray[Any]:
        """The exact distances from a value, which need not be a point where the space is one of numbers."""
        return self.distances(self.code(value))

    def by_differences(self) -> list[Fraction] | None:
        """ρ of two sets that differ in 0, 1, 2, … items; None where the points are no sets."""
        return None

    def counted(self) -> tuple[int, Any]:
        """What a count asks of a row: how many points one such question takes in, and a function that gives all of
        them as a matrix, points by questions.

        That is whether a row has a given value or, for sets, whether it holds a given item.
        """
        return 1, lambda: np.eye(self.size)


def as_space(value: Any, name: str = "space") -> Space:
    """An argument that must be a space of finitely many values."""
    if isinstance(value, Space) and not isinstance(value, type):
        return value
    raise InputError(
        f"{name} must be a space of finitely many values, such as Categories, Interval or Subsets, "
        f"not {described(value)}"
    )
