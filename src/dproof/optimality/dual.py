"""A lower bound of every ε-private mechanism's error, from any guess of the dual solution, in whole numbers.

For prices λ ≥ 0 of sum 1 over the inputs and any numbers μ, put c_ij = λ_i R_ij − μ_i. Every law P satisfies
Σ_i λ_i Σ_j R_ij P_ij = Σ_i μ_i + Σ_ij c_ij P_ij, and in a column l_j ≤ P_ij ≤ e^ε l_j, so

    max_i Σ_j R_ij P_ij ≥ Σ_i μ_i − max_j (e^ε Σ_i (−c_ij)⁺ − Σ_i (c_ij)⁺)⁺        as Σ_j l_j ≤ 1.

With δ > 0 the weights above e^ε·min_k P_kj hold at most (K − 1)δ in each row; without them the same argument goes
through, and (K − 1)δ Σ_i μ_i⁺ is lost at most. Unbiased laws satisfy Σ_j (y_j − x_i) P_ij = 0 as well, and any multiple
ν_i of that may be added to c_ij.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.mechanisms.error import Losses

_ONE = 1 << 64
_SHIFTS = 4


def least_favourable(found: NDArray[np.float64]) -> list[Fraction]:
    """Non-negative prices of sum 1, near those a solver found."""
    positive = np.maximum(found, 0)
    if not positive.any():
        positive = np.ones(len(found))
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
