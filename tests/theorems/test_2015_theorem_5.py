"""HLM15, Theorem 5 and the remark after it: n rows cost what one row costs.

With m = 2, p = 0.2 and ε = 0.4 the tight δ is 0.3016350605 for one, two and three rows. Tables that differ in g rows
cost a g-fold composition: 0.4209810363 for g = 2. Parents may differ from row to row; the table then costs what the
worst of them costs.

The remark counts n·C(|D|, 2)·|D|^{n−1} pairs, unordered (inequality (5) is to be tested in both orders), and prints
2^{|D|n} sets where it must be 2^{|D|^n}: for three values and two rows 512, not 64.
"""

from fractions import Fraction
from itertools import product
from math import comb

import pytest
from hypothesis import given

from dproof import Categories, Table, count_checks, product_sanitisation, response_with
from dproof.exact import exp_below
from dproof.laws import Matrix
from tests import brute_force
from tests.strategies import matrices, odds

PARENT = response_with(Categories([0, 1, 2]), "0.2")
E = exp_below(Fraction(4, 10))


@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_delta_does_not_grow_with_the_number_of_rows(rows: int) -> None:
    table = product_sanitisation(PARENT, rows)
    assert table.delta("0.4") == pytest.approx(0.3016350605, abs=1e-10)
    assert table.family.worst(E).value == PARENT.family.worst(E).value


def test_two_changed_rows_compose() -> None:
    table = brute_force.probabilities(product_sanitisation(PARENT, 2))
    listed = brute_force.tables(range(3), 2)
    pairs = [(i, j) for i, j in product(range(9), repeat=2) if brute_force.hamming(listed[i], listed[j]) == 2]
    cost = max(brute_force.divergence(table[i], table[j], E) for i, j in pairs)
    assert float(cost) == pytest.approx(0.4209810363, abs=1e-10)


@given(matrices(most_inputs=2, most_outputs=3), matrices(most_inputs=3, most_outputs=2), odds)
def test_with_different_parents_the_worst_of_them_decides(one: Matrix, two: Matrix, at: Fraction) -> None:
    parents = [[[Fraction(int(w), law.total) for w in row] for row in law.rows] for law in (one, two)]
    table = brute_force.product_law(parents)
    listed = list(product(range(one.inputs), range(two.inputs)))
    cost = max(
        (brute_force.divergence(table[i], table[j], at) for i, j in brute_force.neighbours(listed)), default=Fraction(0)
    )
    assert cost == max(one.worst(at).value, two.worst(at).value)


@pytest.mark.parametrize(("values", "rows", "pairs"), [(3, 2, 18), (2, 3, 12), (5, 2, 100)])
def test_how_much_work_the_theorem_saves(values: int, rows: int, pairs: int) -> None:
    """All pairs of neighbouring tables and all sets of tables, against the pairs and sets of one row."""
    parent = response_with(Categories(range(values)), Fraction(1, 2 * values))
    apart = Table(Categories(range(values)), rows).neighbours()
    assert int(apart.sum()) // 2 == rows * comb(values, 2) * values ** (rows - 1) == pairs
    whole, one = (count_checks(mechanism)["brute force"] for mechanism in (product_sanitisation(parent, rows), parent))
    assert whole == 2 * pairs * (2 ** (values**rows) - 2), "not 2^(|D| n), as printed"
    assert one == values * (values - 1) * (2**values - 2), "for one row this is all there is"
