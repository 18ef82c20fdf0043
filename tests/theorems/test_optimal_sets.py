"""The least error on 2^H under the symmetric difference: two levels, the higher one on a ball. HLM15, Example 1."""

from __future__ import annotations

from fractions import Fraction
from math import comb, exp

import pytest

from dproof import Privacy, Rows, Subsets, certify, design, itemwise_response, lower_bound, randomised_response
from tests.linear_programme import least_error

pytestmark = pytest.mark.filterwarnings("ignore:this design cannot be inverted")


@pytest.mark.parametrize(
    ("epsilon", "response", "itemwise", "optimum"),
    [
        ("0.5", 1.3874883, 1.3752886, 1.3163110),
        ("1", 1.2347862, 1.2522894, 1.1534121),
        ("2", 0.8339671, 1.0177309, 0.8339671),
        ("3", 0.4430409, 0.8068243, 0.4430409),
    ],
)
def test_three_items(epsilon: str, response: float, itemwise: float, optimum: float) -> None:
    space, privacy = Subsets(["Music", "Football", "Chess"]), Privacy(epsilon)
    assert float(randomised_response(space, privacy).error) == pytest.approx(response, abs=1e-7)
    assert float(itemwise_response(space, privacy).error) == pytest.approx(itemwise, abs=1e-7)
    best = design(space, privacy)
    assert float(best.error) == pytest.approx(optimum, abs=1e-7)
    assert best.optimum is not None and best.optimum.gap < Fraction(1, 10**15)
    certify(best, privacy)
    losses = [[(a ^ b).bit_count() for b in range(8)] for a in range(8)]
    assert least_error(losses, exp(float(epsilon))) == pytest.approx(optimum, abs=1e-7)


def test_the_law_has_two_levels() -> None:
    """At ε = 1 sets that differ in at most one item are e times as likely as the others."""
    law = design(Subsets(["a", "b", "c"]), Privacy(1)).law({"a"})
    near, far = law[{"a", "b"}], law[{"b", "c"}]
    assert {law[frozenset()], law[{"a"}], law[{"a", "c"}]} == {near}
    assert float(near / far) == pytest.approx(exp(1), rel=1e-12) and float(near / far) <= exp(1)


def test_eight_items_with_and_without_delta() -> None:
    space = Subsets(list("abcdefgh"))
    pure, mixed = design(space, Privacy(1)), design(space, Privacy(1, "0.01"))
    e = exp(1)
    errors = [
        sum((e if d <= r else 1) * d * comb(8, d) for d in range(9))
        / sum((e if d <= r else 1) * comb(8, d) for d in range(9))
        for r in range(9)
    ]
    assert float(pure.error) == pytest.approx(min(errors), rel=1e-12)
    certify(mixed, Privacy(1, "0.01"))
    assert mixed.optimum is not None and mixed.optimum.gap < Fraction(1, 10**6)
    assert mixed.error < pure.error


def test_three_items_with_delta_agree_with_the_plain_programme() -> None:
    losses = [[(a ^ b).bit_count() for b in range(8)] for a in range(8)]
    for epsilon, delta in (("0.5", "0.05"), ("1", "0.2"), ("0", "0.1")):
        best = design(Subsets(list("abc")), Privacy(epsilon, delta))
        assert float(best.error) == pytest.approx(least_error(losses, exp(float(epsilon)), float(delta)), rel=1e-7)


def test_forty_items_have_a_bound_without_listing_their_sets() -> None:
    bound = lower_bound(Subsets([str(n) for n in range(40)]), Privacy(1))
    assert bound.name == "a space that looks the same from every point"
    assert float(bound.value) == pytest.approx(18.7395, abs=1e-4)


def test_any_space_that_looks_the_same_from_every_point_has_the_closed_form() -> None:
    """Rows under the Hamming distance, all pairs neighbours: again a ball."""
    space = Rows({"x": Subsets(["a"]), "y": Subsets(["a"])})
    best = design(space, Privacy(1))
    losses = [[float(x) for x in space.distances(n)] for n in range(space.size)]
    assert float(best.error) == pytest.approx(least_error(losses, exp(1)), abs=1e-8)
    assert best.optimum is not None and best.optimum.gap < Fraction(1, 10**15)
