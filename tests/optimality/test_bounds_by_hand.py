"""Bounds that are rounded down, hold for outputs anywhere, and unbiased laws whose checks cannot be left out."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dproof import Categories, Curves, InputError, Interval, Privacy, lower_bounds
from dproof.certification.certify import Decision
from dproof.exact import exp_below
from dproof.laws.law import Worst
from dproof.optimality import design as module
from dproof.optimality.design import RoundedAtRandom, _exactly_unbiased, output_lattice, unbiased_law


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_every_published_bound_lies_below_its_formula(epsilon: str) -> None:
    """With a fraction below e^ε the formula is above its value; what is told must not reach it."""
    odds, space = exp_below(Fraction(epsilon)), Categories(list(range(4)))
    formulas = {
        "HLM15, Theorem 6": 1 / (2 * (1 + odds)),
        "HLM15, Theorem 6, doubled": 1 / (1 + odds),
        "HLM15, Theorem 7": 3 / (3 + odds),
    }
    found = {bound.name: bound.value for bound in lower_bounds(space, Privacy(epsilon))}
    for name, value in formulas.items():
        assert value * (1 - Fraction(1, 10**12)) < found[name] < value


def test_the_diameter_of_curves_is_rounded_down_in_a_bound() -> None:
    """At ε = 0 e^ε is exact, and what is left is the root of an irrational square."""
    for length in (2, 3, 5):
        space = Curves(0, length, 5, 0, 1, norm="l2")
        best = max(bound.value for bound in lower_bounds(space, Privacy(0)))
        assert (2 * best) ** 2 < length and (2 * best) ** 2 > length * (1 - Fraction(1, 10**9))


@pytest.mark.parametrize("k", [3, 6, 12])
def test_a_hub_is_below_no_bound_for_outputs_anywhere(k: int) -> None:
    """Values at distance 1 from each other and a hub at 1/2 from all: always answering the hub errs by 1/2."""
    for privacy in (Privacy(0), Privacy("0.1"), Privacy(1), Privacy("0.1", "0.01")):
        for bound in lower_bounds(Categories(list(range(k))), privacy, outputs="anywhere"):
            assert bound.value <= Fraction(1, 2), bound.name


def test_a_law_that_is_not_decided_private_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    interval = Interval(0, 1, "0.5")
    outputs = output_lattice(interval, Fraction(1))
    assert unbiased_law(interval, outputs, Fraction(1))[0].total > 0
    asked = []

    def refuse(family: Any, epsilon: Fraction, delta: Fraction) -> Decision:
        asked.append((epsilon, delta))
        return Decision(False, Worst(Fraction(1), 0, 1))

    monkeypatch.setattr(module, "decide", refuse)
    with pytest.raises(InputError, match="no unbiased law"):
        unbiased_law(interval, outputs, Fraction(1))
    assert asked == [(Fraction(1), Fraction(0))] * 3


def test_outputs_that_no_unbiased_law_fits_on_are_refused() -> None:
    interval = Interval(0, 1, "0.5")
    with pytest.raises(InputError, match="too narrow"):
        unbiased_law(interval, Interval("-0.5", "1.5", "0.5"), Fraction(1))


def test_a_mean_beyond_the_outputs_has_no_law() -> None:
    assert _exactly_unbiased(np.array([[0.5, 0.5]]), [Fraction(3, 2)]) is None
    law = _exactly_unbiased(np.array([[0.5, 0.5]]), [Fraction(1, 4)])
    assert law is not None and Fraction(int(law.rows[0, 1]), law.total) == Fraction(1, 4)


def test_rounding_at_random_leaves_lattice_points_and_the_ends_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the coins: the least word is 0, the largest all ones."""
    space = RoundedAtRandom(Interval(0, 1, "0.5"))
    for word in (0, 2**64 - 1):

        class Fixed:
            @staticmethod
            def words64(count: int) -> Any:
                return np.full(count, word, np.uint64)  # noqa: B023 - used before the next turn

        monkeypatch.setattr(module.coins, "current", Fixed)
        for values in (np.array([0.0, 0.5, 1.0]), ["0", "0.5", "1"]):
            assert space.encode(values).tolist() == [0, 1, 2]
        assert space.encode(np.array([-3.0, 9.0]), clamp=True).tolist() == [0, 2]
        assert space.encode(["-3", "9"], clamp=True).tolist() == [0, 2]
        assert space.encode(np.array([0.25, 0.75])).tolist() == ([1, 2] if word == 0 else [0, 1])
