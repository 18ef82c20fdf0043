"""Global sensitivity with its evidence: how far one row can move an answer, and the two tables that show it.

Δf = sup over neighbouring tables of ‖f(D₁) − f(D₂)‖. The sheet, sections 2 and 3; HLM15, section 2.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

from dproof.arguments import choice, listed, whole
from dproof.errors import InputError
from dproof.exact import int_or_float
from dproof.privacy import Neighbours
from dproof.questions.aggregates import Rank
from dproof.questions.building import Asked, Select, as_question
from dproof.questions.distinct import values_of
from dproof.questions.effects import Coordinate, Effects, Grouped, effects
from dproof.questions.question import (
    Aggregate,
    Applied,
    Arithmetic,
    Expression,
    Number,
    Question,
    aggregates_of,
    measured_parts,
)  # fmt: skip
from dproof.questions.regions import MISSING, grouping
from dproof.questions.schema import Open, Schema, as_schema, resolve
from dproof.questions.sums import Term, present, terms, whole_scale
from dproof.spaces import Space

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Witness:
    """Two neighbouring tables and how far apart their answers are."""

    before: tuple[Row, ...]
    after: tuple[Row, ...]
    distance: Fraction


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How far one row can move an answer; None is infinitely far.

    `l1` is Σ|Δ| and `l2_squared` is Σ Δ², each at its largest. `kind` is "exact" with a witness that attains it,
    "bound" where only an upper bound is known, or "declared" where a user said so. An infinite one has witnesses
    whose distance grows without end.
    """

    neighbours: Neighbours
    l1: Fraction | None
    l2_squared: Fraction | None
    kind: Literal["exact", "bound", "declared"]
    witnesses: tuple[Witness, ...] = ()

    @property
    def witness(self) -> Witness | None:
        return self.witnesses[0] if self.witnesses else None


def sensitivity(
    asked: Asked | Sequence[Asked],
    table: Schema | Mapping[str, Space | Open],
    neighbours: Neighbours = "change-one",
    *,
    rows: int = 1,
) -> Sensitivity:
    """The global sensitivity of one question, or of several that are answered together.

    `rows` matters for a mean alone: the public number of rows (change-one), or the least there can be (add-remove).

    >>> from dproof.spaces import Categories
    >>> survey = {"gender": Categories(["Male", "Female"]), "books": Categories(range(8))}
    >>> genders = sensitivity("SELECT gender, count(*) FROM data GROUP BY gender", survey, "add-remove")
    >>> genders.l1, genders.witness.before, genders.witness.after
    (Fraction(1, 1), (), ({'gender': 'Male'},))
    """
    schema = as_schema(table)
    choice(neighbours, get_args(Neighbours), "neighbours")
    whole(rows, "rows", 1)  # the empty table has no mean
    several = [asked] if isinstance(asked, (str, Question, Select)) else listed(asked, "asked", "one or more questions")
    if not several:
        raise InputError("asked must be one or more questions, and there is none")
    return sensitivity_of(
        [resolve(as_question(one, schema.table), schema) for one in several], schema, neighbours, rows
    )


def sensitivity_of(questions: Sequence[Question], schema: Schema, neighbours: Neighbours, rows: int) -> Sensitivity:
    """The same for questions that are checked already."""
    wholes = [(n, item.expression) for n, question in enumerate(questions) for item in question.select]
    if any(isinstance(expression, Applied) for _, expression in wholes):
        raise InputError("ROUND and the like are applied after the noise: ask for the sensitivity of what is inside")
    items = [(n, part) for n, whole in wholes for part in measured_parts(whole, questions[n].unnest)]
    measured = [(n, expression) for n, expression in items if aggregates_of(expression)]
    for _, expression in measured:
        for column in _unbounded(expression, schema):
            return _infinite(column, schema, neighbours)
    if len(measured) == 1 and isinstance(measured[0][1], Aggregate):
        alone = _alone(measured[0][1], questions[0], schema, neighbours, rows)
        if alone is not None:
            return alone
    coordinates = [Coordinate(n, _combination(expression, schema)) for n, expression in measured]
    found = effects(schema, [Grouped(q.where, q.group_by) for q in questions], coordinates)
    return _of_effects(found, schema, neighbours)


def _of_effects(row_effects: Effects, schema: Schema, neighbours: Neighbours) -> Sensitivity:
    l1, pair, exact = row_effects.largest(neighbours)
    l2_squared, _, also = row_effects.largest(neighbours, power=2)
    witnesses: tuple[Witness, ...] = ()
    if pair is not None:
        before, after = (_row(row_effects.records[n], schema) for n in pair)
        witnesses = (Witness(() if neighbours == "add-remove" else (before,), (after,), l1),)
    return Sensitivity(neighbours, l1, l2_squared, "exact" if exact and also else "bound", witnesses)


def _row(codes: dict[str, int], schema: Schema) -> Row:
    """A row of declared values, None for what is not there, in the order of the table's columns."""
    row: Row = {}
    for column, space in schema.spaces.items():
        if column in codes:
            known = not schema.is_open(column) and codes[column] != MISSING
            curve = space.holds_curves
            row[column] = None if not known else "a curve" if curve else schema.declared(column).label(codes[column])
    return row


def _combination(expression: Expression, schema: Schema) -> tuple[tuple[Fraction, Term], ...]:
    """An expression as Σ coefficient · term; a constant moves nothing."""
    match expression:
        case Aggregate() if expression.definition.sums and expression.definition.shape == "linear":
            return tuple((term.unit(schema), term) for term in terms(expression, schema))
        case Number():
            return ()
        case Arithmetic("+" | "-" as operator, left, right):
            sign = 1 if operator == "+" else -1
            return *_combination(left, schema), *((sign * w, term) for w, term in _combination(right, schema))
        case Arithmetic("*", Number(factor), other) | Arithmetic("*", other, Number(factor)):
            return tuple((factor * weight, term) for weight, term in _combination(other, schema))
        case Arithmetic("/", other, Number(divisor)) if divisor:
            return tuple((weight / divisor, term) for weight, term in _combination(other, schema))
    raise InputError(
        "together or in a calculation only counts and sums have a known sensitivity: ask for means, quantiles, "
        "ratios one by one; a curator answers them from counts, sums and ranks"
    )


def _unbounded(expression: Expression, schema: Schema) -> list[str]:
    asked = [part for part in aggregates_of(expression) if part.definition.counts != "rows"]
    return [column for part in asked for column in part.columns if schema.is_open(column)]


def _infinite(column: str, schema: Schema, neighbours: Neighbours) -> Sensitivity:
    """Without a bound on the column, one row moves the answer as far as it likes. The sheet, exercise 2.1."""
    low = schema.open_number(column)
    witnesses = []
    for reach in (10, 100, 1000):
        near, far = {column: low}, {column: low + reach}
        after = (near,) if neighbours == "change-one" else (far, near)
        witnesses.append(Witness((far,), after, Fraction(reach)))
    return Sensitivity(neighbours, None, None, "exact", tuple(witnesses))


def _alone(
    aggregate: Aggregate, question: Question, schema: Schema, neighbours: Neighbours, rows: int
) -> Sensitivity | None:
    """Statistics that are no sums over rows but have a sensitivity in closed form, when asked alone."""
    definition = aggregate.definition
    if definition.counts == "values":
        groups = max((len(grouping(key, schema).labels) for key in question.group_by), default=1)
        moved = 2 if groups > 1 and neighbours == "change-one" else 1
        held = values_of(aggregate, schema) if definition.of_items else 1
        return Sensitivity(neighbours, Fraction(moved * held), Fraction(moved * held**2), "bound")
    if definition.shape != "mean" and not isinstance(definition.chosen, Rank):
        return None
    if question.group_by:
        raise InputError(f"the sensitivity of {aggregate.kind.upper()} is known for one group at a time")
    column = aggregate.columns[0]
    scale = whole_scale(schema.spaces[column], False)
    filtered = question.where is not None or present(aggregate, schema) is not None
    n = rows if definition.chosen is None and not filtered else 1
    share = Fraction(1) if definition.chosen is not None else Fraction(1, n + (neighbours == "add-remove"))
    least, most = map(scale.value, scale.ends)
    distance = (most - least) * share
    bottom, top = {column: int_or_float(least)}, {column: int_or_float(most)}
    before = (bottom,) * n
    after = (*before, top) if neighbours == "add-remove" else (*before[1:], top)
    if definition.chosen == Rank("least"):
        before, after = (top,), ((top, bottom) if neighbours == "add-remove" else (bottom,))
    elif definition.chosen == Rank():
        return Sensitivity(neighbours, distance, distance**2, "bound")
    return Sensitivity(neighbours, distance, distance**2, "exact", (Witness(before, after, distance),))
