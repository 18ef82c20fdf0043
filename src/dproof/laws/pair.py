"""Two laws over the same outputs, and exactly how far apart they are.

The worst set for the order P, Q at odds e is {y : P(y) > e·Q(y)}: it collects the positive terms and nothing else,
so one set settles an ordered pair where the definition quantifies over all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dproof.laws.family import Odds, Worst


@dataclass(frozen=True, slots=True)
class Pair:
    """The two inputs of a family whose laws lie farthest apart: their masses on groups of outputs of one ratio each.

    >>> Pair([6, 1], [1, 6], 10).worst(Fraction(2)).value, Pair([6, 1], [1, 6], 10).odds(Fraction(0)).value
    (Fraction(2, 5), Fraction(6, 1))
    """

    p: Sequence[int]
    q: Sequence[int]
    total: int
    source: int = 0
    target: int = 1

    def worst(self, odds: Fraction) -> Worst:
        return Worst(hockey_stick(self.p, self.q, self.total, odds), self.source, self.target)

    def odds(self, delta: Fraction) -> Odds:
        return Odds(tight_odds(self.p, self.q, self.total, delta), self.source, self.target)


def any_pair(inputs: int, own: int, other: int, total: int) -> Pair:
    """Two of the inputs of a family in which all are alike, by what they weigh on the outputs that tell them apart."""
    return Pair([own, other], [other, own], total) if inputs > 1 else Pair([], [], total, 0, 0)


def two_chances_variance(hit: int, miss: int, total: int) -> float | None:
    """The largest variance that a row adds to a debiased count, where it shows what is counted with chance hit/total if
    it has it and miss/total if not; None where the two are the same."""
    if hit == total:
        return 0.0
    p, q = hit / total, miss / total
    return None if hit == miss else max(p * (1 - p), q * (1 - q)) / (p - q) ** 2


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
