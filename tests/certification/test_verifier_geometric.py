"""Noise that falls by exactly a half at every step: the verifier's bound is its δ, to the last digit."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dproof.certification.verify_certificate import two_sided

NOISE: dict[str, Any] = {"kind": "two-sided", "lower": [], "top": [[4, 2, 2], [2, 1, 1]], "reach": None}


def upto(k: int) -> Fraction:
    """P(X ≤ k) where P(X = k) = 2^−|k|/3."""
    return Fraction(2, 3) * Fraction(2) ** k if k < 0 else 1 - Fraction(1, 3 << k)


@pytest.mark.parametrize("shift", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("odds", [Fraction(1), Fraction(3, 2), Fraction(3), Fraction(100)])
def test_the_bound_is_the_largest_difference_over_all_half_lines(shift: int, odds: Fraction) -> None:
    """No digit is rounded away here: powers of a half are exact in binary."""
    exact = max(upto(k) - odds * upto(k - shift) for k in range(-2, shift + 3))
    assert two_sided(NOISE, shift, odds) == (exact if odds < 2**shift else 0)
