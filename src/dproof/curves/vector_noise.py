"""Whole-number noise on the coordinates of a vector, calibrated to how far a neighbour moves them together."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any, Literal, TypeAlias

from dproof.coins import Coins
from dproof.curves.expansion import Integers, Split
from dproof.errors import InputError
from dproof.exact import bisect, exp_below, root_above, written
from dproof.laws.divergence import normal_delta, profile_odds
from dproof.laws.gaussian import GaussianSum, gaussian_sum
from dproof.laws.k_norm import KNorm, k_norm
from dproof.laws.laplace import TwoSided
from dproof.mechanisms.noise import demand_gaussian, integer_laplace
from dproof.privacy import Privacy

VectorLaw: TypeAlias = TwoSided | GaussianSum | KNorm
_NAMES: dict[Split, str] = {"laplace": "Laplace", "gaussian": "Gaussian", "k_norm": "K-norm"}


@dataclass(frozen=True, slots=True, eq=False)
class VectorNoise:
    """Whole-number noise for `terms` coordinates, and how far a neighbour moves them together.

    `size` is the l1 norm of the largest move for Laplace noise, which is drawn for each coordinate by itself as
    Gaussian noise is, and the squared l2 norm for that. K-norm noise is drawn for a vector at a time; `size` is the sum
    of the norms of what moves in each vector. What moves one of them once is a whole number of cells: else a sum of
    ⌈‖d‖/cell⌉ over vectors might exceed that of the sum.
    """

    split: Split
    law: VectorLaw
    size: int
    terms: int

    @property
    def variance(self) -> Fraction:
        """The variance of one coordinate, exactly."""
        return self.law.variance

    def worst(self, odds: Fraction) -> Fraction:
        """An upper bound of δ at these odds."""
        return self.law.delta_vector(odds, self.size, self.terms)

    def odds(self, delta: Fraction) -> Fraction | None:
        """Odds that serve at δ: the least for Gaussian noise, those of δ = 0 for Laplace; None where none will do."""
        pure = self.law.pure(self.size)
        return pure if pure is not None else profile_odds(self.worst, None, delta)

    @property
    def name(self) -> str:
        return f"{_NAMES[self.split]} noise"

    def draw(self, rows: int, source: Coins) -> Integers:
        """One vector of noise for each row."""
        return self.law.draw(rows * self.terms, source).reshape(rows, self.terms)


def vector_noise(
    split: Split,
    size: int,
    terms: int,
    privacy: Privacy,
    *,
    ball: Literal["l2", "linf"] = "linf",
    vectors: int = 1,
    moves: int = 1,
) -> VectorNoise:
    """The least noise of a kind that keeps the promise, for `vectors` of so many terms in all; K-norm noise in a norm.

    A neighbour moves vectors so many times, each time one of them by at most size/moves, and the moves share ε.

    >>> noise = vector_noise("gaussian", 4 * 16384**2, 9, Privacy(1, "1e-6"))
    >>> round(float(noise.variance) ** 0.5 / (2 * 16384), 4)
    4.2247
    """
    if split == "laplace":
        # A δ would hardly narrow Laplace noise, and without one its proof is a comparison of neighbouring weights.
        law: Any = integer_laplace(size, Privacy(privacy.epsilon)).law
        return VectorNoise(split, law, size, terms)
    if split == "k_norm":
        if not privacy.epsilon:
            raise InputError("K-norm noise needs epsilon above 0")
        one = -(-size // moves)
        return VectorNoise(split, k_norm(ball, terms // vectors, one, privacy.epsilon / moves), one * moves, terms)
    demand_gaussian(privacy.epsilon, privacy.delta)
    return _gaussian(size, terms, privacy.epsilon, privacy.delta)


@lru_cache(maxsize=64)
def _gaussian(size: int, terms: int, epsilon: Fraction, delta: Fraction) -> VectorNoise:
    """σ from the normal profile, then as little more as the lattice's own bound needs."""
    scale = bisect(lambda scale: normal_delta(1 / scale, epsilon) <= delta, Fraction(1, 1 << 30), Fraction(1 << 10))
    sigma = root_above(Fraction(size)) * scale
    odds = exp_below(epsilon)
    for power in range(20, 2, -1):
        wider = Fraction(ceil(sigma * (1 + Fraction(1, 1 << power)) * 256), 256)
        law = gaussian_sum(wider**2)
        if law.delta_vector(odds, size, terms) <= delta:
            return VectorNoise("gaussian", law, size, terms)
    least = written(law.charged(odds, terms))
    raise InputError(
        f"at epsilon {epsilon} Gaussian noise is proven for a delta above {least} only, as its tables are cut off; "
        "take Laplace noise, a larger delta or a smaller epsilon"
    )
