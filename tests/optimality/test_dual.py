"""The proof that no mechanism is better, against the inequality it rests on and against laws that are private."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dproof import Categories
from dproof.exact import exp_above, exp_below
from dproof.mechanisms.mechanism import Losses, losses
from dproof.optimality.programme import least_favourable, pure_bound

_ODDS = Fraction(3)


def _said(whole: np.ndarray, prices: list[Fraction], levels: list[Fraction]) -> Fraction:
    """Σ μ_i − max_j (e^ε Σ_i (−c_ij)⁺ − Σ_i (c_ij)⁺)⁺ in fractions, as the inequality is stated."""
    over = Fraction(0)
    for column in whole.T:
        c = [price * int(loss) - level for price, loss, level in zip(prices, column, levels, strict=True)]
        over = max(over, _ODDS * sum(max(-x, 0) for x in c) - sum(max(x, 0) for x in c))
    return sum(levels, Fraction(0)) - over


@settings(max_examples=200, deadline=None)
@given(st.integers(2, 9), st.data())
def test_far_off_guesses_pay_what_they_promise_too_much(k: int, data: st.DataObject) -> None:
    """Levels of many sizes: lowering them a few times does not mend them, so that the rest has to be paid for."""
    sizes = data.draw(st.lists(st.integers(-3, 60), min_size=k, max_size=k))
    levels = np.array([2.0**size for size in sizes])
    prices = [Fraction(1, k)] * k
    bound = pure_bound(_ODDS, losses(Categories(list(range(k)))), prices, levels)
    # Randomised response is private at these odds; nothing that is proven of every law may be more than its error.
    assert bound <= Fraction(k - 1) / (k - 1 + _ODDS)


def test_a_guess_that_four_turns_do_not_mend_is_paid_for() -> None:
    """Losses of many sizes around a circle: each turn mends the largest that is left, and there are ten of them."""
    k, odds = 11, Fraction(10**12)
    around = [0, *(8**n for n in range(1, k))]
    circle = Losses(np.array([[around[(j - i) % k] for j in range(k)] for i in range(k)], object), 1, "given")
    attained = sum(around) / (k - 1 + odds)  # the right output with these odds, the others alike: private, and small
    for level in (1.0, 1e3, 1e6, 1e9, 1e12):
        assert pure_bound(odds, circle, [Fraction(1, k)] * k, np.full(k, level)) <= attained


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 5), st.integers(1, 5), st.data())
def test_the_bound_lies_between_the_inequality_and_what_laws_attain(k: int, outputs: int, data: st.DataObject) -> None:
    """Lowering the levels proves no less than they do, and never more than a law that ignores its input attains."""
    some = st.lists(st.integers(0, 9), min_size=outputs, max_size=outputs)
    whole = np.array([data.draw(some) for _ in range(k)], object)
    levels = np.array(data.draw(st.lists(st.floats(-4, 4), min_size=k, max_size=k)))
    prices = least_favourable(np.array(data.draw(st.lists(st.floats(0, 1), min_size=k, max_size=k))))
    bound = pure_bound(_ODDS, Losses(whole, 1, "given"), prices, levels)
    assert bound >= _said(whole, prices, [Fraction(level) for level in levels.tolist()]) - Fraction(1, 2**40)
    assert bound <= min(whole.max(axis=0))


@pytest.mark.parametrize("delta", [Fraction(1, 100), Fraction(1, 10), Fraction(1, 2)])
@pytest.mark.parametrize("k", [2, 3, 6])
def test_what_delta_may_cost_is_taken_off(k: int, delta: Fraction) -> None:
    """The best levels without δ are E/K: with δ the bound is E·(1 − (K − 1)δ), or nothing."""
    odds = exp_above(Fraction(1))
    best = (k - 1) / (k - 1 + odds)
    levels = np.full(k, float(best) / k)
    bound = pure_bound(odds, losses(Categories(list(range(k)))), [Fraction(1, k)] * k, levels, delta=delta)
    expected = best * max(1 - (k - 1) * delta, Fraction(0))
    assert abs(bound - expected) < Fraction(1, 10**12)


def test_an_unbiased_law_is_bounded_with_its_drift_and_a_biased_one_is_not() -> None:
    """Two numbers 0 and 1 released as −1, 0, 1, 2 without bias: the two-point law on the ends is the best."""
    odds = exp_below(Fraction(2))
    away = np.array([[y - x for y in (-1, 0, 1, 2)] for x in (0, 1)], object)
    squares = Losses(away**2, 1, "squared")
    # P(2 | 1) = p with 2p − (1 − p) = 1 gives p = 2/3, which is private where p/(1 − p) = 2 is within the odds.
    variance = Fraction(2, 3) + 4 * Fraction(1, 3)
    assert odds > 2
    for slope in (-2.0, -1.0, 0.0, 1.0, 2.0):
        for level in (0.0, 0.5, 1.0, 4.0):
            slopes, levels = np.array([slope, -slope]), np.array([level, level])
            assert pure_bound(odds, squares, [Fraction(1, 2)] * 2, levels, (slopes, away)) <= variance


@pytest.mark.parametrize("off", [1e-9, 1e-3, 0.5])
def test_levels_that_are_somewhat_too_high_are_lowered_to_the_sharp_ones(off: float) -> None:
    k = 5
    best = (k - 1) / (k - 1 + _ODDS)
    levels = np.full(k, float(best) / k * (1 + off))
    bound = pure_bound(_ODDS, losses(Categories(list(range(k)))), [Fraction(1, k)] * k, levels)
    assert best * (1 - Fraction(1, 10**12)) < bound <= best


def test_prices_are_a_law_whatever_the_solver_found() -> None:
    for found in ([0.2, 0.3], [-1e-9, 1.0], [0.0, 0.0], [1e-300, 1.0, 5.0], [-1.0, -2.0]):
        prices = least_favourable(np.array(found))
        assert sum(prices) == 1 and min(prices) >= 0
    assert least_favourable(np.array([-1.0, 1.0])) == [0, 1]
    assert least_favourable(np.array([1.0, 3.0])) == [Fraction(1, 4), Fraction(3, 4)]
