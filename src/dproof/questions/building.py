"""Questions built in Python instead of written in SQL.

    count().where("age >= 18", sex="f").group_by("region")

says the same as SELECT region, count(*) FROM data WHERE age >= 18 AND sex = 'f' GROUP BY region.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

from dproof.arguments import expect, whole
from dproof.exact import exact
from dproof.questions.predicates import Compare, Predicate, Value, both
from dproof.questions.question import Aggregate, Item, Key, Question
from dproof.questions.sql import parse, parse_predicate


@dataclass(frozen=True, slots=True)
class Asking:
    """A question on its way; every step gives a new one."""

    aggregates: tuple[tuple[str, Aggregate], ...]
    condition: Predicate | None = None
    keys: tuple[Key, ...] = ()

    def where(self, *conditions: str, **values: Any) -> Asking:
        """Only rows that satisfy these conditions, written as after WHERE, and have these values."""
        condition = self.condition
        for text in conditions:
            condition = both(condition, parse_predicate(text))
        for column, value in values.items():
            condition = both(condition, Compare(column, "=", _value(value)))
        return replace(self, condition=condition)

    def group_by(self, *columns: str, **widths: Any) -> Asking:
        """One answer for each value of these columns, or bins of these widths: group_by("sex", age=10)."""
        bins = tuple(Key(column, exact(width, "a width")) for column, width in widths.items())
        return replace(self, keys=self.keys + tuple(Key(_column(column)) for column in columns) + bins)

    def also(self, other: Asking) -> Asking:
        """Ask for another aggregate of the same rows."""
        added = expect(other, Asking, "other", "built from count(), total(), mean() and others").aggregates
        return replace(self, aggregates=self.aggregates + added)

    def question(self, table: str = "data") -> Question:
        """The finished question."""
        keys = [Item(key.column, key) for key in self.keys]
        return Question(table, (*keys, *(Item(*pair) for pair in self.aggregates)), self.condition, self.keys)


Asked: TypeAlias = str | Question | Asking


def as_question(asked: Asked, table: str = "data") -> Question:
    """SQL, or what was built, as a question.

    >>> as_question(count().where(sex="f")) == as_question('SELECT count(*) AS "count" FROM data WHERE sex = \\'f\\'')
    True
    """
    if isinstance(asked, str):
        return parse(asked)
    if isinstance(asked, Asking):
        return asked.question(table)
    return expect(asked, Question, "a question", "SQL in a text, or built from count(), total(), mean() and others")


def count() -> Asking:
    """How many rows."""
    return Asking((("count", Aggregate("count")),))


def total(column: str) -> Asking:
    """The sum of a column."""
    return _asking("total", "sum", column)


def mean(column: str) -> Asking:
    """The mean of a column."""
    return _asking("mean", "avg", column)


def quantile(column: str, probability: Any = Fraction(1, 2)) -> Asking:
    """The quantile of a column; its median unless told otherwise."""
    return _asking("quantile", "quantile", column, exact(probability, "probability"))


def top(column: str, number: int = 1) -> Asking:
    """The values, or the items of sets, that occur most often."""
    return _asking("top", "top", column, Fraction(whole(number, "number", 1)))


def _asking(label: str, kind: str, column: Any, argument: Fraction | None = None) -> Asking:
    column = _column(column)
    return Asking(((f"{label}_{column}", Aggregate(kind, (column,), argument)),))


def _column(name: Any) -> str:
    return expect(name, str, "column", "the name of a column")


def _value(value: Any) -> Value:
    return value if isinstance(value, (str, bool)) else exact(value, "a value")
