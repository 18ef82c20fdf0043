"""HLM16, Corollary 2: for u = −k·h the one set S_{d,d'} suffices, for every δ.

It is the set {P > e^ε P'} whenever k > ε; for k ≤ ε that set is empty and δ = 0. (The proof names Theorems 2 and 3
in the wrong order: within S it is Theorem 3, from S to all sets Theorem 2.)
"""

from fractions import Fraction

import pytest

from dproof import Categories, Table, discrete_exponential, sufficient_sets
from dproof.exact import exact, exp_below
from tests import brute_force


@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 3), (2, 2), (4, 1), (2, 1)])
@pytest.mark.parametrize("k", ["0.3", "1"])
def test_the_one_set_S_suffices(m: int, n: int, k: str) -> None:
    table = Table(Categories(range(m + 1)), n)
    mechanism = discrete_exponential(table, k)
    rows = brute_force.probabilities(mechanism)
    listed = brute_force.tables(range(m + 1), n)
    for i, j in brute_force.neighbours(listed):
        sets = sufficient_sets(mechanism, table.label(i), table.label(j))
        assert len(sets.levels) == 1
        assert sets.checks["corollary 2"] == 1
        row = next(r for r in range(n) if listed[i][r] != listed[j][r])
        agree = [y for y, table_ in enumerate(listed) if table_[row] == listed[i][row]]
        assert [table.code(y) for y in sets.S] == agree, "the tables that agree with d where d and d' differ"
        for epsilon in ("0", "0.2", "0.9", "2"):
            at = exp_below(exact(epsilon))
            on_S = max(Fraction(0), brute_force.excess(rows[i], rows[j], agree, at))
            assert on_S == brute_force.divergence(rows[i], rows[j], at)
            assert sets.single(epsilon) == (sets.S if exact(k) > exact(epsilon) else ())


def test_the_hobbies_need_one_check_for_each_of_twenty_pairs() -> None:
    from dproof import count_checks

    assert count_checks(discrete_exponential(Categories(range(5)), 1)) == {
        "brute force": 20 * 30,
        "theorem 2": 20,
        "corollary 1": 20,
        "corollary 2": 20,
        "single set": 20,
    }
