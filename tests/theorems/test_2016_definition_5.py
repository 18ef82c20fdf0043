"""HLM16, Definition 5 (HLM15, equation (7)): a product sanitisation treats the rows one by one, independently."""

from fractions import Fraction

import pytest

from dproof import Categories, InputError, TooLarge, product_sanitisation, response_with, solution_matrix
from tests import brute_force

PARENTS = [
    response_with(Categories([0, 1]), "0.2"),
    response_with(Categories("abc"[n] for n in range(3)), "1/4"),
    solution_matrix(
        Categories([0, 1]),
        [["1/2", "1/3", "1/6"], ["1/7", "2/7", "4/7"]],
        outputs=Categories("xyz"[n] for n in range(3)),
    ),
]


@pytest.mark.parametrize("parent", PARENTS)
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_the_law_of_a_table_is_the_product_of_its_rows(parent, rows: int) -> None:
    table = product_sanitisation(parent, rows)
    assert brute_force.probabilities(table) == brute_force.product_law([brute_force.probabilities(parent)] * rows)


def test_rows_of_a_table_are_told_by_their_place() -> None:
    table = product_sanitisation(PARENTS[0], 2)
    law = table.law([0, 1])
    assert law[0, 1] == Fraction(16, 25)
    assert law[1, 1] == Fraction(4, 25)
    assert law[1, 0] == Fraction(1, 25)


def test_only_as_many_laws_as_values_are_needed() -> None:
    """A law for each of the (m+1)^n tables would be too many; m + 1 laws say the same for any n."""
    parent = response_with(Categories(range(10)), "0.05")
    table = product_sanitisation(parent, 1000)
    assert len(table.draw(list(range(10)) * 100)) == 1000
    with pytest.raises(TooLarge):
        table.weights()


@pytest.mark.parametrize("rows", [0, -1, True, 1.5, "2"])
def test_the_number_of_rows_is_a_whole_number(rows: object) -> None:
    with pytest.raises(InputError, match="whole number"):
        product_sanitisation(PARENTS[0], rows)  # type: ignore[arg-type]
