"""The stand-alone verifier on noise in several digits, value by value, and its logarithm next to odds of 1."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

from dproof.certification.verify_certificate import log_below, step_odds, two_sided

LOWER = [round(1000 * 0.99**k) for k in range(128)]
TOP = [[80, 22, 6, 2], [79, 22, 6, 2]]
BLOCK = 128 * 3


def noise(reach: int | None) -> dict[str, Any]:
    return {"kind": "two-sided", "lower": [LOWER], "top": TOP, "reach": reach}


def mass(k: int) -> float:
    """The top digit with its sign and the lower one are drawn apart; the last cell adds a block, whatever the sign."""
    sign, g = int(k < 0), -1 - k if k < 0 else k
    both = [a + b for a, b in zip(*TOP, strict=True)]
    blocks, digit = divmod(g // 128, 3)
    first = (
        TOP[sign][digit]
        if not blocks
        else TOP[sign][3] * (both[3] / sum(both)) ** (blocks - 1) * both[digit] / sum(both)
    )
    return first / sum(both) * LOWER[g % 128] / sum(LOWER)


def conditioned(masses: dict[int, float]) -> dict[int, float]:
    whole = sum(masses.values())
    return {k: weight / whole for k, weight in masses.items()}


@pytest.mark.parametrize("reach", [60, 127, 128, 300, BLOCK, 900, None])
@pytest.mark.parametrize(("shift", "odds"), [(1, Fraction(1)), (40, Fraction(6, 5)), (100, Fraction(1))])
def test_the_bound_is_that_of_the_mixture(reach: int | None, shift: int, odds: Fraction) -> None:
    fall = 1 / float(step_odds(noise(reach)))
    values = range(-(reach or 6000), (reach or 6000) + 1)
    law, ideal = conditioned({k: mass(k) for k in values}), conditioned({k: fall ** abs(k) for k in values})
    told = sum(max(0.0, p - float(odds) * ideal.get(k - shift, 0.0)) for k, p in ideal.items())
    wanted = min(1.0, told + 1 - law[0] / ideal[0])
    assert float(two_sided(noise(reach), shift, odds)) == pytest.approx(wanted, rel=1e-9)
    several = min(1.0, told + min(3, shift) * (1 - law[0] / ideal[0]))
    assert float(two_sided(noise(reach), shift, odds, 3)) == pytest.approx(several, rel=1e-9)


def test_the_odds_of_a_step_are_the_largest_of_two_neighbours() -> None:
    masses = [mass(k) for k in range(-3 * BLOCK, 3 * BLOCK)]
    most = max(max(p / q, q / p) for p, q in pairwise(masses))
    assert float(step_odds(noise(None))) == pytest.approx(most, rel=1e-12)


@pytest.mark.parametrize("power", [60, 1100])
def test_a_logarithm_is_found_next_to_odds_of_one(power: int) -> None:
    odds = Fraction(2**power + 1, 2**power - 2 ** (power - 60))
    more = odds - 1
    assert more - more**2 / 2 - Fraction(1, 2**119) <= log_below(odds) <= more - more**2 / 2 + more**3 / 3
