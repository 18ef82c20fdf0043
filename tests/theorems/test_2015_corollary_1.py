"""HLM15, Corollary 1: a sanitised response is private for the identity query iff it is for every query.

The direction from every query to the identity is trivial because the identity is one of them; without it, no family
of coarser queries need suffice one by one.
"""

from fractions import Fraction

from hypothesis import given

from dproof import Categories, solution_matrix
from dproof.laws import Matrix
from tests import brute_force
from tests.strategies import matrices, odds
from tests.theorems.test_2015_theorem_4 import mapped


@given(matrices(most_inputs=3, most_outputs=4), odds)
def test_the_worst_query_is_the_identity(family: Matrix, at: Fraction) -> None:
    rows = [[Fraction(int(w), family.total) for w in row] for row in family.rows]
    yes_no = [
        [int(y in chosen) for y in range(family.outputs)] for chosen in brute_force.subsets(range(family.outputs))
    ]
    costs = [brute_force.tight_delta(mapped(rows, answers), at) for answers in yes_no]
    identity = brute_force.tight_delta(rows, at)
    assert max(costs) == identity, "and a query with two answers, 'is the output in A*?', is as bad"


def test_coarser_queries_one_by_one_can_miss_it() -> None:
    """Two bits with the same two marginals under both inputs: each bit alone tells nothing, both together all."""
    rows = [
        [Fraction(1, 2), Fraction(0), Fraction(0), Fraction(1, 2)],
        [Fraction(0), Fraction(1, 2), Fraction(1, 2), Fraction(0)],
    ]
    first, second, identity = [0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 2, 3]
    costs = [
        solution_matrix(Categories([0, 1]), mapped(rows, a), outputs=Categories(sorted(set(a)))).delta(0)
        for a in (first, second, identity)
    ]
    assert costs == [0, 0, 1]
