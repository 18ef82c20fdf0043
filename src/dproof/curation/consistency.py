"""Tables that add up: post-processing of released counts, which costs nothing. The sheet, section 5."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate


def adding_up(counts: Sequence[int], total: int) -> list[int]:
    """The whole numbers from 0 on that add up to `total` and are nearest to the given ones, in least squares.

    Each count gives up the same, and what would fall below 0 is 0: x_i = max(0, y_i − θ) has the least Σ(x_i − y_i)²
    among all tables, whole or not, that add up. The true table is one of those, and they are a convex set, so
    Σ(x_i − c_i)² ≤ Σ(y_i − c_i)² for the true c. With θ no whole number, some counts give up ⌊θ⌋ and some, the largest
    first, ⌊θ⌋ + 1: no whole table is nearer, and none of its cells is a whole row off.

    >>> adding_up([7, 4, -2], 10)
    [6, 4, 0]
    """
    order = sorted(range(len(counts)), key=lambda n: -counts[n])
    ordered = [counts[n] for n in order]
    # θ = (y_1 + … + y_k − total)/k for the last k whose own count is still above it.
    surplus = [partial - total for partial in accumulate(ordered)]
    kept = sum(y * k > more for k, (y, more) in enumerate(zip(ordered, surplus, strict=True), 1))
    found = [0] * len(counts)
    if kept:
        less, rest = divmod(surplus[kept - 1], kept)
        for place, n in enumerate(order[:kept]):
            found[n] = counts[n] - less - (place < rest)
    return found
