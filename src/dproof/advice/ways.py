"""Ways to answer, beside each other: ± of a local release, a central one and a curator for a draft of a plan.

Also which of a release and a curator errs less for some questions. All of it without any data.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import partial
from math import ceil, exp, log
from typing import Any

from dproof.advice.expect import (
    LEVEL,
    ExpectedWidth,
    asked_questions,
    cost_shares,
    expected_of_asking,
    expected_of_release,
    law_of,
    too_noisy_message,
    unused_delta,
    usual_question,
)
from dproof.advice.plan_advice import plan_advice
from dproof.arguments import expect as expect_kind
from dproof.arguments import whole
from dproof.central.recipe import TableLaw
from dproof.errors import ArgumentError, InputError
from dproof.exact import exact, least_decimal, written
from dproof.limits import MOST_EXPECTED_ROWS
from dproof.local.recipe import RowLaw
from dproof.meaning import explain
from dproof.plans.plan import Plan
from dproof.plans.questions import PlannedQuestion
from dproof.privacy import Privacy
from dproof.questions.answer import NOTHING, rarely

WAYS = ("local", "central", "ask")
Draft = Mapping[str, Any]
_LOCAL_KEYS = ("share", "mechanism")
_CENTRAL = {"tables": 2, "sums": True}  # what is compared with a local release, where no questions choose it


def compare_ways(plan: Plan | str | os.PathLike[str] | Draft, *, rows: int) -> dict[str, Any]:
    """The plan that a draft makes, and ± of what it would answer about so many rows, each way.

    A way that the plan does not allow has a sentence in `refused`. ± is None where it depends on the data, or where a
    central release would not measure it. Of each column it is that of the usual question: the count of one value, or
    the mean of a number without bins. `informative` has False where an answer would tell nothing.
    """
    (draft, plan), rows = _draft_and_plan(plan), whole(rows, "rows", 1, MOST_EXPECTED_ROWS)
    names = [column.name for column in plan.columns if column.private]
    refused: dict[str, str] = {}
    texts = [planned.sql for planned in plan.questions]
    found = {way: _tried(way, draft, rows, names, texts, refused) for way in WAYS}

    def told(*key: str) -> dict[str, Any]:
        known = {way: found[way].get(key) for way in WAYS}
        informative = {way: one is None or one.informative for way, one in known.items()}
        rare = {way: one.rare_told for way, one in known.items() if key[0] and one and one.rare is not None}
        widths = {way: None if one is None else one.half_width for way, one in known.items()}
        return {**widths, "informative": informative, **({"rare": rare} if rare else {})}

    costs = _shares_and_advice(plan, rows)
    columns = []
    for name in names:
        averaged, space = plan.column(name).is_averaged, plan.column(name).space
        # A mean of what cannot be added up is one of dates.
        about = {"what": "mean" if averaged else "count", "unit": "days" if averaged and not space.has_sums else None}
        columns.append({"name": name, **about, "share": costs["shares"].get(name), **told("", name)})
    questions = dict.fromkeys(key for widths in found.values() for key in widths if key[0])
    person = costs.get("person", plan.promise(plan.rows_per_person))
    return {
        "plan": plan.text,
        "model": plan.model,
        "rows_per_person": plan.rows_per_person,
        "rows": rows,
        "columns": columns,
        "questions": [{"question": sql, "column": column, **told(sql, column)} for sql, column in questions],
        "refused": refused,
        "verdict": costs["verdict"],
        "advice": costs["advice"],
        "meaning": explain(person, rows_per_person=plan.rows_per_person),
    }


def least_epsilon(
    plan: Plan | str | os.PathLike[str] | Draft, *, rows: int, question: str, column: str, half_width: Any
) -> dict[str, Any]:
    """The least ε, of 0.05 to 9.9, with which one answer is right to ± the half-width, each way; None if there is none.

    The answer is a column of one of the draft's questions; with the question "" it is the usual one about a column.
    """
    wanted, (draft, plan) = exact(half_width, "the half-width"), _draft_and_plan(plan)
    rows = whole(rows, "rows", 1, MOST_EXPECTED_ROWS)
    expect_kind(question, str, "question", "a question of the plan, or an empty text")
    expect_kind(column, str, "column", "the name of a column")
    if wanted <= 0:
        raise ArgumentError("the half-width must be positive")
    asked = [question] if question else []
    if question and question not in [planned.sql for planned in plan.questions]:
        raise ArgumentError("that question is not one of the plan's")
    names = [] if question else [plan.column(column).name]
    refused: dict[str, str] = {}
    found: dict[str, str | None] = {}

    def width_at(way: str, epsilon: Fraction) -> float | None:
        priced = {**draft, "privacy": {**draft["privacy"], "epsilon": str(epsilon)}}
        one = _tried(way, priced, rows, names, asked, refused).get((question, column))
        return None if one is None else one.half_width

    def reaches(way: str, epsilon: Fraction) -> bool:
        width = width_at(way, epsilon)
        return width is not None and width <= wanted

    for way in WAYS:
        now = width_at(way, plan.privacy.epsilon)  # where nothing would be known, the search begins at the plan's own ε
        near = plan.privacy.epsilon * (Fraction(now) / wanted if now else 1)
        # Two digits, from 0.05 on: the laws of smaller ones take long to make.
        epsilon = least_decimal(partial(reaches, way), near, Fraction("0.05"), Fraction("9.9"), 2)
        found[way] = None if epsilon is None else f"{float(epsilon):g}"
        if epsilon is not None:
            refused.pop(way, None)  # too small an ε is refused, too
    return {"epsilon": found, "refused": refused}


def _draft_and_plan(plan: Any) -> tuple[Draft, Plan]:
    """A plan as nested mappings, and as it is read."""
    chosen = Plan.of(plan)
    return plan if isinstance(plan, Mapping) else tomllib.loads(chosen.text), chosen


def _tried(
    way: str,
    draft: Draft,
    rows: int,
    names: Sequence[str],
    texts: Sequence[str],
    refused: dict[str, str],
) -> dict[tuple[str, ...], ExpectedWidth]:
    """What is expected one way, by a question and the column of its answer; or a sentence in `refused`.

    "" is the usual question about a column. For a curator the plan's questions share ε evenly, and the usual question
    gets all of it.
    """
    try:
        plan = Plan.from_dict(_DRAFTS[way](draft))
        asked = [planned for planned in plan.questions if planned.sql in texts]
        if way == "ask":
            return _asked(plan, rows, names, asked)
        law, kept = law_of(plan), {column.name for column in plan.kept}
        answers = [one for each in asked for one in expected_of_release(law, each, rows)]
        found: dict[tuple[str, ...], ExpectedWidth] = {(one.question, one.column): one for one in answers}
        for name in (name for name in names if name in kept):
            with suppress(InputError):  # a central release does not measure it
                (found["", name],) = expected_of_release(law, usual_question(plan, name), rows)
        return found
    except InputError as error:
        refused[way] = getattr(error, "sentence", str(error))
        return {}


def _asked(
    plan: Plan, rows: int, names: Sequence[str], asked: Sequence[PlannedQuestion]
) -> dict[tuple[str, ...], ExpectedWidth]:
    found: dict[tuple[str, ...], ExpectedWidth] = {}
    for name in (name for name in names if not plan.column(name).space.holds_curves):
        (found["", name],) = expected_of_asking(plan, usual_question(plan, name), rows, plan.privacy)
    part = shared(plan.privacy, max(1, len(plan.questions)))
    answers = [one for each in asked for one in expected_of_asking(plan, each, rows, part)]
    return found | {(one.question, one.column): one for one in answers}


def shared(promise: Privacy, questions: int) -> Privacy:
    """The part of a promise that each of so many questions has."""
    share = Fraction(1, questions)
    return Privacy(promise.epsilon * share, promise.delta * share, neighbours=promise.neighbours)


# A draft for one way, without what belongs to another -----------------------------------------------------------------


def _local_draft(draft: Draft) -> Draft:
    if draft.get("privacy", {}).get("model", "local") == "local":
        return draft
    return {**_without_model(draft), "privacy": {**_promise(draft), "neighbours": "change-one"}}


def _central_draft(draft: Draft) -> Draft:
    if draft.get("privacy", {}).get("model") == "central":
        return draft
    given, needed = _without_model(draft), set(draft.get("columns", {}))
    if draft.get("questions"):  # with them, a central release measures no other columns
        needed = {name for planned in Plan.from_dict(draft).questions for name in planned.question.columns}
    else:
        given["release"] = _CENTRAL
    left_out = {"drop": True}
    columns = {n: t if n in needed and not t.get("public") else left_out for n, t in given["columns"].items()}
    return {**given, "columns": columns, "privacy": {**_promise(draft), "model": "central"}}


def _asking_draft(draft: Draft) -> Draft:
    return {**_without_model(draft), "privacy": {"neighbours": "change-one", **_promise(draft)}}


_DRAFTS = {"local": _local_draft, "central": _central_draft, "ask": _asking_draft}


def _promise(draft: Draft) -> dict[str, Any]:
    return {key: value for key, value in draft.get("privacy", {}).items() if key not in ("model", "spread")}


def _without_model(draft: Draft) -> dict[str, Any]:
    """A draft without what belongs to one of the models alone."""
    given = {key: value for key, value in draft.items() if key not in ("release", "joint", "order")}
    tables = draft.get("columns", {}).items()
    columns = {name: {k: v for k, v in table.items() if k not in _LOCAL_KEYS} for name, table in tables}
    return {**given, "columns": columns}


def _shares_and_advice(plan: Plan, rows: int) -> dict[str, Any]:
    """Which part of the privacy loss goes to each column, and what would help."""
    try:
        law = law_of(plan) if plan.model == "central" or plan.has_row_law else None
        if isinstance(law, TableLaw):
            return _central_costs(law, rows)
        if isinstance(law, RowLaw):
            return _local_costs(law, rows)
    except InputError:  # told as the reason why that way is refused
        pass
    return {"shares": {}, "verdict": None, "advice": []}


def _central_costs(law: TableLaw, rows: int) -> dict[str, Any]:
    names = list(dict.fromkeys(axis.column.name for axis in law.axes))
    groups = [[place for place, axis in enumerate(law.axes) if axis.column.name == name] for name in names]
    shares = dict(zip(names, cost_shares(law, groups), strict=True))
    unused = unused_delta(law)
    verdict = too_noisy_message(law, rows)
    return {"shares": shares, "verdict": verdict, "advice": [unused] if unused else [], "person": law.person}


def _local_costs(law: RowLaw, rows: int) -> dict[str, Any]:
    total = sum((group.privacy.epsilon for group in law.groups), Fraction(0)) or Fraction(1)
    parts = law.chances if law.weights is not None else [group.privacy.epsilon / total for group in law.groups]
    shares = {
        column.name: float(part) for group, part in zip(law.groups, parts, strict=True) for column in group.columns
    }
    found = plan_advice(law, rows)
    return {"shares": shares, "verdict": found.verdict, "advice": [hint.text for hint in found.hints]}


# Sanitise or ask? ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Comparison:
    """One column of one question: ± each way, the half-width of the 95% interval, over all groups.

    `release` is that of a release; `ask` that of a curator who spends all of ε on this question, and `ask_shared` of
    one who shares ε evenly among all questions. None is what depends on the data, or cannot be answered that way.
    `rare` has ± of the ways in which it is another one for a rare group, None where that would tell nothing;
    `informative` whether the answer would leave out anything that is possible. `estimated` where ± of the curator
    depends on the data and is that for evenly spread values, as ± of the release always is. `break_even` is the number
    of questions that share ε from which on a release errs less.
    """

    question: str
    column: str
    release: float | None
    ask: float | None
    ask_shared: float | None
    rare: Mapping[str, float | None]
    informative: Mapping[str, bool]
    estimated: bool
    break_even: int | None
    weight: Fraction
    share_of_rows: Fraction | None
    ratio: float | None  # of the standard error of the release to that of the curator

    @classmethod
    def of(cls, release: ExpectedWidth | None, ask: ExpectedWidth, ask_shared: ExpectedWidth) -> Comparison:
        """The comparison of what is expected each way; without a release where the plan allows none."""
        ways = {"release": release, "ask": ask, "ask_shared": ask_shared}
        errors = [None if one is None or one.widths is None else one.widths.error for one in (release, ask)]
        ratio = errors[0] / errors[1] if errors[0] and errors[1] else None
        return cls(
            ask.question,
            ask.column,
            None if release is None else release.half_width,
            ask.half_width,
            ask_shared.half_width,
            rare={way: one.rare_told for way, one in ways.items() if one is not None and one.rare is not None},
            informative={way: one is None or one.informative for way, one in ways.items()},
            estimated=ask.half_width is not None and not ask.exact,
            break_even=None if ratio is None else max(1, ceil(ratio)),
            weight=ask.weight,
            share_of_rows=ask.share_of_rows,
            ratio=ratio,
        )

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        share = self.share_of_rows
        about = {"weight": float(self.weight), "share_of_rows": None if share is None else float(share)}
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "ratio"} | about


@dataclass(frozen=True, slots=True)
class Advice:
    """Which way errs less for these questions at this price, and from how many questions on sanitising does.

    A table with evenly spread values is assumed, and ± of a rare group is told as well; the curator shares ε evenly
    among the questions.
    """

    rows: int
    privacy: Privacy
    questions: int
    comparisons: tuple[Comparison, ...]

    @property
    def break_even(self) -> int | None:
        """The number of questions of this kind from which on a release errs less, over all of them by their weights."""
        known = [(c.ratio, float(c.weight)) for c in self.comparisons if c.ratio is not None]
        if not known:
            return None
        return max(1, ceil(exp(sum(w * log(ratio) for ratio, w in known) / sum(w for _, w in known))))

    @property
    def better(self) -> str | None:
        """ "sanitise" or "ask"; None where neither ± is known beforehand. A release needs change-one neighbours."""
        if self.privacy.neighbours != "change-one":
            return "ask"
        if self.break_even is None:
            return None
        return "sanitise" if self.questions >= self.break_even else "ask"

    def __str__(self) -> str:
        lines = [["question", "column", "release: ±", "ask: ±", "the release is better from"]]
        for c in self.comparisons:
            wins = "–" if c.break_even is None else f"{c.break_even:,} questions"
            widths = (_width_text(c, way) for way in ("release", "ask_shared"))
            lines.append([c.question, c.column, *widths, wins])
        room = [max(len(line[n]) for line in lines) for n in range(5)]
        table = ["  ".join(text.ljust(w) for text, w in zip(line, room, strict=True)).rstrip() for line in lines]
        return "\n".join([*table, "", self.verdict])

    @property
    def verdict(self) -> str:
        """Which way to go, in a sentence."""
        many = "1 question" if self.questions == 1 else f"{self.questions} questions"
        if self.privacy.neighbours != "change-one":
            return f"For {many}: ask the table under a budget; a release needs change-one neighbours."
        if self.break_even is None:
            return f"For {many} on {self.rows:,} rows the two ways cannot be compared beforehand."
        way = "sanitise once and ask the release" if self.better == "sanitise" else "ask the table under a budget"
        wins = f"a release is better from {self.break_even:,} questions like these"
        return f"For {many} on {self.rows:,} rows: {way}; {wins}."

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        return {
            "rows": self.rows,
            "epsilon": float(self.privacy.epsilon),
            "delta": float(self.privacy.delta),
            "level": LEVEL,
            "questions": self.questions,
            "better": self.better,
            "break_even": self.break_even,
            "comparisons": [comparison.to_json() for comparison in self.comparisons],
        }


def _width_text(comparison: Comparison, way: str) -> str:
    """± one way in a table."""
    width = getattr(comparison, way)
    if width is None or not comparison.informative[way]:
        return "–" if width is None else NOTHING
    return written(width) + (rarely(comparison.rare[way]) if way in comparison.rare else "")


def advise(
    plan: Plan | str | os.PathLike[str] | Mapping[str, Any],
    *,
    rows: int,
    questions: str | Sequence[str] | None = None,
) -> Advice:
    """Compare a release with a curator, for the same promise, the same questions and a table of `rows` rows.

    The questions are the plan's own [[questions]] where none are given; each asks FROM data or FROM release. A release
    costs the same whatever is asked of it, and errs by the noise of every row; a curator errs by the noise of one
    answer, which grows with the number of questions that share ε (HLM15, Theorem 4 against section 2.4).

    >>> columns = {"hobby": {"space": "categories", "values": ["Cars", "Chess", "Golf"], "outside": "category",
    ...     "missing": "category"}}
    >>> plan = {"privacy": {"epsilon": 1}, "columns": columns}
    >>> found = advise(plan, rows=10_000, questions="SELECT hobby, count(*) AS n FROM data GROUP BY hobby")
    >>> found.better, found.break_even
    ('ask', 55)
    """
    chosen = Plan.of(plan)
    rows, asked = whole(rows, "rows", 1, MOST_EXPECTED_ROWS), asked_questions(chosen, questions)
    law = law_of(chosen) if chosen.model == "central" or chosen.has_row_law else None
    comparisons: list[Comparison] = []
    for planned in asked:
        prices = chosen.privacy, shared(chosen.privacy, len(asked))
        asking = [expected_of_asking(chosen, planned, rows, price) for price in prices]
        release = [None] * len(asking[0]) if law is None else expected_of_release(law, planned, rows)
        comparisons += map(Comparison.of, release, *asking)
    return Advice(rows, chosen.privacy, len(asked), tuple(comparisons))
