"""The least odds at which a falling profile δ(e) keeps a promise."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dproof.exact import bisect, exp_below, log_above


def tight_odds(delta_at: Callable[[Fraction], Fraction], pure: Fraction | None, delta: Fraction) -> Fraction | None:
    """The least odds, to one part in 2^60, at which a falling profile is at most δ; None where there are none.

    `pure` are odds that serve at δ = 0, if any do.
    """
    if delta_at(Fraction(1)) <= delta:
        return Fraction(1)
    if delta == 0:
        return pure
    low, high = Fraction(0), Fraction(1)
    while delta_at(exp_below(high)) > delta:
        if high > 4096:
            return None
        low, high = high, 2 * high
    if pure is not None:
        high = min(high, log_above(pure))
    odds = exp_below(bisect(lambda epsilon: delta_at(exp_below(epsilon)) <= delta, low, high))
    return odds if delta_at(odds) <= delta else pure
