"""What a central release would tell of a question, before there is one: `dproof.advice.expect` makes ± of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from statistics import NormalDist
from typing import Any

import numpy as np

from dproof.central.curves import TableCurves
from dproof.central.estimate import ResidualAnswerSource
from dproof.central.question_sums import measured_sum
from dproof.central.recipe import TableLaw
from dproof.central.workload import ResidualEstimates
from dproof.plans.plan import schema_of
from dproof.questions.estimated import Options
from dproof.questions.measured import AnswerSource, Shares
from dproof.questions.question import Question, both
from dproof.questions.schema import asks_for_curves
from dproof.questions.sums import Term, present

_LEVEL = 0.95


def deviations(law: TableLaw, level: float = _LEVEL) -> float:
    """How many standard deviations ± has: as many as in an answer."""
    return NormalDist().inv_cdf((1 + law.normal_level(level)) / 2)


@dataclass(frozen=True, slots=True, eq=False)
class EvenTable:
    """What is measured of a table of so many rows, spread evenly over all cells, if no noise is drawn."""

    law: TableLaw
    rows: int | None
    estimates: Mapping[int | None, ResidualEstimates]
    count: float
    private: bool = True
    certificate: Mapping[str, Any] = field(default_factory=lambda: {"release": {"made_up_rows": None}})


def even_table(law: TableLaw, rows: float) -> EvenTable:
    """Rows whose codes are spread evenly and independently: the residual of a table is then the product of those of its
    columns, which are 0 but for bins of different sizes; numbers about the middle add up to nothing."""
    nobody = law.precisions
    sizes = [np.array(axis.bins.sizes, float) for axis in law.axes]
    apart = [codes / codes.sum() - 1 / len(codes) for codes in sizes]
    residuals = {
        table: rows * reduce(np.multiply.outer, (apart[place] for place in table), np.array(1.0))
        for table in nobody[None].residuals
    }
    counts = replace(nobody[None], residuals=residuals)
    return EvenTable(law, int(rows) if law.plan.rows_are_public else None, {**nobody, None: counts}, rows)


def expected_source(law: TableLaw, question: Question, rows: int, shares: Shares, level: float) -> AnswerSource:
    """What a release of the tables of so many rows, with values that are spread evenly, would tell of a question."""
    schema, options, table = schema_of(law.plan, "release"), Options(level), even_table(law, rows)
    if asks_for_curves(question, schema):
        return TableCurves(table, question, schema, options)
    source = ResidualAnswerSource(table, question, schema, options)
    if shares == Shares():
        return source
    source.estimated = source.estimated.with_shares(bool(question.group_by), shares, rows)
    chosen = bool(question.group_by) or question.where is not None
    for aggregate in source.asked.special if chosen else ():  # from the counts of values or bins
        where = both(question.where, present(aggregate, schema))
        counts = measured_sum(table, source.asked.weights(Term((), where)))
        of_group = float(counts.weights @ table.estimates[None].table(counts.table).ravel()) / source.asked.groups
        fewer = even_table(law, shares.factor(of_group, rows) * rows)
        source.answered[aggregate] = ResidualAnswerSource(fewer, question, schema, options).answered[aggregate]
    return source
