"""Sanitise or ask? How good either is for a list of questions, before there is any data."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, exp, isclose, isfinite, log, prod
from typing import Any

import numpy as np

from dproof.arguments import listed, whole
from dproof.curator.preview import level_shown, spreads
from dproof.curator.recipe import Measurement, measure
from dproof.curator.simulate import value_of
from dproof.errors import InputError
from dproof.exact import written
from dproof.laws.scores import Array
from dproof.local.answer import pool, sharpest
from dproof.local.estimated import Estimated, Options, estimate
from dproof.local.recipe import RowLaw, certify_row
from dproof.local.stored import rows_to_expect
from dproof.plans.plan import Plan
from dproof.plans.questions import Planned, checked_question
from dproof.plans.schema import schema_of
from dproof.privacy import Privacy
from dproof.questions.aggregates import Sums, total
from dproof.questions.answer import NOTHING, rarely
from dproof.questions.functions import changes_widths
from dproof.questions.intervals import half_widths, normal_quantile
from dproof.questions.measured import level_of_shown, possible_columns, rows_of_group
from dproof.questions.question import (
    Contains,
    Expression,
    Item,
    Question,
    aggregates,
    aggregates_of,
    both,
    columns,
    measured_parts,
)
from dproof.questions.ranges import Range
from dproof.questions.schema import Schema, asks_for_curves, resolve
from dproof.questions.sql import Select
from dproof.questions.sums import Term, centred_terms, multiplied_out

Spread = tuple[float | None, float | None]  # a half-width and a standard error, over all groups
_LEVEL = 0.95
_WAYS = ("release", "ask", "ask_shared")
_MOST_ROWS = 10**15
_EASY = 4  # an ε under which laws are small


@dataclass(frozen=True, slots=True)
class Comparison:
    """One column of one question: ± of both ways, the half-width of the 95% interval, over all groups.

    `release` is that of a release; `ask` that of a curator who spends all of ε on this question, and `ask_shared` of
    one who shares ε evenly among all questions. None is what depends on the data, or cannot be answered that way.
    `estimated` where ± of the curator depends on the data and is that for evenly spread values, as ± of the release
    always is. `ratio` is how many times larger the standard error of the release is than that of the curator.
    `possible` is what the answer can be at all. `rare` has ± of the ways in which it is another one where a group, or a
    condition, has a tenth of the rows that it would have: nobody knows before how rare it is, unless the plan says
    `share_of_rows`.
    """

    question: str
    column: str
    weight: Fraction
    release: float | None
    ask: float | None
    ask_shared: float | None
    ratio: float | None = None
    estimated: bool = False
    possible: Range = field(default_factory=Range)
    rare: Mapping[str, float | None] = field(default_factory=dict)
    share_of_rows: Fraction | None = None

    @property
    def informative(self) -> dict[str, bool]:
        """For each way, whether the answer would leave out anything that is possible: if not, it tells nothing."""
        return {way: self.possible.is_narrowed_by(getattr(self, way)) for way in _WAYS}

    @property
    def break_even(self) -> int | None:
        """The number of questions that share ε from which on a release errs less."""
        return None if self.ratio is None else max(1, ceil(self.ratio))


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
        fields = ("question", "column", *_WAYS, "rare", "informative", "estimated", "break_even")
        found = [{**{f: getattr(c, f) for f in fields}, **_shares(c)} for c in self.comparisons]
        return {
            "rows": self.rows,
            "epsilon": float(self.privacy.epsilon),
            "delta": float(self.privacy.delta),
            "level": _LEVEL,
            "questions": self.questions,
            "better": self.better,
            "break_even": self.break_even,
            "comparisons": found,
        }


def _shares(comparison: Comparison) -> dict[str, float | None]:
    share = comparison.share_of_rows
    return {"weight": float(comparison.weight), "share_of_rows": None if share is None else float(share)}


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
    if chosen.model != "local":
        raise InputError("advise compares rows drawn one by one with asking: for model = 'central' see `dproof plan`")
    whole(rows, "rows", 1, _MOST_ROWS)
    asked = chosen.questions if questions is None else _given(questions, chosen)
    if not asked:
        raise InputError("questions must be one or more: give them here, or as [[questions]] in the plan")
    parsed = [checked_question(one.sql, chosen.columns) for one in asked]
    promise = chosen.privacy
    law = certify_row(chosen) if chosen.has_row_law else None
    shared = Privacy(promise.epsilon / len(asked), promise.delta / len(asked), neighbours=promise.neighbours)
    found = (_compared(chosen, law, rows, one, question, shared) for one, question in zip(asked, parsed, strict=True))
    return Advice(rows, promise, len(asked), tuple(c for part in found for c in part))


def asked_width(plan: Plan, rows: int, column: str) -> float | None:
    """± of `dproof ask` for all of ε, where no value is missing: of the count of one value, or of a mean."""
    space = plan.column(column).space
    if space.holds_curves:
        return None
    if plan.column(column).is_averaged:
        return _width(plan, Select().mean(column), rows)
    count, first = Select().count(), space.candidate(0)
    if space.items is not None:
        return _width(plan, replace(count, condition=Contains(column, first)), rows)
    return _width(plan, count.where(**{column: first}), rows)


def question_widths(plan: Plan, rows: int, sql: str) -> list[Comparison]:
    """± of `dproof ask` for all of ε, of each column of the answer to a question; that of a release is not meant."""
    # What is expected of evenly spread values is the same under any law, and this one is found quickly.
    law = certify_row(replace(plan, privacy=Privacy(_EASY))) if plan.has_row_law else None
    asked = next((one for one in plan.questions if one.sql == sql), Planned(sql, Fraction(1)))
    parsed = checked_question(sql, plan.columns)
    return _compared(plan, law, rows, asked, parsed, plan.privacy)


def count_width(plan: Plan) -> float | None:
    """± of `dproof ask` for all of ε of the number of rows, where that is private."""
    return _width(plan, Select().count(), None)


def _width(plan: Plan, asked: Select, rows: int | None) -> float | None:
    schema = replace(schema_of(plan), nullable=frozenset())
    noise = _noise(plan, resolve(asked.question(), schema), schema, plan.privacy)
    return next(iter(spreads(noise, _LEVEL, rows if plan.rows_are_public else None).values()))[0]


def _noise(plan: Plan, question: Question, schema: Schema, privacy: Privacy) -> Measurement:
    """What a curator would draw for a question at this price."""
    return measure(question, schema, privacy, unit=plan.unit)


def _given(questions: Any, plan: Plan) -> tuple[Planned, ...]:
    """Questions that count alike; what the plan knows of the rows of one it knows of it here, too."""
    shares = {one.sql: one.share_of_rows for one in plan.questions}
    texts = [questions] if isinstance(questions, str) else listed(questions, "questions", "one or more texts of SQL")
    return tuple(Planned(text, Fraction(1), shares.get(text) if isinstance(text, str) else None) for text in texts)


def _compared(
    plan: Plan, law: RowLaw | None, rows: int, one: Planned, parsed: Question, shared: Privacy
) -> list[Comparison]:
    """The columns of one question that hold answers; without a law, as there can be no release, of a curator alone."""
    items = [item for item in parsed.select if aggregates_of(item.expression)]
    unknown = [Comparison(one.sql, item.alias, one.weight, None, None, None) for item in items]
    data_schema = schema_of(plan)
    schema = data_schema if law is None else law.schema
    curves = [column for column in columns(parsed) if schema.spaces[column].holds_curves]
    if asks_for_curves(parsed, schema) or not all(map(schema.may_be_missing, curves)):
        return unknown  # a band, not one ±; or whether a curve is missing, where a release does not tell
    release = resolve(replace(parsed, table=schema.table), schema)
    if any(aggregate.definition.formula is None for aggregate in aggregates(release)):
        return unknown  # how far a quantile or a top list is off depends on the data
    data: Question | None = None
    noises: list[Measurement] = []
    with suppress(InputError):  # a curator cannot be asked about public columns, whose values nobody declared
        data = resolve(replace(parsed, table=data_schema.table), data_schema)
        noises = [_noise(plan, data, data_schema, privacy) for privacy in (plan.privacy, shared)]
    terms = [n.statistic for noise in noises[:1] for n in noise.noisy if isinstance(n.statistic, Term)]
    measured = None
    with suppress(InputError):  # a law that cannot be undone, or too large a table of counts
        measured = None if law is None else _expected(law, release, rows, terms)
    public_rows = rows if plan.rows_are_public else None
    reached = possible_columns(parsed, data_schema, rows)
    compared = []
    for place, item in enumerate(release.select):
        if not aggregates_of(item.expression):
            continue
        if changes_widths(item.expression):
            compared.append(Comparison(one.sql, item.alias, one.weight, None, None, None))
            continue
        expected = measured
        if law is not None and law.weights is not None:  # each is told by the rows that answer for what it needs
            with suppress(InputError):
                expected = _expected_alone(law, release, item, rows)
        expression = measured_parts(item.expression, release.unnest)[0]  # all items of a set are alike
        of_data = None if data is None else measured_parts(data.select[place].expression, data.unnest)[0]
        ways = _Ways(item.alias, expression, of_data, noises, release, public_rows)
        share, grouped = one.share_of_rows, bool(release.group_by)
        rarer = [each and each.rarer(grouped, share, rows) for each in (expected, measured)]
        told = ways.spreads(*(rarer if share is not None else (expected, measured)))
        (width, error), (ask, own_error), (ask_shared, _) = told
        reach = reached[item.alias]
        rare = {} if share is not None else _rare(told, ways.spreads(*rarer), reach)
        estimated = bool(noises) and ask is not None and spreads(noises[0], _LEVEL, public_rows)[item.alias][0] is None
        ratio = error / own_error if error and own_error else None
        facts = (width, ask, ask_shared, ratio, estimated, reach, rare, share)
        compared.append(Comparison(one.sql, item.alias, one.weight, *facts))
    return compared


@dataclass(frozen=True, slots=True)
class _Ways:
    """One column of an answer: as it is asked of a release, and of the table with the noise of two prices."""

    alias: str
    of_release: Expression
    of_data: Expression | None
    noises: Sequence[Measurement]
    question: Question
    public_rows: int | None

    def spreads(self, expected: Estimated | None, measured: Estimated | None) -> list[Spread]:
        """± each way, for what a release and a curator would measure."""
        asked: list[Spread] = [(None, None), (None, None)]
        if self.of_data is not None and self.noises:
            facts = (measured, self.question, self.public_rows)
            asked = [_of_curator(self.alias, self.of_data, noise, *facts) for noise in self.noises]
        return [(None, None) if expected is None else _of_release(self.of_release, expected), *asked]


def _rare(common: Sequence[Spread], rare: Sequence[Spread], reach: Range) -> dict[str, float | None]:
    """± of the ways in which it is another one for a rare group; None where that would tell nothing."""
    widths = zip(_WAYS, common, rare, strict=True)
    return {
        way: other if reach.is_narrowed_by(other) else None
        for way, (width, _), (other, _) in widths
        if width is not None and (other is None or not isclose(width, other, rel_tol=1e-6))
    }


def _expected(law: RowLaw, question: Question, rows: int, terms: list[Term]) -> Estimated:
    """What a release of evenly spread values would be measured as; with the curator's sums as well."""
    needed = [s for a in aggregates(question) for s in centred_terms(a, question.where, law.schema)]
    needed += [_estimated(term, part, question) for term in terms for part in multiplied_out(term.columns)]
    needed = list(dict.fromkeys(needed))
    parts = sharpest(rows_to_expect(law, frozenset(columns(question)), rows), needed, question)
    estimates = []
    for part in parts:
        table, combos = part.counting.expect(part.stored.rows)
        estimates.append(
            estimate(part.counting, table, part.counting.groups(combos), needed, question, Options(), rows)
        )
    return _at_level_of_shown(pool(estimates, [part.weight for part in parts]), question)


def _expected_alone(law: RowLaw, question: Question, item: Item, rows: int) -> Estimated:
    """The same for one thing that a question selects, from rows that tell it, whatever else is asked."""
    expected = _expected(law, replace(question, select=(item,), having=(), order_by=(), limit=None), rows, [])
    return _at_level_of_shown(expected, question)


def _at_level_of_shown(expected: Estimated, question: Question) -> Estimated:
    """The same with intervals of the level that they have where noisy values choose the rows of the answer."""
    level = level_of_shown(question, _LEVEL, lambda: len(expected.estimates.values) * rows_of_group(question))
    return replace(expected, options=expected.options.at(level))


def expected_width(law: RowLaw, question: Question, item: Item, rows: int) -> float | None:
    """± of one thing that a question selects, from a release of `rows` rows; None where it is not known."""
    if changes_widths(item.expression):
        return None
    with suppress(InputError):  # a law that cannot be undone, or columns that no row is asked for together
        expression = measured_parts(item.expression, question.unnest)[0]
        return _of_release(expression, _expected_alone(law, question, item, rows))[0]
    return None


def _estimated(term: Term, columns: tuple[str, ...], question: Question) -> Term:
    """The sum that a release estimates of these columns over the rows of a curator's sum."""
    return Term(columns, both(question.where, term.where), bool(columns))


def _of_release(expression: Expression, measured: Estimated) -> Spread:
    """± of the release's interval, as a query of it would tell, and the standard error."""
    value = measured.value(expression, measured.estimates.values)
    heaviest = np.einsum("gi,gi->g", np.abs(value.gradient), measured.estimates.heaviest)
    half = half_widths(value.variance, heaviest, measured.options.level).half
    spread = measured.spread(value)
    # What a condition on a number under wide noise cannot tell is no standard error, and is most of its interval.
    doubt = np.where(spread.rough, (spread.high - spread.low) / 2 - half, 0.0)
    return _mean_square(half + doubt), _mean_square(np.sqrt(np.maximum(value.variance, 0.0) + doubt**2))


def _of_curator(
    alias: str,
    expression: Expression,
    noise: Measurement,
    measured: Estimated | None,
    question: Question,
    public_rows: int | None,
) -> Spread:
    """± of the curator's interval, exactly where it does not depend on the data; and the standard error."""
    exact = spreads(noise, _LEVEL, public_rows)[alias][0]
    if measured is None:
        return exact, None
    noisy = {n.statistic: n.noise for n in noise.noisy if isinstance(n.statistic, Term)}
    expected = {term: _whole(term, measured, question, noise.schema) for term in noisy}
    variance = np.zeros(len(measured.estimates.values))
    for term, law in noisy.items():
        if law is not None:  # the delta method, one noisy sum after another
            step = law.variance**0.5
            up, down = ({**expected, term: expected[term] + side * step} for side in (1, -1))
            above, below = (value_of(expression, moved, noise.schema, clip=False) for moved in (up, down))
            variance = variance + ((above - below) / 2) ** 2
    error = _mean_square(np.sqrt(np.maximum(variance, 0.0)))
    if exact is not None or error is None:
        return exact, error
    return normal_quantile(level_shown(noise, _LEVEL)) * error, error


def _whole(term: Term, measured: Estimated, question: Question, schema: Schema) -> Array:
    """A curator's sum in its own units, from the same sum of the release."""
    places = {part: measured.needed.index(_estimated(term, part, question)) for part in multiplied_out(term.columns)}
    sums = Sums({part: measured.estimates.values[:, place] for part, place in places.items()}, measured.numbers)
    units = [measured.numbers[column].unit for column in term.columns]
    found = sums[term.columns] * prod(units) if term.centred else total(sums, *term.columns)
    return np.asarray(found / float(term.unit(schema)))


def _mean_square(widths: Array) -> float | None:
    """The root of the mean square over the groups; None where none is known."""
    finite = widths[np.isfinite(widths)]
    root = float(np.sqrt((finite**2).mean())) if len(finite) else None
    return root if root is None or isfinite(root) else None
