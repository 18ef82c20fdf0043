"""HLM15, Theorem 2 (Rudin, Theorem 8.3): a monotone class that contains the elementary sets contains all of X × Y's.

Elementary sets are finite disjoint unions of rectangles. On finite spaces every set is one, in two ways: by columns
(disjoint second factors, as in Lemma 1) and by rows (Lemma 2). That is what the proof of Theorem 5 uses.
"""

from itertools import product

from tests import brute_force

X, Y = range(2), range(3)


def rectangles(chosen: tuple[tuple[int, int], ...]) -> list[tuple[frozenset[int], frozenset[int]]]:
    """A set as rectangles with disjoint second factors: the points of Y by which points of X they go with."""
    beside = {y: frozenset(x for x in X if (x, y) in chosen) for y in Y}
    return [(first, frozenset(y for y in Y if beside[y] == first)) for first in set(beside.values()) if first]


def test_every_set_of_a_finite_product_is_elementary() -> None:
    for chosen in brute_force.subsets(product(X, Y)):
        parts = rectangles(chosen)
        assert {(x, y) for a, b in parts for x in a for y in b} == set(chosen)
        assert sum(len(a) * len(b) for a, b in parts) == len(chosen), "the rectangles are disjoint"
        seconds = [b for _, b in parts]
        assert len(frozenset().union(*seconds)) == sum(map(len, seconds)), "and so are their second factors"
