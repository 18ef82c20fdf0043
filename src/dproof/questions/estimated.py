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
from dproof.questions.extremes import extremes, roots
from dproof.questions.measured import HIGHEST_LEVEL, Shares, level_of_seldom, normal_quantile, tells, told_levels
from dproof.questions.question import Aggregate, Expression, Predicate, Question, Schema
from dproof.questions.sums import Term, centred_terms, evaluate
from dproof.spaces.interval import Scale

_NOT_NORMAL = 3.0  # standard errors of fewer heaviest scores than this are not normal
_USUAL = 1.96  # standard errors up to which errors are taken to be as likely above as below
_DIVISOR_ERROR = 1.25  # times the length of an interval, where its divisor may be as much less
_FARTHER = 0.75  # standard errors beyond the sure level, where a divisor is told as a rule
_MISSED = 0.01  # the probability that an interval may lose at an end because a sum moves in steps,
_MISSED_PART = 0.2  # and what part of the chance to miss
_BELOW_ZERO = 0.25  # times the size of a number below zero: minus this stands for its root

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


def half_widths(variance: Array, heaviest: Array, level: float) -> Widths:
    """± of each estimate, from its variance and the heaviest score of a single row.

    Wald: z·se. Where the standard error is below three of the heaviest scores, so few rows carry the noise that it is
    not normal, and Bernstein's inequality stands in: √(2VL) + h·L/3 with L = log(2/(1 − level)), which never covers
    less than its level. A sum moves in steps of at most 2h: an interval that ends between two steps may lose what lies
    within h of its end, a probability of h·φ(z)/se. So it is longer by h, less the length that has a probability of
    1 %, or a fifth of the chance to miss (a continuity correction, 0 where many rows carry noise), and by as much as
    noise of few rows may be skewed. An estimate without noise is exact.

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
        steps += np.where(noisy, _skew(z) * heaviest, 0.0)
    return Widths(stderr, np.where(few, bernstein, z * stderr + steps), few)


def _skew(z: float) -> float:
    """How many heaviest scores farther than normal ones unlikely errors may be, for noise of few rows is skewed.

    (z² − 1)/6 times the skewness (Cornish and Fisher 1938), which is at most the heaviest score over the standard
    error; 0 up to the usual level of 95 %.
    """
    return max(z**2 - _USUAL**2, 0.0) / 6


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A function of the sums in every group: its value and its gradient.

    Var g(T) ≈ ∇g · Cov(T) · ∇g, the delta method. `linear` says whether it is a linear function of the sums; `form` is
    what it was calculated from, else. `squared` is set where it is the square of a linear function, and `parabola`
    where it is a linear function plus factor · x² / divisor.
    """

    value: Array  # (groups,)
    gradient: Array  # (groups, sums)
    covariance: Array  # (groups, sums, sums), of the sums
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

    @property
    def is_bent(self) -> bool:
        """Whether its slope depends on what is estimated."""
        if self.form is None:
            return False
        left, right, sign = self.form.left, self.form.right, self.form.sign
        bends = sign == "√" or (sign in "*/" and bool(right.variance.any() and (sign == "/" or left.variance.any())))
        return bends or left.is_bent or right.is_bent

    @property
    def leaves(self) -> list[Value]:
        """The linear functions of the sums that it is calculated from."""
        return [self] if self.form is None else [leaf for part in self.form.parts for leaf in part.leaves]

    @property
    def numbers(self) -> list[int]:
        """The places of the noisy sums that it is calculated from."""
        noisy = np.einsum("gii->gi", self.covariance).any(axis=0)
        return np.flatnonzero(noisy & np.any([leaf.gradient.any(axis=0) for leaf in self.leaves], axis=0)).tolist()

    def at(self, moved: Array, groups: Array) -> Array:
        """Its value in some groups where their sums are so much more: points × groups, of points × groups × sums.

        Nothing is known to have a root where an estimate is below zero. What stands for it goes on falling there, so
        that its edge is found.
        """
        form = self.form
        if form is None:
            return np.asarray(self.value[groups] + np.einsum("...gi,gi->...g", moved, self.gradient[groups]))
        left = form.left.at(moved, groups)
        if form.sign == "√":
            return form.shift + form.factor * np.sqrt(np.abs(left)) * np.where(left < 0, -_BELOW_ZERO, 1.0)
        right = form.right.at(moved, groups)
        found = left + right if form.sign == "+" else left * right if form.sign == "*" else left / right
        return form.shift + form.factor * found

    @property
    def divisors(self) -> list[Value]:
        """What it divides by, and what these are products of."""
        if self.form is None:
            return []
        found = [divisor for part in self.form.parts for divisor in part.divisors]
        return [*found, *self.form.right.factors] if self.form.sign == "/" else found

    @property
    def factors(self) -> list[Value]:
        """What it is a product of; itself where it is none."""
        product = self.made_by("*")
        return [self] if product is None or product.shift else [*product.left.factors, *product.right.factors]

    @property
    def ratio_of_sums(self) -> Form | None:
        """What it was calculated from, where that is the ratio of two noisy linear functions of the sums."""
        ratio = self.made_by("/")
        return ratio if ratio and ratio.left.linear and ratio.right.linear and len(self.numbers) > 1 else None

    def made_by(self, sign: Sign) -> Form | None:
        """What it was calculated from, where that was by this sign."""
        return self.form if self.form is not None and self.form.sign == sign else None

    def constant(self, number: float) -> Value:
        """A number as a value that has no noise."""
        flat = np.full_like(self.value, number), np.zeros_like(self.gradient)
        return Value(*flat, self.covariance, linear=True)

    def _moved(self, factor: float, shift: float) -> Value:
        value, gradient = self.value * factor + shift, self.gradient * factor
        form, parabola = (of and replace(of, factor=of.factor * factor) for of in (self.form, self.parabola))
        form = form and replace(form, shift=form.shift * factor + shift)
        return replace(self, value=value, gradient=gradient, form=form, squared=None, parabola=parabola)

    def __add__(self, other: Value | float) -> Value:
        if not isinstance(other, Value):
            return self._moved(1.0, other)
        linear = self.linear and other.linear
        parabola = self.parabola if other.linear else other.parabola if self.linear else None
        value, gradient = self.value + other.value, self.gradient + other.gradient
        total = None if linear else Form("+", self, other)
        return Value(value, gradient, self.covariance, linear, total, parabola=parabola)

    def __sub__(self, other: Value | float) -> Value:
        return self + other * -1.0

    def __mul__(self, other: Value | float) -> Value:
        if not isinstance(other, Value):
            return self._moved(other, 0.0)
        gradient = self.gradient * other.value[:, None] + other.gradient * self.value[:, None]
        squared = self if self is other and self.linear else None
        (a, b), (c, d) = self._fraction(), other._fraction()
        divisors = [bottom for bottom in (b, d) if bottom is not None]
        form = Form("*", self, other)
        if divisors:
            form = Form("/", a * c, divisors[0] if len(divisors) == 1 else divisors[0] * divisors[1])
        return Value(self.value * other.value, gradient, self.covariance, form=form, squared=squared)

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
        parabola = Form("/", self.squared, other) if self.squared is not None and other.linear else None
        (a, b), (c, d) = self._fraction(), other._fraction()
        ratio = Form("/", a if d is None else a * d, c if b is None else b * c)
        return Value(value, gradient, self.covariance, form=ratio, parabola=parabola)

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
        return Value(root, gradient, self.covariance, form=Form("√", self, self))


Sign = Literal["+", "*", "/", "√"]


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """shift + factor · (left sign right), or shift + factor · √left; of a parabola factor · left² / right."""

    sign: Sign
    left: Value
    right: Value
    factor: float = 1.0
    shift: float = 0.0

    @property
    def parts(self) -> tuple[Value, ...]:
        """What it is calculated from."""
        return (self.left,) if self.sign == "√" else (self.left, self.right)

    def of(self, ends: Iterable[Array]) -> Ends:
        """The least and the greatest, from the ends of what stands in the parentheses."""
        moved = [self.shift + self.factor * end for end in ends]
        return np.minimum(*moved), np.maximum(*moved)

    def fieller(self, z: Array) -> Ends:
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
_MAY_BE_EMPTY = "a group may be empty: the denominator's interval contains 0, so the ratio has no interval"


@dataclass(frozen=True, slots=True)
class Options:
    """How a question is answered."""

    level: float = 0.95
    method: Method = "inverse"
    target: Target = "table"
    simultaneous: bool = False
    assume: Assume = "nothing"
    only: tuple[int, ...] | None = None
    """the groups whose intervals are looked at: where each takes long, others have none to rely on"""

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
        unit = np.eye(len(self.needed))
        sums = {
            needed: Value(values[:, n], np.broadcast_to(unit[n], values.shape), self.covariance, linear=True)
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
        scales = lambda term, column: self.numbers[column]  # noqa: E731
        values = shares.of_even(self.needed, self.estimates.values, rows, grouped, scales)
        return replace(self, estimates=replace(self.estimates, values=values))

    def cells(self, expression: Expression, reach: Range | None = None) -> tuple[list[Cell], Warnings]:
        """The estimates of an expression in every group, with their intervals; and what to say about which of them.

        Whatever the method, an interval is that of the unbiased estimate, and holds the other one too. With `reach`,
        what the expression can be at all, those are wider that may be told seldom: but where it is linear in the sums,
        and noise makes an interval longer or shorter (see `Range`).
        """
        value = self.value(expression, self.estimates.values)
        only = None
        if self.options.only is not None:
            only = np.isin(np.arange(len(value.value)), self.options.only)
        spread = self.spread(value, self.options.level, only)
        if reach is not None and value.is_bent:
            spread = self._told(value, spread, reach, only)
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
            return self._rooted(value, root, self.spread(root.left, level, only))
        spread = self._interval(value, each, only)
        if self.distribution_free is None:
            return spread
        return self._for_every_distribution(value, spread, self.distribution_free, each, only)

    def _interval(self, value: Value, level: float, only: Array | None) -> Spread:
        """The interval of a value by the estimated variances: all that it is where the sums are near.

        That is Wald's interval of what is linear in the sums, and Fieller's of a ratio of two of those.
        """
        variance, doubts = value.variance, self.estimates.doubts
        widths = half_widths(variance, self._heaviest(value), level)
        doubt = np.einsum("gi,gi->g", np.abs(value.gradient), doubts)
        low, high = value.value - widths.half - doubt, value.value + widths.half + doubt
        bent, ratio = np.full(len(low), not value.linear), value.ratio_of_sums
        if ratio is not None:
            plain = ~widths.few & (doubt == 0) & (variance != 0)
            fieller = ratio.fieller(self._deviations(value, level))
            low, high = (np.where(plain, end, other) for end, other in zip(fieller, (low, high), strict=True))
            bent = bent & ~plain
        some, numbers = np.flatnonzero(bent if only is None else bent & only), value.numbers
        if some.size and numbers:
            covariance = value.covariance[some][:, numbers][:, :, numbers]
            heaviest = self.estimates.heaviest[some][:, numbers]
            each = half_widths(np.einsum("gii->gi", covariance), heaviest, level)
            errors, half = roots(covariance, each.stderr), each.half + doubts[some][:, numbers]
            reach = np.zeros((some.size, value.gradient.shape[1], errors.shape[-1]))
            reach[:, numbers] = half[:, :, None] * errors
            low[some], high[some] = extremes(value, reach, some, level)
            widths.few[some] = each.few.any(axis=1)
        stderr = np.where(np.isnan(variance), np.nan, widths.stderr)
        unsure = ~(np.isfinite(low) & np.isfinite(high)) & ~np.isnan(variance)  # without a variance there is none
        return Spread(low, high, stderr, low == high, doubt > 0, widths.few, unsure)

    def _deviations(self, value: Value, level: float) -> Array:
        """How many standard errors a calculation may be off at a level, as skewed as the noise of each sum in it is."""
        z, numbers = normal_quantile(level), value.numbers
        errors = np.sqrt(np.maximum(np.einsum("gii->gi", value.covariance)[:, numbers], 0.0))
        shares = np.divide(self.estimates.heaviest[:, numbers], errors, out=np.zeros_like(errors), where=errors > 0)
        return np.asarray(z + _skew(z) * shares.max(axis=1, initial=0.0))

    def _heaviest(self, value: Value) -> Array:
        """The heaviest score of a single row, in every group; in sums without noise no row has one."""
        noisy = np.einsum("gii->gi", value.covariance) != 0
        return np.asarray(np.einsum("gi,gi->g", np.abs(value.gradient), np.where(noisy, self.estimates.heaviest, 0.0)))

    def _rooted(self, value: Value, root: Form, square: Spread) -> Spread:
        """The root of an interval of the square: it covers as often, and needs no square that is far from zero.

        Below zero it is moved there first, as `Range` moves what is not possible.
        """
        half = np.where(np.isfinite(square.low), (square.high - square.low) / 2, 0.0)
        low, high = root.of(np.sqrt(np.maximum(end, 0.0)) for end in (square.low, np.maximum(square.high, half)))
        return square._replace(low=low, high=high, stderr=np.sqrt(np.maximum(value.variance, 0.0)))

    def _told(self, value: Value, spread: Spread, reach: Range, only: Array | None) -> Spread:
        """The intervals that are shown (see `told_levels`), in some of the groups only if they are given.

        Where strict intervals are so short that they tell something wherever they lie, answers are told as a rule too.
        Only of a ratio of sums does a length here tell what it is elsewhere: it hangs on the divisor alone. What the
        sure level has for each standard error stands for it, for a divisor that may be zero makes it longer.
        """
        levels, told = told_levels(self.options.level, self.seldom), tells(reach, *spread.ends)
        told &= True if only is None else only
        if not told.any():
            return spread
        sure = self.spread(value, levels.sure, told).ends
        doubtful = told & ~tells(reach, *sure)
        if not doubtful.any():
            return spread
        wide = self.spread(value, levels.strict, doubtful)
        ratio, halves = value.ratio_of_sums, np.full(len(told), np.inf)
        if ratio is not None:
            shorter = normal_quantile(levels.strict) / normal_quantile(levels.sure)
            halves = (sure[1] - sure[0]) / 2 * shorter
            if levels.strict == level_of_seldom(self.options.level):  # Laplace noise moves divisors further
                # One whose divisor is surely told is right to a fifth; if it is a little farther, not only by chance.
                errors = np.sqrt(np.maximum(ratio.right.variance, 0.0))
                is_sure = np.abs(ratio.right.value) >= (self._deviations(value, levels.sure) + _FARTHER) * errors
                usual = (spread.ends[1] - spread.ends[0]) / 2 * _DIVISOR_ERROR
                halves = np.where(is_sure & ~spread.few & ~spread.rough, np.minimum(usual, halves), halves)
        doubtful &= ~np.array([reach.is_narrowed_by(half) for half in halves.tolist()], bool)
        return Spread(*(np.where(doubtful, strict, usual) for strict, usual in zip(wide, spread, strict=True)))

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
