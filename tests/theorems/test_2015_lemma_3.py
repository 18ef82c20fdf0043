"""HLM15, Lemma 3: if the product sanitisation on D^n is (ε, δ)-private, its parent is: project onto one row."""

from fractions import Fraction

import pytest

from dproof import Categories, NotPrivate, Privacy, certify, product_sanitisation, response_with, solution_matrix
from tests import brute_force

PARENT = solution_matrix(Categories([0, 1, 2]), [["1/2", "1/4", "1/4"], ["1/8", "3/4", "1/8"], [0, "1/2", "1/2"]])


@pytest.mark.parametrize("row", [0, 1])
def test_the_projection_onto_a_row_is_the_parent(row: int) -> None:
    listed = brute_force.tables(range(3), 2)
    for d, law in zip(listed, brute_force.probabilities(product_sanitisation(PARENT, 2)), strict=True):
        image = brute_force.image(law, listed, lambda y: y[row])
        assert [image[y] for y in range(3)] == brute_force.probabilities(PARENT)[d[row]]


def test_a_parent_that_breaks_the_promise_breaks_it_on_tables() -> None:
    promise = Privacy(1, "0.1")
    with pytest.raises(NotPrivate):
        certify(PARENT, promise)
    for n in (2, 3):
        with pytest.raises(NotPrivate) as refusal:
            certify(product_sanitisation(PARENT, n), promise)
        witness = refusal.value.witness
        assert brute_force.hamming(witness.d, witness.d_prime) == 1


def test_a_table_that_keeps_it_has_a_parent_that_does() -> None:
    parent = response_with(Categories([0, 1]), "0.3")
    promise = Privacy("0.9")
    certify(product_sanitisation(parent, 3), promise)
    certify(parent, promise)
    assert parent.family.odds(Fraction(0)).value == Fraction(7, 3)
