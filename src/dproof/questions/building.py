"""Questions built in Python instead of written in SQL.

    Select().count().where("age >= 18", sex="f").group_by("region")

says the same as SELECT region, count(*) FROM data WHERE age >= 18 AND sex = 'f' GROUP BY region.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import Any, TypeAlias

from dproof.arguments import expect, whole
from dproof.errors import InputError
from dproof.exact import exact
from dproof.questions.predicates import Compare, Predicate, Value, both
from dproof.questions.question import Aggregate, Item, Key, Question
from dproof.questions.sql import parse, parse_predicate


@dataclass(frozen=True, slots=True)
class Select:
    """A question for a release or a curator, built step by step; every step gives a new one.

    >>> Select().mean("age").where(sex="f").question().select[0].alias
    'mean_age'
    """

    aggregates: tuple[tuple[str, Aggregate], ...] = ()
    condition: Predicate | None = None
    keys: tuple[Key, ...] = ()

    def count(self) -> Select:
        """Ask for the number of rows."""
        return self._with("count", Aggregate("count"))

    def total(self, column: str) -> Select:
        """Ask for the sum of a column."""
        return self._with(f"total_{_column(column)}", Aggregate("sum", (column,)))

    def mean(self, column: str) -> Select:
        """Ask for the mean of a column."""
        return self._with(f"mean_{_column(column)}", Aggregate("avg", (column,)))

    def quantile(self, column: str, probability: Any = Fraction(1, 2)) -> Select:
        """Ask for a quantile of a column; its median unless told otherwise."""
        given = exact(probability, "probability")
        return self._with(f"quantile_{_column(column)}", Aggregate("quantile", (column,), given))

    def top(self, column: str, number: int = 1) -> Select:
        """Ask for the values, or the items of sets, that occur most often."""
        given = Fraction(whole(number, "number", 1))
        return self._with(f"top_{_column(column)}", Aggregate("top", (column,), given))

    def where(self, /, *conditions: str, **values: Any) -> Select:
        """Only rows that satisfy these conditions, written as after WHERE, and have these values."""
        condition = self.condition
        for text in conditions:
            condition = both(condition, parse_predicate(text))
        for column, value in values.items():
            condition = both(condition, Compare(column, "=", _value(value)))
        return replace(self, condition=condition)

    def group_by(self, *columns: str, **widths: Any) -> Select:
        """One answer for each value of these columns, or bins of these widths: group_by("sex", age=10)."""
        bins = tuple(Key(column, exact(width, "a width")) for column, width in widths.items())
        return replace(self, keys=self.keys + tuple(Key(_column(column)) for column in columns) + bins)

    def question(self, table: str = "data") -> Question:
        """The finished question."""
        if not self.aggregates:
            raise InputError("the question asks for nothing yet: add .count(), .mean(column) or another")
        keys = [Item(key.column, key) for key in self.keys]
        return Question(table, (*keys, *(Item(*pair) for pair in self.aggregates)), self.condition, self.keys)

    def _with(self, alias: str, aggregate: Aggregate) -> Select:
        return replace(self, aggregates=(*self.aggregates, (alias, aggregate)))


Asked: TypeAlias = str | Question | Select


def as_question(asked: Asked, table: str = "data") -> Question:
    """SQL, or what was built, as a question.

    >>> as_question(Select().count()) == as_question('SELECT count(*) AS "count" FROM data')
    True
    """
    if isinstance(asked, str):
        return parse(asked)
    if isinstance(asked, Select):
        return asked.question(table)
    return expect(asked, Question, "a question", "SQL in a text, or built with Select()")


def _column(name: Any) -> str:
    return expect(name, str, "column", "the name of a column")


def _value(value: Any) -> Value:
    if isinstance(value, date):
        return str(value)
    return value if isinstance(value, (str, bool)) else exact(value, "a value")
