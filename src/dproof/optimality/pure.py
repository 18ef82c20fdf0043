"""Designs at δ = 0 between all pairs of inputs: closed forms, laws in floats, and a proven lower bound.

The lower bound of every ε-private mechanism's error comes from any guess of the dual solution, in whole numbers. For
prices λ ≥ 0 of sum 1 over the inputs and any numbers μ, put c_ij = λ_i R_ij − μ_i. Every law P satisfies
Σ_i λ_i Σ_j R_ij P_ij = Σ_i μ_i + Σ_ij c_ij P_ij, and in a column l_j ≤ P_ij ≤ e^ε l_j, so

    max_i Σ_j R_ij P_ij ≥ Σ_i μ_i − max_j (e^ε Σ_i (−c_ij)⁺ − Σ_i (c_ij)⁺)⁺        as Σ_j l_j ≤ 1.

With δ > 0 the weights above e^ε·min_k P_kj hold at most (K − 1)δ in each row; without them the same argument goes
through, and (K − 1)δ Σ_i μ_i⁺ is lost at most. Unbiased laws satisfy Σ_j (y_j − x_i) P_ij = 0 as well, and any multiple
ν_i of that may be added to c_ij.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.exact import exp_above, exp_below
from dproof.laws.matrix import Matrix
from dproof.mechanisms.error import Losses
from dproof.optimality.interior import solve_pure
from dproof.optimality.rounding import SLACK, TOTAL

_LARGEST_ODDS = 1 << 50  # whole numbers of 62 bits tell no larger odds apart
_ONE = 1 << 64
_SHIFTS = 4

Seen = list[tuple[Fraction, int]]  # the losses that every point sees, rising, each with how often


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """A law that keeps the promise, and what no law can beat: a proven lower bound of the optimum."""

    law: Matrix
    lower_bound: Fraction


@dataclass(frozen=True, slots=True, order=True)
class TwoLevel:
    """A law with e^ε·l on a ball and l outside: its error, the radius of the ball, and how many outputs it holds."""

    error: Fraction
    radius: Fraction
    inside: int


def view(losses: Losses) -> Seen | None:
    """The losses that every input and every output sees, each with how often; None where they see different ones."""
    by_input, by_output = np.sort(losses.whole, axis=1), np.sort(losses.whole, axis=0)
    same = (by_input == by_input[0]).all() and (by_output == by_output[:, :1]).all()
    if not same or losses.shape[0] != losses.shape[1]:
        return None
    values, counts = np.unique(by_input[0], return_counts=True)
    return [(Fraction(int(v), losses.unit), int(n)) for v, n in zip(values, counts, strict=True)]


def best_answers(losses: Losses, prior: NDArray[Any] | None) -> Solution:
    """Each input is answered by an output of least loss: what δ = 1 allows, or a space of one point.

    The optimum is max_i min_j R_ij, or with a prior the mean over i.
    """
    whole = np.zeros(losses.shape, np.int64)
    whole[np.arange(len(whole)), losses.whole.argmin(axis=1)] = 1
    least = losses.whole.min(axis=1)
    return Solution(Matrix(whole, 1), Fraction(least.max() if prior is None else prior @ least) / losses.unit)


def free_answer(losses: Losses, prior: NDArray[Any] | None) -> Solution | None:
    """One output for all inputs, where it costs nothing: private whatever the promise, and the optimum is 0.

    None where every output costs something, under an input that counts.
    """
    costs = losses.whole if prior is None else losses.whole[(prior > 0).astype(bool)]
    free = np.flatnonzero(~costs.any(axis=0))
    if not len(free):
        return None
    whole = np.zeros(losses.shape, np.int64)
    whole[:, free[0]] = 1
    return Solution(Matrix(whole, 1), Fraction(0))


def ball_law(losses: Losses, seen: Seen, epsilon: Fraction) -> Solution:
    """The law of a space that looks the same from every point: two levels, with all near outputs on the higher.

    P_ij = e^ε·l for the n outputs nearest to i and l for the others, with the n of least error; for the discrete metric
    that is n = 1, randomised response. Why it is optimal: with equal prices λ_i = 1/K and levels μ_i = E/K the dual
    bound is E, because every output sees the same losses.

    >>> from dproof import Subsets
    >>> from dproof.mechanisms.error import losses
    >>> sets = losses(Subsets(["Music", "Football", "Chess"]))
    >>> round(float(ball_law(sets, view(sets), Fraction(1)).lower_bound), 7)
    1.1534121
    """
    best = least_two_level(seen, exp_above(epsilon))
    odds, size, near = exp_below(epsilon), losses.shape[1], best.inside
    low = max(1, int(TOTAL / (odds * near + size - near)))
    high = min(int(low * odds), TOTAL // near)
    whole = np.where((losses.whole <= best.radius * losses.unit).astype(bool), high, low).astype(np.int64)
    return Solution(Matrix(whole, near * high + (size - near) * low), best.error)


def least_two_level(seen: Seen, odds: Fraction) -> TwoLevel:
    """The law of least error with e^ε·l on a ball and l outside.

    min_r (e Σ_{ρ ≤ r} ρ + Σ_{ρ > r} ρ) / (e #{ρ ≤ r} + #{ρ > r}), from the rising losses and how often each is seen.
    """
    size, total = sum(n for _, n in seen), sum(loss * n for loss, n in seen)
    laws, near, inner = [], 0, Fraction(0)
    for loss, count in seen:
        near, inner = near + count, inner + loss * count
        laws.append(TwoLevel((odds * inner + total - inner) / (odds * near + size - near), loss, near))
    return min(laws)


def spread(epsilon: Fraction) -> float:
    """e^ε − 1 as a float, a little less."""
    return float(min(exp_above(epsilon), Fraction(_LARGEST_ODDS)) - 1)


def pure_law(
    losses: Losses, epsilon: Fraction, prior: NDArray[Any] | None, delta: Fraction = Fraction(0)
) -> tuple[NDArray[np.float64], Fraction]:
    """A law in floats, ε-private with a little to spare, and a proven lower bound for all (ε, δ)-private ones."""
    scale = float(losses.floats.max()) or 1.0
    floats, width = losses.floats / scale, spread(epsilon) * (1 - SLACK)
    ones = np.ones_like(floats)
    if prior is None:
        law, multipliers = solve_pure(np.stack([ones, floats]), (1, 0), np.zeros_like(floats), width, minimax=True)
    else:
        law, multipliers = solve_pure(ones[None], (1,), floats * prior.astype(float)[:, None], width, minimax=False)
    prices = least_favourable(multipliers[-1]) if prior is None else list(prior)
    return law, pure_bound(exp_above(epsilon), losses, prices, -scale * multipliers[0], delta=delta)


def least_favourable(prices: NDArray[np.float64]) -> list[Fraction]:
    """Non-negative prices of sum 1, near those a solver found."""
    positive = np.maximum(prices, 0)
    if not positive.any():
        positive = np.ones(len(prices))
    whole = [round(price * _ONE) for price in (positive / positive.sum()).tolist()]
    return [Fraction(price, sum(whole)) for price in whole]


def pure_bound(
    odds: Fraction,
    losses: Losses,
    prices: list[Fraction],
    levels: NDArray[np.float64],
    drift: tuple[NDArray[np.float64], NDArray[Any]] | None = None,
    delta: Fraction = Fraction(0),
) -> Fraction:
    """The bound above, for odds of at least e^ε, prices λ, levels μ and a drift (ν, whole numbers y_j − x_i).

    >>> from dproof import Categories
    >>> from dproof.mechanisms.error import losses
    >>> pair = losses(Categories(["yes", "no"]))
    >>> pure_bound(Fraction(3), pair, [Fraction(1, 2)] * 2, np.array([0.125, 0.125]))
    Fraction(1, 4)
    """
    share = lcm(*(price.denominator for price in prices))
    scale = share * losses.unit
    fine = max(1, (_ONE << 32) // scale)  # so that no digit of a float is lost
    weights = np.array([int(price * share) * fine for price in prices], object)
    unit = scale * fine
    mu = np.array([_whole(level, unit) for level in levels.tolist()], object)
    c = weights[:, None] * losses.whole - mu[:, None]
    if drift is not None:
        c = c - np.array([_whole(slope, unit) for slope in drift[0].tolist()], object)[:, None] * drift[1]
    a, b = odds.numerator, odds.denominator
    lost = 0
    for last in range(_SHIFTS, -1, -1):
        below = (c < 0).astype(bool)
        negative = np.where(below, -c, 0).sum(axis=0)
        over = a * negative - b * (c.sum(axis=0) + negative)
        worst = int(over.max())
        if worst <= 0 or last == 0:
            break
        # Lowering every μ_i by s lowers the excess of a column by s times its slope, at least.
        counts = below.sum(axis=0).tolist()
        shift = max(-(-x // (a * n + b * (len(mu) - n))) for x, n in zip(over, counts, strict=True))
        c, lost = c + shift, lost + shift
    lowered = [int(m) - lost for m in mu]
    bound = sum(lowered) - Fraction(max(worst, 0), b) - (len(mu) - 1) * delta * sum(max(m, 0) for m in lowered)
    return max(bound / unit, Fraction(0))


def _whole(value: float, unit: int) -> int:
    """⌊value · unit⌋, with all the digits that the float has."""
    numerator, denominator = value.as_integer_ratio()
    return numerator * unit // denominator
