"""The sums of a question as a release estimates them in every group, and intervals of what is calculated from them.

Every value carries its gradient in the estimated sums, for the delta method. Its interval is Wald's, where enough rows
carry noise, and Bernstein's where few do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, log
from statistics import NormalDist
from typing import Any, Literal, NamedTuple, Protocol, get_args

import numpy as np

from dproof.arguments import choice, flag
from dproof.coins import NOT_PRIVATE
from dproof.errors import QuestionError, did_you_mean
from dproof.exact import level_of
from dproof.laws.debias import Array, SumEstimates, Target
from dproof.questions.aggregates import Sums
from dproof.questions.answer import Cell, Range
from dproof.questions.measured import HIGHEST_LEVEL, Shares, level_of_seldom, normal_quantile, tells, told_levels
from dproof.questions.question import Aggregate, Expression, Predicate, Question, Schema
from dproof.questions.sums import Term, centred_terms, evaluate
from dproof.spaces.interval import Scale

_NEAR_ZERO = 3.0  # standard errors from zero below which an estimate may well be one of zero
_NOT_NORMAL = 3.0  # standard errors of fewer heaviest scores than this are not normal
_BENT = 6.6  # standard errors more than an interval has, below which one over a divisor is not near its tangent
_DIVISOR_ERROR = 1.25  # times the length of an interval, where its divisor may be as much less
_MISSED = 0.01  # the probability that an interval may lose at an end because a sum moves in steps,
_MISSED_PART = 0.2  # and what part of the chance to miss
_POINTS = 65  # places in the interval of a sum at which a function of it is looked at
_CLOSER = 6  # times that this is done around the best of them, 32 times as closely
_BETWEEN = 1e-4  # of a range: what is found where a function turns may be so much too short

Ends = tuple[Array, Array]  # the least and the greatest


class Widths(NamedTuple):
    """The standard error and half-width of each estimate, and which of them have too few rows for a normal law."""

    stderr: Array
    half: Array
    few: Array


def tail(x: Array) -> Array:
    """P(Z > x) for a normal Z, to 1e-7 (Abramowitz and Stegun 1964, 7.1.26).

    >>> tail(np.array([0.0, 1.959964, -1.959964])).round(6).tolist()
    [0.5, 0.025, 0.975]
    """
    t = 1 / (1 + 0.3275911 * np.abs(x) / np.sqrt(2))
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    above = series * np.exp(-(x**2) / 2) / 2
    return np.asarray(np.where(x >= 0, above, 1 - above))


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
    1 %, or a fifth of the chance to miss (a continuity correction, 0 where many rows carry noise). An estimate without
    noise is exact.

    >>> half_widths(np.array([0.0, 400.0, 1.0]), np.array([1.0, 1.0, 1.0]), 0.95).half.round(3).tolist()
    [0.0, 39.199, 3.946]
    >>> half_widths(np.array([16.0]), np.array([1.0]), 0.5).half.round(3).tolist()  # Wald has 2.698
    [3.572]
    """
    noisy = variance != 0
    spread = np.where(variance > 0, variance, np.where(noisy, heaviest**2, 0.0))
    stderr = np.sqrt(spread)
    few = noisy & (stderr < _NOT_NORMAL * heaviest)
    depth = log(2 / (1 - min(level, HIGHEST_LEVEL)))
    bernstein = np.sqrt(2 * spread * depth) + heaviest * depth / 3
    z = normal_quantile(level)
    harmless = min(_MISSED, _MISSED_PART * (1 - level)) * stderr / NormalDist().pdf(z)
    with np.errstate(invalid="ignore"):  # the slope of a root at 0 is infinite
        steps = np.where(noisy, np.maximum(heaviest - harmless, 0.0), 0.0)
    return Widths(stderr, np.where(few, bernstein, z * stderr + steps), few)


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A function of the sums in every group: its value, its gradient, and how uncertain is what it divides by.

    Var g(T) ≈ ∇g · Cov(T) · ∇g, the delta method. `linear` says whether it is a linear function of the sums; `form` is
    what it was calculated from, else. `squared` is set where it is the square of a linear function, and `parabola`
    where it is a linear function plus factor · x² / divisor. `unsteady` is the largest standard error of a divisor,
    over the divisor, or 0 where there is none.
    """

    value: Array  # (groups,)
    gradient: Array  # (groups, sums)
    covariance: Array  # (groups, sums, sums), of the sums
    unsteady: Array  # (groups,)
    linear: bool = False
    form: Form | None = None
    squared: Value | None = None
    parabola: Form | None = None
    __array_ufunc__ = None  # NumPy's numbers leave calculations with a value to it

    @property
    def variance(self) -> Array:
        return self.shared(self)

    def shared(self, other: Value) -> Array:
        """The covariance with another value."""
        return np.asarray(np.einsum("gi,gij,gj->g", self.gradient, self.covariance, other.gradient))

    def may_be_zero(self, z: float) -> Array:
        """Whether zero is in an interval of ± z standard errors, or near it."""
        return np.asarray(np.abs(self.value) <= max(_NEAR_ZERO, z) * np.sqrt(np.maximum(self.variance, 0.0)))

    @property
    def relative(self) -> Array:
        """The standard error over the value; of a product, the larger one of its factors; of a root, its square's."""
        product, root = self.made_by("*"), self.made_by("√")
        if root is not None and not root.shift:
            return np.where(root.left.value > 0, root.left.relative, np.inf)
        if product is not None and not product.shift:
            return np.maximum(product.left.relative, product.right.relative)
        spread, size = np.sqrt(np.maximum(self.variance, 0.0)), np.abs(self.value)
        return np.divide(spread, size, out=np.where(spread > 0, np.inf, 0.0), where=size > 0)

    def curved(self, z: float) -> Array:
        """Where the delta method is not near: both factors may be zero, and what one error does to the other counts.

        Nor is it where a root is taken of what may be zero.
        """
        if self.form is None:
            return np.zeros(len(self.value), bool)
        left, right = self.form.left, self.form.right
        if self.form.sign == "√":
            square = np.maximum(left.variance, 0.0) + left.squared_error
            return np.asarray(left.value <= (z + _BENT) * np.sqrt(square))
        both = left.may_be_zero(z) & right.may_be_zero(z) if self.form.sign == "*" else False
        return np.asarray(left.curved(z) | right.curved(z) | both)

    @property
    def squared_error(self) -> Array:
        """The part of the squared error of a variance that comes from the square of the error of its mean."""
        ratio = self.made_by("/")
        if ratio is None or ratio.left.parabola is None:
            return np.zeros(len(self.value))
        parabola = ratio.left.parabola
        with np.errstate(divide="ignore", invalid="ignore"):
            share = ratio.factor * parabola.factor * parabola.right.value / ratio.right.value
            return np.asarray(2 * (share * (parabola.left / parabola.right).variance) ** 2)

    @property
    def is_bent(self) -> bool:
        """Whether its slope depends on what is estimated, other than by what it divides by."""
        if self.form is None:
            return False
        left, right, sign = self.form.left, self.form.right, self.form.sign
        both = sign == "*" and bool(left.gradient.any() and right.gradient.any())
        return both or sign == "√" or left.is_bent or right.is_bent

    @property
    def leaves(self) -> list[Value]:
        """The linear functions of the sums that it is calculated from."""
        return [self] if self.form is None else [*self.form.left.leaves, *self.form.right.leaves]

    @property
    def numbers(self) -> list[int]:
        """The places of the noisy sums that it is calculated from."""
        noisy = np.einsum("gii->gi", self.covariance).any(axis=0)
        return np.flatnonzero(noisy & np.any([leaf.gradient.any(axis=0) for leaf in self.leaves], axis=0)).tolist()

    def at(self, number: int, moved: Array) -> Array:
        """What it is where one sum is so much more; not a number where some of these divide by zero."""
        form = self.form
        if form is None:
            return np.asarray(self.value + self.gradient[:, number] * moved)
        left, right = form.left.at(number, moved), form.right.at(number, moved)
        match form.sign:
            case "+":
                found = left + right
            case "*":
                found = left * right
            case "/":
                found = left / np.where(right.min(axis=0) * right.max(axis=0) > 0, right, np.nan)
            case "√":
                found = np.sqrt(np.maximum(left, 0.0))
        return form.shift + form.factor * found

    def made_by(self, sign: Sign) -> Form | None:
        """What it was calculated from, where that was by this sign."""
        return self.form if self.form is not None and self.form.sign == sign else None

    def constant(self, number: float) -> Value:
        """A number as a value that has no noise."""
        flat = np.full_like(self.value, number), np.zeros_like(self.gradient)
        return Value(*flat, self.covariance, np.zeros_like(self.value), linear=True)

    def _moved(self, factor: float, shift: float) -> Value:
        value, gradient = self.value * factor + shift, self.gradient * factor
        form, parabola = (of and replace(of, factor=of.factor * factor) for of in (self.form, self.parabola))
        form = form and replace(form, shift=form.shift * factor + shift)
        return replace(self, value=value, gradient=gradient, form=form, squared=None, parabola=parabola)

    def __add__(self, other: Value | float) -> Value:
        if not isinstance(other, Value):
            return self._moved(1.0, other)
        unsteady, linear = np.maximum(self.unsteady, other.unsteady), self.linear and other.linear
        parabola = self.parabola if other.linear else other.parabola if self.linear else None
        value, gradient = self.value + other.value, self.gradient + other.gradient
        total = None if linear else Form("+", self, other)
        return Value(value, gradient, self.covariance, unsteady, linear, total, parabola=parabola)

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
        form = Form("*", self, other)
        if divisors:
            form = Form("/", a * c, divisors[0] if len(divisors) == 1 else divisors[0] * divisors[1])
        return Value(value, gradient, self.covariance, unsteady, form=form, squared=squared)

    def _fraction(self) -> tuple[Value, Value | None]:
        """What is divided, and by what; None where nothing is."""
        ratio = self.made_by("/")
        if ratio is None:
            return self, None
        top, bottom = ratio.left * ratio.factor, ratio.right
        return top + bottom * ratio.shift if ratio.shift else top, bottom

    def __truediv__(self, other: Value | float) -> Value:
        if not isinstance(other, Value):
            other = self.constant(other)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = self.value / other.value
            gradient = (self.gradient - other.gradient * value[:, None]) / other.value[:, None]
        unsteady = np.maximum.reduce([self.unsteady, other.unsteady, other.relative])
        parabola = Form("/", self.squared, other) if self.squared is not None and other.linear else None
        (a, b), (c, d) = self._fraction(), other._fraction()
        ratio = Form("/", a if d is None else a * d, c if b is None else b * c)
        return Value(value, gradient, self.covariance, unsteady, form=ratio, parabola=parabola)

    def tangent(self, at: Array) -> Value:
        """With x² / divisor replaced by 2·at·x − at²·divisor, which is linear, and the same where at = x / divisor."""
        assert self.parabola is not None
        x, divisor, factor = self.parabola.left, self.parabola.right, self.parabola.factor
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
        return Value(root, gradient, self.covariance, self.unsteady, form=Form("√", self, self))


Sign = Literal["+", "*", "/", "√"]


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """shift + factor · (left sign right), or shift + factor · √left; of a parabola factor · left² / right."""

    sign: Sign
    left: Value
    right: Value
    factor: float = 1.0
    shift: float = 0.0

    def of(self, ends: Iterable[Array]) -> Ends:
        """The least and the greatest, from the ends of what stands in the parentheses."""
        moved = [self.shift + self.factor * end for end in ends]
        return np.minimum(*moved), np.maximum(*moved)

    @property
    def is_plain(self) -> bool:
        """Whether no part of it divides by another."""
        return not (self.left.unsteady.any() or self.right.unsteady.any())

    def fieller(self, z: float) -> Ends:
        """All ratios r for which top − r · bottom is within z standard errors of zero (Fieller 1954).

        Infinite where the bottom itself is not clearly different from zero: then no finite set of ratios is.
        """
        a, b = self.left.value, self.right.value
        square = b**2 - z**2 * self.right.variance
        middle = a * b - z**2 * self.left.shared(self.right)
        rest = a**2 - z**2 * self.left.variance
        root = np.sqrt(np.maximum(middle**2 - square * rest, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.of(np.where(square > 0, (middle + sign * root) / square, sign * np.inf) for sign in (-1, 1))


Warnings = tuple[tuple[str, Array], ...]  # what to say, and about which groups
Method = Literal["inverse", "likelihood", "projection", "shrinkage", "loglinear", "model"]
Assume = Literal["nothing", "smooth"]
ROUGH = (
    "approximate: noise or bins are wider than what is asked; the interval holds however the values are distributed "
    "(assume smooth mostly gives a narrower one, which holds where values do not heap)"
)
SMOOTH = (
    "assumes smooth: noise or bins are wider than what is asked; the interval holds only where values are spread "
    "smoothly, and misses the truth where many are equal"
)
_FEW_ROWS = "few rows carry noise here, so intervals are wider, to be safe (Bernstein's inequality)"
SUGGESTIONS = (  # of an answer that tells nothing
    "a release with a larger ε, fewer columns in the question, coarser conditions, or `dproof ask` on the private table"
)
_MEAN_MISSED = 0.1  # of the chance to miss a variance, for the mean
_NEAR = 2.5  # half-widths from zero below which one over a divisor is not near its tangent
_TANGENTS = 9  # numbers that the mean could be
_MAY_BE_EMPTY = "a group may be empty: the denominator's interval contains 0, so the ratio has no interval"


@dataclass(frozen=True, slots=True)
class Options:
    """How a question is answered."""

    level: float = 0.95
    method: Method = "inverse"
    target: Target = "table"
    simultaneous: bool = False
    assume: Assume = "nothing"

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", level_of(self.level))
        for name, options in (("method", get_args(Method)), ("target", get_args(Target)), ("assume", get_args(Assume))):
            choice(getattr(self, name), options, name)
        flag(self.simultaneous, "simultaneous")
        if self.simultaneous and self.method == "loglinear":
            raise QuestionError(
                "intervals of method='loglinear' hold on average over the cells of a table, not all at once: leave out "
                "simultaneous, or the method"
            )

    def at(self, level: float) -> Options:
        """These options at another level; simultaneous intervals keep theirs: they hold for any choice among them."""
        return self if self.simultaneous or level == self.level else replace(self, level=level)

    def for_each(self, answers: int) -> Options:
        """The options of each of several answers; where all shall hold at once, with a higher level.

        Answers may be split further: level^(1/m) to the power 1/k is level^(1/(m·k)).

        >>> round(Options(simultaneous=True).for_each(5).level, 6), Options().for_each(5).level
        (0.989794, 0.95)
        """
        return replace(self, level=simultaneous(self.level, answers)) if self.simultaneous else self


def options_of(given: Mapping[str, Any]) -> Options:
    """The options of a question, as they were given by name."""
    known = Options.__slots__
    for option in given:
        if option not in known:
            raise QuestionError(f"query has no option {option!r}{did_you_mean(option, known)}")
    return Options(**given)


def warned(
    question: Question, cells: Mapping[Expression, tuple[Any, Warnings]], groups: Sequence[int], private: bool
) -> Iterator[str]:
    """What to say about these groups, of all expressions of a question that were asked for."""
    warnings = [warning for part in question.expressions if part in cells for warning in cells[part][1]]
    yield from (note for n in groups for note, which in warnings if which[n])
    if not private:
        yield NOT_PRIVATE


class Linear(NamedTuple):
    """shift + Σ coefficients · sums."""

    coefficients: Array
    shift: float = 0.0


class EveryDistribution(Protocol):
    """Intervals that hold however numbers under wide noise are distributed."""

    @property
    def biased(self) -> Array:
        """Which sums have a score with a bias, by groups."""

    def interval(
        self, group: int, top: Linear, bottom: Linear | None, level: float, target: Target
    ) -> tuple[float, float]:
        """The least and the greatest of a linear function of the sums, or of a ratio of two, in a group."""


@dataclass(frozen=True, slots=True, eq=False)
class EstimatedSums:
    """The estimated sums of every group, ready to be calculated with."""

    schema: Schema
    numbers: Mapping[str, Scale]  # of the columns whose sums are taken
    needed: list[Term]
    where: Predicate | None
    options: Options
    estimates: SumEstimates
    fitted: Array | None  # by another method than the inverse
    covariance: Array
    distribution_free: EveryDistribution | None  # where a condition may have a bias, and no distribution is assumed
    scale: float = 1.0  # all rows over those that were counted, for which `distribution_free` is
    seldom: Callable[[float], float] = level_of_seldom  # that of the noise

    @property
    def best(self) -> Array:
        """The estimated sums, by the method that was asked for."""
        return self.estimates.values if self.fitted is None else self.fitted

    def value(self, expression: Expression, values: Array) -> Value:
        """An expression of the sums."""
        certain, unit = np.zeros(len(values), bool), np.eye(len(self.needed))
        sums = {
            needed: Value(values[:, n], np.broadcast_to(unit[n], values.shape), self.covariance, certain, linear=True)
            for n, needed in enumerate(self.needed)
        }

        def value(aggregate: Aggregate) -> Value:
            formula = aggregate.definition.formula
            if formula is None:
                raise KeyError(aggregate)
            terms = centred_terms(aggregate, self.where, self.schema)
            terms_of_aggregate = Sums({term.columns: sums[term] for term in terms}, self.numbers)
            result: Value = formula(terms_of_aggregate, aggregate.columns, aggregate.argument)
            return result

        result = evaluate(expression, value)
        return result if isinstance(result, Value) else sums[self.needed[0]].constant(result)

    def with_shares(self, grouped: bool, shares: Shares, rows: float) -> EstimatedSums:
        """What would be estimated if other shares of all rows were in a group or satisfied a condition.

        Sums over all rows stay as they are; so do all variances.
        """
        scales = lambda term: self.numbers[term.columns[0]]  # noqa: E731
        values = shares.of_even(self.needed, self.estimates.values, rows, grouped, scales)
        return replace(self, estimates=replace(self.estimates, values=values))

    def cells(self, expression: Expression, reach: Range | None = None) -> tuple[list[Cell], Warnings]:
        """The estimates of an expression in every group, with their intervals; and what to say about which of them.

        Whatever the method, an interval is that of the unbiased estimate, and holds the other one too. With `reach`,
        what the expression can be at all, those are wider that may be told seldom: but where it is linear in the sums,
        and noise makes an interval longer or shorter (see `Range`).
        """
        value = self.value(expression, self.estimates.values)
        spread = self.spread(value, self.options.level)
        if reach is not None and (value.is_bent or value.unsteady.any()):
            spread = self._told(value, spread, reach)
        low, high, exact = spread.low, spread.high, spread.exact
        count = isinstance(expression, Aggregate) and expression.definition.counts == "rows"
        estimates = value.value
        if self.fitted is not None:
            estimates = self.value(expression, self.fitted).value
            low, high = np.minimum(low, estimates), np.maximum(high, estimates)
        elif self.distribution_free is not None:
            estimates = np.where(spread.rough, np.clip(estimates, low, high), estimates)
        naive = self.value(expression, self.estimates.naive).value
        cells = []
        for n, estimate in enumerate(estimates):
            stderr = None if np.isnan(spread.stderr[n]) else float(spread.stderr[n])
            unsure = bool(spread.unsure[n])
            known = not (unsure or isnan(low[n]) or isnan(high[n]))  # what has no end is cut to what is possible
            cells.append(
                Cell(
                    _number(estimate, count and exact[n]),
                    float(low[n]) if known else None,
                    float(high[n]) if known else None,
                    stderr,
                    _number(naive[n], count),
                    informative=not unsure,
                )
            )
        return cells, (*self.rough_note(spread.rough), (_FEW_ROWS, spread.few), (_MAY_BE_EMPTY, spread.unsure))

    def rough_note(self, groups: Array) -> Warnings:
        """What to say about groups whose estimates wide noise leaves a bias in."""
        return ((ROUGH if self.options.assume == "nothing" else SMOOTH, groups),)

    def at(self, level: float) -> EstimatedSums:
        """These sums, with intervals of another level."""
        return replace(self, options=replace(self.options, level=level))

    def spread(self, value: Value, level: float, only: Array | None = None) -> Spread:
        """The interval of a value in every group; where each takes long, in some of them only."""
        each = simultaneous(level, int((value.variance != 0).sum())) if self.options.simultaneous else level
        root = value.made_by("√")
        if root is not None:
            return self._rooted(value, root, self.spread(root.left, level, only), each)
        spread = self._interval(value, each)
        if self.distribution_free is None:
            return spread
        return self._for_every_distribution(value, spread, self.distribution_free, each, only)

    def _interval(self, value: Value, level: float) -> Spread:
        """The interval of a value by the estimated variances."""
        root, ratio = value.made_by("√"), value.made_by("/")
        if root is not None:
            return self._rooted(value, root, self._interval(root.left, level), level)
        numbers = [] if value.linear else value.numbers
        if len(numbers) == 1:
            return self._of_one(value, numbers[0], level)
        is_variance = ratio is not None and ratio.left.parabola is not None and ratio.right.linear
        return self._of_tangents(value, level) if is_variance else self._near(value, level)

    def _of_one(self, value: Value, number: int, level: float) -> Spread:
        """The interval of a function of one noisy sum: all that it is where that lies in its own interval."""
        heaviest, doubt = (of[:, number] for of in (self.estimates.heaviest, self.estimates.doubts))
        widths = half_widths(value.covariance[:, number, number], heaviest, level)
        low, high = _range(value, number, widths.half + doubt)
        stderr = np.where(np.isnan(value.variance), np.nan, np.sqrt(np.maximum(value.variance, 0.0)))
        unsure = np.isnan(low) & ~np.isnan(widths.half)
        return Spread(low, high, stderr, low == high, doubt > 0, widths.few, unsure)

    def _rooted(self, value: Value, root: Form, square: Spread, level: float) -> Spread:
        """The root of an interval of the square: it covers as often, and needs no square that is far from zero.

        Below zero it is moved there first, as `Range` moves what is not possible.
        """
        half = np.where(np.isfinite(square.low), (square.high - square.low) / 2, 0.0)
        low, high = root.of(np.sqrt(np.maximum(end, 0.0)) for end in (square.low, np.maximum(square.high, half)))
        return square._replace(low=low, high=high, stderr=self._near(value, level).stderr)

    def _told(self, value: Value, spread: Spread, reach: Range) -> Spread:
        """The intervals that are shown (see `told_levels`).

        A ratio is told where noise leaves its divisor clearly above zero, and a product or a variance has a narrow
        interval where noise leaves its slope small. Where strict intervals are so short that they tell something
        wherever they lie, answers are told as a rule too; what the sure level has for each standard error stands for
        them, for a divisor that may be zero makes them longer. Of a function of one sum no length here tells what it is
        elsewhere.
        """
        levels, told = told_levels(self.options.level, self.seldom), tells(reach, *spread.ends)
        if not told.any():
            return spread
        sure = self.spread(value, levels.sure, told).ends
        doubtful = told & ~tells(reach, *sure)
        if not doubtful.any():
            return spread
        wide = self.spread(value, levels.strict, doubtful)
        shorter = normal_quantile(levels.strict) / normal_quantile(levels.sure)
        halves = (sure[1] - sure[0]) / 2 * shorter
        ratio = value.made_by("/")
        is_normal = levels.strict == level_of_seldom(self.options.level)  # Laplace noise moves divisors further
        if ratio is not None and ratio.left.linear and ratio.right.linear and is_normal:
            # Of two sums the length hangs on the divisor alone: one that is surely told is right to a fifth.
            with np.errstate(divide="ignore"):
                is_sure = 1 / ratio.right.relative >= normal_quantile(levels.sure)
            usual = (spread.ends[1] - spread.ends[0]) / 2 * _DIVISOR_ERROR
            halves = np.where(is_sure & ~spread.few & ~spread.rough, np.minimum(usual, halves), halves)
        if len(value.numbers) == 1:
            halves = np.full_like(halves, np.inf)
        doubtful &= ~np.array([reach.is_narrowed_by(half) for half in halves.tolist()], bool)
        return Spread(*(np.where(doubtful, strict, usual) for strict, usual in zip(wide, spread, strict=True)))

    def _near(self, value: Value, level: float) -> Spread:
        """The interval of a value that is linear in the sums, or the ratio of two such, near to what was estimated."""
        variance, z = value.variance, normal_quantile(level)
        widths = half_widths(variance, self._heaviest(value), level)
        stderr = np.where(np.isnan(variance), np.nan, widths.stderr)
        doubt = np.einsum("gi,gi->g", np.abs(value.gradient), self.estimates.doubts)
        low, high = value.value - widths.half - doubt, value.value + widths.half + doubt
        exact = widths.half + doubt == 0
        with np.errstate(divide="ignore"):
            steps = 1 / np.asarray(value.unsteady, float)  # from zero to a divisor, in standard errors
        unsure, curved, ratio = (steps <= z) & ~exact, value.curved(z), value.made_by("/")
        if ratio is not None:
            # Of few rows the divisor too has Bernstein's interval; near zero the ratio has that of its parts.
            bottom = ratio.right
            reach = half_widths(bottom.variance, self._heaviest(bottom), level).half
            unsure = unsure | (widths.few & (np.abs(bottom.value) <= reach))
            curved = curved | (widths.few & (np.abs(bottom.value) < _NEAR * reach))
            plain = ~widths.few & (doubt == 0) & (variance != 0)
            low, high = (np.where(plain, end, o) for end, o in zip(ratio.fieller(z), (low, high), strict=True))
            unsure = unsure | (plain & ~np.isfinite(low))
        if value.form is not None and value.form.sign != "√" and not (ratio and ratio.is_plain):
            curved = curved | (steps < z + _BENT)
        if curved.any() and value.made_by("√") is None:
            ends = self._of_parts(value, level)
            low, high = (np.where(curved, end, other) for end, other in zip(ends, (low, high), strict=True))
            exact = np.where(curved, low == high, exact)  # where both estimates are 0, so is the slope, whatever noise
        unknown = (np.isnan(low) | np.isnan(high)) & ~np.isnan(variance)  # without a variance there is no interval
        return Spread(low, high, stderr, exact, doubt > 0, widths.few, unsure | unknown)

    def _heaviest(self, value: Value) -> Array:
        """The heaviest score of a single row, in every group; in sums without noise no row has one."""
        noisy = np.einsum("gii->gi", value.covariance) != 0
        return np.asarray(np.einsum("gi,gi->g", np.abs(value.gradient), np.where(noisy, self.estimates.heaviest, 0.0)))

    def _of_parts(self, value: Value, level: float) -> Ends:
        """The interval of a sum, a product or a ratio of two values: from those of each of them.

        It is infinite where what is divided by may be zero.
        """
        form = value.form
        assert form is not None and form.sign != "√"
        if form.sign == "+":
            return self._of_summands(form, level)
        noisy = sum(bool(part.variance.any()) for part in (form.left, form.right))  # one of them may be public
        first, second = (self._interval(part, simultaneous(level, noisy)) for part in (form.left, form.right))
        other = second.low, second.high
        if form.sign == "/":
            with np.errstate(divide="ignore", invalid="ignore"):
                surely = second.low * second.high > 0
                other = np.where(surely, 1 / second.high, -np.inf), np.where(surely, 1 / second.low, np.inf)
        with np.errstate(invalid="ignore"):
            return form.of(products((first.low, first.high), other))

    def _of_summands(self, total: Form, level: float) -> Ends:
        """The interval of a sum, from those of its two parts and their correlation (Zou 2008, MOVER)."""
        values = total.left, total.right
        spreads = [self._interval(value, level) for value in values]
        root = np.sqrt(np.prod([np.maximum(value.variance, 0.0) for value in values], axis=0))
        shared = np.divide(values[0].shared(values[1]), root, out=np.zeros_like(root), where=root > 0)
        z = normal_quantile(level)
        shared = np.where(
            values[0].curved(z) | values[1].curved(z), np.maximum(shared, 0.0), shared
        )  # far from tangents
        middle, ends = values[0].value + values[1].value, []
        for sign, ends_of in ((-1, [one.low for one in spreads]), (1, [one.high for one in spreads])):
            with np.errstate(invalid="ignore"):
                x, y = (np.abs(end - value.value) for end, value in zip(ends_of, values, strict=True))
                square = np.where(np.isfinite(x + y), x**2 + 2 * np.clip(shared, -1, 1) * x * y + y**2, np.inf)
            ends.append(middle + sign * np.sqrt(np.maximum(square, 0.0)))
        return total.of(ends)

    def _of_tangents(self, value: Value, level: float) -> Spread:
        """The interval of a variance: of the mean square around every number that the mean could be.

        Around the true mean it is the variance, and linear in the sums. Around the estimated one it has no noise where
        the mean lies in the middle of numbers that heap at both ends: that interval would be a point, beside the truth.
        """
        ratio = value.made_by("/")
        assert ratio is not None and ratio.left.parabola is not None
        missed = (1 - level) * _MEAN_MISSED
        mean = self._near(ratio.left.parabola.left / ratio.left.parabola.right, 1 - missed)
        spread, lows, highs = self._near(value, level), [], []
        for part in np.linspace(0, 1, _TANGENTS):
            with np.errstate(invalid="ignore"):
                top = ratio.left.tangent((1 - part) * mean.low + part * mean.high)
            around = self._near(top / ratio.right * ratio.factor + ratio.shift, level + missed)
            lows.append(around.low)
            highs.append(around.high)
        low, high = np.minimum.reduce(lows), np.maximum.reduce(highs)
        unsure = spread.unsure | (mean.unsure & ~mean.exact)
        return spread._replace(low=low, high=high, exact=spread.exact & mean.exact, unsure=unsure)

    def _for_every_distribution(
        self, value: Value, spread: Spread, free: EveryDistribution, level: float, only: Array | None
    ) -> Spread:
        """The intervals that are right whatever the distribution, where the scores of a condition have a bias.

        Of a linear value, of a ratio of two, and of a variance the upper end alone (one-sided, so at 2·level − 1); of
        anything else there are no ends. With `only`, the other groups keep what they had.
        """
        rough = (free.biased & (value.gradient != 0)).any(axis=1)
        # A part of the rows stands for all as for a population; that it is a large part is not made use of.
        target: Target = self.options.target if self.scale == 1 else "population"
        low, high, unsure = spread.low.copy(), spread.high.copy(), spread.unsure & ~rough
        ratio = value.made_by("/")
        for n in np.flatnonzero(rough if only is None else rough & only).tolist():
            low[n], high[n] = -np.inf, np.inf
            if value.linear:
                low[n], high[n] = free.interval(n, self._linear(value, n), None, level, target)
            elif ratio is not None and ratio.right.linear:
                top, bottom = (self._linear(side, n) for side in (ratio.left, ratio.right))
                parabola = ratio.left.parabola
                if ratio.left.linear:
                    ends = free.interval(n, top, bottom, level, target)
                    unsure[n] = not np.isfinite(ends).all()
                    low[n], high[n] = sorted(ratio.shift + ratio.factor * end for end in ends)
                elif parabola is not None and parabola.factor < 0:
                    # A variance, Σz² − (Σz)²/n over n, is at most what its tangent is, which is linear in the sums.
                    _, end = free.interval(n, top, bottom, 2 * level - 1, target)
                    unsure[n] = not np.isfinite(end)
                    (high if ratio.factor > 0 else low)[n] = ratio.shift + ratio.factor * end
        return spread._replace(low=low, high=high, exact=spread.exact & ~rough, rough=rough, unsure=unsure)

    def _linear(self, value: Value, group: int) -> Linear:
        slope = value.gradient[group]
        return Linear(slope * self.scale, float(value.value[group] - slope @ self.estimates.values[group]))


def _range(value: Value, number: int, half: Array) -> Ends:
    """The least and the greatest value where one of its sums is at most so much more or less.

    It is looked at everywhere, and then around the best place ever more closely. Neither is a number where a divisor
    may be zero.
    """
    ends = []
    for sign in (-1.0, 1.0):
        best, reach, unknown = np.zeros_like(half), 1.0, np.zeros(len(half), bool)
        for _ in range(_CLOSER):
            places = np.clip(best + reach * np.linspace(-1, 1, _POINTS)[:, None], -1, 1)
            with np.errstate(all="ignore"):
                values = value.at(number, places * half)
            chosen = (sign * values).argmax(axis=0)[None]
            best, end = (np.take_along_axis(of, chosen, axis=0)[0] for of in (places, values))
            unknown, reach = unknown | np.isnan(end), reach * 2 / (_POINTS - 1)
        ends.append((np.where(unknown, np.nan, end), np.abs(best) < 1 - _BETWEEN))
    (low, turns_below), (high, turns_above) = ends
    slack = _BETWEEN * (high - low)
    return low - slack * turns_below, high + slack * turns_above


class Spread(NamedTuple):
    """The interval and standard error of each estimate, and which are exact, rough, of few rows or without interval."""

    low: Array
    high: Array
    stderr: Array
    exact: Array
    rough: Array
    few: Array
    unsure: Array

    @property
    def ends(self) -> Ends:
        """Both ends, which are infinite where there is no interval."""
        none = self.unsure | np.isnan(self.low) | np.isnan(self.high)
        return np.where(none, -np.inf, self.low), np.where(none, np.inf, self.high)


def _number(number: Any, whole: bool = False) -> float | int | None:
    if not np.isfinite(number):
        return None
    return round(float(number)) if whole else float(number)
