"""A question on a table: the one closed grammar that a curator and a release both answer, and its one form as text.

A question is a value, not a text. What is not in these classes cannot be asked, so nothing that a user writes ever
reaches an engine that holds rows. HLM15, section 2.2.

First conditions on rows: comparisons of columns with values, joined by AND, OR and NOT; then what is asked of them;
then the text that a ledger keeps, a cache compares and a person reads. It is SQL of the grammar itself, so it parses
back to the same question.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

from dproof.columns.column import quoted, text_literal
from dproof.errors import QuestionError
from dproof.exact import decimals
from dproof.questions.aggregates import AGGREGATES, Definition

Value: TypeAlias = str | bool | Fraction
Operator = Literal["=", "<>", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Compare:
    """column operator value; a missing value satisfies no comparison."""

    column: str
    operator: Operator
    value: Value


@dataclass(frozen=True, slots=True)
class Among:
    """column IN (values)."""

    column: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Contains:
    """list_contains(column, item): the set of this row has the item."""

    column: str
    item: Value


@dataclass(frozen=True, slots=True)
class Missing:
    """column IS NULL."""

    column: str


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: Predicate


Leaf: TypeAlias = Compare | Among | Contains | Missing
Atom: TypeAlias = Leaf | Not  # in the normal form
Predicate: TypeAlias = Leaf | And | Or | Not


_OPPOSITE: dict[Operator, Operator] = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def normal(predicate: Predicate, *, negated: bool = False) -> Predicate:
    """A predicate in normal form: NOT only on IN, list_contains and IS NULL, and nested AND and OR made flat.

    A comparison and its negation are false of a missing value: this form keeps SQL's three-valued meaning.

    >>> normal(Not(And((Compare("age", "<", Fraction(3)), Missing("sex")))))
    Or(parts=(Compare(column='age', operator='>=', value=Fraction(3, 1)), Not(part=Missing(column='sex'))))
    """
    match predicate:
        case Compare(column, operator, value):
            return Compare(column, _OPPOSITE[operator], value) if negated else predicate
        case Not(part):
            return normal(part, negated=not negated)
        case And(parts) | Or(parts):
            joiner = Or if isinstance(predicate, And) == negated else And
            flat: list[Predicate] = []
            for part in parts:
                reduced = normal(part, negated=negated)
                flat.extend(reduced.parts if isinstance(reduced, joiner) else [reduced])
            return flat[0] if len(flat) == 1 else joiner(tuple(flat))
        case _:
            return Not(predicate) if negated else predicate


def both(left: Predicate | None, right: Predicate | None) -> Predicate | None:
    """The conjunction, where None is no condition at all."""
    if left is None or right is None:
        return right if left is None else left
    return normal(And((left, right)))


def atoms(predicate: Predicate | None) -> Iterator[Atom]:
    """What a predicate joins by AND and OR, from left to right."""
    if isinstance(predicate, (And, Or)):
        for part in predicate.parts:
            yield from atoms(part)
    elif predicate is not None:
        yield predicate


def leaves(predicate: Predicate | None) -> Iterator[Leaf]:
    """The atomic conditions of a predicate, from left to right."""
    for atom in atoms(predicate):
        if isinstance(atom, Not):
            yield from leaves(atom.part)
        else:
            yield atom


_OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


@dataclass(frozen=True, slots=True)
class Number:
    value: Fraction


@dataclass(frozen=True, slots=True)
class Case:
    """One WHEN .. THEN .. of a CASE; without a condition its ELSE."""

    where: Predicate | None
    label: Value | None


@dataclass(frozen=True, slots=True)
class Key:
    """What groups are made of: the value of a column, or with a width its bin [k·width, (k+1)·width).

    With `cases` it is the label of the first one whose condition on the column holds; the last has none.
    """

    column: str
    width: Fraction | None = None
    cases: tuple[Case, ...] = ()


@dataclass(frozen=True, slots=True)
class Unnest:
    """The items of a column of sets: a row belongs to the group of each item that its set has."""

    column: str
    items: tuple[Value, ...] = ()  # as declared


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


@dataclass(frozen=True, slots=True)
class Applied:
    """A function of what was answered, such as ROUND(.., 2); also + − × ÷ with a number, around such a function.

    `place` is where the answer stands among the arguments, and `numbers` are the others.
    """

    function: str
    inner: Expression
    numbers: tuple[Fraction, ...] = ()
    place: int = 0


Expression: TypeAlias = Number | Key | Unnest | Aggregate | Arithmetic | Applied


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
    """SELECT .. FROM .. WHERE .. GROUP BY .. HAVING (all of the tests) ORDER BY .. LIMIT ..

    `unnest` has the items that rows are grouped by as well, if they are.
    """

    table: str
    select: tuple[Item, ...]
    where: Predicate | None = None
    group_by: tuple[Key, ...] = ()
    having: tuple[Test, ...] = ()
    order_by: tuple[Order, ...] = ()
    limit: int | None = None
    unnest: Unnest | None = None


def parts_of(expression: Expression) -> Iterator[Number | Key | Unnest | Aggregate]:
    """The numbers, keys and aggregates that an expression computes with, from left to right."""
    if isinstance(expression, Arithmetic):
        yield from parts_of(expression.left)
        yield from parts_of(expression.right)
    elif isinstance(expression, Applied):
        yield from parts_of(expression.inner)
    else:
        yield expression


def aggregates_of(expression: Expression) -> tuple[Aggregate, ...]:
    """The aggregates among these."""
    return tuple(part for part in parts_of(expression) if isinstance(part, Aggregate))


def evaluate(
    expression: Expression, aggregate: Callable[[Aggregate], Any], number: Callable[[Fraction], Any] = np.float64
) -> Any:
    """The value of an expression, from those of its aggregates and numbers: anything that can be calculated with.

    >>> half = Arithmetic("/", Aggregate("count"), Number(Fraction(2)))
    >>> float(evaluate(half, lambda aggregate: 7))
    3.5
    """
    match expression:
        case Number(value):
            return number(value)
        case Aggregate():
            return aggregate(expression)
        case Arithmetic(sign, left, right):
            x, y = evaluate(left, aggregate, number), evaluate(right, aggregate, number)
            with np.errstate(all="ignore"):
                return _OPERATIONS[sign](x, y)
        case Applied():
            raise QuestionError("a function such as ROUND goes around a whole calculation, and not around a part of it")
        case Key(column) | Unnest(column):
            raise QuestionError(f"column {column!r} is a group and cannot be calculated with: select it by itself")


def expressions(question: Question) -> Iterator[Expression]:
    """Every expression that is measured: of what is selected, tested and ordered by; for each item by itself."""
    wholes = [item.expression for item in question.select]
    wholes += [side for test in question.having for side in (test.left, test.right)]
    wholes += [order.expression for order in question.order_by]
    for whole in wholes:
        yield from measured_parts(whole, question.unnest)


def measured_parts(expression: Expression, unnest: Unnest | None) -> list[Expression]:
    """What is measured to tell an expression: without functions around it, and once for each item of sets."""
    while isinstance(expression, Applied):
        expression = expression.inner
    if unnest is None or not aggregates_of(expression):
        return [expression]
    return [_of_item(expression, Contains(unnest.column, item)) for item in unnest.items]


def _of_item(expression: Expression, has: Contains) -> Expression:
    match expression:
        case Aggregate(where=where):
            return replace(expression, where=both(where, has))
        case Arithmetic(sign, left, right):
            return Arithmetic(sign, _of_item(left, has), _of_item(right, has))
        case _:
            return expression


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
    needed = [frozenset(columns(part)) for part in alone if aggregates(part)]
    return list(dict.fromkeys(needed)) or [frozenset(columns(question))]


name = quoted  # an identifier


def literal(value: Value) -> str:
    """A value as SQL: a string in quotes, a number in decimals where it has finitely many.

    >>> from fractions import Fraction
    >>> literal("it's"), literal(Fraction(-1, 8)), literal(Fraction(1, 3)), literal(True)
    ("'it''s'", '-0.125', '1/3', 'TRUE')
    """
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return text_literal(value)
    return decimals(value)


def normalise(predicate: Predicate) -> Predicate:
    """The one form of a predicate: flat, the parts of AND and OR in alphabetical order, none twice.

    It is made from the inside out, so that what collapses to a single part is flat where it then stands. The form of a
    form is itself, and two forms are equal where their texts are: a ledger may know a question by its text.

    >>> from fractions import Fraction
    >>> x, y, z = (Compare(column, "=", Fraction(1)) for column in "xyz")
    >>> normalise(And((Or((And((x, y)), And((y, x)))), z))) == normalise(And((z, y, x))) == And((x, y, z))
    True
    """
    return _ordered(normal(predicate))


def _ordered(predicate: Predicate) -> Predicate:
    match predicate:
        case Among(column, values):
            return Among(column, tuple(value for _, value in sorted({literal(v): v for v in values}.items())))
        case Not(part):
            return Not(_ordered(part))
        case And(parts) | Or(parts):
            joiner = type(predicate)
            by_text: dict[str, Predicate] = {}
            for part in map(_ordered, parts):
                for piece in part.parts if isinstance(part, joiner) else (part,):
                    by_text[_written(piece)] = piece
            ordered = tuple(by_text[text] for text in sorted(by_text))
            return ordered[0] if len(ordered) == 1 else joiner(ordered)
        case _:
            return predicate


def condition(predicate: Predicate) -> str:
    """A predicate as text, in its one form."""
    return _written(normalise(predicate))


def _written(predicate: Predicate) -> str:
    match predicate:
        case Compare(column, operator, value):
            return f"{name(column)} {operator} {literal(value)}"
        case Among(column, values):
            return f"{name(column)} IN ({', '.join(map(literal, values))})"
        case Contains(column, item):
            return f"list_contains({name(column)}, {literal(item)})"
        case Missing(column):
            return f"{name(column)} IS NULL"
        case Not(part):
            return f"NOT {_written(part)}"
        case And(parts) | Or(parts):
            return f"({(' AND ' if isinstance(predicate, And) else ' OR ').join(map(_written, parts))})"


def expression(part: Expression) -> str:
    """An expression in full parentheses."""
    match part:
        case Number(value):
            return literal(value)
        case Key(column, None, ()):
            return name(column)
        case Key(cases=(*cases, default)):
            whens = " ".join(f"WHEN {condition(case.where)} THEN {_label(case)}" for case in cases if case.where)
            return f"CASE {whens} ELSE {_label(default)} END"
        case Key(column, width):
            assert width is not None
            return f"bin({name(column)}, {literal(width)})"
        case Arithmetic(operator, left, right):
            return f"({expression(left)} {operator} {expression(right)})"
        case Aggregate(_, columns, argument, where):
            definition = part.definition
            function, is_written = definition.name_of(argument)
            inside = ", ".join(name(column) for column in columns) or "*"
            inside = f"unnest({inside})" if definition.of_items else inside
            if is_written and argument is not None:
                inside += f", {literal(argument)}"
            text = f"{function}({'DISTINCT ' if definition.counts == 'values' else ''}{inside})"
            return text if where is None else f"{text} FILTER (WHERE {condition(where)})"
        case Unnest() | Applied():
            raise AssertionError("items and functions are not measured: see `measured_parts`")


def _label(case: Case) -> str:
    return "NULL" if case.label is None else literal(case.label)


def canonical(question: Question) -> str:
    """What a question measures on the rows, whatever it then computes, tests, sorts or cuts off from that.

    Two questions with one canonical form are answered by the same numbers: aliases, arithmetic, HAVING,
    ORDER BY and LIMIT only work on what was measured, which costs nothing more (the sheet, post-processing).

    >>> from dproof.questions.sql import parse
    >>> canonical(parse("SELECT count(*) / 2 AS half FROM data WHERE NOT age < 3 GROUP BY sex LIMIT 1"))
    'SELECT "sex", count(*) FROM data WHERE "age" >= 3 GROUP BY "sex"'
    """
    keys = sorted({expression(key) for key in question.group_by})
    measured = sorted({expression(aggregate) for aggregate in aggregates(question)})
    text = f"SELECT {', '.join(keys + measured)} FROM {question.table}"
    if question.where is not None:
        text += f" WHERE {condition(question.where)}"
    return f"{text} GROUP BY {', '.join(keys)}" if keys else text
