"""HLM15, Theorem 3: an algebra that generates the σ-algebra is sufficient for inequality (5).

What is not an algebra need not be: single points and intervals generate all sets of a finite line, but they are not
closed under unions, and for δ > 0 they miss the worst set. Finite unions of intervals (the slides) are an algebra.
"""

from fractions import Fraction
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from tests import brute_force
from tests.strategies import laws, odds

PAIR = st.tuples(laws(4, 20), laws(4, 20))
INTERVALS = [frozenset(range(first, last)) for first in range(4) for last in range(first + 1, 5)]


def unions(sets: list[frozenset[int]]) -> set[frozenset[int]]:
    return {frozenset().union(*some) for size in range(len(sets) + 1) for some in combinations(sets, size)}


def test_finite_unions_of_intervals_are_the_algebra_of_all_sets() -> None:
    assert len(INTERVALS) == 10
    assert unions(INTERVALS) == {frozenset(s) for s in brute_force.subsets(range(4))}


@given(PAIR, odds)
def test_on_the_algebra_the_inequality_is_decided(pair: tuple[list[int], list[int]], at: Fraction) -> None:
    p, q = pair
    assert brute_force.delta(p, q, at, unions(INTERVALS)) == brute_force.delta(p, q, at)


@given(PAIR, odds)
def test_on_a_coarser_algebra_it_is_decided_for_what_that_can_see(
    pair: tuple[list[int], list[int]], at: Fraction
) -> None:
    """The algebra of {0, 1} and {2, 3}: it decides the σ-algebra that it generates, and no finer one."""
    p, q = pair
    coarse = [(), (0, 1), (2, 3), (0, 1, 2, 3)]
    seen = brute_force.delta([p[0] + p[1], p[2] + p[3]], [q[0] + q[1], q[2] + q[3]], at)
    assert brute_force.delta(p, q, at, coarse) == seen <= brute_force.delta(p, q, at)


def test_a_generating_family_that_is_no_algebra_misses_the_worst_set() -> None:
    p, q = [Fraction(x, 10) for x in (4, 1, 4, 1)], [Fraction(x, 10) for x in (1, 4, 1, 4)]
    assert brute_force.delta(p, q, Fraction(1), INTERVALS) == Fraction(3, 10)
    assert brute_force.delta(p, q, Fraction(1), unions(INTERVALS)) == Fraction(6, 10)
