"""HLM15, equations (2) to (4): response mechanisms, sanitised responses Q ∘ Y_d and output perturbations Z_{Q(d)}.

(The slides swap the letters Y and Z.) Queries live on U^n, not on D^n: a sanitised row may lie outside D.
"""

from fractions import Fraction

from dproof import Categories, product_sanitisation, response_with, solution_matrix
from tests import brute_force

LISTED = brute_force.tables([0, 1], 2)


def both(table: tuple[object, ...]) -> int:
    return int(table == (1, 1))


def test_a_sanitised_response_answers_on_the_sanitised_table() -> None:
    """Equation (3): the law of Q ∘ Y_d is the image of the law of Y_d."""
    table = product_sanitisation(response_with(Categories([0, 1]), "1/4"), 2)
    laws = [brute_force.image(row, LISTED, both) for row in brute_force.probabilities(table)]
    assert [law[1] for law in laws] == [Fraction(1, 16), Fraction(3, 16), Fraction(3, 16), Fraction(9, 16)]


def test_an_output_perturbation_sees_the_table_through_the_answer_only() -> None:
    """Equation (4): tables with the same answer have the same law."""
    perturbation = response_with(Categories([0, 1]), "1/4")
    laws = [perturbation.law(both(table)) for table in LISTED]
    assert [law[1] for law in laws] == [Fraction(1, 4)] * 3 + [Fraction(3, 4)]


def test_the_two_kinds_differ() -> None:
    """The sanitised response tells (0, 0) from (0, 1) although both answer 0; the perturbation does not."""
    table = brute_force.probabilities(product_sanitisation(response_with(Categories([0, 1]), "1/4"), 2))
    zero, one = (brute_force.image(table[n], LISTED, both) for n in (0, 1))
    assert zero != one
    assert both(LISTED[0]) == both(LISTED[1])


def test_a_query_must_accept_rows_outside_D() -> None:
    """Y_d may take values in U: here a third answer, "unknown", that no true row has."""
    space, wider = Categories([0, 1]), Categories([0, 1, "unknown"])
    mechanism = solution_matrix(space, [["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"]], outputs=wider)
    law = product_sanitisation(mechanism, 2)
    answers = brute_force.image(
        brute_force.probabilities(law)[0], brute_force.tables(wider.values, 2), lambda table: table.count("unknown")
    )
    assert answers == {0: Fraction(9, 16), 1: Fraction(6, 16), 2: Fraction(1, 16)}
