"""The distance of two laws: the hockey-stick divergence, exactly, and the least odds at which it is at most δ.

The worst set for the order P, Q at odds e is {y : P(y) > e·Q(y)}: it collects the positive terms and nothing else,
so one set settles an ordered pair where the definition quantifies over all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dproof.exact import bisect, exp_below, log_above

_BITS = 192  # in which the normal law is computed
_LARGEST_EPSILON = 4096


@dataclass(frozen=True, slots=True)
class Worst:
    """The largest hockey-stick divergence at given odds, and an ordered pair of inputs that attains it."""

    value: Fraction
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Odds:
    """The tight e^ε at a given δ (None is infinite), and an ordered pair of inputs that attains it."""

    value: Fraction | None
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Pair:
    """Two inputs that no other pair exceeds at any odds: their masses on groups of outputs of one ratio each.

    >>> Pair([6, 1, 3], [1, 6, 3], 10).worst(Fraction(2)).value, Pair([6, 1, 3], [1, 6, 3], 10).odds(Fraction(0)).value
    (Fraction(2, 5), Fraction(6, 1))
    """

    p: Sequence[int]
    q: Sequence[int]
    total: int
    source: int = 0
    target: int = 1

    def worst(self, odds: Fraction) -> Worst:
        return Worst(hockey_stick(self.p, self.q, self.total, odds), self.source, self.target)

    def profile(self, every: Sequence[Fraction]) -> list[Fraction]:
        return [hockey_stick(self.p, self.q, self.total, odds) for odds in every]

    def odds(self, delta: Fraction) -> Odds:
        return Odds(tight_odds(self.p, self.q, self.total, delta), self.source, self.target)


def hockey_stick(p: Iterable[Any], q: Iterable[Any], total: int, odds: Fraction) -> Fraction:
    """Σ_y max(0, P(y) − e·Q(y)), exactly; the least δ for which P(A) ≤ e·Q(A) + δ on every set A.

    Generalises HLM16, Theorem 2.

    >>> hockey_stick([6, 1, 1, 1, 1], [1, 6, 1, 1, 1], 10, Fraction(2))
    Fraction(2, 5)
    """
    a, b = odds.numerator, odds.denominator
    excess = sum(max(0, int(x) * b - int(y) * a) for x, y in zip(p, q, strict=True))
    return Fraction(excess, b * total)


def worst_set(p: Iterable[Any], q: Iterable[Any], odds: Fraction) -> tuple[int, ...]:
    """The outputs y with P(y) > e·Q(y)."""
    a, b = odds.numerator, odds.denominator
    return tuple(n for n, (x, y) in enumerate(zip(p, q, strict=True)) if int(x) * b > int(y) * a)


def tight_odds(p: Iterable[Any], q: Iterable[Any], total: int, delta: Fraction) -> Fraction | None:
    """The least e ≥ 1 with P(A) ≤ e·Q(A) + δ on every set A, exactly; None where there is none.

    With outputs by falling ratio P/Q and prefix sums p_r, q_r over finite ratios, and s = P(Q = 0):
    e = max(1, max_r (s + p_r − δ)/q_r), and infinite when s > δ.

    >>> tight_odds([6, 1, 1], [1, 6, 1], 8, Fraction(0))
    Fraction(6, 1)
    """
    allowance = delta * total
    pairs = [(int(x), int(y)) for x, y in zip(p, q, strict=True) if x]
    top = sum(x for x, y in pairs if not y)
    if top > allowance:
        return None
    best, bottom = Fraction(1), 0
    for x, y in sorted((xy for xy in pairs if xy[1]), key=lambda xy: Fraction(*xy), reverse=True):
        top, bottom = top + x, bottom + y
        if top - allowance > best * bottom:
            best = Fraction(top - allowance) / bottom
    return best


def profile_odds(delta_at: Callable[[Fraction], Fraction], pure: Fraction | None, delta: Fraction) -> Fraction | None:
    """The least odds, to one part in 2^60, at which a falling profile is at most δ; None where there are none.

    `pure` are odds that serve at δ = 0, if any do.
    """
    if delta_at(Fraction(1)) <= delta:
        return Fraction(1)
    if delta == 0:
        return pure
    low, high = Fraction(0), Fraction(1)
    while delta_at(exp_below(high)) > delta:
        if high > _LARGEST_EPSILON:
            return None
        low, high = high, 2 * high
    if pure is not None:
        high = min(high, log_above(pure))
    odds = exp_below(bisect(lambda epsilon: delta_at(exp_below(epsilon)) <= delta, low, high))
    return odds if delta_at(odds) <= delta else pure


def normal_delta(mu: Fraction, epsilon: Fraction) -> Fraction:
    """A fraction at least δ(ε) of two normal laws whose means lie μ standard deviations apart, within about 2^-150.

    δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), for ε of either sign. Balle and Wang 2018.

    >>> round(float(normal_delta(Fraction(10**10, 37306316348), Fraction(1))), 10)
    1e-05
    """
    if mu <= 0:
        return Fraction(0)
    if epsilon > 40 * mu + mu * mu:  # then δ ≤ Φ(μ/2 − ε/μ) ≤ Φ(−40)
        return Fraction(1, 1 << 1000)
    from flint import arb, ctx, fmpq  # lazy: only Gaussian noise needs it

    before, ctx.prec = ctx.prec, _BITS
    try:
        m, e = (arb(fmpq(x.numerator, x.denominator)) for x in (mu, epsilon))
        own, other = (((e / m + side * m / 2) / arb(2).sqrt()).erfc() / 2 for side in (-1, 1))
        mantissa, exponent = (own - e.exp() * other).upper().man_exp()
    finally:
        ctx.prec = before
    return min(Fraction(1), max(Fraction(0), Fraction(int(mantissa)) * Fraction(2) ** int(exponent)))
