"""The odds that one step of digit noise can cost are the largest of all neighbouring probabilities, up or down."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from dproof.exact import exp_below
from dproof.laws import TwoSided
from dproof.laws.laplace import two_sided


def _quotients(law: TwoSided) -> Iterator[Fraction]:
    """P(k) / P(k − 1) and its inverse, well beyond the first blocks on both sides."""
    reach = 3 * law.block
    probabilities = [law.probability(k) for k in range(-reach, reach + 1)]
    for one, other in pairwise(probabilities):
        yield max(one / other, other / one)


@pytest.mark.parametrize("epsilon", ["3", "1", "1/3", "1/20"])
def test_of_calibrated_noise(epsilon: str) -> None:
    law = two_sided(exp_below(Fraction(epsilon)))
    assert law.ratio == max(_quotients(law)) <= exp_below(Fraction(epsilon))


@pytest.mark.parametrize("seed", range(12))
def test_of_tables_that_fall_and_rise(seed: int) -> None:
    dice = np.random.default_rng(seed)
    positive, negative = (tuple(map(int, dice.integers(1, 60, 2 + seed % 4))) for _ in range(2))
    law = TwoSided((), (positive, negative), None)
    assert law.ratio == max(_quotients(law))


def test_of_a_table_whose_steepest_step_is_a_rise() -> None:
    law = TwoSided((), ((20, 1, 50, 50), (50, 50, 50, 50)), None)
    assert law.ratio == 50 == max(_quotients(law))
