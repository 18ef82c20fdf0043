"""The tight odds of a matrix law and the pair of inputs that has them, also where no pair is worse than another."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dproof.laws import Matrix
from dproof.laws.divergence import Odds


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 100)])
@pytest.mark.parametrize(("inputs", "pair"), [(1, (0, 0)), (2, (0, 1)), (4, (0, 1))])
def test_inputs_with_the_same_law_have_odds_of_1_and_the_first_two_are_named(
    inputs: int, pair: tuple[int, int], delta: Fraction
) -> None:
    assert Matrix(np.array([[1, 3]] * inputs), 4).odds(delta) == Odds(Fraction(1), *pair)


def test_the_worst_pair_is_named() -> None:
    law = Matrix(np.array([[5, 5], [5, 5], [8, 2], [2, 8]]), 10)
    assert law.odds(Fraction(0)) == Odds(Fraction(4), 2, 3)
    assert law.odds(Fraction(2, 10)) == Odds(Fraction(3), 2, 3)  # 8/10 − 3 · 2/10 = 2/10


def test_laws_that_differ_by_one_part_in_the_total_are_told_apart() -> None:
    assert Matrix(np.array([[2, 1], [1, 2]]), 3).worst(Fraction(1)).value == Fraction(1, 3)
    assert Matrix(np.array([[1, 0], [0, 1]]), 1).worst(Fraction(1)).value == 1
