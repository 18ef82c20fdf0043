"""HLM15, Theorem 3: an algebra that generates the σ-algebra is sufficient for inequality (5).

What is not an algebra need not be: single points and intervals generate all sets of a finite line, but they are not
closed under unions, and for δ > 0 they miss the worst set. Finite unions of intervals (the slides) are an algebra.
"""

from fractions import Fraction
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from dproof.laws.divergence import hockey_stick, worst_set
from tests import brute_force
from tests.strategies import laws, odds

PAIR = st.tuples(laws(4, 20), laws(4, 20))
INTERVALS = [frozenset(range(first, last)) for first in range(4) for last in range(first + 1, 5)]


def unions(sets: list[frozenset[int]]) -> set[frozenset[int]]:
    return {frozenset().union(*some) for size in range(len(sets) + 1) for some in combinations(sets, size)}


@given(PAIR, odds)
def test_on_the_algebra_the_inequality_is_decided(pair: tuple[list[int], list[int]], at: Fraction) -> None:
    p, q = pair
    assert brute_force.delta(p, q, at, unions(INTERVALS)) == hockey_stick(p, q, 1, at)


@given(PAIR, odds)
def test_on_a_coarser_algebra_it_is_decided_for_what_that_can_see(
    pair: tuple[list[int], list[int]], at: Fraction
) -> None:
    """The algebra of {0, 1} and {2, 3}: it decides the σ-algebra that it generates, and no finer one."""
    p, q = pair
    coarse = [(), (0, 1), (2, 3), (0, 1, 2, 3)]
    seen = hockey_stick([p[0] + p[1], p[2] + p[3]], [q[0] + q[1], q[2] + q[3]], 1, at)
    assert brute_force.delta(p, q, at, coarse) == seen <= hockey_stick(p, q, 1, at)


def test_a_generating_family_that_is_no_algebra_misses_the_worst_set() -> None:
    p, q = [4, 1, 4, 1], [1, 4, 1, 4]
    assert brute_force.delta(p, q, Fraction(1), INTERVALS) == 3
    worst = worst_set(p, q, Fraction(1))
    assert frozenset(worst) in unions(INTERVALS) and frozenset(worst) not in INTERVALS
    assert brute_force.excess(p, q, worst, Fraction(1)) == hockey_stick(p, q, 1, Fraction(1)) == 6
