"""Other estimates than the inverse law: distributions that are never negative, and counts shrunk towards a model.

Method "loglinear": counts by three or more columns are shrunk towards what all tables of two columns say. The
log-linear model without interactions of three columns, log m = Σ u_ij, is fitted to the unbiased tables of every two
columns, without their negative counts (iterative proportional fitting, Deming and Stephan 1940). With Y the unbiased
counts the estimate is

    m + w (Y − m),   w = μ / (μ + σ²),

where σ² is the mean variance of Y − m, and μ the mean square of what the model misses: mean (Y − m)² − σ², and one
standard error more, as of the mean of so many squares as there are effects that the model leaves out. Tables of two
columns hardly change, for the model keeps them.

Near the truth m = P Y with P = D X (XᵀDX)⁻ Xᵀ, D the diagonal of m and X the indicators of all cells of two columns, so
the estimate is a linear function of the counts and has its exact variance. Its bias is (1 − w) times what the model
misses, of which no more is taken for known than its mean square over the cells. The interval is so wide that on average
over the cells of the table it covers as often as it says, however the bias is spread over them (robust empirical Bayes
intervals: Armstrong, Kolesár and Plagborg-Møller 2022).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import prod

import numpy as np

from dproof.errors import QuestionError, TooLarge
from dproof.laws.debias import (
    AnswerGroups,
    Array,
    Contingency,
    DebiasAxis,
    DesignAxis,
    GroupLayout,
    MatrixAxis,
    MomentsAxis,
    Scores,
    Sum,
    Target,
    Transform,
    gather,
    of_whole,
    on_simplex,
    scale_up,
)
from dproof.limits import MOST_LOGLINEAR, MOST_SHRUNK
from dproof.local.counts import QuestionAxes
from dproof.local.distribution_free import DistributionFree
from dproof.questions.estimated import EstimatedSums, Options, tail
from dproof.questions.measured import normal_quantile
from dproof.questions.question import Predicate

_STEPS = 5_000
_SETTLED = 1e-8  # relative change of the likeliest counts at which they stand still
_GRID, _FEW_STEPS = 200, 30  # values that a count may be thought to have, and steps of fitting how likely they are


def likelihood(table: Contingency) -> Array:
    """The true counts under which the sanitised ones are likeliest, found by iterative Bayes.

    π ← π · P(N/(πP)): the expectation and maximisation steps of Dempster, Laird and Rubin 1977 for a mixture.

    >>> from dproof.laws.debias import response_axis
    >>> flip = response_axis("flip", np.ones(2), 0.75, 0.25)
    >>> likelihood(Contingency([flip], np.array([20.0, 80.0]), 100)).round(3).tolist()
    [0.0, 100.0]
    """
    laws: list[Transform] = [finite(axis).law for axis in table.axes]
    cells = np.ones_like(_back_to_cells(laws, table.counts))
    cells *= table.counts.sum() / cells.size
    for _ in range(_STEPS):
        mixed = gather(laws, cells)
        share = np.divide(table.counts, mixed, out=np.zeros_like(mixed), where=mixed > 0)
        following = cells * _back_to_cells(laws, share)
        still = np.abs(following - cells).max(initial=0.0) <= _SETTLED * max(1.0, float(following.max(initial=0.0)))
        cells = following
        if still:
            break
    return cells


def projection(table: Contingency) -> Array:
    """The nearest counts to the unbiased ones that are not negative and keep every exact total.

    >>> from dproof.laws.debias import response_axis
    >>> flip = response_axis("flip", np.ones(2), 0.75, 0.25)
    >>> projection(Contingency([flip], np.array([20.0, 80.0]), 100)).round(3).tolist()
    [0.0, 100.0]
    """
    return _with_totals(table, gather(map(inverse, table.axes), table.counts))


def _with_totals(table: Contingency, cells: Array) -> Array:
    """The nearest counts that are not negative and keep every exact total."""
    noisy = _noisy(table)
    order = sorted(range(len(table.axes)), key=lambda n: n in noisy)
    moved = cells.transpose(order)
    rows = moved.reshape(prod(moved.shape[: len(order) - len(noisy)]), -1)
    totals = table.counts.sum(axis=noisy).reshape(-1)
    return on_simplex(rows, totals).reshape(moved.shape).transpose(np.argsort(order))


def shrinkage(table: Contingency) -> Array:
    """The unbiased counts, each drawn towards where most counts lie, as far as its noise makes that likely.

    Empirical Bayes: counts are taken for draws from one unknown distribution, which is fitted to all of them
    (Kiefer and Wolfowitz 1956, by a few steps of iterative Bayes), and each becomes its mean given what was seen
    (Jiang and Zhang 2009). Best where there are many cells under much noise.

    >>> from dproof.laws.debias import response_axis
    >>> flip = response_axis("flip", np.ones(4), 0.5, 1 / 6)
    >>> shrinkage(Contingency([flip], np.array([24.0, 25.0, 26.0, 25.0]), 100)).round(1).tolist()
    [24.9, 25.0, 25.1, 25.0]
    """
    scores = [inverse(axis) for axis in table.axes]
    cells = gather(scores, table.counts)
    if cells.size > MOST_SHRUNK:
        raise TooLarge(f"shrinkage takes at most {MOST_SHRUNK} cells: ask for fewer columns at once")
    squares = gather((s.times(s) for s in scores), table.counts)
    seen = cells.reshape(-1)
    spread = np.sqrt(np.maximum((squares.reshape(-1) - seen), 1e-9))
    # Some values of every size, and more where many counts lie.
    even = np.linspace(0.0, max(float(seen.max(initial=0.0)), 1e-9), _GRID // 2)
    values = np.union1d(even, np.quantile(np.maximum(seen, 0.0), np.linspace(0, 1, _GRID // 2)))
    near = np.exp(-0.5 * ((seen[:, None] - values) / spread[:, None]) ** 2) + 1e-300
    weights = np.full(len(values), 1 / len(values))
    for _ in range(_FEW_STEPS):
        shares = near * weights
        weights = (shares / shares.sum(axis=1, keepdims=True)).mean(axis=0)
    shares = near * weights
    return _with_totals(table, (shares @ values / shares.sum(axis=1)).reshape(cells.shape))


def fold(table: Contingency, cells: Array, wanted: Sum) -> Array:
    """The sums of all blocks, from counts of the true values."""
    return gather((finite(axis).wanted(p) for axis, p in zip(table.axes, wanted.powers, strict=True)), cells)


def _noisy(table: Contingency) -> tuple[int, ...]:
    """The axes on which what is counted need not be true."""
    return tuple(n for n, axis in enumerate(table.axes) if not axis.exact)


def inverse(axis: DebiasAxis) -> Scores:
    """The scores of every single true value."""
    if isinstance(axis, MomentsAxis) or axis.rough:
        raise QuestionError("numbers under noise have no table of counts to project: use method='likelihood'")
    return axis.inverse()


def finite(axis: DebiasAxis) -> MatrixAxis | DesignAxis:
    if isinstance(axis, MomentsAxis):
        raise QuestionError("sums of numbers under noise are unbiased as they are: leave the method out")
    return axis


def _back_to_cells(laws: list[Transform], share: Array) -> Array:
    for n, law in enumerate(laws):
        share = law.spread(share, n)
    return share


# Counts shrunk towards a model ----------------------------------------------------------------------------------------

_ROUNDS = 100  # of proportional fitting
_LEAST = 1e-6  # of a row in a cell: a fitted count of zero would never grow again
_BIASES = np.concatenate([np.linspace(0.0, 10.0, 201)[1:], np.geomspace(10.5, 1000.0, 60)])  # in standard errors


def shrink(
    table: Contingency, sums: list[Sum], groups: AnswerGroups, level: float, target: Target
) -> tuple[Array, ...]:
    """The sums of every group drawn to the model, their covariances with what the bias adds, the largest scores."""
    model = _Model(table, target)
    weights = np.stack([_cell_weights(table, wanted, groups) for wanted in sums], axis=1)
    drawn = model.drawn(weights)
    scores = model.scores(drawn)
    covariance = model.covariance(drawn, scores)
    variance = np.einsum("gii->gi", covariance)
    missed = (1 - model.share) ** 2 * model.missed * (model.beyond(weights) ** 2).sum(axis=-1)
    ratio = np.divide(missed, variance, out=np.zeros_like(missed), where=variance > 0)
    wider = widening(ratio, level)
    wide = covariance * wider[:, :, None] * wider[:, None, :]
    return weights @ model.estimate, wide, np.abs(scores).max(axis=-1)


def widening(ratio: Array, level: float) -> Array:
    """How many times wider an interval must be for a bias with these mean squares, in units of the variance.

    The chance to miss with a bias of b standard errors is r(b) = Φ(−χ − b) + Φ(b − χ). Where the mean of b² over
    many intervals is t, the mean of r(b) is at most that of a part t/u of them with b² = u ≥ t and the rest without
    bias; χ is the least that keeps this below what the level allows.

    >>> widening(np.array([0.0, 1.0, 4.0]), 0.95).round(2).tolist()
    [1.0, 1.66, 3.68]
    """
    z = normal_quantile(level)
    low, high = np.full(ratio.shape, z), z + np.sqrt(ratio / (1 - level)) + 1
    squares = _BIASES**2
    part = np.minimum(ratio[..., None] / squares, 1.0)
    for _ in range(40):
        middle = (low + high) / 2
        chi = middle[..., None]
        biased = np.where(ratio[..., None] > squares, np.sqrt(ratio)[..., None], _BIASES)
        miss = part * (tail(chi + biased) + tail(chi - biased)) + (1 - part) * 2 * tail(chi)
        enough = miss.max(axis=-1) <= 1 - level
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.asarray(np.where(ratio > 0, high / z, 1.0))


class _Model:
    """The fit to the tables of two columns, and how far each estimate is drawn towards it."""

    def __init__(self, table: Contingency, target: Target) -> None:
        self.table, self.target = table, target
        self.inverses = [inverse(axis) for axis in table.axes]
        self.unbiased = gather(self.inverses, table.counts)
        self.shape = self.unbiased.shape
        if max(prod(self.shape), table.counts.size) > MOST_LOGLINEAR:
            raise TooLarge(f"loglinear takes at most {MOST_LOGLINEAR} cells: ask for fewer columns at once")
        wide = [n for n, size in enumerate(self.shape) if size > 1]
        pairs: list[tuple[int, ...]] = [*combinations(wide, 2)] if len(wide) > 1 else [tuple(wide)]
        self.fit = fit_pairs(self.unbiased, pairs).reshape(-1)
        self.cells = np.concatenate([_indicators(self.shape, pair) for pair in pairs], axis=1)
        self.weighted = self.fit[:, None] * self.cells
        self.solved = np.linalg.pinv(self.cells.T @ self.weighted, rcond=1e-10, hermitian=True)
        every = np.eye(self.fit.size)[:, None]
        beyond = self.beyond(every)
        self.left_out = float(np.einsum("iai->", beyond))  # the dimension of all interactions of three columns and more
        self.estimate = self.unbiased.reshape(-1)
        rest = self.estimate - self.fit
        self.share, self.gain, self.missed = 1.0, 1.0, 0.0
        if self.left_out > 0.5:
            variances = self.covariance(beyond, self.scores(beyond))[:, 0, 0]
            noise = max(float(variances.mean()), 1e-12)
            missed = max(float((rest**2).mean()) - noise, 0.0)
            self.missed = missed + np.sqrt(2 / self.left_out) * (missed + noise)
            self.share = self.missed / (self.missed + noise)
            # w grows with |Y − m|, so an error of Y counts for more than w times, most where few effects tell w.
            self.gain = min(1.0, self.share + 2 * (1 - self.share) / self.left_out)
        self.estimate = self.fit + self.share * rest

    def beyond(self, weights: Array) -> Array:
        """(I − P)ᵀ f: what functions of the cells see of a table that its pairs do not say."""
        return np.asarray(weights - ((weights @ self.weighted) @ self.solved) @ self.cells.T)

    def drawn(self, weights: Array) -> Array:
        """How much functions of the estimates change with each of the unbiased counts (Stein 1981)."""
        return np.asarray(weights - (1 - self.gain) * self.beyond(weights))

    def scores(self, weights: Array) -> Array:
        """The score of every state, for functions of the unbiased counts: (groups, sums, states)."""
        spread = weights.reshape(-1, *self.shape)
        for n, scores in enumerate(self.inverses):
            spread = scores.spread(spread, n + 1)
        return spread.reshape(*weights.shape[:2], -1)

    def covariance(self, weights: Array, scores: Array) -> Array:
        """The covariances of functions of the unbiased counts, in every group."""
        squares = np.einsum("gis,gjs,s->gij", scores, scores, self.table.counts.reshape(-1), optimize=True)
        if self.target == "table":
            return np.asarray(squares - np.einsum("gic,gjc,c->gij", weights, weights, self.estimate, optimize=True))
        means = weights @ self.estimate
        return np.asarray(squares - means[:, :, None] * means[:, None, :] / max(self.table.rows, 1))


def fit_pairs(unbiased: Array, pairs: list[tuple[int, ...]]) -> Array:
    """The table without interactions of three axes whose tables by these pairs are the nearest possible ones.

    >>> fit_pairs(np.array([[[4.0, 0.0], [0.0, 4.0]], [[0.0, 4.0], [4.0, 0.0]]]), [(0, 1), (0, 2), (1, 2)])[0].tolist()
    [[2.0, 2.0], [2.0, 2.0]]
    """
    total = max(float(unbiased.sum()), _LEAST * unbiased.size)
    wanted = []
    for pair in pairs:
        others = tuple(n for n in range(unbiased.ndim) if n not in pair)
        counts = unbiased.sum(axis=others, keepdims=True)
        wanted.append((others, on_simplex(counts.reshape(1, -1), np.array([total])).reshape(counts.shape)))
    fit = np.full(unbiased.shape, total / unbiased.size)
    for _ in range(_ROUNDS):
        for others, counts in wanted:
            fit = np.maximum(fit * counts / fit.sum(axis=others, keepdims=True), _LEAST)
    return np.asarray(fit)


def _indicators(shape: tuple[int, ...], axes: tuple[int, ...]) -> Array:
    """Which cell of a table by some axes each cell lies in: (cells, cells by these axes)."""
    codes = np.indices(shape).reshape(len(shape), -1)
    sizes = tuple(shape[n] for n in axes)
    return np.eye(prod(sizes))[np.ravel_multi_index(tuple(codes[list(axes)]), sizes)] if axes else np.ones((1, 1))


# The estimate of a question -------------------------------------------------------------------------------------------


def _cell_weights(table: Contingency, wanted: Sum, groups: AnswerGroups) -> Array:
    """How much every group takes of each true cell, for a sum."""
    layout = GroupLayout(table, groups)
    cell, chosen = np.divmod(groups.order, groups.sets.count)
    taken = np.eye(layout.cells)[cell][:, :, None] * groups.sets.rows(chosen)[:, None, :]
    taken = taken.reshape(-1, *(layout.shape[n] for n in layout.order))
    taken = taken.transpose(0, *(np.argsort(layout.order) + 1)) * wanted.weights
    for n, (axis, powers) in enumerate(zip(table.axes, wanted.powers, strict=True)):
        taken = finite(axis).wanted(powers).spread(taken, n + 1)
    return np.asarray(taken.reshape(len(groups.order), -1))


def estimate(
    counting: QuestionAxes,
    table: Contingency,
    groups: AnswerGroups,
    where: Predicate | None,
    options: Options,
    all_rows: int,
) -> EstimatedSums:
    """The sums of a question in every group, over all rows, of which the table has a random part or all."""
    sums, fitted, free = counting.sums, None, None
    asked = counting.schema, counting.numbers, counting.needed, where, options
    is_part, scale = all_rows != table.rows, scale_up(table.rows, all_rows)
    with np.errstate(invalid="ignore"):  # a public number may be infinite, and then its sum is refused
        estimates = table.estimates(sums, groups)
    if options.method in _FITS:
        cells = _FITS[options.method](table)
        refuse_singular(counting, cells)
        fitted = np.stack([table.total(fold(table, cells, wanted), wanted, groups) for wanted in sums], axis=1) * scale
    else:
        refuse_singular(counting, estimates.values)
    if options.method == "loglinear":
        # A part of the rows stands for all as for a population; that it is a large part is not made use of.
        target = "population" if is_part else options.target
        values, covariance, heaviest = shrink(table, sums, groups, options.level, target)
        estimates = replace(estimates, values=values, heaviest=heaviest)
        if is_part:
            squares = covariance + np.einsum("gi,gj->gij", estimates.values, estimates.values) / max(table.rows, 1)
            estimates = of_whole(replace(estimates, squares=squares, products=np.full_like(squares, np.nan)), all_rows)
            covariance = estimates.covariance("population")
        return EstimatedSums(*asked, estimates, None, covariance, None)
    if table.rough and options.assume == "nothing":
        free = DistributionFree(table, sums, groups, estimates)
    estimates = of_whole(estimates, all_rows)
    return EstimatedSums(*asked, estimates, fitted, estimates.covariance(options.target), free, scale)


_FITS = {"likelihood": likelihood, "projection": projection, "shrinkage": shrinkage}


def refuse_singular(counting: QuestionAxes, values: Array) -> None:
    """Say which law cannot be undone, if something was not found."""
    if np.isnan(values).any():
        for axis in counting.axes:
            if isinstance(axis, MatrixAxis):
                axis.refuse()
        public = [column for column in counting.numbers if counting.schema.is_open(column)]
        if public:
            listed = ", ".join(map(repr, public))
            raise QuestionError(
                f"{listed} holds NaN or an infinite number, which has no sum: make it missing, or COUNT"
            )
        raise QuestionError("the law of these columns cannot be inverted; raw(...) shows the rows as they are")
