"""Ways to answer, each with the plan that it takes: a local release, a central one, or asking under a budget.

A draft is a plan as nested mappings, so that a way, or a change of the plan, is tried by writing it down.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal

from dproof.advice.expect import (
    ExpectedWidth,
    blur,
    expected_at,
    expected_of_asking,
    expected_of_release,
    law_of,
    usual_question,
)
from dproof.columns.codec import quoted
from dproof.curator.account import even_prices
from dproof.errors import InputError
from dproof.plans.plan import Plan
from dproof.plans.questions import PlannedQuestion, planned_question
from dproof.privacy import Cost

Draft = Mapping[str, Any]
Key = tuple[str, str]  # a question, or what is asked about a column; and the column of its answer, or the column
COUNT, MEAN = "", "mean"  # the usual question about a column, and its mean where the usual one is a count
_LOCAL_KEYS = ("share", "mechanism")
_CENTRAL = {"tables": 2, "sums": True}  # what is compared with a local release, where no questions choose it
_USUAL_DELTA = Fraction(1, 10**6)  # that is compared, where a plan has none
SHARING = 20  # questions that share the budget, where nobody says how many


@dataclass(frozen=True, slots=True)
class Way:
    """One way to answer, with its δ; for asking also how many questions share the promise."""

    name: str
    model: Literal["local", "central", "ask"]
    delta: Fraction
    questions: int = 1

    @property
    def title(self) -> str:
        """What it is called in a table."""
        if self.model == "ask":
            return f"ask {self.questions}"
        return "local" if self.model == "local" else f"central δ={_short(self.delta)}"

    def draft(self, draft: Draft) -> Draft:
        """The draft of a plan for this way, without what belongs to another."""
        promise = {**draft.get("privacy", {}), "delta": str(self.delta)}
        return _DRAFTS[self.model]({**draft, "privacy": promise} if self.model == "central" else draft)


def ways_for(plan: Plan, questions: int) -> tuple[Way, ...]:
    """Every way for a plan and this many questions: a central release with and without δ, asking one and many."""
    own = plan.privacy.delta
    return (
        Way("local", "local", own),
        Way("central_pure", "central", Fraction(0)),
        Way("central_delta", "central", own or _USUAL_DELTA),
        Way("ask", "ask", own),
        Way("ask_shared", "ask", own, questions),
    )


def _short(delta: Fraction) -> str:
    """A δ in few signs.

    >>> _short(Fraction(0)), _short(Fraction(1, 10**6)), _short(Fraction("0.05"))
    ('0', '1e-6', '0.05')
    """
    return f"{float(delta):.3g}".replace("e-0", "e-")


@dataclass(frozen=True, slots=True)
class WayAnswers:
    """What is expected one way: ± by question and column, or why there is none, of a question or of all."""

    found: dict[Key, ExpectedWidth] = field(default_factory=dict)
    unanswered: dict[str, str] = field(default_factory=dict)
    refused: str | None = None
    price: Cost | None = None  # of each question, where several are asked
    others: tuple[WayAnswers, ...] = ()  # at other prices, which are less sharp together

    def known(self, key: Key) -> float | None:
        """± of one answer that would tell something."""
        one = self.found.get(key)
        return one.half_width if one is not None and one.informative else None


def answers_of(way: Way, draft: Draft, rows: int, names: Sequence[Key], asked: Sequence[PlannedQuestion]) -> WayAnswers:
    """± of questions about columns, by `names`, and of others, one way."""
    try:
        plan = Plan.from_dict(way.draft(draft))
        law = None if way.model == "ask" else law_of(plan)
    except InputError as error:
        return WayAnswers(refused=sentence_of(error))
    if law is not None or way.questions == 1:

        def expected(planned: PlannedQuestion) -> list[ExpectedWidth]:
            return expected_of_asking(plan, planned, rows) if law is None else expected_of_release(law, planned, rows)

        return _answers(way, plan, names, asked, expected)
    prices = even_prices(plan.privacy, way.questions)
    found = [
        _answers(way, plan, names, asked, partial(expected_at, plan, rows=rows, price=price), price) for price in prices
    ]
    if not found:
        return WayAnswers(refused="so many questions leave nothing for one of them")
    best, *others = sorted(found, key=lambda one: blur(one.found.values()))
    return replace(best, others=tuple(others))


def _answers(
    way: Way,
    plan: Plan,
    names: Sequence[Key],
    asked: Sequence[PlannedQuestion],
    expected: Callable[[PlannedQuestion], list[ExpectedWidth]],
    price: Cost | None = None,
) -> WayAnswers:
    """± of the questions, by what is expected of each."""
    answers = WayAnswers(price=price)
    kept = {c.name for c in plan.columns if c.private and (way.model != "ask" or not c.space.holds_curves)}
    for what, name in names:
        with suppress(InputError):  # a central release does not measure it
            if name in kept:
                question = usual_question(plan, name) if what == COUNT else mean_question(plan, name)
                (answers.found[what, name],) = expected(question)
    for planned in asked:
        try:
            answers.found.update({(one.question, one.column): one for one in expected(planned)})
        except InputError as error:
            answers.unanswered[planned.sql] = sentence_of(error)
    return answers


def sentence_of(error: InputError) -> str:
    """What is wrong, without the place in a plan that nobody wrote."""
    return str(getattr(error, "sentence", error))


def mean_question(plan: Plan, column: str) -> PlannedQuestion:
    """The question for the mean of a number."""
    return planned_question(f"SELECT avg({quoted(column)}) FROM release", plan.columns)


def usual_names(plan: Plan) -> list[Key]:
    """What is asked about each column where nobody asks: the count of one value, and of a number the mean."""
    names = []
    for column in (column for column in plan.columns if column.private):
        names.append((COUNT, column.name))
        if column.space.has_sums and not column.is_averaged and not column.space.holds_curves:
            names.append((MEAN, column.name))
    return names


def draft_and_plan(plan: Any) -> tuple[Draft, Plan]:
    """A plan as nested mappings, and as it is read."""
    chosen = Plan.of(plan)
    return plan if isinstance(plan, Mapping) else tomllib.loads(chosen.text), chosen


def with_epsilon(draft: Draft, epsilon: Fraction) -> Draft:
    """A draft with another ε."""
    return {**draft, "privacy": {**draft["privacy"], "epsilon": str(epsilon)}}


# A draft for one way, without what belongs to another -----------------------------------------------------------------


def _local_draft(draft: Draft) -> Draft:
    if draft.get("privacy", {}).get("model", "local") == "local":
        return draft
    return {**_without_model(draft), "privacy": {**_promise(draft), "neighbours": "change-one"}}


def _central_draft(draft: Draft) -> Draft:
    if draft.get("privacy", {}).get("model") == "central":
        return draft
    given = _without_model(draft)
    if draft.get("questions"):  # with them, a central release measures no other columns
        given = asking_only(given, Plan.from_dict(draft).questions)
    else:
        given["release"] = _CENTRAL
    columns = {n: {"drop": True} if t.get("public") else t for n, t in given["columns"].items()}
    return {**given, "columns": columns, "privacy": {**_promise(draft), "model": "central"}}


def asking_only(draft: Draft, questions: Sequence[PlannedQuestion]) -> dict[str, Any]:
    """A draft without the columns that no question needs, which a central release by questions does not measure."""
    needed = {name for planned in questions for name in planned.question.columns}
    return {**draft, "columns": {n: t if n in needed else {"drop": True} for n, t in draft["columns"].items()}}


def _asking_draft(draft: Draft) -> Draft:
    return {**_without_model(draft), "privacy": {"neighbours": "change-one", **_promise(draft)}}


_DRAFTS: Mapping[str, Callable[[Draft], Draft]] = {
    "local": _local_draft,
    "central": _central_draft,
    "ask": _asking_draft,
}


def _promise(draft: Draft) -> dict[str, Any]:
    return {key: value for key, value in draft.get("privacy", {}).items() if key not in ("model", "spread")}


def _without_model(draft: Draft) -> dict[str, Any]:
    """A draft without what belongs to one of the models alone."""
    given = {key: value for key, value in draft.items() if key not in ("release", "joint", "order")}
    tables = draft.get("columns", {}).items()
    columns = {name: {k: v for k, v in table.items() if k not in _LOCAL_KEYS} for name, table in tables}
    return {**given, "columns": columns}
