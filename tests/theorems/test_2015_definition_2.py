"""HLM15, Definition 2: private with respect to a set of queries means with respect to each of them.

Asked one by one, that is: two answers together may tell more than each alone, unless both are read from one
sanitised table. (The slides say that δ = 0 gives relaxed privacy and ask for ε > 0; in both papers δ = 0 is the
original, pure notion, δ > 0 the relaxed one, and ε = 0 is allowed: it means no information.)
"""

from fractions import Fraction

from dproof import Categories, Privacy, certify, response_with
from tests import brute_force

PARENT = response_with(Categories([0, 1]), "1/4")


def test_answers_of_separate_draws_add_up() -> None:
    """The same row answered twice with fresh coins: the odds are squared."""
    rows = brute_force.probabilities(PARENT)
    twice = [[p * q for p in row for q in row] for row in rows]
    assert brute_force.tight_delta(rows, Fraction(3)) == 0
    assert brute_force.tight_delta(twice, Fraction(3)) == Fraction(9, 16) - 3 * Fraction(1, 16)
    assert brute_force.tight_delta(twice, Fraction(9)) == 0


def test_answers_read_from_one_sanitised_table_do_not() -> None:
    rows = brute_force.probabilities(PARENT)
    repeated = [brute_force.image(row, [0, 1], lambda y: (y, y)) for row in rows]
    again = [[law[(y, y)] for y in (0, 1)] for law in repeated]
    for odds in (Fraction(1), Fraction(2), Fraction(3)):
        assert brute_force.tight_delta(again, odds) == brute_force.tight_delta(rows, odds)


def test_epsilon_zero_is_a_promise_and_means_no_information() -> None:
    nothing = response_with(Categories(range(5)), "1/5")
    certificate = certify(nothing, Privacy(0))
    assert (certificate.epsilon, certificate.delta) == (0, 0)
    assert len({tuple(row) for row in brute_force.probabilities(nothing)}) == 1
