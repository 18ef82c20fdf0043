"""Amounts and limits by themselves: what covers what, and which of two accounts tells what was spent."""

from __future__ import annotations

from fractions import Fraction
from math import floor, log10

import pytest

from dproof import Cost
from dproof.composition import concentrated_epsilon
from dproof.curator.account import Limit, rho_for
from dproof.exact import exp_above
from dproof.privacy import NOTHING

EPSILON, DELTA = Fraction(1), Fraction("1e-6")
MORE = Fraction(1, 10**9)


def test_what_was_paid_covers_an_equal_price_and_no_larger_one() -> None:
    paid = Cost(EPSILON, DELTA)
    assert paid.covers(paid) and paid.covers(Cost(EPSILON / 2, DELTA / 2))
    assert not paid.covers(Cost(EPSILON + MORE, DELTA)) and not paid.covers(Cost(EPSILON, DELTA + MORE))


def test_an_amount_as_json_has_rho_where_it_is_counted_and_no_negative_zero() -> None:
    assert repr(Cost().to_json()) == "{'epsilon': 0.0, 'delta': 0.0}"
    assert repr(Cost(rho=Fraction(0)).to_json()) == "{'epsilon': 0.0, 'delta': 0.0, 'rho': 0.0}"
    assert Cost(EPSILON, DELTA, Fraction(1, 4)).to_json() == {
        "epsilon": 1.0,
        "delta": pytest.approx(1e-6),
        "rho": 0.25,
    }


def test_a_limit_with_delta_is_kept_in_rho_where_the_ledger_counts_it() -> None:
    assert Limit.of(Cost(EPSILON, DELTA), in_rho=True).whole == Cost(EPSILON, DELTA, rho_for(EPSILON, DELTA))
    assert Limit.of(Cost(EPSILON, DELTA), in_rho=False).whole == Cost(EPSILON, DELTA)
    assert Limit.of(Cost(EPSILON), in_rho=True).whole == Cost(EPSILON)


def test_what_was_spent_is_told_by_the_account_that_leaves_more() -> None:
    limit, rho = Limit.of(Cost(EPSILON, DELTA), in_rho=True), Fraction("0.01")
    many = limit.spent(Cost(3 * EPSILON, DELTA / 100, rho))  # the sums are used up
    assert many == Cost(concentrated_epsilon(rho, DELTA * (1 - Fraction(1, 16) - Fraction(1, 1024))), DELTA, rho)
    assert DELTA / 16 < DELTA and Fraction("0.5") < many.epsilon < EPSILON
    few = limit.spent(Cost(EPSILON / 100, DELTA / 100, Fraction("0.024")))  # nearly all of rho
    assert few == Cost(EPSILON / 100, DELTA / 100, Fraction("0.024"))
    unknown = limit.spent(Cost(EPSILON / 2, DELTA / 100, None))
    assert unknown == Cost(EPSILON / 2, DELTA / 100, None)
    assert limit.spent(NOTHING) == Cost(rho=Fraction(0))


@pytest.mark.parametrize("epsilon", ["1234567.8", "12.345678", "0.0012345678"])
def test_what_is_left_in_rho_is_told_as_the_largest_epsilon_of_six_digits(epsilon: str) -> None:
    limit, exact = Limit.of(Cost(Fraction(10**7), DELTA), in_rho=True), Fraction(epsilon)
    rho, whole = rho_for(exact, DELTA), limit.whole
    assert whole.rho is not None
    left = limit.left(Cost(whole.epsilon, DELTA, whole.rho - rho))  # by sums nothing is left
    digit = Fraction(10) ** (floor(log10(exact)) - 5)
    assert left == Cost(exact // digit * digit, DELTA, rho)


def test_rho_covers_what_the_tables_miss_up_to_its_part_of_delta() -> None:
    """Laws within c of such as keep (ε, δ) keep (ε, δ + (1 + e^ε)·c)."""
    limit, most = Limit.of(Cost(EPSILON, DELTA), in_rho=True), DELTA / 1024 / (1 + exp_above(EPSILON))
    for cut, allowed in ((most, True), (most * (1 + MORE), False)):
        assert limit.allows(Cost(2 * EPSILON, DELTA, Fraction("0.01"), cut)) is allowed
