"""A space with one more value, a missing one: `missing = "category"` in a plan, for spaces that know no such value."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import COLUMN, listed
from dproof.columns.arrow import as_numpy, is_arrow, narrowest, with_nulls
from dproof.columns.column import Column, Encode, Lookup
from dproof.columns.set_forms import ENCODERS, joined_lookup
from dproof.columns.values import undeclared
from dproof.spaces.interval import ABSENT, Line
from dproof.spaces.space import Space
from dproof.spaces.subsets import MISSING_ITEM, Subsets

Codes = NDArray[Any]
Stored = tuple[list[str], Callable[[Sequence[Any]], NDArray[np.int64]]]


@dataclass(frozen=True, slots=True)
class OptionalSpace(Space):
    """The values of a space, and None with the last code, one diameter away from each of them. It is stored as null.

    >>> from dproof.spaces import Interval
    >>> age = OptionalSpace(Interval(0, 110, 1))
    >>> age.size, age.encode([36, None]).tolist(), age.distance(3, None)
    (112, [36, 111], Fraction(110, 1))
    """

    inside: Space

    @property
    def present(self) -> Space:
        return self.inside

    @property
    def size(self) -> int:
        return self.inside.size + 1

    @property
    def absent(self) -> int:
        return self.inside.size

    @property
    def diameter(self) -> Fraction:
        return self.inside.diameter or Fraction(1)

    @property
    def separation(self) -> Fraction:
        return self.inside.separation or self.diameter

    def distance(self, x: Any, y: Any) -> Fraction:
        if x is None or y is None:
            return self.diameter if x is not y else Fraction(0)
        return self.inside.distance(x, y)

    def distances(self, code: int) -> Codes:
        if code == self.absent:
            return np.array([self.diameter] * self.absent + [Fraction(0)], object)
        return np.array([*self.inside.distances(code), self.diameter], object)

    def largest_sum(self) -> Fraction:
        return max(self.inside.largest_sum() + self.diameter, self.absent * self.diameter)

    def code(self, value: Any) -> int:
        return self.absent if value is None else self.inside.code(value)

    def label(self, code: int) -> Any:
        return None if code == self.absent else self.inside.label(code)

    def encode(self, values: Any) -> Codes:
        if is_arrow(values):
            lacking = np.asarray(as_numpy(values.is_null()), bool)
            codes = np.full(len(lacking), self.absent, narrowest(self.size))
            codes[~lacking] = self.inside.encode(values.filter(values.is_valid()))
            return codes
        return np.array([self.code(value) for value in listed(values, "values", COLUMN)], narrowest(self.size))

    def decode(self, codes: Codes) -> list[Any]:
        return _decode(self, self.inside, codes)

    # What a question may ask of a column -----------------------------------------------------------------------------

    @property
    def line(self) -> Any:
        return None if self.inside.line is None else self.inside.line.with_missing()

    @property
    def has_numbers(self) -> bool:
        return self.inside.has_numbers

    @property
    def has_order(self) -> bool:
        return self.inside.has_order

    @property
    def has_sums(self) -> bool:
        return self.inside.has_sums

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        return self.inside.ends

    @property
    def middle(self) -> Fraction:
        """That of a point of the space: a missing number is shown as this one, and must add nothing to a sum."""
        line = self.inside.line
        if line is None:
            return self.inside.middle
        return line.origin + (self.inside.size - 1) // 2 * line.step

    def shown(self, number: Any) -> Any:
        return self.inside.shown(number)

    def refusal(self, value: Any, *, ordered: bool = False) -> str | None:
        return self.inside.refusal(value, ordered=ordered)

    def selected(self, sign: str, value: Any) -> tuple[int, ...]:
        return self.inside.selected(sign, value)

    def values_of(self, codes: Codes) -> NDArray[np.float64]:
        places = np.asarray(codes)
        return np.where(places == self.absent, 0.0, self.inside.values_of(np.where(places == self.absent, 0, places)))

    # A column of a plan ----------------------------------------------------------------------------------------------

    @property
    def mechanisms(self) -> str:  # type: ignore[override]
        return self.inside.mechanisms

    @property
    def outside_ways(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.inside.outside_ways

    @property
    def noun(self) -> str | None:  # type: ignore[override]
        return self.inside.noun

    @property
    def unreadable_advice(self) -> str:  # type: ignore[override]
        return self.inside.unreadable_advice

    @property
    def is_counted(self) -> bool:  # type: ignore[override]
        return self.inside.is_counted

    @property
    def declared(self) -> int:
        return self.inside.declared

    def fewer(self, count: int) -> OptionalSpace | None:
        space = self.inside.fewer(count)
        return None if space is None else OptionalSpace(space)

    def stand_in(self, code: int) -> str | None:
        return None if code == self.absent else self.inside.stand_in(code)

    def with_gaps(self, column: Column) -> Column:
        return replace(column, space=self.inside, missing=None)

    def lookup(self, column: Column) -> Lookup:
        return self.inside.lookup(column)

    def encoder(self, column: Column) -> Encode:
        """The codes of the space inside, in a type that holds the last one too, whatever the rows hold."""
        encode, kind = self.inside.encoder(column), narrowest(self.size)

        def widened(arrays: Sequence[Any]) -> Codes:
            codes = encode(arrays)
            return codes if column.gaps else codes.astype(kind, copy=False)

        return widened

    def between(self, low: Any, high: Any, step: Any) -> OptionalSpace:
        """The space of an interval of the same kind of values, and a missing one."""
        return OptionalSpace(self.inside.between(low, high, step))  # type: ignore[attr-defined]

    def store(self, column: Column, codes: Codes) -> list[Any]:
        return _store(self, self.inside, column, codes)

    def restore(self, column: Column, arrays: Sequence[Any]) -> NDArray[np.int64]:
        return _restore(self, self.inside, column, arrays)

    def possible(self, column: Column, arrays: Sequence[Any], given: Any, reach: int | None) -> bool:
        if given is not None and not given[self.absent] and arrays[0].null_count:
            return False
        inside = None if given is None else given[: self.absent]
        return self.inside.possible(column, _valid(arrays), inside, reach)

    def sql(self, column: Column) -> str:
        return self.inside.sql(column)

    def number_sql(self, column: Column) -> str:
        return self.inside.number_sql(column)

    def outside_refusal(self, column: Column) -> str:
        return self.inside.outside_refusal(column)


@dataclass(frozen=True, slots=True)
class OptionalLine:
    """The points of a line without ends, and None beside them."""

    inside: Line
    labels: ClassVar[None] = None
    items: ClassVar[None] = None
    holds_curves: ClassVar[bool] = False
    code_shape: ClassVar[tuple[int, ...]] = ()
    absent: ClassVar[int] = ABSENT

    @property
    def line(self) -> OptionalLine:
        return self

    @property
    def origin(self) -> Fraction:
        return self.inside.origin

    @property
    def step(self) -> Fraction:
        return self.inside.step

    def place(self, value: Any) -> Fraction:
        return self.inside.place(value)

    def code(self, value: Any) -> int:
        return ABSENT if value is None else self.inside.code(value)

    def label(self, code: int) -> Any:
        return None if code == ABSENT else self.inside.label(code)

    def decode(self, codes: Codes) -> list[Any]:
        return _decode(self, self.inside, codes)

    def store(self, column: Column, codes: Codes) -> list[Any]:
        return _store(self, self.inside, column, codes)

    def restore(self, column: Column, arrays: Sequence[Any]) -> NDArray[np.int64]:
        return _restore(self, self.inside, column, arrays)

    def possible(self, column: Column, arrays: Sequence[Any], given: Any, reach: int | None) -> bool:
        return self.inside.possible(column, _valid(arrays), given, reach)

    def reader(self, column: Column, bits: Sequence[int] | None) -> Stored:
        return [column.sql], lambda arrays: self.restore(column, arrays)


def _decode(space: OptionalSpace | OptionalLine, inside: Space | Line, codes: Codes) -> list[Any]:
    lacking = np.asarray(codes) == space.absent
    labels = inside.decode(np.where(lacking, 0, codes))
    return [None if absent else label for label, absent in zip(labels, lacking, strict=True)]


def _store(space: OptionalSpace | OptionalLine, inside: Space | Line, column: Column, codes: Codes) -> list[Any]:
    """What the first value is stored as stands under every null, so that nothing of the row does."""
    lacking = codes == space.absent
    return [with_nulls(array, lacking) for array in inside.store(column, np.where(lacking, 0, codes))]


def _restore(
    space: OptionalSpace | OptionalLine, inside: Space | Line, column: Column, arrays: Sequence[Any]
) -> NDArray[np.int64]:
    lacking = np.asarray(as_numpy(arrays[0].is_null()), bool)
    codes = np.full(len(lacking), space.absent, np.int64)
    codes[~lacking] = inside.restore(column, _valid(arrays))
    return codes


def _valid(arrays: Sequence[Any]) -> list[Any]:
    return [array.filter(array.is_valid()) for array in arrays]


class OptionalSubsets(Subsets):
    """The subsets of some items and of one more, the last, which says that a set is missing and stands alone.

    A law may show it beside other items; so it is stored as an item, and nothing is lost for an estimate.

    >>> interests = Subsets(["Music", "Chess"]).with_missing()
    >>> interests.values, interests.code(None), interests.label(4), interests.label(1)
    (('Music', 'Chess', '(missing)'), 4, None, frozenset({'Music'}))
    """

    @property
    def _declared(self) -> tuple[Hashable, ...]:
        return self.values[:-1]

    @property
    def absent(self) -> int:
        return 1 << self.declared

    @property
    def declared(self) -> int:
        return len(self.values) - 1

    @property
    def candidates(self) -> int:
        return self.declared

    def tallies(self, histogram: Mapping[int, int]) -> dict[int, int]:
        return Subsets(self._declared).tallies(histogram)

    def refusal(self, value: Any, *, ordered: bool = False) -> str | None:
        return undeclared(value, self._declared)

    def code(self, value: Iterable[Hashable] | None) -> int:
        return self.absent if value is None else Subsets.code(self, value)

    def label(self, code: int) -> frozenset[Hashable] | None:  # type: ignore[override]
        return None if int(code) & self.absent else Subsets.label(self, code)

    def fewer(self, count: int) -> OptionalSubsets:
        return OptionalSubsets([*self._declared[:count], MISSING_ITEM], self.metric)

    # A column of a plan: what a source holds are the declared items -------------------------------------------------

    def with_gaps(self, column: Column) -> Column:
        return replace(column, space=Subsets(self._declared, self.metric), missing=None, beside=())

    def stand_in(self, code: int) -> None:  # type: ignore[override]
        return None

    def lookup(self, column: Column) -> Lookup:
        return joined_lookup(self._declared, column)

    def encoder(self, column: Column) -> Encode:
        if column.form in ENCODERS:
            return ENCODERS[column.form](self._declared, column)
        return super().encoder(column)

    def restore(self, column: Column, arrays: Sequence[Any]) -> NDArray[np.int64]:
        return Subsets(self.values, self.metric).restore(column, arrays)

    def flags(self, column: Column) -> list[Column]:
        gaps = self.with_gaps(column)
        return [replace(flag, missing=0) for flag in gaps.space.flags(gaps)]
