"""Bins for numbers, chosen by the conditions of a plan's [[questions]]."""

from __future__ import annotations

from typing import Any

from dproof.plans.plan import Plan
from dproof.plans.questions import checked_question
from dproof.plans.schema import schema_of
from dproof.questions.partition import cut
from dproof.questions.question import Question, aggregates, columns
from dproof.questions.schema import Schema

_MOST = 40  # bins; with more of them counts are no sharper than conditions under noise


def question_bins(plan: Plan) -> dict[str, list[Any]]:
    """The edges that make every condition of the questions a count, for each number without bins that has conditions
    and of which no question needs more than counts.

    >>> hours = {"space": "interval", "low": 1, "high": 99, "step": 1}
    >>> asked = [{"sql": "SELECT count(*) FROM release WHERE hours = 40"}]
    >>> plan = Plan.from_dict({"privacy": {"epsilon": 1}, "columns": {"hours": hours}, "questions": asked})
    >>> question_bins(plan)
    {'hours': [1, 40, 41, 99]}
    """
    asked = [checked_question(one.sql, plan.columns) for one in plan.questions]
    summed = {column for question in asked for aggregate in aggregates(question) for column in aggregate.columns}
    found, schema = {}, schema_of(plan, "release")
    for group in plan.groups:
        column, *joined = group.columns
        own = [question for question in asked if column.name in columns(question)]
        free = column.bins is None and not joined and group.mechanism == "auto" and column.name not in summed
        if free and own and column.space.line is not None and (edges := _edges(own, column.name, schema)):
            found[column.name] = edges
    return found


def _edges(asked: list[Question], name: str, schema: Schema) -> list[Any]:
    """The edges at which some condition or group of a column begins; none where these are no bins."""
    space = schema.declared(name)
    values = space.present or space
    starts = {0}
    for question in asked:
        wheres = [question.where, *(aggregate.where for aggregate in aggregates(question))]
        keys = [key for key in question.group_by if key.column == name]
        if any(key.width is None for key in keys):
            return []  # every value by itself
        axis = next(axis for axis in cut(schema, wheres, keys, [name]).axes if axis.column == name)
        starts |= {int(start) for start in axis.first if 0 <= start < values.size}
    # The last bin has the high end as its upper edge, so that cannot be the lower edge of another.
    if not 1 < len(starts) <= _MOST or values.size - 1 in starts:
        return []
    return [values.label(code) for code in (*sorted(starts), values.size - 1)]
