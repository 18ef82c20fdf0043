"""Every mechanism tells the scale of its noise, in the units of the numbers, or None."""

from __future__ import annotations

import math

import pytest

import dproof as dp

TENTHS = dp.Interval(0, 10, "0.1")
LETTERS = dp.Categories(["a", "b", "c"])


@pytest.mark.parametrize(
    ("mechanism", "scale"),
    [
        (dp.laplace(TENTHS, dp.Privacy(2)), 5.0),
        (dp.laplace(TENTHS, scale=3), 3.0),
        (dp.laplace(TENTHS, scale=3, clamp=True), 3.0),
        (dp.truncated_laplace(TENTHS, dp.Privacy(1, "0.01")), 10.0),
        (dp.gaussian(TENTHS, sigma="2.5"), 2.5),
        (dp.gaussian(dp.Interval(0, 1, "1e-6"), sigma="2.5"), 2.5),  # cells of several values
        (dp.staircase(TENTHS, dp.Privacy(2)), 5.0),
        (dp.laplace(TENTHS, dp.Privacy(2)).with_missing(dp.Privacy(2)), 5.0),
    ],
    ids=lambda thing: getattr(thing, "name", None),
)
def test_the_scale_is_that_of_the_law_which_is_drawn(mechanism: dp.Mechanism, scale: float) -> None:
    assert mechanism.scale is not None and math.isclose(mechanism.scale, scale, rel_tol=1e-6)


@pytest.mark.parametrize(
    "mechanism",
    [
        dp.randomised_response(LETTERS, dp.Privacy(1)),
        dp.unary_encoding(LETTERS, dp.Privacy(1)),
        dp.bounded_laplace(dp.Interval(0, 1, "0.1"), dp.Privacy(1)),
        dp.laplace(dp.Interval(3, 3, 1), dp.Privacy(1)),  # one point takes no noise
        dp.curve_noise(dp.Curves(0, 1, 5, low=0, high=1), dp.Privacy(1)),
    ],
    ids=lambda thing: thing.name,
)
def test_a_law_that_is_no_noise_of_one_scale_has_none(mechanism: dp.Mechanism) -> None:
    assert mechanism.scale is None


@pytest.mark.parametrize("privacy", [dp.Privacy(1, "1e-5"), dp.Privacy(4, "1e-3"), dp.Privacy("0.1", "1e-6")])
def test_a_finer_step_hardly_changes_the_gaussian_scale(privacy: dp.Privacy) -> None:
    """The least σ of a lattice is not monotone in its step, but what a finer step may cost is small."""
    scales = [dp.gaussian(dp.Interval(0, 1, f"1/{n}"), privacy).scale or 0.0 for n in (8, 64, 100, 1000, 10**6)]
    least = scales[0]
    for scale in scales:
        assert scale <= 1.015 * least
        least = min(least, scale)


def test_unary_encoding_takes_its_two_probabilities() -> None:
    given = dp.unary_encoding(LETTERS, p="3/4", q="1/8")
    assert given.law("a")[{"a"}] * 64 == 3 * 49 / 4 and given.family.support_probabilities == (3 / 4, 1 / 8)
    assert math.isclose(given.epsilon(), math.log(21), rel_tol=1e-12)  # p(1−q)/(q(1−p))
    assert given.draw(["a"] * 5) and dp.certify(given, 4)
    assert dp.unary_encoding(LETTERS, p="0.1234567890123456789012345678901", q="1/3").draw("a") is not None


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "calibrated to a promise, or has p and q"),
        ({"p": "1/2"}, "give both p and q"),
        ({"q": "1/2"}, "give both p and q"),
        ({"p": "1/2", "q": "1/4", "privacy": dp.Privacy(1)}, "but not a mixture"),
        ({"p": "1/2", "q": "1/4", "form": "symmetric"}, "but not a mixture"),
        ({"p": "3/2", "q": "1/4"}, "between 0 and 1"),
        ({"p": "1/2", "q": "-0.1"}, "between 0 and 1"),
        ({"p": "1/2", "q": float("nan")}, "q"),
        ({"privacy": dp.Privacy(1), "form": "best"}, "is not known"),
    ],
)
def test_other_arguments_of_unary_encoding_are_refused(arguments: dict, told: str) -> None:
    with pytest.raises(dp.InputError, match=told):
        dp.unary_encoding(LETTERS, **arguments)
