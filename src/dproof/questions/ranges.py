"""What an answer can be at all: the possible range of an expression, from public knowledge alone.

A count of n people lies between 0 and n, a mean of ages between the least and the greatest age. An interval that is cut
to such a range covers the truth as often as before, for the truth is in the range. One that is all of it says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, isfinite, prod, sqrt
from typing import Any, TypeAlias

from dproof.questions.answer import Cell
from dproof.questions.linear import present
from dproof.questions.predicates import And, Predicate
from dproof.questions.question import Aggregate, Arithmetic, Expression, Number, Question
from dproof.questions.schema import Open, Schema

_LARGEST = 10**300
End: TypeAlias = Fraction | float  # exact, or −∞ or ∞


@dataclass(frozen=True, slots=True)
class Range:
    """From `low` to `high`, both possible; without either, from −∞ to ∞.

    >>> Range(Fraction(0), Fraction(40)).cut(Cell(-3.0, -23.0, 17.0, 10.2, 5))
    Cell(estimate=-3.0, low=0.0, high=17.0, stderr=10.2, raw=5, informative=True)
    """

    low: End = -inf
    high: End = inf

    def cut(self, cell: Cell) -> Cell:
        """The cell with its interval cut to what is possible; the estimate stays as it is.

        Where nothing is left both ends are the nearest possible value.
        """
        if isinstance(cell.low, list):  # a curve, point by point
            points = [self._cut(*ends) for ends in zip(cell.low, cell.high, strict=True)]
            informative = not all(map(self._is_whole, points))
            return replace(cell, low=[a for a, _ in points], high=[b for _, b in points], informative=informative)
        if cell.low is None or cell.high is None:
            return cell
        low, high = self._cut(cell.low, cell.high)
        if not (isfinite(low) and isfinite(high)):  # it could be anything
            return replace(cell, low=None, high=None, informative=False)
        return replace(cell, low=low, high=high, informative=not self._is_whole((low, high)))

    def _cut(self, low: float, high: float) -> tuple[float, float]:
        least, most = self.ends
        return min(max(low, least), most), max(min(high, most), least)

    def _is_whole(self, interval: tuple[float, float]) -> bool:
        return self.low < self.high and interval == self.ends

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends as floats."""
        return _float(self.low), _float(self.high)

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Range) -> Range:
        return self + other * _point(-1)

    def __mul__(self, other: Range) -> Range:
        # A bound of 0 times one that is infinite is 0: what lies between them is finite.
        ends = [a * b if a and b else Fraction(0) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Range(min(ends), max(ends))

    def __truediv__(self, other: Range) -> Range:
        if other.low < 0 < other.high or other.low == other.high == 0:
            return Range()
        return self * Range(1 / other.high if other.high else -inf, 1 / other.low if other.low else inf)


def _float(end: End) -> float:
    """An end as a float; what no float reaches is infinite."""
    return float(end) if -_LARGEST < end < _LARGEST else inf if end > 0 else -inf


def _point(number: int | Fraction) -> Range:
    return Range(Fraction(number), Fraction(number))


def possible(expression: Expression, question: Question, schema: Schema, rows: int | None) -> Range:
    """All values that an expression of a question can have; `rows` is the number of all rows where it is public.

    Calculations by interval arithmetic, so that the range may be wider than what can happen, and never narrower. A
    share, or a sum over the number of rows that it is at most a sum of, is a mean.

    >>> from dproof.questions.sql import parse
    >>> from dproof.spaces import Interval
    >>> table = Schema("data", {"age": Interval(0, 110)})
    >>> asked = parse("SELECT sum(age) AS s, 100 * proportion(age < 20) AS p FROM data")
    >>> [possible(item.expression, asked, table, 50) for item in asked.select]
    [Range(low=Fraction(0, 1), high=Fraction(5500, 1)), Range(low=Fraction(0, 1), high=Fraction(100, 1))]
    """
    match expression:
        case Number(value):
            return _point(value)
        case Aggregate():
            return _aggregate(expression, question, schema, rows)
        case Arithmetic(sign, left, right):
            if sign == "/" and (mean := _mean(left, right, schema)) is not None:
                return mean
            x, y = (possible(side, question, schema, rows) for side in (left, right))
            if sign == "/" and isinstance(right, Aggregate) and right.kind in ("count", "distinct"):
                y = Range(max(y.low, Fraction(1)), max(y.high, Fraction(1)))  # by no rows nothing is divided
            return x + y if sign == "+" else x - y if sign == "-" else x * y if sign == "*" else x / y
        case _:
            return Range()  # a column of GROUP BY


def _aggregate(aggregate: Aggregate, question: Question, schema: Schema, rows: int | None) -> Range:
    taken = _number_of_rows(aggregate, question, schema, rows)
    spaces = [schema.spaces[column] for column in aggregate.columns]
    match aggregate.kind:
        case "count":
            return taken
        case "distinct":
            size = inf if isinstance(spaces[0], Open) else Fraction(spaces[0].size)
            return Range(Fraction(0), min(taken.high, size))
        case "sum":
            return taken * _values(spaces[0])
        case "avg" | "min" | "max" | "quantile":
            return _values(spaces[0])
        case "var" | "stddev" | "covar":
            halves = [(values.high - values.low) / 2 for values in map(_values, spaces * (3 - len(spaces)))]
            most = prod(halves) if all(half < inf for half in halves) else inf
            if aggregate.argument and most:
                # Of n rows the divisor is n − 1; two rows are the fewest that it can divide.
                n = taken.low if taken.low == taken.high and taken.low >= 2 else Fraction(2)
                most *= n / (n - aggregate.argument)
            if aggregate.kind == "stddev":
                most = Fraction(sqrt(most)) if most < _LARGEST else inf
            return Range(-most if aggregate.kind == "covar" else Fraction(0), most)
        case "corr":
            return Range(Fraction(-1), Fraction(1))
        case "mode" | "top":
            return Range()  # values that are chosen, numbers or not
    raise AssertionError(f"the possible range of {aggregate.kind!r} is not told")


def _number_of_rows(aggregate: Aggregate, question: Question, schema: Schema, rows: int | None) -> Range:
    """How many rows an aggregate may take: all of them where nothing chooses among them."""
    if rows is None:
        return Range(Fraction(0), inf)
    every = question.where is None and not question.group_by and not _conditions(aggregate, schema)
    return Range(Fraction(rows if every else 0), Fraction(rows))


def _values(space: Any) -> Range:
    """What a number of a column, or a curve at any point, lies between."""
    if isinstance(space, Open):
        return Range() if space.low is None else Range(space.low)
    return Range(*space.ends)


def _mean(top: Expression, bottom: Expression, schema: Schema) -> Range | None:
    """The range of factor · count(some rows) / count(rows) or of a sum instead; None for anything else."""
    factor, part = _multiple(top)
    if not isinstance(part, Aggregate) or part.kind not in ("count", "sum"):
        return None
    if not isinstance(bottom, Aggregate) or bottom.kind != "count":
        return None
    some, every = (_conditions(aggregate, schema) for aggregate in (part, bottom))
    if not every <= some:
        return None
    values = _point(1) if part.kind == "count" else _values(schema.spaces[part.columns[0]])
    # Rows that are divided by and not added up add 0.
    mean = values if every == some else Range(min(values.low, Fraction(0)), max(values.high, Fraction(0)))
    return mean * _point(factor)


def _multiple(expression: Expression) -> tuple[Fraction, Expression]:
    """A constant factor, and what it multiplies."""
    match expression:
        case Arithmetic("*", Number(value), part) | Arithmetic("*", part, Number(value)):
            factor, inner = _multiple(part)
            return factor * value, inner
        case _:
            return Fraction(1), expression


def _conditions(aggregate: Aggregate, schema: Schema) -> frozenset[Predicate]:
    """What must hold of a row that an aggregate takes; a column that nobody declared may have gaps."""
    gaps = {column for column in aggregate.columns if isinstance(schema.spaces[column], Open)}
    where = present(aggregate, replace(schema, nullable=schema.nullable | gaps))
    if where is None:
        return frozenset()
    return frozenset(where.parts) if isinstance(where, And) else frozenset([where])
