"""A clamped law of a certificate is read while its points, times the blocks of noise they lie in, are 2^21 at most."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dproof import VerificationFailed
from dproof.laws import Lattice
from dproof.laws.gaussian import gaussian
from dproof.laws.laplace import two_sided
from dproof.laws.law import law_from_json
from dproof.laws.noise import NoiseLaw

# Gaussian noise has one table, so points lie in at most 2 blocks; this two-sided noise repeats every `block` points.
NOISES = {"gaussian": gaussian(Fraction(4)), "two-sided": two_sided(Fraction(2))}


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
