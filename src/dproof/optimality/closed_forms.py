"""Optimal mechanisms that need no solver."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.exact import exp_above, exp_below
from dproof.laws.matrix import Matrix
from dproof.laws.rounding import whole_law
from dproof.optimality.error import Losses
from dproof.optimality.rounding import TOTAL

Found = tuple[Matrix, Fraction]  # a law, and a proven lower bound of the optimum


def best_answers(losses: Losses) -> Found:
    """Each input is answered by an output of least loss: what δ = 1 allows, or a space of one point.

    The optimum is max_i min_j R_ij, or with a prior the mean over i.
    """
    whole = np.zeros(losses.shape, np.int64)
    whole[np.arange(len(whole)), losses.whole.argmin(axis=1)] = 1
    return Matrix(whole, 1), Fraction(0)


def ball_law(losses: Losses, epsilon: Fraction) -> Found:
    """The law of a space that looks the same from every point: two levels, with all near outputs on the higher.

    P_ij = e^ε·l for the n outputs nearest to i and l for the others, with the n of least error; for the discrete metric
    that is n = 1, randomised response. Why it is optimal: with equal prices λ_i = 1/K and levels μ_i = E/K the dual
    bound is E, because every output sees the same losses.

    >>> from dproof import Subsets
    >>> from dproof.optimality.error import losses
    >>> law, bound = ball_law(losses(Subsets(["Music", "Football", "Chess"])), Fraction(1))
    >>> round(float(bound), 7)
    1.1534121
    """
    seen = [int(loss) for loss in np.sort(losses.whole[0])]
    bound, reach = _least_error(seen, exp_above(epsilon))
    odds = exp_below(epsilon)
    near = sum(loss <= reach for loss in seen)
    low = max(1, int(TOTAL / (odds * near + len(seen) - near)))
    high = min(int(low * odds), TOTAL // near)
    whole = np.where(losses.whole <= reach, high, low).astype(np.int64)
    return Matrix(whole, near * high + (len(seen) - near) * low), bound / losses.unit


def _least_error(seen: list[int], odds: Fraction) -> tuple[Fraction, int]:
    """min_n (e Σ_{r ≤ n} loss_r + Σ_{r > n} loss_r) / (e n + J − n), and the n-th loss."""
    found, so_far, whole = [], 0, sum(seen)
    for n, loss in enumerate(seen, 1):
        so_far += loss
        found.append(((odds * so_far + whole - so_far) / (odds * n + len(seen) - n), loss))
    return min(found)


def constant_law(losses: Losses, prior: NDArray[Any] | None) -> Found:
    """The best law that does not depend on the input at all: what ε = 0, δ = 0 leaves.

    It is a matrix game: the best mixture of outputs against the least favourable mixture of inputs.
    """
    inputs, outputs = losses.shape
    if prior is not None:
        expected = prior @ losses.whole
        best = int(expected.argmin())
        weights = [Fraction(int(j == best)) for j in range(outputs)]
        bound = expected[best]
    else:
        from dproof.optimality.programme import solve_game

        mixture, prices = solve_game(losses)
        weights = [Fraction(max(0, round(w * 2**52)), 2**52) for w in mixture.tolist()]
        bound = (np.array(prices, object) @ losses.whole).min()
    law = whole_law(weights, TOTAL)
    return Matrix(np.tile(np.array(law, np.int64), (inputs, 1)), TOTAL), Fraction(bound) / losses.unit
