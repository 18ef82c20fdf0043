"""What a plan gives where every row answers for all columns, and where it answers for one thing: both, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from dproof.advice.advise import expected_width
from dproof.errors import InputError
from dproof.local.recipe import RowLaw, certify_row
from dproof.plans.plan import Plan
from dproof.plans.questions import checked_question
from dproof.plans.schema import schema_of
from dproof.questions.measured import possible_columns
from dproof.questions.question import Compare, Contains, Item, Predicate, Question, aggregates, aggregates_of
from dproof.questions.schema import asks_for_curves, resolve
from dproof.questions.sql import Select


def both_spreads(law: RowLaw, rows: int | None) -> dict[str, Any]:
    """Which spread was chosen and, with a number of rows, ± of each column and each planned question under both.

    >>> column = {"space": "categories", "values": ["yes", "no"]}
    >>> plan = {"privacy": {"epsilon": 1, "spread": "auto"}, "columns": dict.fromkeys("abcd", column)}
    >>> found = both_spreads(certify_row(Plan.of(plan)), 10_000)
    >>> found["chosen"], {name: round(width) for name, width in found["columns"][0].items() if name != "name"}
    ('sample', {'split': 782, 'sample': 451})
    """
    plan, chosen = law.plan, "split" if law.weights is None else "sample"
    told: dict[str, Any] = {"asked": plan.spread, "chosen": chosen, "things": len(law.groups), "columns": []}
    if rows is None:
        return {**told, "questions": []}
    laws = {spread: law if spread == chosen else _other(plan, spread) for spread in ("split", "sample")}

    def widths(question: Question, item: Item) -> dict[str, float | None]:
        return {
            spread: None if each is None else expected_width(each, question, item, rows)
            for spread, each in laws.items()
        }

    for column in plan.columns:
        if column.private and not column.space.holds_curves:
            usual = _count_or_mean(plan, column.name)
            told["columns"].append({"name": column.name, **widths(usual, usual.select[0])})
    questions = [
        _judged(plan, rows, question, {"question": sql, "column": item.alias, **widths(question, item)})
        for sql, question, item in _answers(plan)
    ]
    return {**told, "questions": questions}


def _other(plan: Plan, spread: Any) -> RowLaw | None:
    """The law under the other spread; None where there is none, as for columns that are joined more than once."""
    names = [name for group in plan.groups for name in group.names]
    if spread == "split" and len(set(names)) < len(names):
        return None
    with suppress(InputError):
        return certify_row(replace(plan, spread=spread))
    return None


def _count_or_mean(plan: Plan, column: str) -> Question:
    """The count of the first value, item or bin of a column, or its mean."""
    space, schema = plan.column(column).space, schema_of(plan, "release")
    if column in schema.bins:
        condition: Predicate = Compare(column, "<", space.label(schema.bins[column].starts[1]))
    elif space.items is not None:
        condition = Contains(column, space.candidate(0))
    elif space.is_counted:
        condition = Compare(column, "=", space.candidate(0))
    else:
        return resolve(replace(Select().mean(column).question(), table=schema.table), schema)
    counted = resolve(replace(Select().count().question(), table=schema.table), schema)
    return replace(counted, where=condition)


def _judged(plan: Plan, rows: int, question: Question, told: dict[str, Any]) -> dict[str, Any]:
    """What is told of an answer, with whether each ± would leave out anything that is possible."""
    reach = possible_columns(question, schema_of(plan, "release"), rows)[told["column"]]
    return {**told, "informative": {spread: reach.is_narrowed_by(told[spread]) for spread in ("split", "sample")}}


def _answers(plan: Plan) -> Iterator[tuple[str, Question, Item]]:
    """Every answer of the planned questions, but for those whose ± depends on the data."""
    schema = schema_of(plan, "release")
    for planned in plan.questions:
        parsed = replace(checked_question(planned.sql, plan.columns), table=schema.table)
        with suppress(InputError):
            resolved = resolve(parsed, schema)
            if asks_for_curves(resolved, schema) or any(a.definition.formula is None for a in aggregates(resolved)):
                continue
            for item in resolved.select:
                if aggregates_of(item.expression):
                    yield planned.sql, resolved, item
