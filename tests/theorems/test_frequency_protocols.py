"""Frequencies from sets: unary encoding and subset selection, sanitisations into a larger space."""

from __future__ import annotations

from fractions import Fraction
from math import comb, exp

import numpy as np
import pytest

from dproof import (
    Categories,
    InputError,
    Mechanism,
    Privacy,
    certify,
    randomised_response,
    subset_selection,
    unary_encoding,
)
from dproof.laws import Matrix
from dproof.testing import check_mechanism, seeded_coins

FIVE = Categories(list("abcde"))


def support_probabilities(mechanism: Mechanism) -> tuple[Fraction, Fraction]:
    chances = mechanism.family.support_probabilities
    assert chances is not None
    return chances


def count_variance(hit: Fraction, miss: Fraction, *, rows: int, holders: int) -> Fraction:
    """The variance of (S − nq)/(p − q), the unbiased count of a value's holders among n rows from S outputs with it.

    nq(1−q)/(p−q)² + c(1−p−q)/(p−q) for c holders, given the table.
    """
    return rows * miss * (1 - miss) / (hit - miss) ** 2 + holders * (1 - hit - miss) / (hit - miss)


@pytest.mark.parametrize(
    ("form", "epsilon", "delta"), [("optimised", "0.6", 0.1205076793), ("symmetric", "0.4", 0.1748154668)]
)
def test_unary_encoding_values(form: str, epsilon: str, delta: float) -> None:
    """δ(ε) = p(1−q) − e^ε q(1−p), designed at 1."""
    mechanism = unary_encoding(FIVE, Privacy(1), form=form)
    assert mechanism.delta(epsilon) == pytest.approx(delta, abs=1e-10)
    p, q = map(float, support_probabilities(mechanism))
    if form == "optimised":
        assert (p, q) == pytest.approx((0.5, 1 / (1 + exp(1))), abs=1e-12)
    else:
        assert (p, q) == pytest.approx((exp(0.5) / (1 + exp(0.5)), 1 / (1 + exp(0.5))), abs=1e-12)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_subset_selection_formulas(width: int) -> None:
    e0, k = exp(1), 5
    mechanism = subset_selection(FIVE, Privacy(1), width=width)
    hit, miss = map(float, support_probabilities(mechanism))
    assert hit == pytest.approx(width * e0 / (width * e0 + k - width), abs=1e-8)
    others = (e0 * width * (width - 1) + (k - width) * width) / ((k - 1) * (width * e0 + k - width))
    assert miss == pytest.approx(others, abs=1e-8)
    for epsilon in (0.0, 0.4, 0.9):
        total = comb(k - 1, width - 1) * e0 + comb(k - 1, width)
        assert mechanism.delta(epsilon) == pytest.approx(comb(k - 2, width - 1) * (e0 - exp(epsilon)) / total, abs=1e-8)


def test_subset_selection_of_one_is_randomised_response() -> None:
    sets, values = subset_selection(FIVE, Privacy(1), width=1), randomised_response(FIVE, Privacy(1))
    for value in FIVE.values:
        assert float(sets.law("a")[{value}]) == pytest.approx(float(values.law("a")[value]), abs=1e-8)


MECHANISMS = [
    make(space, privacy, **options)
    for make, options in [
        (unary_encoding, {}),
        (unary_encoding, {"form": "symmetric"}),
        (subset_selection, {}),
        (subset_selection, {"width": 2}),
    ]
    for space in (Categories(["a", "b", "c"]), Categories(range(6)))
    for privacy in (Privacy(1), Privacy("0.3", "0.05"), Privacy(0, "0.1"), Privacy(4))
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: f"{m.name} {m.family}")
def test_the_closed_forms_are_those_of_the_matrix(mechanism: Mechanism) -> None:
    check_mechanism(mechanism)
    weights, total = mechanism.weights()
    matrix = Matrix(weights, total)
    for delta in (Fraction(0), Fraction(1, 50), Fraction(1, 3)):
        assert matrix.odds(delta).value == mechanism.family.odds(delta).value
    hit, miss = support_probabilities(mechanism)
    bits = np.arange(mechanism.family.outputs)
    for value, chance in ((0, hit), (1, miss)):
        assert Fraction(int(weights[0][(bits >> value) & 1 == 1].sum()), total) == chance


@pytest.mark.parametrize("mechanism", MECHANISMS[:4], ids=lambda m: str(m.family))
def test_they_keep_their_promise_and_waste_none_of_it(mechanism: Mechanism) -> None:
    privacy = [Privacy(1), Privacy("0.3", "0.05"), Privacy(0, "0.1"), Privacy(4)][MECHANISMS.index(mechanism)]
    certify(mechanism, privacy)
    assert mechanism.delta(privacy.epsilon) == pytest.approx(float(privacy.delta), abs=1e-9)


@pytest.mark.parametrize(
    ("k", "krr", "unary", "subset", "width"),
    [(5, 0.001937, 0.003683, 0.001937, 1), (50, 0.017178, 0.003683, 0.003497, 13)],
)
def test_variances_of_a_rare_value(k: int, krr: float, unary: float, subset: float, width: int) -> None:
    """ε = 1, n = 1000: variances of the estimated frequency of a value that nobody has."""
    space = Categories(range(k))
    found = subset_selection(space, Privacy(1))
    assert found.family.width == width
    for mechanism, variance in [
        (randomised_response(space, Privacy(1)), krr),
        (unary_encoding(space, Privacy(1)), unary),
        (found, subset),
    ]:
        p, q = support_probabilities(mechanism)
        assert float(count_variance(p, q, rows=1000, holders=0)) / 1000**2 == pytest.approx(variance, abs=1e-6)


def test_randomised_response_wins_for_few_categories() -> None:
    """k-RR beats optimised unary encoding for rare values iff k < 3e^ε + 2, which is 10.15 at ε = 1."""
    for k, wins in ((10, True), (11, False)):
        space = Categories(range(k))
        krr, unary = (
            count_variance(*support_probabilities(make(space, Privacy(1))), rows=1, holders=0)
            for make in (randomised_response, unary_encoding)
        )
        assert (krr < unary) == wins


def test_the_count_estimate_is_unbiased_with_the_stated_variance() -> None:
    mechanism = unary_encoding(FIVE, Privacy(1))
    p, q = map(float, support_probabilities(mechanism))
    rows, holders, repeats = 200, 60, 4000
    codes = np.array([0] * holders + [1] * (rows - holders), np.uint8)
    with seeded_coins(8):
        drawn = mechanism.draw_codes(np.tile(codes, repeats)).reshape(repeats, rows)
    estimates = ((drawn & 1).sum(axis=1) - rows * q) / (p - q)
    variance = float(count_variance(*support_probabilities(mechanism), rows=rows, holders=holders))
    assert estimates.mean() == pytest.approx(holders, abs=5 * (variance / repeats) ** 0.5)
    assert estimates.var() == pytest.approx(variance, rel=0.12)


@pytest.mark.parametrize("make", [unary_encoding, subset_selection])
def test_refusals(make: object) -> None:
    with pytest.raises(InputError, match="Categories"):
        make(None, Privacy(1))  # type: ignore[operator]
    with pytest.raises(InputError, match="machine word"):
        make(Categories(range(63)), Privacy(1))  # type: ignore[operator]


def test_unknown_forms_and_widths_are_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'optimised'"):
        unary_encoding(FIVE, Privacy(1), form="optimized")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="from 1 to 4"):
        subset_selection(FIVE, Privacy(1), width=5)


def test_one_category_alone_is_always_told() -> None:
    assert support_probabilities(subset_selection(Categories(["only"]), Privacy(1))) == (1, 0)
