"""Ways to answer, beside each other: ± of a local release, a central one and a curator for a draft of a plan.

Also which of them to take, and which of a release and a curator errs less for some questions. All of it without any
data. A draft is a plan as nested mappings, so that a way, or a change of the plan, is tried by writing it down.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from math import exp, inf, log
from typing import Any, Literal

from dproof.advice.expect import (
    ExpectedWidth,
    asked_questions,
    blur,
    cost_shares,
    expected_at,
    expected_of_asking,
    expected_of_release,
    law_if_allowed,
    law_of,
    sentence_of,
    too_noisy_message,
    turning_point,
    usual_question,
)
from dproof.advice.plan_advice import PlanAdvice, asking_advice, plan_advice
from dproof.arguments import expect as expect_kind
from dproof.arguments import whole
from dproof.central.recipe import TableLaw
from dproof.certification.compose import shuffled_epsilon, usual_delta
from dproof.columns.codec import quoted
from dproof.curator.account import even_prices
from dproof.errors import ArgumentError, InputError, PlanError
from dproof.exact import exact, least_decimal, least_with, several
from dproof.limits import MOST_EXPECTED_ROWS, SHUFFLED_TOGETHER
from dproof.local.recipe import RowLaw
from dproof.meaning import explain
from dproof.plans.draft import USUAL_TABLES
from dproof.plans.plan import Plan
from dproof.plans.questions import PlannedQuestion, planned_question
from dproof.privacy import Cost
from dproof.recipe import ReleaseRecipe

WAYS = ("local", "shuffled", "central", "ask")
Draft = Mapping[str, Any]
Key = tuple[str, str]  # a question, or what is asked about a column; and the column of its answer, or the column
COUNT, MEAN = "", "mean"  # the usual question about a column, and its mean where the usual one is a count
_LOCAL_KEYS = ("share", "mechanism")
_USUAL_DELTA = Fraction(1, 10**6)  # that is compared, where a plan has none
_OF_ROWS = {"local": "a local release", "shuffled": "a release of shuffled rows (model = 'shuffled')"}
_CLEARLY = 1.05  # times as sharp
_FOUND = Fraction("0.05"), Fraction("9.9"), 2  # the ε that is found, and its digits: laws of less take long to make
SHARING = 20  # questions that share the budget, where nobody says how many


@dataclass(frozen=True, slots=True)
class Way:
    """One way to answer, with its δ; for asking also how many questions share the promise, for shuffled rows how many
    they are."""

    name: str
    model: Literal["local", "shuffled", "central", "ask"]
    delta: Fraction
    questions: int = 1
    rows: int = 0

    @property
    def title(self) -> str:
        """What it is called in a table."""
        if self.model == "ask":
            return f"ask {self.questions}"
        return f"central δ={_short(self.delta)}" if self.model == "central" else self.model

    def draft(self, draft: Draft) -> Draft:
        """The draft of a plan for this way, without what belongs to another."""
        promise = draft.get("privacy", {})
        if self.model in ("central", "shuffled") and exact(promise.get("delta", 0), "delta") != self.delta:
            draft = {**draft, "privacy": {**promise, "delta": str(self.delta)}}
        return _shuffled_draft(draft, self.rows) if self.model == "shuffled" else _DRAFTS[self.model](draft)


def ways_for(plan: Plan, questions: int, rows: int) -> tuple[Way, ...]:
    """Every way for a plan and this many questions: a central release with and without δ, asking one and many."""
    own = plan.privacy.delta
    return (
        Way("local", "local", own),
        shuffled_way(plan, rows),
        Way("central_pure", "central", Fraction(0)),
        Way("central_delta", "central", own or _USUAL_DELTA),
        Way("ask", "ask", own),
        Way("ask_shared", "ask", own, questions),
    )


def shuffled_way(plan: Plan, rows: int) -> Way:
    """Rows that promise what they do in a random order; as many as the plan says, or all."""
    return Way(
        "shuffled",
        "shuffled",
        plan.privacy.delta or usual_delta(rows),
        rows=plan.shuffle.rows or min(rows, SHUFFLED_TOGETHER),
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

    def times_as_wide(self, others: Mapping[Key, float]) -> float | None:
        """How many times as wide other ± are as these, where both are known."""
        known = [(o, one.half_width) for key, o in others.items() if (one := self.found.get(key)) is not None]
        pairs = [(other, width) for other, width in known if width is not None]
        if not pairs:
            return None
        # Where no answer has noise both ways, all that are exact one way alone decide.
        exact = sum(not width for _, width in pairs) - sum(not other for other, _ in pairs)
        return geometric_mean(pairs) or (inf if exact > 0 else 1.0 - (exact < 0))


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
                (one,) = expected(question)
                answers.found.update({(what, name): one} if one.refused is None else {})
    for planned in asked:
        try:
            found = expected(planned)
        except InputError as error:
            answers.unanswered[planned.sql] = sentence_of(error)
            continue
        answers.found.update({(one.question, one.column): one for one in found if one.refused is None})
        answers.unanswered.update({one.question: one.refused for one in found if one.refused is not None})
    return answers


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
    """A plan as nested mappings, and as it is read: with the promise of shuffled rows, and not that of one."""
    chosen = Plan.of(plan)
    if chosen.shuffle.promise is not None:
        chosen = Plan.parse(chosen.text)
    return plan if isinstance(plan, Mapping) else tomllib.loads(chosen.text), chosen


def with_epsilon(draft: Draft, epsilon: Fraction) -> Draft:
    """A draft with another ε."""
    return {**draft, "privacy": {**draft["privacy"], "epsilon": str(epsilon)}}


# A draft for one way, without what belongs to another -----------------------------------------------------------------


def _local_draft(draft: Draft) -> Draft:
    model = draft.get("privacy", {}).get("model", "local")
    if model == "shuffled":
        return {**_without(draft, "shuffle"), "privacy": _without(draft["privacy"], "model")}
    if model != "central":
        return draft
    return {**_without_model(draft), "privacy": {**_promise(draft), "neighbours": "change-one"}}


def _shuffled_draft(draft: Draft, rows: int) -> Draft:
    if draft.get("privacy", {}).get("model") == "shuffled":
        return draft
    given = _without_public(_without(_local_draft(draft), "order"))
    privacy, shuffle = given.get("privacy", {}), given.get("shuffle", {})
    return {**given, "privacy": {**privacy, "model": "shuffled"}, "shuffle": {**shuffle, "rows": rows}}


def _central_draft(draft: Draft) -> Draft:
    if draft.get("privacy", {}).get("model") == "central":
        return draft
    given = _without_model(draft)
    if draft.get("questions"):  # with them, a central release measures no other columns
        given = asking_only(given, Plan.from_dict(draft).questions)
    else:
        given["release"] = USUAL_TABLES
    return {**_without_public(given), "privacy": {**_promise(draft), "model": "central"}}


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
    return _without(draft.get("privacy", {}), "model", "spread")


def _without(given: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key not in keys}


def _without_public(draft: Draft) -> dict[str, Any]:
    columns = {n: {"drop": True} if t.get("public") else t for n, t in draft["columns"].items()}
    return {**draft, "columns": columns}


def _without_model(draft: Draft) -> dict[str, Any]:
    """A draft without what belongs to one of the models alone."""
    columns = {name: _without(table, *_LOCAL_KEYS) for name, table in draft.get("columns", {}).items()}
    return {**_without(draft, "release", "joint", "order", "shuffle", "tickets"), "columns": columns}


# All ways beside each other -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One column of an answer, with what is expected each way; `what` is asked where no question is given."""

    key: Key
    what: str | None
    unit: str | None
    widths: Mapping[str, ExpectedWidth | None]

    def known(self, way: str) -> float | None:
        """± one way, where the answer would tell something."""
        one = self.widths[way]
        return one.half_width if one is not None and one.informative else None

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        known = [width for width in self.widths.values() if width is not None]
        question, column = ("", self.key[1]) if self.what else self.key
        return {
            "question": question,
            "column": column,
            "what": self.what,
            "unit": self.unit,
            "share_of_rows": next(
                (float(width.share_of_rows) for width in known if width.share_of_rows is not None), None
            ),
            "half_width": {way: None if width is None else width.half_width for way, width in self.widths.items()},
            "rare": {
                way: width.rare_told
                for way, width in self.widths.items()
                if width is not None and width.rare is not None
            },
            "informative": {way: width is None or width.informative for way, width in self.widths.items()},
            "estimated": {way: width is not None and not width.exact for way, width in self.widths.items()},
        }


@dataclass(frozen=True, slots=True)
class WaysTable:
    """± of some answers, each way: rows of answers and columns of ways, and which way to take.

    `own` is the way of the plan itself. A way that the plan does not allow has a sentence in `refused`; so has a
    question in `unanswered` that a way cannot answer.
    """

    plan: Plan
    rows: int
    questions: int | None  # how many were given, or stand in the plan
    ways: tuple[Way, ...]
    answers: tuple[AnswerRow, ...]
    refused: Mapping[str, str]
    unanswered: Mapping[str, Mapping[str, str]]
    turning: int | None  # from so many questions on a central release has the smaller ±; None where one tells nothing
    price: Cost | None  # of each of several questions that are asked

    @property
    def own(self) -> str:
        """The plan's own way."""
        return own_way(self.plan)

    @property
    def central(self) -> str:
        """The central release with the δ that the plan has."""
        return "central_delta" if self.plan.privacy.delta else "central_pure"

    def ratio(self, way: str, other: str) -> float | None:
        """How many times as wide ± is one way as the other way: the geometric mean over the answers that both give."""
        return geometric_mean([(row.known(way), row.known(other)) for row in self.answers])

    def told(self, way: str) -> int:
        """How many answers would tell something."""
        return sum(row.known(way) is not None for row in self.answers)

    def may_tell(self, way: str) -> bool:
        """Whether an answer would tell something, or may: ± of some depends on the data."""
        found = (row.widths[way] for row in self.answers)
        return any(one is not None and (one.widths is None or one.informative) for one in found)

    @property
    def recommended(self) -> str | None:
        """The way whose ± is least where somebody may be trusted with the rows; None where no way tells anything.

        It promises what the plan does: no δ is recommended that the plan does not allow.
        """
        asking = "ask" if self.questions == 1 else "ask_shared"
        turning = self.turning
        if self.told(self.central) and self.told(asking) and turning is not None:
            return asking if (self.questions or SHARING) < turning else self.central
        rows = ["shuffled"] * bool(self.plan.privacy.delta) + ["local"]
        return next((way for way in (self.central, asking, "ask", *rows) if self.told(way)), None)

    @property
    def reason(self) -> str:
        """The recommendation, with its reason."""
        chosen = self.recommended
        others = [way for way in self.ways if way.name != chosen and self.may_tell(way.name)]
        if chosen is None:
            if others:
                return "No way can be recommended: ± of these answers depends on the data, or there is none."
            return "No way tells anything about so few rows: allow a larger epsilon, or ask for less."
        if chosen in ("local", "shuffled"):
            why = "the only way that tells something here" + " without a δ" * bool(others)
            if chosen == "shuffled" and self.told("local"):
                why = f"its ± is {_times(self.ratio('local', chosen))} that of a local release"
            elif any(way.delta <= self.plan.privacy.delta for way in others):
                why = "the only way whose ± is known beforehand"
            return f"Recommended: {_OF_ROWS[chosen]}: {why}."
        many = several(1 if chosen == "ask" else self.questions or SHARING, "question")
        turning, reasons = self.turning, []
        if "local" not in self.refused:
            local = self.ratio("local", chosen)
            if local:
                reasons.append(f"its ± is {_times(local)} that of a local release")
            elif not self.may_tell("local"):
                reasons.append("a local release would tell nothing")
        if chosen == self.central:
            what = "a central release"
            if turning is not None:
                few = several(turning - 1, "question")
                reasons.append(f"asking is sharper for up to {few}" if turning > 1 else "asking is no sharper")
        else:
            what = f"ask the table under a budget (`dproof ask`), for {many}"
            if turning is not None:
                reasons.append(f"a central release is better from {turning:,} questions on")
        lacking = sum(row.known("ask") is not None and row.widths[self.central] is None for row in self.answers)
        if chosen == self.central and lacking > 0:
            reasons.append(f"{'but ' * bool(reasons)}it does not answer {lacking} of these")
        trust = self._without_trust if self.plan.model == "local" else ""
        return f"Recommended: {what}{': ' * bool(reasons)}{'; '.join(reasons)}.{trust}"

    @property
    def _without_trust(self) -> str:
        """What to do where nobody may see the true rows."""
        sharper = self.ratio("local", "shuffled") or (2 if self.told("shuffled") > self.told("local") else 1)
        if not self.may_tell("local") and not self.told("shuffled"):
            none = " Where nobody may see the true rows, no way tells anything."
            return none if "local" not in self.refused else ""
        if sharper < _CLEARLY:
            return " Where nobody may see the true rows, take a local release."
        delta = next(way.delta for way in self.ways if way.name == "shuffled")
        at = "" if self.plan.privacy.delta else f" at δ = {_short(delta)}"
        told = f" ± {_times(sharper)} that of a local one" if self.told("local") else " an answer"
        other = "a local release is the only way" if self.may_tell("local") else "no way tells anything"
        return (
            f" Where nobody may see the true rows, shuffled rows have{told}{at}, if whoever mixes them is trusted not "
            f"to tell whose they are; else {other}."
        )

    def to_json(self) -> dict[str, Any]:
        """One JSON object: the ways, ± of each answer by their names, and which to take."""
        own = self.own
        return {
            "ways": [
                {
                    "name": way.name,
                    "title": way.title,
                    "model": way.model,
                    "delta": float(way.delta),
                    "questions": way.questions if way.model == "ask" else None,
                    "price": self.price.to_json() if self.price is not None and way.name == "ask_shared" else None,
                    "own": way.name == own,
                    "refused": self.refused.get(way.name),
                    "unanswered": dict(self.unanswered[way.name]),
                }
                for way in self.ways
            ],
            "answers": [row.to_json() for row in self.answers],
            "recommended": {"way": self.recommended, "reason": self.reason},
        }


def own_way(plan: Plan) -> str:
    """The way of a plan; that of a plan of rows which no release can keep is asking."""
    if plan.model == "local":
        return "shuffled" if plan.shuffle.rows is not None else "local" if plan.has_row_law else "ask"
    return "central_delta" if plan.privacy.delta else "central_pure"


def geometric_mean(pairs: Sequence[tuple[float | None, float | None]]) -> float | None:
    """The geometric mean of the ratios of numbers above 0; None where there are none.

    >>> geometric_mean([(4.0, 1.0), (1.0, 1.0), (None, 2.0)])
    2.0
    """
    logs = [log(one / other) for one, other in pairs if one and other]
    return exp(sum(logs) / len(logs)) if logs else None


def _times(ratio: float | None) -> str:
    """How many times smaller a ± is, in words.

    >>> _times(3.27), _times(41.2), _times(1.04), _times(0.5)
    ('3.3 times smaller than', '41 times smaller than', 'about', '2 times')
    """
    if ratio is None or 0.95 < ratio < 1.05:
        return "about"
    times = ratio if ratio > 1 else 1 / ratio
    return (
        f"{times:.2g}".removesuffix(".0") * (times < 10)
        + f"{times:,.0f}" * (times >= 10)
        + (" times smaller than" if ratio > 1 else " times")
    )


def expected_answers(
    plan: Plan | str | os.PathLike[str] | Draft, *, rows: int, questions: str | Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """± of what a plan would answer about so many rows, in its own way alone: quicker than `compare_ways`.

    The answers are those of `compare_ways`, each with its `half_width`, whether it is `informative`, and that of a
    `rare` group where that is another one. `plan` is a Plan, its path or a mapping, `rows` how many the table has, and
    `questions` those that are asked where they are not the plan's own.
    """
    table = ways_table(plan, rows=rows, questions=questions, only_own=True)
    found = []
    for row in table.answers:
        told, one = row.to_json(), row.widths[table.own]
        alone = {"half_width": told["half_width"][table.own], "informative": told["informative"][table.own]}
        found.append({**told, **alone, "rare": None if one is None else one.rare_told})
    if table.own in table.refused:
        raise PlanError(table.refused[table.own])
    return found


def ways_table(
    plan: Plan | str | os.PathLike[str] | Draft,
    *,
    rows: int,
    questions: str | Sequence[str] | None = None,
    only_own: bool = False,
) -> WaysTable:
    """± each way, about so many rows: of the questions given, or of the plan's own, or of the usual ones.

    The usual ones are the count of one value of each column and the mean of each number.
    """
    (draft, plan), rows = draft_and_plan(plan), whole(rows, "rows", 1, MOST_EXPECTED_ROWS)
    asked = [] if questions is None and not plan.questions else asked_questions(plan, questions)
    names, many = [] if asked else usual_names(plan), len(asked) or None
    ways = ways_for(plan, len(asked) if len(asked) > 1 else SHARING, rows)
    ways = tuple(way for way in ways if way.name == own_way(plan)) if only_own else ways
    by_way = {way.name: answers_of(way, draft, rows, names, asked) for way in ways}
    keys = names or [(planned.sql, item.alias) for planned in asked for item in planned.question.estimated]
    refused = {name: one.refused for name, one in by_way.items() if one.refused is not None}
    unanswered = {name: one.unanswered for name, one in by_way.items()}
    rows_of_table = tuple(_row(plan, key, by_way) for key in keys)
    turning = price = None
    if not only_own:
        central = by_way["central_delta" if plan.privacy.delta else "central_pure"]
        shared = {way.questions: by_way[way.name] for way in ways if way.model == "ask"}

        widths = {key: width for key in keys if (width := central.known(key)) is not None}

        def at(questions: int) -> list[tuple[Cost | None, float | None]]:
            """How many times as wide ± of the central release is as that of asking so many, by each price."""
            way = Way("ask_shared", "ask", plan.privacy.delta, questions)
            answers = shared.get(questions) or answers_of(way, draft, rows, names, asked)
            return [(one.price, one.times_as_wide(widths)) for one in (answers, *answers.others)]

        turning, price = turning_point(at, max(shared)) if widths else None, by_way["ask_shared"].price
    return WaysTable(plan, rows, many, ways, rows_of_table, refused, unanswered, turning, price)


def _row(plan: Plan, key: Key, found: Mapping[str, WayAnswers]) -> AnswerRow:
    what = unit = None
    if key[0] in (COUNT, MEAN):
        column = plan.column(key[1])
        what = "mean" if key[0] == MEAN or column.is_averaged else "count"
        unit = column.space.unit if what == "mean" else None
    return AnswerRow(key, what, unit, {way: one.found.get(key) for way, one in found.items()})


def compare_ways(
    plan: Plan | str | os.PathLike[str] | Draft, *, rows: int, questions: str | Sequence[str] | None = None
) -> dict[str, Any]:
    """± of what a plan would answer about so many rows, each way; which way to take, and what would help.

    One JSON object, the same as `dproof plan --rows` shows. `answers` are those to the questions given, or to the
    plan's own, or to the usual ones: the count by each column and the mean of each number. `half_width` of an answer is
    None where it depends on the data or a way does not answer, and `informative` False where it would tell nothing.
    `ways` says why one is refused. `shares` is the part of the privacy loss that goes to each column.
    """
    table = ways_table(plan, rows=rows, questions=questions)
    chosen, law = table.plan, None
    with suppress(InputError):  # told as the reason why that way is refused
        law = law_if_allowed(chosen)
    found = what_helps(chosen, law, table)
    # Shuffled rows promise less to whoever learns whose they are.
    person = chosen.promise(chosen.rows_per_person) if law is None else law.person
    return {
        "plan": chosen.text,
        "model": chosen.model,
        "rows_per_person": chosen.rows_per_person,
        "rows": table.rows,
        **table.to_json(),
        "shares": {} if law is None else loss_shares(law),
        "verdict": found.verdict,
        "hints": [hint.to_json() for hint in found.hints],
        "meaning": explain(person, rows_per_person=chosen.rows_per_person),
    }


def what_helps(plan: Plan, law: ReleaseRecipe[Any] | None, table: WaysTable | None) -> PlanAdvice:
    """A verdict on a plan and its law, and what would help; with a table of ways, about so many rows."""
    if law is None:
        return PlanAdvice(None) if plan.has_row_law else asking_advice(plan)
    if table is None:
        return PlanAdvice(None)
    if isinstance(law, RowLaw):
        return plan_advice(law, table.rows)
    from dproof.advice.central_advice import central_advice  # prices a table of ways

    assert isinstance(law, TableLaw)
    return PlanAdvice(too_noisy_message(law, table.rows), central_advice(law, table))


def loss_shares(law: ReleaseRecipe[Any]) -> dict[str, float]:
    """The part of the privacy loss that goes to each column: of tables to those with it, of rows to its law."""
    if isinstance(law, TableLaw):
        names = list(dict.fromkeys(axis.column.name for axis in law.axes))
        groups = [[place for place, axis in enumerate(law.axes) if axis.column.name == name] for name in names]
        return dict(zip(names, cost_shares(law, groups), strict=True))
    assert isinstance(law, RowLaw)
    columns = [(group.columns, float(part)) for group, part in zip(law.groups, group_shares(law), strict=True)]
    return {column.name: part for group, part in columns for column in group}


def group_shares(law: RowLaw) -> Sequence[Fraction]:
    """The part of ε that each group of columns has, or of the rows where each answers for one of them."""
    total = sum((group.privacy.epsilon for group in law.groups), Fraction(0)) or Fraction(1)
    return law.chances if law.weights is not None else [group.privacy.epsilon / total for group in law.groups]


def least_epsilon(
    plan: Plan | str | os.PathLike[str] | Draft, *, rows: int, question: str, column: str, half_width: Any
) -> dict[str, Any]:
    """The least ε, of 0.05 to 9.9, with which one answer is right to ± the half-width, each way; None if there is none.

    The answer is a column of a question's answer; with the question "" it is the usual one about a column of the plan.
    """
    wanted, (draft, plan) = exact(half_width, "the half-width"), draft_and_plan(plan)
    rows = whole(rows, "rows", 1, MOST_EXPECTED_ROWS)
    expect_kind(question, str, "question", "a question, or an empty text")
    expect_kind(column, str, "column", "the name of a column")
    if wanted <= 0:
        raise ArgumentError("the half-width must be positive")
    asked = asked_questions(plan, [question]) if question else []
    names = [] if question else [(COUNT, plan.column(column).name)]
    many = len(plan.questions) if any(planned.sql == question for planned in plan.questions) else 1
    refused: dict[str, str] = {}
    found: dict[str, str | None] = {}

    def width_at(way: Way, given: Draft, epsilon: Fraction) -> float | None:
        answers = answers_of(way, with_epsilon(given, epsilon), rows, names, asked)
        for why in filter(None, [answers.refused, *answers.unanswered.values()]):
            refused[way.name] = why
        width = answers.found.get((question, column))
        return None if width is None else width.half_width

    def of_shuffled(row: Fraction) -> Fraction | None:
        """The ε of all rows in a random order, where this is that of a row."""
        law = law_of(Plan.from_dict(with_epsilon(of_row, row)))
        assert isinstance(law, RowLaw)
        found = shuffled_epsilon(law.blankets, max(plan.shuffle.hiding(shuffled.rows), 1), shuffled.delta)
        least = row if found is None else min(found, row)
        return least_decimal(lambda epsilon: epsilon >= least, least, *_FOUND)

    shuffled = shuffled_way(plan, rows)
    of_row = _local_draft(shuffled.draft(draft))
    of_row = {**of_row, "privacy": _without(of_row["privacy"], "delta")}
    for name in WAYS:
        way, given = Way(name, name, plan.privacy.delta, many if name == "ask" else 1), draft  # type: ignore[arg-type]
        if name == "shuffled":  # whose law of a row is searched for once, and not for each ε that is tried
            way, given = Way(name, "local", Fraction(0)), of_row
            try:
                Plan.from_dict(shuffled.draft(draft))
            except InputError as error:
                found[name], refused[name] = None, sentence_of(error)
                continue
        epsilon = least_with(partial(width_at, way, given), wanted, plan.privacy.epsilon, *_FOUND)
        if epsilon is not None and name == "shuffled":
            epsilon = of_shuffled(epsilon)
        found[name] = None if epsilon is None else f"{float(epsilon):g}"
        if epsilon is not None:
            refused.pop(name, None)  # too small an ε is refused, too
    return {"epsilon": found, "refused": refused}
