"""HLM16, Corollary 1: at δ = 0 the level sets of u(d, ·) − u(d', ·) suffice.

Its statement leaves out the constant C_d that its title announces, and rightly: it is not needed. Only the level of
the largest α matters. For δ > 0 the level sets do not suffice, even with a constant C_d: on the cycle of five points
with k = 1 and ε = 0.5, the inputs 0 and 2 have the level sets {0} and {4}, which need δ = 0.3872 and 0.0721, while
their union needs 0.4593.
"""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dproof import Categories, discrete_exponential, sufficient_sets
from dproof.exact import exp_below
from dproof.laws.divergence import hockey_stick
from tests import brute_force
from tests.strategies import odds
from tests.theorems.test_2016_theorem_3 import UTILITIES, exponential_laws, mechanism_of

CYCLE = Categories(range(5), metric=[[min((i - j) % 5, (j - i) % 5) for j in range(5)] for i in range(5)])


@given(UTILITIES, st.sampled_from([Fraction(2), Fraction(27, 10)]), odds)
def test_level_sets_decide_pure_privacy(utilities, base: Fraction, at: Fraction) -> None:
    laws = exponential_laws(utilities, base)
    mechanism = mechanism_of(laws)
    levels = sufficient_sets(mechanism, 0, 1).levels
    on_levels = all(brute_force.excess(*laws, level, at) <= 0 for level in levels)
    assert on_levels == (hockey_stick(*mechanism.weights()[0], 1, at) == 0)
    if levels:
        assert on_levels == (brute_force.excess(*laws, levels[0], at) <= 0), "the largest α alone decides"


def test_level_sets_do_not_suffice_for_a_positive_delta() -> None:
    mechanism = discrete_exponential(CYCLE, 1)
    rows = brute_force.probabilities(mechanism)
    assert rows[0] == [rows[2][(y + 2) % 5] for y in range(5)], "the normaliser is constant"
    sets = sufficient_sets(mechanism, 0, 2)
    assert sets.levels == ((0,), (4,))
    at = exp_below(Fraction(1, 2))
    needs = [float(brute_force.excess(rows[0], rows[2], level, at)) for level in sets.levels]
    assert needs == pytest.approx([0.3872, 0.0721], abs=5e-5)
    union = brute_force.excess(rows[0], rows[2], sets.S, at)
    assert float(union) == pytest.approx(0.4593, abs=5e-5)
    assert union == brute_force.delta(rows[0], rows[2], at)
    assert sets.single("0.5") == sets.S


def test_how_many_checks_that_saves() -> None:
    sets = sufficient_sets(discrete_exponential(CYCLE, 1), 0, 2)
    assert sets.checks == {"brute force": 30, "theorem 2": 3, "corollary 1": 2, "corollary 2": 3, "single set": 1}
