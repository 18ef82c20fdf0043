"""Optimal mechanisms that need no solver."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.exact import exp_above, exp_below
from dproof.laws.matrix import Matrix
from dproof.mechanisms.error import Losses
from dproof.optimality.rounding import TOTAL

Found = tuple[Matrix, Fraction]  # a law, and a proven lower bound of the optimum
Seen = list[tuple[Fraction, int]]  # the losses that every point sees, rising, each with how often


def best_answers(losses: Losses, prior: NDArray[Any] | None) -> Found:
    """Each input is answered by an output of least loss: what δ = 1 allows, or a space of one point.

    The optimum is max_i min_j R_ij, or with a prior the mean over i.
    """
    whole = np.zeros(losses.shape, np.int64)
    whole[np.arange(len(whole)), losses.whole.argmin(axis=1)] = 1
    least = losses.whole.min(axis=1)
    return Matrix(whole, 1), Fraction(least.max() if prior is None else prior @ least) / losses.unit


def ball_law(losses: Losses, seen: Seen, epsilon: Fraction) -> Found:
    """The law of a space that looks the same from every point: two levels, with all near outputs on the higher.

    P_ij = e^ε·l for the n outputs nearest to i and l for the others, with the n of least error; for the discrete metric
    that is n = 1, randomised response. Why it is optimal: with equal prices λ_i = 1/K and levels μ_i = E/K the dual
    bound is E, because every output sees the same losses.

    >>> from dproof import Subsets
    >>> from dproof.mechanisms.error import losses
    >>> from dproof.optimality.symmetry import view
    >>> sets = losses(Subsets(["Music", "Football", "Chess"]))
    >>> law, bound = ball_law(sets, view(sets), Fraction(1))
    >>> round(float(bound), 7)
    1.1534121
    """
    bound, reach, near = least_two_level(seen, exp_above(epsilon))
    odds, size = exp_below(epsilon), losses.shape[1]
    low = max(1, int(TOTAL / (odds * near + size - near)))
    high = min(int(low * odds), TOTAL // near)
    whole = np.where((losses.whole <= reach * losses.unit).astype(bool), high, low).astype(np.int64)
    return Matrix(whole, near * high + (size - near) * low), bound


def least_two_level(seen: Seen, odds: Fraction) -> tuple[Fraction, Fraction, int]:
    """The least error of a law with e^ε·l on a ball and l outside, its radius, and how many outputs it holds.

    min_r (e Σ_{ρ ≤ r} ρ + Σ_{ρ > r} ρ) / (e #{ρ ≤ r} + #{ρ > r}), from the rising losses and how often each is seen.
    """
    size, whole = sum(n for _, n in seen), sum(loss * n for loss, n in seen)
    found, near, inner = [], 0, Fraction(0)
    for loss, count in seen:
        near, inner = near + count, inner + loss * count
        found.append(((odds * inner + whole - inner) / (odds * near + size - near), loss, near))
    return min(found)
