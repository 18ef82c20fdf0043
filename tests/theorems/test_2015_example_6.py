"""HLM15, Example 6: on sets of hobbies, keep with probability 1 − pm, else p each; private iff 1 − pm ≤ e^ε p + δ.

The example assumes 1 − pm > p. Its closing sentence, "by choosing p ≥ (1 − δ)/(m + e^ε)", drops that: p = 1/m never
tells the truth and has an infinite ε; the exact condition has an upper limit, (e^ε + δ)/(1 + m e^ε).
"""

from fractions import Fraction
from math import inf

import pytest

from dproof import Privacy, Subsets, certify, randomised_response, response_with
from tests import brute_force

SETS = Subsets(["Music", "Football", "Chess"], metric="discrete")
M = 7


@pytest.mark.parametrize("e", [Fraction(1), Fraction(2), Fraction(10)])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10), Fraction(1, 2)])
def test_the_condition_12(e: Fraction, delta: Fraction) -> None:
    for p in [Fraction(n, 400) for n in range(400 // (M + 1))] + [(1 - delta) / (M + e)]:
        private = response_with(SETS, p).family.worst(e).value <= delta
        assert private == (1 - p * M <= e * p + delta) == (p >= (1 - delta) / (M + e))


def test_from_the_definition_over_all_256_sets_of_answers() -> None:
    mechanism = response_with(SETS, "1/20")
    rows = brute_force.probabilities(mechanism)
    for e in (Fraction(1), Fraction(5), Fraction(13)):
        assert brute_force.delta(rows[3], rows[5], e) == mechanism.family.worst(e).value


def test_without_an_upper_limit_the_closing_sentence_is_wrong() -> None:
    p = Fraction(1, M)
    assert p >= (1 - 0) / (M + Fraction(3))
    assert response_with(SETS, p).epsilon() == inf
    assert response_with(SETS, p).law({"Chess"})[frozenset({"Chess"})] == 0


def test_the_calibrated_mechanism() -> None:
    mechanism = randomised_response(SETS, Privacy(1))
    certify(mechanism, Privacy(1))
    assert float(mechanism.law(set())[frozenset({"Chess"})]) == pytest.approx(1 / (7 + 2.718281828459045), abs=1e-12)
    assert mechanism.draw({"Music"}) <= set(SETS.values)
