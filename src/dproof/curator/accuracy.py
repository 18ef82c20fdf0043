"""The least price at which every interval of an answer is as narrow as is wanted."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction

from dproof.curator.preview import spreads
from dproof.curator.recipe import Measurement
from dproof.errors import InputError, TooLarge

MOST = Fraction(100)  # the largest ε that is tried
_COARSEST, _FINEST = Fraction(1, 1000), Fraction(1, 10**8)  # what one step of ε is worth


def accurate(
    measured: Callable[[Fraction], Measurement], wanted: Fraction, level: float, rows: int | None
) -> Measurement:
    """The measurement at the least ε of three digits, or three decimals, whose intervals are ± `wanted` or better.

    `rows` is their public number, if it is public.
    """

    def reaches(epsilon: Fraction) -> bool:
        widths = {name: width for name, (width, _) in spreads(measured(epsilon), level, rows).items()}
        unknown = next((name for name, width in widths.items() if width is None), None)
        if unknown is not None:
            raise InputError(
                f"the width of the interval of {unknown!r} depends on the table, so no price can promise it: give "
                "ε instead of an accuracy; the width is known for counts, sums, and means of a public number of "
                "values (the plan must say what stands for a missing one)"
            )
        return all(math.isfinite(width) and Fraction(width) <= wanted for width in widths.values() if width)

    def suffices(epsilon: Fraction) -> bool:
        with suppress(TooLarge):  # the noise would be too wide to be drawn
            return reaches(epsilon)
        return False

    if wanted <= 0 or not reaches(MOST):
        raise InputError("no epsilon up to 100 gives that accuracy: ask for a larger ±")
    enough, step = MOST, _COARSEST
    while step > _FINEST and suffices(100 * step):
        enough, step = 100 * step, step / 10
    steps = 1 + bisect_left(range(1, int(enough / step)), True, key=lambda number: suffices(number * step))
    return measured(steps * step)
