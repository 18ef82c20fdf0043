"""A clamped law of a certificate is read while its points, times the blocks of noise they lie in, are 2^21 at most."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dproof as dp
from dproof import VerificationFailed
from dproof.exact import exp_below
from dproof.laws import Lattice
from dproof.laws.gaussian import gaussian_law
from dproof.laws.laplace import two_sided
from dproof.laws.law import law_from_json
from dproof.laws.noise import NoiseLaw

# Gaussian noise has one table, so points lie in at most 2 blocks; this two-sided noise repeats every `block` points.
NOISES = {"gaussian": gaussian_law(Fraction(4)), "two-sided": two_sided(Fraction(2))}


@pytest.mark.parametrize("name", NOISES)
def test_points_times_blocks_are_limited(name: str) -> None:
    noise = NOISES[name]
    largest = largest_size(noise)
    assert law_from_json(recorded(largest, noise)).inputs == largest
    with pytest.raises(VerificationFailed, match="too many points"):
        law_from_json(recorded(largest + 1, noise))
    assert law_from_json({**recorded(largest + 1, noise), "clamped": False}).inputs == largest + 1


def recorded(size: int, noise: NoiseLaw) -> dict[str, object]:
    return dict(Lattice(size, noise, clamped=True).to_json())


def largest_size(noise: NoiseLaw) -> int:
    """The last size before size · (size // block + 1) passes 2^21."""
    return max(n for n in range(1, (1 << 20) + 2) if n * (n // (noise.block or n) + 1) <= 1 << 21)


# The error of clamped noise: exact, and quick however many points the interval has ------------------------------------


@pytest.mark.parametrize("scale", ["1/3", "2", "150", "20000"])
@pytest.mark.parametrize("most", [0, 1, 2, 127, 128, 129, 300])
def test_sums_by_digits_are_those_step_by_step(scale: str, most: int) -> None:
    law = two_sided(exp_below(1 / Fraction(scale)))
    for sign in (0, 1):
        assert law.capped(sign, most) == NoiseLaw.capped(law, sign, most)


def test_of_all_values_it_is_the_mean() -> None:
    law = two_sided(exp_below(Fraction(1, 2)))
    total = law.capped(0, 400) + law.capped(1, 400)
    assert 0 < law.moments[1] - total < Fraction(1, 10**80)


def test_a_plan_with_a_trillion_points_is_certified_at_once() -> None:
    wide = dp.laplace(dp.Interval(0, 10**12, 1), "1/300", clamp=True)
    assert dp.certify(wide, "1/300").epsilon <= 1 / 300 and wide.error < 10**12 / 2
    with pytest.raises(dp.InputError, match="use a coarser step"):
        dp.laplace(dp.Interval(0, 10**15, 1), "1/3000", clamp=True)
