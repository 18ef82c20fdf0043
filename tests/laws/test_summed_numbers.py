"""Numbers of which only sums are asked for: polynomials of what is released, and their variances."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dproof import Interval
from dproof.laws import Lattice
from dproof.laws.debias import MomentsAxis, Scale, SeenColumn
from dproof.laws.laplace import stairs, two_sided
from dproof.questions.partition import cut
from dproof.questions.question import Schema

SPACE = Interval(0, 20, step=2)
MIDDLE, UNIT = 10, 5  # numbers are counted from the middle, in this unit


def summed(law: Lattice) -> MomentsAxis:
    grid = cut(Schema("release", {"x": SPACE}), [], [], ["x"], set())
    axis = law.moments_of(SeenColumn(grid.axes[0], SPACE, SPACE.line, Scale(MIDDLE, UNIT)))
    assert axis is not None
    return axis


@pytest.mark.parametrize("noise", [two_sided(Fraction(3, 2)), stairs(Fraction(3), 3)], ids=["laplace", "stairs"])
def test_scores_are_unbiased_and_so_are_their_squares(noise) -> None:
    """E q_k(x + Z) = x^k, and Σ q_k² comes from the sums of powers up to the fourth, as variances need it."""
    axis, reach = summed(Lattice(SPACE.size, noise)), 120
    chances = np.array([float(noise.probability(k)) for k in range(-reach, reach + 1)])
    for code in (0, 3, 10):
        shown = (2 * (code + np.arange(-reach, reach + 1)) - MIDDLE) / UNIT
        powers = shown ** np.arange(axis.states)[:, None]
        for k in range(3):
            scores = axis.scores((k,))
            values = scores.gather(powers, 0)[0]
            assert values @ chances == pytest.approx(((2 * code - MIDDLE) / UNIT) ** k, abs=1e-6)
            assert np.allclose(scores.times(scores).gather(powers, 0)[0], values**2)


def test_what_is_expected_of_numbers_that_are_spread_evenly() -> None:
    """The moments of x + Z for x even on [−1, 1] and Laplace noise of variance s: E Z⁴ = 6s²."""
    s = 0.7
    expected = [1, 0, 1 / 3 + s, 0, 1 / 5 + 6 * s / 3 + 6 * s**2]
    assert MomentsAxis(5, (0.0, s), 1.0).state_shares_if_uniform() == pytest.approx(expected)
