"""The recipe of the central model: the law of its measured tables, certified before any data is opened.

It is read back from the plan and the certificate of a release, and held against the plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import isqrt, log, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dproof.central.noise import (
    Answers,
    added_curve,
    calibrate,
    cell_costs,
    combined_variances,
    delta,
    has_k_norm,
    laplace_law,
    lattice_of,
    measured_tables,
    noise_law,
    parts_of,
    pure_law,
    shape,
    split,
    steps,
)
from dproof.central.workload import (
    Domain,
    Residual,
    ResidualEstimates,
    Table,
    contrast,
    estimates,
    largest_loss,
    maximal,
    measured,
    parts,
)
from dproof.certification.certify import sealed
from dproof.certification.verify_central import FORMAT, VERSION
from dproof.coins import Coins
from dproof.curves.lattice import CurveLattice
from dproof.errors import InputError, PlanError, TooLarge, VerificationFailed
from dproof.exact import float_above
from dproof.plans.plan import AskedTables, Plan, TableAxis, schema_of
from dproof.privacy import Privacy

if TYPE_CHECKING:
    from dproof.questions.estimated import Options
    from dproof.questions.measured import AnswerSource, Shares
    from dproof.questions.question import Question, Schema

_MOST_CELLS = 10_000_000  # of all tables together
_MOST_COLUMNS = 12  # of a table: every set of them has a residual
_MOST_PARTS = 1 << 16  # of all tables, each with a residual: so many a certificate may have
_MOST_ROWS = 1 << 32
_MOST_MADE_UP = 10**6  # rows that the noise alone may make up: they are made in memory
_MOST_STEPS = 1 << 31  # that a row may move a sum by: then so many rows add up within 64 bits
_OF_THE_PLAN = (  # what does not depend on the noise, nor on what is measured to tell the tables
    *(
        "schema",
        "asked",
        "axes",
        "lattices",
        "domain",
        "tables",
        "sums",
        "residuals",
        "_asked",
        "is_divided",
        "answers",
    ),
    *("promised", "is_pure", "stored", "columns"),
)
_STEP = 0.25  # the square of half a step: the distance of a value to where its step ends

Integers = NDArray[np.int64]


@dataclass(frozen=True)  # without slots: what follows from it is kept once it is worked out
class TableLaw:
    """What is measured of the whole table, with how much noise, and the proof of what a person may lose by it.

    With δ > 0 the residual of each table, in whole numbers, gets independent discrete Gaussian noise with parameter γ²
    on each of its numbers; with `in_parts` in parts of a whole number, where γ² is small. With δ = 0 the largest tables
    themselves get integer Laplace noise or, with `contrasts`, the contrasts of columns with two values. Curves are
    added up by their coefficients, which get the noise alike.

    `person` is what is promised to a person with up to `rows_per_person` rows: what the plan has under [privacy], or
    the same with δ = 0, which keeps that promise too, where it takes less noise.
    """

    plan: Plan
    person: Privacy
    contrasts: bool = False
    in_parts: bool = True
    noise: Mapping[Residual, Fraction] = field(default_factory=dict)  # γ² of each residual, or what a step costs

    @cached_property
    def asked(self) -> AskedTables:
        """The tables and sums that the plan asks for."""
        assert self.plan.asked is not None
        return self.plan.asked

    @cached_property
    def axes(self) -> tuple[TableAxis, ...]:
        """The columns as they are counted."""
        return self.asked.axes

    @cached_property
    def promised(self) -> Privacy:
        """What the plan promises a person, which may be more than what is kept."""
        return self.plan.privacy

    @cached_property
    def schema(self) -> Schema:
        """What a question may ask of the release."""
        return schema_of(self.plan, "release")

    @cached_property
    def is_pure(self) -> bool:
        """Whether δ = 0, so that plain tables are measured, with Laplace noise."""
        return not self.person.delta

    @cached_property
    def stored(self) -> tuple[str, ...]:
        """The columns of made-up rows: all but curves."""
        curves = {name for axis in self.axes if axis.has_curves for name in axis.column.stored}
        return tuple(name for name in self.plan.stored if name not in curves)

    @cached_property
    def lattices(self) -> dict[int, CurveLattice]:
        """How the curves of each column of curves are written in whole numbers."""
        promise = self.person
        return {n: lattice_of(axis.column.space, promise) for n, axis in enumerate(self.axes) if axis.has_curves}

    @cached_property
    def domain(self) -> Domain:
        reach = {place: axis.max_abs for place, axis in enumerate(self.axes) if axis.max_abs is not None}
        curves = {place: added_curve(lattice) for place, lattice in self.lattices.items()}
        return Domain(tuple(axis.size for axis in self.axes), reach, curves)

    @cached_property
    def tables(self) -> dict[Table, Fraction]:
        """The tables that the plan asks for, by the places of their columns, with their weights."""
        places = {axis.name: n for n, axis in enumerate(self.axes)}
        return {tuple(places[name] for name in names): weight for names, weight in self.asked.tables}

    @cached_property
    def sums(self) -> dict[Residual, Fraction]:
        """The sums of numbers that the plan asks for, by the table of the other columns, with their weights."""
        places = {axis.name: n for n, axis in enumerate(self.axes)}
        return {
            Residual(tuple(places[name] for name in names), places[number]): weight
            for names, number, weight in self.asked.sums
        }

    @cached_property
    def residuals(self) -> list[Residual]:
        """The residuals that tell the tables and sums, the smallest first, counts before sums.

        A column with one value adds nothing. The residual of the empty table of counts is the number of rows: it is
        not among them where that is public.
        """
        return [
            Residual(table, number)
            for number, tables in self._asked.items()
            for table in parts(tables)
            if table or number is not None or not self.plan.rows_are_public
        ]

    @cached_property
    def wanted(self) -> list[Residual]:
        """What has to be measured: residuals or, with δ = 0, the largest tables and contrasts."""
        if not self.is_pure:
            return self.residuals
        found: list[Residual] = []
        for number, tables in self._asked.items():
            if number is None:
                known = self.plan.rows_are_public
                chosen = measured_tables(self.domain, tables, contrasts=self.contrasts)
                found += [one for one in chosen if one.table or not known]
            else:
                found += [Residual(table, number) for table in maximal(tables)]
        return found

    @cached_property
    def _asked(self) -> dict[int | None, list[Table]]:
        """The tables of counts (None) and of the sums of each number, without columns that have one value."""
        found: dict[int | None, list[Table]] = {None: []}
        for key in (*map(Residual, self.tables), *self.sums):
            table = tuple(place for place in key.table if self.axes[place].size > 1)
            found.setdefault(key.number, []).append(table)
        return found

    @cached_property
    def is_divided(self) -> bool:
        """Whether the tables have too many parts to measure; with δ = 0 those of columns with two values count."""
        found = set[tuple[int | None, Table]]()
        for number, tables in self._asked.items():
            for table in tables:
                some = [place for place in table if not self.is_pure or self.axes[place].size == 2]
                found.update((number, part) for part in parts([tuple(some)]))
                if len(found) > _MOST_PARTS:
                    return True
        return False

    @cached_property
    def answers(self) -> Answers:
        """What shall be sharp, with weights: the answers to the plan's questions, or a cell of every table and sum."""
        if self.asked.questions:
            from dproof.central.question_sums import question_costs  # takes a parser of SQL, which few plans need

            return Answers.of(question_costs(self.plan, self.domain), self.residuals)
        counts = {Residual(table): weight for table, weight in self.tables.items()}
        costs = [(float(weight), cell_costs(self.domain, key)) for key, weight in {**counts, **self.sums}.items()]
        return Answers.of(costs, self.residuals)

    def but(self, **changes: Any) -> TableLaw:
        """The law with other noise, or of other measurements; what follows from the plan alone is kept."""
        law = replace(self, **changes)
        law.__dict__.update({name: value for name, value in self.__dict__.items() if name in _OF_THE_PLAN})
        return law

    def name(self, table: Table) -> str:
        return " × ".join(self.axes[place].name for place in table)

    def measured_name(self, measurement: Residual) -> str:
        """What is measured, in words: the columns of a table of counts, or a sum by some columns."""
        if measurement.number is None:
            return "contrast of " * (measurement.contrast and bool(measurement.table)) + self.name(measurement.table)
        by = f" by {self.name(measurement.table)}" if measurement.table else ""
        return f"sum of {self.axes[measurement.number].name}{by}"

    # What is drawn, and what follows from it --------------------------------------------------------------------------

    def measure(self, tables: Mapping[Residual, Integers], coins: Coins) -> Integers:
        """All measurements of exact tables, each with its noise, one after another."""
        found = [np.zeros(0, np.int64)]
        for measurement in self.noise:
            exact = np.ravel(self._exact(measurement, tables[measurement])) * self.parts(measurement)
            found.append(exact + self.law_of(measurement).draw(len(exact), coins))
        return np.concatenate(found)

    def _exact(self, measurement: Residual, table: Integers) -> Integers:
        if measurement.contrast:
            return contrast(table)
        return table if self.is_pure else measured(table, len(measurement.table))

    def parts(self, measurement: Residual) -> int:
        """In how many parts of a whole number it is measured."""
        return parts_of(self.noise[measurement]) if self.in_parts and not self.is_pure else 1

    def law_of(self, measurement: Residual) -> Any:
        """The law of the noise that is drawn; K-norm noise is drawn for all terms of a curve."""
        parameter, lattice = self.noise[measurement], self._lattice(measurement.number)
        if not self.is_pure:
            return noise_law(parameter * self.parts(measurement) ** 2)
        return laplace_law(parameter) if lattice is None else pure_law(lattice, parameter)

    def _lattice(self, number: int | None) -> CurveLattice | None:
        return None if number is None else self.lattices.get(number)

    def wholes(self, place: int, codes: NDArray[Any]) -> Integers:
        """What each row adds to a sum of the column there: a whole number or, of a curve, its coefficients."""
        axis, lattice = self.axes[place], self._lattice(place)
        if lattice is None:
            return axis.wholes(codes)
        return np.where(codes[:, :1] < 0, 0, lattice.coefficients(codes))

    def estimates(self, numbers: Integers, rows: int | None) -> dict[int | None, ResidualEstimates]:
        """What follows from measured numbers: of counts (None), and of the sums of each number by its place."""
        noisy, start, domain = {}, 0, self.domain
        for measurement in self.noise:
            stop = start + domain.count(measurement)
            noisy[measurement] = numbers[start:stop].reshape(domain.shape(measurement)) / self.parts(measurement)
            start = stop
        spreads = self.variances
        found = {}
        for number in dict.fromkeys([None, *(measurement.number for measurement in self.noise)]):
            tables = self.tables if number is None else [key.table for key in self.sums if key.number == number]
            known = rows if number is None else None
            found[number] = estimates(
                domain.sizes, noisy, spreads, number=number, known=known, plain=self.is_pure, tables=tables
            )
        return found

    @cached_property
    def variances(self) -> dict[Residual, float]:
        """The variance of a measured number; of narrow Laplace noise a little more, because it has whole steps."""
        return {one: variance + _STEP * self.is_pure for one, variance in self._drawn.items()}

    @cached_property
    def _drawn(self) -> dict[Residual, float]:
        """The variance of the noise on each number."""
        if not self.is_pure:
            return {one: float(parameter) for one, parameter in self.noise.items()}
        return {one: float(self.law_of(one).variance) for one in self.noise}

    def normal_level(self, level: float) -> float:
        """The level at which normal intervals cover as often as intervals of this level shall.

        With Laplace noise they are as wide as those of one draw of the same variance. A sum of several draws has
        lighter tails, so wherever that is the wider one it covers at least as often.
        """
        if not self.is_pure:
            return level
        return max(level, 2 * NormalDist().cdf(-log(1 - level) / sqrt(2)) - 1)

    @cached_property
    def precisions(self) -> dict[int | None, ResidualEstimates]:
        """The estimates for a table of nobody: their variances are those of every table."""
        zeros = np.zeros(sum(map(self.domain.count, self.noise)), np.int64)
        return self.estimates(zeros, 0 if self.plan.rows_are_public else None)

    def expected_source(self, question: Question, rows: int, shares: Shares, level: float) -> AnswerSource:
        """What would answer a question from a release of so many rows, whose values are spread evenly."""
        from dproof.central.expectation import expected_source

        return expected_source(self, question, rows, shares, level)

    def source(self, drawn: Any, question: Question, options: Options) -> AnswerSource:
        """What answers a question from a release."""
        from dproof.central.estimate import source  # takes a parser of SQL

        return source(drawn, question, options)

    # What it costs ----------------------------------------------------------------------------------------------------

    def delta(self) -> Fraction:
        """An upper bound of δ at the promised ε."""
        if self.is_pure:
            return Fraction(0)
        epsilon, neighbours, rows = self.person.epsilon, self.person.neighbours, self.plan.rows_per_person
        return delta(self.domain, self.noise, epsilon, neighbours, rows, in_parts=self.in_parts)

    def rho(self) -> Fraction | None:
        """The ρ of concentrated privacy of all measurements together, for a person: Σ Δ²/2γ², at its worst."""
        if self.is_pure:
            return None
        loss = largest_loss(self.domain, {r: 1 / s for r, s in self.noise.items()}, self.person.neighbours)
        return loss * self.plan.rows_per_person**2 / 2

    def record(self, release: Mapping[str, Any], *, private: bool) -> dict[str, Any]:
        """The certificate of the measurements, sealed, with what is recorded about a release."""
        rho = self.rho()
        drawn = {one: self._drawn_by(one) for one in self.noise}
        noises = {key: one for one, key in reversed(drawn.items())}  # the first measurement with each
        order = list(dict.fromkeys(drawn.values()))
        body = {
            "rows_per_person": self.plan.rows_per_person,
            "columns": self.columns,
            "noises": [self._noise_record(noises[key]) for key in order],
            "measurements": [
                {
                    "columns": list(measurement.table),
                    "sum_of": measurement.number,
                    "sensitivity": str(self._sensitivity(measurement)),
                    "noise": order.index(drawn[measurement]),
                    **({"contrast": True} if measurement.contrast else {}),
                    **({"parts": self.parts(measurement)} if self.parts(measurement) > 1 else {}),
                }
                for measurement in self.noise
            ],
            "rho": None if rho is None else str(rho),
            "tight": {"delta": float_above(self.delta())},
            "release": dict(release),
        }
        return sealed(FORMAT, VERSION, private, self.person, body)

    @cached_property
    def columns(self) -> list[dict[str, Any]]:
        """The columns as a certificate has them: of curves with the region that coefficients are clipped into."""
        found: list[dict[str, Any]] = [
            {"name": axis.name, "values": axis.size, "reach": axis.max_abs or 0} for axis in self.axes
        ]
        for place, lattice in self.lattices.items():
            box = None if lattice.box is None else list(lattice.box)
            found[place]["curves"] = {"terms": lattice.terms, "radius": lattice.radius, "box": box}
        return found

    def _sensitivity(self, measurement: Residual) -> int:
        """How far a row moves a measurement at most: in steps, or the square of the Euclidean length."""
        neighbours = self.person.neighbours
        if self.is_pure:
            return steps(self.domain, measurement, neighbours, 1)
        return self.domain.sensitivity(measurement, neighbours) * self.parts(measurement) ** 2

    def _drawn_by(self, measurement: Residual) -> tuple[Any, ...]:
        """What tells the laws of noise apart: the parameter, and for K-norm noise its norm and number of terms."""
        lattice = self._lattice(measurement.number)
        told = (lattice.ball, lattice.terms) if self.is_pure and lattice is not None and has_k_norm(lattice) else ()
        return self.noise[measurement] * self.parts(measurement) ** 2, *told

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
    laws, refused = list[TableLaw](), list[InputError]()
    for law in (TableLaw(plan, promise) for promise in _keeping(plan.privacy)):
        # With δ = 0 contrasts are better where many columns have two values, plain tables where few have.
        other = law.but(contrasts=law.is_pure)
        try:
            check_size(law)
            laws += [_checked(with_noise(one)) for one in ([law, other] if other.wanted != law.wanted else [law])]
        except InputError as error:
            refused.append(error)
    if not laws:
        raise refused[-1]
    return min(laws, key=_error) if len(laws) > 1 else laws[0]


def _keeping(promise: Privacy) -> list[Privacy]:
    """The promises that keep this one and have noise of their own, the strongest first: of equals it is taken."""
    pure = Privacy(promise.epsilon, neighbours=promise.neighbours)
    return [*([pure] if promise.epsilon else []), *([promise] if promise.delta else [])]


def with_noise(law: TableLaw) -> TableLaw:
    """The law with the least noise that keeps the promise: floats choose its shape, whole numbers certify it."""
    if not law.wanted:
        return law
    promise, rows, objective = law.person, law.plan.rows_per_person, law.asked.objective
    if law.is_pure:
        noise = split(law.domain, law.wanted, law.answers, promise, rows, objective)
    else:
        shaped = shape(law.domain, law.answers, objective)
        noise = calibrate(law.domain, shaped, promise, rows, in_parts=law.in_parts)
    return law.but(noise=noise)


def _error(law: TableLaw) -> float:
    """What the plan wants to be least, of the noise that is drawn."""
    return law.answers.value(_residual_variances(law, law._drawn), law.asked.objective)


def _residual_variances(law: TableLaw, variances: Mapping[Residual, float]) -> NDArray[np.float64]:
    return combined_variances(law.domain.sizes, variances, law.residuals, plain=law.is_pure)


def _checked(law: TableLaw) -> TableLaw:
    """Refuse noise that hides any table: how many rows there are is not known, but there are no more than can be."""
    _check_steps(law)
    domain = law.domain
    cells = [(1.0, cell_costs(domain, Residual(table))) for table in law.tables]
    variances = Answers.of(cells, law.residuals).variances(_residual_variances(law, law.variances))
    hidden = [variance for variance in variances.tolist() if variance > 0]  # a public number of rows has none
    if hidden and min(hidden) > _MOST_ROWS**2:
        raise PlanError(
            f"the budget is too small to say anything: the standard deviation of every count is above {_MOST_ROWS:,}, "
            "more rows than a table may have; allow a larger epsilon or delta, or ask for fewer and smaller tables"
        )
    total = law.precisions[None].variances[()]
    if law.asked.rows and total > _MOST_MADE_UP**2:
        raise PlanError(
            f"made-up rows need to know about how many rows there are, and here that has a standard deviation above "
            f"{_MOST_MADE_UP:,}: allow a larger epsilon or delta, or leave out `rows`"
        )
    return law


def check_size(law: TableLaw) -> None:
    """Refuse more than can be measured, or added up exactly, with the columns to blame."""
    tables, cells = list(law.tables), law.domain.cells
    if any(sum(law.axes[place].size > 1 for place in table) > _MOST_COLUMNS for table in tables):
        raise TooLarge(
            f"a table has more than {_MOST_COLUMNS} columns: list smaller ones with [[release.tables]], or write a "
            "smaller number of `tables`"
        )
    if sum(map(cells, tables)) > _MOST_CELLS or law.is_divided or sum(map(law.domain.count, law.wanted)) > _MOST_CELLS:
        widest = (law.axes[place] for place in max(tables, key=cells))
        raise TooLarge(
            f"the tables have more than {_MOST_CELLS:,} cells, or {_MOST_PARTS:,} parts, the largest that of "
            f"{', '.join(f'{axis.name!r} ({axis.size:,} values)' for axis in widest)}: give numbers fewer `bins`, or "
            "list fewer tables with [[release.tables]]"
        )
    _check_steps(law)


def _check_steps(law: TableLaw) -> None:
    """Refuse sums that would not be exact in 64 bits."""
    for one in law.wanted:
        if one.number is not None:
            axis, factor = law.axes[one.number], 1 if law.is_pure else law.domain.cells(one.table)
            factor *= law.parts(one) if law.noise else 1
            if isqrt(law.domain.added(one.number).square) * factor > _MOST_STEPS:
                way = "group curves by fewer values" if axis.has_curves else f"give {axis.name!r} a larger `step`"
                raise TooLarge(f"the {law.measured_name(one)} has too many steps to be exact: {way}")


_APART = Fraction(1, 1000)  # how far noise may be from what the plan determines, where machines calculate otherwise


def recorded_table_law(plan: Plan, certificate: Mapping[str, Any]) -> TableLaw:
    """The law of a release of tables, from its plan and certificate; refused where they do not fit each other."""
    promise = plan.privacy
    try:
        kept = Privacy(
            promise.epsilon, 0 if certificate["delta"] == "0" else promise.delta, neighbours=promise.neighbours
        )
        said = {key: certificate[key] for key in ("epsilon", "delta", "neighbours")}
        if said != {"epsilon": str(kept.epsilon), "delta": str(kept.delta), "neighbours": kept.neighbours}:
            raise VerificationFailed("the certificate promises something else than the plan")
        law = TableLaw(plan, kept)
        check_size(law)
        if law.columns != certificate["columns"]:
            raise VerificationFailed("the certificate has other columns than the plan")
        noises = [_parameter(noise) for noise in certificate["noises"]]
        noise = {
            Residual(tuple(m["columns"]), m["sum_of"], m.get("contrast", False)): noises[m["noise"]]
            for m in certificate["measurements"]
        }
        parts = dict(zip(noise, (m.get("parts", 1) for m in certificate["measurements"]), strict=True))
        squares = {one: parameter / parts[one] ** 2 for one, parameter in noise.items()}
        law = law.but(
            contrasts=any(measurement.contrast for measurement in noise),
            in_parts=any(part > 1 for part in parts.values()),
            noise=squares,
        )
    except TooLarge as error:
        raise VerificationFailed(f"the plan is too large: {error}") from None
    except (LookupError, TypeError, ValueError, ArithmeticError) as error:
        raise VerificationFailed(f"the certificate cannot be read ({type(error).__name__})") from None
    if list(noise) != law.wanted or any(law.parts(one) != part for one, part in parts.items()):
        raise VerificationFailed("the certificate has other tables than the plan")
    return law


def check_noise(law: TableLaw) -> None:
    """Refuse noise that is not shared out as the plan wants it: answers would have other intervals than are told.

    Floats choose the shares, so that another machine may find them a little different.
    """
    wanted = with_noise(law).noise
    if any(abs(wanted[one] / parameter - 1) > _APART for one, parameter in law.noise.items()):
        raise VerificationFailed("the noise is not shared out over the tables as the plan determines")


def _parameter(noise: Mapping[str, Any]) -> Fraction:
    if noise["kind"] != "gaussian":
        return Fraction(noise["epsilon"])
    step, draws = int(noise["step"]), int(noise["draws"])
    return Fraction(noise["square"]) * Fraction(sum(step ** (2 * n) for n in range(draws)))
