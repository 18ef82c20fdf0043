"""Noise as wide as whole numbers of 62 bits can hold: it keeps its promise, or a sentence says what to change."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dproof import Interval, Privacy, TooLarge, certify, laplace, staircase, truncated_laplace
from dproof.certification.verify_certificate import verify
from dproof.exact import exp_below
from dproof.laws.laplace import two_sided
from dproof.testing import seeded_coins
from tests.makers import row_law


@pytest.mark.parametrize(
    ("points", "epsilon"), [(10**12, "1/300"), (10**13, "1/30"), (10**14, "1/2"), (2 * 10**14, "1/2"), (10**9, "1/300")]
)
def test_wide_laplace_noise_keeps_its_promise(points: int, epsilon: str) -> None:
    privacy = Privacy(epsilon)
    mechanism = laplace(Interval(0, points - 1, 1), privacy)
    certificate = certify(mechanism, privacy)
    assert 0.99 * float(privacy.epsilon) < certificate.epsilon <= float(privacy.epsilon), (
        "and no more noise than needed"
    )
    verify(certificate.to_json())
    with seeded_coins(3):
        drawn = [abs(x) for x in mechanism.draw([0] * 2000)]
    assert float(sum(drawn)) / 2000 == pytest.approx(points / float(privacy.epsilon), rel=0.1)


def test_every_table_keeps_its_ratio_up_to_the_widest() -> None:
    for scale in (1, 100, 10**6, 10**13, *(10**14 * n for n in range(1, 12)), 2**50 - 1):
        ratio = exp_below(Fraction(1, scale))
        law = two_sided(ratio)
        assert law.ratio <= ratio and sum(map(sum, law.top)) < 1 << 63


@pytest.mark.parametrize("make", [laplace, staircase])
def test_what_is_too_wide_is_refused_with_the_way_out(make) -> None:
    with pytest.raises(TooLarge, match="use a coarser step"):
        make(Interval(0, 10**13 - 1, 1), Privacy("1/3000"))


def test_a_plan_with_a_million_million_points() -> None:
    columns = {"assets": {"space": "interval", "low": 0, "high": 10**12, "step": 1, "mechanism": "laplace"}}
    law = row_law({"privacy": {"epsilon": "1/300"}, "columns": columns})
    assert law.tight().epsilon <= 1 / 300


def test_truncated_noise_is_refused_where_it_was() -> None:
    with pytest.raises(TooLarge, match="coarser step"):
        truncated_laplace(Interval(0, 10**15, 1), Privacy("1/30", "1e-6"))
