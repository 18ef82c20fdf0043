"""As which whole numbers curves are added up in the central model: decided from the plan alone."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from math import sqrt

import numpy as np

from dproof.central.workload import Added
from dproof.curves.expansion import CurveLattice, Expansion, Split
from dproof.curves.left_out import l2_left_out
from dproof.curves.noise import FEW_ROWS
from dproof.errors import InputError
from dproof.exact import least
from dproof.laws.divergence import normal_delta
from dproof.privacy import Privacy


@lru_cache(maxsize=64)
def lattice_of(expansion: Expansion, privacy: Privacy) -> CurveLattice:
    """The lattice on which the mean of 1,000 curves would have the least error, were nothing else measured.

    The noise of all measurements is chosen together, and needs to know the lattices first. So of the expansions that
    the plan allows that one is taken which would be best with all of the promise, were there no lattice.
    """
    declared, split = expansion.present or expansion, _split(privacy)
    found = []
    for candidate in declared.candidates:
        with suppress(InputError):  # a region that is too small beside the range: another may do
            found.append(candidate.lattice(split))
    if len(found) < 2:
        return found[0] if found else declared.candidates[0].lattice(split)
    deviation = _deviation(privacy) / FEW_ROWS

    def error(lattice: CurveLattice) -> float:
        moved = sqrt(lattice.size("l2", "add-remove")) if privacy.delta else lattice.size("l1", "add-remove")
        squares = lattice.scales**2 * lattice.expansion.functions()[0].squares
        return float((deviation * moved) ** 2 * squares.sum() + l2_left_out(lattice) ** 2)

    return min(found, key=error)


def _split(privacy: Privacy) -> Split:
    return "gaussian" if privacy.delta else "laplace"


def _deviation(privacy: Privacy) -> float:
    """The standard deviation of noise that hides a move by 1: normal noise where δ > 0, else Laplace noise."""
    if not privacy.delta:
        return sqrt(2) / float(privacy.epsilon)
    return float(least(lambda scale: normal_delta(1 / scale, privacy.epsilon) <= privacy.delta, Fraction(1)))


def added_curve(lattice: CurveLattice) -> Added:
    """What a curve adds to a sum: a lattice vector z with |z|² and |z|₁ at most those of the region.

    Its unit: the variance of a coefficient at which a grid point, on average over the grid, has the variance of half
    the range from low to high.
    """
    space = lattice.space
    at_points = (lattice.scales[:, None] * lattice.functions(space.times)) ** 2
    half = float(space.high - space.low) / 2
    unit = half**2 / float(np.mean(at_points.sum(axis=0)))
    return Added(lattice.terms, lattice.size("l2", "add-remove"), lattice.size("l1", "add-remove"), unit)
