"""HLM15, Theorem 2 (Rudin, Theorem 8.3): a monotone class that contains the elementary sets contains all of X × Y's.

Elementary sets are finite disjoint unions of rectangles. On finite spaces every set is one, in two ways: by columns
(disjoint second factors, as in Lemma 1) and by rows (Lemma 2). That is what the proof of Theorem 5 uses.
"""

from fractions import Fraction
from itertools import product

import pytest

from dproof import Categories, product_sanitisation, response_with
from dproof.laws.divergence import hockey_stick, worst_set
from tests import brute_force

VALUES = range(3)
PARENT = response_with(Categories(VALUES), "0.2")
TABLE = product_sanitisation(PARENT, 2)
ROW, LAW = (brute_force.probabilities(mechanism) for mechanism in (PARENT, TABLE))
POINTS = brute_force.tables(VALUES, 2)


def rectangles(chosen: set[tuple[int, int]]) -> list[tuple[frozenset[int], frozenset[int]]]:
    """A set as rectangles with disjoint second factors: the points of Y by which points of X they go with."""
    beside = {y: frozenset(x for x in VALUES if (x, y) in chosen) for y in VALUES}
    return [(first, frozenset(y for y in VALUES if beside[y] == first)) for first in set(beside.values()) if first]


def mass(d: tuple[int, int], parts: list[tuple[frozenset[int], frozenset[int]]]) -> Fraction:
    """What two rows give to disjoint rectangles, from the law of one row alone."""
    sides = [(sum(ROW[d[0]][x] for x in a), sum(ROW[d[1]][y] for y in b)) for a, b in parts]
    return sum((p * q for p, q in sides), Fraction(0))


@pytest.mark.parametrize("odds", [Fraction(1), Fraction(3, 2), Fraction(2)])
def test_the_worst_set_of_every_two_tables_is_elementary(odds: Fraction) -> None:
    """The set that decides two tables, cut into rectangles: their masses row by row give the tight δ of the pair."""
    weights, total = TABLE.weights()
    for i, j in product(range(9), repeat=2):
        chosen = {POINTS[y] for y in worst_set(weights[i], weights[j], odds)}
        parts = rectangles(chosen)
        assert sum(len(a) * len(b) for a, b in parts) == len(chosen), "the rectangles are disjoint"
        excess = mass(POINTS[i], parts) - odds * mass(POINTS[j], parts)
        assert excess == hockey_stick(weights[i], weights[j], total, odds)


def test_every_set_of_a_finite_product_is_elementary() -> None:
    for chosen in brute_force.subsets(POINTS):
        parts = rectangles(set(chosen))
        assert {(x, y) for a, b in parts for x in a for y in b} == set(chosen)
        assert mass((0, 1), parts) == sum(LAW[1][POINTS.index(y)] for y in chosen)
