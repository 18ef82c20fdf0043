"""Debiased answers to SQL: a question, its sums, their estimates, the table of the answer."""

from __future__ import annotations

from typing import Any

from dproof.errors import InputError, did_you_mean
from dproof.estimation.curves import curve_answer
from dproof.estimation.frame import Frame, schema_of
from dproof.estimation.measuring import WAYS_OUT, Asked, Options, measure
from dproof.estimation.order_statistics import special_cells
from dproof.plans.row_law import RowLaw
from dproof.questions.answer import Answer, arranged, cautions
from dproof.questions.possible import possible
from dproof.questions.question import Aggregate, Expression, Key, aggregates, expressions, parts_of
from dproof.questions.schema import asked_curve, resolve
from dproof.questions.sql import parse
from dproof.questions.sums import centred_terms

_METHODS = {
    "inverse": "inverse law (unbiased)",
    "likelihood": "maximum likelihood (iterative Bayes)",
    "projection": "inverse law, moved to the nearest table without negative counts",
    "shrinkage": "inverse law, counts drawn towards each other (empirical Bayes)",
}
_TARGETS = {
    "table": "the table that was sanitised (privacy noise only)",
    "population": "the population that its rows were drawn from (privacy noise and sampling)",
}


def query(release: Any, sql: str, **options: Any) -> Answer:
    """The debiased answer to a question on a release, with an interval for each estimate.

    `level` of the intervals; `method` "inverse", "likelihood", "projection" or "shrinkage"; `target` of the intervals,
    "table" or "population"; `simultaneous=True` for intervals that hold all at once.

    >>> import pyarrow, dproof as dp
    >>> plan = {"privacy": {"epsilon": 1}, "columns": {"read": {"space": "categories", "values": ["yes", "no"]}}}
    >>> release = dp.sanitise(pyarrow.table({"read": ["yes"] * 300 + ["no"] * 700}), plan)
    >>> [row["read"] for row in query(release, "SELECT read, count(*) FROM release GROUP BY read").rows]
    ['yes', 'no']
    """
    known = Options.__slots__
    for option in options:
        if option not in known:
            raise InputError(f"query has no option {option!r}{did_you_mean(option, known)}")
    law: RowLaw = release.law
    parsed = parse(sql)
    curves = asked_curve(parsed, schema_of(law))
    if curves is not None:
        return curve_answer(release, parsed, curves, Options(**options))
    question = resolve(parsed, schema_of(law))
    asked = Asked(law, release.data, release.rows, question, Options(**options))
    answer = answer_rows(asked)
    notes = [*cautions(answer, WAYS_OUT), *asked.notes]
    notes += [] if release.private else ["NOT PRIVATE: drawn with seeded coins"]
    return Answer(
        tuple(item.alias for item in question.select),
        answer,
        asked.options.level,
        tuple(dict.fromkeys(notes)),
        f"{_METHODS[asked.options.method]}; intervals for {_TARGETS[asked.options.target]}",
    )


def answer_rows(asked: Asked) -> list[dict[str, Any]]:
    """The rows of the answer: every declared group, as HAVING, ORDER BY and LIMIT leave them."""
    question = asked.question
    schema, asked_for = schema_of(asked.law), aggregates(question)
    linear = [a for a in asked_for if a.definition.formula] or [Aggregate("count")]
    needed = list(dict.fromkeys(s for a in linear for s in centred_terms(a, question.where, schema)))
    frame = Frame(asked.law, needed, question.group_by)
    table, combos = frame.read(asked.data, asked.rows)
    groups = frame.groups(combos)
    occurs = frame.occurring(question.where, table, groups) if question.group_by else [True]
    found = measure(asked, frame, table, groups, needed)
    special = {a: special_cells(asked, a, groups) for a in asked_for if a not in linear}
    columns: dict[Expression, list[Any]] = {}
    for expression in dict.fromkeys(expressions(question)):
        if isinstance(expression, Key):
            place = question.group_by.index(expression)
            columns[expression] = [labels[place] for labels in groups.labels]
            continue
        if isinstance(expression, Aggregate) and expression in special:
            cells = special[expression]
        else:
            for part in parts_of(expression):
                if isinstance(part, Aggregate) and part in special:
                    raise InputError(f"{part.kind.upper()} cannot be calculated with: select it by itself")
            cells = found.cells(expression)
        whole = possible(expression, question, schema, asked.rows)
        columns[expression] = [whole.cut(cell) for cell in cells]
    rows = arranged(question, columns, [n for n in range(len(groups.labels)) if occurs[n]])
    asked.notes += [note for n in rows for note in found.warnings[n]]
    return [{item.alias: columns[item.expression][n] for item in question.select} for n in rows]
