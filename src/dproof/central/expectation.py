"""What a central release would tell of an even table, before any data is opened, and ± of its means."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import NamedTuple

import numpy as np

from dproof.central.answer import ResidualAnswerSource, source
from dproof.central.curves import curve_function
from dproof.central.estimates import ResidualEstimates
from dproof.central.question_sums import measured_sum
from dproof.central.recipe import LEVEL, TableLaw
from dproof.central.workload import Residual
from dproof.exact import written
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


def mean_half_widths(law: TableLaw, rows: int) -> dict[Residual, float]:
    """± at 95% of the mean of every number by a table, with so many rows spread evenly over its cells, at most.

    That is of a mean at an end of the range, where the noise of the number of rows weighs most. Of curves it is ± of
    the band for the whole curve where it is widest. Where nothing would be known of a mean it has none.
    """
    widths = dict[Residual, float]()
    for key in law.sums:
        assert key.number is not None
        axis, count = law.axes[key.number], rows / law.domain.cells(key.table)
        of_sum, of_count = (law.precisions[number].cell_variance(key.table) ** 0.5 for number in (key.number, None))
        if axis.has_curves:
            widths |= _mean_curve_half_width(law, key, count, (of_count, of_sum))
        elif count >= 1:
            error = np.hypot(of_sum, of_count * (axis.max_abs or 0)) * float(axis.unit)
            widths[key] = float(law.deviations() * error / count)
    return widths


def _mean_curve_half_width(
    law: TableLaw, key: Residual, rows: float, deviations: tuple[float, float]
) -> dict[Residual, float]:
    """± of the mean of so many curves, all at one end of their range."""
    lattice = law.lattices[key.number or 0]
    made = curve_function(law, key.number or 0, np.zeros(lattice.terms), rows, deviations, LEVEL)
    if made is None:
        return {}
    estimate, _, high, error = made.evaluate(made.times)
    centre, space = lattice.centre(made.times), lattice.space
    farthest = np.maximum(centre - float(space.low), float(space.high) - centre)
    beyond = high - estimate - made.quantile * error  # what the basis may leave out
    return {key: float((made.quantile * np.hypot(error, farthest * deviations[0] / rows) + beyond).max())}


def cost_shares(law: TableLaw, groups: Sequence[Collection[int]]) -> list[float]:
    """For each group of axes, the part of the privacy loss that goes to measurements with one of them."""
    losses = {one: float(n if law.is_pure else law.domain.norm(one) / n) for one, n in law.noise.items()}
    total = sum(losses.values()) or 1.0
    return [
        sum(loss for one, loss in losses.items() if not {*one.table, one.number}.isdisjoint(group)) / total
        for group in groups
    ]


def unused_delta(law: TableLaw) -> str | None:
    """A sentence where the plan allows a δ that its tables do not use; None where they do."""
    allowed = law.plan.privacy.delta
    if law.person.delta == allowed:
        return None
    return (
        f"The plan allows δ = {written(allowed)}, and the release will not use it: Laplace noise, which needs no δ, "
        "has the smaller error for these tables."
    )


def too_noisy_message(law: TableLaw, rows: float) -> str | None:
    """A sentence where no count says more than that there are so many rows, as is public or measured; else None."""
    least, rows = law.least_half_width, max(rows, 0.0)
    if least < max(rows, 1.0):
        return None
    return (
        f"no count says anything about {written(rows)} rows: the sharpest has ± {written(least)}; allow a larger "
        "epsilon, or ask for fewer and smaller tables"
    )
