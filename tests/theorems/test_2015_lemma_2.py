"""HLM15, Lemma 2: the same with disjoint first factors."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from tests.theorems.test_2015_lemma_1 import SIDES, decomposed, mass, points, summed


@given(SIDES, st.integers(0, 4), st.integers(0, 4))
def test_the_union_is_the_same_and_the_first_factors_are_disjoint(rectangles, first: int, second: int) -> None:
    turned = decomposed([(b, a) for a, b in rectangles])
    parts = [(a, b) for b, a in turned]
    assert mass(rectangles, first, second) == summed(parts, first, second)
    assert points(parts) == points(rectangles)
    assert all(not (a & c) for (a, _), (c, _) in combinations(parts, 2))
