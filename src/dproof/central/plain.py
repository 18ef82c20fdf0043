"""Integer Laplace noise for plain tables of counts, and for contrasts: what is measured where δ = 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dproof.central.objective import Answers, Floats, best
from dproof.central.residuals import told
from dproof.central.workload import Domain, Residual, largest_loss, maximal, parts
from dproof.exact import exp_below
from dproof.laws.laplace import TwoSided, two_sided
from dproof.plans.release_table import Objective
from dproof.privacy import Neighbours, Privacy

_DIGITS = 20  # bits of what a step may cost
_SLACK = Fraction(1, 1 << 40)  # of ε, left for the rounding of the largest change of contrasts
_ROUNDS = 12  # in which the split is improved


@lru_cache(maxsize=1024)
def laplace_law(step: Fraction) -> TwoSided:
    """The law of the noise on each number, of which a shift by one step costs this ε at most."""
    return two_sided(exp_below(step))


def measured_tables(domain: Domain, tables: Sequence[tuple[int, ...]], *, contrasts: bool) -> list[Residual]:
    """What is measured to tell these tables of counts: the largest ones or, of those whose columns all have two values,
    the contrast of every table within them.

    >>> [one.table for one in measured_tables(Domain((2, 2, 3), {}), [(0, 1), (1, 2)], contrasts=True)]
    [(1, 2), (), (0,), (1,), (0, 1)]
    """
    largest = maximal(tables)
    pairs = [table for table in largest if contrasts and table and all(domain.sizes[i] == 2 for i in table)]
    plain = [Residual(table) for table in largest if table not in pairs]
    return [*plain, *(Residual(table, None, True) for table in (parts(pairs) if pairs else []))]


def steps(domain: Domain, table: Residual, neighbours: Neighbours, persons_rows: int) -> int:
    """How many steps a person moves a table at most, over all its cells: one for a row that comes or goes.

    >>> steps(Domain((2,), {}), Residual((0,)), "change-one", 3)
    6
    """
    return persons_rows * domain.added(table.number).steps * (1 if neighbours == "add-remove" else 2)


def spent(domain: Domain, costs: Mapping[Residual, Fraction], neighbours: Neighbours, persons_rows: int) -> Fraction:
    """The ε of measurements of which a step costs so much each, for a person.

    A row that comes or goes moves every contrast by one step. One that is replaced by another moves a contrast by two
    if they differ on an odd number of its columns, else not at all: with k = 2 this is Δ²_A(S)/2^(|A|+1). Where the
    number of rows is measured by itself, a row may also be replaced by none.
    """
    added = sum((steps(domain, one, "add-remove", 1) * cost for one, cost in costs.items()), Fraction(0))
    if neighbours == "add-remove":
        return persons_rows * added
    plain = sum((steps(domain, m, neighbours, 1) * cost for m, cost in costs.items() if not m.contrast), Fraction(0))
    contrasts = {Residual(m.table): cost / 2 ** (len(m.table) + 1) for m, cost in costs.items() if m.contrast}
    contrasts.pop(Residual(()), None)
    largest = max(contrasts.values(), default=Fraction(1))  # losses are rounded up to parts of 1, not of a small ε
    changed = plain + largest * largest_loss(domain, {m: c / largest for m, c in contrasts.items()}, neighbours)
    return persons_rows * (max(added, changed) if Residual((), None, True) in costs else changed)


def split(
    domain: Domain,
    measurements: Sequence[Residual],
    answers: Answers,
    privacy: Privacy,
    persons_rows: int = 1,
    objective: Objective = "total",
) -> dict[Residual, Fraction]:
    """What a step of each measurement may cost, such that all together cost ε, rounded down.

    The total, or the largest, variance of the answers is least, or nearly: the variance of a number is about 2/cost²,
    times the spread of its noise.
    """
    moved = np.array([float(steps(domain, one, privacy.neighbours, 1)) for one in measurements])
    places = {residual: n for n, residual in enumerate(answers.residuals)}
    entries = [
        (n, places[Residual(part, one.number)], factor * domain.added(one.number).spread)
        for n, one in enumerate(measurements)
        for part, factor in told(domain.sizes, one, True).items()
        if Residual(part, one.number) in places
    ]
    measurement, residual = (np.array([entry[n] for entry in entries], np.int64) for n in (0, 1))
    factors = np.array([entry[2] for entry in entries])

    def improved(costs: Floats) -> tuple[Floats, Floats]:
        """What a step of each measurement shall cost for these costs of residuals, and the variances of these.

        At the optimum a step costs ∝ (w/steps)^(1/3), with w the derivative of the total by the measurement's variance.
        """
        shares, least, kept = 1 / (moved * len(moved)), np.inf, (moved, costs)
        for _ in range(_ROUNDS):
            precisions = shares[measurement] ** 2 / (2 * factors)
            variances = 1 / np.bincount(residual, precisions, len(costs))
            if float(costs @ variances) < least:
                least, kept = float(costs @ variances), (shares, variances)
            weights = np.bincount(
                measurement, (costs * variances**2)[residual] * precisions * shares[measurement] ** 2 / 2, len(moved)
            )
            wanted = np.cbrt(weights / moved)
            shares = np.sqrt(shares * wanted / (moved @ wanted))
            shares = shares / (moved @ shares)
        return kept

    shape = improved(best(answers, objective, lambda costs: improved(costs)[1]))[0]
    exact = {one: Fraction(float(cost)) for one, cost in zip(measurements, shape, strict=True)}
    unit = privacy.epsilon / spent(domain, exact, privacy.neighbours, persons_rows)
    if any(one.contrast for one in measurements):
        unit *= 1 - _SLACK
    return {one: _rounded_down(cost * unit) for one, cost in exact.items()}


def _rounded_down(cost: Fraction) -> Fraction:
    places = _DIGITS - (cost.numerator.bit_length() - cost.denominator.bit_length())
    scale = Fraction(2) ** places
    return Fraction(cost * scale // 1) / scale
