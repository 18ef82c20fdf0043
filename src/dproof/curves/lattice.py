"""Curves as finitely many whole numbers: the public choice of a basis, a region and a lattice.

Everything here comes from the plan or from public data, never from the private curves. A curve's coefficients are
rounded to lattice points and clipped, in whole numbers, into a set whose diameter is a whole number: whatever the
floats before it did, two curves are never further apart than that. Noise is calibrated to it and to nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import isqrt, sqrt
from typing import Any, ClassVar, Literal

import numpy as np

from dproof.arguments import expect, listed, whole
from dproof.curves.bases import (
    HAT,
    Basis,
    Kernel,
    basis,
    check_hats,
    eigenbasis,
    hat_functions,
    l2_norms,
    whitened_hats,
)
from dproof.errors import ArgumentError, InputError
from dproof.exact import exact
from dproof.limits import MOST_HATS
from dproof.privacy import Neighbours
from dproof.spaces.curves import PLACES, Curves, moderate
from dproof.spaces.space import ABSENT, MISSING, Endless, Floats, Integers

Split = Literal["laplace", "gaussian", "k_norm"]
LatticeNorm = Literal["l1", "l2", "linf"]
_REACH = 1 << 14  # lattice points from the centre of the region to its edge
TERMS = 8
_BITS = 62
_TERMS = (4, 8, 16, 32)  # of an eigenbasis, to choose from


@dataclass(frozen=True, slots=True)
class Expansion(Endless):
    """The basis a curve is expanded in and the region that its coefficients are clipped into.

    The region lies around `centre`, a public curve (half way between low and high where none is given):
    the L2 ball of a `radius`, by default the least that holds every curve between low and high; a `box` of bounds for
    the coefficients; or, with a `kernel`, the ball of a radius in the kernel's space H, in its eigenbasis. With the
    basis "hat" and no radius it is all that lies between low and high, as the values on the grid.
    `by_terms` is the basis that a plan names where all of the grid is measured: for its waves and its coefficients.
    With `open_terms` the plan does not say how many terms of a kernel's eigenbasis are measured. Where it is `optional`
    a curve may be missing: None, one diameter away from each curve, whose places are all `MISSING`.

    >>> Expansion(Curves(0, 24, 25, low=0, high=5), terms=4).lattice("gaussian").size("l2", "change-one") == 2**30
    True
    """

    space: Curves
    basis: str = "cosine"
    terms: int = TERMS
    radius: Fraction | None = None
    box: tuple[Fraction, ...] | None = None
    kernel: Kernel | None = None
    centre: tuple[Fraction, ...] | None = None
    by_terms: Expansion | None = None
    open_terms: bool = False
    optional: bool = False

    # What a question may ask of a column, as of every space.
    holds_curves: ClassVar[bool] = True
    # What a condition calls a missing curve, and 0 one that is there; its places are `MISSING`, its point `ABSENT`.
    absent_code: ClassVar[int] = 1
    has_numbers: ClassVar[bool] = False
    has_sums: ClassVar[bool] = True
    unit: ClassVar[str | None] = None
    has_order: ClassVar[bool] = False
    mechanisms: ClassVar[str] = "curves"
    is_counted: ClassVar[bool] = False

    @property
    def code_shape(self) -> tuple[int, ...]:
        return (self.space.points,)

    @property
    def diameter(self) -> Fraction:
        return self.space.diameter

    def encode(self, curves: Any) -> Integers:
        """The places of each curve, from anything that `Curves.encode` takes, or a list with None in it.

        >>> Expansion(Curves(0, 1, 2, low=0, high=1), terms=2).with_missing().encode([[0, 1], None]).tolist()
        [[0, 16777216], [-1, -1]]
        """
        if not isinstance(curves, (list, tuple)):
            return self.space.encode(curves)
        codes = np.full((len(curves), self.space.points), MISSING, np.int64)
        codes[[curve is not None for curve in curves]] = self.space.encode([c for c in curves if c is not None])
        return codes

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The two bounds of a curve at every point."""
        return self.space.low, self.space.high

    def __post_init__(self) -> None:
        expect(self.basis, str, "basis", "the name of a basis")
        whole(self.terms, "terms", 1)
        if self.radius is not None:
            object.__setattr__(self, "radius", _positive(self.radius, "radius"))
        if self.box is not None:
            bounds = tuple(_positive(bound, "a bound of the box") for bound in self.box)
            if len(bounds) != self.terms:
                raise ArgumentError(f"a box needs a bound for each of the {self.terms} terms")
            if self.radius is not None or self.kernel is not None:
                raise ArgumentError("give a radius or a box, not both; a kernel's region is a ball")
            object.__setattr__(self, "box", bounds)
        if self.kernel is not None and self.radius is None:
            raise ArgumentError("a kernel needs a radius: the largest norm in its space that a curve keeps")
        if self.centre is not None:
            middle = tuple(exact(value, "a value of the centre") for value in self.centre)
            if len(middle) != self.space.points:
                raise ArgumentError(f"the centre is a curve: it needs {self.space.points} values")
            if not all(self.space.low <= value <= self.space.high for value in middle):
                raise ArgumentError("the centre must lie between low and high")
            object.__setattr__(self, "centre", middle)
        self.functions()  # refuses a name or a number of terms that there is none of

    @property
    def candidates(self) -> tuple[Expansion, ...]:
        """The expansions that may be measured of the curves: it is chosen by the promise, see `noise.least_noise`."""
        if not self.open_terms:
            return (self,) if self.by_terms is None else (self, self.by_terms)
        return _eigenbases(self)

    @property
    def shows_all(self) -> bool:
        """Whether its functions show every curve on the grid exactly."""
        return self.basis == HAT

    @property
    def has_values(self) -> bool:
        """Whether its coefficients are the values on the grid."""
        return self.shows_all and self.radius is None and self.box is None

    def functions(self) -> tuple[Basis, Floats]:
        """The functions, and the weight that each coefficient has in the region's ball."""
        return _functions(self.space, self.basis, self.terms, self.kernel, self.has_values)

    def lattice(self, split: Split) -> CurveLattice:
        """The lattice on which equal noise for every number is the best split over the coefficients."""
        return _lattice(self, split if self.box is not None else "gaussian")  # that of a ball is the same for all


@lru_cache(maxsize=64)
def _eigenbases(expansion: Expansion) -> tuple[Expansion, ...]:
    """The expansion with each of some numbers of terms, up to where the kernel's eigenvalues are rounding noise; with
    all that the grid tells, by the kernel's matrix there; and that without the kernel."""
    space, expansions = expansion.space, list[Expansion]()
    for terms in _TERMS:
        try:
            expansions.append(replace(expansion, terms=terms, open_terms=False))
        except InputError:
            break
    if space.points <= MOST_HATS:
        with suppress(InputError):  # too smooth a kernel
            expansions.append(replace(expansion, basis=HAT, terms=space.points, open_terms=False))
        expansions.append(Expansion(space, HAT, space.points))
    return tuple(expansions)


@lru_cache(maxsize=64)
def _functions(space: Curves, name: str, terms: int, kernel: Kernel | None, has_values: bool) -> tuple[Basis, Floats]:
    if kernel is not None and name == HAT:
        check_hats(space, terms)
        return whitened_hats(space, kernel(space.times, space.times)), np.ones(terms)
    if kernel is not None:
        functions, values = eigenbasis(kernel, space, terms)
        return functions, np.sqrt(values)
    functions = basis(name, space, terms)
    return hat_functions(space, orthonormal=False) if has_values else functions, np.ones(terms)


@dataclass(frozen=True, slots=True, eq=False)
class CurveLattice(Endless):
    """Curves as vectors z of whole numbers: f ≈ centre + Σ scales_j · z_j · φ_j, with z in a ball or a box.

    Where it is `optional` there is one more point, a missing curve, with the code `ABSENT` for every coefficient.
    """

    holds_curves: ClassVar[bool] = True
    expansion: Expansion
    scales: Floats
    radius: int | None
    box: tuple[int, ...] | None
    matrix: Integers  # from places on the grid to coefficients, over 2^shift
    shift: int
    middle: Integers  # places of the centre
    optional: bool = False

    @property
    def terms(self) -> int:
        return len(self.scales)

    @property
    def space(self) -> Curves:
        return self.expansion.space

    def functions(self, at: Any) -> Floats:
        """The basis at points between start and stop, one row per function."""
        return _evaluated(self.expansion, np.atleast_1d(np.asarray(at, np.float64)).tobytes())

    def centre(self, at: Any) -> Floats:
        """The public curve that stands for z = 0."""
        return np.interp(np.asarray(at, np.float64), self.space.times, centre_of(self.expansion))

    def size(self, norm: LatticeNorm, neighbours: Neighbours) -> int:
        """The largest distance of two curves (change-one), or of one from the centre (add-remove).

        The l1 or the sup norm, or the squared l2 norm. In a ball of radius R, |z|₁ ≤ √J·|z|₂ and |z − z'|₂ ≤ 2R.
        """
        twice = 2 if neighbours == "change-one" else 1
        if self.box is not None and norm == "linf":
            return twice * max(self.box)
        if self.box is not None:
            return sum(twice * b if norm == "l1" else (twice * b) ** 2 for b in self.box)
        assert self.radius is not None
        square = (twice * self.radius) ** 2
        return square if norm == "l2" else isqrt(self.terms * square) if norm == "l1" else twice * self.radius

    @property
    def ball(self) -> Literal["l2", "linf"]:
        """The norm whose ball the region is, or lies in with the least room: that of K-norm noise."""
        return "l2" if self.box is None else "linf"

    def coefficients(self, places: Integers) -> Integers:
        """The clipped lattice points of curves, each from its own places alone, in whole numbers throughout."""
        z: Integers = ((places - self.middle) @ self.matrix.T + (1 << (self.shift - 1))) >> self.shift
        if self.box is not None:
            return np.clip(z, -np.array(self.box), np.array(self.box))
        assert self.radius is not None
        length = _root_above((z * z).sum(axis=1, keepdims=True))
        shrunk: Integers = np.sign(z) * (np.abs(z) * self.radius // np.maximum(length, 1))
        return np.where(length > self.radius, shrunk, z)

    def evaluate(self, z: Any, at: Any = None) -> Floats:
        """The functions that lattice points stand for, anywhere between start and stop; on the grid by default. A
        missing curve is NaN everywhere."""
        codes, times = np.asarray(z), self.space.times if at is None else np.atleast_1d(np.asarray(at, np.float64))
        lacking = codes[..., :1] == ABSENT if self.optional else None
        shown = codes if lacking is None else np.where(lacking, 0, codes)
        values = self.centre(times) + (shown * self.scales) @ self.functions(times)
        return values if lacking is None else np.where(lacking, np.nan, values)

    def decode(self, z: Any) -> list[list[float]]:
        """The values on the grid."""
        return self.evaluate(z).tolist()  # type: ignore[no-any-return]

    @property
    def code_shape(self) -> tuple[int, ...]:
        return (self.terms,)


@lru_cache(maxsize=64)
def _evaluated(expansion: Expansion, times: bytes) -> Floats:
    values = expansion.functions()[0].evaluate(np.frombuffer(times))
    values.setflags(write=False)
    return values


@lru_cache(maxsize=64)
def _lattice(expansion: Expansion, split: Split) -> CurveLattice:
    space = expansion.space
    functions, weights = expansion.functions()
    width = float(space.high - space.low)
    radius = box = None
    if expansion.box is not None:
        bounds = np.array([float(bound) for bound in expansion.box])
        # Σ (noise_j)² is least, for a given guarantee, with Laplace scales ∝ b^⅓ and Gaussian variances ∝ b; for
        # the sup norm the box is made a cube.
        weights = bounds ** {"laplace": 1 / 3, "gaussian": 1 / 2, "k_norm": 1}[split]
        scales = weights * (bounds / weights).max() / _REACH
        box = tuple(int(b) for b in np.floor(bounds / scales + 0.5))
    elif expansion.has_values:
        scales, box = np.full(space.points, _room(expansion).max() / _REACH), (_REACH,) * space.points
    else:
        radius = _REACH
        # By default the largest L2 distance of a curve between low and high from the centre.
        furthest = l2_norms(space.times, _room(expansion)) if expansion.radius is None else expansion.radius
        # Rounding moves a point by at most √J/2, so that what lies inside the radius is never clipped.
        scales = weights * float(furthest) / (radius - sqrt(len(weights)) / 2)
    gains = functions.analysis(space) * (width / PLACES) / scales[:, None]
    shift = _BITS - int(np.ceil(np.log2(np.abs(gains).sum(axis=1).max() * PLACES))) - 1
    if shift < _BITS - 22:  # coefficients of more than 22 bits would lose digits in 64
        raise ArgumentError(
            "the region is too small beside the range from low to high; enlarge it, or take fewer terms"
        )
    if shift > _BITS + 1:  # no curve would reach the first lattice point from the centre
        raise ArgumentError("the region reaches too far beyond the range from low to high: make it smaller")
    matrix = np.rint(gains * 2.0**shift).astype(np.int64)
    middle = np.rint((centre_of(expansion) - float(space.low)) * (PLACES / width)).astype(np.int64)
    return CurveLattice(expansion, scales, radius, box, matrix, shift, middle)


def _room(expansion: Expansion) -> Floats:
    """The largest distance of a curve between low and high from the centre, at each grid point."""
    centre = centre_of(expansion)
    return np.maximum(centre - float(expansion.space.low), float(expansion.space.high) - centre)


def centre_of(expansion: Expansion) -> Floats:
    """The public curve around which the region lies, on the grid."""
    space = expansion.space
    if expansion.centre is None:
        return np.full(space.points, float((space.low + space.high) / 2))
    return np.array([float(value) for value in expansion.centre])


def _root_above(squares: Integers) -> Integers:
    """⌈√x⌉ of whole numbers below 2^62: a float's root, put right."""
    root = np.sqrt(squares.astype(np.float64)).astype(np.int64)
    root -= root * root > squares
    return root + (root * root < squares)


def _positive(value: Any, name: str) -> Fraction:
    number = exact(value, name)
    if number <= 0:
        raise ArgumentError(f"{name} must be positive")
    return moderate(number, name)


def expand(
    space: Curves,
    *,
    basis: str | None = None,
    terms: int | None = None,
    radius: Any = None,
    box: Sequence[Any] | None = None,
    kernel: str | None = None,
    length: Any = None,
    centre: Sequence[Any] | None = None,
) -> Expansion:
    """An expansion from plain values; without a basis, terms, box or kernel it keeps all values on the grid.

    `space` is one of Curves; `basis` names the functions, and `terms` their number; `radius` or `box` bounds
    the coefficients about `centre`; `kernel` and `length` are those of a Gaussian process.

    >>> expand(Curves(0, 1, 9, 0, 1)).basis, expand(Curves(0, 1, 9, 0, 1), terms=5).basis
    ('hat', 'cosine')
    >>> expand(Curves(0, 1, 9, 0, 1), kernel="matern-3/2", length="0.3", radius=2, terms=5).kernel.name
    'matern-3/2'
    """
    expect(space, Curves, "the space", "a space of Curves")
    if (kernel is None) != (length is None):
        raise ArgumentError("a kernel needs its length, and a length its kernel")
    chosen = None if kernel is None else Kernel(kernel, length)
    bounds = None if box is None else tuple(listed(box, "box", "a list of bounds, one for each term"))
    middle = None if centre is None else tuple(listed(centre, "centre", "a list of values, one for each grid point"))
    everything = all(given is None for given in (terms, box, kernel)) and space.points <= MOST_HATS
    name = (HAT if everything else "cosine") if basis is None else expect(basis, str, "basis", "the name of a basis")
    count = (space.points if name == HAT else min(TERMS, space.points)) if terms is None else terms
    return Expansion(space, name, count, radius, bounds, chosen, middle)


def measured_expansion(declared: Expansion, terms: int | None) -> Expansion:
    """All that the grid tells, in the region of an expansion that a plan declares; or that one, where it says more of
    the curves: bounds of coefficients, or a kernel. `terms` are None where the plan does not say how many."""
    if declared.kernel is not None and terms is None:
        return replace(declared, open_terms=True)
    told = declared.box is not None or declared.kernel is not None
    if told or declared.basis == HAT or declared.space.points > MOST_HATS:
        return declared
    space, radius = declared.space, declared.radius
    centre = None if radius is None else declared.centre  # a curve between low and high is nearest to their middle
    return Expansion(space, HAT, space.points, radius, None, None, centre, declared)


_NEGLIGIBLE = 1e-9  # of the range: what floats lose


def left_out(lattice: CurveLattice) -> Floats:
    """The most that the mean of curves, as the lattice shows them without noise, is off their mean on the grid.

    A lattice shows a curve as centre + M·u on the grid, up to rounding, where u is how far the curve lies from the
    centre there and M goes to the coefficients and back. So (M − I)u is left out. Of u the plan tells that it lies
    between low and high, |u_p| ≤ d_p; with a radius, that uᵀGu ≤ r² with G the matrix of ∫ hat_i hat_k; with a kernel,
    that uᵀK⁻¹u ≤ r² for the kernel's matrix on the grid, as the least norm of a function with these values is that.
    Each bounds the largest value of a linear function of u.

    >>> from dproof.curves.lattice import Curves, expand
    >>> day = Curves(0, 1, 9, 0, 1)
    >>> float(left_out(expand(day).lattice("k_norm")).max()) < 1e-4
    True
    >>> float(left_out(expand(day, terms=3).lattice("gaussian")).max()) > 0.5
    True
    """
    rounding = lattice.scales @ np.abs(lattice.functions(lattice.space.times)) / 2
    return np.asarray(_beyond(lattice.expansion) + rounding)


def l2_left_out(lattice: CurveLattice) -> float:
    """The L2 norm of what is left out."""
    space = lattice.space
    return sqrt(float(np.trapezoid(left_out(lattice) ** 2, space.times)))


@lru_cache(maxsize=64)
def _beyond(expansion: Expansion) -> Floats:
    space, functions = expansion.space, expansion.functions()[0]
    if expansion.shows_all:
        return np.zeros(space.points)
    missed = functions.evaluate(space.times).T @ functions.analysis(space) - np.eye(space.points)
    bound: Floats = np.abs(missed) @ _room(expansion)
    if expansion.radius is not None:
        if expansion.kernel is not None:
            spread = expansion.kernel(space.times, space.times)
        else:
            root = hat_functions(space, orthonormal=True).root
            spread = np.asarray(np.linalg.inv(root @ root), np.float64)
        squares = np.maximum(((missed @ spread) * missed).sum(axis=1), 0)
        bound = np.minimum(bound, float(expansion.radius) * np.sqrt(squares))
    bound[bound < _NEGLIGIBLE * float(space.high - space.low)] = 0.0
    bound.setflags(write=False)
    return np.asarray(bound)
