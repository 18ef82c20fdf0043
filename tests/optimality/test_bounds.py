"""dp.lower_bound: the largest bound that applies, its name, and the pieces it is made of."""

from __future__ import annotations

from fractions import Fraction
from math import exp
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dproof import (
    Categories,
    Curves,
    InputError,
    Interval,
    Privacy,
    Rows,
    Subsets,
    Table,
    design,
    laplace,
    lower_bound,
    lower_bounds,
)
from dproof.certification.certify import Decision
from dproof.curves.lattice import Expansion
from dproof.exact import exp_above, exp_below
from dproof.laws.law import Worst
from dproof.mechanisms.mechanism import Losses, losses
from dproof.optimality import design as module
from dproof.optimality.bounds import _tight_span
from dproof.optimality.design import RoundedAtRandom, _exactly_unbiased, output_lattice, unbiased_law
from dproof.optimality.programme import least_favourable, pure_bound
from dproof.spaces.curves import CurveNorm
from tests.strategies import metrics

pytestmark = pytest.mark.filterwarnings("ignore:this design cannot be inverted")


LINE, SPAN = "linear programme on a line, every space of outputs", "tight span, every space of outputs"
SAME = "a space that looks the same from every point"


@pytest.mark.parametrize(
    ("space", "privacy", "name"),
    [
        (Categories(list("abcde")), Privacy(1), "HLM15, Theorem 7"),
        (Categories(["a", "b"]), Privacy(1, "0.1"), "HLM15, Theorem 6, doubled"),
        (Subsets(list("abc")), Privacy(1), SAME),
        (Interval(0, 1), Privacy(1), LINE),
        (Categories([1, 2, 3], metric="ordinal"), Privacy(1, "0.1"), LINE),
        (Rows({"x": Categories([0, 1, 2]), "y": Categories([0, 1])}), Privacy(1), SAME),
        (Curves(0, 1, 5, 0, 1), Privacy(1), "HLM15, Theorem 6, doubled"),
        (Categories([1, 2, 3], metric=[[0, 2, 3], [2, 0, 4], [3, 4, 0]]), Privacy(1), SPAN),
    ],
)
def test_the_best_bound_has_a_name(space, privacy: Privacy, name: str) -> None:
    assert lower_bound(space, privacy).name == name
    assert lower_bound(space, privacy).value == max(b.value for b in lower_bounds(space, privacy))


def test_bounds_are_rounded_down() -> None:
    """e^ε is irrational, so no bound that holds can be exact; it errs on the safe side, by very little."""
    value = lower_bound(Categories(list("abcde")), Privacy(1)).value
    assert value < 4 / (4 + Fraction("2.718281828459045235360287471352662497757"))
    assert value > 4 / (4 + Fraction("2.718281828459045235360287471352662497758"))


@pytest.mark.parametrize("norm", ["sup", "l2"])
def test_the_diameter_of_curves_is_rounded_down_with_a_missing_value_too(norm: CurveNorm) -> None:
    """The diameter √2 of curves in L2 is rounded up: as it is, the bound would be one that no mechanism need keep."""
    curves = Curves(0, 2, 5, 0, 1, norm=norm)
    for kept in (Expansion(curves, terms=2), Expansion(curves, terms=2).with_missing()):
        assert kept.diameter == curves.diameter
        assert lower_bound(kept, Privacy(1)).value == lower_bound(curves, Privacy(1)).value


def test_packing_beats_diameter_and_separation_on_clusters() -> None:
    """Three far clusters of three: r·min{1/2, 2/(2 + e)} with r the distance of clusters."""
    rho = [[0 if i == j else 1 if i // 3 == j // 3 else 100 for j in range(9)] for i in range(9)]
    clusters = Categories(list(range(9)), metric=rho)
    found = {bound.name: float(bound.value) for bound in lower_bounds(clusters, Privacy(2), outputs="anywhere")}
    assert found["packing"] == pytest.approx(100 * 2 / (2 + exp(2)))
    assert found["packing"] > found["HLM15, Theorem 6, doubled"] > found["HLM15, Theorem 7, for outputs anywhere"]


def test_the_tight_span_of_three_points() -> None:
    """Three points have their own distance vectors and one hub; distances 2, 3, 4 put it at 1/2, 3/2 and 5/2."""
    points = Categories([0, 1, 2], metric=[[0, 2, 3], [2, 0, 4], [3, 4, 0]])
    vertices = {tuple(map(Fraction, row)) for row in _tight_span(points)}
    assert vertices == {(0, 2, 3), (2, 0, 4), (3, 4, 0), (Fraction(1, 2), Fraction(3, 2), Fraction(5, 2))}


def test_the_tight_span_of_huge_distances_is_exact() -> None:
    big = 10**30
    points = Categories([0, 1, 2], metric=[[0, 2 * big + 1, 3 * big], [2 * big + 1, 0, 4 * big], [3 * big, 4 * big, 0]])
    hub = max(_tight_span(points).tolist(), key=min)
    assert hub[0] + hub[1] == 2 * big + 1 and hub[1] + hub[2] == 4 * big and hub[0] + hub[2] == 3 * big


@settings(max_examples=30, deadline=None)
@given(metrics(most=5), st.sampled_from(["0", "0.7", "2"]), st.sampled_from(["0", "0.2"]))
def test_every_bound_lies_below_the_optimum(rho: list[list[Fraction]], epsilon: str, delta: str) -> None:
    space, privacy = Categories(list(range(len(rho))), metric=rho), Privacy(epsilon, delta)
    best = design(space, privacy)
    anywhere = lower_bounds(space, privacy, outputs="anywhere")
    for bound in lower_bounds(space, privacy) + anywhere:
        assert 0 <= bound.value <= best.error, bound.name
    assert {b.name for b in anywhere} <= {b.name for b in lower_bounds(space, privacy)}


def test_a_line_bounds_unbounded_outputs_too() -> None:
    """Laplace noise leaves the interval; it errs more than the bound all the same."""
    age = Interval(0, 110, 1)
    for epsilon in ("0.1", "1", "5"):
        bound = lower_bound(age, Privacy(epsilon), outputs="anywhere").value
        assert bound <= laplace(age, Privacy(epsilon), clamp=True).error <= laplace(age, Privacy(epsilon)).error


@pytest.mark.parametrize("metric", ["l1", "l2", "sup"])
def test_no_law_on_tables_beats_the_bound_of_its_rows(metric: Any) -> None:
    """Neighbours differ in one row: a bound for any two tables as neighbours would be too high."""
    for row, n in ((Categories(["a", "b"]), 3), (Categories([0, 1, 2], "ordinal"), 2)):
        table = Table(row, n, metric)
        best, bound = design(table, Privacy(1)), lower_bound(table, Privacy(1))
        assert bound.value <= best.error
        if metric == "l1":
            assert float(bound.value) == pytest.approx(float(best.error), rel=1e-6)


# Bounds that are rounded down, hold for outputs anywhere, and unbiased laws whose checks cannot be left out -----------


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_every_published_bound_lies_below_its_formula(epsilon: str) -> None:
    """With a fraction below e^ε the formula is above its value; what is told must not reach it."""
    odds, space = exp_below(Fraction(epsilon)), Categories(list(range(4)))
    formulas = {
        "HLM15, Theorem 6": 1 / (2 * (1 + odds)),
        "HLM15, Theorem 6, doubled": 1 / (1 + odds),
        "HLM15, Theorem 7": 3 / (3 + odds),
    }
    found = {bound.name: bound.value for bound in lower_bounds(space, Privacy(epsilon))}
    for name, value in formulas.items():
        assert value * (1 - Fraction(1, 10**12)) < found[name] < value


def test_the_diameter_of_curves_is_rounded_down_in_a_bound() -> None:
    """At ε = 0 e^ε is exact, and what is left is the root of an irrational square."""
    for length in (2, 3, 5):
        space = Curves(0, length, 5, 0, 1, norm="l2")
        best = max(bound.value for bound in lower_bounds(space, Privacy(0)))
        assert (2 * best) ** 2 < length and (2 * best) ** 2 > length * (1 - Fraction(1, 10**9))


@pytest.mark.parametrize("k", [3, 6, 12])
def test_a_hub_is_below_no_bound_for_outputs_anywhere(k: int) -> None:
    """Values at distance 1 from each other and a hub at 1/2 from all: always answering the hub errs by 1/2."""
    for privacy in (Privacy(0), Privacy("0.1"), Privacy(1), Privacy("0.1", "0.01")):
        for bound in lower_bounds(Categories(list(range(k))), privacy, outputs="anywhere"):
            assert bound.value <= Fraction(1, 2), bound.name


def test_a_law_that_is_not_decided_private_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    interval = Interval(0, 1, "0.5")
    outputs = output_lattice(interval, Fraction(1))
    assert unbiased_law(interval, outputs, Fraction(1))[0].total > 0
    asked = []

    def refuse(family: Any, epsilon: Fraction, delta: Fraction) -> Decision:
        asked.append((epsilon, delta))
        return Decision(False, Worst(Fraction(1), 0, 1))

    monkeypatch.setattr(module, "decide", refuse)
    with pytest.raises(InputError, match="no unbiased law"):
        unbiased_law(interval, outputs, Fraction(1))
    assert asked == [(Fraction(1), Fraction(0))] * 3


def test_outputs_that_no_unbiased_law_fits_on_are_refused() -> None:
    interval = Interval(0, 1, "0.5")
    with pytest.raises(InputError, match="too narrow"):
        unbiased_law(interval, Interval("-0.5", "1.5", "0.5"), Fraction(1))


def test_a_mean_beyond_the_outputs_has_no_law() -> None:
    assert _exactly_unbiased(np.array([[0.5, 0.5]]), [Fraction(3, 2)]) is None
    law = _exactly_unbiased(np.array([[0.5, 0.5]]), [Fraction(1, 4)])
    assert law is not None and Fraction(int(law.rows[0, 1]), law.total) == Fraction(1, 4)


def test_rounding_at_random_leaves_lattice_points_and_the_ends_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the coins: the least word is 0, the largest all ones."""
    space = RoundedAtRandom(Interval(0, 1, "0.5"))
    for word in (0, 2**64 - 1):

        class Fixed:
            @staticmethod
            def words64(count: int) -> Any:
                return np.full(count, word, np.uint64)  # noqa: B023 - used before the next turn

        monkeypatch.setattr(module.coins, "current", Fixed)
        for values in (np.array([0.0, 0.5, 1.0]), ["0", "0.5", "1"], pa.array([0, 0.5, 1]), pa.array(["0", ".5", "1"])):
            assert space.encode(values).tolist() == [0, 1, 2]
        assert space.encode(np.array([-3.0, 9.0]), clamp=True).tolist() == [0, 2]
        assert space.encode(["-3", "9"], clamp=True).tolist() == [0, 2]
        assert space.encode(np.array([0.25, 0.75])).tolist() == ([1, 2] if word == 0 else [0, 1])


# The proof that no mechanism is better, against the inequality it rests on and against laws that are private ----------


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
