"""HLM15, Lemma 1: a union of rectangles A_i × B_i is one of rectangles Ã_I × B̃_I whose second factors are disjoint.

Ã_I is the union of the A_i with i in I, and B̃_I what lies in exactly the B_i with i in I. For I = {} the union on the
left is empty, and so is the rectangle. So two rows that are sanitised independently give a union of rectangles the sum
of what the first row gives to Ã_I times what the second gives to B̃_I.
"""

from fractions import Fraction
from itertools import combinations, product

from hypothesis import given
from hypothesis import strategies as st

from dproof import Categories, product_sanitisation, response_with
from tests import brute_force

PARENT = response_with(Categories(range(5)), "0.1")
ROW, TABLE = (brute_force.probabilities(mechanism) for mechanism in (PARENT, product_sanitisation(PARENT, 2)))

SIDES = st.lists(
    st.tuples(st.sets(st.integers(0, 4), min_size=1), st.sets(st.integers(0, 4), min_size=1)), min_size=1, max_size=4
)
Rectangle = tuple[frozenset[int], frozenset[int]]


def decomposed(rectangles: list[tuple[set[int], set[int]]]) -> list[Rectangle]:
    parts = []
    everything = frozenset().union(*(b for _, b in rectangles))
    for chosen in brute_force.subsets(range(len(rectangles))):
        first = frozenset().union(*(rectangles[i][0] for i in chosen))
        inside = everything.intersection(*(rectangles[i][1] for i in chosen))
        outside = frozenset().union(*(b for i, (_, b) in enumerate(rectangles) if i not in chosen))
        parts.append((first, inside - outside))
    return parts


def points(rectangles) -> set[tuple[int, int]]:
    return {pair for a, b in rectangles for pair in product(a, b)}


def mass(rectangles, first: int, second: int) -> Fraction:
    """What the law of a sanitised table of two rows gives to a set of pairs."""
    return sum((TABLE[5 * first + second][5 * x + y] for x, y in points(rectangles)), Fraction(0))


def summed(parts, first: int, second: int) -> Fraction:
    """The same from the law of one row, rectangle by rectangle."""
    sides = [(sum(ROW[first][x] for x in a), sum(ROW[second][y] for y in b)) for a, b in parts]
    return sum((p * q for p, q in sides), Fraction(0))


@given(SIDES, st.integers(0, 4), st.integers(0, 4))
def test_the_union_is_the_same_and_the_second_factors_are_disjoint(rectangles, first: int, second: int) -> None:
    parts = decomposed(rectangles)
    assert mass(rectangles, first, second) == summed(parts, first, second)
    assert points(parts) == points(rectangles)
    assert all(not (b & d) for (_, b), (_, d) in combinations(parts, 2))
    assert len(parts) == 2 ** len(rectangles)
    assert parts[0] == (frozenset(), frozenset()), "I = {}"
