"""Finite bases of L2[start, stop], made orthonormal, and covariance kernels, whose eigenfunctions are one.

The plan or public data choose a basis, never the private curves. Gaussian process noise is calibrated to the norm of a
kernel's Hilbert space H: f + σG with G of kernel K moves, seen from f + h + σG, by exactly ‖h‖_H/σ standard deviations
(Cameron and Martin). A function outside H gives itself away at any σ. Hall, Rinaldo and Wasserman 2013.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import comb, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import choice, whole
from dproof.errors import ArgumentError
from dproof.exact import exact
from dproof.limits import MOST_BASIS_TERMS, MOST_BERNSTEIN_TERMS, MOST_HATS
from dproof.spaces.curves import Curves, moderate
from dproof.spaces.space import Floats

Functions = Callable[[Floats], Floats]  # of x in [0, 1]; one row per function

HAT = "hat"
_LEAST_EIGENVALUE = 1e-9  # relative; below, an eigenfunction is rounding noise
_DEGREE = 3


@dataclass(frozen=True, slots=True, eq=False)
class Basis:
    """φ_1, …, φ_J with ∫ φ_i φ_j = 1 if i = j else 0 on [start, stop], so ‖Σ c_j φ_j‖₂² = Σ c_j² (Parseval).

    >>> cosine = basis("cosine", Curves(0, 2, 5, 0, 1), 3)
    >>> cosine.evaluate([0.0, 1.0])[0].round(6).tolist(), cosine.terms
    ([0.707107, 0.707107], 3)
    """

    name: str
    start: float
    stop: float
    terms: int
    breaks: tuple[float, ...]  # in [0, 1]: the functions are smooth between them
    functions: Functions

    def evaluate(self, at: Any) -> Floats:
        """The functions at points of [start, stop]; one row per function."""
        width = self.stop - self.start
        return self.functions((np.atleast_1d(np.asarray(at, np.float64)) - self.start) / width) / sqrt(width)

    @property
    def squares(self) -> Floats:
        """∫ φ_j² of each function."""
        return np.ones(self.terms)

    def analysis(self, space: Curves) -> Floats:
        """The matrix A with ∫ f φ_j = Σ_p A_jp f(t_p) for functions that are linear between grid points."""
        times, width = space.times, self.stop - self.start
        joints = np.union1d(times, self.start + width * np.array(self.breaks))
        nodes, weights = quadrature(joints)
        left = np.clip(np.searchsorted(times, nodes, side="right") - 1, 0, len(times) - 2)
        share = (nodes - times[left]) / (times[left + 1] - times[left])  # of the right end in the value there
        parts = self.evaluate(nodes) * weights
        ends = [(left, parts * (1 - share)), (left + 1, parts * share)]
        return np.array([sum(np.bincount(at, part[j], len(times)) for at, part in ends) for j in range(self.terms)])


@dataclass(frozen=True, slots=True, eq=False)
class Hats(Basis):
    """The hat functions of a grid, 1 at one point and 0 at all others: they show every curve on it exactly.

    As they are, their coefficients are the values on the grid, and `squares` are weights of these, ∫ hat_j: an error is
    then that on the grid, which is no less than the one between its points. With the root of their matrix
    ∫ hat_i hat_k they are made orthonormal.

    >>> hats = hat_functions(Curves(0, 2, 3, 0, 1), orthonormal=False)
    >>> hats.evaluate([0.5, 1.0]).tolist(), hats.analysis(Curves(0, 2, 3, 0, 1)).tolist()[0]
    ([[0.5, 0.0], [0.5, 1.0], [0.0, 0.0]], [1.0, 0.0, 0.0])
    """

    root: Floats
    lengths: Floats

    @property
    def squares(self) -> Floats:
        """∫ hat_j, the weights of the values on the grid; 1 for each function where they are orthonormal."""
        return self.lengths

    def evaluate(self, at: Any) -> Floats:
        times = self.start + (self.stop - self.start) * np.array(self.breaks)
        hats = np.array(
            [np.interp(np.atleast_1d(np.asarray(at, np.float64)), times, row) for row in np.eye(self.terms)]
        )
        return np.asarray(np.linalg.solve(self.root, hats))

    def analysis(self, space: Curves) -> Floats:
        return self.root


def hat_functions(space: Curves, *, orthonormal: bool) -> Hats:
    """One hat for each grid point."""
    times, steps = space.times, np.diff(space.times)
    gram = (np.diag(np.append(steps, 0) + np.append(0, steps)) * 2 + np.diag(steps, 1) + np.diag(steps, -1)) / 6
    breaks = tuple(((times - times[0]) / (times[-1] - times[0])).tolist())
    ends = float(space.start), float(space.stop)
    root, lengths = np.eye(space.points), gram.sum(axis=0)
    if orthonormal:
        values, vectors = np.linalg.eigh(gram)
        root, lengths = vectors @ (np.sqrt(values)[:, None] * vectors.T), np.ones(space.points)
    return Hats(HAT, *ends, space.points, breaks, lambda x: x, root, lengths)


def check_hats(space: Curves, terms: int) -> None:
    """Refuse another number of hats than the grid has points."""
    if terms != space.points or terms > MOST_HATS:
        raise ArgumentError(f"a hat basis has one term for each grid point, of which there are at most {MOST_HATS}")


def whitened_hats(space: Curves, covariance: Floats) -> Hats:
    """Hats in whose coefficients independent noise has this covariance on the grid."""
    plain = hat_functions(space, orthonormal=False)
    values, vectors = np.linalg.eigh(covariance)
    if values[0] <= _LEAST_EIGENVALUE * values[-1]:
        raise ArgumentError(
            "this kernel is so smooth that its matrix on the grid is singular: take a few terms of its eigenbasis"
        )
    root, inverse = (vectors @ (values[:, None] ** power * vectors.T) for power in (0.5, -0.5))
    return replace(plain, root=inverse, lengths=root**2 @ plain.lengths)


def basis(name: str, space: Curves, terms: int) -> Basis:
    """A basis by name: "cosine", "fourier" (periodic), "b-spline" (cubic), "bernstein" (polynomials), or "hat", which
    has one term for each grid point."""
    choice(name, (*_BASES, HAT), "basis")
    if name == HAT:
        check_hats(space, terms)
        return hat_functions(space, orthonormal=True)
    if whole(terms, "terms", 1) > (most := min(MOST_BASIS_TERMS, space.points)):
        raise ArgumentError(f"terms must be at most {most}: a grid of {space.points} points has no more")
    functions, breaks = _BASES[name](terms)
    return Basis(name, float(space.start), float(space.stop), terms, breaks, functions)


def quadrature(joints: Any, order: int = 12) -> tuple[Floats, Floats]:
    """Gauss-Legendre nodes and weights on every piece: exact for polynomials of degree 2·order − 1."""
    x, w = np.polynomial.legendre.leggauss(order)
    ends = np.asarray(joints, np.float64)
    half = np.diff(ends)[:, None] / 2
    return (ends[:-1, None] + half * (1 + x)).reshape(-1), (half * w).reshape(-1)


def l2_norms(times: Floats, curves: Floats) -> Floats:
    """‖f‖₂ of functions that are linear between these times, one row each."""
    a, b = curves[..., :-1], curves[..., 1:]
    return np.asarray(np.sqrt((np.diff(times) * (a * a + a * b + b * b) / 3).sum(axis=-1)))


def orthonormal(functions: Functions, breaks: tuple[float, ...]) -> Functions:
    """Functions of one span with ∫ φ_i φ_j = 1 if i = j else 0 on [0, 1], by a QR factorisation at the nodes."""
    nodes, weights = quadrature(breaks, MOST_BERNSTEIN_TERMS)
    triangle: Floats = np.linalg.qr((functions(nodes) * np.sqrt(weights)).T, mode="r")  # type: ignore[assignment]
    return lambda x: np.asarray(np.linalg.solve(triangle.T, functions(x)), np.float64)


def _trigonometric(terms: int, frequencies: NDArray[Any], phases: Floats) -> tuple[Functions, tuple[float, ...]]:
    """√2 cos(ωx − phase), and 1 for ω = 0."""
    scale = np.where(frequencies == 0, 1.0, sqrt(2))[:, None]
    pieces = max(1, terms // 4)  # a few half waves on each piece of the quadrature
    breaks = tuple(np.linspace(0, 1, pieces + 1).tolist())
    return lambda x: np.asarray(scale * np.cos(np.multiply.outer(frequencies, x) - phases[:, None])), breaks


def _cosine(terms: int) -> tuple[Functions, tuple[float, ...]]:
    return _trigonometric(terms, pi * np.arange(terms), np.zeros(terms))


def _fourier(terms: int) -> tuple[Functions, tuple[float, ...]]:
    order = (np.arange(terms) + 1) // 2
    return _trigonometric(terms, 2 * pi * order, np.where(np.arange(terms) % 2, 0.0, np.minimum(order, 1) * pi / 2))


def _bernstein(terms: int) -> tuple[Functions, tuple[float, ...]]:
    if terms > MOST_BERNSTEIN_TERMS:
        raise ArgumentError(f"a bernstein basis has at most {MOST_BERNSTEIN_TERMS} terms; take b-spline for more")
    degree = terms - 1

    def functions(x: Floats) -> Floats:
        return np.array([comb(degree, k) * x**k * (1 - x) ** (degree - k) for k in range(terms)])

    return orthonormal(functions, (0.0, 1.0)), (0.0, 1.0)


def _b_spline(terms: int) -> tuple[Functions, tuple[float, ...]]:
    """Cox and de Boor's recursion; the last piece includes its right end."""
    degree = min(_DEGREE, terms - 1)
    breaks = np.linspace(0, 1, terms - degree + 1)
    knots = np.concatenate([np.zeros(degree), breaks, np.ones(degree)])

    def share(distance: Floats, k: int, n: int) -> Floats:
        width = float(knots[k + n] - knots[k])
        return distance / width if width else np.zeros_like(distance)

    def functions(x: Floats) -> Floats:
        piece = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - degree - 2)
        values = np.asarray((np.arange(len(knots) - 1)[:, None] == piece) * 1.0)
        for n in range(1, degree + 1):
            count = len(knots) - n - 1
            rise = [share(x - knots[k], k, n) * values[k] for k in range(count)]
            fall = [share(knots[k + n + 1] - x, k + 1, n) * values[k + 1] for k in range(count)]
            values = np.asarray(np.add(rise, fall))
        return values

    return orthonormal(functions, tuple(breaks.tolist())), tuple(breaks.tolist())


# A basis is one function here.
_BASES: dict[str, Callable[[int], tuple[Functions, tuple[float, ...]]]] = {
    "cosine": _cosine,
    "fourier": _fourier,
    "b-spline": _b_spline,
    "bernstein": _bernstein,
}


# Covariance kernels, and the basis of their eigenfunctions ------------------------------------------------------------

_PIECES = 48  # of the quadrature that the eigenfunctions are computed on

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
        energy = float((np.square(moved) * weights).sum())
        if self.is_brownian:
            first, value = float(np.min(joints)), float(start[0])
            if first == 0 and value != 0:
                raise ArgumentError("a function that is not 0 at time 0 has no norm in the space of Brownian motion")
            return float(self.length) * ((value**2 / first if value else 0.0) + energy)
        level = (
            [[1.0]],
            [[1.0, 0.0], [0.0, rate**2]],
            [[1.0, 0.0, -(rate**2) / 3], [0.0, rate**2 / 3, 0.0], [-(rate**2) / 3, 0.0, rate**4]],
        )[p - 1]
        density = (2 * rate, 4 * rate**3, 16 * rate**5 / 3)[p - 1]
        return float(start @ np.linalg.solve(np.array(level), start) + energy / density)


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
