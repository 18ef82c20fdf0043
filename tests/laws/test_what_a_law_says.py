"""What a law says of its values, against its own probabilities: chances, expectations, variances of counts."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dproof as dp
from dproof import Categories, InputError, Subsets
from dproof.laws import Bits, KeepOrOther, Lattice, Matrix, OptionalLaw, SubsetSelection
from dproof.laws.laplace import two_sided

LAW = Matrix(np.array([[5, 2, 1], [1, 4, 3], [0, 2, 6]]), 8)


@pytest.mark.parametrize(
    ("law", "chances"),
    [
        (Bits(3, 3, 1), [0.75, 0.25]),
        (KeepOrOther(4, 5, 1), [0.625, 0.375]),
        (OptionalLaw(Lattice(3, two_sided(Fraction(2))), 3, 2, 8), [3 / 8, 5 / 8, 6 / 8, 2 / 8]),
    ],
)
def test_chances(law: Any, chances: list[float]) -> None:
    assert list(law.chances()[1].values()) == chances


def test_how_likely_a_value_is_shown() -> None:
    assert LAW.shown_chances(2) == (Fraction(7, 8), Fraction(1, 4))
    assert OptionalLaw(Lattice(3, two_sided(Fraction(2))), 3, 2, 8).shown_chances(0) == (Fraction(3, 8), Fraction(1, 4))


@pytest.mark.parametrize(
    "losses",
    [
        np.array([1, 0, 4]),
        np.array([(1 << 62) + 1, 0, 1]),  # eight times that is more than a machine word holds
        np.array([0.5, 0.25, 1.5]),
        [Fraction(1, 3), Fraction(0), Fraction(5, 7)],
    ],
)
def test_an_expectation_is_exact(losses: Any) -> None:
    exact = losses.tolist() if isinstance(losses, np.ndarray) else losses
    wanted = sum(Fraction(p, 8) * Fraction(x) for p, x in zip([5, 2, 1], exact, strict=True))
    assert LAW.expectation(0, losses) == wanted
    large = Matrix(LAW.rows.astype(object) << 80, 8 << 80)
    assert large.expectation(0, losses) == wanted


def test_the_variance_of_a_count_is_that_of_the_textbook() -> None:
    space = Subsets(["a", "b", "c"])
    p, q = 3 / 4, 1 / 4
    assert Bits(3, 3, 1).count_variance(space) == pytest.approx(p * (1 - p) / (p - q) ** 2)
    assert Bits(3, 2, 2).count_variance(space) is None  # nothing tells a set from any other
    p, q = 5 / 8, 1 / 8
    worst = max(p * (1 - p), q * (1 - q)) / (p - q) ** 2
    assert KeepOrOther(4, 5, 1).count_variance(Categories(["a", "b", "c", "d"])) == pytest.approx(worst)


def test_sets_of_one_value_and_of_all_are_laws() -> None:
    one, every = SubsetSelection(3, 1, 3, 1), SubsetSelection(3, 3, 2, 1)
    assert (one.total, one.support_probabilities) == (5, (Fraction(3, 5), Fraction(1, 5)))
    assert (every.total, every.support_probabilities) == (2, (Fraction(1), Fraction(1)))


def test_only_a_law_that_undoes_any_count_is_sharp() -> None:
    assert KeepOrOther(4, 5, 1).is_sharp and not LAW.is_sharp


@pytest.mark.parametrize(("size", "middle"), [(1, 0), (2, 0), (5, 2), (6, 2)])
def test_no_value_lies_farther_from_the_middle_than_in_the_nearer_law(size: int, middle: int) -> None:
    law = Lattice(size, two_sided(Fraction(2)))
    assert law.middle == middle
    assert law.nearer.size - 1 == max(middle, size - 1 - middle)


def test_a_clamped_law_has_no_outputs_beyond_its_ends() -> None:
    law = Lattice(4, two_sided(Fraction(2)), clamped=True)
    for source in range(4):
        chances = [law.probability(source, target) for target in range(-1, 5)]
        assert chances[0] == chances[-1] == 0 and min(chances[1:-1]) > 0 and sum(chances) == 1


@pytest.mark.parametrize("weights", [(0, 1, 1), (3, -1, 5), (3, 5, -1), (3, 0, 0)])
def test_weights_below_zero_and_none_at_all_are_refused(weights: tuple[int, int, int]) -> None:
    with pytest.raises(InputError):
        KeepOrOther(*weights)


# Every mechanism tells the scale of its noise, in the units of the numbers, or None -----------------------------------


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


@pytest.mark.parametrize("law", [KeepOrOther(5, 9, 2), Bits(3, 7, 1)], ids=["narrow", "bits"])
def test_an_expectation_is_exact_for_every_type_of_loss(law: Any) -> None:
    losses = [(7 * n) % 5 for n in range(law.outputs)]
    weights, total = law.weights(1), law.written_out()[1]
    exactly = sum((Fraction(int(w) * loss, total) for w, loss in zip(weights, losses, strict=True)), Fraction(0))
    for given in (losses, np.array(losses), np.array(losses, object), [Fraction(loss) for loss in losses]):
        assert law.expectation(1, given) == exactly
    half = np.array([*losses[:-1], losses[-1] + Fraction(1, 2)], object)
    assert law.expectation(1, half) == exactly + Fraction(int(weights[-1]), 2 * total)
