"""How wide the intervals of an answer will be, before there is any data: one function for every model.

Each model says what it would draw of a table whose values are spread evenly, or whose groups have a stated share of the
rows, if no noise were drawn; that is answered as a question always is, and ± is half of the length of its intervals.
Values of a question's columns are taken to be independent of each other; in a law of several columns at once the bins
of one are taken to hold equally many rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from math import ceil, exp, inf, isclose, isfinite, log
from typing import Any, Literal

from dproof.arguments import choice, listed, whole
from dproof.central.recipe import certify_tables
from dproof.columns.column import quoted
from dproof.curator.preview import spreads
from dproof.curator.recipe import measure
from dproof.errors import ArgumentError, InputError
from dproof.exact import exact, written
from dproof.local.recipe import RowLaw, certify_row
from dproof.plans.plan import Plan, schema_of
from dproof.plans.questions import PlannedQuestion, checked_question
from dproof.privacy import Privacy
from dproof.questions.answer import NOTHING, Range, rarely
from dproof.questions.measured import HalfWidths, Shares, interval_widths, possible_columns
from dproof.questions.question import (
    Compare,
    Contains,
    Predicate,
    Question,
    Schema,
    aggregates_of,
    asks_for_curves,
    condition,
    resolve,
)
from dproof.recipe import Recipe, ReleaseRecipe

Way = Literal["release", "ask"]
_LEVEL = 0.95
_WAYS = ("release", "ask", "ask_shared")
_MOST_ROWS = 10**15
_FEW, _MANY = 10**2, 10**9  # rows: a ± that is the same with both does not depend on their number
_ALIKE = 1e-6  # of a ±


@dataclass(frozen=True, slots=True)
class Expected:
    """± at 95% of one column of the answer to a question, over its groups; None where it is not known beforehand.

    It is that of a table whose values are spread evenly, or whose groups have the `share_of_rows` that the plan states.
    Without such a share `rare` is the greatest ± where a group, or a condition, has a tenth of the rows that it would
    have: None where that makes no difference, infinite where the answer would tell nothing. `exact` is whether ± is the
    same whatever the data are, as far as that is known; `possible` is what the answer can be at all.
    """

    question: str
    column: str
    weight: Fraction
    widths: HalfWidths | None
    rare: float | None = None
    possible: Range = field(default_factory=Range)
    share_of_rows: Fraction | None = None
    exact: bool = False

    @property
    def half_width(self) -> float | None:
        """± over all groups, in the root of the mean square; None where nothing would be known."""
        return self.widths.typical if self.widths is not None and isfinite(self.widths.typical) else None

    @property
    def informative(self) -> bool:
        """Whether the answer would leave out anything that is possible: if not, it tells nothing."""
        return self.possible.is_narrowed_by(None if self.widths is None else self.widths.typical)

    def known(self, half_width: float | None) -> Expected:
        """With the ± that it has whatever the data are, if there is one."""
        if half_width is None:
            return self
        error = None if self.widths is None else self.widths.error
        return replace(self, widths=HalfWidths(half_width, half_width, half_width, error), rare=None, exact=True)


def expect(
    plan: Plan | str | os.PathLike[str] | Mapping[str, Any],
    *,
    rows: int | None,
    questions: str | Sequence[str] | None = None,
    way: Way = "release",
) -> tuple[Expected, ...]:
    """± of every column of the answers to some questions, about a table of `rows` rows.

    The questions are the plan's own [[questions]] where none are given; each asks FROM data or FROM release. `way` is
    "release" for a release by the plan's own model, or "ask" for `Curator.ask` with all of ε for each question. Without
    a number of rows ± is told where it does not depend on it.

    >>> columns = {"read": {"space": "categories", "values": ["yes", "no"]}}
    >>> central = {"privacy": {"model": "central", "epsilon": 1, "delta": "1e-6"}, "columns": columns}
    >>> found = expect(central, rows=5000, questions="SELECT count(*) AS n FROM data WHERE read = 'yes'")
    >>> [(one.column, round(one.half_width or 0, 1)) for one in found]
    [('n', 3.0)]
    """
    chosen = Plan.of(plan)
    choice(way, ("release", "ask"), "way")
    rows = None if rows is None else whole(rows, "rows", 1, _MOST_ROWS)
    asked = asked_questions(chosen, questions)
    if way == "ask":
        return tuple(one for planned in asked for one in expected_of_asking(chosen, planned, rows, chosen.privacy))
    law = law_of(chosen)
    return tuple(one for planned in asked for one in expected_of_release(law, planned, rows))


def law_of(plan: Plan) -> ReleaseRecipe[Any]:
    """What draws a release by the plan, whatever its model."""
    return certify_tables(plan) if plan.model == "central" else certify_row(plan)


def asked_questions(plan: Plan, questions: str | Sequence[str] | None) -> Sequence[PlannedQuestion]:
    """The questions of the plan, or those given: these count alike, and what the plan knows of their rows it knows."""
    shares = {one.sql: one.share_of_rows for one in plan.questions}
    texts = [questions] if isinstance(questions, str) else questions
    asked: Sequence[PlannedQuestion] = plan.questions
    if texts is not None:
        given = listed(texts, "questions", "one or more texts of SQL")
        asked = [
            PlannedQuestion(text, Fraction(1), shares.get(text) if isinstance(text, str) else None) for text in given
        ]
    if not asked:
        raise ArgumentError("questions must be one or more: give them here, or as [[questions]] in the plan")
    for one in asked:
        checked_question(one.sql, plan.columns)
    return asked


def expected_of_release(law: ReleaseRecipe[Any], planned: PlannedQuestion, rows: int | None) -> list[Expected]:
    """± of each column of the answer to one question, from a release by this law."""
    schema = law.schema
    parsed = replace(checked_question(planned.sql, law.plan.columns), table=schema.table)
    try:
        question = resolve(parsed, schema)
    except InputError:  # such as whether curves are missing, which a release without missing ones does not tell
        return _unknown(planned, parsed)
    parts = _parts_of_local_answers if isinstance(law, RowLaw) else _whole
    return _expected(planned, question, law, rows, parts)


def expected_of_asking(plan: Plan, planned: PlannedQuestion, rows: int | None, privacy: Privacy) -> list[Expected]:
    """± of each column of the answer to one question, from `Curator.ask` at this price."""
    schema = schema_of(plan)
    parsed = replace(checked_question(planned.sql, plan.columns), table=schema.table)
    try:
        question = resolve(parsed, schema)
        measurement = measure(question, schema, privacy, unit=plan.unit)
        known = spreads(measurement, _LEVEL, rows if plan.rows_are_public else None)
    except InputError:  # a curator cannot be asked about public columns, whose values nobody declared
        return _unknown(planned, parsed)

    found = _expected(planned, question, measurement, rows, _nothing if measurement.curves else _whole)
    return [one.known(known[one.column][0]) for one in found]


def _unknown(planned: PlannedQuestion, question: Question) -> list[Expected]:
    """The columns of an answer that cannot be had this way."""
    items = [item.alias for item in question.select if aggregates_of(item.expression)]
    return [Expected(planned.sql, alias, planned.weight, None) for alias in items]


def _whole(question: Question, schema: Schema) -> list[Question]:
    return [question]


def _nothing(question: Question, schema: Schema) -> list[Question]:
    return []


def _parts_of_local_answers(question: Question, schema: Schema) -> list[Question]:
    """Every column by itself, as rows may not be asked for the columns of all together; but for those of curves, whose
    band is not one ±, and those that are chosen by ranks and counts, whose ± depends on the data."""
    if asks_for_curves(question, schema):
        return []
    items = [i for i in question.select if all(a.definition.formula for a in aggregates_of(i.expression))]
    return [replace(question, select=(item,)) for item in items]


def _expected(
    planned: PlannedQuestion,
    question: Question,
    recipe: Recipe[Any],
    rows: int | None,
    parts: Callable[[Question, Schema], list[Question]],
) -> list[Expected]:
    """± of each column, for the share of the rows that the plan states, or for even values and for a rare group."""
    schema = recipe.schema

    def widths(count: int, shares: Shares) -> dict[str, HalfWidths | None]:
        found: dict[str, HalfWidths | None] = {}
        for part in parts(question, schema):
            # Every group may be shown, and all items of a set are alike.
            first = None if part.unnest is None else replace(part.unnest, items=part.unnest.items[:1])
            everywhere = replace(part, having=(), order_by=(), limit=None, unnest=first)
            at = partial(recipe.expected_source, everywhere, count, shares)
            if parts is _whole:
                return interval_widths(part, at, _LEVEL)
            with suppress(InputError):  # a law that cannot be undone, or columns that no row is asked for together
                found |= interval_widths(part, at, _LEVEL)
        return found

    stated = planned.share_of_rows
    by_rows = [widths(count, Shares(stated)) for count in ((_FEW, _MANY) if rows is None else (rows,))]
    has_curves = any(schema.spaces[name].holds_curves for name in question.columns)
    rare = {} if stated is not None or has_curves or rows is None else widths(rows, Shares(rare=True))
    # A band that is too wide at one point may still tell something at another.
    reach = {} if has_curves else possible_columns(question, schema, rows)
    expected = []
    for item in question.select:
        if aggregates_of(item.expression):
            first, *others = (found.get(item.alias) for found in by_rows)
            same = all(other and first and isclose(other.greatest, first.greatest, rel_tol=_ALIKE) for other in others)
            facts = reach.get(item.alias, Range()), stated
            told = _rare_width(first, rare.get(item.alias), facts[0])
            one = Expected(planned.sql, item.alias, planned.weight, first if same else None, told, *facts)
            expected.append(one)
    return expected


def _rare_width(common: HalfWidths | None, rare: HalfWidths | None, reach: Range) -> float | None:
    """± of a rare group where it is another one: infinite where it would tell nothing."""
    if common is None or rare is None or not reach.is_narrowed_by(common.greatest):
        return None
    if isclose(rare.greatest, common.greatest, rel_tol=_ALIKE):
        return None
    return rare.greatest if reach.is_narrowed_by(rare.greatest) else inf


# Sanitise or ask? ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Comparison:
    """One column of one question: ± each way, the half-width of the 95% interval, over all groups.

    `release` is that of a release; `ask` that of a curator who spends all of ε on this question, and `ask_shared` of
    one who shares ε evenly among all questions. None is what depends on the data, or cannot be answered that way.
    `estimated` where ± of the curator depends on the data and is that for evenly spread values, as ± of the release
    always is. `ratio` is how many times larger the standard error of the release is than that of the curator.
    """

    ways: Mapping[str, Expected]

    @property
    def question(self) -> str:
        return self.ways["ask"].question

    @property
    def column(self) -> str:
        return self.ways["ask"].column

    @property
    def weight(self) -> Fraction:
        return self.ways["ask"].weight

    @property
    def share_of_rows(self) -> Fraction | None:
        return self.ways["ask"].share_of_rows

    @property
    def release(self) -> float | None:
        return self.ways["release"].half_width if "release" in self.ways else None

    @property
    def ask(self) -> float | None:
        return self.ways["ask"].half_width

    @property
    def ask_shared(self) -> float | None:
        return self.ways["ask_shared"].half_width

    @property
    def estimated(self) -> bool:
        return self.ask is not None and not self.ways["ask"].exact

    @property
    def rare(self) -> dict[str, float | None]:
        """± of the ways in which it is another one for a rare group; None where that would tell nothing."""
        return {w: one.rare if isfinite(one.rare) else None for w, one in self.ways.items() if one.rare is not None}

    @property
    def informative(self) -> dict[str, bool]:
        """For each way, whether the answer would leave out anything that is possible: if not, it tells nothing."""
        return {way: self.ways[way].informative if way in self.ways else True for way in _WAYS}

    @property
    def ratio(self) -> float | None:
        errors = [self.ways[way].widths for way in ("release", "ask") if way in self.ways]
        release, ask = errors if len(errors) == 2 else (None, None)
        return release.error / ask.error if release and ask and release.error and ask.error else None

    @property
    def break_even(self) -> int | None:
        """The number of questions that share ε from which on a release errs less."""
        return None if self.ratio is None else max(1, ceil(self.ratio))

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        fields = ("question", "column", *_WAYS, "rare", "informative", "estimated", "break_even")
        share = self.share_of_rows
        about = {"weight": float(self.weight), "share_of_rows": None if share is None else float(share)}
        return {**{name: getattr(self, name) for name in fields}, **about}


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
            widths = (_told(c, way) for way in ("release", "ask_shared"))
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
            "level": _LEVEL,
            "questions": self.questions,
            "better": self.better,
            "break_even": self.break_even,
            "comparisons": [comparison.to_json() for comparison in self.comparisons],
        }


def _told(comparison: Comparison, way: str) -> str:
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
    rows, asked = whole(rows, "rows", 1, _MOST_ROWS), asked_questions(chosen, questions)
    promise, share = chosen.privacy, Fraction(1, len(asked))
    shared = Privacy(promise.epsilon * share, promise.delta * share, neighbours=promise.neighbours)
    law = law_of(chosen) if chosen.model == "central" or chosen.has_row_law else None
    comparisons = []
    for planned in asked:
        ways = {} if law is None else {"release": expected_of_release(law, planned, rows)}
        for way, price in (("ask", promise), ("ask_shared", shared)):
            ways[way] = expected_of_asking(chosen, planned, rows, price)
        comparisons += [Comparison(dict(zip(ways, found, strict=True))) for found in zip(*ways.values(), strict=True)]
    return Advice(rows, promise, len(asked), tuple(comparisons))


# The usual question about a column -----------------------------------------------------------------------------------


def usual_question(plan: Plan, column: str) -> str:
    """The count of the first value, item or bin of a column, or its mean.

    >>> age = {"space": "interval", "low": 0, "high": 110, "step": 1}
    >>> usual_question(Plan.of({"privacy": {"epsilon": 1}, "columns": {"age": age}}), "age")
    'SELECT avg("age") FROM release'
    """
    space, schema = plan.column(column).space, schema_of(plan, "release")
    if plan.column(column).is_averaged:
        return f"SELECT avg({quoted(column)}) FROM release"
    first = space.candidate(0)
    value = first if isinstance(first, (str, bool)) else exact(first)
    where: Predicate = Compare(column, "=", value)
    if space.items is not None:
        where = Contains(column, value)
    elif column in schema.bins and schema.bins[column].size > 1:
        start = space.label(schema.bins[column].starts[1])
        where = Compare(column, "<", start if isinstance(start, str) else exact(start)) if space.has_order else where
    return f"SELECT count(*) FROM release WHERE {condition(where)}"
