"""HLM15, Lemma 1: a union of rectangles A_i × B_i is one of rectangles Ã_I × B̃_I whose second factors are disjoint.

Ã_I is the union of the A_i with i in I, and B̃_I what lies in exactly the B_i with i in I. For I = {} the union on the
left is empty, and so is the rectangle.
"""

from itertools import combinations, product

from hypothesis import given
from hypothesis import strategies as st

from tests import brute_force

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


@given(SIDES)
def test_the_union_is_the_same_and_the_second_factors_are_disjoint(rectangles) -> None:
    parts = decomposed(rectangles)
    assert points(parts) == points(rectangles)
    assert all(not (b & d) for (_, b), (_, d) in combinations(parts, 2))
    assert len(parts) == 2 ** len(rectangles)
    assert parts[0] == (frozenset(), frozenset()), "I = {}"
