"""Numbers in [−1, 1] released without bias, with the least worst-case variance. HLM15, Example 5, and after it."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dproof import InputError, Interval, Privacy, TooLarge, certify, design
from dproof.optimality.design import RoundedAtRandom
from dproof.testing import seeded_coins

LATTICE = Interval(-1, 1, "0.0625")

pytestmark = pytest.mark.filterwarnings("ignore:this design cannot be inverted")


def known(epsilon: float) -> tuple[float, float, float]:
    """Laplace; Duchi, Jordan and Wainwright 2018; the piecewise mechanism of Wang et al. 2019."""
    e, s = exp(epsilon), exp(epsilon / 2)
    return 8 / epsilon**2, ((e + 1) / (e - 1)) ** 2, 4 * s / (3 * (s - 1) ** 2)


@pytest.mark.parametrize(
    ("epsilon", "most", "others"),
    [
        ("0.5", 16.05, (32, 16.7, 21.2)),
        ("1", 4.00, (8, 4.68, 5.22)),
        ("2", 0.870, (2, 1.72, 1.23)),
        ("4", 0.129, (0.5, 1.08, 0.24)),
    ],
)
def test_it_beats_the_three_known_mechanisms(epsilon: str, most: float, others: tuple[float, float, float]) -> None:
    best = design(LATTICE, Privacy(epsilon), unbiased=True)
    assert best.optimum is not None
    assert float(best.optimum.value) <= most < min(others)
    assert known(float(epsilon)) == pytest.approx(others, rel=0.01)
    assert best.optimum.gap < Fraction(1, 10**6)
    certify(best, Privacy(epsilon))


@pytest.mark.parametrize(
    ("interval", "epsilon"), [(LATTICE, "2"), (Interval(0, 110, 10), "0.3"), (Interval(3, 4, "1/3"), "5")]
)
def test_the_mean_is_the_value_exactly(interval: Interval, epsilon: str) -> None:
    best = design(interval, Privacy(epsilon), unbiased=True)
    weights, total = best.weights()
    released = [best.outputs.low + n * best.outputs.step for n in range(best.outputs.size)]  # type: ignore[attr-defined]
    for n, row in enumerate(weights):
        value = interval.low + n * interval.step
        assert sum(int(w) * y for w, y in zip(row, released, strict=True)) == total * value
        variance = sum(int(w) * (y - value) ** 2 for w, y in zip(row, released, strict=True)) / Fraction(total)
        assert best.optimum is not None and variance <= best.optimum.value
    assert released[0] < interval.low and interval.high < released[-1], "no law into the interval is unbiased"


def test_small_and_large_epsilon() -> None:
    for epsilon in ("0.01", "10"):
        best = design(LATTICE, Privacy(epsilon), unbiased=True)
        assert best.optimum is not None and best.optimum.gap < Fraction(1, 10**6)
        assert float(best.optimum.value) < min(known(float(epsilon)))
        certify(best, Privacy(epsilon))


def test_values_between_lattice_points_stay_unbiased() -> None:
    best = design(LATTICE, Privacy(4), unbiased=True)
    with seeded_coins(5):
        drawn = np.array(best.draw(np.full(200_000, 0.03)), float)
    standard_error = drawn.std() / np.sqrt(len(drawn))
    assert abs(drawn.mean() - 0.03) < 5 * standard_error
    assert abs(drawn.mean() - 0.0625) > 5 * standard_error, "the nearest lattice point would be told apart"


@settings(deadline=None, max_examples=50)
@given(st.fractions(-1, 1), st.sampled_from(["exact", "float"]))
def test_rounding_at_random_goes_to_one_of_the_two_neighbours(value: Fraction, kind: str) -> None:
    space = RoundedAtRandom(LATTICE)
    given = [value] * 50 if kind == "exact" else np.full(50, float(value))
    place = (value + 1) * 16
    assert set(space.encode(given).tolist()) <= {int(place), min(int(place) + 1, 32)}
    if place.denominator == 1:
        assert set(space.encode(given).tolist()) == {int(place)}


def test_rounding_at_random_goes_up_as_often_as_it_should() -> None:
    space = RoundedAtRandom(Interval(0, 1, "0.5"))
    with seeded_coins(6):
        for column in ([0.1] * 40_000, np.full(40_000, 0.1), [Fraction(1, 10)] * 40_000):
            assert abs(space.encode(column).mean() - 0.2) < 0.01


def test_what_cannot_be_unbiased_is_refused() -> None:
    with pytest.raises(InputError, match="spend some epsilon"):
        design(LATTICE, Privacy(0), unbiased=True)
    with pytest.raises(InputError, match="delta = 0"):
        design(LATTICE, Privacy(1, "0.1"), unbiased=True)
    with pytest.raises(InputError, match="leave the loss out"):
        design(LATTICE, Privacy(1), unbiased=True, loss=[[0]])
    with pytest.raises(InputError, match="Interval"):
        from dproof import Categories

        design(Categories([1, 2]), Privacy(1), unbiased=True)
    with pytest.raises(TooLarge, match="coarser step"):
        design(Interval(0, 1), Privacy(1), unbiased=True)
    with pytest.raises(InputError, match="outside"):
        design(LATTICE, Privacy(1), unbiased=True).draw([2])
    single = design(Interval(3, 3), Privacy(0), unbiased=True)
    assert single.draw([3]) == [3] and single.optimum is not None and single.optimum.value == 0


def test_outputs_of_ones_own() -> None:
    wide = Interval(-4, 4, "0.5")
    best = design(LATTICE, Privacy(2), unbiased=True, outputs=wide)
    assert best.outputs == wide
    fine = design(LATTICE, Privacy(2), unbiased=True)
    assert best.optimum is not None and fine.optimum is not None
    assert best.optimum.lower_bound > fine.optimum.value, "coarser outputs cost variance"
