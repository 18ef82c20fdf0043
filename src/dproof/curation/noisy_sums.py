"""Expressions of noisy sums: single answers and many simulated ones alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.questions.aggregates import Values
from dproof.questions.question import Aggregate, Arithmetic, Expression, Number, aggregates_of, evaluate
from dproof.questions.schema import Schema
from dproof.questions.sums import Term, terms

Floats = NDArray[np.float64]
Statistics = dict[Any, Floats]  # the value of each sum, number of distinct values or chosen value, per group


def value_of(expression: Expression, stats: Statistics, schema: Schema, *, clip: bool = True, doubt: int = 0) -> Floats:
    """The value of an expression; with `clip`, what cannot be is moved to the nearest value that can.

    Of fewer than two rows, or of numbers that do not vary, moments say nothing: with `doubt` −1 or 1 a variance, a
    covariance or a correlation is then the least or the greatest that can be.

    >>> from dproof.spaces import Categories
    >>> table = Schema("data", {"age": Categories([0, 10])})
    >>> mean = Aggregate("avg", ("age",))
    >>> n, total = terms(mean, table)
    >>> value_of(mean, {n: np.array([4.0]), total: np.array([2.0])}, table)
    array([7.5])
    """

    def value(aggregate: Aggregate) -> Floats:
        definition = aggregate.definition
        if aggregate in stats:
            counted = clip and definition.counts == "values"
            return np.maximum(stats[aggregate], 0) if counted else stats[aggregate]
        if definition.formula is None:
            raise KeyError(aggregate)
        sums = {term.columns: term for term in terms(aggregate, schema)}
        fewest = 2 if doubt and definition.shape == "curved" else 1
        noisy = NoisySums(sums, stats, schema, clip, doubt, fewest)
        return np.asarray(definition.formula(noisy, aggregate.columns, aggregate.argument))

    return np.asarray(evaluate(expression, value))


@dataclass(frozen=True, slots=True)
class NoisySums:
    """The sums of one aggregate, for its formula (see `questions.aggregates.Sums`)."""

    terms: dict[tuple[str, ...], Term]
    stats: Statistics
    schema: Schema
    clip: bool
    doubt: int
    fewest: int

    @property
    def n(self) -> Floats:
        return np.maximum(self[()], self.fewest)

    def __getitem__(self, columns: tuple[str, ...]) -> Floats:
        return self.stats[self.terms[columns]]

    def values(self, column: str) -> Values:
        term = next(term for columns, term in self.terms.items() if column in columns)
        scale = term.scale(column, self.schema)
        low, high = (float(scale.value(end)) for end in scale.ends)
        return Values(float(scale.origin), float(scale.unit), float(scale.ends[1]), low, high)

    def at_least(self, number: Floats, least: float) -> Floats:
        return np.maximum(number, least)

    def within(self, number: Floats, low: Any, high: Any) -> Floats:
        return np.clip(number, low, high) if self.clip else number

    def moment(self, number: Floats) -> Floats:
        return np.where(self[()] < 2, self.doubt * np.inf, number) if self.doubt else number

    def ratio(self, top: Floats, bottom: Floats) -> Floats:
        found: Floats = np.divide(top, bottom, out=np.full_like(top, self.doubt), where=bottom > 0)
        return found


def is_doubtful(expression: Expression) -> bool:
    """Whether there are moments in an expression that may say nothing."""
    return any(part.definition.shape == "curved" for part in aggregates_of(expression) if part.definition.sums)


def is_curved(expression: Expression) -> bool:
    """Whether noise moves an expression to one side: there are moments in it, or products of what is measured."""
    match expression:
        case Arithmetic(operator, left, right):
            product = operator == "*" and not isinstance(left, Number) and not isinstance(right, Number)
            return product or is_curved(left) or is_curved(right)
        case _:
            return is_doubtful(expression)


def is_affine(expression: Expression, schema: Schema, exact: Callable[[Any], bool]) -> bool:
    """Whether an expression is a constant plus a multiple of each noisy number in it."""
    match expression:
        case Number():
            return True
        case Aggregate():
            shape = expression.definition.shape
            return shape == "linear" or (shape == "mean" and exact(terms(expression, schema)[0]))
        case Arithmetic(operator, left, right):
            if operator in ("+", "-"):
                return is_affine(left, schema, exact) and is_affine(right, schema, exact)
            if isinstance(right, Number):
                return is_affine(left, schema, exact)
            return operator == "*" and isinstance(left, Number) and is_affine(right, schema, exact)
        case _:
            return False
