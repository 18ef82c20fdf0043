"""HLM16, Definition 6 and equations (24) and (25): a parent mechanism as a stochastic matrix.

It is a solution matrix for (ε, δ) if the mechanism it defines is (ε, δ)-private.
"""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dproof import Categories, InputError, NotPrivate, Privacy, certify, response_with, solution_matrix
from tests import brute_force

PAIR = Categories(["yes", "no"])


def test_entries_are_the_masses() -> None:
    """Equation (24): the entry i, j is the mass that input i gives to output j, exactly as it was written."""
    mechanism = solution_matrix(PAIR, [[0.7, Decimal("0.3")], ["1/3", Fraction(2, 3)]])
    assert brute_force.probabilities(mechanism) == [
        [Fraction(7, 10), Fraction(3, 10)],
        [Fraction(1, 3), Fraction(2, 3)],
    ]
    assert mechanism.matrix() == pytest.approx(np.array([[0.7, 0.3], [1 / 3, 2 / 3]]))


@pytest.mark.parametrize("m", [1, 2, 4])
@pytest.mark.parametrize("p", [Fraction(0), Fraction(1, 10), Fraction(1, 7)])
def test_randomised_response_as_a_matrix(m: int, p: Fraction) -> None:
    """Equation (25): 1 − mp on the diagonal and p off it."""
    space = Categories(range(m + 1))
    rows = [[1 - m * p if i == j else p for j in range(m + 1)] for i in range(m + 1)]
    assert brute_force.probabilities(solution_matrix(space, rows)) == rows
    assert brute_force.probabilities(response_with(space, p)) == rows


def test_a_solution_matrix_is_one_for_its_promise() -> None:
    mechanism = solution_matrix(PAIR, [["3/4", "1/4"], ["1/4", "3/4"]])
    certify(mechanism, Privacy("1.0986122886681098"))  # just above ln 3
    with pytest.raises(NotPrivate):
        certify(mechanism, Privacy("1.0986122886681096"))


def test_outputs_may_be_another_space() -> None:
    mechanism = solution_matrix(PAIR, [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]], outputs=Categories([1, 2, 3]))
    assert mechanism.law("no")[2] == Fraction(1, 2)
    assert mechanism.epsilon() == pytest.approx(np.log(2))
    with pytest.raises(InputError, match="no distance"):
        _ = mechanism.error
    assert mechanism.expected_errors([[0, 1, 2], [2, 1, 0]]) == [Fraction(3, 4), Fraction(1)]


def test_a_row_off_by_rounding_is_mended_on_its_largest_entry() -> None:
    third = 0.3333333333
    mechanism = solution_matrix(Categories([0, 1, 2]), [[third, third, third], [1, 0, 0], [0, 0, 1]])
    law = brute_force.probabilities(mechanism)[0]
    assert law == [Fraction(3333333334, 10**10), Fraction(3333333333, 10**10), Fraction(3333333333, 10**10)]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[0.5, 0.6], [0.5, 0.5]], r"row 1 .* sums to 1.1, not to 1; divide it by its sum"),
        ([[0.5, 0.5], [1.5, -0.5]], r"row 2 .* negative entry in column 2"),
        ([[0.5, 0.5]], r"1 rows for 2 inputs; give one row for each"),
        ([[0.5, 0.5], [1]], r"row 2 .* 1 entries for 2 outputs; give one for each"),
        ([[0.5, 0.5], 1], r"row 2 .* not a list of 2 numbers"),
        ([["half", 0.5], [0.5, 0.5]], r"row 1 must be a finite number such as"),
        ([[float("nan"), 0.5], [0.5, 0.5]], r"row 1 must be a finite number"),
        (np.array([[0.5, 0.5], [np.inf, 0.5]]), r"row 2 must be a finite number"),
        ([[0.5, 0.5], [True, False]], r"row 2 must be a finite number"),
        ("ab", "a list of rows"),
        (7, "a list of rows"),
        ([[0.5, 0.5 + 2e-9], [0.5, 0.5]], "not to 1"),
    ],
)
def test_what_is_not_a_stochastic_matrix_is_refused_with_its_place(rows: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        solution_matrix(PAIR, rows)
