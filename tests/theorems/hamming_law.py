"""The discrete exponential mechanism u = −k·h with a rational e^k, so that every statement is checked in fractions."""

from fractions import Fraction

import numpy as np

from dproof import Categories, Mechanism, Table
from dproof.laws import Matrix
from tests import brute_force

# (m, n): m + 1 values, n rows.
SHAPES = [(1, 1), (1, 3), (2, 2), (2, 3), (3, 2), (4, 1), (4, 2)]


def hamming_mechanism(m: int, n: int, ratio: Fraction) -> Mechanism:
    """P(X_d = d') = r^{n−h} / (r + m)^n with r = e^k: HLM16, equation (12), multiplied by r^n above and below."""
    listed = brute_force.tables(range(m + 1), n)
    a, b = ratio.numerator, ratio.denominator
    rows = [[a ** (n - h) * b**h for h in (brute_force.hamming(d, e) for e in listed)] for d in listed]
    space = Table(Categories(range(m + 1)), n)
    law = Matrix(np.array(rows, object), (a + m * b) ** n, space.neighbours())
    return Mechanism("Hamming", space, space, law, "HLM16, equation (12)")
