"""What is publicly known about a table, and the check of a question against it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from math import inf
from typing import Any

from dproof.arguments import expect, mapping
from dproof.errors import QuestionError, did_you_mean
from dproof.exact import exact
from dproof.questions.functions import check as check_functions
from dproof.questions.question import (
    Aggregate,
    Among,
    And,
    Applied,
    Arithmetic,
    Compare,
    Contains,
    Expression,
    Key,
    Missing,
    Not,
    Operator,
    Or,
    Predicate,
    Question,
    Unnest,
    Value,
    aggregates,
    expressions,
    normalise,
    parts_of,
)
from dproof.spaces import Space
from dproof.spaces.interval import Bins
from dproof.spaces.space import as_space

_ALONE = "column {0!r} holds curves: ask for AVG({0}) or SUM({0}) by itself"


@dataclass(frozen=True, slots=True)
class Open:
    """A column whose values nobody declared: a public one, or numbers without bounds (but for `low`).

    A question may ask anything of it. Whether it has an answer is decided where its values would be needed.
    """

    low: Fraction | None = None
    line = items = absent = None
    holds_curves = False
    has_numbers = has_order = has_sums = True

    def __post_init__(self) -> None:
        if self.low is not None:
            object.__setattr__(self, "low", exact(self.low, "low"))

    @property
    def ends(self) -> tuple[Fraction | float, float]:
        """The least and the greatest number."""
        return -inf if self.low is None else self.low, inf

    def refusal(self, value: Any, *, ordered: bool = False) -> None:
        """Why a value cannot be asked about: nothing forbids it."""
        return None


@dataclass(frozen=True, slots=True)
class Schema:
    """The name of the table, the space of each column, and the columns in which a value may be missing.

    `null_groups` has those of them whose missing values the plan declares, so that they are a group of the answer.
    Where values were counted in bins, `bins` has these, and a key without a width groups by them.

    >>> from dproof.spaces import Categories
    >>> Schema("data", {"hobby": Categories(["Cars", "Reading"])}).find("HOBBY")
    'hobby'
    """

    table: str
    spaces: Mapping[str, Space | Open]
    nullable: frozenset[str] = frozenset()
    null_groups: frozenset[str] = frozenset()
    bins: Mapping[str, Bins] = field(default_factory=dict)

    def is_open(self, column: str) -> bool:
        """Whether nobody declared the values of a column."""
        return isinstance(self.spaces[column], Open)

    @property
    def open_columns(self) -> frozenset[str]:
        return frozenset(filter(self.is_open, self.spaces))

    def open_number(self, column: str) -> Fraction:
        """A number that an open column may have, as it may have any that is greater."""
        space = self.spaces[column]
        assert isinstance(space, Open)
        return space.low or Fraction(0)

    def declared(self, column: str) -> Space:
        """The space of a column whose values are declared."""
        space = self.spaces[column]
        assert not isinstance(space, Open)
        return space

    def find(self, column: str, *, gaps: bool = False, curves: bool = False) -> str:
        """The declared column of that name; case matters only where two names differ by nothing else.

        A column of curves is found only by what asks for `curves`, or for those that are missing (`gaps`), where some
        may be.
        """
        same = [known for known in self.spaces if known.casefold() == column.casefold()]
        if column not in self.spaces and len(same) != 1:
            raise QuestionError(f"there is no column {column!r}{did_you_mean(column, self.spaces)}")
        name = column if column in self.spaces else same[0]
        if self.spaces[name].holds_curves and not curves and not (gaps and self.may_be_missing(name)):
            raise QuestionError(_ALONE.format(name))
        return name

    def may_be_missing(self, column: str) -> bool:
        """Whether a value of a declared column may be missing: not there, or a value of its own."""
        return column in self.nullable or self.spaces[column].absent is not None


def as_schema(table: Any) -> Schema:
    """A schema as it is, or from a mapping of each column to its space."""
    if isinstance(table, Schema):
        return table
    columns = mapping(table, "table", "a mapping from each column to its space")
    for column, space in columns.items():
        expect(column, str, "each column of the table", "a name")
        if not isinstance(space, Open) and not getattr(space, "holds_curves", False):
            as_space(space, f"the space of column {column[:40]!r} of the table")
    return Schema("data", columns)


def shown_as(expression: Expression, schema: Schema) -> Space | None:
    """The space whose values an expression has, where these are shown otherwise than as numbers."""
    if not isinstance(expression, Aggregate) or not expression.definition.is_value:
        return None
    space = schema.spaces[expression.columns[0]]
    return schema.declared(expression.columns[0]) if space.has_numbers and not space.has_sums else None


def resolve(question: Question, schema: Schema) -> Question:
    """The question with every name and value checked and spelt as declared.

    >>> from dproof.questions.sql import parse
    >>> from dproof.spaces import Categories
    >>> hobbies = Schema("data", {"hobby": Categories(["Cars", "Reading"])})
    >>> resolve(parse("SELECT count(*) FROM data WHERE hobby = 'Car'"), hobbies)
    Traceback (most recent call last):
    dproof.errors.QuestionError: column 'hobby' has no value 'Car'; did you mean 'Cars'?
    """
    if question.table.casefold() != schema.table.casefold():
        raise QuestionError(f"there is no table {question.table!r}: ask FROM {schema.table}")
    check = partial(_expression, schema=schema)
    checked = replace(
        question,
        table=schema.table,
        select=tuple(replace(item, expression=check(item.expression)) for item in question.select),
        where=_predicate(question.where, schema),
        group_by=tuple(dict.fromkeys(_key(key, schema) for key in question.group_by)),
        having=tuple(replace(test, left=check(test.left), right=check(test.right)) for test in question.having),
        order_by=tuple(replace(order, expression=check(order.expression)) for order in question.order_by),
        unnest=None if question.unnest is None else _unnest(question.unnest, schema),
    )
    keys = (*checked.group_by, *([] if checked.unnest is None else [checked.unnest]))
    if checked.unnest is not None and not aggregates(checked):
        raise QuestionError(f"select an aggregate beside unnest({checked.unnest.column}), such as COUNT(*)")
    if not aggregates(checked) and not keys:
        raise QuestionError("a question asks for aggregates such as COUNT(*) or AVG(age), not for rows")
    for part in (part for expression in expressions(checked) for part in parts_of(expression)):
        if isinstance(part, (Key, Unnest)) and part not in keys:
            raise QuestionError(f"column {part.column!r} is neither in an aggregate nor in GROUP BY")
    _check_curves(checked, schema)
    wholes = [item.expression for item in checked.select] + [order.expression for order in checked.order_by]
    for whole in (*wholes, *(side for test in checked.having for side in (test.left, test.right))):
        check_functions(whole)
    tested = [side for test in checked.having for side in (test.left, test.right)]
    inside = [part for whole in (*wholes, *expressions(checked)) for part in parts_of(whole) if part is not whole]
    if any(shown_as(expression, schema) is not None for expression in (*tested, *inside)):
        raise QuestionError("dates cannot be used in calculations or in HAVING: select them by themselves")
    aliases = [item.alias for item in checked.select]
    for alias in aliases:
        if aliases.count(alias) > 1:
            raise QuestionError(f"two columns of the answer are called {alias!r}: give one another name with AS")
    return checked


def is_curve(expression: Expression, schema: Schema) -> bool:
    """Whether an expression is an aggregate of curves; how many curves there are is a count like any other."""
    if not isinstance(expression, Aggregate) or expression.definition.counts:
        return False
    return any(schema.spaces[column].holds_curves for column in expression.columns)


def asks_for_curves(question: Question, schema: Schema) -> bool:
    """Whether a checked question asks for curves: then for those of one column, and for nothing else."""
    return any(is_curve(aggregate, schema) for aggregate in aggregates(question))


def _check_curves(question: Question, schema: Schema) -> None:
    curves = [aggregate for aggregate in aggregates(question) if is_curve(aggregate, schema)]
    if not curves:
        return
    if question.having or question.order_by or question.limit is not None:
        raise QuestionError("HAVING, ORDER BY and LIMIT do not go with curves: leave them out")
    beside = [i for i in question.select if not isinstance(i.expression, Key) and not is_curve(i.expression, schema)]
    columns = sorted({column for aggregate in curves for column in aggregate.columns})
    if beside or len(columns) > 1:
        raise QuestionError(_ALONE.format(next(column for column in columns if schema.spaces[column].holds_curves)))


def _key(key: Key, schema: Schema) -> Key:
    column = schema.find(key.column)
    if key.width is not None and not (key.width > 0 and schema.spaces[column].has_numbers):
        raise QuestionError(f"BIN needs a column of numbers and a positive width: BIN({column}, {key.width})")
    cases = tuple(replace(case, where=_predicate(case.where, schema)) for case in key.cases)
    if cases and schema.is_open(column):
        raise QuestionError(f"column {column!r} has no declared values, so CASE cannot group by it")
    return Key(column, key.width, cases)


def _unnest(unnest: Unnest, schema: Schema) -> Unnest:
    column = schema.find(unnest.column)
    space = schema.spaces[column]
    if space.items is None:
        raise QuestionError(f"unnest takes a column of sets, and {column!r} is none: group by the column itself")
    items = space.items[: schema.declared(column).candidates]
    return Unnest(column, tuple(item if isinstance(item, (str, bool)) else exact(item) for item in items))


def _expression(expression: Expression, schema: Schema) -> Expression:
    match expression:
        case Key():
            return _key(expression, schema)
        case Unnest():
            return _unnest(expression, schema)
        case Applied(inner=inner):
            return replace(expression, inner=_expression(inner, schema))
        case Arithmetic(operator, left, right):
            return Arithmetic(operator, _expression(left, schema), _expression(right, schema))
        case Aggregate():
            return _aggregate(expression, schema)
        case _:
            return expression


def _aggregate(aggregate: Aggregate, schema: Schema) -> Aggregate:
    definition, argument = aggregate.definition, aggregate.argument
    wanted = {"gaps": definition.counts == "rows", "curves": definition.of_curves}
    columns = tuple(schema.find(column, **wanted) for column in aggregate.columns)
    for column in columns:
        added_up = schema.spaces[column].has_numbers or schema.spaces[column].holds_curves
        if definition.accepts == "numbers" and not added_up:
            raise QuestionError(f"{aggregate.kind.upper()} needs numbers, and column {column!r} has none: COUNT it")
        if definition.shape == "linear" and not definition.counts and not schema.spaces[column].has_sums:
            raise QuestionError(f"column {column!r} has dates, which have no sum: ask for AVG({column})")
        if definition.accepts == "values" and schema.spaces[column].items is not None:
            raise QuestionError(f"column {column!r} holds sets: ask TOP({column}, 1)")
        if definition.accepts == "sets" and schema.spaces[column].items is None:
            raise QuestionError(f"column {column!r} does not hold sets: ask COUNT(DISTINCT {column})")
    if definition.argument_rule is not None:
        holds, advice = definition.argument_rule
        if argument is None or not holds(argument):
            raise QuestionError(advice)
    return replace(aggregate, columns=columns, where=_predicate(aggregate.where, schema))


def _predicate(predicate: Predicate | None, schema: Schema) -> Predicate | None:
    """The condition with every name and value checked, in its one form: two spellings are one question to pay for."""
    return None if predicate is None else normalise(_checked(predicate, schema))


def _checked(predicate: Predicate, schema: Schema) -> Predicate:
    match predicate:
        case And(parts) | Or(parts):
            return type(predicate)(tuple(_checked(part, schema) for part in parts))
        case Not(part):
            return Not(_checked(part, schema))
        case Missing(column):
            return Missing(schema.find(column, gaps=True))
        case Contains(column, item):
            name = schema.find(column)
            if schema.spaces[name].items is None and not schema.is_open(name):
                raise QuestionError(f"column {name!r} does not hold sets: compare it with =")
            return Contains(name, _declared(item, name, schema.spaces[name]))
        case Among(column, values):
            name = schema.find(column)
            return Among(name, tuple(_compared(value, "=", name, schema.spaces[name]) for value in values))
        case Compare(column, operator, value):
            name = schema.find(column)
            return Compare(name, operator, _compared(value, operator, name, schema.spaces[name]))


def _compared(value: Value, operator: Operator, column: str, space: Space | Open) -> Value:
    """A value to compare with: a declared one, or where the order of numbers matters any number."""
    if space.items is not None:
        raise QuestionError(f"column {column!r} holds sets: ask list_contains({column}, {str(value)!r})")
    ordered = operator not in ("=", "<>")
    if ordered and not space.has_order:
        raise QuestionError(f"the values of column {column!r} have no order: compare them with =, <> or IN")
    return _declared(value, column, space, ordered=ordered)


def _declared(value: Value, column: str, space: Space | Open, *, ordered: bool = False) -> Value:
    """A value that the column may have, or where its order matters one between them."""
    why = space.refusal(value, ordered=ordered)
    if why is not None:
        raise QuestionError(f"column {column!r} {why}")
    return value
