"""Conditions on the rows of a table: comparisons of columns with values, joined by AND, OR and NOT."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

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
    """The same predicate with NOT only on IN, list_contains and IS NULL, and nested AND and OR made flat.

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
