"""The sums of a question as a release estimates them in every group, and intervals of what is calculated from them.

Every value carries its gradient in the estimated sums, for the delta method. Its interval is Wald's, where enough rows
carry noise, and Bernstein's where few do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import erfc, exp, gamma, isnan, log, sqrt
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

_NOT_NORMAL = 3.0  # standard errors of fewer heaviest scores than this are not normal
_MISSED = 0.01  # the probability that an interval may lose at an end because a sum moves in steps
_TINY = 1e-9
_STEPS = 6  # up a slope
_STARTS = 41  # on a line, the middle among them
_STRAIGHT = 0.02  # of a slope, by which it may turn where it is taken as straight
_APART = 0.5  # standard errors between points whose slopes tell how curved a surface is
_ROUNDING = 1e-5

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


@cache
def radius(level: float, dimensions: int) -> float:
    """r with P(‖Z‖ ≤ r) = level for so many independent normal Z (the chi distribution).

    >>> [round(radius(0.95, dimensions), 4) for dimensions in (0, 1, 2, 5)]
    [0.0, 1.96, 2.4477, 3.3272]
    """
    missed, low, high = 1 - min(level, HIGHEST_LEVEL), 0.0, 100.0
    while dimensions and high - low > 1e-9:
        r = (low + high) / 2
        above = erfc(r / sqrt(2)) if dimensions % 2 else 0.0
        above += sum((r * r / 2) ** (k / 2) * exp(-r * r / 2) / gamma(k / 2 + 1) for k in range(dimensions - 2, -1, -2))
        low, high = (r, high) if above > missed else (low, r)
    return low


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
    few = noisy & (stderr < _NOT_NORMAL * heaviest)
    depth = log(2 / (1 - min(level, HIGHEST_LEVEL)))
    bernstein = np.sqrt(2 * spread * depth) + heaviest * depth / 3
    z = normal_quantile(level)
    harmless = _MISSED * stderr / NormalDist().pdf(z)
    with np.errstate(invalid="ignore"):  # the slope of a root at 0 is infinite
        steps = np.where(noisy, np.maximum(heaviest - harmless, 0.0), 0.0)
    return Widths(stderr, np.where(few, bernstein, z * stderr + steps), few)


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A function of the sums in every group: its value and its gradient.

    Var g(T) ≈ ∇g · Cov(T) · ∇g, the delta method. `form` is what it was calculated from, None for a linear function of
    the sums. `squared` is set where it is the square of a linear function, and `parabola` where it is a linear function
    plus factor · x² / divisor.
    """

    value: Array  # (groups,)
    gradient: Array  # (groups, sums)
    covariance: Array  # (groups, sums, sums), of the sums
    form: Form | None = None
    squared: Value | None = None
    parabola: Form | None = None
    __array_ufunc__ = None  # NumPy's numbers leave calculations with a value to it

    @property
    def linear(self) -> bool:
        """Whether it is a linear function of the sums."""
        return self.form is None

    @property
    def variance(self) -> Array:
        return self.shared(self)

    def shared(self, other: Value) -> Array:
        """The covariance with another value."""
        return np.asarray(np.einsum("gi,gij,gj->g", self.gradient, self.covariance, other.gradient))

    @property
    def parts(self) -> list[Value]:
        """The linear functions of the sums that it is calculated from."""
        return [self] if self.form is None else [*self.form.left.parts, *self.form.right.parts]

    @property
    def divisors(self) -> list[Value]:
        """What is divided by in it."""
        if self.form is None:
            return []
        below = [self.form.right] if self.form.sign == "/" else []
        return [*below, *self.form.left.divisors, *self.form.right.divisors]

    def along(self, axes: Array, groups: Array) -> Value:
        """As a function of errors, by which the sums of some groups move along axes."""
        gradient = np.einsum("gi,gik->gk", self.gradient[groups], axes[groups])
        value, form = self.value[groups], self.form
        if form is not None:
            left = form.left.along(axes, groups)
            form = replace(form, left=left, right=left if form.right is form.left else form.right.along(axes, groups))
        return Value(value, gradient, self.covariance, form)

    def at(self, errors: Array) -> tuple[Array, Array]:
        """What the value and the gradient are with these errors; below zero a root is less than zero."""
        if self.form is None:
            return self.value + np.einsum("gk,...gk->...g", self.gradient, errors), self.gradient
        form, (a, da) = self.form, self.form.left.at(errors)
        if form.sign == "√":
            value = np.sign(a) * np.sqrt(np.abs(a))
            gradient = da / (2 * np.maximum(np.abs(value), _TINY))[..., None]
        else:
            b, db = form.right.at(errors)
            if form.sign == "+":
                value, gradient = a + b, da + db
            elif form.sign == "*":
                value, gradient = a * b, da * b[..., None] + db * a[..., None]
            else:
                value = a / b
                gradient = (da - db * value[..., None]) / b[..., None]
        return form.shift + form.factor * value, form.factor * gradient

    def made_by(self, sign: Sign) -> Form | None:
        """What it was calculated from, where that was by this sign."""
        return self.form if self.form is not None and self.form.sign == sign else None

    def equals(self, other: Value) -> bool:
        """Whether it is the same function of the sums, as far as its values and slopes tell."""
        pairs = (self.value, other.value), (self.gradient, other.gradient)
        return all(np.array_equal(*pair, equal_nan=True) for pair in pairs)

    def constant(self, number: float) -> Value:
        """A number as a value that has no noise."""
        flat = np.full_like(self.value, number), np.zeros_like(self.gradient)
        return Value(*flat, self.covariance)

    def _moved(self, factor: float, shift: float) -> Value:
        value, gradient = self.value * factor + shift, self.gradient * factor
        form, parabola = (of and replace(of, factor=of.factor * factor) for of in (self.form, self.parabola))
        form = form and replace(form, shift=form.shift * factor + shift)
        return replace(self, value=value, gradient=gradient, form=form, squared=None, parabola=parabola)

    def __add__(self, other: Value | float) -> Value:
        if not isinstance(other, Value):
            return self._moved(1.0, other)
        parabola = self.parabola if other.linear else other.parabola if self.linear else None
        value, gradient = self.value + other.value, self.gradient + other.gradient
        total = None if self.linear and other.linear else Form("+", self, other)
        return Value(value, gradient, self.covariance, total, parabola=parabola)

    def __sub__(self, other: Value | float) -> Value:
        return self + other * -1.0

    def __mul__(self, other: Value | float) -> Value:
        if not isinstance(other, Value):
            return self._moved(other, 0.0)
        a, b = self.made_by("√"), other.made_by("√")
        if a and b and not (a.shift or b.shift) and a.left.equals(b.left):
            return a.left * (a.factor * b.factor)  # the square of a root, which is below zero where noise has it
        value = self.value * other.value
        gradient = self.gradient * other.value[:, None] + other.gradient * self.value[:, None]
        squared = self if self is other and self.linear else None
        return Value(value, gradient, self.covariance, Form("*", self, other), squared)

    def __truediv__(self, other: Value | float) -> Value:
        if not isinstance(other, Value):
            other = self.constant(other)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = self.value / other.value
            gradient = (self.gradient - other.gradient * value[:, None]) / other.value[:, None]
        if self.linear and other.linear and not other.variance.any():  # by a public number
            return Value(value, self.gradient / other.value[:, None], self.covariance)
        parabola = Form("/", self.squared, other) if self.squared is not None and other.linear else None
        return Value(value, gradient, self.covariance, Form("/", self, other), parabola=parabola)

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
        return Value(root, gradient, self.covariance, Form("√", self, self))


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
            needed: Value(values[:, n], np.broadcast_to(unit[n], values.shape), self.covariance)
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
        if reach is not None and not value.linear:
            spread = self._told(expression, value, spread, reach)
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
        each, root = self._each(value, level), value.made_by("√")
        if root is not None:
            return self._rooted(value, root, self.spread(root.left, level, only))
        spread = self._interval(value, each, only)
        if self.distribution_free is None:
            return spread
        return self._for_every_distribution(value, spread, self.distribution_free, each, only)

    def _each(self, value: Value, level: float) -> float:
        """The level of each interval, where those of all groups shall hold at once."""
        return simultaneous(level, int((value.variance != 0).sum())) if self.options.simultaneous else level

    def _interval(self, value: Value, level: float, only: Array | None) -> Spread:
        """The interval of a value by the estimated variances."""
        variance, ratio = value.variance, value.made_by("/")
        widths = half_widths(variance, self._heaviest(value), level)
        stderr = np.where(np.isnan(variance), np.nan, widths.stderr)
        doubt = np.nan_to_num(np.einsum("gi,gi->g", np.abs(value.gradient), self.estimates.doubts))
        low, high = value.value - widths.half, value.value + widths.half
        if ratio is not None and ratio.left.linear and ratio.right.linear and not widths.few.any():
            with np.errstate(divide="ignore", invalid="ignore"):
                low, high = ratio.fieller(np.where(stderr > 0, widths.half / stderr, 0.0))
        elif not value.linear:
            low, high = self._image(value, level, only)
        low, high = low - doubt, high + doubt
        none = np.isinf(low) | ((np.isnan(low) | np.isnan(high)) & ~np.isnan(variance))
        return Spread(low, high, stderr, low == high, doubt > 0, widths.few, none)

    def _rooted(self, value: Value, root: Form, square: Spread) -> Spread:
        """The root of an interval of the square: it covers as often, and needs no square that is far from zero.

        Below zero it is moved there first, as `Range` moves what is not possible.
        """
        half = np.where(np.isfinite(square.low), (square.high - square.low) / 2, 0.0)
        low, high = root.of(np.sqrt(np.maximum(end, 0.0)) for end in (square.low, np.maximum(square.high, half)))
        stderr = half_widths(value.variance, self._heaviest(value), self.options.level).stderr
        return square._replace(low=low, high=high, stderr=np.where(np.isnan(value.variance), np.nan, stderr))

    def _told(self, expression: Expression, value: Value, spread: Spread, reach: Range) -> Spread:
        """The intervals that are shown (see `told_levels`).

        Answers are told as a rule, too, where strict intervals tell something wherever noise could have led: those of
        the sums two standard errors further, on every side.
        """
        levels, told = told_levels(self.options.level, self.seldom), tells(reach, *spread.ends)
        doubtful = told.copy()
        if told.any():
            doubtful &= ~tells(reach, *self.spread(value, levels.sure, told).ends)
        if not doubtful.any():
            return spread
        wide = self.spread(value, levels.strict, doubtful)
        further = normal_quantile(levels.sure) - normal_quantile(levels.strict)
        some = np.flatnonzero(doubtful & tells(reach, *wide.ends) & ~spread.rough)
        if len(some):
            axes, _, wider = self._ball(value, self.options.level)
            errors = _ends(value.along(axes, np.arange(len(wider))).gradient, further * wider)
            moves = np.einsum("gik,mgk->mgi", axes, errors)[:, some]
            near = self._moved(some, moves)
            moved = near.value(expression, near.estimates.values)
            ends = near.spread(moved, self._each(value, levels.strict)).ends
            doubtful[some] = ~tells(reach, *ends).reshape(len(moves), -1).all(axis=0)
        return Spread(*(np.where(doubtful, one, usual) for one, usual in zip(wide, spread, strict=True)))

    def _moved(self, groups: Array, moves: Array) -> EstimatedSums:
        """These groups as they were if their sums were so much more, for each of some moves after the other."""
        places = np.tile(groups, len(moves))
        found = self.estimates
        heaviest, doubts = found.heaviest[places], found.doubts[places]
        moved = replace(
            found, values=found.values[places] + moves.reshape(len(places), -1), heaviest=heaviest, doubts=doubts
        )
        options = replace(self.options, simultaneous=False)
        parts = {"estimates": moved, "covariance": self.covariance[places], "options": options}
        return replace(self, fitted=None, distribution_free=None, **parts)

    def _heaviest(self, value: Value) -> Array:
        """The heaviest score of a single row, in every group; in sums without noise no row has one."""
        noisy = np.einsum("gii->gi", value.covariance) != 0
        return np.asarray(np.einsum("gi,gi->g", np.abs(value.gradient), np.where(noisy, self.estimates.heaviest, 0.0)))

    def _image(self, value: Value, level: float, only: Array | None) -> Ends:
        """All values where the sums are near to what was estimated; infinite where it divides by what may be zero.

        With normal errors of the sums, in units of which they form a ball of radius r, values miss that lie behind a
        surface on which the value is what it truly is. If that is a plane, r is the quantile of one normal error: a
        linear function has Wald's interval, and a ratio Fieller's. If it is curved away, more are missed, by √(1 + c·r)
        for each of its curvatures c (Breitung 1984); at most those outside of the whole ball. Where the sums have one
        dimension, nothing is assumed but the quantile.
        """
        axes, rank, wider = self._ball(value, level)
        axes, z = axes * wider[:, None, None], normal_quantile(level)
        near = value.along(axes, np.arange(len(rank)))
        with np.errstate(all="ignore"):
            errors, length = _ends(near.gradient, np.full(len(rank), z)), np.linalg.norm(near.gradient, axis=1)
            values, slopes = near.at(errors)
            off = np.abs(values - near.value - np.einsum("gk,mgk->mg", near.gradient, errors)) / z
            turned = np.maximum(off, np.linalg.norm(slopes - near.gradient, axis=-1)).max(axis=0)
        low, high = near.value - z * length, near.value + z * length
        some = np.flatnonzero(~(turned <= _STRAIGHT * length) & (True if only is None else only))
        if len(some):
            most = np.array([radius(level, int(k)) for k in rank[some].tolist()])
            low[some], high[some] = _image(value.along(axes, some), z, most)
        return low, high

    def _ball(self, value: Value, level: float) -> tuple[Array, Array, Array]:
        """By what the sums move for each of the independent errors that a value depends on, and how many these are.

        And how many times as far as normal errors they reach, where few rows carry noise or it has steps.
        """
        covariance = np.nan_to_num(value.covariance)
        variance = np.einsum("gii->gi", covariance)
        scale = np.sqrt(np.where(variance < 0, self.estimates.heaviest**2, variance))  # as in `half_widths`
        both = scale[:, :, None] * scale[:, None, :]
        shared = np.clip(np.divide(covariance, both, out=np.zeros_like(both), where=both > 0), -1, 1)
        shared = np.where(np.eye(scale.shape[1], dtype=bool), both > 0, shared)
        sizes, ways = np.linalg.eigh(shared)
        errors = scale[:, :, None] * ways * np.sqrt(np.maximum(sizes, 0.0))[:, None, :]
        slopes = np.einsum("pgi,gij->gpj", np.stack([part.gradient for part in value.parts]), errors)
        length = np.linalg.norm(slopes, axis=2)
        unit = np.divide(slopes, length[:, :, None], out=np.zeros_like(slopes), where=length[:, :, None] > 0)
        _, found, turned = np.linalg.svd(unit, full_matrices=False)
        matter = found > _ROUNDING
        rank = matter.sum(axis=1)
        axes = np.einsum("gij,gkj->gik", errors, turned * matter[:, :, None])[:, :, : max(1, int(rank.max(initial=0)))]
        heaviest = np.stack([self._heaviest(part) for part in value.parts], axis=1)
        half = half_widths(length**2, heaviest, level).half
        wide = np.divide(half, length * normal_quantile(level), out=np.ones_like(half), where=length > 0)
        return axes, rank, wide.max(axis=1)

    def _for_every_distribution(
        self, value: Value, spread: Spread, free: EveryDistribution, level: float, only: Array | None
    ) -> Spread:
        """The intervals that are right whatever the distribution, where the scores of a condition have a bias."""
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
                    high[n] = ratio.shift + ratio.factor * end
        return spread._replace(low=low, high=high, exact=spread.exact & ~rough, rough=rough, unsure=unsure)

    def _linear(self, value: Value, group: int) -> Linear:
        slope = value.gradient[group]
        return Linear(slope * self.scale, float(value.value[group] - slope @ self.estimates.values[group]))


def _ends(slope: Array, radius: Array) -> Array:
    """The ends of a ball, on both sides: along its axes, and along a slope."""
    axes = np.broadcast_to(np.eye(slope.shape[1])[:, None], (slope.shape[1], *slope.shape))
    with np.errstate(all="ignore"):
        way = slope / np.linalg.norm(slope, axis=1)[:, None]
    way = np.where(np.isfinite(way), way, axes[0])  # without a slope no way is better
    ends = np.concatenate([way[None], axes]) * radius[:, None]
    return np.concatenate([ends, -ends])


def _extreme(value: Value, radius: Array, sign: float, errors: Array | None = None) -> tuple[Array, Array]:
    """The greatest (sign 1) or the least (sign -1) value where errors lie in a ball, and those errors.

    By steps up the slope towards the end of the ball: from some errors, or from both ends and the best place of a line.
    """

    def at(errors: Array) -> tuple[Array, Array]:
        height, slope = value.at(errors)
        return np.nan_to_num(sign * height, nan=-np.inf), sign * np.broadcast_to(slope, errors.shape)

    if value.linear:
        slope = sign * value.gradient
        length = np.linalg.norm(slope, axis=1)
        return value.value + sign * radius * length, slope * np.nan_to_num(radius / length)[:, None]
    if errors is None:
        starts = _ends(value.gradient, radius)
        line = _best(at(starts)[0], starts) * np.linspace(-1, 1, _STARTS)[:, None, None]
        errors = np.concatenate([_best(at(line)[0], line), line[[0, -1]]])
    height, slope = at(errors)
    for _ in range(_STEPS):
        way = np.nan_to_num(slope / np.linalg.norm(slope, axis=-1)[..., None]) * radius[:, None] - errors
        start, end = ((one * way).sum(axis=-1) for one in (slope, at(errors + way)[1]))
        part = np.where(
            end < 0, np.clip(np.nan_to_num(start / (start - end)), 0, 1), 1.0
        )  # where a parabola has its top
        for tried in (errors + way, errors + part[..., None] * way):
            there, slope_there = at(tried)
            errors, slope = (
                np.where((there > height)[..., None], new, old) for new, old in ((tried, errors), (slope_there, slope))
            )
            height = np.maximum(height, there)
    # A concave function is nowhere in the ball higher than its tangent is at its end.
    above = np.linalg.norm(slope, axis=-1) * radius - (slope * errors).sum(axis=-1)
    height, above, place = (_best(height, one)[0] for one in (height, above, errors))
    return sign * (height + np.maximum(np.nan_to_num(above), 0.0)), place


def _best(heights: Array, of: Array) -> Array:
    """What belongs to the greatest height in every group."""
    best = heights.argmax(axis=0)[None]
    return np.take_along_axis(of, best if of.ndim == heights.ndim else best[..., None], 0)


def _image(value: Value, z: float, most: Array) -> Ends:
    """The least and the greatest value of errors in a ball, whose radius is what the surfaces at both ends need."""
    least, ends = np.full(len(most), z), []
    furthest, may_be_zero = least, np.zeros(len(most), bool)
    with np.errstate(all="ignore"):
        for sign in (-1.0, 1.0):
            end, place = _extreme(value, least, sign)
            curvatures, r = _curvatures(value, place, sign), least
            for _ in range(4):
                r = np.fmin(np.sqrt(z**2 + np.log1p(curvatures * r[:, None]).sum(axis=1)), most)
            more, _ = _extreme(value, r, sign, place[None] * (r / z)[:, None])
            ends.append(sign * np.fmax(sign * end, sign * more))
            furthest = np.maximum(furthest, r)
        for divisor in value.divisors:
            low, high = (_extreme(divisor, furthest, sign)[0] for sign in (-1.0, 1.0))
            may_be_zero |= ~(low * high > 0)
    return np.where(may_be_zero, -np.inf, ends[0]), np.where(may_be_zero, np.inf, ends[1])


def _curvatures(value: Value, errors: Array, sign: float) -> Array:
    """How much the surface on which a value is the same bends away from the middle, at some errors, in each direction.

    Surfaces that bend towards it, or in a direction that nothing depends on, have 0.
    """
    same = np.eye(errors.shape[1])
    steps = same[:, None] * _APART
    change = np.moveaxis(sign * (value.at(errors + steps)[1] - value.at(errors - steps)[1]) / (2 * _APART), 0, 1)
    here = sign * value.at(errors)[1]
    size = np.linalg.norm(here, axis=1)
    along = same - np.einsum("gi,gj->gij", here, here) / (size**2)[:, None, None]
    bent = along @ ((change + change.swapaxes(1, 2)) / 2) @ along / size[:, None, None]
    finite = np.isfinite(bent).all(axis=(1, 2))
    found = np.linalg.eigvalsh(np.where(finite[:, None, None], bent, 0.0))
    return np.where(finite[:, None], np.maximum(-found, 0.0), np.inf)


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
