"""A question on a table: the one closed grammar that a curator and a release both answer.

A question is a value, not a text. What is not in these classes cannot be asked, so nothing that a user writes
ever reaches an engine that holds rows. HLM15, section 2.2.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

from dproof.errors import InputError
from dproof.questions.aggregates import AGGREGATES, Definition
from dproof.questions.predicates import Operator, Predicate, leaves

_OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


@dataclass(frozen=True, slots=True)
class Number:
    value: Fraction


@dataclass(frozen=True, slots=True)
class Key:
    """What groups are made of: the value of a column, or with a width its bin [k·width, (k+1)·width)."""

    column: str
    width: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One statistic of the rows of a group that satisfy `where`; `kind` is its name in the table of aggregates.

    `columns` is empty for COUNT(*) and has two names for covar and corr. `argument` is q for a quantile (a
    median is q = 1/2), k for top, and for var, stddev and covar what is taken from n in the divisor: 1 for a
    sample, 0 for a population.
    """

    kind: str
    columns: tuple[str, ...] = ()
    argument: Fraction | None = None
    where: Predicate | None = None

    @property
    def definition(self) -> Definition:
        return AGGREGATES[self.kind]


@dataclass(frozen=True, slots=True)
class Arithmetic:
    operator: Literal["+", "-", "*", "/"]
    left: Expression
    right: Expression


Expression: TypeAlias = Number | Key | Aggregate | Arithmetic


@dataclass(frozen=True, slots=True)
class Item:
    """One column of the answer."""

    alias: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Test:
    """left operator right, of a whole group: one comparison of HAVING."""

    left: Expression
    operator: Operator
    right: Expression


@dataclass(frozen=True, slots=True)
class Order:
    expression: Expression
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """SELECT .. FROM .. WHERE .. GROUP BY .. HAVING (all of the tests) ORDER BY .. LIMIT .."""

    table: str
    select: tuple[Item, ...]
    where: Predicate | None = None
    group_by: tuple[Key, ...] = ()
    having: tuple[Test, ...] = ()
    order_by: tuple[Order, ...] = ()
    limit: int | None = None


def parts_of(expression: Expression) -> Iterator[Number | Key | Aggregate]:
    """The numbers, keys and aggregates that an expression computes with, from left to right."""
    if isinstance(expression, Arithmetic):
        yield from parts_of(expression.left)
        yield from parts_of(expression.right)
    else:
        yield expression


def aggregates_of(expression: Expression) -> tuple[Aggregate, ...]:
    """The aggregates among these."""
    return tuple(part for part in parts_of(expression) if isinstance(part, Aggregate))


def evaluate(expression: Expression, aggregate: Callable[[Aggregate], Any]) -> Any:
    """The value of an expression, from those of its aggregates: anything that can be calculated with.

    >>> half = Arithmetic("/", Aggregate("count"), Number(Fraction(2)))
    >>> float(evaluate(half, lambda aggregate: 7))
    3.5
    """
    match expression:
        case Number(value):
            return np.float64(value)
        case Aggregate():
            return aggregate(expression)
        case Arithmetic(sign, left, right):
            x, y = evaluate(left, aggregate), evaluate(right, aggregate)
            with np.errstate(all="ignore"):
                return _OPERATIONS[sign](x, y)
        case Key(column, _):
            raise InputError(f"column {column!r} is a group and cannot be calculated with: select it by itself")


def expressions(question: Question) -> Iterator[Expression]:
    """Every expression of a question: what is selected, tested and ordered by."""
    yield from (item.expression for item in question.select)
    for test in question.having:
        yield from (test.left, test.right)
    yield from (order.expression for order in question.order_by)


def aggregates(question: Question) -> tuple[Aggregate, ...]:
    """The distinct aggregates that a question needs, in order of appearance.

    >>> n = Aggregate("count")
    >>> aggregates(Question("data", (Item("a", n), Item("b", Arithmetic("*", n, Number(Fraction(2)))))))
    (Aggregate(kind='count', columns=(), argument=None, where=None),)
    """
    return tuple(dict.fromkeys(part for expression in expressions(question) for part in aggregates_of(expression)))


def columns(question: Question) -> tuple[str, ...]:
    """Every column that a question touches, in order of appearance."""
    names = [leaf.column for leaf in leaves(question.where)] + [key.column for key in question.group_by]
    for aggregate in aggregates(question):
        names += [*aggregate.columns, *(leaf.column for leaf in leaves(aggregate.where))]
    return tuple(dict.fromkeys(names))


def columns_needed(question: Question) -> list[frozenset[str]]:
    """For each expression with an aggregate, the columns that it needs together: its own, conditions and groups.

    >>> both = Question("data", (Item("a", Aggregate("avg", ("age",))), Item("n", Aggregate("count"))))
    >>> [sorted(needed) for needed in columns_needed(both)]
    [['age'], []]
    """
    alone = (replace(question, select=(Item("", part),), having=(), order_by=()) for part in expressions(question))
    found = [frozenset(columns(part)) for part in alone if aggregates(part)]
    return list(dict.fromkeys(found)) or [frozenset(columns(question))]
