"""From what was measured to the answer: one way for every asker.

A question needs sums over rows; these are counted, measured under noise, and calculated with. Whoever measures says
what an expression is in every group; HAVING, ORDER BY, LIMIT, possible ranges and cautions are the same for all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from dproof.errors import InputError
from dproof.questions.answer import Answer, Cell, as_values, cautions
from dproof.questions.possible import possible
from dproof.questions.question import Expression, Key, Question
from dproof.questions.schema import Schema, shown_as
from dproof.spaces.space import COMPARISONS


class Measured(Protocol):
    """What is known of the groups of a question once it was measured."""

    @property
    def labels(self) -> Sequence[tuple[Any, ...]]:
        """The values of the keys in each group, in the order of GROUP BY."""

    @property
    def shown(self) -> Iterable[int]:
        """The groups that belong into the answer, by their places among the labels."""

    @property
    def rows(self) -> int | None:
        """The number of all rows, where it is public."""

    @property
    def ways_out(self) -> str:
        """What to do about an answer that tells nothing."""

    def estimates(self, expression: Expression) -> Sequence[Any]:
        """An expression in every group, for HAVING and ORDER BY: intervals are not needed."""

    def cells(self, expression: Expression, groups: Sequence[int]) -> Sequence[Any]:
        """An expression with its interval in each of some groups."""

    def notes(self, groups: Sequence[int]) -> Iterable[str]:
        """What is to be said about the cells of these groups."""


def answer(question: Question, schema: Schema, measured: Measured, level: float, method: str = "") -> Answer:
    """The rows that HAVING, ORDER BY and LIMIT leave, with cells cut to what is possible."""

    def keys(key: Key, groups: Iterable[int]) -> list[Any]:
        place = question.group_by.index(key)
        return [measured.labels[n][place] for n in groups]

    def looked_at(expression: Expression) -> Sequence[Any]:
        if isinstance(expression, Key):
            return keys(expression, range(len(measured.labels)))
        return measured.estimates(expression)

    def column(expression: Expression, groups: Sequence[int]) -> list[Any]:
        if isinstance(expression, Key):
            return keys(expression, groups)
        reach = possible(expression, question, schema, measured.rows)
        found, space = measured.cells(expression, groups), shown_as(expression, schema)
        return [as_values(reach.cut(value), space) if isinstance(value, Cell) else value for value in found]

    sides = [side for test in question.having for side in (test.left, test.right)]
    ordered = [order.expression for order in question.order_by]
    kept = arranged(question, {part: looked_at(part) for part in (*sides, *ordered)}, measured.shown)
    columns = {item.alias: column(item.expression, kept) for item in question.select}
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    notes = dict.fromkeys([*cautions(rows, measured.ways_out), *measured.notes(kept)])
    return Answer(tuple(columns), rows, level, tuple(notes), method)


def arranged(question: Question, columns: Mapping[Expression, Sequence[Any]], rows: Iterable[int]) -> list[int]:
    """The rows that HAVING, ORDER BY and LIMIT leave, in order; what has no value passes no test and comes last."""
    kept = [n for n in rows if _passes(question, columns, n)]
    for order in reversed(question.order_by):
        values = [_rank(value, order.descending) for value in columns[order.expression]]
        kept.sort(key=values.__getitem__, reverse=order.descending)
    return kept[: question.limit]


def _passes(question: Question, columns: Mapping[Expression, Sequence[Any]], n: int) -> bool:
    for test in question.having:
        left, right = _plain(columns[test.left][n]), _plain(columns[test.right][n])
        try:
            if left is None or right is None or not COMPARISONS[test.operator](left, right):
                return False
        except TypeError:
            problem = "HAVING compares things of different kinds: numbers with numbers, texts with texts"
            raise InputError(problem) from None
    return True


def _rank(value: Any, descending: bool) -> tuple[bool, Any]:
    """What a value sorts by; sets go by their items."""
    plain = _plain(value)
    if isinstance(plain, (frozenset, list, tuple)):
        plain = sorted(map(str, plain))
    return (plain is None) != descending, 0 if plain is None else plain


def _plain(value: Any) -> Any:
    """An estimate without its interval; None for what could not be calculated."""
    plain = value.estimate if isinstance(value, Cell) else value
    return None if isinstance(plain, float) and math.isnan(plain) else plain
