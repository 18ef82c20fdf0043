"""From ideal weights to whole numbers over a total."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm


def whole_law(weights: Sequence[Fraction], total: int) -> list[int]:
    """The whole numbers nearest to the weights, as parts of the total; what is left over goes to the largest.

    A weight that is not zero keeps at least one: a zero opposite a non-zero would cost an infinite ε.

    >>> whole_law([Fraction(2), Fraction(1), Fraction(0)], 10)
    [7, 3, 0]
    """
    scale = lcm(*(w.denominator for w in weights))
    parts = [w.numerator * (scale // w.denominator) for w in weights]
    mass = sum(parts)
    whole = [max(1, (2 * part * total + mass) // (2 * mass)) if part else 0 for part in parts]
    largest = max(range(len(whole)), key=whole.__getitem__)
    whole[largest] += total - sum(whole)
    return whole
