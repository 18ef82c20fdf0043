"""What a draft of a plan would give: ± of a local release, of a central one and of asking, side by side.

All of it follows from the draft and a number of rows: no data is opened.
"""

from __future__ import annotations

import os
import tomllib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from math import isfinite
from typing import Any

from dproof.advice.expect import Expected, expect, expected_of_release, law_of, usual_question
from dproof.advice.plan_advice import plan_advice
from dproof.arguments import expect as expect_kind
from dproof.arguments import whole
from dproof.central import expectation as central_expectation
from dproof.central.recipe import TableLaw, certify_tables
from dproof.errors import ArgumentError, InputError
from dproof.exact import exact, least_whole
from dproof.local.recipe import RowLaw, certify_row
from dproof.meaning import explain
from dproof.plans.plan import Plan, schema_of
from dproof.plans.questions import PlannedQuestion, checked_question
from dproof.privacy import Privacy
from dproof.questions.answer import Range
from dproof.questions.measured import possible_columns

WAYS = ("local", "central", "ask")
Draft = Mapping[str, Any]
# By a question and the column of its answer, and of a rare group; "" is the usual question.
Widths = dict[tuple[str, ...], float | None]
_RARE = "rare"
_MOST_ROWS = 10**15
_LOCAL_KEYS = ("share", "mechanism")
_CENTRAL = {"tables": 2, "sums": True}  # what is compared with a local release, where no questions choose it
# Two digits each, from 0.05 on: the laws of smaller ones take long to make.
_EPSILONS = [Decimal(n).scaleb(e) for e in (-3, -2, -1) for n in range(10, 100) if (n, e) >= (50, -3) or e > -3]


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to answer: ± of the usual question about some columns, and of some questions, under a draft."""

    draft: Callable[[Draft], Draft]
    widths: Callable[[Plan, int, Sequence[str], Sequence[str]], Widths]


def compare_ways(plan: Plan | str | os.PathLike[str] | Draft, *, rows: int) -> dict[str, Any]:
    """The plan that a draft makes, and ± of what it would answer about so many rows, each way.

    A way that the plan does not allow has a sentence in `refused`. ± is None where it depends on the data, or where a
    central release would not measure it. Of each column it is that of the usual question: the count of one value, or
    the mean of a number without bins. `informative` has False where an answer would tell nothing.
    """
    (draft, plan), rows = _draft(plan), whole(rows, "rows", 1, _MOST_ROWS)
    names, asked = [column.name for column in plan.columns if column.private], [one.sql for one in plan.questions]
    refused: dict[str, str] = {}
    found = {way: _tried(way, draft, rows, names, asked, refused) for way in WAYS}
    keys = dict.fromkeys(key[:2] for widths in found.values() for key in widths if key[0])
    ranges = _ranges(plan, rows, names)

    def told(key: tuple[str, ...]) -> dict[str, Any]:
        widths = {way: found[way].get(key) for way in WAYS}
        reach = ranges.get(key, Range())
        informative = {way: reach.is_narrowed_by(width) for way, width in widths.items()}
        widths = {way: None if width is None or not isfinite(width) else width for way, width in widths.items()}
        rare = {way: found[way][*key, _RARE] for way in WAYS if (*key, _RARE) in found[way]}
        return {**widths, "informative": informative, **({"rare": rare} if rare else {})}

    costs = _costs(plan, rows)
    return {
        "plan": plan.text,
        "model": plan.model,
        "rows_per_person": plan.rows_per_person,
        "rows": rows,
        "columns": [
            {
                "name": name,
                "what": "mean" if plan.column(name).is_averaged else "count",
                # A mean of what cannot be added up is one of dates.
                "unit": "days" if plan.column(name).is_averaged and not plan.column(name).space.has_sums else None,
                "share": costs["shares"].get(name),
                **told(("", name)),
            }
            for name in names
        ],
        "questions": [{"question": key[0], "column": key[1], **told(key)} for key in keys],
        "refused": refused,
        "verdict": costs["verdict"],
        "advice": costs["advice"],
        "meaning": explain(
            costs.get("person", plan.promise(plan.rows_per_person)), rows_per_person=plan.rows_per_person
        ),
    }


def least_epsilon(
    plan: Plan | str | os.PathLike[str] | Draft, *, rows: int, question: str, column: str, half_width: Any
) -> dict[str, Any]:
    """The least ε, of 0.05 to 9.9, with which one answer is right to ± the half-width, each way; None if there is none.

    The answer is a column of one of the draft's questions; with the question "" it is the usual one about a column.
    """
    wanted, (draft, plan) = exact(half_width, "the half-width"), _draft(plan)
    rows = whole(rows, "rows", 1, _MOST_ROWS)
    expect_kind(question, str, "question", "a question of the plan, or an empty text")
    expect_kind(column, str, "column", "the name of a column")
    if wanted <= 0:
        raise ArgumentError("the half-width must be positive")
    if question not in ("", *(one.sql for one in plan.questions)):
        raise ArgumentError("that question is not one of the plan's")
    if not question:
        plan.column(column)
    names, asked = ([], [question]) if question else ([column], [])
    refused: dict[str, str] = {}

    def width_at(way: str, epsilon: Any) -> float | None:
        priced = {**draft, "privacy": {**draft["privacy"], "epsilon": str(epsilon)}}
        return _tried(way, priced, rows, names, asked, refused).get((question, column))

    def enough(way: str, place: int) -> bool:
        if not 0 <= place < len(_EPSILONS):
            return place > 0
        width = width_at(way, _EPSILONS[place])
        return width is not None and width <= wanted

    found: dict[str, str | None] = {}
    for way in WAYS:
        now = width_at(way, plan.privacy.epsilon)  # ± is about as many times larger as ε is smaller: begin there
        first = Fraction(now) if now and isfinite(now) else wanted  # where nothing would be known, the plan's own ε
        near = bisect_left(_EPSILONS, plan.privacy.epsilon * first / wanted)
        place = least_whole(partial(enough, way), min(near, len(_EPSILONS) - 1))
        found[way] = f"{_EPSILONS[place].normalize():f}" if place < len(_EPSILONS) else None
        if found[way] is not None:
            refused.pop(way, None)  # too small an ε is refused, too
    return {"epsilon": found, "refused": refused}


def _draft(plan: Any) -> tuple[Draft, Plan]:
    """A plan as nested mappings, and as it is read."""
    chosen = Plan.of(plan)
    return plan if isinstance(plan, Mapping) else tomllib.loads(chosen.text), chosen


def _tried(
    way: str, draft: Draft, rows: int, names: Sequence[str], asked: Sequence[str], refused: dict[str, str]
) -> Widths:
    """± one way, or a sentence in `refused`."""
    try:
        plan = Plan.from_dict(_WAYS[way].draft(draft))
        return _WAYS[way].widths(plan, rows, names, asked)
    except InputError as error:
        refused[way] = getattr(error, "sentence", str(error))
        return {}


# What an answer can be at all ----------------------------------------------------------------------------------------


def _ranges(plan: Plan, rows: int, names: Sequence[str]) -> dict[tuple[str, ...], Range]:
    """All values that the answers can have: to the usual question about each column, and to the plan's questions.

    Those about curves are left out: a band that is too wide at one point may still tell something at another.
    """
    private = [column for column in plan.kept if column.private]
    curves = {column.name for column in private if column.space.holds_curves}
    schema, counts = schema_of(plan), Range(Fraction(0), Fraction(rows))
    found: dict[tuple[str, ...], Range] = {
        ("", name): Range(*schema.spaces[name].ends) if plan.column(name).is_averaged else counts
        for name in names
        if name not in curves
    }
    for sql in (one.sql for one in plan.questions):
        asked = checked_question(sql, plan.columns)
        if not curves.isdisjoint(asked.columns):
            continue
        found |= {(sql, alias): reach for alias, reach in possible_columns(asked, schema, rows).items()}
    return found


# What is sanitised row by row ----------------------------------------------------------------------------------------


def _local_draft(draft: Draft) -> Draft:
    if _model(draft) == "local":
        return draft
    return {**_without_model(draft), "privacy": {**_promise(draft), "neighbours": "change-one"}}


def _release_widths(plan: Plan, rows: int, names: Sequence[str], asked: Sequence[str]) -> Widths:
    """± of the usual question about each column, and of some questions, from a release by the plan's own model."""
    law, shares = law_of(plan), {one.sql: one.share_of_rows for one in plan.questions}
    answers = [
        one
        for sql in asked
        for one in expected_of_release(law, PlannedQuestion(sql, Fraction(1), shares.get(sql)), rows)
    ]
    kept = {column.name for column in plan.kept}
    found: Widths = {}
    for name in (name for name in names if name in kept):
        with suppress(InputError):  # a central release does not measure it
            (one,) = expected_of_release(law, PlannedQuestion(usual_question(plan, name), Fraction(1)), rows)
            found["", name] = one.widths and one.widths.typical
    return found | _of_questions(answers)


def _of_questions(answers: Iterable[Expected]) -> Widths:
    found: Widths = {(one.question, one.column): one.widths and one.widths.typical for one in answers}
    rare = {(one.question, one.column): one.rare for one in answers if one.rare is not None}
    return found | {(*key, _RARE): width if isfinite(width) else None for key, width in rare.items()}


# What is measured of the whole table ---------------------------------------------------------------------------------


def _central_draft(draft: Draft) -> Draft:
    if _model(draft) == "central":
        return draft
    given, columns = _without_model(draft), dict(draft.get("columns", {}))
    needed = set(columns) if not draft.get("questions") else _needed(draft)
    kept = {name: _kept(table) if name in needed else {"drop": True} for name, table in columns.items()}
    more = {} if draft.get("questions") else {"release": _CENTRAL}
    return {**given, **more, "columns": kept, "privacy": {**_promise(draft), "model": "central"}}


def _kept(table: Draft) -> Draft:
    return {"drop": True} if table.get("public") else {k: v for k, v in table.items() if k not in _LOCAL_KEYS}


def _needed(draft: Draft) -> set[str]:
    """The columns that the questions of a draft are about: with questions, a central release measures no others."""
    plan = Plan.from_dict(draft)
    return {name for one in plan.questions for name in checked_question(one.sql, plan.columns).columns}


# What is asked of the table ------------------------------------------------------------------------------------------


def _asking_draft(draft: Draft) -> Draft:
    given, promise = _without_model(draft), _promise(draft)
    return {**given, "privacy": {"neighbours": "change-one", **promise}}


def _asking_widths(plan: Plan, rows: int, names: Sequence[str], asked: Sequence[str]) -> Widths:
    """The plan's questions share ε evenly; the usual question about a column gets all of it."""
    found: Widths = {}
    for name in (name for name in names if not plan.column(name).space.holds_curves):
        (one,) = expect(plan, rows=rows, questions=usual_question(plan, name), way="ask")
        found["", name] = one.half_width
    share, promise = Fraction(1, max(1, len(plan.questions))), plan.privacy
    part = Privacy(promise.epsilon * share, promise.delta * share, neighbours=promise.neighbours)
    return found | _of_questions(
        expect(replace(plan, privacy=part), rows=rows, questions=asked, way="ask") if asked else ()
    )


# What a draft is, whichever way --------------------------------------------------------------------------------------


def _model(draft: Draft) -> Any:
    return draft.get("privacy", {}).get("model", "local")


def _promise(draft: Draft) -> dict[str, Any]:
    return {key: value for key, value in draft.get("privacy", {}).items() if key not in ("model", "spread")}


def _without_model(draft: Draft) -> dict[str, Any]:
    """A draft without what belongs to one of the models alone."""
    columns = {
        name: {key: value for key, value in table.items() if key not in _LOCAL_KEYS}
        for name, table in draft.get("columns", {}).items()
    }
    return {
        **{key: value for key, value in draft.items() if key not in ("release", "joint", "order")},
        "columns": columns,
    }


def _costs(plan: Plan, rows: int) -> dict[str, Any]:
    """Which part of the privacy loss goes to each column, and what would help."""
    nothing: dict[str, Any] = {"shares": {}, "verdict": None, "advice": []}
    try:
        if plan.model == "central":
            return _central_costs(certify_tables(plan), rows)
        return _local_costs(certify_row(plan), rows) if plan.has_row_law else nothing
    except InputError:  # told as the reason why that way is refused
        return nothing


def _central_costs(law: TableLaw, rows: int) -> dict[str, Any]:
    names = list(dict.fromkeys(axis.column.name for axis in law.axes))
    groups = [[place for place, axis in enumerate(law.axes) if axis.column.name == name] for name in names]
    shares = dict(zip(names, central_expectation.cost_shares(law, groups), strict=True))
    verdict = central_expectation.too_noisy_message(law, rows)
    unused = central_expectation.unused_delta(law)
    return {"shares": shares, "verdict": verdict, "advice": [unused] if unused else [], "person": law.person}


def _local_costs(law: RowLaw, rows: int) -> dict[str, Any]:
    whole = sum((group.privacy.epsilon for group in law.groups), Fraction(0)) or Fraction(1)
    parts = law.chances if law.weights is not None else [group.privacy.epsilon / whole for group in law.groups]
    shares = {
        column.name: float(part) for group, part in zip(law.groups, parts, strict=True) for column in group.columns
    }
    found = plan_advice(law, rows)
    return {"shares": shares, "verdict": found.verdict, "advice": [hint.text for hint in found.hints]}


_WAYS = {
    "local": _Way(_local_draft, _release_widths),
    "central": _Way(_central_draft, _release_widths),
    "ask": _Way(_asking_draft, _asking_widths),
}
