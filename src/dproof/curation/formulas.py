"""Aggregates as formulas of sums over rows, on single answers and on many simulated ones alike."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.questions.linear import Term, terms
from dproof.questions.question import Aggregate, Arithmetic, Expression, Number, parts_of
from dproof.questions.question import evaluate as calculate
from dproof.questions.schema import Schema

Floats = NDArray[np.float64]
Statistics = dict[Any, Floats]  # the value of each sum, number of distinct values or chosen value, per group


def evaluate(expression: Expression, stats: Statistics, schema: Schema, *, clip: bool = True, doubt: int = 0) -> Floats:
    """The value of an expression; with `clip`, what cannot be is moved to the nearest value that can.

    Of fewer than two rows, or of numbers that do not vary, moments say nothing: with `doubt` −1 or 1 a variance, a
    covariance or a correlation is then the least or the greatest that can be.

    >>> from dproof.spaces import Categories
    >>> table = Schema("data", {"age": Categories([0, 10])})
    >>> mean = Aggregate("avg", ("age",))
    >>> n, total = terms(mean, table)
    >>> evaluate(mean, {n: np.array([4.0]), total: np.array([2.0])}, table)
    array([7.5])
    """

    def value(aggregate: Aggregate) -> Floats:
        if aggregate not in stats:
            return _aggregate(aggregate, stats, schema, clip, doubt)
        return np.maximum(stats[aggregate], 0) if clip and aggregate.kind == "distinct" else stats[aggregate]

    return np.asarray(calculate(expression, value))


def _aggregate(aggregate: Aggregate, stats: Statistics, schema: Schema, clip: bool, doubt: int) -> Floats:
    needed = terms(aggregate, schema)
    match aggregate.kind:
        case "count":
            return np.maximum(stats[needed[0]], 0) if clip else stats[needed[0]]
        case "sum":
            return stats[needed[0]] * float(needed[0].unit(schema))
        case "avg":
            return _mean(aggregate, needed[1], np.maximum(stats[needed[0]], 1), stats, schema, clip)
        case "var" | "stddev" | "covar" | "corr":
            return _moment(aggregate, needed, stats, schema, clip, doubt)
        case other:
            raise KeyError(f"{other} is no formula of sums over rows")


def _moment(
    aggregate: Aggregate, needed: tuple[Term, ...], stats: Statistics, schema: Schema, clip: bool, doubt: int
) -> Floats:
    """A variance, its root, a covariance or a correlation."""
    n, moments = np.maximum(stats[needed[0]], 1), {term.columns: stats[term] for term in needed}
    x, y = aggregate.columns * 2 if len(aggregate.columns) == 1 else aggregate.columns
    value = _central(x, y, moments, n)
    if doubt:
        value, n = np.where(n < 2, doubt * np.inf, value), np.maximum(n, 2)
    if clip:  # no number is further from the middle of its range than half of it
        most = n * float(math.prod(needed[1].scale(column, schema).ends[1] for column in (x, y)))
        value = np.clip(value, -most if aggregate.kind in ("covar", "corr") else 0, most)
    if aggregate.kind == "corr":
        spread = np.sqrt(np.maximum(_central(x, x, moments, n), 0) * np.maximum(_central(y, y, moments, n), 0))
        ratio: Floats = np.divide(value, spread, out=np.full_like(value, doubt), where=spread > 0)
        return np.clip(ratio, -1, 1) if clip else ratio
    value = value * float(needed[-1].unit(schema)) / np.maximum(n - float(aggregate.argument or 0), 1)
    return np.sqrt(np.maximum(value, 0)) if aggregate.kind == "stddev" else value


def _mean(aggregate: Aggregate, total: Term, n: Floats, stats: Statistics, schema: Schema, clip: bool) -> Floats:
    column = aggregate.columns[0]
    scale = total.scale(column, schema)
    mean = float(scale.origin) + float(scale.unit) * stats[total] / n
    low, high = (float(scale.value(end)) for end in scale.ends)
    return np.clip(mean, low, high) if clip else mean


def _central(x: str, y: str, moments: dict[tuple[str, ...], Floats], n: Floats) -> Floats:
    """Σ(x − x̄)(y − ȳ)."""
    both = moments[x, y] if (x, y) in moments else moments[y, x]
    return both - moments[x,] * moments[y,] / n


def is_doubtful(expression: Expression) -> bool:
    """Whether there are moments in an expression that may say nothing."""
    kinds = ("var", "stddev", "covar", "corr")
    return any(isinstance(part, Aggregate) and part.kind in kinds for part in parts_of(expression))


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
        case Aggregate(kind, _, _, _):
            if kind in ("count", "sum", "distinct"):
                return True
            return kind == "avg" and exact(terms(expression, schema)[0])
        case Arithmetic(operator, left, right):
            if operator in ("+", "-"):
                return is_affine(left, schema, exact) and is_affine(right, schema, exact)
            if isinstance(right, Number):
                return is_affine(left, schema, exact)
            return operator == "*" and isinstance(left, Number) and is_affine(right, schema, exact)
        case _:
            return False
