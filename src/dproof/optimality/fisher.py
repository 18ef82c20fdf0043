"""The law that tells the most about the mean of a population near a prior: the largest Fisher information.

Let the values x_i of a population have the weights π_i e^(θx_i), with θ near 0. A release with the law P tells θ with
the information

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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.errors import InputError, TooLarge
from dproof.exact import exp_above
from dproof.laws.matrix import Matrix
from dproof.mechanisms.mechanism import Optimum
from dproof.optimality.programme import SIMPLEX, Rows
from dproof.optimality.pure import spread
from dproof.optimality.rounding import SLACK, certified_law
from dproof.spaces.categories import Categories
from dproof.spaces.space import Space

_MOST_VALUES = 12  # whose patterns are looked at one by one
_NEGLIGIBLE = 1e-9  # of the weight of a pattern

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
        raise InputError("Fisher information is about the mean of numbers near a prior: give an Interval and a prior")
    if epsilon == 0:
        raise InputError("at epsilon = 0 a release tells nothing of the mean; spend some epsilon")
    if space.size > _MOST_VALUES:
        raise TooLarge(f"Fisher information is maximised for up to {_MOST_VALUES} values; use a coarser step")
    x = np.array([space.line.origin + n * space.line.step for n in range(space.size)], object)
    mean = prior @ x
    scores, variance = prior * (x - mean), Fraction(prior @ (x - mean) ** 2)
    if variance == 0:
        raise InputError("the prior has one value alone, whose mean needs no estimate; give it two values or more")
    patterns = np.array(list(np.ndindex(*(2,) * space.size)), bool)[:-1]  # all high is all low
    weights, prices = _best_patterns(patterns, scores, prior, 1 + spread(epsilon) * (1 - SLACK))
    used = weights > _NEGLIGIBLE
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
