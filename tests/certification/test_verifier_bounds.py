"""The stand-alone verifier's bounds of δ above 0, worked out once more in another way."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dproof import Interval, Privacy, staircase
from dproof.certification.verify_certificate import LAWS, by_kind, stairs, step_odds, two_sided

# Value k ≥ 0 has the weight TOP[0][k], and −1 − k has TOP[1][k]; the last cell stands for all that lies beyond.
TOP = [[80, 40, 21, 11, 5, 6], [40, 21, 11, 5, 3, 3]]


def noise(reach: int) -> dict[str, Any]:
    return {"kind": "two-sided", "lower": [], "top": TOP, "reach": reach}


def conditioned(weights: dict[int, Fraction], reach: int) -> dict[int, Fraction]:
    kept = {k: weight for k, weight in weights.items() if abs(k) <= reach}
    return {k: weight / sum(kept.values()) for k, weight in kept.items()}


def delta(law: dict[int, Fraction], shift: int, odds: Fraction) -> Fraction:
    return sum((max(Fraction(0), p - odds * law.get(k - shift, Fraction(0))) for k, p in law.items()), Fraction(0))


@pytest.mark.parametrize("reach", [1, 2, 3, 4])
@pytest.mark.parametrize("shift", [1, 2, 3])
@pytest.mark.parametrize("odds", [Fraction(1), Fraction(3, 2), Fraction(2), Fraction(5)])
def test_noise_that_ends_at_its_reach_is_bounded_by_a_mixture(reach: int, shift: int, odds: Fraction) -> None:
    digits = range(len(TOP[0]) - 1)
    drawn = {k: Fraction(TOP[0][k]) for k in digits} | {-1 - k: Fraction(TOP[1][k]) for k in digits}
    law, fall = conditioned(drawn, reach), 1 / step_odds(noise(reach))
    ideal = conditioned({k: fall ** abs(k) for k in range(-reach, reach + 1)}, reach)
    wanted = min(Fraction(1), delta(ideal, shift, odds) + 1 - law[0] / ideal[0])
    bound = two_sided(noise(reach), shift, odds)
    assert delta(law, shift, odds) <= bound
    assert wanted <= bound <= wanted + Fraction(1, 10**100)


@pytest.mark.parametrize("odds", [Fraction(1), Fraction(3, 2), Fraction(2), Fraction(5, 2)])
@pytest.mark.parametrize("size", [1, 7, 20])
def test_stairs_have_the_delta_that_their_own_law_has(odds: Fraction, size: int) -> None:
    family = staircase(Interval(0, size, 1), Privacy(1)).family
    law = by_kind(LAWS)(dict(family.to_json()), "law")
    assert stairs(law["noise"], size, odds) == family.worst(odds).value > 0
