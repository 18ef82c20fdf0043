"""From a law in floats to whole numbers that keep the promise exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.certification.certify import decide
from dproof.errors import DproofError
from dproof.exact import exp_below
from dproof.laws.matrix import Matrix

TOTAL = 1 << 61
SLACK = 1e-9  # what a programme keeps away from its limits, relatively; rounding needs far less
_MIXTURES = (0.0, *(2.0**-n for n in range(44, 0, -2)), 1.0)

Edge = tuple[int, int, Fraction]  # two inputs i, k and odds that P_ij ≤ odds · P_kj must keep


def certified_law(law: NDArray[np.float64], epsilon: Fraction, delta: Fraction) -> Matrix:
    """Whole numbers near the law for which P ≤ e^ε P' + δ is decided, between all pairs of inputs.

    >>> certified_law(np.array([[0.75, 0.25], [0.25, 0.75]]), Fraction(11, 10), Fraction(0)).total == TOTAL
    True
    """
    odds = exp_below(epsilon)

    def lift(whole: NDArray[np.int64]) -> None:
        # A column's least weight must not lie below its largest over the odds; raising it costs next to nothing.
        least = [-(-int(most) * odds.denominator // odds.numerator) for most in whole.max(axis=0)]
        np.maximum(whole, np.array(least, np.int64), out=whole)

    keep = lift if delta == 0 else (lambda whole: None)
    return _round(law, keep, lambda family: decide(family, epsilon, delta).holds)


def certified_pairs_law(law: NDArray[np.float64], edges: Sequence[Edge], delta: Fraction) -> Matrix:
    """The same between given pairs of inputs, each with its own odds: metric privacy, or neighbours."""

    def lift(whole: NDArray[np.int64]) -> None:
        changed = delta == 0
        while changed:
            changed = False
            for i, k, odds in edges:
                least = np.array([-(-int(w) * odds.denominator // odds.numerator) for w in whole[i]], np.int64)
                changed |= bool((least > whole[k]).any())
                np.maximum(whole[k], least, out=whole[k])

    def holds(family: Matrix) -> bool:
        return all(_excess(family, i, k, odds) <= delta * family.total for i, k, odds in edges)

    return _round(law, lift, holds)


def _excess(family: Matrix, i: int, k: int, odds: Fraction) -> Fraction:
    over = family.rows[i].astype(object) * odds.denominator - family.rows[k].astype(object) * odds.numerator
    return Fraction(int(np.maximum(over, 0).sum()), odds.denominator)


def _round(law: NDArray[np.float64], lift: Callable[[NDArray[Any]], None], holds: Callable[[Matrix], bool]) -> Matrix:
    """Round and lift; where that breaks the promise, mix with a law that is the same for all inputs, ever more."""
    law = law / law.sum(axis=1, keepdims=True)
    common = law.mean(axis=0)
    for mixture in _MIXTURES:
        whole = np.rint(((1 - mixture) * law + mixture * common) * TOTAL).astype(np.int64)
        lift(whole)
        largest = whole.argmax(axis=1)
        whole[np.arange(len(whole)), largest] += TOTAL - whole.sum(axis=1)
        if (whole >= 0).all() and holds(family := Matrix(whole, TOTAL)):  # a law far off may be lifted beyond its total
            return family
    raise DproofError("the law could not be rounded to whole numbers; epsilon or delta is too small to matter")
