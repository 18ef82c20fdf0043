"""As which whole numbers curves are added up in the central model, and with which noise: the plan alone decides."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dproof.central.plain import laplace_law
from dproof.central.workload import Added
from dproof.curves.expansion import CurveLattice, Expansion, Split
from dproof.curves.left_out import l2_left_out
from dproof.curves.noise import FEW_ROWS
from dproof.errors import InputError
from dproof.exact import least
from dproof.laws.divergence import normal_delta
from dproof.laws.k_norm import MOST_TERMS_L2, KNorm, k_norm
from dproof.laws.laplace import TwoSided
from dproof.privacy import Privacy


@lru_cache(maxsize=64)
def lattice_of(expansion: Expansion, privacy: Privacy) -> CurveLattice:
    """The lattice on which the mean of 1,000 curves would have the least error, were nothing else measured.

    The noise of all measurements is chosen together, and needs to know the lattices first. So of the expansions that
    the plan allows that one is taken which would be best with all of the promise, were there no lattice.
    """
    declared, lattices = expansion.present or expansion, list[CurveLattice]()
    split: Split = "gaussian" if privacy.delta else "k_norm"
    for candidate in declared.candidates:
        with suppress(InputError):  # a region that is too small beside the range: another may do
            lattices.append(candidate.lattice(split))
    if len(lattices) < 2:
        return lattices[0] if lattices else declared.candidates[0].lattice(split)
    deviation = _normal_deviation(privacy) if privacy.delta else 0.0

    def error(lattice: CurveLattice) -> float:
        added = added_curve(lattice)
        pure = 0.0 if privacy.delta else 2 * added.spread * (added.steps / float(privacy.epsilon)) ** 2
        squares = lattice.scales**2 * lattice.expansion.functions()[0].squares
        noise = (deviation**2 * added.square + pure) * float(squares.sum())
        return noise / FEW_ROWS**2 + l2_left_out(lattice) ** 2

    return min(lattices, key=error)


def _normal_deviation(privacy: Privacy) -> float:
    """The standard deviation of normal noise that hides a move by 1."""
    return float(least(lambda scale: normal_delta(1 / scale, privacy.epsilon) <= privacy.delta, Fraction(1)))


def has_k_norm(lattice: CurveLattice) -> bool:
    """Whether noise by the norm of the region can be drawn; in a ball of many terms it cannot."""
    return lattice.ball == "linf" or lattice.terms <= MOST_TERMS_L2


def pure_law(lattice: CurveLattice, cost: Fraction) -> KNorm | TwoSided:
    """The noise with δ = 0 on the vector of each cell: K-norm noise, of which a curve that comes or goes costs so much;
    or Laplace noise on each number, of which a step does."""
    if not has_k_norm(lattice):
        return laplace_law(cost)
    return k_norm(lattice.ball, lattice.terms, lattice.size("linf", "add-remove"), cost)


def added_curve(lattice: CurveLattice) -> Added:
    """What a curve adds to a sum: a lattice vector z with |z|² at most that of the region.

    For noise by the norm of the region it is one step, else |z|₁ steps. With T from a gamma law with k + 1 as its shape
    K-norm noise is even on a cube with sides of 2ST/ε, or in a ball with the radius ST/ε; S is that of the region.

    Its unit: the variance of a coefficient at which a grid point, on average over the grid, has the variance of half
    the range from low to high.
    """
    k, size = lattice.terms, lattice.size("linf", "add-remove")
    steps, spread = lattice.size("l1", "add-remove"), 1.0
    if has_k_norm(lattice):
        steps, spread = 1, size**2 * (k + 1) / 2 * ((k + 2) / 3 if lattice.ball == "linf" else 1)
    space = lattice.space
    at_points = (lattice.scales[:, None] * lattice.functions(space.times)) ** 2
    half = float(space.high - space.low) / 2
    unit = half**2 / float(np.mean(at_points.sum(axis=0)))
    return Added(k, lattice.size("l2", "add-remove"), steps, unit, spread)
