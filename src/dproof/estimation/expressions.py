"""Arithmetic of estimates: every value carries its gradient in the estimated sums, for the delta method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dproof.errors import InputError
from dproof.estimation.frame import Frame
from dproof.estimation.inverse import Array
from dproof.queries.linear import present
from dproof.queries.question import Aggregate, Arithmetic, Expression, Key, Number, Predicate, both
from dproof.queries.schema import Open, Schema

Needed = tuple[Predicate | None, tuple[str, ...]]  # a sum: its condition, and the columns it multiplies
_UNSURE = 3.0  # standard errors from zero below which a divisor may well be zero


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A function of the sums in every group: its value, its gradient, and whether it divides by what may be zero.

    Var g(T) ≈ ∇g · Cov(T) · ∇g, the delta method. `ratio` is set where the value is shift + factor · (a / b).
    """

    value: Array  # (groups,)
    gradient: Array  # (groups, sums)
    covariance: Array  # (groups, sums, sums), of the sums
    unsure: Array  # (groups,)
    ratio: Ratio | None = None

    @property
    def variance(self) -> Array:
        return self.shared(self)

    def shared(self, other: Value) -> Array:
        """The covariance with another value."""
        return np.asarray(np.einsum("gi,gij,gj->g", self.gradient, self.covariance, other.gradient))

    def like(self, value: Array, gradient: Array, unsure: Array | None = None, ratio: Ratio | None = None) -> Value:
        return Value(value, gradient, self.covariance, self.unsure if unsure is None else unsure, ratio)

    def plus(self, other: Value) -> Value:
        return self.like(self.value + other.value, self.gradient + other.gradient, self.unsure | other.unsure)

    def scaled(self, factor: float, shift: float = 0.0) -> Value:
        moved = self.ratio
        if moved is not None:
            moved = replace(moved, factor=moved.factor * factor, shift=moved.shift * factor + shift)
        return self.like(self.value * factor + shift, self.gradient * factor, ratio=moved)

    def times(self, other: Value) -> Value:
        gradient = self.gradient * other.value[:, None] + other.gradient * self.value[:, None]
        return self.like(self.value * other.value, gradient, self.unsure | other.unsure)

    def over(self, other: Value) -> Value:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.value / other.value
            gradient = (self.gradient - other.gradient * ratio[:, None]) / other.value[:, None]
        spread = np.sqrt(np.maximum(other.variance, 0.0))
        doubtful = (np.abs(other.value) <= _UNSURE * spread) | (other.value == 0)
        return self.like(ratio, gradient, self.unsure | other.unsure | doubtful, Ratio(self, other))

    def root(self) -> Value:
        """The square root; an estimate below zero has none."""
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(self.value)
            gradient = self.gradient / (2 * root[:, None])
        spread = np.sqrt(np.maximum(self.variance, 0.0))
        return self.like(root, gradient, self.unsure | (self.value <= _UNSURE * spread))


@dataclass(frozen=True, slots=True, eq=False)
class Ratio:
    """shift + factor · (top / bottom)."""

    top: Value
    bottom: Value
    factor: float = 1.0
    shift: float = 0.0

    def interval(self, z: float) -> tuple[Array, Array]:
        """All ratios r for which top − r · bottom is within z standard errors of zero (Fieller 1954).

        Infinite where the bottom itself is not clearly different from zero: then no finite set of ratios is.
        """
        a, b = self.top.value, self.bottom.value
        square = b**2 - z**2 * self.bottom.variance
        middle = a * b - z**2 * self.top.shared(self.bottom)
        root = np.sqrt(np.maximum(middle**2 - square * (a**2 - z**2 * self.top.variance), 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = [np.where(square > 0, (middle + sign * root) / square, sign * np.inf) for sign in (-1, 1)]
        moved = [self.shift + self.factor * end for end in ends]
        return np.minimum(*moved), np.maximum(*moved)


def sums_of(aggregate: Aggregate, where: Predicate | None, schema: Schema) -> list[Needed]:
    """The sums over rows that an aggregate is computed from."""
    public = frozenset(column for column, space in schema.spaces.items() if isinstance(space, Open))
    rows = both(where, present(aggregate, Schema(schema.table, schema.spaces, public)))
    names = aggregate.columns
    lists: dict[str, list[tuple[str, ...]]] = {"count": [()], "sum": [(), names], "avg": [(), names]}
    lists["var"] = lists["stddev"] = [(), names, names * 2]
    if len(names) == 2:
        x, y = names
        lists["covar"] = [(), (x,), (y,), (x, y)]
        lists["corr"] = [*lists["covar"], (x, x), (y, y)]
    return [(rows, columns) for columns in dict.fromkeys(lists[aggregate.kind])]


def aggregate_value(
    aggregate: Aggregate, where: Predicate | None, frame: Frame, sum_of: Callable[[Needed], Value]
) -> Value:
    """An aggregate of the rows that satisfy `where`, from the sums it needs."""
    found = {columns: sum_of((rows, columns)) for rows, columns in sums_of(aggregate, where, frame.schema)}
    n, names = found[()], aggregate.columns
    numbers = [frame.numbers[column] for column in names] if aggregate.kind != "count" else []
    match aggregate.kind:
        case "count":
            return n
        case "sum":
            return found[names].scaled(numbers[0].unit).plus(n.scaled(numbers[0].middle))
        case "avg":
            return found[names].over(n).scaled(numbers[0].unit, numbers[0].middle)
        case "var" | "stddev":
            x = names[0]
            divisor = n.scaled(1.0, -float(aggregate.argument or 0))
            spread = _spread(found, n, x, x).over(divisor).scaled(numbers[0].unit ** 2)
            return spread if aggregate.kind == "var" else spread.root()
        case "covar":
            divisor = n.scaled(1.0, -float(aggregate.argument or 0))
            return _spread(found, n, *names).over(divisor).scaled(numbers[0].unit * numbers[1].unit)
        case _:
            x, y = names
            both_spread = _spread(found, n, x, x).times(_spread(found, n, y, y))
            return _spread(found, n, x, y).over(both_spread.root())


def _spread(found: dict[tuple[str, ...], Value], n: Value, x: str, y: str) -> Value:
    """Σ (x − x̄)(y − ȳ) = Σ xy − Σx·Σy/n."""
    product = found[(x, y)] if (x, y) in found else found[(y, x)]
    return product.plus(found[(x,)].times(found[(y,)]).over(n).scaled(-1.0))


def evaluate(
    expression: Expression, aggregate: Callable[[Aggregate], Value], constant: Callable[[float], Value]
) -> Value:
    """An expression of aggregates and numbers."""
    match expression:
        case Number(value):
            return constant(float(value))
        case Aggregate():
            return aggregate(expression)
        case Arithmetic(operator, left, right):
            a, b = evaluate(left, aggregate, constant), evaluate(right, aggregate, constant)
            if operator == "+":
                return a.plus(b)
            if operator == "-":
                return a.plus(b.scaled(-1.0))
            return a.times(b) if operator == "*" else a.over(b)
        case Key(column, _):
            raise InputError(f"column {column!r} is a group and cannot be calculated with: select it by itself")


def constant_like(groups: int, covariance: Array) -> Callable[[float], Value]:
    """Numbers as values that have no noise."""
    sums: Any = covariance.shape[1]
    return lambda number: Value(np.full(groups, number), np.zeros((groups, sums)), covariance, np.zeros(groups, bool))
