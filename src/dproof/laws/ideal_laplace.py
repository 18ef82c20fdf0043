"""The discrete Laplace law by its formula, which the tables of `laplace.py` approach: bounds of δ and moments."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dproof.exact import exp_above, exp_below, log_above, log_below


@dataclass(frozen=True, slots=True)
class IdealLaplace:
    """The law L(k) = (1−a)/(1+a)·a^|k| with a rational a, on |k| ≤ reach where a reach is given; one-sided bounds.

    >>> law = IdealLaplace(Fraction(1, 2), None)
    >>> law.peak_above, law.delta(Fraction(1), 1)
    (Fraction(1, 3), Fraction(1, 3))
    """

    a: Fraction
    reach: int | None

    def _power(self, k: int, up: bool) -> Fraction:
        """a^k, rounded up or down; exact while that is cheap."""
        if k <= 16:
            return Fraction(self.a**k)
        return exp_above(k * log_above(self.a)) if up else exp_below(k * log_below(self.a))

    def _upto(self, k: int, up: bool) -> Fraction:
        """P(X ≤ k) for the law on all of Z, rounded up or down."""
        return self._power(-k, up) / (1 + self.a) if k < 0 else 1 - self._power(k + 1, not up) / (1 + self.a)

    def _reached(self, k: int, up: bool) -> Fraction:
        """The same, of what lies within the reach."""
        if self.reach is None:
            return self._upto(k, up)
        return max(Fraction(0), self._upto(min(k, self.reach), up) - self._upto(-self.reach - 1, not up))

    @property
    def _kept(self) -> Fraction:
        """P(|X| ≤ reach) for the law on all of Z, rounded down."""
        return Fraction(1) if self.reach is None else 1 - 2 * self._upto(-self.reach - 1, True)

    @property
    def peak_above(self) -> Fraction:
        """P(X = 0), or a little more."""
        return (1 - self.a) / (1 + self.a) / self._kept

    def delta(self, odds: Fraction, shift: int) -> Fraction:
        """The tight δ at odds e ≥ 1 for all shifts up to D, or a little more.

        The ratio P(k)/P(k−D) falls with k, so the worst set is {k ≤ K}; on Z, K = ⌈(D − b·ln e)/2⌉ − 1 with
        a = e^(−1/b), and δ = 1 − a^(K+1)/(1+a) − e·a^(D−K)/(1+a) for b·ln e < D, else 0.
        """
        if shift == 0:
            return Fraction(0)
        steps = log_below(odds) / -log_below(self.a)
        cut = -((steps - shift) // 2) - 1
        # Logarithms are known to 2^-100 or so: a cut that is off by one is caught by its neighbours.
        near = [k for k in (cut - 1, cut, cut + 1) if k >= 0]
        if self.reach is not None:  # up to here the shifted law has no mass, so all of this is in the worst set
            near.append(shift - self.reach - 1)
        excess = (self._reached(k, True) - odds * self._reached(k - shift, False) for k in near)
        return max([Fraction(0), *excess]) / self._kept

    @property
    def moments(self) -> tuple[Fraction, Fraction]:
        """E|X| and E X², to a hundred bits: Σ k·a^k and Σ k²·a^k in closed form."""
        a, n = self.a, self.reach or 0
        tail = Fraction(0) if self.reach is None else self._power(n, True)
        first = a * (1 - (n + 1) * tail + n * tail * a) / (1 - a) ** 2
        ends = (n + 1) ** 2 - (2 * n * n + 2 * n - 1) * a + n * n * a * a
        second = a * (1 + a - tail * ends) / (1 - a) ** 3
        mass = 1 + 2 * a * (1 - tail) / (1 - a)
        return 2 * first / mass, 2 * second / mass
