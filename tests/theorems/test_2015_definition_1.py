"""HLM15, Definition 1: (ε, δ)-private with respect to one query, on every measurable set and in both orders.

The sheet, section 4, first asks it of single outputs only. On a finite range that is the same for δ = 0 and weaker
for δ > 0: with P = (.4, .1, .4, .1), Q = (.1, .4, .1, .4) and ε = 0 every single output, and every interval too,
needs no more than 0.3, while the set {0, 2} needs 0.6.
"""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dproof import Categories, solution_matrix
from dproof.certification.certify import find_witness
from dproof.laws.divergence import hockey_stick, tight_odds, worst_set
from tests import brute_force
from tests.strategies import laws, odds

PAIR = st.integers(1, 6).flatmap(lambda outputs: st.tuples(laws(outputs, 24), laws(outputs, 24)))
P, Q = [Fraction(x, 10) for x in (4, 1, 4, 1)], [Fraction(x, 10) for x in (1, 4, 1, 4)]


@given(PAIR, odds)
def test_for_pure_privacy_single_outputs_suffice(pair: tuple[list[int], list[int]], at: Fraction) -> None:
    p, q = pair
    singles = [[y] for y in range(len(p))]
    assert (brute_force.delta(p, q, at, singles) <= 0) == (hockey_stick(p, q, 24, at) == 0)
    least = tight_odds(p, q, 24, Fraction(0))
    assert (brute_force.delta(p, q, at, singles) <= 0) == (least is not None and least <= at)


@given(PAIR, odds)
def test_for_relaxed_privacy_they_only_bound_it_from_below(pair: tuple[list[int], list[int]], at: Fraction) -> None:
    p, q = pair
    found = hockey_stick(p, q, 1, at)
    assert brute_force.delta(p, q, at, [[y] for y in range(len(p))]) <= found == brute_force.delta(p, q, at)


def test_neither_single_outputs_nor_intervals_suffice_for_relaxed_privacy() -> None:
    intervals = [range(first, last + 1) for first in range(4) for last in range(first, 4)]
    assert brute_force.delta(P, Q, Fraction(1), [[y] for y in range(4)]) == Fraction(3, 10)
    assert brute_force.delta(P, Q, Fraction(1), intervals) == Fraction(3, 10)
    assert worst_set([4, 1, 4, 1], [1, 4, 1, 4], Fraction(1)) == (0, 2)
    assert hockey_stick([4, 1, 4, 1], [1, 4, 1, 4], 10, Fraction(1)) == Fraction(6, 10)


def test_the_product_finds_the_set_that_matters() -> None:
    mechanism = solution_matrix(Categories([0, 1]), [P, Q], outputs=Categories(range(4)))
    worst = mechanism.family.worst(Fraction(1))
    assert worst.value == Fraction(6, 10)
    witness = find_witness(mechanism, worst.source, worst.target, Fraction(1))
    assert witness.outputs in ((0, 2), (1, 3))
    assert (witness.probability, witness.probability_prime) == (Fraction(8, 10), Fraction(2, 10))
