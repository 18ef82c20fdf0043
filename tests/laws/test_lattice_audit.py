"""An outside audit of the released bits: it finds nothing in lattice noise, and rejects noise in floating point.

Mironov 2012 and Haney et al. 2022: a float Laplace leaves holes that depend on the true value, and a sum keeps the
bits of its coarser summand. The auditor looks at the low bits of what is released, as floats and as codes.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import log

import numpy as np
import pytest

from dproof import Interval, Mechanism, Privacy, bounded_laplace, gaussian, laplace, staircase
from dproof.testing import seeded_coins

DRAWS = 1_000_000
EPSILON = 1


def events(values: np.ndarray) -> Iterator[np.ndarray]:
    """Low bits of the released floats: how many of the last bits are 0, and what the last ones are."""
    mantissa = values.astype(np.float64).view(np.int64) & ((1 << 52) - 1)
    exponent = np.frexp(np.where(values == 0, 1.0, values).astype(np.float64))[1]
    whole = mantissa | (1 << 52)
    grid = exponent - 53 + np.bitwise_count((whole & -whole) - 1)  # the last bit that is set
    yield from (grid >= place for place in range(-60, 8, 2))  # the value is a multiple of 2^place
    yield from (mantissa & 15 == n for n in range(16))
    yield from ((values >= 0) & (grid >= place) for place in range(-56, -46, 2))


def empirical_epsilon(first: np.ndarray, second: np.ndarray, delta: float = 0.0) -> float:
    """The largest ε that an event shows beyond doubt: seven standard errors are given to chance."""
    worst = 0.0
    for here, there in [(first, second), (second, first)]:
        for a, b in zip(events(here), events(there), strict=True):
            for p, q in [(a.mean(), b.mean()), (1 - a.mean(), 1 - b.mean())]:
                error = 7 * (max(p, q) / DRAWS) ** 0.5 + 50 / DRAWS
                if p - error - delta > 0:
                    worst = max(worst, log((p - error - delta) / (q + error)))
    return worst


MECHANISMS: dict[str, Mechanism] = {
    "laplace": laplace(Interval(0, 1, "0.001"), Privacy(EPSILON)),
    "laplace on a binary lattice": laplace(Interval(0, 1, "1/1024"), Privacy(EPSILON)),
    "clamped laplace": laplace(Interval(0, 1, "0.001"), Privacy(EPSILON), clamp=True),
    "bounded laplace": bounded_laplace(Interval(0, 1, "0.02"), Privacy(EPSILON)),
    "staircase": staircase(Interval(0, 1, "0.001"), Privacy(EPSILON)),
    "gaussian": gaussian(Interval(0, 1, "0.001"), Privacy(EPSILON, "0.01")),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_no_event_on_the_released_bits_shows_more_than_is_claimed(name: str) -> None:
    mechanism = MECHANISMS[name]
    space = mechanism.outputs
    with seeded_coins(31):
        low, high = (
            space.numbers(mechanism.draw_codes(np.full(DRAWS, code, np.uint16)))
            for code in (0, mechanism.inputs.size - 1)
        )
    assert empirical_epsilon(low, high, 0.01 if name == "gaussian" else 0.0) <= EPSILON


def test_the_same_audit_rejects_laplace_noise_in_floats() -> None:
    generator = np.random.default_rng(31)
    low, high = (value + generator.laplace(0, 1 / EPSILON, DRAWS) for value in (0.0, 1.0))
    assert empirical_epsilon(low, high) > 3 * EPSILON


def test_the_same_audit_rejects_rounding_noise_to_a_fine_grid_of_its_own() -> None:
    """Noise on a grid added to a value that is not on it: the sum shows the value's last bits."""
    generator = np.random.default_rng(32)
    low, high = (value + np.round(generator.laplace(0, 1, DRAWS) * 1024) / 1024 for value in (0.0, 0.1))
    assert empirical_epsilon(low, high) > 3 * EPSILON


@pytest.mark.parametrize("step", ["0.001", "0.1", "0.25", "1", "1e-9"])
def test_every_release_prints_as_a_multiple_of_its_step(step: str) -> None:
    space = Interval(0, Fraction(step) * 100, step)
    drawn = laplace(space, Privacy(EPSILON)).draw([space.label(n) for n in (0, 50, 100)] * 200)
    assert all((Fraction(str(value)) / Fraction(step)).denominator == 1 for value in drawn)
