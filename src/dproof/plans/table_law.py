"""The law of the measured tables of a plan of the central model: calibrated and certified before any data is opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from dproof.central.noise import calibrate, delta, noise_law
from dproof.central.residuals import Estimates
from dproof.central.workload import Domain, Residual, Table, largest_loss, parts, shape
from dproof.certification.verify_central import FORMAT, VERSION
from dproof.certification.verify_certificate import seal
from dproof.errors import InputError, TooLarge, VerificationFailed
from dproof.exact import float_above
from dproof.plans.central import Axis, axis_of
from dproof.plans.plan import Plan
from dproof.privacy import Privacy

_MOST_CELLS = 10_000_000  # of all tables together


@dataclass(frozen=True, slots=True)
class TableLaw:
    """What is measured of the whole table, with how much noise, and the proof of what a person may lose by it.

    The residual of each table, in whole numbers, gets independent discrete Gaussian noise with parameter γ² on each of
    its numbers. `[privacy]` is promised to a person, who owns up to `rows_per_person` rows.
    """

    plan: Plan
    axes: tuple[Axis, ...]
    squares: Mapping[Residual, Fraction] = field(default_factory=dict)  # γ² of each residual

    @property
    def domain(self) -> Domain:
        return Domain(tuple(axis.size for axis in self.axes), {})

    @property
    def tables(self) -> dict[Table, Fraction]:
        """The tables that the plan asks for, by the places of their columns, with their weights."""
        assert self.plan.asked is not None
        places = {axis.name: n for n, axis in enumerate(self.axes)}
        return {tuple(places[name] for name in names): weight for names, weight in self.plan.asked.tables}

    @property
    def residuals(self) -> list[Residual]:
        """What has to be measured to tell the tables, the smallest first.

        The residual of a column with one value is zero, and that of the empty table is the number of rows.
        """
        found = (table for table in parts(self.tables) if table or not self.plan.rows_are_public)
        return [Residual(table) for table in found if all(self.axes[place].size > 1 for place in table)]

    @property
    def person(self) -> Privacy:
        """What is promised to a person."""
        return self.plan.privacy

    def name(self, table: Table) -> str:
        return " × ".join(self.axes[place].name for place in table)

    @property
    def precisions(self) -> Estimates:
        """The variances of all residuals, which do not depend on the data."""
        cells = self.domain.cells
        return Estimates(
            self.domain.sizes,
            {},
            dict.fromkeys(parts(self.tables), 0.0)
            | {r.table: float(square) / cells(r.table) ** 2 for r, square in self.squares.items()},
        )

    def delta(self) -> Fraction:
        """An upper bound of δ at the promised ε."""
        promise = self.plan.privacy
        return delta(self.domain, self.squares, promise.epsilon, promise.neighbours, self.plan.rows_per_person)

    def rho(self) -> Fraction:
        """The ρ of concentrated privacy of all measurements together, for a person: Σ Δ²/2γ², at its worst."""
        loss = largest_loss(self.domain, {r: 1 / s for r, s in self.squares.items()}, self.plan.privacy.neighbours)
        return loss * self.plan.rows_per_person**2 / 2

    def certificate(self, release: Mapping[str, Any], *, private: bool) -> dict[str, Any]:
        """The certificate of the measurements, sealed, with what is recorded about a release."""
        promise, domain = self.plan.privacy, self.domain
        body = {
            "format": FORMAT,
            "version": VERSION,
            "private": private,
            "neighbours": promise.neighbours,
            "epsilon": str(promise.epsilon),
            "delta": str(promise.delta),
            "rows_per_person": self.plan.rows_per_person,
            "columns": [{"name": axis.name, "values": axis.size} for axis in self.axes],
            "measurements": [
                {
                    "columns": list(residual.table),
                    "sensitivity": str(domain.sensitivity(residual, promise.neighbours)),
                    "noise": _record(square),
                }
                for residual, square in self.squares.items()
            ],
            "rho": str(self.rho()),
            "tight": {"delta": float_above(self.delta())},
            "release": dict(release),
        }
        return {**body, "seal": seal(body)}


def _record(square: Fraction) -> dict[str, Any]:
    """The noise as a certificate has it: draws H of one table, added up as m^(n−1)·H + … + m·H + H."""
    law = noise_law(square)
    table, step, draws = getattr(law, "table", law), getattr(law, "step", 1), getattr(law, "draws", 1)
    return {"square": str(table.square), "step": step, "draws": draws}


def certify_tables(plan: Plan) -> TableLaw:
    """Calibrate the noise of a plan's tables, so that the error of their cells is least; no data is involved.

    >>> columns = {name: {"space": "categories", "values": [0, 1]} for name in ("read", "own")}
    >>> promise = {"model": "central", "epsilon": 1, "delta": "1e-6"}
    >>> law = certify_tables(Plan.from_dict({"privacy": promise, "columns": columns}))
    >>> [law.name(residual.table) for residual in law.squares], law.delta() <= Fraction(1, 10**6)
    (['read', 'own', 'read × own'], True)
    """
    promise = plan.privacy
    if not promise.delta:
        raise InputError("model = 'central' needs delta above 0, such as delta = '1e-6' for a table of 100,000 people")
    if promise.neighbours == "change-one" and not plan.row_is_person:
        raise InputError("a person with several rows needs neighbours = 'add-remove' in model = 'central'")
    law = TableLaw(plan, axes_of(plan))
    _check_size(law)
    variances = shape(law.domain, {table: float(weight) for table, weight in law.tables.items()}, {})
    wanted = {residual: variances[residual] for residual in law.residuals}
    return replace(law, squares=calibrate(law.domain, wanted, promise, plan.rows_per_person) if wanted else {})


def axes_of(plan: Plan) -> tuple[Axis, ...]:
    """The columns of a plan as they are counted, in its order."""
    return tuple(axis_of(column) for column in plan.columns if column.private)


def _check_size(law: TableLaw) -> None:
    """Refuse more cells than can be measured, with the columns to blame."""
    tables, cells = list(law.tables), law.domain.cells
    if sum(map(cells, tables)) > _MOST_CELLS:
        widest = (law.axes[place] for place in max(tables, key=cells))
        raise TooLarge(
            f"the tables have more than {_MOST_CELLS:,} cells, the largest that of "
            f"{', '.join(f'{axis.name!r} ({axis.size:,} values)' for axis in widest)}: give numbers fewer `bins`, or "
            "list fewer tables with [[release.tables]]"
        )


def recorded_table_law(plan: Plan, certificate: Mapping[str, Any]) -> TableLaw:
    """The law of a release of tables, from its plan and certificate; refused where they do not fit each other."""
    axes = axes_of(plan)
    try:
        promise = {"epsilon": plan.privacy.epsilon, "delta": plan.privacy.delta}
        same = all(str(value) == certificate[key] for key, value in promise.items())
        if not same or plan.privacy.neighbours != certificate["neighbours"]:
            raise VerificationFailed("the certificate promises something else than the plan")
        if [{"name": axis.name, "values": axis.size} for axis in axes] != certificate["columns"]:
            raise VerificationFailed("the certificate has other columns than the plan")
        squares = {Residual(tuple(one["columns"])): _square(one["noise"]) for one in certificate["measurements"]}
    except (LookupError, TypeError, ValueError, ArithmeticError) as error:
        raise VerificationFailed(f"the certificate cannot be read ({type(error).__name__})") from None
    law = TableLaw(plan, axes, squares)
    if list(squares) != law.residuals:
        raise VerificationFailed("the certificate has other tables than the plan")
    return law


def _square(noise: Mapping[str, Any]) -> Fraction:
    step, draws = int(noise["step"]), int(noise["draws"])
    return Fraction(noise["square"]) * Fraction(sum(step ** (2 * n) for n in range(draws)))
