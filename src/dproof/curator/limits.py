"""What a limit (ε, δ) still allows: by the sums of ε and δ, or by the sum of ρ.

A limit without δ, and every limit of a ledger with basic accounting, is kept by sums: with questions and prices chosen
after seeing earlier answers, Σε and Σδ still hold (basic composition).

Else a limit is kept in ρ (zCDP): questions whose ρ add up to at most ρ(ε, δ) keep (ε, δ), whatever chooses them
(Feldman and Zrnic 2021; Whitehouse, Ramdas, Rogers and Wu 2023). For each α the product of e^((α−1)(loss − αρ)) over
the answers is at most 1 on average, whatever is asked next, so the loss of all has the moments of ρ(ε, δ).
The sums count beside it: they are better for a few large prices. Which of the two proofs covers what was asked may
depend on the answers. Hence each has a part of δ of its own: P(A) − e^ε P'(A) is at most the one part over the
outcomes that the first covers, at most the other over those that the second does, and so at most δ over all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from dproof.composition import concentrated_epsilon, concentrated_rho
from dproof.exact import exp_above
from dproof.privacy import Cost, Privacy

_SUMS = Fraction(1, 16)  # of δ: what sums of ε and δ may use
_CUT = Fraction(1, 1024)  # of δ: what the tables of Gaussian noise may miss
_DIGITS = 6  # of an ε that is left
_MANY = 10**9  # times that nothing can be paid


class Limit(Protocol):
    """What may be spent in all."""

    def allows(self, total: Cost) -> bool:
        """Whether all that was paid, and is to be paid, keeps to the limit."""

    @property
    def whole(self) -> Cost:
        """What may be spent where nothing is."""

    def spent(self, total: Cost) -> Cost:
        """What was paid, as (ε, δ): with ρ, that of the same questions if all had been fixed beforehand."""

    def left(self, total: Cost) -> Cost:
        """A price that may still be paid, with as large an ε as there is."""

    def times(self, total: Cost, cost: Cost) -> int:
        """How many times a cost may still be paid."""


@dataclass(frozen=True, slots=True)
class Sums:
    """ε and δ add up."""

    whole: Cost

    def allows(self, total: Cost) -> bool:
        return total.epsilon <= self.whole.epsilon and total.delta <= self.whole.delta

    def spent(self, total: Cost) -> Cost:
        return Cost(total.epsilon, total.delta)

    def left(self, total: Cost) -> Cost:
        epsilon, delta = self.whole.epsilon - total.epsilon, self.whole.delta - total.delta
        return Cost(max(Fraction(0), epsilon), max(Fraction(0), delta))

    def times(self, total: Cost, cost: Cost) -> int:
        left = self.left(total)
        return min(_times(left.epsilon, cost.epsilon), _times(left.delta, cost.delta)) if self.allows(total) else 0


@dataclass(frozen=True, slots=True)
class Concentrated:
    """ρ adds up, or ε and δ do, within the parts of δ that are set aside for each.

    >>> limit = Concentrated(Fraction(1), Fraction("1e-6"))
    >>> round(float(limit.whole.rho), 6), limit.allows(Cost(Fraction(2), Fraction("1e-6"), Fraction("0.024")))
    (0.024215, True)
    """

    epsilon: Fraction
    delta: Fraction

    @property
    def whole(self) -> Cost:
        return Cost(self.epsilon, self.delta, rho_for(self.epsilon, self.delta))

    @property
    def _sums(self) -> Sums:
        return Sums(Cost(self.epsilon, self.delta * _SUMS))

    def _rho_left(self, total: Cost) -> Fraction:
        """How much of ρ is left; negative where ρ does not cover what was paid."""
        if total.rho is None or not covers_cut(self.epsilon, self.delta, total.cut):
            return Fraction(-1)
        return rho_for(self.epsilon, self.delta) - total.rho

    def allows(self, total: Cost) -> bool:
        return self._sums.allows(total) or self._rho_left(total) >= 0

    def spent(self, total: Cost) -> Cost:
        rho, left = total.rho, self._rho_left(total)
        if rho is None or left < 0 or self._sums_left(total).epsilon > self._priced(left).epsilon:
            return Cost(total.epsilon, total.delta, rho)
        if not rho:
            return Cost(rho=rho)
        epsilon = concentrated_epsilon(rho, self.delta * (1 - _SUMS - _CUT))
        return Cost(min(epsilon, self.epsilon), self.delta, rho)

    def left(self, total: Cost) -> Cost:
        by_sums, by_rho = self._sums_left(total), self._priced(self._rho_left(total))
        return replace(by_sums, rho=by_rho.rho) if by_sums.epsilon > by_rho.epsilon else by_rho

    def times(self, total: Cost, cost: Cost) -> int:
        by_sums, left = self._sums.times(total, cost), self._rho_left(total)
        if left < 0 or cost.rho is None:
            return by_sums
        cut = self.delta * _CUT / (1 + exp_above(self.epsilon)) - total.cut
        return max(by_sums, min(_times(left, cost.rho), _times(cut, cost.cut)))

    def _sums_left(self, total: Cost) -> Cost:
        return self._sums.left(total) if self._sums.allows(total) else Cost()

    def _priced(self, rho: Fraction) -> Cost:
        """The largest ε in six digits whose ρ, at δ, is no larger."""
        if rho >= rho_for(self.epsilon, self.delta):
            return self.whole
        if rho <= 0 or rho_for(Fraction(0), self.delta) > rho:
            return Cost(rho=max(Fraction(0), rho))
        epsilon = concentrated_epsilon(rho, self.delta * (1 - _SUMS - _CUT))
        step = _last_digit(epsilon)
        epsilon = epsilon // step * step
        while rho_for(epsilon, self.delta) > rho:
            epsilon -= step
        return Cost(min(epsilon, self.epsilon), self.delta, rho)


def limit_of(epsilon: Fraction, delta: Fraction, *, in_rho: bool) -> Limit:
    return Concentrated(epsilon, delta) if in_rho and delta else Sums(Cost(epsilon, delta))


def rho_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The ρ that a price (ε, δ) buys and that a limit (ε, δ) holds; δ is above 0."""
    return concentrated_rho(epsilon, delta * (1 - _SUMS - _CUT))


def covers_cut(epsilon: Fraction, delta: Fraction, cut: Fraction) -> bool:
    """Whether the part of δ that is set aside for it covers that tables lie so far from their laws.

    Where P and Q lie within `cut` of laws that keep (ε, δ), they keep (ε, δ + (1 + e^ε)·cut).
    """
    return not cut or (1 + exp_above(epsilon)) * cut <= delta * _CUT


def amount(privacy: Privacy) -> Cost:
    """What a promise of privacy costs."""
    return Cost(privacy.epsilon, privacy.delta)


def _times(left: Fraction, cost: Fraction) -> int:
    return int(left // cost) if cost else _MANY


def _last_digit(value: Fraction) -> Fraction:
    """What the last of six digits is worth."""
    step = Fraction(1)
    while step * 10**_DIGITS <= value:
        step *= 10
    while step * 10 ** (_DIGITS - 1) > value > Fraction(1, 10**40):
        step /= 10
    return step
