"""From ideal weights to whole numbers over a total."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def whole_law(weights: Sequence[Fraction], total: int) -> list[int]:
    """The whole numbers nearest to the weights, as parts of the total; what is left over goes to the largest.

    A weight that is not zero keeps at least one: a zero opposite a non-zero would cost an infinite ε.

    >>> whole_law([Fraction(2), Fraction(1), Fraction(0)], 10)
    [7, 3, 0]
    """
    mass = sum(weights)
    whole = [max(1, round(w * total / mass)) if w else 0 for w in weights]
    largest = max(range(len(whole)), key=whole.__getitem__)
    whole[largest] += total - sum(whole)
    return whole
