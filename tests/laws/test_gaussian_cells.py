"""Gaussian noise so wide that a cell of its table holds several values: it costs hardly more than the ideal law."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import dproof as dp
from dproof.laws.divergence import normal_delta
from dproof.testing import seeded_coins

CASES = [("0.01", "1e-9", 2), ("0.01", "1e-9", 10), ("0.03", "1e-6", 100), ("0.001", "1e-6", 3), ("0.03", "1e-6", 64)]


@pytest.mark.parametrize(("epsilon", "delta", "steps"), CASES)
def test_sigma_is_nearly_the_least_on_the_line_at_a_small_epsilon(epsilon: str, delta: str, steps: int) -> None:
    """A σ smaller by 1.5 % would not do on the real line."""
    promise = dp.Privacy(epsilon, delta)
    noise = dp.gaussian(dp.Interval(0, 1, Fraction(1, steps)), promise)
    smaller = Fraction(noise.scale) * Fraction("0.985")
    assert noise.delta(epsilon) <= float(delta) < float(normal_delta(1 / smaller, promise.epsilon))


def test_a_given_sigma_keeps_what_the_ideal_law_keeps() -> None:
    noise = dp.gaussian(dp.Interval(0, 1, "0.01"), sigma=400)
    ideal = float(normal_delta(Fraction(1, 400), Fraction("0.01")))
    assert ideal * 0.999 < noise.delta("0.01") < ideal * 1.001


def test_the_verifier_finds_the_same(tmp_path: Path) -> None:
    promise = dp.Privacy("0.03", "1e-6")
    noise = dp.gaussian(dp.Interval(0, 1, "0.1"), promise)
    dp.certify(noise, promise).write(tmp_path / "noise.json")
    dp.verify(tmp_path / "noise.json")
    with seeded_coins(1):
        drawn = noise.draw([0.5] * 20_000)
    assert sum(x * x for x in drawn) / 20_000 == pytest.approx(noise.scale**2, rel=0.05)


def test_cells_are_as_they_were_where_a_shift_has_many() -> None:
    """Seeded draws of a plan depend on them."""
    assert dp.gaussian(dp.Interval(0, 1, "0.001"), dp.Privacy(1, "1e-5")).family.noise.unit == 9
    assert dp.gaussian(dp.Interval(0, 1, "0.001"), dp.Privacy("0.1", "1e-6")).family.noise.unit == 91
