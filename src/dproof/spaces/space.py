"""What a metric space of data offers. HLM15, section 2.1. Nothing outside this folder asks which space it has.

How values of a space are read from a table and stored is not here: see `dproof.columns`.

A missing value, from a table to an answer:

    text      null, NaN or an empty text (`columns.values.is_missing`); of flags, all of them blank; of a number or a
              date also what is none
    code      `MISSING`, which is no value of any space; where the plan says what stands for it, the code of that
              (`Column.missing`), which with missing = "category" is `absent`, a value of its own
    law       `absent` is one more input and output, with the last code (`OptionalSpace`; `OptionalLaw` is put around
              the law of the values that are `present`). Categories have it among their values, so any law will do. Of
              sets it is the last item, alone: a law may show that beside others, and no estimate loses by it. On a line
              without ends, where every other code is a number, it is `ABSENT`
    stored    null; of a set the item `MISSING_ITEM`
    question  NULL, be it `MISSING` (`Schema.nullable`) or `absent`: IS NULL holds of both, no comparison of either
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import COLUMN, described, listed
from dproof.errors import ArgumentError, InputError, did_you_mean
from dproof.exact import exact

if TYPE_CHECKING:
    from dproof.plans.reader import Reader
    from dproof.spaces.interval import Line


MISSING = -1  # the code of a value that is not there
ABSENT = -(1 << 63)  # the code of a missing value beside points without an end: none that is stored has it
COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Points:
    """What every space says of its points, be they finitely many or without an end; what one does not have is None."""

    __slots__ = ()

    holds_curves: ClassVar[bool] = False  # whether the points are curves, which have no list of codes
    size: Any = None  # the number of points; None where they have no end
    present: Any = None  # the space of the values that are there, where a law for a missing one is put around theirs

    @property
    def line(self) -> Line | None:
        """The lattice of numbers from which the points are cut; None where they are no numbers."""
        return None

    @property
    def items(self) -> tuple[Hashable, ...] | None:
        """The items, where the points are all sets of these and the code of a set is its bit mask."""
        return None

    @property
    def labels(self) -> tuple[Hashable, ...] | None:
        """The values, where each was declared by itself."""
        return None

    @property
    def code_shape(self) -> tuple[int, ...]:
        """The shape of one code: a whole number, but for curves, tables and vectors without ends."""
        return ()

    @property
    def absent(self) -> int | None:
        """The code of a missing value, where that is a value of its own; of sets it is the last item, alone."""
        return None

    @property
    def without_missing(self) -> Any:
        """The space of what a table holds, where the plan added a missing value to it; else the space itself."""
        return self.present or self

    @property
    def declared(self) -> int:
        """How many values, or items of sets, were declared one by one."""
        return len(self.without_missing.labels or self.without_missing.items or ())

    def fewer(self, count: int) -> Any:
        """The space of the first `count` of its declared values; None where none were declared one by one."""
        return None


class Space(Points, ABC):
    """D inside (U, ρ): a finite set of values with distances, each value known by a code 0, 1, …, size − 1.

    A space of one's own subclasses this and says what is abstract; what a space does not have is None.
    """

    __slots__ = ()

    mechanisms: ClassVar[str] = "categories"  # whose mechanisms a plan can name for it
    is_counted: ClassVar[bool] = True  # whether single values are worth counting

    @classmethod
    def from_plan(cls, table: Reader) -> Self:
        """The space that a column's table in a plan declares."""
        raise ArgumentError("this space cannot be declared in a plan: it has no from_plan")

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of points."""

    @property
    @abstractmethod
    def diameter(self) -> Fraction:
        """The largest distance between two points. HLM15, equation (1)."""

    @property
    @abstractmethod
    def separation(self) -> Fraction:
        """The least distance between two distinct points; 0 where there is one point only."""

    def distance(self, x: Any, y: Any) -> Fraction:
        """ρ(x, y) of two values, exactly."""
        return exact(plain(self.distances(self.code(x))[self.code(y)]))

    @abstractmethod
    def distances(self, code: int) -> NDArray[Any]:
        """The exact distances from one point to all points, in the order of their codes."""

    @abstractmethod
    def code(self, value: Any) -> int:
        """The code of a value; one that is no point is refused without being named."""

    @abstractmethod
    def label(self, code: int) -> Any:
        """The value of a code."""

    def encode(self, values: Any) -> NDArray[Any]:
        """The codes of a column of values: a sequence, a NumPy array or an Arrow array; one that is no point is refused
        without being named."""
        if is_arrow(values):
            codes = self._arrow_codes(values)
            if not len(codes) or codes.min() >= 0:
                return codes.astype(narrowest(self.size), copy=False)
            values = values.to_pylist()
        return np.array([self.code(value) for value in listed(values, "values", COLUMN)], narrowest(self.size))

    def _arrow_codes(self, values: Any, **treatment: Any) -> NDArray[Any]:
        """The codes of an Arrow array, read as a column is; `MISSING` for a value that is none of the space."""
        from dproof.columns.codec import encode_arrow

        return encode_arrow(self, values, **treatment)

    def decode(self, codes: NDArray[Any]) -> list[Any]:
        """The values of codes."""
        return [self.label(int(code)) for code in codes]

    # What only some spaces have -------------------------------------------------------------------------------------

    @property
    def factors(self) -> Mapping[str, Space] | None:
        """The spaces of which this is the product, the code in mixed radix with the last column the fastest."""
        return None

    def with_missing(self) -> Any:
        """The space with one more value, a missing one, that has the last code and is stored as null."""
        return OptionalSpace(self)

    @property
    def spacing(self) -> Fraction | None:
        """The distance of neighbouring points, where all points lie on a line, equally far apart, in their order."""
        return None

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
        raise ArgumentError("the values of this space are not numbers")

    @property
    def middle(self) -> Fraction:
        """The number about which numbers are centred before they are summed."""
        return sum(self.ends, Fraction(0)) / 2

    @property
    def has_sums(self) -> bool:
        """Whether a sum of values means something: not so for dates, which have means only."""
        return self.has_numbers

    @property
    def unit(self) -> str | None:
        """What numbers that have no sum are counted in, such as days; None for others."""
        return None

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

    def date_part(self, part: str) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """The first codes of runs of days with one year, quarter, month or weekday (0 is Sunday), or of minutes in one
        hour, and which; None where the values are no dates, or no times of day."""
        return None

    # A mode or a list of the most frequent is chosen among the values that are there, or among the items of sets.

    @property
    def candidates(self) -> int:
        """How many there are to choose among."""
        return self.size - (self.absent is not None) if self.items is None else self.declared

    def candidate(self, place: int) -> Any:
        """What is chosen with a place."""
        return self.label(place) if self.items is None else self.items[place]

    def tallies(self, histogram: Mapping[int, int]) -> dict[int, int]:
        """How many rows have each candidate, by its place, from how many have each code."""
        if self.items is None:
            return {code: histogram.get(code, 0) for code in range(self.size) if code != self.absent}
        masks = histogram.items()
        return {bit: sum(count for mask, count in masks if mask >> bit & 1) for bit in range(self.candidates)}

    # What follows from the rest, quicker where a space knows better -------------------------------------------------

    def values_of(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        """The numbers that codes stand for, on a lattice also between and beyond them; 0 for a missing one."""
        raise ArgumentError("the values of this space are not numbers")

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
    raise ArgumentError(
        f"{name} must be a space of finitely many values, such as Categories, Interval or Subsets, "
        f"not {described(value)}"
    )


def narrowest(size: int) -> np.dtype[Any]:
    """The narrowest unsigned dtype for the codes of a space."""
    return np.min_scalar_type(max(size - 1, 0))


def is_arrow(values: Any) -> bool:
    """Whether a column is an Arrow array, told without loading Arrow."""
    return type(values).__module__.partition(".")[0] == "pyarrow"


# Values that a user declares -----------------------------------------------------------------------------------------


def undeclared(value: Any, labels: Sequence[Any]) -> str | None:
    """Why a value is none of these labels, as the end of a sentence; None where it is one."""
    if any(value == label and isinstance(value, bool) == isinstance(label, bool) for label in labels):
        return None
    shown = repr(value) if isinstance(value, str) else str(value)
    return f"has no value {shown}{did_you_mean(value, [label for label in labels if label is not None])}"


def numbered(values: Iterable[Any], what: str) -> tuple[tuple[Hashable, ...], dict[Hashable, int]]:
    """The labels, each different from the others, and the place of each.

    >>> numbered(["yes", "no"], "category")
    (('yes', 'no'), {'yes': 0, 'no': 1})
    """
    labels = tuple(map(plain, listed(values, "values", f"a list with at least one {what}")))
    if not labels:
        raise ArgumentError(f"values must be a list with at least one {what}")
    try:
        places = {label: place for place, label in enumerate(labels)}
    except TypeError:  # a list, say, cannot be looked up
        raise ArgumentError(f"every {what} must be a text, a number, a boolean or None") from None
    if any(label != label for label in labels):
        raise ArgumentError(f"NaN is not equal to itself, so it cannot be a {what}; declare None for what is missing")
    if len(places) < len(labels):
        twice = next(label for place, label in enumerate(labels) if places[label] != place)
        raise ArgumentError(f"the {what} {twice!r} is listed twice; every {what} needs a name of its own")
    return labels, places


def plain(value: Any) -> Any:
    """A NumPy scalar as the Python value it stands for."""
    return value.item() if isinstance(value, np.generic) else value


# Codes in blocks ------------------------------------------------------------------------------------------------------

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Places = Integers | int  # of each row, or of all rows


def along(values: NDArray[Any], place: int, axes: int) -> NDArray[Any]:
    """Values along one of several axes."""
    return values.reshape([-1 if n == place else 1 for n in range(axes)])


@dataclass(frozen=True, eq=False)  # without slots: what follows from it is worked out once
class Partition:
    """The codes of a column in blocks: the groups of a key with their labels, or codes that no question tells apart.

    The codes from `first[n]` up to the next first, or to the stop, lie in `block[n]`; with `bits` those that agree with
    `first[n]` in these. A column that nobody declared has a bit for each condition on it: its code is the pattern of
    those that hold. There may be `empty` blocks more, the last ones, without a code.
    """

    column: str
    first: NDArray[np.int64]
    block: NDArray[np.int64]
    stop: int
    bits: tuple[int, ...] | None = None
    labels: tuple[Any, ...] = ()
    empty: int = 0

    @cached_property
    def last(self) -> NDArray[np.int64]:
        return self.first if self.bits is not None else np.append(self.first[1:], self.stop) - 1

    @cached_property
    def sizes(self) -> NDArray[Any]:
        """How many codes each block has."""
        if self.bits is not None:
            return np.full(len(self.first), self.stop / (1 << len(self.bits)))
        return np.append(np.bincount(self.block, self.last - self.first + 1.0), np.zeros(self.empty))

    def sets(self, absent: int) -> NDArray[Any]:
        """How many codes of sets are read as a value of each block: all with the last item, `absent`, as that alone.

        >>> Partition("x", np.array([0, 1]), np.array([0, 1]), 8, bits=(0,)).sets(4)  # no two items, or missing
        array([6., 2.])
        """
        if self.bits is None:
            found = self.present(absent).sizes
        elif 1 << self.bits[-1] == absent:
            found = np.where(self.first & absent, 0.0, self.sizes)
        else:
            found = self.sizes / 2
        found[self.of(np.array([absent]))] += absent
        return found

    @cached_property
    def blocks(self) -> int:
        return len(self.sizes)

    @property
    def samples(self) -> NDArray[np.int64]:
        """One code of each block, the least."""
        return self.first[np.unique(self.block, return_index=True)[1]]

    def present(self, absent: int) -> Partition:
        """The blocks without the last code, that of a missing value; they keep their numbers.

        >>> blocks = Partition("x", np.array([0, 2, 4]), np.array([0, 1, 2]), 5).present(4)
        >>> blocks.last, blocks.blocks
        (array([1, 3]), 3)
        """
        kept = self.first < absent
        block = self.block[kept]
        return replace(self, first=self.first[kept], block=block, stop=absent, empty=self.blocks - int(block.max()) - 1)

    def of(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        """The block of each code."""
        places = np.asarray(codes).astype(np.int64)
        if places.ndim > 1:
            places = places[:, 0]  # a curve has all its places, or none
        if self.bits is None:
            return self.block[np.searchsorted(self.first, places, side="right") - 1]
        block = np.zeros_like(places)
        for n, bit in enumerate(self.bits):
            block |= (places >> bit & 1) << n
        return np.where(places == MISSING, self.blocks - 1, block)

    def places(self, codes: NDArray[Any]) -> Places:
        """The block of each code, or that of all codes where there is one alone: no code decides what is done."""
        return self.of(codes) if self.blocks > 1 else 0


# NULL as a value ------------------------------------------------------------------------------------------------------


class Endless(Points):
    """Points without an end, of lines and of curves in a basis: without what needs an end.

    Where it is `optional` a value may be missing: None, with the code `absent`.
    """

    __slots__ = ()

    optional: bool = False
    absent_code: ClassVar[int] = ABSENT

    @property
    def absent(self) -> int | None:
        return self.absent_code if self.optional else None

    @property
    def present(self) -> Self | None:
        return replace(self, optional=False) if self.optional else None  # type: ignore[type-var]  # a dataclass

    def with_missing(self) -> Self:
        """These points and one more value, a missing one."""
        return replace(self, optional=True)  # type: ignore[type-var]  # a dataclass


def _of_present(name: str) -> Any:
    return property(lambda self: getattr(self.present, name))


@dataclass(frozen=True, slots=True)
class OptionalSpace(Space):
    """The values of a space, and None with the last code, one diameter away from each of them.

    >>> from dproof.spaces import Interval
    >>> age = OptionalSpace(Interval(0, 110, 1))
    >>> age.size, age.encode([36, None]).tolist(), age.distance(3, None)
    (112, [36, 111], Fraction(110, 1))
    """

    present: Space = field()  # without a default: the class above has one

    @property
    def size(self) -> int:
        return self.present.size + 1

    @property
    def absent(self) -> int:
        return self.present.size

    @property
    def diameter(self) -> Fraction:
        return self.present.diameter or Fraction(1)

    @property
    def separation(self) -> Fraction:
        return self.present.separation or self.diameter

    def distance(self, x: Any, y: Any) -> Fraction:
        if x is None or y is None:
            return self.diameter if x is not y else Fraction(0)
        return self.present.distance(x, y)

    def distances(self, code: int) -> NDArray[Any]:
        if code == self.absent:
            return np.array([self.diameter] * self.absent + [Fraction(0)], object)
        return np.array([*self.present.distances(code), self.diameter], object)

    def largest_sum(self) -> Fraction:
        return max(self.present.largest_sum() + self.diameter, self.absent * self.diameter)

    def code(self, value: Any) -> int:
        return self.absent if value is None else self.present.code(value)

    def label(self, code: int) -> Any:
        return None if code == self.absent else self.present.label(code)

    def decode(self, codes: NDArray[Any]) -> list[Any]:
        return decode_present(self.present.decode, codes, self.absent)

    @property
    def line(self) -> Any:
        return None if self.present.line is None else self.present.line.with_missing()

    # A question is asked of the values that are there.
    mechanisms, is_counted = map(_of_present, ("mechanisms", "is_counted"))
    has_numbers, has_order, has_sums = map(_of_present, ("has_numbers", "has_order", "has_sums"))
    ends, shown, refusal, selected = map(_of_present, ("ends", "shown", "refusal", "selected"))
    date_part, is_point, unit = map(_of_present, ("date_part", "is_point", "unit"))

    @property
    def middle(self) -> Fraction:
        """The middle, at a point of the space: a missing number is shown as this one, and must add nothing to a sum."""
        line = self.present.line
        if line is None:
            return self.present.middle
        return line.origin + (self.present.size - 1) // 2 * line.step

    def values_of(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        lacking = np.asarray(codes) == self.absent
        return np.where(lacking, 0.0, self.present.values_of(np.where(lacking, 0, codes)))

    def between(self, low: Any, high: Any, step: Any) -> OptionalSpace:
        """The space of an interval of the same kind of values, and a missing one."""
        return OptionalSpace(self.present.between(low, high, step))  # type: ignore[attr-defined]


def decode_present(decode: Callable[[NDArray[Any]], list[Any]], codes: NDArray[Any], absent: int) -> list[Any]:
    """The values of codes, None for the code of a missing one."""
    lacking = np.asarray(codes) == absent
    return [
        None if hidden else label for label, hidden in zip(decode(np.where(lacking, 0, codes)), lacking, strict=True)
    ]
