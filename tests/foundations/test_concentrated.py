"""Concentrated privacy: ρ, ε and δ of one bound, rounded towards more privacy, and the ρ of pure privacy."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dproof.composition import (
    concentrated_delta,
    concentrated_epsilon,
    concentrated_rho,
    pure_epsilon,
    pure_rho,
)
from dproof.laws.divergence import normal_delta

EPSILONS = st.fractions(Fraction(1, 100), 20, max_denominator=10**6)
DELTAS = st.integers(1, 12).flatmap(lambda power: st.integers(1, 99).map(lambda n: Fraction(n, 10 ** (power + 1))))


def bound(rho: float, epsilon: float, alpha: float) -> float:
    """ln of the δ that ρ gives at ε by the moment of order α, written out: Canonne, Kamath, Steinke 2020, (13)."""
    return (alpha - 1) * (alpha * rho - epsilon) + alpha * math.log1p(-1 / alpha) - math.log(alpha - 1)


def least(rho: Fraction, epsilon: Fraction) -> float:
    """ln of the least such δ, over many orders."""
    orders = (1 + math.exp(n / 200) for n in range(-2400, 2400, 2))
    return min(bound(float(rho), float(epsilon), alpha) for alpha in orders)


@settings(max_examples=60, deadline=None)
@given(EPSILONS, DELTAS)
def test_the_three_directions_agree_and_err_towards_more_privacy(epsilon: Fraction, delta: Fraction) -> None:
    rho = concentrated_rho(epsilon, delta)
    assert least(rho, epsilon) <= math.log(delta) + 1e-3
    assert least(rho * Fraction("1.02"), epsilon) > math.log(delta)  # nothing is wasted
    assert concentrated_delta(rho, epsilon) <= delta * (1 + Fraction(1, 10**9))
    assert concentrated_epsilon(rho, delta) <= epsilon * (1 + Fraction(1, 10**9)) + Fraction(1, 10**12)
    assert concentrated_rho(concentrated_epsilon(rho, delta), delta) >= rho * (1 - Fraction(1, 10**9))


@settings(max_examples=60, deadline=None)
@given(EPSILONS, DELTAS)
def test_normal_noise_with_this_rho_keeps_the_promise(epsilon: Fraction, delta: Fraction) -> None:
    """Of normal noise the profile is known exactly: it must lie below the bound, and not far below."""
    rho = concentrated_rho(epsilon, delta)
    distance = Fraction(math.sqrt(2 * rho))
    assert normal_delta(distance, epsilon) <= delta
    if epsilon >= Fraction(1, 10) and delta <= Fraction(1, 1000):
        assert normal_delta(distance * Fraction(5, 4), epsilon) > delta


@settings(max_examples=100, deadline=None)
@given(st.fractions(0, 60, max_denominator=10**6), st.floats(1e-3, 1e3))
def test_no_pure_promise_has_a_larger_divergence(epsilon: Fraction, above_one: float) -> None:
    """D_α ≤ αρ for randomised response, of which everything that keeps (ε, 0) is a post-processing."""
    e, alpha = float(epsilon), 1 + above_one
    top = alpha * e + math.log1p(math.exp((1 - 2 * alpha) * e))
    divergence = (top - e - math.log1p(math.exp(-e))) / (alpha - 1)
    assert divergence <= alpha * float(pure_rho(epsilon)) * (1 + 1e-9) + 1e-11


@pytest.mark.parametrize("epsilon", ["1e-6", "0.01", "1", "7", "300"])
def test_the_pure_rho_is_tight_and_at_most_half_the_square(epsilon: str) -> None:
    e = Fraction(epsilon)
    rho = pure_rho(e)
    assert float(rho) == pytest.approx(float(e) * math.tanh(float(e) / 2), rel=1e-12)
    assert rho <= e * e / 2 + Fraction(1, 1 << 90)
    assert pure_rho(pure_epsilon(rho)) <= rho and pure_epsilon(rho) >= e * (1 - Fraction(1, 10**9))


@settings(max_examples=60, deadline=None)
@given(st.fractions(0, 100, max_denominator=10**9))
def test_a_pure_epsilon_never_costs_more_than_its_rho(rho: Fraction) -> None:
    assert pure_rho(pure_epsilon(rho)) <= rho
