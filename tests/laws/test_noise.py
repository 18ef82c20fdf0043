"""Whole-number noise for the curator: calibrated, exact, and refused when it cannot be had."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dproof import InputError, Privacy, TooLarge
from dproof.exact import exp_below
from dproof.laws.gaussian import Gaussian
from dproof.mechanisms.noise import Noise, integer_gaussian, integer_laplace
from dproof.testing import seeded_coins

NOISES = {
    "laplace": integer_laplace(1, Privacy("0.5")),
    "wide laplace": integer_laplace(10**6, Privacy("0.1")),
    "laplace with delta": integer_laplace(3, Privacy("0.5", "0.1")),
    "gaussian": integer_gaussian(1, Privacy(1, "1e-5")),
    "gaussian vector": integer_gaussian(2, Privacy(1, "1e-5")),
    "wide gaussian": integer_gaussian(10**12, Privacy(1, "1e-6"), coordinates=1),
    "long gaussian vector": integer_gaussian(1000, Privacy(1, "1e-6")),
}
each_noise = pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)


@each_noise
def test_draws_have_the_stated_moments(noise: Noise) -> None:
    with seeded_coins(12):
        drawn = noise.draw(400_000)
    assert drawn.dtype == np.int64 and len(drawn) == 400_000
    spread = noise.variance**0.5
    assert drawn.mean() == pytest.approx(0, abs=5 * spread / 632)
    assert drawn.var() == pytest.approx(noise.variance, rel=0.03)
    assert np.abs(drawn).mean() == pytest.approx(noise.absolute, rel=0.01)


@each_noise
@pytest.mark.parametrize("level", ["0", "0.5", "0.95", "0.999"])
def test_a_quantile_is_the_least_that_holds_its_level(noise: Noise, level: str) -> None:
    t = noise.quantile(level)
    assert noise.within(t) >= Fraction(level)
    assert t == 0 or noise.within(t - 1) < Fraction(level)


@settings(max_examples=25)
@given(
    st.integers(1, 2000),
    st.fractions(Fraction(1, 100), 20),
    st.sampled_from([Fraction(0), Fraction(1, 10**6), Fraction(1, 50), Fraction(2, 5)]),
)
def test_laplace_meets_its_promise_and_hardly_more(sensitivity: int, epsilon: Fraction, delta: Fraction) -> None:
    privacy = Privacy(epsilon, delta)
    noise = integer_laplace(sensitivity, privacy)
    assert noise.meets(privacy)
    smaller = Privacy(epsilon * Fraction(99, 100), delta * Fraction(99, 100))
    assert not noise.meets(smaller)
    assert noise.absolute <= integer_laplace(sensitivity, Privacy(epsilon)).absolute * (1 + 1e-9)


@settings(max_examples=15)
@given(st.integers(1, 40), st.fractions(Fraction(1, 20), 6), st.sampled_from(["1e-9", "1e-4", "0.1"]))
def test_gaussian_meets_its_promise_and_hardly_more(sensitivity: int, epsilon: Fraction, delta: str) -> None:
    privacy = Privacy(epsilon, delta)
    noise = integer_gaussian(sensitivity**2, privacy, coordinates=1)
    assert noise.meets(privacy)
    assert not noise.meets(Privacy(epsilon * Fraction(97, 100), privacy.delta * Fraction(97, 100)))


def test_vectors_cost_more_than_numbers_and_less_than_their_parts() -> None:
    privacy = Privacy(1, "1e-5")
    one, two, many = (integer_gaussian(s, privacy).variance for s in (1, 2, 100))
    assert one < two < many
    assert two == pytest.approx(2 * one, rel=0.02)
    assert many == pytest.approx(100 * one, rel=0.25)  # the bound that holds for every shape gives up some


@pytest.mark.parametrize("square", [2, 50, 10**6])
def test_a_very_large_epsilon_is_kept_as_a_smaller_one_is(square: int) -> None:
    """Tables lie next to nothing away from the law, which was multiplied by e^ε: no noise kept so large an ε."""
    noise = integer_gaussian(square, Privacy(60, "1e-6"), coordinates=2)
    assert noise.meets(Privacy(60, "1e-6"))
    assert noise.worst(exp_below(Fraction(400))) <= 2 * noise.worst(exp_below(Fraction(20)))


def test_a_fraction_of_a_step_is_out_of_reach() -> None:
    assert integer_laplace("7/2", Privacy(1)).size == 3


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (integer_laplace, (0, Privacy(1)), "at least 1 step"),
        (integer_laplace, (-2, Privacy(1)), "at least 1 step"),
        (integer_laplace, (1, Privacy(0)), "both 0"),
        (integer_laplace, (1, Privacy(1, 1)), "promises nothing"),
        (integer_gaussian, (1, Privacy(1)), "delta above 0"),
        (integer_gaussian, (1, Privacy(1, 1)), "promises nothing"),
    ],
)
def test_refusals(make: Any, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(*arguments)


@pytest.mark.parametrize(
    ("make", "arguments"),
    [
        (integer_laplace, (10**15, Privacy("0.001"))),
        (integer_laplace, (10**40, Privacy(1))),
        (integer_gaussian, (10**60, Privacy(1, "1e-6"))),
        (integer_gaussian, (10**12, Privacy(1, "1e-6"))),  # without a word on how many coordinates move
    ],
)
def test_noise_too_wide_for_a_machine_word_is_refused_before_any_draw(make: Any, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TooLarge, match="coarser step"):
        make(*arguments)


def test_a_level_is_a_probability() -> None:
    for level in ("1", "-0.1", "nan"):
        with pytest.raises(InputError):
            NOISES["laplace"].quantile(level)


@pytest.mark.parametrize(("epsilon", "delta"), [(900, "1e-30"), (30, "1e-14"), (1, "1e-23")])
def test_a_delta_below_what_tables_cost_is_refused_without_a_search(
    epsilon: int, delta: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Gaussian, "delta_vector", None)
    with pytest.raises(TooLarge, match="several numbers"):
        integer_gaussian(9, Privacy(epsilon, delta), coordinates=3)


@pytest.mark.parametrize("epsilon", ["0.1", "20", "30", "900"])
@pytest.mark.parametrize("square", [Fraction(1, 100), 1, 2, 40, 1000])
def test_tables_cost_no_less_however_wide_they_are(epsilon: str, square: Any) -> None:
    odds = exp_below(Fraction(epsilon))
    for unit, moved, coordinates in product((1, 3), (2, 9, 30), (2, 3, 8)):
        least = Gaussian.least_charged(odds, min(coordinates, moved))
        assert 0 < least <= Gaussian(Fraction(square), unit).delta_vector(odds, moved, coordinates)
