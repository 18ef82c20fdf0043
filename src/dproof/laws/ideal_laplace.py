"""The ideal lattice Laplace law L(k) = (1−a)/(1+a)·a^|k|, on Z or on |k| ≤ A, with a rational a and one-sided bounds.

Tables of whole numbers are compared with it: it is what they approach, and its profile has a closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dproof.exact import exp_above, exp_below, log_above, log_below


@dataclass(frozen=True, slots=True)
class IdealLaplace:
    """L(k) ∝ a^|k|, for |k| ≤ reach where a reach is given.

    >>> law = IdealLaplace(Fraction(1, 2), None)
    >>> law.peak_above, law.delta(Fraction(1), 1)
    (Fraction(1, 3), Fraction(1, 3))
    """

    a: Fraction
    reach: int | None

    def _power(self, k: int) -> tuple[Fraction, Fraction]:
        """Bounds of a^k; exact while that is cheap."""
        if k <= 16:
            return self.a**k, self.a**k
        return exp_below(k * log_below(self.a)), exp_above(k * log_above(self.a))

    def _cumulative(self, k: int) -> tuple[Fraction, Fraction]:
        """Bounds of P(X ≤ k) on all of Z."""
        if k < 0:
            low, high = self._power(-k)
            return low / (1 + self.a), high / (1 + self.a)
        low, high = self._power(k + 1)
        return 1 - high / (1 + self.a), 1 - low / (1 + self.a)

    def _kept(self) -> tuple[Fraction, Fraction]:
        """Bounds of P(|X| ≤ reach) on all of Z."""
        if self.reach is None:
            return Fraction(1), Fraction(1)
        low, high = self._power(self.reach + 1)
        return 1 - 2 * high / (1 + self.a), 1 - 2 * low / (1 + self.a)

    @property
    def peak_above(self) -> Fraction:
        """P(X = 0), or a little more."""
        return (1 - self.a) / (1 + self.a) / self._kept()[0]

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
        return max([Fraction(0), *(self._excess(k, odds, shift) for k in near)])

    def _excess(self, cut: int, odds: Fraction, shift: int) -> Fraction:
        """P(X ≤ cut) − e·P(X ≤ cut − shift), or a little more."""
        if self.reach is None:
            return self._cumulative(cut)[1] - odds * self._cumulative(cut - shift)[0]
        end = -self.reach - 1
        cut = min(cut, self.reach)
        gone_low, gone_high = self._cumulative(end)
        own = self._cumulative(cut)[1] - gone_low
        other = max(Fraction(0), self._cumulative(cut - shift)[0] - gone_high)
        return min(Fraction(1), (own - odds * other) / self._kept()[0])

    @property
    def absolute(self) -> Fraction:
        """E|X|, to a hundred bits."""
        a = self.a
        if self.reach is None:
            return 2 * a / (1 - a * a)
        n = self.reach
        tail = self._power(n)[1]
        weighted = a * (1 - (n + 1) * tail + n * tail * a) / (1 - a) ** 2  # Σ k a^k
        return 2 * weighted / (1 + 2 * a * (1 - tail) / (1 - a))

    @property
    def square(self) -> Fraction:
        """E X², to a hundred bits."""
        a = self.a
        if self.reach is None:
            return 2 * a / (1 - a) ** 2
        n = self.reach
        tail = self._power(n)[1]
        ends = (n + 1) ** 2 - (2 * n * n + 2 * n - 1) * a + n * n * a * a
        weighted = a * (1 + a - tail * ends) / (1 - a) ** 3  # Σ k² a^k
        return 2 * weighted / (1 + 2 * a * (1 - tail) / (1 - a))
