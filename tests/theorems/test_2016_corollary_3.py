"""HLM16, Corollary 3 (HLM15, Lemma 3): the product sanitisation is (ε, δ)-private if and only if its parent is."""

from fractions import Fraction

import pytest
from hypothesis import given

from dproof import Categories, product_sanitisation, response_with, solution_matrix
from dproof.laws import Matrix
from tests import brute_force
from tests.strategies import deltas, matrices


@given(matrices(most_inputs=3, most_outputs=2), deltas)
def test_both_directions(parent: Matrix, delta: Fraction) -> None:
    """Equal tight ε at every δ: the table is private exactly where the parent is."""
    rows = [[Fraction(int(w), parent.total) for w in row] for row in parent.rows]
    mechanism = solution_matrix(
        Categories(range(parent.inputs)), rows, outputs=Categories(range(100, 100 + parent.outputs))
    )
    assert product_sanitisation(mechanism, 2).family.odds(delta).value == parent.odds(delta).value


@pytest.mark.parametrize("row", [0, 1, 2])
def test_the_cylinder_over_a_set_of_one_row_has_the_masses_of_that_row(row: int) -> None:
    """The proof: for A × D^{n−1} the table says what the parent says about A."""
    parent = response_with(Categories([0, 1, 2]), "1/5")
    rows, table = brute_force.probabilities(parent), brute_force.probabilities(product_sanitisation(parent, 3))
    listed = brute_force.tables(range(3), 3)
    for d, law in zip(listed, table, strict=True):
        for chosen in brute_force.subsets(range(3)):
            cylinder = sum(mass for e, mass in zip(listed, law, strict=True) if e[row] in chosen)
            assert cylinder == sum(rows[d[row]][y] for y in chosen)
