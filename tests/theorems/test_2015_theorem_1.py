"""HLM15, Theorem 1 (Billingsley, Theorem 3.4): a monotone class that contains an algebra contains its σ-algebra.

On a finite set every rising or falling sequence of sets becomes constant, so every collection is a monotone class,
and the theorem says that an algebra is already its own σ-algebra. Both are enumerated here. The property of the
privacy inequality that the papers use, being kept by limits of monotone sequences, is checked on all of Z.
"""

from fractions import Fraction
from itertools import chain, combinations

from dproof.laws.two_sided import two_sided

POINTS = frozenset(range(3))
SETS = [frozenset(s) for size in range(4) for s in combinations(POINTS, size)]


def collections() -> list[frozenset[frozenset[int]]]:
    """All 2^8 collections of subsets of three points."""
    return [frozenset(c) for size in range(len(SETS) + 1) for c in combinations(SETS, size)]


def is_algebra(collection: frozenset[frozenset[int]]) -> bool:
    return (
        POINTS in collection
        and all(POINTS - a in collection for a in collection)
        and all(a | b in collection for a in collection for b in collection)
    )


def is_sigma_algebra(collection: frozenset[frozenset[int]]) -> bool:
    unions = (
        frozenset(chain(*family)) for size in range(len(collection) + 1) for family in combinations(collection, size)
    )
    return POINTS in collection and all(POINTS - a in collection for a in collection) and set(unions) <= set(collection)


def test_on_three_points_there_are_five_algebras_and_each_is_a_sigma_algebra() -> None:
    algebras = [c for c in collections() if is_algebra(c)]
    assert len(algebras) == 5, "one for each partition of three points"
    assert all(is_sigma_algebra(algebra) for algebra in algebras)
    assert not any(is_sigma_algebra(c) for c in collections() if c and not is_algebra(c))


def test_the_privacy_inequality_is_kept_by_limits_of_rising_and_falling_sets() -> None:
    """On the rising sets {−k, …, k} and the falling tails {k, k + 1, …}, and then on their limits Z and ∅."""
    noise = two_sided(Fraction(2))
    odds = noise.ratio

    def mass(first: int, last: int, shift: int) -> Fraction:
        return noise.cumulative(last - shift) - noise.cumulative(first - shift - 1)

    for k in range(40):
        assert mass(-k, k, 0) <= odds * mass(-k, k, 1)
        assert 1 - noise.cumulative(k) <= odds * (1 - noise.cumulative(k - 1))
    assert odds * 1 >= 1, "Z"
    assert odds * 0 >= 0, "∅"
