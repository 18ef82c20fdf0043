"""The sums over rows that aggregates are computed from.

For a curator every value is a whole number of public units: counts, sums, sums of squares and of products are what
noise is added to; means, variances and correlations are computed from them afterwards. A release estimates sums about
the middle of each range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import gcd, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.errors import TooLarge
from dproof.exact import exact
from dproof.laws.debias import Scale
from dproof.questions.aggregates import Sums, Values
from dproof.questions.partition import MISSING
from dproof.questions.question import Aggregate, Expression, Missing, Not, Predicate, Schema, atoms, both, evaluate

_LARGEST = 1 << 62


@dataclass(frozen=True, slots=True)
class WholeScale:
    """The numbers of a column as whole numbers: value = origin + unit · (shift + factor · code), or a table of them.

    `ends` are the least and the greatest.
    """

    unit: Fraction
    origin: Fraction
    ends: tuple[int, int]
    shift: int
    factor: int
    table: tuple[int, ...] | None = None

    def whole(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        """The whole number of each code; 0 for a missing value, which adds nothing to any sum."""
        integers = np.asarray(codes).astype(np.int64)
        if self.table is not None:
            return np.where(integers == MISSING, 0, np.array(self.table, np.int64)[integers])
        return np.where(integers == MISSING, 0, self.shift + self.factor * integers)

    def value(self, whole: int) -> Fraction:
        return self.origin + self.unit * whole


@lru_cache(maxsize=256)  # a question needs it again and again
def whole_scale(space: Any, centred: bool) -> WholeScale:
    """The scale of a space of numbers, about zero or, centred, about the middle of its range.

    >>> from dproof.spaces import Categories
    >>> whole_scale(Categories([0, 5, 10]), True)
    WholeScale(unit=Fraction(5, 1), origin=Fraction(5, 1), ends=(-1, 1), shift=0, factor=0, table=(-1, 0, 1))
    """
    if space.line is None:
        numbers = [None if label is None else exact(label) for label in space.labels]
        known = [number for number in numbers if number is not None]
        low, high = min(known), max(known)
        origin = (low + high) / 2 if centred else Fraction(0)
        unit = _unit([number - origin for number in known])
        table = tuple(0 if number is None else int((number - origin) / unit) for number in numbers)
        return WholeScale(unit, origin, (int((low - origin) / unit), int((high - origin) / unit)), 0, 0, table)
    low, step = space.line.origin, space.line.step
    origin = space.middle if centred else Fraction(0)
    unit = _unit([low - origin, step])
    shift, factor = int((low - origin) / unit), int(step / unit)
    return WholeScale(unit, origin, (shift, shift + factor * (space.candidates - 1)), shift, factor)


def scale_of(space: Any) -> Scale:
    """The scale on which the numbers of a space go from −1 to 1."""
    exact = whole_scale(space, True)
    return Scale(float(exact.origin), float(exact.unit * exact.ends[1]) or 1.0)


def _unit(numbers: list[Fraction]) -> Fraction:
    """The greatest number of which all of these are whole multiples."""
    bottom = lcm(*(number.denominator for number in numbers))
    return Fraction(gcd(*(int(number * bottom) for number in numbers)) or 1, bottom)


@dataclass(frozen=True, slots=True)
class Term:
    """Σ over the rows that satisfy `where` of the product of the whole numbers of `columns`; with none, a count."""

    columns: tuple[str, ...]
    where: Predicate | None
    centred: bool = False

    def unit(self, schema: Schema) -> Fraction:
        """What one whole number is worth."""
        worth = Fraction(1)
        for column in self.columns:
            worth *= self.scale(column, schema).unit
        return worth

    def scale(self, column: str, schema: Schema) -> WholeScale:
        scale = whole_scale(schema.spaces[column], self.centred)
        if max(map(abs, scale.ends)) ** len(self.columns) >= _LARGEST:
            raise TooLarge(f"column {column!r} has too many steps for its sums to be exact: take a greater step")
        return scale


def present(aggregate: Aggregate, schema: Schema) -> Predicate | None:
    """The rows that an aggregate of columns takes: those that satisfy its condition and miss no value of these."""
    where = aggregate.where
    for column in dict.fromkeys(aggregate.columns):
        if column in schema.may_be_missing:
            where = both(where, Not(Missing(column)))
    return where


def terms(aggregate: Aggregate, schema: Schema) -> tuple[Term, ...]:
    """The sums over rows that an aggregate is computed from; none where it is no formula of such sums.

    >>> from dproof.spaces import Categories
    >>> [term.columns for term in terms(Aggregate("avg", ("age",)), Schema("data", {"age": Categories([1, 2])}))]
    [(), ('age',)]
    """
    definition, where = aggregate.definition, present(aggregate, schema)
    products = dict.fromkeys(tuple(aggregate.columns[place] for place in places) for places in definition.sums)
    return tuple(Term(columns, where, definition.centred and bool(columns)) for columns in products)


def centred_terms(aggregate: Aggregate, where: Predicate | None, schema: Schema) -> list[Term]:
    """Sums about the middle that tell the same of the rows that satisfy `where`, the number of rows first."""
    products = [part for term in terms(aggregate, schema) for part in multiplied_out(term.columns)]
    rows = both(where, present(aggregate, schema.with_undeclared_missing))
    return [Term(columns, rows, bool(columns)) for columns in dict.fromkeys([(), *products])]


def chooses(term: Term) -> bool:
    """Whether a sum is over some rows only, by more than that no value is missing.

    >>> chooses(Term((), Not(Missing("age")))), chooses(Term((), Missing("age")))
    (False, True)
    """
    return any(not (isinstance(atom, Not) and isinstance(atom.part, Missing)) for atom in atoms(term.where))


def multiplied_out(columns: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The products about the middle from which the product of the numbers as they are follows.

    >>> multiplied_out(("x", "y"))
    [(), ('x',), ('y',), ('x', 'y')]
    """
    return [part for size in range(len(columns) + 1) for part in combinations(columns, size)]


Statistics = dict[
    Any, NDArray[np.float64]
]  # the value of each sum, number of distinct values or chosen value, per group


def value_of(
    expression: Expression, stats: Statistics, schema: Schema, *, clip: bool = True, doubt: int = 0
) -> NDArray[np.float64]:
    """The value of an expression; `clip` and `doubt` as in `Sums`.

    >>> from dproof.spaces import Categories
    >>> table = Schema("data", {"age": Categories([0, 10])})
    >>> mean = Aggregate("avg", ("age",))
    >>> n, total = terms(mean, table)
    >>> value_of(mean, {n: np.array([4.0]), total: np.array([2.0])}, table)
    array([7.5])
    """

    def value(aggregate: Aggregate) -> NDArray[np.float64]:
        definition = aggregate.definition
        if aggregate in stats:
            counted = clip and definition.counts == "values"
            return np.maximum(stats[aggregate], 0) if counted else stats[aggregate]
        if definition.formula is None:
            raise KeyError(aggregate)
        needed = terms(aggregate, schema)
        values = {column: _values(term.scale(column, schema)) for term in needed for column in term.columns}
        fewest = 2 if doubt and definition.shape == "curved" else 1
        sums = Sums({term.columns: stats[term] for term in needed}, values, fewest, clip, doubt)
        return np.asarray(definition.formula(sums, aggregate.columns, aggregate.argument))

    return np.asarray(evaluate(expression, value))


def _values(scale: WholeScale) -> Values:
    low, high = (float(scale.value(end)) for end in scale.ends)
    return Values(float(scale.origin), float(scale.unit), float(scale.ends[1]), low, high)


def values_on(scales: Mapping[str, Scale]) -> dict[str, Values]:
    """Numbers on these scales, as a formula sees them."""
    return {c: Values(s.middle, s.unit, 1.0, s.middle - s.unit, s.middle + s.unit) for c, s in scales.items()}
