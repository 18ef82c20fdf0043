"""What a basis may leave out of a curve on its grid, bounded from public knowledge alone.

A lattice shows a curve as centre + M·u on the grid, up to rounding, where u is how far the curve lies from the centre
there and M goes to the coefficients and back. So (M − I)u is left out. Of u the plan tells that it lies between low and
high, |u_p| ≤ d_p; with a radius, that uᵀGu ≤ r² with G the matrix of ∫ hat_i hat_k; with a kernel, that uᵀK⁻¹u ≤ r² for
the kernel's matrix on the grid, as the least norm of a function with these values is that. Each bounds the largest
value of a linear function of u.
"""

from __future__ import annotations

from functools import lru_cache
from math import sqrt

import numpy as np

from dproof.curves.bases import Floats, hat_functions
from dproof.curves.expansion import CurveLattice, Expansion, centre_of

_NEGLIGIBLE = 1e-9  # of the range: what floats lose


def left_out(lattice: CurveLattice) -> Floats:
    """How far the mean of curves, as the lattice shows them without noise, may be from their mean on the grid.

    >>> from dproof.curves.expansion import Curves, expand
    >>> day = Curves(0, 1, 9, 0, 1)
    >>> float(left_out(expand(day).lattice("k_norm")).max()) < 1e-4
    True
    >>> float(left_out(expand(day, terms=3).lattice("gaussian")).max()) > 0.5
    True
    """
    rounding = lattice.scales @ np.abs(lattice.functions(lattice.space.times)) / 2
    return np.asarray(_beyond(lattice.expansion) + rounding)


def l2_left_out(lattice: CurveLattice) -> float:
    """The L2 norm of that."""
    space = lattice.space
    return sqrt(float(np.trapezoid(left_out(lattice) ** 2, space.times)))


@lru_cache(maxsize=64)
def _beyond(expansion: Expansion) -> Floats:
    space, functions = expansion.space, expansion.functions()[0]
    if expansion.shows_all:
        return np.zeros(space.points)
    missed = functions.evaluate(space.times).T @ functions.analysis(space) - np.eye(space.points)
    centre, low, high = centre_of(expansion), float(space.low), float(space.high)
    bound: Floats = np.abs(missed) @ np.maximum(centre - low, high - centre)
    if expansion.radius is not None:
        if expansion.kernel is not None:
            spread = expansion.kernel(space.times, space.times)
        else:
            root = hat_functions(space, orthonormal=True).root
            spread = np.asarray(np.linalg.inv(root @ root), np.float64)
        squares = np.maximum(((missed @ spread) * missed).sum(axis=1), 0)
        bound = np.minimum(bound, float(expansion.radius) * np.sqrt(squares))
    bound[bound < _NEGLIGIBLE * (high - low)] = 0.0
    bound.setflags(write=False)
    return np.asarray(bound)
