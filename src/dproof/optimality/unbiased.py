"""Numbers of least variance: released without bias, at worst or under a prior; or for the mean of a population.

The law that tells the most about the mean of a population near a prior has the largest Fisher information. Let the
values x_i of a population have the weights π_i e^(θx_i), with θ near 0. A release with the law P tells θ with the
information

    I(P) = Σ_j (Σ_i a_i P_ij)² / Σ_i π_i P_ij,    a_i = π_i (x_i − m),

where m and σ² are the mean and the variance of the prior; then no estimator of the mean from n rows has less variance
than σ⁴/(n·I) for large n, and the maximum likelihood attains it. An ε-private column of P is a mixture of patterns
S ∈ {1, e^ε}^K, up to a factor, and its part of I is convex and homogeneous. So the best law is made of patterns, by a
linear programme, and for any numbers α with α·S ≥ μ(S) for all patterns, where μ(S) = (a·S)²/π·S,

    I(P) = Σ_j μ(P_j) ≤ Σ_j α·P_j = Σ_i α_i,

which is evaluated in whole numbers: that is a proof. Kairouz, Oh and Viswanath 2016.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof import coins
from dproof.certification.certify import decide
from dproof.errors import ArgumentError, TooLarge
from dproof.exact import exact, exp_above
from dproof.laws.matrix import Matrix
from dproof.mechanisms.mechanism import Losses, Optimum
from dproof.optimality.programme import (
    SIMPLEX,
    SLACK,
    TOTAL,
    Rows,
    attained_optimum,
    certified_law,
    pure_bound,
    solve_priced,
    spread,
)
from dproof.spaces.categories import Categories
from dproof.spaces.interval import Interval
from dproof.spaces.space import Space, narrowest

_MOST_OUTPUTS = 1000  # finer outputs lower the variance by less than one part in 10^5
_OUTPUT_WIDTH = 1.5  # times (e^ε + 1)/(e^ε − 1), the outputs of the two-point law; farther ones are never used
_SLACKS = (2e-8, 3e-7, 1e-5)  # kept away from the limit, for rounding; the least that will do
_NEGLIGIBLE = 1e-8


def demand_epsilon(epsilon: Fraction) -> None:
    if epsilon == 0:
        raise ArgumentError(
            "at epsilon = 0 a release cannot depend on the value, so none is unbiased; spend some epsilon"
        )


class RoundedAtRandom(Interval):
    """An interval whose encoding rounds a value between two lattice points to one of them, at random and without bias.

    x = low + (k + f)·step becomes k + 1 with probability f, to 53 bits, else k. A mixture of private laws is private.

    >>> RoundedAtRandom(Interval(0, 1, "0.5")).encode([0, 0.5, 1]).tolist()
    [0, 1, 2]
    """

    __slots__ = ()

    def __init__(self, interval: Interval) -> None:
        super().__init__(interval.low, interval.high, interval.step)

    def code(self, value: Any) -> int:
        """The code of a lattice point; any other value has one at random, and so no law of its own to be told."""
        code = super().code(value)
        if self.number(value) not in (self.low + code * self.step, exact(self.label(code))):
            raise ArgumentError(
                "a value between lattice points is rounded at random: ask for the law of a lattice point"
            )
        return code

    def encode(self, values: Any, *, clamp: bool = False) -> NDArray[Any]:
        """The codes of a column, each value at one of its two neighbours; one outside is refused or clamped."""
        super().encode(values, clamp=clamp)  # refuses what lies outside or is no number
        if isinstance(values, np.ndarray) and values.dtype.kind in "fiu":
            places = (values.astype(np.float64) - float(self.low)) / float(self.step)
            places = places.clip(0, self.size - 1)
            below = np.floor(places)
            chances = ((places - below) * 2.0**53).astype(np.uint64)
        else:
            fractions = [(min(max(exact(value), self.low), self.high) - self.low) / self.step for value in values]
            below = np.array([place // 1 for place in fractions], np.int64)
            chances = np.array([int(place % 1 * (1 << 53)) for place in fractions], np.uint64)
        words = coins.current().words64(len(below)) >> np.uint64(11)
        return (below.astype(np.int64) + (words < chances)).astype(narrowest(self.size))


def output_lattice(interval: Interval, epsilon: Fraction) -> Interval:
    """Where unbiased releases lie: the interval's own lattice, or a coarser one, continued on both sides."""
    steps = min(interval.size - 1, finest_outputs(spread(epsilon)))
    width = (interval.high - interval.low) / steps
    beyond = ceil(steps * (_reach(spread(epsilon)) - 1) / 2) * width
    return interval.between(interval.low - beyond, interval.high + beyond, width)


def finest_outputs(spread: float) -> int:
    """The most steps of the interval itself that a lattice of outputs has, for e^ε − 1 = spread."""
    return max(1, int(_MOST_OUTPUTS / _reach(spread)))


def _reach(spread: float) -> float:
    """How wide the outputs lie, as a multiple of the interval."""
    return _OUTPUT_WIDTH * (1 + 2 / spread)


def unbiased_law(
    interval: Interval, outputs: Interval, epsilon: Fraction, prior: NDArray[Any] | None = None
) -> tuple[Matrix, Optimum]:
    """The law with Σ_j y_j P_ij = x_i exactly and the least largest variance, or the least under a prior, and the proof
    of that (Badanidiyuru et al. 2023).

    The bound holds for all ε-private unbiased laws on these outputs. Means differ by the length of the interval at
    most, and two ε-private laws have means within (e^ε − 1)/(e^ε + 1) of the width of their outputs.
    """
    if outputs.diameter * (exp_above(epsilon) - 1) < interval.diameter * (exp_above(epsilon) + 1):
        raise ArgumentError("the outputs are too narrow for an unbiased release; leave them out, or take wider ones")
    unit = lcm(*(q.denominator for q in (interval.low, interval.step, outputs.low, outputs.step)))
    x, y = (int(s.low * unit) + int(s.step * unit) * np.arange(s.size).astype(object) for s in (interval, outputs))
    away = y - x[:, None]
    squares = Losses(away**2, unit**2, "squared")
    positions = [(interval.low + n * interval.step - outputs.low) / outputs.step for n in range(interval.size)]
    for slack in _SLACKS:
        law, prices, levels, slopes = _solve(away, unit, spread(epsilon) * (1 - slack), prior)
        used = law.max(axis=0) > _NEGLIGIBLE
        # Solved once more for the outputs that matter, the rows come out right to the last digits.
        law[:, ~used], law[:, used] = 0, _solve(away[:, used], unit, spread(epsilon) * (1 - slack), prior)[0]
        whole = _exactly_unbiased(law, positions)
        if whole is not None and decide(whole, epsilon, Fraction(0)).holds:
            bound = pure_bound(exp_above(epsilon), squares, prices, levels, (slopes, away))
            return whole, attained_optimum(squares, whole, prior, bound)
    raise ArgumentError("no unbiased law on these outputs could be found; take wider or finer ones, or more epsilon")


def _solve(
    away: NDArray[Any], unit: int, spread: float, prior: NDArray[Any] | None
) -> tuple[Any, list[Fraction], Any, Any]:
    """The law in floats, prices λ, levels μ and slopes ν of the programme with y_j − x_i = away/unit."""
    width = float(away.max() - away.min())
    near = away.astype(np.float64) / width
    law, prices, (levels, slopes) = solve_priced([np.ones_like(near), near], near**2, spread, prior)
    scale = (width / unit) ** 2
    return law, prices, -scale * levels, -scale / width * slopes


def _exactly_unbiased(law: NDArray[np.float64], positions: list[Fraction]) -> Matrix | None:
    """Whole numbers n_ij with Σ_j n_ij = total and Σ_j j n_ij = total · position_i, near the law."""
    places = np.arange(law.shape[1])
    law = _tilted(law, places - np.array([float(p) for p in positions])[:, None])
    unit = lcm(*(p.denominator for p in positions))
    total = TOTAL // unit * unit
    whole = np.rint(law * total).astype(np.int64)
    # Two neighbouring outputs that all inputs use take up what rounding left of sum and mean.
    first = int(np.minimum(law[:, :-1], law[:, 1:]).min(axis=0).argmax())
    for row, position in zip(whole, positions, strict=True):
        lacking = total - int(row.sum())
        upper = int(total * position) - int(row.astype(object) @ places) - lacking * first
        row[first] += lacking - upper
        row[first + 1] += upper
    return Matrix(whole, total) if (whole >= 0).all() else None


def _tilted(law: NDArray[np.float64], away: NDArray[np.float64]) -> NDArray[np.float64]:
    """P·(α + β·away) with sum 1 and mean 0 in every row: a change of a few parts in 10^9."""
    s0, s1, s2 = (np.asarray((law * away**n).sum(axis=1)) for n in range(3))
    determinant = s0 * s2 - s1**2
    alpha, beta = s2 / determinant, -s1 / determinant
    return np.asarray(law * (alpha[:, None] + beta[:, None] * away))


_MOST_VALUES = 12  # whose patterns are looked at one by one
_LEAST_WEIGHT = 1e-9  # of the weight of a pattern

Fractions = NDArray[Any]


def fisher_law(space: Space, epsilon: Fraction, prior: Fractions | None) -> tuple[Matrix, Categories, Optimum]:
    """The law, what it releases, and the variance σ⁴/I of a mean for each row, with what none can beat.

    An output is named by the values that it is likelier from.

    >>> from dproof import Interval
    >>> law, outputs, optimum = fisher_law(Interval(0, 3, 1), Fraction(1), np.array([Fraction(1, 4)] * 4, object))
    >>> outputs.values, round(float(optimum.value), 4), optimum.gap < Fraction(1, 10**6)
    (((2, 3), (0, 1)), 7.3167, True)
    """
    if prior is None or space.line is None:
        raise ArgumentError(
            "Fisher information is about the mean of numbers near a prior: give an Interval and a prior"
        )
    if epsilon == 0:
        raise ArgumentError("at epsilon = 0 a release tells nothing of the mean; spend some epsilon")
    if space.size > _MOST_VALUES:
        raise TooLarge(f"Fisher information is maximised for up to {_MOST_VALUES} values; use a coarser step")
    x = np.array([space.line.origin + n * space.line.step for n in range(space.size)], object)
    mean = prior @ x
    scores, variance = prior * (x - mean), Fraction(prior @ (x - mean) ** 2)
    if variance == 0:
        raise ArgumentError("the prior has one value alone, whose mean needs no estimate; give it two values or more")
    patterns = np.array(list(np.ndindex(*(2,) * space.size)), bool)[:-1]  # all high is all low
    weights, prices = _best_patterns(patterns, scores, prior, 1 + spread(epsilon) * (1 - SLACK))
    used = weights > _LEAST_WEIGHT
    levels = np.where(patterns[used], 1 + spread(epsilon) * (1 - SLACK), 1.0)
    law = certified_law((levels * weights[used][:, None]).T, epsilon, Fraction(0))
    named = [tuple(space.label(n) for n in np.flatnonzero(pattern).tolist()) for pattern in patterns[used]]
    attained = sum(_information(law.rows.T.astype(object), scores, prior)) / law.total
    most = _most_information(patterns, scores, prior, exp_above(epsilon), prices)
    optimum = Optimum("variance of the mean, under the prior", variance**2 / attained, variance**2 / most)
    return law, Categories(named), optimum


def _information(columns: NDArray[Any], scores: Fractions, prior: Fractions) -> NDArray[Any]:
    """μ of each column, exactly."""
    return np.asarray((columns @ scores) ** 2 / (columns @ prior))


def _best_patterns(
    patterns: NDArray[np.bool_], scores: Fractions, prior: Fractions, odds: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """max Σ μ(S)·θ_S with Σ S_i·θ_S = 1 for every input i: the weights θ, and the price α of each input, in floats."""
    levels = np.where(patterns, odds, 1.0)
    gains = (levels @ scores.astype(float)) ** 2 / (levels @ prior.astype(float))
    rows = Rows()
    places = np.broadcast_to(np.arange(len(patterns)), (patterns.shape[1], len(patterns)))
    rows.add(places, levels.T, 1.0, 1.0)
    scale = float(gains.max())
    weights, duals = rows.solve(-gains / scale, SIMPLEX)
    return weights, -scale * duals


def _most_information(
    patterns: NDArray[np.bool_], scores: Fractions, prior: Fractions, odds: Fraction, prices: NDArray[np.float64]
) -> Fraction:
    """Σα for prices α that are raised, or lowered, together until α·S ≥ μ(S) for every pattern, and just so."""
    levels = np.array([Fraction(1), odds], object)[patterns.astype(int)]
    alpha = np.array([Fraction(price) for price in prices.tolist()], object)
    lacking = (_information(levels, scores, prior) - levels @ alpha) / levels.sum(axis=1)
    return Fraction(sum(alpha) + len(alpha) * max(lacking))
