"""Intervals around estimates: Wald, where enough rows carry noise, and Bernstein where few do.

Arithmetic of estimates: every value carries its gradient in the estimated sums, for the delta method.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log
from statistics import NormalDist
from typing import NamedTuple, TypeVar

import numpy as np

from dproof.laws.scores import Array
from dproof.questions.measured import level_of_seldom

_UNSURE = 3.0  # standard errors from zero below which an estimate may well be one of zero
_FEW = 3.0  # standard errors of fewer heaviest scores than this are not normal
_BENT = 5.0  # standard errors more
_MISSED = 0.01  # the probability that an interval may lose at an end because a sum moves in steps

Ends = tuple[Array, Array]  # the least and the greatest
_Form = TypeVar("_Form", "Ratio", "Product", "Total", "Root")


class Widths(NamedTuple):
    """The standard error and half-width of each estimate, and which of them have too few rows for a normal law."""

    stderr: Array
    half: Array
    few: Array


def normal_quantile(level: float) -> float:
    """z with P(|Z| ≤ z) = level for a normal Z.

    >>> round(normal_quantile(0.95), 6)
    1.959964
    """
    return NormalDist().inv_cdf((1 + level) / 2)


def tail(x: Array) -> Array:
    """P(Z > x) for a normal Z, to 1e-7 (Abramowitz and Stegun 1964, 7.1.26).

    >>> tail(np.array([0.0, 1.959964, -1.959964])).round(6).tolist()
    [0.5, 0.025, 0.975]
    """
    t = 1 / (1 + 0.3275911 * np.abs(x) / np.sqrt(2))
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    above = series * np.exp(-(x**2) / 2) / 2
    return np.asarray(np.where(x >= 0, above, 1 - above))


class Caution(NamedTuple):
    """How much more careful an interval has to be where its divisor may be zero, in every group.

    `part` is that of the way from an interval of the level to one of the `strict` level; `untold` says where nothing
    can be told, `near` where one over the divisor is not near its tangent.
    """

    strict: float
    part: Array
    untold: Array
    near: Array


def caution(level: float, unsteady: Array) -> Caution:
    """The care that a ratio needs, so that of those that are told as many hold as the level says.

    A ratio is told where its divisor is more than z' standard errors from zero, with z' by `level_of_seldom`, for else
    Fieller's interval is infinite. Beyond z' + 1 of them a divisor that is seldom told is not likely, and from z' + 2
    on an interval of the level itself will do.

    >>> caution(0.95, 1 / np.array([3.0, 4.0, 5.0, 6.0])).part.round(2).tolist()
    [1.0, 1.0, 0.54, 0.0]
    """
    strict = level_of_seldom(level)
    z = normal_quantile(strict)
    with np.errstate(divide="ignore"):
        steps = 1 / np.asarray(unsteady, float)  # from zero to the divisor, in standard errors
    return Caution(strict, np.clip(z + 2 - steps, 0.0, 1.0), steps <= z, steps < z + _BENT)


def simultaneous(level: float, intervals: int) -> float:
    """The level of each of several intervals that shall hold all at once.

    level^(1/m): for normal estimates no dependence between them can spoil it (Šidák 1967).

    >>> round(simultaneous(0.95, 5), 6)
    0.989794
    """
    return float(level ** (1 / max(intervals, 1)))


def products(left: Ends, right: Ends) -> Ends:
    """The least and the greatest product of a number of one interval and a number of the other.

    >>> ends = np.array([-2.0]), np.array([3.0])
    >>> [end.tolist() for end in products(ends, ends)]
    [[-6.0], [9.0]]
    """
    corners = np.stack([a * b for a in left for b in right])
    return corners.min(axis=0), corners.max(axis=0)


def half_widths(variance: Array, heaviest: Array, level: float) -> Widths:
    """± of each estimate, from its variance and the heaviest score of a single row.

    Wald: z·se. Where the standard error is below three of the heaviest scores, so few rows carry the noise that it is
    not normal, and Bernstein's inequality stands in: √(2VL) + h·L/3 with L = log(2/(1 − level)), which never covers
    less than its level. A sum moves in steps of at most 2h: an interval that ends between two steps may lose what lies
    within h of its end, a probability of h·φ(z)/se. So it is longer by h, less the length that has a probability of
    1 % (a continuity correction, 0 where many rows carry noise). An estimate without noise is exact.

    >>> half_widths(np.array([0.0, 400.0, 1.0]), np.array([1.0, 1.0, 1.0]), 0.95).half.round(3).tolist()
    [0.0, 39.199, 3.946]
    >>> half_widths(np.array([16.0]), np.array([1.0]), 0.5).half.round(3).tolist()  # Wald has 2.698
    [3.572]
    """
    noisy = variance != 0
    spread = np.where(variance > 0, variance, np.where(noisy, heaviest**2, 0.0))
    stderr = np.sqrt(spread)
    few = noisy & (stderr < _FEW * heaviest)
    depth = log(2 / (1 - level))
    bernstein = np.sqrt(2 * spread * depth) + heaviest * depth / 3
    z = normal_quantile(level)
    harmless = _MISSED * stderr / NormalDist().pdf(z)
    with np.errstate(invalid="ignore"):  # the slope of a root at 0 is infinite
        steps = np.where(noisy, np.maximum(heaviest - harmless, 0.0), 0.0)
    return Widths(stderr, np.where(few, bernstein, z * stderr + steps), few)


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A function of the sums in every group: its value, its gradient, and how uncertain is what it divides by.

    Var g(T) ≈ ∇g · Cov(T) · ∇g, the delta method. `linear` says whether it is a linear function of the sums. `ratio` is
    set where the value is shift + factor · (a / b), `product` where it is shift + factor · a · b, `total` where it is
    shift + factor · (a + b), `root_of` where it is shift + factor · √a, `squared` where it is the square of a linear
    function, and `parabola` where it is a linear function plus factor · x² / divisor. `unsteady` is the largest
    standard error of a divisor, over the divisor; of a root, that of what is below it. It is 0 where there is none
    (see `caution`).
    """

    value: Array  # (groups,)
    gradient: Array  # (groups, sums)
    covariance: Array  # (groups, sums, sums), of the sums
    unsteady: Array  # (groups,)
    linear: bool = False
    ratio: Ratio | None = None
    product: Product | None = None
    total: Total | None = None
    root_of: Root | None = None
    squared: Value | None = None
    parabola: Parabola | None = None
    __array_ufunc__ = None  # NumPy's numbers leave calculations with a value to it

    @property
    def variance(self) -> Array:
        return self.shared(self)

    def shared(self, other: Value) -> Array:
        """The covariance with another value."""
        return np.asarray(np.einsum("gi,gij,gj->g", self.gradient, self.covariance, other.gradient))

    @property
    def may_be_zero(self) -> Array:
        return np.asarray(np.abs(self.value) <= _UNSURE * np.sqrt(np.maximum(self.variance, 0.0)))

    @property
    def relative(self) -> Array:
        """The standard error over the value; of a product, the larger one of its factors."""
        if self.product is not None and not self.product.shift:
            return np.maximum(self.product.left.relative, self.product.right.relative)
        spread, size = np.sqrt(np.maximum(self.variance, 0.0)), np.abs(self.value)
        return np.divide(spread, size, out=np.where(spread > 0, np.inf, 0.0), where=size > 0)

    @property
    def curved(self) -> Array:
        """Where the delta method is not near: both factors may be zero, and what one error does to the other counts."""
        product = self.product or (self.ratio and self.ratio.top.product)
        if not product:
            return np.zeros(len(self.value), bool)
        return np.asarray(product.left.may_be_zero & product.right.may_be_zero)

    def constant(self, number: float) -> Value:
        """A number as a value that has no noise."""
        flat = np.full_like(self.value, number), np.zeros_like(self.gradient)
        return Value(*flat, self.covariance, np.zeros_like(self.value), linear=True)

    def _moved(self, factor: float, shift: float) -> Value:
        def form(of: _Form | None) -> _Form | None:
            return None if of is None else replace(of, factor=of.factor * factor, shift=of.shift * factor + shift)

        return replace(
            self,
            value=self.value * factor + shift,
            gradient=self.gradient * factor,
            ratio=form(self.ratio),
            product=form(self.product),
            total=form(self.total),
            root_of=form(self.root_of),
            squared=None,
            parabola=self.parabola and replace(self.parabola, factor=self.parabola.factor * factor),
        )

    def __add__(self, other: Value | float) -> Value:
        if not isinstance(other, Value):
            return self._moved(1.0, other)
        unsteady, linear = np.maximum(self.unsteady, other.unsteady), self.linear and other.linear
        parabola = self.parabola if other.linear else other.parabola if self.linear else None
        value, gradient = self.value + other.value, self.gradient + other.gradient
        total = None if linear else Total(self, other)
        return Value(value, gradient, self.covariance, unsteady, linear, total=total, parabola=parabola)

    def __sub__(self, other: Value | float) -> Value:
        return self + other * -1.0

    def __mul__(self, other: Value | float) -> Value:
        if not isinstance(other, Value):
            return self._moved(other, 0.0)
        gradient = self.gradient * other.value[:, None] + other.gradient * self.value[:, None]
        squared = self if self is other and self.linear else None
        unsteady, value = np.maximum(self.unsteady, other.unsteady), self.value * other.value
        (a, b), (c, d) = self._fraction(), other._fraction()
        divisors = [bottom for bottom in (b, d) if bottom is not None]
        ratio = Ratio(a * c, divisors[0] if len(divisors) == 1 else divisors[0] * divisors[1]) if divisors else None
        product = None if ratio else Product(self, other)
        return Value(value, gradient, self.covariance, unsteady, ratio=ratio, product=product, squared=squared)

    def _fraction(self) -> tuple[Value, Value | None]:
        """What is divided, and by what; None where nothing is."""
        if self.ratio is None:
            return self, None
        top, bottom = self.ratio.top * self.ratio.factor, self.ratio.bottom
        return top + bottom * self.ratio.shift if self.ratio.shift else top, bottom

    def __truediv__(self, other: Value | float) -> Value:
        if not isinstance(other, Value):
            other = self.constant(other)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = self.value / other.value
            gradient = (self.gradient - other.gradient * value[:, None]) / other.value[:, None]
        unsteady = np.maximum.reduce([self.unsteady, other.unsteady, other.relative])
        parabola = Parabola(self.squared, other) if self.squared is not None and other.linear else None
        (a, b), (c, d) = self._fraction(), other._fraction()
        ratio = Ratio(a if d is None else a * d, c if b is None else b * c)
        return Value(value, gradient, self.covariance, unsteady, ratio=ratio, parabola=parabola)

    def tangent(self, at: Array) -> Value:
        """With x² / divisor replaced by 2·at·x − at²·divisor, which is linear, and the same where at = x / divisor."""
        assert self.parabola is not None
        x, divisor, factor = self.parabola.x, self.parabola.divisor, self.parabola.factor
        with np.errstate(divide="ignore", invalid="ignore"):
            touching = x.value / divisor.value
        apart = at - touching
        value = self.value - factor * divisor.value * apart**2
        slopes = 2 * apart[:, None] * x.gradient - (at**2 - touching**2)[:, None] * divisor.gradient
        return Value(value, self.gradient + factor * slopes, self.covariance, self.unsteady, linear=True)

    def __radd__(self, other: float) -> Value:
        return self + other

    def __rsub__(self, other: float) -> Value:
        return self * -1.0 + other

    def __rmul__(self, other: float) -> Value:
        return self * other

    def __rtruediv__(self, other: float) -> Value:
        return self.constant(other) / self

    def root(self) -> Value:
        """The square root; an estimate below zero has none."""
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(self.value)
            gradient = self.gradient / (2 * root[:, None])
        unsteady = np.maximum(self.unsteady, np.where(self.value > 0, self.relative, np.inf))
        return Value(root, gradient, self.covariance, unsteady, root_of=Root(self))


@dataclass(frozen=True, slots=True, eq=False)
class Root:
    """shift + factor · √square."""

    square: Value
    factor: float = 1.0
    shift: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """shift + factor · left · right."""

    left: Value
    right: Value
    factor: float = 1.0
    shift: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Total:
    """shift + factor · (left + right)."""

    left: Value
    right: Value
    factor: float = 1.0
    shift: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Parabola:
    """factor · x² / divisor, of linear functions of the sums."""

    x: Value
    divisor: Value
    factor: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Ratio:
    """shift + factor · (top / bottom)."""

    top: Value
    bottom: Value
    factor: float = 1.0
    shift: float = 0.0

    @property
    def is_plain(self) -> bool:
        """Whether no part of it divides by another."""
        return not (self.top.unsteady.any() or self.bottom.unsteady.any())

    def interval(self, z: float, wider: Array) -> Ends:
        """All ratios r for which top − r · bottom is within z standard errors of zero (Fieller 1954).

        Infinite where the bottom itself is not clearly different from zero: then no finite set of ratios is. What of
        top − r · bottom goes with the bottom, b, may be `wider`, as many standard errors as that has: it is what a
        choice by the bottom chooses. With Cov(top − r·b, b)²/Var b in the place of its variance this stays a quadratic
        inequality.
        """
        a, b, spread, shared = self.top.value, self.bottom.value, self.bottom.variance, self.top.shared(self.bottom)
        of_bottom = np.divide(shared**2, spread, out=np.zeros_like(spread), where=spread > 0)
        square = b**2 - wider**2 * spread
        middle = a * b - wider**2 * shared
        rest = a**2 - z**2 * (self.top.variance - of_bottom) - wider**2 * of_bottom
        root = np.sqrt(np.maximum(middle**2 - square * rest, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = [np.where(square > 0, (middle + sign * root) / square, sign * np.inf) for sign in (-1, 1)]
        moved = [self.shift + self.factor * end for end in ends]
        return np.minimum(*moved), np.maximum(*moved)
