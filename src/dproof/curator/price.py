"""The price of a question, and the noise that it buys.

Without ρ a price is (ε, δ), and the parts of a question share both (basic composition). With ρ it is ρ, which the parts
share: Gaussian noise on all sums together by how far a neighbour moves them in l2, Laplace noise and choices by the ε
whose ρ is no larger. So a question about k counts needs √k times the noise of one, and not k times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, isqrt

from dproof.composition import pure_epsilon
from dproof.curator.account import covers_cut
from dproof.errors import TooLarge
from dproof.exact import root_above
from dproof.laws.gaussian import Gaussian
from dproof.mechanisms.noise import Noise, integer_gaussian, integer_laplace
from dproof.privacy import Cost, Privacy

WIDEST = 1 << 12  # σ up to which a cell of the table holds one value
_LEAST_CELLS = WIDEST // 3  # σ, in cells, of wider noise
_MOST = 1 << 50  # σ beyond which sums of whole numbers come near 2^63
_DIGITS = 1 << 20  # σ² is a whole number of these parts


@dataclass(frozen=True, slots=True)
class Price:
    """A promise (ε, δ) that is paid for; where a ledger counts ρ, the ρ that keeps it, for which noise is made."""

    privacy: Privacy
    rho: Fraction | None = None

    @property
    def amount(self) -> Cost:
        return Cost(self.privacy.epsilon, self.privacy.delta, self.rho)

    def part(self, share: Fraction) -> Price:
        """The price of one part of a question, where the parts have shares of 1."""
        p = self.privacy
        if self.rho is None:
            return Price(Privacy(p.epsilon * share, p.delta * share, neighbours=p.neighbours))
        # The promise is that of the question; its parts share what δ allows tables to miss.
        return Price(Privacy(p.epsilon, p.delta * share, neighbours=p.neighbours), self.rho * share)

    @property
    def pure(self) -> Privacy:
        """What may be bought with δ = 0."""
        epsilon = self.privacy.epsilon if self.rho is None else pure_epsilon(self.rho)
        return Privacy(epsilon, neighbours=self.privacy.neighbours)

    def noise(self, size: int, square: int, cells: int) -> Noises:
        """The narrower of Laplace and Gaussian noise for a vector that moves by `size` in l1, `square` in squared l2.

        At most `cells` of its numbers move.
        """
        privacy = self.privacy if self.rho is None else self.pure
        laplace = integer_laplace(size, privacy, coordinates=cells)
        if not self.privacy.delta:
            return Noises({0: laplace})
        if self.rho is None:
            gaussian = Noises({0: integer_gaussian(square, privacy, coordinates=cells)})
        else:
            gaussian = self.gaussian({0: Fraction(1)}, {0: square}, Fraction(square), cells)
        return gaussian if gaussian and gaussian.of[0].variance < laplace.variance else Noises({0: laplace})

    def gaussian(
        self, weights: Mapping[int, Fraction], squares: Mapping[int, int], moved: Fraction, cells: int
    ) -> Noises:
        """Gaussian noise for several sums together, each as wide as 1/weight; none where ρ or δ is too small for it.

        `moved` is the most that a neighbour moves them: Σ (weight · move)², over all numbers of all sums, of which at
        most `cells` of each move. N_Z(0, σ²) on every number has ρ = Σ move²/2σ² (Canonne, Kamath, Steinke 2020).
        Where a cell of a table holds several values, a move of d is one of d/unit cells, or up to one more.
        """
        assert self.rho is not None
        if not self.rho:
            return Noises({})
        allowed, moving = 1 / root_above(1 / (2 * self.rho)), root_above(moved)
        wide = sum(moving / allowed / weight >= WIDEST // 2 for weight in weights.values())
        left = allowed - root_above(Fraction(wide * cells)) / _LEAST_CELLS
        if left < allowed / 2:
            return Noises({})
        laws = {n: _law((moving / left / weight) ** 2) for n, weight in weights.items()}
        cut = sum((2 * cells * law.distance for law in laws.values()), Fraction(0))
        if not covers_cut(self.privacy.epsilon, self.privacy.delta, cut):
            return Noises({})
        return Noises({n: Noise("Gaussian", law, squares[n], cells) for n, law in laws.items()}, cut)


@dataclass(frozen=True, slots=True)
class Noises:
    """The noise of some sums, and how far its tables may lie from the laws whose ρ is counted (see `privacy.Cost`)."""

    of: dict[int, Noise]
    cut: Fraction = Fraction(0)

    def __bool__(self) -> bool:
        return bool(self.of)


def _law(variance: Fraction) -> Gaussian:
    return _table(Fraction(-(-variance * _DIGITS // 1), _DIGITS))


@lru_cache(maxsize=256)
def _table(variance: Fraction) -> Gaussian:
    sigma = isqrt(int(variance))
    if sigma > _MOST:
        raise TooLarge("the noise would be too wide: allow more epsilon, or ask for less at once")
    # What is charged as one value to a cell has a σ below WIDEST, which may have been rounded up to it.
    unit = 2 * (isqrt(ceil(variance) - 1) // WIDEST) + 1
    return Gaussian(variance / unit**2, unit)
