"""What an expression of a question can be at all, from public knowledge alone.

A count of n people lies between 0 and n, a mean of ages between the least and the greatest age.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf

from dproof.questions.aggregates import Known
from dproof.questions.distinct import values_of
from dproof.questions.predicates import And, Predicate
from dproof.questions.question import (
    Aggregate,
    Arithmetic,
    Expression,
    Number,
    Question,
    aggregates_of,
    measured_parts,
)
from dproof.questions.ranges import End, Range, point
from dproof.questions.schema import Schema
from dproof.questions.sums import present, undeclared_missing


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
            return point(value)
        case Aggregate():
            return _aggregate(expression, schema, _number_of_rows(expression, question, schema, rows))
        case Arithmetic(sign, left, right):
            if sign == "/" and (mean := _mean(left, right, schema)) is not None:
                return mean
            x, y = (possible(side, question, schema, rows) for side in (left, right))
            if sign == "/" and isinstance(right, Aggregate) and right.definition.counts:
                y = Range(max(y.low, Fraction(1)), max(y.high, Fraction(1)))  # by no rows nothing is divided
            return x + y if sign == "+" else x - y if sign == "-" else x * y if sign == "*" else x / y
        case _:
            return Range()  # a column of GROUP BY


def possible_columns(question: Question, schema: Schema, rows: int | None) -> dict[str, Range]:
    """All values that each estimated column of an answer can have, before functions such as ROUND are applied."""
    return {
        item.alias: possible(measured_parts(item.expression, question.unnest)[0], question, schema, rows)
        for item in question.select
        if aggregates_of(item.expression)
    }


def _aggregate(aggregate: Aggregate, schema: Schema, rows: Range) -> Range:
    """All values that an aggregate of so many rows can have."""
    definition, spaces = aggregate.definition, [schema.spaces[column] for column in aggregate.columns]
    values = tuple(Range(*space.ends) for space in spaces) if definition.accepts == "numbers" else ()
    size: End = inf
    if definition.counts == "values" and not schema.is_open(aggregate.columns[0]):
        size = Fraction(values_of(aggregate, schema))
    return definition.possible(Known(rows, values, size, aggregate.argument))


def _number_of_rows(aggregate: Aggregate, question: Question, schema: Schema, rows: int | None) -> Range:
    """How many rows an aggregate may take: all of them where nothing chooses among them."""
    if rows is None:
        return Range(Fraction(0), inf)
    every = question.where is None and not question.group_by and not _conditions(aggregate, schema)
    return Range(Fraction(rows if every else 0), Fraction(rows))


def _mean(top: Expression, bottom: Expression, schema: Schema) -> Range | None:
    """The range of factor · count(some rows) / count(rows), or of a sum over rows instead; None for anything else."""
    factor, part = _multiple(top)
    if not (isinstance(part, Aggregate) and isinstance(bottom, Aggregate) and bottom.definition.counts == "rows"):
        return None
    some, every = (_conditions(aggregate, schema) for aggregate in (part, bottom))
    if part.definition.formula is None or part.definition.shape != "linear" or not every <= some:
        return None
    values = _aggregate(part, schema, point(1))  # what one row adds
    # Rows that are divided by and not added up add 0.
    mean = values if every == some else Range(min(values.low, Fraction(0)), max(values.high, Fraction(0)))
    return mean * point(factor)


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
    where = present(aggregate, undeclared_missing(schema))
    if where is None:
        return frozenset()
    return frozenset(where.parts) if isinstance(where, And) else frozenset([where])
