"""The sheet, exercise 3.2: noise 1/ε per bin is ε-private under add-remove, and exactly 2ε under change-one."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from dproof.exact import exp_above, exp_below
from dproof.mechanisms.noise import Noise, integer_laplace
from dproof.privacy import Privacy
from dproof.queries.sensitivity import sensitivity
from dproof.spaces import Categories

BINS = {"bin": Categories(["a", "b", "c"])}
HISTOGRAM = "SELECT bin, count(*) FROM data GROUP BY bin"


@pytest.mark.parametrize("epsilon", ["0.1", "1", "2.5"])
def test_noise_for_sensitivity_one_is_epsilon_private_for_one_bin(epsilon: str) -> None:
    privacy = Privacy(epsilon, neighbours="add-remove")
    assert sensitivity(HISTOGRAM, BINS, "add-remove").l1 == 1
    noise = integer_laplace(1, privacy)
    assert noise.law.ratio <= exp_below(privacy.epsilon) + Fraction(1, 2**100)
    assert float(epsilon) - 1e-6 < noise.epsilon() <= float(epsilon)


def test_the_law_of_the_whole_histogram() -> None:
    """Every output of three bins, written out: the densities of neighbours never differ by more than e^ε."""
    noise = integer_laplace(1, Privacy(1, neighbours="add-remove"))
    table, neighbour, changed = (5, 3, 0), (6, 3, 0), (5, 2, 1)
    worst = {}
    for name, other in (("add-remove", neighbour), ("change-one", changed)):
        ratios = []
        for output in product(range(-3, 9), repeat=3):
            p = q = Fraction(1)
            for y, here, there in zip(output, table, other, strict=True):
                p, q = p * noise.probability(y - here), q * noise.probability(y - there)
            ratios.append(max(p / q, q / p))
        worst[name] = max(ratios)
    assert exp_below(Fraction(999, 1000)) < worst["add-remove"] <= exp_above(Fraction(1))
    assert exp_below(Fraction(1999, 1000)) < worst["change-one"] <= exp_above(Fraction(2))


def test_under_change_one_the_same_noise_costs_twice_as_much() -> None:
    assert sensitivity(HISTOGRAM, BINS, "change-one").l1 == 2
    law = integer_laplace(1, Privacy(1, neighbours="add-remove")).law
    two_bins_move = Noise("Laplace", law, size=2, coordinates=2)
    assert 2 - 1e-6 < two_bins_move.epsilon() <= 2
    assert two_bins_move.delta(2) == 0 and two_bins_move.delta(1) > 0
