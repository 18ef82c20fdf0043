"""Questions as text, in one form: what a ledger keeps, a cache compares and a person reads.

The text is SQL of the closed grammar itself, so it parses back to the same question.
"""

from __future__ import annotations

from dproof.columns.column import quoted, text_literal
from dproof.exact import decimals
from dproof.questions.question import (
    Aggregate,
    Among,
    And,
    Applied,
    Arithmetic,
    Case,
    Compare,
    Contains,
    Expression,
    Key,
    Missing,
    Not,
    Number,
    Or,
    Predicate,
    Question,
    Unnest,
    Value,
    aggregates,
    normal,
)  # fmt: skip

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
