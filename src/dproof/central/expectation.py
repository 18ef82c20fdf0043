"""How sharp the tables of a plan will be: ± of every table, sum, mean and question, before any data is opened."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf, isclose, isfinite, sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from dproof.central.curves import curve_function
from dproof.central.estimate import MeasuredTables, query
from dproof.central.recipe import TableLaw
from dproof.central.residuals import Estimates
from dproof.central.workload import Residual
from dproof.exact import written
from dproof.local.estimated import RARE, Options
from dproof.plans.schema import schema_of
from dproof.questions.answer import Cell
from dproof.questions.measured import answer, chosen_by_noise, level_of_shown, possible_columns
from dproof.questions.question import Question, columns
from dproof.questions.ranges import Range
from dproof.questions.schema import Schema, resolve

_LEVEL = 0.95
_FEW, _MANY = 10**2, 10**9  # rows: a ± that is the same with both does not depend on their number


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


class Expected(NamedTuple):
    """± at 95% of a column of the answer to a question: the least and the greatest over its groups; None if unknown.

    `informative` is whether each would leave out anything that is possible: if not, the answer tells nothing. `rare` is
    the greatest ± where a group, or a condition, has a tenth of the rows that it would have were they spread evenly:
    None where that makes no difference, infinite where the answer would tell nothing.
    """

    question: str
    weight: float
    column: str
    half_widths: tuple[float, float] | None
    informative: tuple[bool, bool]
    rare: float | None = None
    share_of_rows: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class EvenTable:
    """What is measured of a table of so many rows, spread evenly over all cells, if no noise is drawn."""

    law: TableLaw
    rows: int | None
    estimates: Mapping[int | None, Estimates]
    count: float
    private: bool = True
    certificate: Mapping[str, Any] = field(default_factory=lambda: {"release": {"made_up_rows": None}})


def even_table(law: TableLaw, rows: float) -> EvenTable:
    """Rows that are spread evenly have no residual but their number, and numbers in the middle add up to nothing."""
    nobody = law.precisions
    counts = replace(nobody[None], residuals={**nobody[None].residuals, (): np.array(float(rows))})
    return EvenTable(law, int(rows) if law.plan.rows_are_public else None, {**nobody, None: counts}, rows)


class _Rarer(MeasuredTables):
    """One question on an even table, if its groups and conditions had a share of the rows that is given, or a tenth of
    what they have."""

    def __init__(
        self, release: EvenTable, question: Question, schema: Schema, options: Options, share: Fraction | None
    ) -> None:
        super().__init__(release, question, schema, options)
        self.estimated = self.estimated.rarer(bool(question.group_by), share, int(release.count))
        chosen = bool(question.group_by) or question.where is not None
        for aggregate in self.asked.special if chosen else ():  # from the counts of values or bins
            counts = self.asked.counts_by(aggregate)[0]
            rows = float(counts.weights @ release.estimates[None].table(counts.table).ravel()) / self.asked.groups
            factor = RARE if share is None else float(share) * release.count / rows
            fewer = MeasuredTables(even_table(release.law, factor * release.count), question, schema, options)
            self.answered[aggregate] = fewer.answered[aggregate]


def question_half_widths(law: TableLaw, rows: int | None) -> list[Expected]:
    """± of the answer to each question of the plan.

    Of counts and sums it is the same whatever the data are. That of means and shares depends on how many rows there
    are in a group: it is told for the `share_of_rows` that the plan states, or else for rows that are spread evenly
    and for a rare group, and without their number it is not known.
    """
    expected = []
    tables = [even_table(law, count) for count in ((_FEW, _MANY) if rows is None else (rows,))]
    schema = schema_of(law.plan, "release")
    for question in law.plan.questions:
        asked, share = question.sql, question.share_of_rows
        released = _of_release(asked, schema)
        by_rows = [_half_widths(table, released, share is not None, share) for table in tables]
        # A band that is too wide at one point may still tell something at another.
        has_curves = any(schema.spaces[name].holds_curves for name in columns(released))
        possible = {} if has_curves else possible_columns(released, schema, rows)
        for column, widths in by_rows[0].items():
            same = all(np.allclose(other[column] or 0, widths or 0, rtol=1e-6) for other in by_rows[1:])
            told = widths if same else None
            reach = possible.get(column, Range())
            least, greatest = (reach.is_narrowed_by(width) for width in told or (None, None))
            stated = None if share is None else float(share)
            judged = (least, greatest)
            expected.append(Expected(asked, float(question.weight), column, told, judged, share_of_rows=stated))
        if share is None and not has_curves and rows is not None:
            rare = _half_widths(tables[0], released, True, None)
            expected = [_with_rare(one, rare, possible) if one.question == asked else one for one in expected]
    return expected


def _with_rare(
    one: Expected, rare: Mapping[str, tuple[float, float] | None], possible: Mapping[str, Range]
) -> Expected:
    """What is expected, with ± of a rare group where it is another one."""
    if one.half_widths is None or not one.informative[1]:
        return one
    width = (rare.get(one.column) or (inf, inf))[1]
    if isclose(width, one.half_widths[1], rel_tol=1e-6):
        return one
    return one._replace(rare=width if possible.get(one.column, Range()).is_narrowed_by(width) else inf)


def _of_release(sql: str, schema: Schema) -> Question:
    """A question about the table, asked of its release."""
    from dproof.questions.sql import parse  # few plans have questions

    return resolve(replace(parse(sql), table=schema.table), schema)


def _half_widths(
    table: EvenTable, question: Question, rarer: bool = False, share: Fraction | None = None
) -> dict[str, tuple[float, float] | None]:
    """The least and the greatest ± of every estimated column of an answer, in all groups that may be shown; or if these
    were rarer.
    """
    everywhere = replace(question, having=())
    if chosen_by_noise(question):
        everywhere = replace(everywhere, order_by=(), limit=None)
    if rarer:
        schema = schema_of(table.law.plan, "release")
        rows = answer(everywhere, schema, lambda at: _Rarer(table, everywhere, schema, Options(at), share), _LEVEL).rows
    else:
        rows = query(table, everywhere).rows
    level = level_of_shown(question, _LEVEL, lambda: len(rows))
    widths: dict[str, tuple[float, float] | None] = {}
    for name in (name for name, cell in (rows[0] if rows else {}).items() if isinstance(cell, Cell)):
        cells = [row[name] for row in rows]
        wider = deviations(table.law, level) / deviations(table.law)
        halves = [half for half in (_half_width(table.law, cell, wider) for cell in cells) if half is not None]
        widths[name] = (min(halves), max(halves)) if halves else None
    return widths


def _half_width(law: TableLaw, cell: Cell, wider: float) -> float | None:
    """± of a cell: that of its interval, cut to nothing that is possible; of a curve where its band is widest.

    Infinite where a divisor may be 0; None where there is no interval of what is told.
    """
    if isinstance(cell.stderr, list):
        return float(np.max(np.subtract(cell.high, cell.low))) / 2
    if cell.stderr is None:
        return None
    if cell.low is None or not isfinite(cell.stderr):
        return inf
    return wider * max(deviations(law) * float(cell.stderr), float(cell.high - cell.low) / 2)


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


def useless(widths: Sequence[Width], rows: float) -> str | None:
    """A sentence where no count says more than that there are so many rows; None where some do."""
    least = least_half_width(widths)
    if least < max(rows, 1.0):
        return None
    return (
        f"no count says anything about {written(rows)} rows: the sharpest has ± {written(least)}; allow a larger "
        "epsilon, or ask for fewer and smaller tables"
    )


def told_nothing(law: TableLaw, counts: Estimates) -> str | None:
    """The same for the rows of a release: as many as are public, or as were measured with noise."""
    return useless(half_widths(law), max(0.0, float(counts.table(()))))


def least_half_width(widths: Sequence[Width]) -> float:
    """± of the sharpest table of counts that is measured: of fewer rows than that no count says anything."""
    return min((one.half_width for one in widths if one.sum_of is None and one.half_width), default=0.0)
