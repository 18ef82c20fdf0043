"""What a law says of its values, against its own probabilities: chances, expectations, variances of counts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

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
