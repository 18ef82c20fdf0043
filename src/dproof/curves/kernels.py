"""Covariance kernels and the norms of their Hilbert spaces H: what Gaussian process noise is calibrated to.

f + σG with G of kernel K moves, seen from f + h + σG, by exactly ‖h‖_H/σ standard deviations (Cameron and Martin).
A function outside H gives itself away at any σ. Hall, Rinaldo and Wasserman 2013.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import comb, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import choice
from dproof.curves.bases import Basis, Floats, quadrature
from dproof.errors import ArgumentError
from dproof.exact import exact
from dproof.spaces.curves import Curves, moderate

_PIECES = 48  # of the quadrature that the eigenfunctions are computed on
_LEAST_EIGENVALUE = 1e-9  # relative; below, an eigenfunction is rounding noise

# name: times differentiable in mean square, plus one; 0 where infinitely often
_ORDERS = {"exponential": 1, "matern-3/2": 2, "matern-5/2": 3, "squared-exponential": 0, "brownian": 1}


@dataclass(frozen=True, slots=True, init=False)
class Kernel:
    """K(s, t): "exponential", "matern-3/2", "matern-5/2", "squared-exponential" or "brownian", and its length.

    With r = |s − t|/length: e^−r, (1 + √3 r)e^−√3r, (1 + √5 r + 5r²/3)e^−√5r, e^−r²/2, all of unit variance. Brownian
    motion starts from 0 at time 0 and has min(s, t)/length: its curves are known there, and free to go anywhere later.

    >>> Kernel("exponential", 1)([0.0], [0.0, 1.0]).round(6).tolist()
    [[1.0, 0.367879]]
    >>> Kernel("brownian", 2)([1.0], [0.0, 1.0, 3.0]).tolist()
    [[0.0, 0.5, 0.5]]
    """

    name: str
    length: Fraction

    def __init__(self, name: str, length: Any) -> None:
        choice(name, tuple(_ORDERS), "kernel")
        scale = exact(length, "length")
        if scale <= 0:
            raise ArgumentError("the length of a kernel must be positive: the distance over which a curve varies")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "length", moderate(scale, "the length of a kernel"))

    @property
    def order(self) -> int:
        """p, where H is the Sobolev space of functions with p square-integrable derivatives; 0: analytic ones."""
        return _ORDERS[self.name]

    @property
    def is_brownian(self) -> bool:
        """Whether it is the kernel of Brownian motion, which is known at time 0."""
        return self.name == "brownian"

    @property
    def rate(self) -> float:
        """λ of the process as the solution of (d/dt + λ)^p X = white noise."""
        return 0.0 if self.is_brownian else sqrt(2 * self.order - 1) / float(self.length)

    def __call__(self, s: Any, t: Any) -> Floats:
        """The matrix K(s_i, t_k)."""
        if self.is_brownian:
            if min(np.min(s), np.min(t)) < 0:
                raise ArgumentError(
                    "Brownian motion starts at time 0: shift the times of the curves, or take another kernel"
                )
            return np.minimum.outer(np.asarray(s, np.float64), np.asarray(t, np.float64)) / float(self.length)
        r = np.abs(np.subtract.outer(np.asarray(s, np.float64), np.asarray(t, np.float64)))
        if self.order == 0:
            return np.asarray(np.exp(-((r / float(self.length)) ** 2) / 2))
        x = self.rate * r
        polynomial = (1.0, 1 + x, 1 + x + x * x / 3)[self.order - 1]
        return np.asarray(polynomial * np.exp(-x))

    def squared_norm(self, function: Callable[[Floats, int], Floats], joints: Any) -> float:
        """‖f‖²_H on the interval that the joints span; f(t, n) is the n-th derivative, smooth between joints.

        s(a)ᵀ S⁻¹ s(a) + (1/q) ∫ ((d/dt + λ)^p f)², where s = (f, f', …) and S is the stationary covariance of the
        process and its derivatives. For p = 1 this is (f(a)² + f(b)²)/2 + ½∫(ℓf'² + f²/ℓ), and for Brownian motion
        ℓ·f(a)²/a + ℓ∫f'².

        >>> line = lambda t, n: t if n == 0 else np.ones_like(t)
        >>> round(Kernel("exponential", 1).squared_norm(line, [0, 1]), 12), round(7 / 6, 12)
        (1.166666666667, 1.166666666667)
        """
        if self.order == 0:
            raise ArgumentError("the squared-exponential norm has no closed form: look at its projections instead")
        p, rate = self.order, self.rate
        t, weights = quadrature(joints)
        moved = sum(comb(p, n) * rate ** (p - n) * function(t, n) for n in range(p + 1))
        start = np.array([np.ravel(function(np.array([np.min(joints)], np.float64), n))[0] for n in range(p)])
        if self.is_brownian:
            return self._brownian(float(np.min(joints)), float(start[0]), float((np.square(moved) * weights).sum()))
        level = (
            [[1.0]],
            [[1.0, 0.0], [0.0, rate**2]],
            [[1.0, 0.0, -(rate**2) / 3], [0.0, rate**2 / 3, 0.0], [-(rate**2) / 3, 0.0, rate**4]],
        )[p - 1]
        density = (2 * rate, 4 * rate**3, 16 * rate**5 / 3)[p - 1]
        return float(start @ np.linalg.solve(np.array(level), start) + (np.square(moved) * weights).sum() / density)

    def _brownian(self, first: float, value: float, energy: float) -> float:
        """ℓ·f(a)²/a + ℓ∫f'², with f(0) = 0 where a = 0."""
        if first == 0 and value != 0:
            raise ArgumentError("a function that is not 0 at time 0 has no norm in the space of Brownian motion")
        return float(self.length) * ((value**2 / first if value else 0.0) + energy)


def exponential_norm(space: Curves, curve: Sequence[Any], length: Any) -> Fraction:
    """‖f‖²_H of a piecewise linear curve under the exponential kernel, exactly.

    >>> exponential_norm(Curves(0, 1, 2, 0, 1), [0, 1], 1)
    Fraction(7, 6)
    """
    scale = Kernel("exponential", length).length
    if len(curve) != space.points:
        raise ArgumentError(f"a curve has {space.points} values here, one for each grid point")
    f = [exact(x, "a value") for x in curve]
    slopes = sum(((b - a) ** 2 / (v - u) for (u, v), (a, b) in zip(pairwise(space.grid), pairwise(f), strict=True)))
    area = space.squared_distance(f, [0] * len(f))
    return (f[0] ** 2 + f[-1] ** 2 + scale * slopes + area / scale) / 2


def eigenbasis(kernel: Kernel, space: Curves, terms: int) -> tuple[Basis, NDArray[np.float64]]:
    """The leading eigenfunctions of f ↦ ∫ K(·, t) f(t) dt, orthonormal in L2, and their eigenvalues λ_1 ≥ λ_2 ≥ …

    Karhunen and Loève: G = Σ √λ_j Z_j φ_j, and ‖Σ c_j φ_j‖²_H = Σ c_j²/λ_j. By Nyström's method; privacy never
    rests on how well an eigenfunction is computed.

    >>> functions, values = eigenbasis(Kernel("exponential", 1), Curves(0, 1, 11, 0, 1), 2)
    >>> values.round(4).tolist()
    [0.7388, 0.138]
    """
    if isinstance(terms, bool) or not isinstance(terms, int) or not 1 <= terms <= space.points:
        raise ArgumentError(f"terms must be a whole number from 1 to {space.points}: the grid has no more")
    start, width = float(space.start), float(space.stop - space.start)
    breaks = np.linspace(0, 1, _PIECES + 1)
    nodes, root, all_values, all_vectors = _decomposed(kernel, start, width)
    values, vectors = all_values[:terms], all_vectors[:, :terms]
    if values[-1] < _LEAST_EIGENVALUE * values[0]:
        most = int((values >= _LEAST_EIGENVALUE * values[0]).sum())
        raise ArgumentError(f"this kernel is so smooth that it has {most} terms of any weight; ask for at most {most}")

    def functions(x: Floats) -> Floats:
        spread = kernel(start + width * x, nodes) @ (vectors * root[:, None]) / values
        return np.asarray(spread.T * sqrt(width))

    if not functions((space.times - start) / width).any():
        raise ArgumentError(
            "the length of the kernel is too short beside the interval of the curves: take a longer one"
        )
    return Basis(
        f"{kernel.name} eigenbasis", start, float(space.stop), terms, tuple(breaks.tolist()), functions
    ), values


@lru_cache(maxsize=16)
def _decomposed(kernel: Kernel, start: float, width: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Nodes of the quadrature, the roots of their weights, all eigenvalues, the largest first, and eigenvectors."""
    nodes, weights = quadrature(start + width * np.linspace(0, 1, _PIECES + 1))
    root = np.sqrt(weights)
    values, vectors = np.linalg.eigh(kernel(nodes, nodes) * np.multiply.outer(root, root))
    return nodes, root, values[::-1], vectors[:, ::-1]
