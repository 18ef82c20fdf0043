"""A geometric law in blocks: a table of digits whose last entry, the escape, adds one block and draws again."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def falling(first: int, fall: Fraction, cells: int) -> list[int]:
    """`first`, then each weight at least the one before it over `fall`: no ratio of neighbours exceeds it.

    >>> falling(8, Fraction(3), 4)
    [8, 3, 1, 1]
    """
    table, p, q = [first], fall.numerator, fall.denominator
    while len(table) < cells:
        table.append(-(-table[-1] * q // p))
    return table


def block_sums(table: Sequence[int]) -> tuple[int, int, int]:
    """Σ t·w and Σ t²·w over the digits t, and the weight of the escape."""
    digits = table[:-1]
    return sum(t * w for t, w in enumerate(digits)), sum(t * t * w for t, w in enumerate(digits)), table[-1]


def fresh_moments(table: Sequence[int]) -> tuple[Fraction, Fraction]:
    """E T and E T² of the number drawn: after an escape it is the block's length plus a fresh T.

    >>> fresh_moments([1, 1])
    (Fraction(1, 1), Fraction(3, 1))
    """
    first, second, escape = block_sums(table)
    block, inside = len(table) - 1, sum(table[:-1])
    mean = Fraction(first + escape * block, inside)
    return mean, (second + escape * (block * block + 2 * block * mean)) / inside
