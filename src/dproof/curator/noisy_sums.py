"""Expressions of noisy sums: single answers and many simulated ones alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.questions.aggregates import Sums, Values
from dproof.questions.question import Aggregate, Arithmetic, Expression, Number, aggregates_of, evaluate
from dproof.questions.schema import Schema
from dproof.questions.sums import WholeScale, terms

Floats = NDArray[np.float64]
Statistics = dict[Any, Floats]  # the value of each sum, number of distinct values or chosen value, per group


def value_of(expression: Expression, stats: Statistics, schema: Schema, *, clip: bool = True, doubt: int = 0) -> Floats:
    """The value of an expression; `clip` and `doubt` as in `Sums`.

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
        needed = terms(aggregate, schema)
        values = {column: _values(term.scale(column, schema)) for term in needed for column in term.columns}
        fewest = 2 if doubt and definition.shape == "curved" else 1
        sums = Sums({term.columns: stats[term] for term in needed}, values, fewest, clip, doubt)
        return np.asarray(definition.formula(sums, aggregate.columns, aggregate.argument))

    return np.asarray(evaluate(expression, value))


def _values(scale: WholeScale) -> Values:
    low, high = (float(scale.value(end)) for end in scale.ends)
    return Values(float(scale.origin), float(scale.unit), float(scale.ends[1]), low, high)


def is_doubtful(expression: Expression) -> bool:
    """Whether there are moments in an expression that may say nothing."""
    return any(part.definition.shape == "curved" for part in aggregates_of(expression) if part.definition.sums)


def is_curved(expression: Expression) -> bool:
    """Whether fresh noise tells too little of an expression that is not affine (see `simulation`).

    It tells all of a mean, and of a count or a sum over a count of rows. Moments, products, calculations with several
    measured parts, and a divisor that may be of either sign are curved.
    """
    match expression:
        case Arithmetic(_, Number(), part) | Arithmetic(_, part, Number()):
            return is_curved(part)
        case Arithmetic("/", Aggregate() as top, Aggregate() as bottom):
            return top.definition.shape != "linear" or bottom.definition.counts != "rows"
        case Arithmetic():
            return True
        case _:
            return is_doubtful(expression)


def divisors(expression: Expression, schema: Schema) -> Iterator[Any]:
    """What an expression divides by: calculations without a product or a ratio in them, and counts of rows.

    >>> n, table = Aggregate("count"), Schema("data", {})
    >>> list(divisors(Arithmetic("/", n, Arithmetic("*", n, n)), table)) == 2 * [*terms(n, table)]
    True
    """
    match expression:
        case Arithmetic(operator, left, right):
            yield from divisors(left, schema)
            yield from divisors(right, schema)
            if operator == "/":
                yield from _factors(right, schema)
        case Aggregate() if expression.definition.sums and expression.definition.shape != "linear":
            yield terms(expression, schema)[0]


def _factors(expression: Expression, schema: Schema) -> Iterator[Any]:
    match expression:
        case Arithmetic("*" | "/", left, right):
            yield from _factors(left, schema)
            yield from _factors(right, schema)
        case Aggregate() if expression.definition.counts == "rows":
            yield from terms(expression, schema)
        case _:
            yield expression


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
