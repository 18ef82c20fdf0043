"""What a central release would tell of an even table, before any data is opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from typing import NamedTuple

import numpy as np

from dproof.central.answer import ResidualAnswerSource, source
from dproof.central.estimates import ResidualEstimates
from dproof.central.question_sums import measured_sum
from dproof.central.recipe import TableLaw
from dproof.questions.estimated import Options
from dproof.questions.measured import AnswerSource, Shares
from dproof.questions.question import Question, asks_for_curves, both
from dproof.questions.sums import Term, present


class EvenTable(NamedTuple):
    """What is measured of a table of so many rows, spread evenly over all cells, if no noise is drawn."""

    law: TableLaw
    rows: int | None
    estimates: Mapping[int | None, ResidualEstimates]
    private: bool = True
    way_out: str = ""


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
    return EvenTable(law, int(rows) if law.plan.rows_are_public else None, {**nobody, None: counts})


def expected_source(law: TableLaw, question: Question, rows: int, shares: Shares, level: float) -> AnswerSource:
    """What a release of the tables of so many rows, with values that are spread evenly, would tell of a question."""
    table, options = even_table(law, rows), Options(level)
    found = source(table, question, options)
    if shares == Shares() or asks_for_curves(question, law.schema):
        return found
    assert isinstance(found, ResidualAnswerSource)
    found.estimated = found.estimated.with_shares(bool(question.group_by), shares, rows)
    chosen = bool(question.group_by) or question.where is not None
    for aggregate in found.asked.special if chosen else ():  # from the counts of values or bins
        where = both(question.where, present(aggregate, law.schema))
        counts = measured_sum(table, found.asked.weights(Term((), where)))
        of_group = float(counts.weights @ table.estimates[None].table(counts.table).ravel()) / found.asked.groups
        fewer = even_table(law, shares.factor(of_group, rows) * rows)
        found.answered[aggregate] = ResidualAnswerSource(fewer, question, law.schema, options).answered[aggregate]
    return found
