"""HLM15, Proposition 1: μ(A_i) → μ(∪ A_i) for rising sets, and μ(A_i) → μ(∩ A_i) for falling ones.

The falling half needs μ to be finite, which the statement does not say; all measures here are probabilities. Under
the counting measure on the natural numbers A_i = {i, i + 1, …} is infinite for every i, and the intersection is empty.
"""

from fractions import Fraction
from itertools import pairwise

import pytest

from dproof.laws.laplace import two_sided

NOISE = two_sided(Fraction(2))


def test_rising_sets() -> None:
    """{−k, …, k} rises to all of Z, whose mass is 1; what is left falls by half, and a half again, with every step."""
    inside = [NOISE.cumulative(k) - NOISE.cumulative(-k - 1) for k in range(60)]
    gaps = [1 - mass for mass in inside]
    assert all(0 < later < earlier for earlier, later in pairwise(gaps))
    assert gaps[-1] < Fraction(1, 2**58)


def test_falling_sets_under_a_finite_measure() -> None:
    """{k, k + 1, …} falls to the empty set, and its mass to 0 in the noise's own ratio."""
    tails = [1 - NOISE.cumulative(k - 1) for k in range(1, 60)]
    assert all(later < earlier for earlier, later in pairwise(tails)) and tails[-1] < Fraction(1, 2**57)
    assert float(tails[20] / tails[21]) == pytest.approx(2, abs=1e-9)


def test_noise_on_all_integers_has_no_mass_left_at_infinity() -> None:
    outside = [1 - NOISE.cumulative(k) + NOISE.cumulative(-k - 1) for k in (1, 10, 100)]
    assert outside[0] > outside[1] > outside[2] > 0
    assert outside[2] < Fraction(1, 2**98)
