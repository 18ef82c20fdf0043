"""Integer Laplace noise for plain tables of counts: what is measured where δ = 0."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

from dproof.central.workload import Domain, Residual
from dproof.exact import exp_below
from dproof.laws.laplace import TwoSided, two_sided
from dproof.privacy import Neighbours, Privacy

_DIGITS = 20  # bits of what a step may cost


@lru_cache(maxsize=1024)
def laplace_law(step: Fraction) -> TwoSided:
    """The law of the noise on each number, of which a shift by one step costs this ε at most."""
    return two_sided(exp_below(step))


def steps(domain: Domain, table: Residual, neighbours: Neighbours, persons_rows: int) -> int:
    """How many steps a person moves a table at most, over all its cells: one for a row that comes or goes.

    >>> steps(Domain((2,), {}), Residual((0,)), "change-one", 3)
    6
    """
    reach = 1 if table.number is None else domain.reach[table.number]
    return persons_rows * reach * (1 if neighbours == "add-remove" else 2)


def split(
    domain: Domain, weights: Mapping[Residual, float], privacy: Privacy, persons_rows: int = 1
) -> dict[Residual, Fraction]:
    """What a step of each table may cost, such that all together cost ε: Σ steps · cost ≤ ε.

    The variance of a cell is about 2/cost². The least Σ weight · variance at a given Σ steps · cost has
    cost ∝ (weight / steps)^(1/3). Rounded down.
    """
    moved = {table: steps(domain, table, privacy.neighbours, persons_rows) for table in weights}
    shape = {table: Fraction((weight / moved[table]) ** (1 / 3)) for table, weight in weights.items()}
    unit = privacy.epsilon / sum((moved[table] * cost for table, cost in shape.items()), Fraction(0))
    return {table: _rounded_down(cost * unit) for table, cost in shape.items()}


def _rounded_down(cost: Fraction) -> Fraction:
    places = _DIGITS - (cost.numerator.bit_length() - cost.denominator.bit_length())
    scale = Fraction(2) ** places
    return Fraction(cost * scale // 1) / scale
