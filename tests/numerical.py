"""Composition by discretised losses, through Google's dp-accounting, with both sides told.

Slow to load, so it is loaded where it is used. It works in floats: for a certificate compose exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

from dproof import InputError, Mechanism, Privacy
from dproof.certification.compose import dominating
from dproof.exact import log_above
from dproof.laws import Gaussian, Lattice, TwoSided
from dproof.laws.noise import NoiseLaw

Part = Callable[[bool], Any]  # pessimistic or not -> dp-accounting's privacy loss distribution
_GRID = 1e-4


@dataclass(frozen=True, slots=True)
class Between:
    """A number between two bounds."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Numerical:
    """A composition by discretised losses: rounded up they guarantee `high`, rounded down nothing below `low` does."""

    pessimistic: Any
    optimistic: Any

    def delta(self, epsilon: float) -> Between:
        values = (float(pld.get_delta_for_epsilon(epsilon)) for pld in (self.optimistic, self.pessimistic))
        return Between(*values)

    def epsilon(self, delta: float) -> Between:
        values = (float(pld.get_epsilon_for_delta(delta)) for pld in (self.optimistic, self.pessimistic))
        return Between(*values)


def numerical(parts: Sequence[tuple[Part, int]]) -> Numerical:
    """The composition of named losses, each so many times, through Google's dp-accounting.

    >>> three = numerical([(laplace_part(0.5), 3)]).delta(0.4)
    >>> three.low <= 0.1854189865 <= three.high, three.high - three.low < 1e-3
    (True, True)
    """
    if not parts or any(times < 1 for _, times in parts):
        raise InputError("a composition needs at least one part, and each at least once")
    sides = []
    for pessimistic in (True, False):
        composed = None
        for part, times in parts:
            loss = part(pessimistic).self_compose(times)
            composed = loss if composed is None else composed.compose(loss)
        sides.append(composed)
    return Numerical(*sides)


def laplace_part(mu: float) -> Part:
    """Laplace noise whose scale is 1/mu of the sensitivity."""
    return _part("from_laplace_mechanism", 1 / mu)


def gaussian_part(mu: float) -> Part:
    """Gaussian noise whose standard deviation is 1/mu of the l2 sensitivity."""
    return _part("from_gaussian_mechanism", 1 / mu)


def promise_part(privacy: Privacy) -> Part:
    """Any mechanism with this promise."""
    from dp_accounting.pld.common import DifferentialPrivacyParameters

    pair = DifferentialPrivacyParameters(float(privacy.epsilon), float(privacy.delta))
    return lambda _: _losses().from_privacy_parameters(pair, value_discretization_interval=_GRID)


def mechanism_part(mechanism: Mechanism) -> Part:
    """The law of a mechanism: a lattice noise by its name, else the pair that dominates all pairs of its inputs."""
    if isinstance(mechanism.family, Lattice):
        return noise_part(mechanism.family.noise, mechanism.family.size - 1)
    loss = dominating(mechanism.family)
    p, q = ({n: log(w / loss.total) for n, w in enumerate(side) if w} for side in zip(*loss.atoms, strict=True))
    return _part("from_two_probability_mass_functions", q, p)  # dp-accounting calls the first the lower law, Q


def noise_part(law: NoiseLaw, shift: int) -> Part:
    """Lattice noise under a shift: the ideal law that its tables follow to a dozen digits."""
    if isinstance(law, TwoSided) and law.reach is None:
        return _part("from_discrete_laplace_mechanism", float(log_above(law.ratio)), shift)
    if isinstance(law, Gaussian) and law.unit == 1:
        return _part("from_discrete_gaussian_mechanism", float(law.square) ** 0.5, shift)
    raise InputError("this noise has no named loss; compose its promise instead")


def _part(constructor: str, *parameters: Any) -> Part:
    """A loss by the name that dp-accounting has for it."""
    settings = {"value_discretization_interval": _GRID}
    return lambda up: getattr(_losses(), constructor)(*parameters, pessimistic_estimate=up, **settings)


def _losses() -> Any:
    from dp_accounting.pld import privacy_loss_distribution

    return privacy_loss_distribution
