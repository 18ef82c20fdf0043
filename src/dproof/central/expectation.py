"""± of every table, sum, mean and question of a central release, before any data is opened."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from math import sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from dproof.central.curves import TableCurves, curve_function
from dproof.central.estimate import ResidualAnswerSource
from dproof.central.question_sums import measured_sum
from dproof.central.recipe import TableLaw
from dproof.central.workload import Residual, ResidualEstimates
from dproof.exact import written
from dproof.plans.plan import schema_of
from dproof.questions.estimated import Options
from dproof.questions.measured import AnswerSource, Shares
from dproof.questions.question import Question, asks_for_curves, both
from dproof.questions.sums import Term, present

_LEVEL = 0.95


class Width(NamedTuple):
    """How sharp a table of counts is, or the sums of a number by a table: ± at 95% of one cell."""

    name: str
    columns: tuple[str, ...]
    sum_of: str | None
    cells: int
    half_width: float


def unused_delta(law: TableLaw) -> str | None:
    """A sentence where the plan allows a δ that its tables do not use; None where they do."""
    allowed = law.plan.privacy.delta
    if law.person.delta == allowed:
        return None
    return (
        f"The plan allows δ = {written(allowed)}, and the release will not use it: Laplace noise, which needs no δ, "
        "has the smaller error for these tables."
    )


def deviations(law: TableLaw, level: float = _LEVEL) -> float:
    """How many standard deviations ± has: as many as in an answer."""
    return NormalDist().inv_cdf((1 + law.normal_level(level)) / 2)


def half_widths(law: TableLaw) -> list[Width]:
    """± of every table and sum that the plan asks for."""
    found, names, widths, cells = law.precisions, [axis.name for axis in law.axes], [], law.domain.cells
    for key in (*map(Residual, law.tables), *law.sums):
        number = key.number
        summed = None if number is None else names[number]
        half = deviations(law) * _worth(law, number) * found[number].cell_variance(key.table) ** 0.5
        columns = tuple(names[place] for place in key.table)
        widths.append(Width(law.measured_name(key) or "all rows", columns, summed, cells(key.table), half))
    return widths


def _worth(law: TableLaw, number: int | None) -> float:
    """What the standard deviation 1 of a measured number is in an answer; of curves at their least sharp grid point."""
    if number is None:
        return 1.0
    if number not in law.lattices:
        return float(law.axes[number].unit)
    lattice = law.lattices[number]
    at_points = (lattice.scales[:, None] * lattice.functions(lattice.space.times)) ** 2
    return sqrt(float(at_points.sum(axis=0).max()))


def cost_shares(law: TableLaw, groups: Sequence[Collection[int]]) -> list[float]:
    """For each group of axes, the part of the privacy loss that goes to measurements with one of them."""
    if law.is_pure:
        losses = {one: float(cost) for one, cost in law.noise.items()}
    else:
        losses = {one: float(law.domain.norm(one) / square) for one, square in law.noise.items()}
    total = sum(losses.values()) or 1.0
    used = [{place for place in (*one.table, one.number) if place is not None} for one in losses]
    return [
        sum(loss for loss, places in zip(losses.values(), used, strict=True) if not places.isdisjoint(group)) / total
        for group in groups
    ]


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


def mean_half_widths(law: TableLaw, rows: int) -> dict[Residual, float]:
    """± at 95% of the mean of every number by a table, with so many rows spread evenly over its cells, at most.

    That is of a mean at an end of the range, where the noise of the number of rows weighs most. Of curves it is ± of
    the band for the whole curve where it is widest.
    """
    precisions, domain, widths = law.precisions, law.domain, dict[Residual, float]()
    for key in law.sums:
        axis, cells = law.axes[key.number or 0], domain.cells(key.table)
        if axis.has_curves:
            half = _mean_curve_half_width(law, key, rows / cells)
            widths |= {} if half is None else {key: half}
            continue
        of_sums, of_counts = (precisions[number].cell_variance(key.table) for number in (key.number, None))
        variance = of_sums + of_counts * (axis.max_abs or 0) ** 2
        if rows >= cells:
            widths[key] = float(deviations(law) * float(axis.unit) * variance**0.5 * cells / rows)
    return widths


def _mean_curve_half_width(law: TableLaw, key: Residual, rows: float) -> float | None:
    """± of the mean of so many curves, all at one end of their range; None where nothing would be known of it."""
    place, precisions = key.number or 0, law.precisions
    count = precisions[None].cell_variance(key.table) ** 0.5
    deviations = count, precisions[place].cell_variance(key.table) ** 0.5
    lattice = law.lattices[place]
    made = curve_function(law, place, np.zeros(lattice.terms), rows, deviations, _LEVEL)
    if made is None:
        return None
    estimate, _, high, error = made.evaluate(made.times)
    centre, space = lattice.centre(made.times), lattice.space
    farthest = np.maximum(centre - float(space.low), float(space.high) - centre)
    beyond = high - estimate - made.quantile * error  # what the basis may leave out
    return float((made.quantile * np.hypot(error, farthest * count / rows) + beyond).max())


def too_noisy_message(widths: Sequence[Width], rows: float) -> str | None:
    """A sentence where no count says more than that there are so many rows; None where some do."""
    least = least_half_width(widths)
    if least < max(rows, 1.0):
        return None
    return (
        f"no count says anything about {written(rows)} rows: the sharpest has ± {written(least)}; allow a larger "
        "epsilon, or ask for fewer and smaller tables"
    )


def told_nothing(law: TableLaw, counts: ResidualEstimates) -> str | None:
    """A sentence where no count says more than how many rows a release has, as is public or measured; else None."""
    return too_noisy_message(half_widths(law), max(0.0, float(counts.table(()))))


def least_half_width(widths: Sequence[Width]) -> float:
    """± of the sharpest table of counts that is measured: of fewer rows than that no count says anything."""
    return min((one.half_width for one in widths if one.sum_of is None and one.half_width), default=0.0)
