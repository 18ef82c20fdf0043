"""The sums of a question as a release estimates them in every group, and intervals of what is calculated from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Any, Literal, NamedTuple, Protocol, get_args

import numpy as np

from dproof.arguments import choice, flag
from dproof.coins import NOT_PRIVATE
from dproof.errors import QuestionError, did_you_mean
from dproof.exact import level_of
from dproof.laws.scores import Array
from dproof.questions.aggregates import Sums, Values
from dproof.questions.answer import Cell
from dproof.questions.intervals import (
    Ends,
    Ratio,
    Total,
    Value,
    caution,
    half_widths,
    normal_quantile,
    products,
    simultaneous,
)
from dproof.questions.measured import Shares
from dproof.questions.question import Aggregate, Expression, Predicate, Question, evaluate, expressions
from dproof.questions.schema import Schema
from dproof.questions.sums import Term, centred_terms, chooses

Warnings = tuple[tuple[str, Array], ...]  # what to say, and about which groups
Target = Literal["table", "population"]
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
_FEW = "few rows carry noise here, so intervals are wider, to be safe (Bernstein's inequality)"
SUGGESTIONS = (  # of an answer that tells nothing
    "a release with a larger ε, fewer columns in the question, coarser conditions, or `dproof ask` on the private table"
)
_MEAN_MISSED = 0.1  # of the chance to miss a variance, for the mean
_NEAR = 2.5  # half-widths from zero below which one over a divisor is not near its tangent
_TANGENTS = 9  # numbers that the mean could be
_ROUNDING = 1e-11  # a variance below this part of its terms is zero
_UNSURE = "a group may be empty: the denominator's interval contains 0, so the ratio has no interval"


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
        return self if self.simultaneous else replace(self, level=level)

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
    warnings = [warning for part in expressions(question) if part in cells for warning in cells[part][1]]
    yield from (note for n in groups for note, which in warnings if which[n])
    if not private:
        yield NOT_PRIVATE


@dataclass(frozen=True, slots=True, eq=False)
class SumEstimates:
    """For every group the estimates of m sums, what their variances are made of, and the naive values."""

    values: Array  # (groups, m)
    naive: Array  # (groups, m)
    heaviest: Array  # (groups, m): the largest score of one row
    doubts: Array  # (groups, m): how far smoothed scores may be off on average
    squares: Array  # (groups, m, m): Σ s_i s_j
    products: Array  # (groups, m, m): the estimates of Σ f_i f_j
    rows: int  # of the table

    def covariance(self, target: Target, groups: slice = slice(None)) -> Array:
        """The covariances of the sums of each group."""
        values, squares = self.values[groups], self.squares[groups]
        population = squares - values[:, :, None] * values[:, None, :] / max(self.rows, 1)
        table = squares - self.products[groups]
        # Where f² has no estimate, (Σ f)²/n is below Σ f²: the variance is then too large rather than too small.
        covariances = population if target == "population" else np.where(np.isnan(table), population, table)
        scales = np.sqrt(np.abs(np.einsum("gii->gi", squares)))
        return np.where(np.abs(covariances) <= _ROUNDING * scales[:, :, None] * scales[:, None, :], 0.0, covariances)


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
    numbers: Mapping[str, Values]  # whose sums are taken, as a formula sees them
    needed: list[Term]
    where: Predicate | None
    options: Options
    estimates: SumEstimates
    fitted: Array | None  # by another method than the inverse
    covariance: Array
    distribution_free: EveryDistribution | None  # where a condition may have a bias, and no distribution is assumed
    scale: float = 1.0  # all rows over those that were counted, for which `distribution_free` is

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
        some = np.array([grouped or chooses(term) for term in self.needed])
        counts = self.estimates.values[:, some & [not term.columns for term in self.needed]]
        if not counts.size or not counts.mean() > 0:
            return self
        values = np.where(some, shares.factor(float(counts.mean()), rows), 1.0) * self.estimates.values
        return replace(self, estimates=replace(self.estimates, values=values))

    def cells(self, expression: Expression) -> tuple[list[Cell], Warnings]:
        """The estimates of an expression in every group, with their intervals; and what to say about which of them.

        Whatever the method, an interval is that of the unbiased estimate, and holds the other one too.
        """
        value = self.value(expression, self.estimates.values)
        spread = self.spread(value)
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
        return cells, (*self.rough_note(spread.rough), (_FEW, spread.few), (_UNSURE, spread.unsure))

    def rough_note(self, groups: Array) -> Warnings:
        """What to say about groups whose estimates wide noise leaves a bias in."""
        return ((SMOOTH if self.distribution_free is None else ROUGH, groups),)

    def spread(self, value: Value) -> Spread:
        """The interval of a value in every group."""
        level = self.options.level
        if self.options.simultaneous:
            level = simultaneous(level, int((value.variance != 0).sum()))
        if value.root_of is not None:
            # The root of an interval of the square covers as often, and needs no square that is far from zero.
            # Below zero it is moved there first, as `Range` moves what is not possible.
            root, square = value.root_of, self.spread(value.root_of.square)
            half = np.where(np.isfinite(square.low), (square.high - square.low) / 2, 0.0)
            ends = (np.sqrt(np.maximum(end, 0.0)) for end in (square.low, np.maximum(square.high, half)))
            low, high = (root.shift + root.factor * end for end in ends)
            stderr = self._near(value, level).stderr
            return square._replace(low=np.minimum(low, high), high=np.maximum(low, high), stderr=stderr)
        is_variance = value.ratio is not None and value.ratio.top.parabola is not None and value.ratio.bottom.linear
        spread = self._of_tangents(value, level) if is_variance else self._near(value, level)
        if self.distribution_free is None:
            return spread
        return self._for_every_distribution(value, spread, self.distribution_free, level)

    def _near(self, value: Value, level: float) -> Spread:
        """The interval of a value that is linear in the sums, or the ratio of two such, near to what was estimated."""
        variance, care = value.variance, caution(level, value.unsteady)
        widths, wider = (half_widths(variance, self._heaviest(value), at) for at in (level, care.strict))
        widths = widths._replace(half=widths.half + care.part * (wider.half - widths.half))
        stderr = np.where(np.isnan(variance), np.nan, widths.stderr)
        doubt = np.einsum("gi,gi->g", np.abs(value.gradient), self.estimates.doubts)
        low, high = value.value - widths.half - doubt, value.value + widths.half + doubt
        exact = widths.half + doubt == 0
        unsure, curved = care.untold & ~exact, value.curved
        if value.ratio is not None:
            # Of few rows the divisor too has Bernstein's interval; near zero the ratio has that of its parts.
            bottom = value.ratio.bottom
            reach = half_widths(bottom.variance, self._heaviest(bottom), care.strict).half
            unsure = unsure | (widths.few & (np.abs(bottom.value) <= reach))
            curved = curved | (widths.few & (np.abs(bottom.value) < _NEAR * reach))
            plain = ~widths.few & (doubt == 0) & (variance != 0)
            z = normal_quantile(level)
            ends = value.ratio.interval(z, z + care.part * (normal_quantile(care.strict) - z))
            low, high = (np.where(plain, end, other) for end, other in zip(ends, (low, high), strict=True))
            unsure = unsure | (plain & ~np.isfinite(low))
        is_ratio = value.ratio is not None and value.ratio.is_plain
        if not is_ratio and (value.ratio or value.product or value.total):
            curved = curved | care.near
        if curved.any():
            ends = self._of_parts(value, level)
            low, high = (np.where(curved, end, other) for end, other in zip(ends, (low, high), strict=True))
            exact = np.where(curved, low == high, exact)  # where both estimates are 0, so is the slope, whatever noise
        return Spread(low, high, stderr, exact, doubt > 0, widths.few, unsure)

    def _heaviest(self, value: Value) -> Array:
        """The heaviest score of a single row, in every group."""
        return np.asarray(np.einsum("gi,gi->g", np.abs(value.gradient), self.estimates.heaviest))

    def _of_parts(self, value: Value, level: float) -> Ends:
        """The interval of a sum, a product or a ratio of two values: from those of each of them.

        It is infinite where what is divided by may be zero.
        """
        if value.total is not None:
            return self._of_summands(value.total, level)
        form = value.product or value.ratio
        assert form is not None
        parts = (form.top, form.bottom) if isinstance(form, Ratio) else (form.left, form.right)
        first, second = (self._near(part, simultaneous(level, 2)) for part in parts)
        other = second.low, second.high
        if isinstance(form, Ratio):
            with np.errstate(divide="ignore"):
                surely = second.low * second.high > 0
                other = np.where(surely, 1 / second.high, -np.inf), np.where(surely, 1 / second.low, np.inf)
        with np.errstate(invalid="ignore"):
            ends = products((first.low, first.high), other)
        moved = [form.shift + form.factor * end for end in ends]
        return np.minimum(*moved), np.maximum(*moved)

    def _of_summands(self, total: Total, level: float) -> Ends:
        """The interval of a sum, from those of its two parts and their correlation (Zou 2008, MOVER)."""
        values = total.left, total.right
        spreads = [self._near(value, level) for value in values]
        root = np.sqrt(np.prod([np.maximum(value.variance, 0.0) for value in values], axis=0))
        shared = np.divide(values[0].shared(values[1]), root, out=np.zeros_like(root), where=root > 0)
        middle, ends = values[0].value + values[1].value, []
        for sign, ends_of in ((-1, [one.low for one in spreads]), (1, [one.high for one in spreads])):
            with np.errstate(invalid="ignore"):
                x, y = (np.abs(end - value.value) for end, value in zip(ends_of, values, strict=True))
                square = np.where(np.isfinite(x + y), x**2 + 2 * np.clip(shared, -1, 1) * x * y + y**2, np.inf)
            ends.append(total.shift + total.factor * (middle + sign * np.sqrt(np.maximum(square, 0.0))))
        return np.minimum(*ends), np.maximum(*ends)

    def _of_tangents(self, value: Value, level: float) -> Spread:
        """The interval of a variance: of the mean square around every number that the mean could be.

        Around the true mean it is the variance, and linear in the sums. Around the estimated one it has no noise where
        the mean lies in the middle of numbers that heap at both ends: that interval would be a point, beside the truth.
        """
        ratio = value.ratio
        assert ratio is not None and ratio.top.parabola is not None
        missed = (1 - level) * _MEAN_MISSED
        mean = self._near(ratio.top.parabola.x / ratio.top.parabola.divisor, 1 - missed)
        spread, lows, highs = self._near(value, level), [], []
        for part in np.linspace(0, 1, _TANGENTS):
            with np.errstate(invalid="ignore"):
                top = ratio.top.tangent((1 - part) * mean.low + part * mean.high)
            around = self._near(top / ratio.bottom * ratio.factor + ratio.shift, level + missed)
            lows.append(around.low)
            highs.append(around.high)
        low, high = np.minimum.reduce(lows), np.maximum.reduce(highs)
        unsure = spread.unsure | (mean.unsure & ~mean.exact)
        return spread._replace(low=low, high=high, exact=spread.exact & mean.exact, unsure=unsure)

    def _for_every_distribution(self, value: Value, spread: Spread, free: EveryDistribution, level: float) -> Spread:
        """The intervals that are right whatever the distribution, where the scores of a condition have a bias."""
        rough = (free.biased & (value.gradient != 0)).any(axis=1)
        # A part of the rows stands for all as for a population; that it is a large part is not made use of.
        target: Target = self.options.target if self.scale == 1 else "population"
        low, high, unsure = spread.low.copy(), spread.high.copy(), spread.unsure & ~rough
        care, plain_level = caution(level, value.unsteady), level
        for n in np.flatnonzero(rough).tolist():
            level = care.strict if care.part[n] else plain_level
            low[n], high[n] = -np.inf, np.inf
            if value.linear:
                low[n], high[n] = free.interval(n, self._linear(value, n), None, level, target)
            elif value.ratio is not None and value.ratio.top.linear and value.ratio.bottom.linear:
                top, bottom = (self._linear(side, n) for side in (value.ratio.top, value.ratio.bottom))
                ends = free.interval(n, top, bottom, level, target)
                unsure[n] = not np.isfinite(ends).all()
                low[n], high[n] = sorted(value.ratio.shift + value.ratio.factor * end for end in ends)
            elif value.ratio is not None and _is_concave(value.ratio):
                # A variance, Σz² − (Σz)²/n over n, is at most what its tangent is, which is linear in the sums.
                top, bottom = (self._linear(side, n) for side in (value.ratio.top, value.ratio.bottom))
                _, end = free.interval(n, top, bottom, 2 * level - 1, target)
                unsure[n] = not np.isfinite(end)
                high[n] = value.ratio.shift + value.ratio.factor * end
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


def _is_concave(ratio: Ratio) -> bool:
    return ratio.top.parabola is not None and ratio.top.parabola.factor < 0 and ratio.bottom.linear


def _number(number: Any, whole: bool = False) -> float | int | None:
    if not np.isfinite(number):
        return None
    return round(float(number)) if whole else float(number)
