"""Sanitise or ask? Which of the two errs less for a list of questions, before there is any data."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, exp, inf, isfinite, log
from typing import Any

import numpy as np

from dproof.curation import formulas
from dproof.curation.measurement import Measurement
from dproof.curation.measurement import measure as measure_noise
from dproof.curation.tally import schema_of as curator_schema
from dproof.errors import InputError
from dproof.estimation.expressions import sums_of
from dproof.estimation.frame import Frame, Needed, schema_of
from dproof.estimation.measuring import Asked, Measured, Options, measure
from dproof.laws.inverse import Array
from dproof.privacy import Privacy
from dproof.queries.linear import Term
from dproof.queries.predicates import both
from dproof.queries.question import Expression, Key, Number, Question, aggregates
from dproof.queries.schema import Schema, resolve
from dproof.queries.sql import parse
from dproof.sanitisation.plan import Plan
from dproof.sanitisation.row_law import RowLaw, certify_row

_LINEAR = ("count", "sum", "avg", "var", "stddev", "covar", "corr")


@dataclass(frozen=True, slots=True)
class Comparison:
    """One column of one question: the root mean squared error of both ways, over all groups.

    `asked_alone` is that of the curator who spends everything on this question, and `break_even` the number of
    questions from which on a release errs less.
    """

    question: str
    column: str
    sanitised: float
    asked: float
    asked_alone: float

    @property
    def break_even(self) -> int | None:
        return _questions(self.sanitised / self.asked_alone) if self.asked_alone > 0 else None


@dataclass(frozen=True, slots=True)
class Advice:
    """Which way errs less for these questions at this price, and from how many questions on sanitising does.

    A table with evenly spread values is assumed; the curator shares ε evenly among the questions.
    """

    rows: int
    privacy: Privacy
    questions: int
    comparisons: tuple[Comparison, ...]

    @property
    def break_even(self) -> int | None:
        """The number of questions of this kind from which on a release errs less, over all of them."""
        ratios = [c.sanitised / c.asked_alone for c in self.comparisons if c.asked_alone > 0 and c.sanitised > 0]
        return _questions(exp(sum(map(log, ratios)) / len(ratios))) if ratios and all(map(isfinite, ratios)) else None

    @property
    def better(self) -> str:
        """ "sanitise" or "ask"."""
        return "sanitise" if self.break_even is not None and self.questions >= self.break_even else "ask"

    def __str__(self) -> str:
        lines = [["question", "column", "sanitise: ±", "ask: ±", "sanitising wins from"]]
        for c in self.comparisons:
            wins = "never" if c.break_even is None else f"{c.break_even:,} questions"
            lines.append([c.question, c.column, f"{c.sanitised:.4g}", f"{c.asked:.4g}", wins])
        widths = [max(len(line[n]) for line in lines) for n in range(5)]
        table = ["  ".join(text.ljust(w) for text, w in zip(line, widths, strict=True)).rstrip() for line in lines]
        verdict = "sanitise once and ask the release" if self.better == "sanitise" else "ask the table under a budget"
        wins = "" if self.break_even is None else f"; sanitising wins from {self.break_even:,} questions like these"
        return "\n".join([*table, "", f"For {self.questions} questions on {self.rows:,} rows: {verdict}{wins}."])

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        fields = ("question", "column", "sanitised", "asked", "break_even")
        return {
            "rows": self.rows,
            "epsilon": float(self.privacy.epsilon),
            "delta": float(self.privacy.delta),
            "questions": self.questions,
            "better": self.better,
            "break_even": self.break_even,
            "comparisons": [{field: getattr(c, field) for field in fields} for c in self.comparisons],
        }


def _questions(ratio: float) -> int | None:
    return max(1, ceil(ratio)) if isfinite(ratio) else None


def advise(plan: Plan | str | os.PathLike[str] | Mapping[str, Any], queries: str | Sequence[str], rows: int) -> Advice:
    """Compare a release with a curator, for the same promise, the same questions and a table of so many rows.

    A release costs the same whatever is asked of it, and errs by the noise of every row; a curator errs by the noise
    of one answer, which grows with the number of questions that share ε (HLM15, Theorem 4 against section 2.4).

    >>> columns = {"hobby": {"space": "categories", "values": ["Cars", "Chess", "Golf"], "outside": "category",
    ...     "missing": "category"}}
    >>> plan = {"privacy": {"epsilon": 1}, "columns": columns}
    >>> found = advise(plan, ["SELECT hobby, count(*) AS n FROM data GROUP BY hobby"], 10_000)
    >>> found.better, found.break_even
    ('ask', 55)
    """
    texts = [queries] if isinstance(queries, str) else list(queries)
    if not texts or isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise InputError("advice needs at least one question, and the number of rows as a whole number from 1 on")
    law = certify_row(Plan.of(plan))
    promise = law.plan.privacy
    share = Privacy(promise.epsilon / len(texts), promise.delta / len(texts), neighbours=promise.neighbours)
    found: list[Comparison] = []
    for text in texts:
        parsed = parse(text)
        release = resolve(replace(parsed, table="release"), schema_of(law))
        data_schema = curator_schema(law.plan)
        data = resolve(replace(parsed, table=data_schema.table), data_schema)
        if any(aggregate.kind not in _LINEAR for aggregate in aggregates(release)):
            raise InputError("counts, sums, means and variances can be compared; quantiles and top lists cannot")
        own_rows, by_person = law.plan.rows_per_person, law.plan.person is not None
        once, shared = (
            measure_noise(data, data_schema, privacy, rows_per_person=own_rows, by_person=by_person)
            for privacy in (promise, share)
        )
        measured = _expected(law, release, rows, [n.statistic for n in once.noisy if isinstance(n.statistic, Term)])
        for own, other in zip(release.select, data.select, strict=True):
            if not isinstance(own.expression, (Key, Number)):
                errors = [_asked_error(other.expression, m, measured, release, data_schema) for m in (shared, once)]
                found.append(Comparison(text, own.alias, _sanitised_error(own.expression, measured), *errors))
    return Advice(rows, promise, len(texts), tuple(found))


def _expected(law: RowLaw, question: Question, rows: int, terms: list[Term]) -> Measured:
    """What a release of evenly spread values would be measured as; with the curator's sums as well."""
    needed = [s for a in aggregates(question) for s in sums_of(a, question.where, schema_of(law))]
    needed = list(dict.fromkeys([*needed, *(_needed(term, question) for term in terms)]))
    frame = Frame(law, needed, question.group_by)
    table, combos = frame.expect(rows)
    return measure(Asked(law, None, rows, question, Options()), frame, table, frame.groups(combos), needed)


def _needed(term: Term, question: Question) -> Needed:
    return both(question.where, term.where), term.columns


def _sanitised_error(expression: Expression, measured: Measured) -> float:
    value = measured.value(expression, measured.found.values)
    doubt = np.einsum("gi,gi->g", np.abs(value.gradient), measured.found.doubts)
    return _root_mean(value.variance + doubt**2)


def _asked_error(
    expression: Expression, noise: Measurement, measured: Measured, question: Question, schema: Schema
) -> float:
    """The delta method on the curator's noisy sums, around those of the evenly spread table."""
    noisy = {n.statistic: n.noise for n in noise.noisy if isinstance(n.statistic, Term)}
    expected = {term: _whole(term, measured, question, schema) for term in noisy}
    variance = np.zeros(len(measured.found.values))
    for term, law in noisy.items():
        if law is not None:
            step = law.variance**0.5
            up, down = ({**expected, term: expected[term] + side * step} for side in (1, -1))
            change = formulas.evaluate(expression, up, schema, clip=False) - formulas.evaluate(
                expression, down, schema, clip=False
            )
            variance = variance + (change / 2) ** 2
    return _root_mean(variance)


def _whole(term: Term, measured: Measured, question: Question, schema: Schema) -> Array:
    """A curator's sum in its own units, from the same sum of the release."""
    total = measured.found.values[:, measured.needed.index(_needed(term, question))]
    if not term.columns:
        return total
    numbers = [measured.frame.numbers[column] for column in term.columns]
    total = total * float(np.prod([number.unit for number in numbers]))
    if not term.centred:
        rows = measured.found.values[:, measured.needed.index(_needed(replace(term, columns=()), question))]
        total = total + numbers[0].middle * rows
    return np.asarray(total / float(term.unit(schema)))


def _root_mean(variance: Array) -> float:
    finite = variance[np.isfinite(variance)]
    return float(np.sqrt(np.maximum(finite, 0.0).mean())) if len(finite) else inf
