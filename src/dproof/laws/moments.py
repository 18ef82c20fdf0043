"""An axis of numbers that are only summed: their powers are undone by the moments of the noise (see `debias`)."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, isfinite

import numpy as np

from dproof.errors import InputError
from dproof.laws.scores import Array, Polynomial, Powers, Scores, unmixed_powers


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """A number that is only summed: x + Z with noise of known moments E Z, E Z², …, or without noise.

    The states are the powers of the number up to `states − 1`; `reach` bounds it, noise and all, all but surely;
    it is infinite where nobody has read or declared the number.
    """

    states: int
    noise: tuple[float, ...]
    reach: float

    @property
    def blocks(self) -> int:
        return 1

    @property
    def is_declared(self) -> bool:
        """Whether x is known to lie in [−1, 1]: what has no noise is of a public column, which nobody declared."""
        return any(self.noise)

    def scores(self, powers: Powers) -> Scores:
        (power,) = powers
        if power > len(self.noise):
            return Polynomial(np.full(power + 1, np.nan), self.states, self.reach)
        return Polynomial(unmixed_powers(self.noise, power)[power], self.states, self.reach)

    def naive(self, powers: Powers) -> Scores:
        (power,) = powers
        return Polynomial(np.eye(power + 1)[power], self.states, self.reach)

    def evenly(self) -> Array:
        """E (x + Z)^k for x spread evenly over what it may be and noise with the moments of Laplace's law."""
        if not isfinite(self.reach):
            raise InputError("the numbers of a public column are not declared, so their ± cannot be predicted")
        spread = self.noise[1]
        noise = [1.0, 0.0, spread, 0.0, 6 * spread**2]
        most = 1.0 if self.is_declared else self.reach
        even = [0.0 if k % 2 else most**k / (k + 1) for k in range(5)]
        return np.array([sum(comb(k, i) * even[k - i] * noise[i] for i in range(k + 1)) for k in range(self.states)])
