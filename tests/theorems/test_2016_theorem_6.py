"""HLM16, Theorem 6 (HLM15, Theorem 5): if the parent is (ε, δ)-private, so is the product sanitisation on D^n."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from dproof import Categories, product_sanitisation, solution_matrix
from dproof.laws import Matrix
from tests.strategies import matrices, odds


@given(matrices(most_inputs=3, most_outputs=3), odds)
def test_the_tight_delta_does_not_grow_with_the_number_of_rows(parent: Matrix, at: Fraction) -> None:
    rows = [[Fraction(int(w), parent.total) for w in row] for row in parent.rows]
    mechanism = solution_matrix(
        Categories(range(parent.inputs)), rows, outputs=Categories(range(100, 100 + parent.outputs))
    )
    for n in (1, 2):
        assert product_sanitisation(mechanism, n).family.worst(at).value == parent.worst(at).value


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_a_parent_with_zeros_stays_infinite_at_delta_zero_and_finite_beyond(n: int) -> None:
    parent = solution_matrix(
        Categories([0, 1]), [["9/10", "1/10", 0], [0, "1/10", "9/10"]], outputs=Categories([0, 1, 2])
    )
    table = product_sanitisation(parent, n)
    assert table.epsilon() == parent.epsilon() == np.inf
    assert table.epsilon("9/10") == parent.epsilon("9/10") == 0
