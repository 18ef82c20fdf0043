"""The recipe of the central model: the law of its measured tables, certified before any data is opened.

It is read back from the plan and the certificate of a release, and held against the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import exp, isqrt, log, prod, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dproof.central.estimates import Ladder, ResidualEstimates, contrast, estimates, residual_of
from dproof.central.workload import (
    Domain,
    Residual,
    Table,
    WeighedAnswers,
    WithinBins,
    added_curve,
    calibrate,
    cell_costs,
    cut_off,
    delta,
    has_k_norm,
    has_many_subtables,
    laplace_law,
    largest_loss,
    lattice_of,
    maximal,
    measured_tables,
    noise_law,
    parts_of,
    pure_noise,
    shape,
    split_epsilon,
    steps,
    subtables,
    told_precisions,
    variances_at_points,
)
from dproof.certification.certify import sealed
from dproof.certification.verify_central import FORMAT
from dproof.coins import Coins
from dproof.curves.lattice import CurveLattice
from dproof.errors import InputError, PlanError, TooLarge, VerificationFailed
from dproof.exact import float_above
from dproof.limits import MOST_ASKED_PARTS, MOST_TABLE_CELLS, MOST_TABLE_COLUMNS, MOST_TABLE_PARTS, MOST_TOLD_PARTS
from dproof.plans.plan import AskedTables, Plan, TableAxis, schema_of
from dproof.privacy import Cost, Privacy
from dproof.questions.measured import HIGHEST_LEVEL, level_of_seldom, normal_quantile
from dproof.spaces.interval import scale_of
from dproof.spaces.space import Integers

if TYPE_CHECKING:
    from dproof.questions.estimated import Options
    from dproof.questions.measured import AnswerSource, Shares
    from dproof.questions.question import Question, Schema

LEVEL = 0.95  # of an interval for which nobody chose a level: ± before there is data, and the curves of a report
_MOST_ROWS = 1 << 32
_MOST_MADE_UP = 10**6  # rows that the noise alone may make up: they are made in memory
_MOST_STEPS = 1 << 31  # that a row may move a sum by: then fewer than 2^32 rows add up within 64 bits
_STEP_VARIANCE = 0.25  # the square of half a step: the distance of a value to where its step ends
# How far noise may be from what the plan determines, where machines calculate otherwise.
_NOISE_TOLERANCE = Fraction(1, 1000)

# Of the weight of a table that is listed beside questions: twice the noise, for a quarter of what it would cost.
_BESIDE_QUESTIONS = Fraction(1, 16)


class TableWidth(NamedTuple):
    """± at 95% of one cell of a measured table of counts, or of the sums of a number by it, whatever the data are."""

    name: str
    columns: tuple[str, ...]
    sum_of: str | None
    cells: int
    half_width: float


@dataclass(frozen=True, eq=False)  # without slots: what follows from the noise is kept once it is worked out
class TableLaw:
    """What is measured of the whole table, with how much noise, and the proof of what a person may lose by it.

    With δ > 0 the residual of each table, in whole numbers, gets independent discrete Gaussian noise with parameter γ²
    on each of its numbers; with `in_parts` in parts of a whole number, where γ² is small. With δ = 0 the largest tables
    themselves get integer Laplace noise, or the contrasts of columns with two values. Curves are added up by their
    coefficients, which get the noise alike.

    `person` is what is promised to a person with up to `rows_per_person` rows: what the plan has under [privacy], or
    the same with δ = 0, which keeps that promise too, where it takes less noise.

    A column with one value adds nothing, so `needed` and `residuals` leave it out. The residual of the empty table of
    counts is the number of rows: it is not among them where that is public.
    """

    plan: Plan
    person: Privacy
    asked: AskedTables
    axes: tuple[TableAxis, ...]
    schema: Schema
    lattices: Mapping[int, CurveLattice]  # of each column of curves: how they are written in whole numbers
    domain: Domain
    tables: Mapping[Table, Fraction]  # of counts, as the plan asks for them, with their weights
    sums: Mapping[Residual, Fraction]  # of numbers and curves by a table of other columns, likewise
    needed: Mapping[int | None, Sequence[Table]]  # the tables of counts (None) and of the sums of each column
    residuals: Sequence[Residual]  # that tell the tables and sums, the smallest first, counts before sums
    is_pure: bool  # whether δ = 0, so that plain tables are measured, with Laplace noise
    in_parts: bool = True
    noise: Mapping[Residual, Fraction] = field(default_factory=dict)  # γ² of each residual, or what a step costs

    def under(self, plan: Plan) -> TableLaw:
        """This law of a plan that asks for the same and allows as much or more, with all that is worked out of it."""
        law = copy(self)
        vars(law)["plan"] = plan
        return law

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns of synthetic rows: all but curves."""
        curves = {name for axis in self.axes if axis.has_curves for name in axis.column.stored}
        return tuple(name for name in self.plan.stored if name not in curves)

    @property
    def table_count(self) -> int:
        """How many tables the release has, as the plan lists them: those of counts, and the sums by a table."""
        return len(self.tables) + len(self.sums)

    def name(self, table: Table) -> str:
        return " × ".join(self.axes[place].name for place in table)

    def measured_name(self, measurement: Residual) -> str:
        """What is measured, in words: the columns of a table of counts, or a sum by some columns."""
        if measurement.ladder:
            return f"ladder of {self.name(measurement.table)}"
        if measurement.number is None:
            return "contrast of " * (measurement.contrast and bool(measurement.table)) + self.name(measurement.table)
        by = f" by {self.name(measurement.table)}" if measurement.table else ""
        return f"sum of {self.axes[measurement.number].name}{by}"

    @cached_property
    def measured_names(self) -> list[str]:
        """What is measured, in words: the names of the tables in a stored release."""
        return [self.measured_name(one) for one in self.noise]

    # What is drawn, and what follows from it --------------------------------------------------------------------------

    @cached_property
    def shapes(self) -> dict[Residual, tuple[int, ...]]:
        """How many numbers are measured, along each column of a table and the coefficients of curves."""
        return self.domain.shapes(self.noise)

    @cached_property
    def subdivisions(self) -> dict[Residual, int]:
        """The number of equal parts of a whole number in which each measurement is drawn (see `parts_of`)."""
        if self.is_pure or not self.in_parts:
            return dict.fromkeys(self.noise, 1)
        return {one: parts_of(square) for one, square in self.noise.items()}

    def measure(self, tables: Mapping[Residual, Integers], coins: Coins) -> Integers:
        """All measurements of exact tables, each with its noise, one after another."""
        found = [np.zeros(0, np.int64)]
        for measurement in self.noise:
            exact = np.ravel(self._exact(measurement, tables[measurement])) * self.subdivisions[measurement]
            found.append(exact + self.law_of(measurement).draw(len(exact), coins))
        return np.concatenate(found)

    def _exact(self, measurement: Residual, table: Integers) -> Integers:
        """The measurement of an exact table without its noise."""
        if measurement.contrast:
            return contrast(table)
        return table if self.is_pure or measurement.ladder else residual_of(table, len(measurement.table))

    def law_of(self, measurement: Residual) -> Any:
        """The law of the noise that is drawn; K-norm noise is drawn for all terms of a curve."""
        parameter = self.noise[measurement]
        if not self.is_pure:
            return noise_law(parameter * self.subdivisions[measurement] ** 2)
        lattice = self.lattices.get(measurement.number)  # type: ignore[arg-type]  # counts, None, have none
        return laplace_law(parameter) if lattice is None else pure_noise(lattice, parameter)

    def wholes(self, place: int, codes: NDArray[Any], places: Integers) -> Integers:
        """What each row adds to a sum of the column there: a whole number or, of a curve, its coefficients."""
        if place in self.lattices:
            return np.where(codes[:, :1] < 0, 0, self.lattices[place].coefficients(codes))
        return self.axes[place].wholes(codes, places)

    def estimates(self, numbers: Integers, rows: int | None) -> dict[int | None, ResidualEstimates]:
        """The residuals that measured numbers tell: of counts (None), and of the sums of each number by its place."""
        ends = np.cumsum([prod(shape) for shape in self.shapes.values()])
        noisy = {
            measurement: cells.reshape(shape) / self.subdivisions[measurement]
            for (measurement, shape), cells in zip(self.shapes.items(), np.split(numbers, ends)[:-1], strict=True)
        }
        tables: dict[int | None, list[Table]] = {None: list(self.tables)}
        for key in self.sums:
            tables.setdefault(key.number, []).append(key.table)
        variances = self.variances
        by_number = estimates(self.domain.sizes, noisy, variances, tables, known=rows, plain=self.is_pure)
        parts = self.domain.ladders
        ladders = {
            ladder.table[0]: Ladder.of(parts[ladder.table[0]], noisy[ladder], variances[ladder])
            for ladder in self.noise
            if ladder.ladder
        }
        by_number[None] = replace(by_number[None], ladders=ladders)
        return by_number

    @cached_property
    def drawn_variances(self) -> dict[Residual, float]:
        """The variance of the noise on each number."""
        if not self.is_pure:
            return {one: float(parameter) for one, parameter in self.noise.items()}
        return {one: float(self.law_of(one).variance) for one in self.noise}

    @cached_property
    def variances(self) -> dict[Residual, float]:
        """The variance of a measured number; of narrow Laplace noise a little more, because it has whole steps."""
        return {one: variance + _STEP_VARIANCE * self.is_pure for one, variance in self.drawn_variances.items()}

    @cached_property
    def precisions(self) -> dict[int | None, ResidualEstimates]:
        """The estimates for a table of no rows: their variances, which no data change, are those of every table."""
        zeros = np.zeros(sum(map(prod, self.shapes.values())), np.int64)
        return self.estimates(zeros, 0 if self.plan.rows_are_public else None)

    @cached_property
    def spreads(self) -> dict[Residual, float]:
        """The variances of the residuals of counts and sums: those of `precisions`, but for columns with one value."""
        told = told_precisions(self.domain.sizes, self.variances, plain=self.is_pure)
        known = {Residual(()): 0.0} if self.plan.rows_are_public else {}
        return {residual: 1 / precision for residual, precision in told.items()} | known

    def deviations(self, level: float = LEVEL) -> float:
        """How many standard deviations ± has in an answer.

        With Laplace noise intervals are at least as wide as those of one draw of the same variance. A sum of several
        draws has lighter tails, so wherever that is the wider one it covers at least as often.
        """
        return normal_quantile(self.normal_level(level))

    def normal_level(self, level: float) -> float:
        """The level at which normal intervals cover as often as intervals of this level shall (see `deviations`)."""
        if not self.is_pure:
            return level
        return max(level, min(2 * NormalDist().cdf(-log(1 - level) / sqrt(2)) - 1, HIGHEST_LEVEL))

    def plain_level(self, normal_level: float) -> float:
        """The level whose `normal_level` this is."""
        if not self.is_pure:
            return normal_level
        return min(normal_level, 1 - exp(-sqrt(2) * normal_quantile(normal_level)))

    def seldom(self, normal_level: float) -> float:
        """The level of a normal interval that may be told seldom (see `told_levels`): Laplace noise reaches further."""
        return self.normal_level(level_of_seldom(self.plain_level(normal_level)))

    @cached_property
    def half_widths(self) -> list[TableWidth]:
        """± of every table and sum that the plan asks for."""
        return [*self._widths_of_counts, *map(self._width, self.sums)]

    @cached_property
    def _widths_of_counts(self) -> list[TableWidth]:
        return [self._width(Residual(table)) for table in self.tables]

    def _width(self, key: Residual) -> TableWidth:
        number, axes = key.number, [self.axes[place] for place in key.table]
        half = self.deviations() * self._unit_of_sums(number) * self.cell_variance(key) ** 0.5
        columns, cells = tuple(axis.name for axis in axes), prod(axis.size for axis in axes)
        summed = None if number is None else self.axes[number].name
        return TableWidth(self.measured_name(key) or "all rows", columns, summed, cells, half)

    def cell_variance(self, key: Residual, about: float = 0.0) -> float:
        """The variance of one cell of counts, or of sums of a column: of x − about, that in units of half its range."""
        costs = cell_costs(self.domain, key, about)
        total = sum(cost * self.spreads.get(one, 0.0) for one, cost in costs.items())
        return float(total * self.domain.added(key.number).unit)

    @property
    def least_half_width(self) -> float:
        """± of the sharpest table of counts that is measured: of fewer rows than that no count says anything."""
        return min((one.half_width for one in self._widths_of_counts if one.half_width), default=0.0)

    def is_beyond(self, half_width: float) -> bool:
        """Whether every count that has noise has more than this ±."""
        drawn = max(self.drawn_variances.values(), default=0.0)
        if self.deviations() * sqrt(drawn * MOST_TABLE_CELLS) <= half_width:  # no cell is a sum of more numbers
            return False
        noisy = (one.half_width for one in map(self._width, map(Residual, self.tables)) if one.half_width)
        first = next(noisy, 0.0)
        return first > half_width and all(one > half_width for one in noisy)

    def _unit_of_sums(self, number: int | None) -> float:
        """The number in an answer that 1 in a measurement of counts (None) or of sums of a column stands for.

        Of curves the standard deviation of the sum at the grid point where it is largest.
        """
        if number is None or number not in self.lattices:
            return 1.0 if number is None else float(self.axes[number].unit)
        return sqrt(float(variances_at_points(self.lattices[number]).max()))

    def expected_source(self, question: Question, rows: int, shares: Shares, level: float) -> AnswerSource:
        """What would answer a question from a release of so many rows, whose values are spread evenly."""
        from dproof.central.answer import expected_source

        return expected_source(self, question, rows, shares, level)

    def answer_source(self, drawn: Any, question: Question, options: Options) -> AnswerSource:
        """What answers a question from a release."""
        from dproof.central.answer import answer_source  # takes a parser of SQL

        return answer_source(drawn, question, options)

    # What it costs ----------------------------------------------------------------------------------------------------

    def rho(self) -> Fraction | None:
        """The ρ of concentrated privacy of all measurements together, for a person: Σ Δ²/2γ², at its worst."""
        if self.is_pure:
            return None
        loss = largest_loss(self.domain, {r: 1 / s for r, s in self.noise.items()}, self.person.neighbours)
        return loss * self.plan.rows_per_person**2 / 2

    @property
    def cost(self) -> Cost:
        """What a ledger counts of it: with δ also the ρ of its noise, and how far what is drawn may lie from it."""
        cut = Fraction(0) if self.is_pure else cut_off(self.domain.count(self.noise))
        return Cost(self.person.epsilon, self.person.delta, self.rho(), cut)

    def record(self, release: Mapping[str, Any], *, private: bool) -> dict[str, Any]:
        """The certificate of the measurements, sealed, with what is recorded about a release."""
        return sealed(
            FORMAT, self.asked.version, private, self.person, {**self._measured_record, "release": dict(release)}
        )

    @cached_property
    def _measured_record(self) -> dict[str, Any]:
        """What a certificate has about the measurements: it does not depend on any data.

        `tight` has an upper bound of δ at the promised ε.
        """
        promise, rows, rho = self.person, self.plan.rows_per_person, self.rho()
        bound = Fraction(0)
        if not self.is_pure:
            bound = delta(self.domain, self.noise, promise.epsilon, promise.neighbours, rows, in_parts=self.in_parts)
        drawn = {one: self._drawn_by(one) for one in self.noise}
        noises = {key: one for one, key in reversed(drawn.items())}  # the first measurement with each
        order = list(dict.fromkeys(drawn.values()))
        return {
            "rows_per_person": rows,
            "columns": self.columns,
            "noises": [self._noise_record(noises[key]) for key in order],
            "measurements": [
                {
                    "columns": list(measurement.table),
                    "sum_of": measurement.number,
                    "sensitivity": str(self._sensitivity(measurement)),
                    "noise": order.index(drawn[measurement]),
                    **({"contrast": True} if measurement.contrast else {}),
                    **({"ladder": True} if measurement.ladder else {}),
                    **({"parts": parts} if parts > 1 else {}),
                }
                for measurement, parts in self.subdivisions.items()
            ],
            "rho": None if rho is None else str(rho),
            "tight": {"delta": float_above(bound)},
        }

    @property
    def columns(self) -> list[dict[str, Any]]:
        """The columns as a certificate has them: of curves with the region that coefficients are clipped into."""
        found: list[dict[str, Any]] = [
            {"name": axis.name, "values": axis.size, "reach": axis.max_abs or 0} for axis in self.axes
        ]
        for place in self.domain.within:
            found[place]["within_bins"] = True
        for place, parts in self.domain.ladders.items():
            found[place]["ladder"] = sum(parts)
        for place, lattice in self.lattices.items():
            box = None if lattice.box is None else list(lattice.box)
            found[place]["curves"] = {"terms": lattice.terms, "radius": lattice.radius, "box": box}
        return found

    def _sensitivity(self, measurement: Residual) -> int:
        """How far a row moves a measurement at most: in steps, or the square of the Euclidean length."""
        neighbours = self.person.neighbours
        if self.is_pure:
            return steps(self.domain, measurement, neighbours, 1)
        return self.domain.sensitivity(measurement, neighbours) * self.subdivisions[measurement] ** 2

    def _drawn_by(self, measurement: Residual) -> tuple[Any, ...]:
        """What tells the laws of noise apart: the parameter, and for K-norm noise its norm and number of terms."""
        lattice = self.lattices.get(measurement.number) if self.is_pure else None  # type: ignore[arg-type]
        told = (lattice.ball, lattice.terms) if lattice is not None and has_k_norm(lattice) else ()
        return self.noise[measurement] * self.subdivisions[measurement] ** 2, *told

    def _noise_record(self, measurement: Residual) -> dict[str, Any]:
        """The noise as a certificate has it.

        Gaussian noise is draws H of one table of weights, added up as m^(n−1)·H + … + m·H + H; Laplace noise has its
        own tables, of which a step costs no more than is said; K-norm noise has its norm and how it falls.
        """
        law = self.law_of(measurement)
        if self.is_pure:
            return {**law.to_json(), "epsilon": str(self.noise[measurement])}
        table, step, draws = getattr(law, "table", law), getattr(law, "step", 1), getattr(law, "draws", 1)
        return {"kind": "gaussian", "square": str(table.square), "step": step, "draws": draws}


def certify_tables(plan: Plan) -> TableLaw:
    """Calibrate the noise of a plan's tables, so that the error of their cells is least; no data is involved.

    What keeps (ε, 0) keeps (ε, δ) too: where plain tables with Laplace noise have the smaller error, δ stays unused.

    >>> columns = {name: {"space": "categories", "values": [0, 1]} for name in ("read", "own")}
    >>> promise = {"model": "central", "epsilon": 1, "delta": "1e-6"}
    >>> law = certify_tables(Plan.from_dict({"privacy": promise, "columns": columns}))
    >>> [law.name(residual.table) for residual in law.noise], law.person.delta
    (['read × own'], Fraction(0, 1))
    """
    if not plan.privacy.epsilon and not plan.privacy.delta:
        raise PlanError("model = 'central' needs epsilon above 0: with none, nothing can be told")
    laws, refused = list[tuple[TableLaw, WeighedAnswers]](), list[InputError]()
    for person in _keeping(plan.privacy):
        try:
            laws += _laws_keeping(replace(plan, privacy=person, text=""))
        except InputError as error:
            refused.append(error)
    if not laws:
        raise refused[-1]
    law = min(laws, key=lambda pair: error_of(*pair))[0] if len(laws) > 1 else laws[0][0]
    return law.under(plan)


@lru_cache(maxsize=8)  # a plan with δ is compared with that without: both have the second one's laws
def _laws_keeping(plan: Plan) -> list[tuple[TableLaw, WeighedAnswers]]:
    """The laws by which a person loses what the plan allows, with what they answer."""
    law = table_law(plan, plan.privacy)
    at_any = replace(plan, privacy=Privacy(1, neighbours=plan.privacy.neighbours))
    answers = wanted_answers(law) if law.lattices else _answers_at(at_any)
    choices = [measurements(law)]
    # With δ = 0 contrasts are better where many columns have two values, plain tables where few have.
    if law.is_pure and (contrasts := measurements(law, contrasts=True)) != choices[0]:
        choices.append(contrasts)
    choices = _of_few_parts(law, choices)
    return [(_checked(with_noise(law, wanted, answers)), answers) for wanted in choices]


@lru_cache(maxsize=8)  # what is answered does not hang on the promise, but for curves
def _answers_at(plan: Plan) -> WeighedAnswers:
    return wanted_answers(table_law(plan, plan.privacy))


def _keeping(promise: Privacy) -> list[Privacy]:
    """The promises that keep this one and have noise of their own, the strongest first: of equals it is taken."""
    return [*([promise.without_delta()] if promise.epsilon else []), *([promise] if promise.delta else [])]


def table_law(plan: Plan, person: Privacy) -> TableLaw:
    """The law of a plan's tables, before its noise is chosen; refused where there is more than can be measured."""
    asked = plan.asked
    assert asked is not None
    axes = asked.axes
    places = {axis.name: n for n, axis in enumerate(axes)}
    lattices = {n: lattice_of(axis.column.space, person) for n, axis in enumerate(axes) if axis.has_curves}
    domain = _domain_of(asked, lattices)
    tables = {tuple(places[name] for name in names): weight for names, weight in asked.tables}
    sums = {Residual(tuple(places[name] for name in by), places[of]): weight for by, of, weight in asked.sums}
    needed: dict[int | None, list[Table]] = {None: []}
    for key in (*map(Residual, tables), *sums):
        needed.setdefault(key.number, []).append(tuple(i for i in key.table if domain.sizes[i] > 1))
    _check_parts(needed)
    is_pure, residuals = not person.delta, list[Residual]()
    is_large = domain.count(map(Residual, tables)) > MOST_TABLE_CELLS
    is_large = is_large or has_many_subtables(domain.sizes, needed, MOST_TABLE_PARTS, pairs=is_pure)
    if not is_large:
        of = ((number, table) for number, some in needed.items() for table in subtables(some))
        residuals = [Residual(t, number) for number, t in of if t or number is not None or not plan.rows_are_public]
        residuals += [Residual((n,), ladder=True) for n in domain.ladders]
    schema = schema_of(plan, "release")
    law = TableLaw(plan, person, asked, axes, schema, lattices, domain, tables, sums, needed, residuals, is_pure)
    wanted = [] if is_large else measurements(law)
    if is_large or domain.count(wanted) > MOST_TABLE_CELLS:
        widest = (axes[place] for place in max(tables, key=domain.cells))
        raise TooLarge(
            f"the tables have more than {MOST_TABLE_CELLS:,} cells, or {MOST_TABLE_PARTS:,} parts, the largest that of "
            f"{', '.join(f'{axis.name!r} ({axis.size:,} values)' for axis in widest)}: give numbers fewer `bins`, or "
            "list fewer tables with [[release.tables]]"
        )
    _check_steps(law, wanted)
    return law


def _domain_of(asked: AskedTables, lattices: Mapping[int, CurveLattice]) -> Domain:
    """The columns that tables are made of, each known by its place."""
    axes = asked.axes
    return Domain(
        tuple(axis.size for axis in axes),
        {n: axis.max_abs for n, axis in enumerate(axes) if axis.max_abs is not None},
        {n: added_curve(lattice) for n, lattice in lattices.items()},
        {n: _within_bins(axis) for n, axis in enumerate(axes) if axis.within},
        {n: axis.parts for n, axis in enumerate(axes) if axis.has_ladder},
        version=asked.version,
    )


def _check_parts(needed: Mapping[int | None, Sequence[Table]]) -> None:
    """Refuse tables that are too long, or of which there are too many parts: that is known before any is made."""
    if any(len(table) > MOST_TABLE_COLUMNS for some in needed.values() for table in some):
        raise TooLarge(
            f"a table has more than {MOST_TABLE_COLUMNS} columns: list smaller ones with [[release.tables]], or write "
            "a smaller number of `tables`"
        )
    if sum(1 << len(table) for some in needed.values() for table in some) > MOST_ASKED_PARTS:
        raise TooLarge(
            f"the tables and sums have more than {MOST_ASKED_PARTS:,} parts, those of several counted for each: write "
            "a smaller number of `tables`, or list fewer with [[release.tables]]"
        )


def _within_bins(axis: TableAxis) -> WithinBins:
    scale, absent = scale_of(axis.column.space), axis.column.space.absent
    middles = scale.numbers(axis.column.space, axis.middles)
    return WithinBins(np.where(np.array(axis.bins.starts) == absent, np.nan, middles), scale.unit / float(axis.unit))


def measurements(law: TableLaw, *, contrasts: bool = False) -> Sequence[Residual]:
    """What has to be measured: residuals or, with δ = 0, the largest tables, and contrasts if these are wanted."""
    if not law.is_pure:
        return law.residuals
    chosen = measured_tables(law.domain, law.needed[None], contrasts=contrasts)
    counts = [one for one in chosen if one.table or not law.plan.rows_are_public]
    sums = [Residual(t, n) for n, some in law.needed.items() if n is not None for t in maximal(some)]
    return [*counts, *sums, *(one for one in law.residuals if one.ladder)]


def wanted_answers(law: TableLaw, *, alike: bool = False) -> WeighedAnswers:
    """What shall be sharp, with weights: the answers to the plan's questions, a cell of every listed table and sum.

    With `alike` all sums that questions need, as they were up to an earlier version (see `question_costs`).
    """
    if not law.asked.questions:
        return _cells_of(law)
    from dproof.central.question_sums import question_costs  # takes a parser of SQL, which few plans need

    questions = WeighedAnswers.of(question_costs(law.plan, law.domain, alike=alike), law.residuals)
    return questions.and_of(_cells_of(law, _BESIDE_QUESTIONS)) if law.asked.listed else questions


def _cells_of(law: TableLaw, part: Fraction = Fraction(1)) -> WeighedAnswers:
    """A cell of every listed table and sum, with this part of its weight."""
    keys = {**{Residual(table): weight for table, weight in law.tables.items()}, **law.sums}
    return WeighedAnswers.of_cells(law.domain, keys, law.residuals, part)


def with_noise(law: TableLaw, wanted: Sequence[Residual], answers: WeighedAnswers) -> TableLaw:
    """The law with the least noise that keeps the promise: floats choose its shape, whole numbers certify it."""
    if not wanted:
        return law
    promise, rows, objective = law.person, law.plan.rows_per_person, law.asked.objective
    if law.is_pure:
        return replace(law, noise=split_epsilon(law.domain, wanted, answers, promise, rows, objective))
    shaped = shape(law.domain, answers, objective)
    return replace(law, noise=calibrate(law.domain, shaped, promise, rows, in_parts=law.in_parts))


def error_of(law: TableLaw, answers: WeighedAnswers) -> float:
    """What the plan wants to be least, of the noise that is drawn."""
    told = told_precisions(law.domain.sizes, law.drawn_variances, plain=law.is_pure)
    return answers.value(np.array([1 / told[residual] for residual in law.residuals]), law.asked.objective)


def _checked(law: TableLaw) -> TableLaw:
    """Refuse noise that hides any table: how many rows there are is not known, but there are no more than can be."""
    if not law.is_pure:  # what is divided into parts has more steps than when the law was made
        _check_steps(law, list(law.noise))
    if law.is_beyond(_MOST_ROWS * law.deviations()):
        raise PlanError(
            f"the budget is too small to say anything: the standard deviation of every count is above {_MOST_ROWS:,}, "
            "more rows than a table may have; allow a larger epsilon or delta, or ask for fewer and smaller tables"
        )
    if law.asked.rows and law.spreads[Residual(())] > _MOST_MADE_UP**2:
        raise PlanError(
            f"synthetic rows need to know about how many rows there are, and here that has a standard deviation above "
            f"{_MOST_MADE_UP:,}: allow a larger epsilon or delta, or leave out `rows`"
        )
    return law


def _of_few_parts(law: TableLaw, choices: Sequence[Sequence[Residual]]) -> list[Sequence[Residual]]:
    """The choices whose plain tables, each of which tells about all of its parts, have not too many; or a refusal."""

    def parts(wanted: Sequence[Residual]) -> int:
        return sum(1 << sum(law.domain.sizes[i] > 1 for i in one.table) for one in wanted if not one.contrast)

    found = [wanted for wanted in choices if not law.is_pure or parts(wanted) <= MOST_TOLD_PARTS]
    if not found:
        raise TooLarge(
            f"the tables have more than {MOST_TOLD_PARTS:,} parts, those of several tables counted for each: list "
            "fewer or smaller tables with [[release.tables]], or allow a delta"
        )
    return found


def _check_steps(law: TableLaw, wanted: Sequence[Residual]) -> None:
    """Refuse sums that would not be exact in 64 bits; also of stored releases, so a lower limit would close them."""
    for one in wanted:
        if one.number is not None:
            axis, factor = law.axes[one.number], 1 if law.is_pure else law.domain.cells(one.table)
            if isqrt(law.domain.added(one.number).square) * factor * law.subdivisions.get(one, 1) > _MOST_STEPS:
                way = "group curves by fewer values" if axis.has_curves else f"give {axis.name!r} a larger `step`"
                raise TooLarge(f"the {law.measured_name(one)} has too many steps to be exact: {way}")


def of_version(plan: Plan, version: int) -> Plan:
    """The plan, with what was measured for it by certificates of an earlier version."""
    assert plan.asked is not None
    asked = plan.asked.of_version(version)
    plan = replace(plan, asked=asked)
    if not asked.questions:
        return plan
    from dproof.central.question_sums import with_question_tables  # takes a parser of SQL, which few plans need

    return with_question_tables(plan)


def recorded_table_law(plan: Plan, certificate: Mapping[str, Any]) -> TableLaw:
    """The law of a release of tables, from its plan and certificate; refused where they do not fit each other.

    As recorded: the noise of each measurement, and whether it is drawn in parts. Worked out again: columns, tables,
    what is measured of them, and all that follows from both, such as ±. No noise is calibrated.
    """
    promise = plan.privacy
    try:
        assert plan.asked is not None
        if certificate["version"] in range(1, plan.asked.version):
            plan = of_version(plan, certificate["version"])
        kept = Privacy(
            promise.epsilon, 0 if certificate["delta"] == "0" else promise.delta, neighbours=promise.neighbours
        )
        said = {key: certificate[key] for key in ("epsilon", "delta", "neighbours")}
        if said != {"epsilon": str(kept.epsilon), "delta": str(kept.delta), "neighbours": kept.neighbours}:
            raise VerificationFailed("the certificate promises something else than the plan")
        law = table_law(plan, kept)
        if law.columns != certificate["columns"]:
            raise VerificationFailed("the certificate has other columns than the plan")
        noises = [_parameter(noise) for noise in certificate["noises"]]
        listed = [
            (
                Residual(tuple(m["columns"]), m["sum_of"], m.get("contrast", False), m.get("ladder", False)),
                m.get("parts", 1),
            )
            for m in certificate["measurements"]
        ]
        drawn = (noises[m["noise"]] for m in certificate["measurements"])
        noise = {measurement: parameter / part**2 for (measurement, part), parameter in zip(listed, drawn, strict=True)}
        law = replace(law, in_parts=any(part > 1 for _, part in listed), noise=noise)
        wanted = measurements(law, contrasts=any(measurement.contrast for measurement in noise))
    except TooLarge as error:
        raise VerificationFailed(f"the plan is too large: {error}") from None
    except (LookupError, TypeError, ValueError, ArithmeticError) as error:
        raise VerificationFailed(f"the certificate cannot be read ({type(error).__name__})") from None
    if listed != [(one, law.subdivisions.get(one)) for one in wanted]:
        raise VerificationFailed("the certificate has other tables than the plan")
    return law


def _parameter(noise: Mapping[str, Any]) -> Fraction:
    if noise["kind"] != "gaussian":
        return Fraction(noise["epsilon"])
    step, draws = int(noise["step"]), int(noise["draws"])
    return Fraction(noise["square"]) * Fraction(sum(step ** (2 * n) for n in range(draws)))


def check_noise(law: TableLaw) -> None:
    """Refuse noise that is not shared out as the plan wants it: answers would have other intervals than are told.

    Floats choose the shares, so that another machine may find them a little different.
    """
    ways: list[Callable[[], WeighedAnswers]] = [lambda: wanted_answers(law)]
    # Earlier versions let the sums of all questions count alike, and before that the cells of listed tables alone.
    ways += [lambda: wanted_answers(law, alike=True)] * law.asked.questions
    ways += [lambda: _cells_of(law)] * (law.asked.questions and law.asked.listed)
    for way in ways:
        wanted = with_noise(law, list(law.noise), way()).noise
        if all(abs(wanted[one] / parameter - 1) <= _NOISE_TOLERANCE for one, parameter in law.noise.items()):
            return
    raise VerificationFailed("the noise is not shared out over the tables as the plan determines")
