"""What a random order of the rows adds: an upper bound, for every law, checked by going through all small tables."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement
from math import exp, log
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dproof as dp
from dproof import shuffled
from dproof.certification import verify_certificate
from dproof.certification.compose import blankets, usual_delta
from dproof.certification.verify_certificate import LAWS as RECORDED
from dproof.certification.verify_certificate import blanket_of, by_kind, exp_below, row_blankets, shuffled_delta

LAWS = by_kind(RECORDED)


def response(values: int, epsilon: float) -> tuple[Fraction, Fraction, Fraction]:
    """The blanket of randomised response: kq, kq and kp."""
    odds = Fraction(exp(epsilon))
    q = 1 / (odds + values - 1)
    return values * q, values * q, values * q * odds


def histograms(rows: list[list[Fraction]], inputs: tuple[int, ...]) -> Counter[tuple[int, ...]]:
    """The law of how many rows have each output: all that is left of them in a random order."""
    law = Counter({(0,) * len(rows[0]): Fraction(1)})
    for value in inputs:
        after: Counter[tuple[int, ...]] = Counter()
        for counts, chance in law.items():
            for output, own in enumerate(rows[value]):
                after[(*counts[:output], counts[output] + 1, *counts[output + 1 :])] += chance * own
        law = after
    return law


def true_delta(rows: list[list[Fraction]], n: int, odds: Fraction) -> Fraction:
    """The largest δ of all neighbouring tables of n rows."""
    worst = Fraction(0)
    for others in combinations_with_replacement(range(len(rows)), n - 1):
        laws = [histograms(rows, (*others, value)) for value in range(len(rows))]
        for p in laws:
            for q in laws:
                worst = max(worst, sum((max(Fraction(0), w - odds * q[at]) for at, w in p.items()), Fraction(0)))
    return worst


@pytest.mark.parametrize(("values", "bound", "truth"), [(3, 0.234720, 0.234323), (4, 0.187439, 0.185674)])
def test_randomised_response_to_six_digits(values: int, bound: float, truth: float) -> None:
    odds, q = Fraction(exp(1)), 1 / (Fraction(exp(2)) + values - 1)
    rows = [[1 - (values - 1) * q if x == y else q for y in range(values)] for x in range(values)]
    assert round(float(shuffled_delta(6, response(values, 2), odds)), 6) == bound
    assert round(float(true_delta(rows, 6, odds)), 6) == truth


@given(
    st.lists(st.lists(st.integers(1, 12), min_size=3, max_size=3), min_size=2, max_size=3),
    st.integers(1, 4),
    st.sampled_from(["1", "6/5", "3/2", "2", "3"]),
)
def test_no_law_of_three_outputs_is_below_its_true_delta(weights: list[list[int]], n: int, at: str) -> None:
    odds, total = Fraction(at), 36
    rows = [[a, b, total - a - b] for a, b, _ in weights]
    law = {"kind": "matrix", "rows": rows, "total": total}
    most = max(Fraction(max(column), min(column)) for column in zip(*rows, strict=True))
    epsilon = Fraction(log(most)) + Fraction(1, 10**9)
    truth = true_delta([[Fraction(w, total) for w in row] for row in rows], n, odds)
    assert all(shuffled_delta(n, blanket, odds) >= truth for blanket in row_blankets([law], epsilon))


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_the_bound_for_any_mechanism_holds_for_the_extreme_one(n: int, epsilon: str) -> None:
    odds, local = Fraction("1.3"), Fraction(exp(float(epsilon)))
    rows = [[local / (1 + local), 1 / (1 + local)], [1 / (1 + local), local / (1 + local)]]
    (clones,) = row_blankets([{}], Fraction(epsilon) + Fraction(1, 10**9))
    assert shuffled_delta(n, clones, odds) >= true_delta(rows, n, odds)


@pytest.mark.parametrize(
    ("rows", "values", "local"), [(300, 5, 2.48), (1000, 2, 3.26), (1000, 5, 3.37), (2000, 5, 3.97), (10_000, 5, 5.48)]
)
def test_the_local_epsilon_that_shuffling_allows(rows: int, values: int, local: float) -> None:
    """By the sums over every number of rows that hide others these are the largest, and blocks of them cost less."""
    odds, most = Fraction(exp(1)), Fraction(1, 10**6)
    assert shuffled_delta(rows, response(values, local), odds) <= most
    assert shuffled_delta(rows, response(values, local + 0.02), odds) > most


def mechanisms() -> list[dp.Mechanism]:
    five, one = dp.Categories(list("abcde")), dp.Privacy(1)
    return [
        dp.randomised_response(five, one),
        dp.unary_encoding(five, one),
        dp.subset_selection(five, one),
        dp.frequency(dp.Categories(list(range(40))), one),
        dp.itemwise_response(dp.Subsets(list("abc")), one),
        dp.one_item(dp.Subsets(list("abc")), one),
        dp.discrete_exponential(dp.Categories(list(range(5)), metric="ordinal"), "1/4"),
    ]


@pytest.mark.parametrize("mechanism", mechanisms(), ids=lambda mechanism: mechanism.family.kind)
def test_a_blanket_lies_below_every_law(mechanism: dp.Mechanism) -> None:
    """γW ≤ R_x ≤ most·γW for one W and every x: so Σ_y min_x R_x(y) is γ at least, and no ratio is above most."""
    found = blanket_of(LAWS(dict(mechanism.family.to_json()), "law"))
    weights, total = mechanism.family.written_out()
    columns = [[int(w) for w in column] for column in weights.T if max(column)]
    assert found is not None
    mass, most = found
    assert mass <= Fraction(sum(map(min, columns)), total) and all(max(c) <= most * min(c) for c in columns)
    assert most >= mechanism.family.odds(Fraction(0)).value


def test_more_rows_promise_more_and_never_less_than_a_row_by_itself() -> None:
    mechanism = dp.randomised_response(dp.Categories(list("abcde")), dp.Privacy(2))
    found = [shuffled(mechanism, rows, delta="1e-6").epsilon for rows in (1, 20, 100, 1000, 10**4, 10**5, 10**6)]
    assert found == sorted(found, reverse=True) and float(found[0]) == pytest.approx(2) and found[-1] < 1 / 50
    assert shuffled(dp.Privacy(2), 10**4, delta="1e-6").epsilon > found[4]  # the mechanism says more than its promise
    assert usual_delta(999) == Fraction(1, 10**6) and usual_delta(10**7) == Fraction(1, 10**8)


def test_columns_together_hide_less_than_one() -> None:
    law = dp.randomised_response(dp.Categories(list("ab")), dp.Privacy(1)).family.to_json()
    odds, rows = Fraction("1.2"), 500
    one, two = (min(shuffled_delta(rows, b, odds) for b in blankets([law] * n, Fraction(n))) for n in (1, 2))
    drawn = min(shuffled_delta(rows, b, odds) for b in blankets([law] * 2, Fraction(1), [1, 3]))
    assert one == drawn < two


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((dp.Privacy(1, "1e-6"), 10), "δ = 0 only"),
        ((dp.gaussian(dp.Interval(0, 9, 1), dp.Privacy(1, "1e-6")), 10), "δ = 0 only"),
        ((dp.Privacy(1), 0), "rows must be a whole number from 1"),
    ],
)
def test_what_shuffling_adds_nothing_to_is_refused(given: tuple[object, int], message: str) -> None:
    with pytest.raises(dp.InputError, match=message):
        shuffled(given[0], given[1], delta="1e-6")  # type: ignore[arg-type]


def test_a_claim_far_below_what_is_needed_takes_no_longer_to_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    """At ε/2 of 2^24 rows no sum is ever above 0; binomial laws were once written out to where that begins."""
    written, one = list[int](), verify_certificate.binomial

    def counted(*given: Any) -> Any:
        found = one(*given)
        written.append(len(found[1]))
        return found

    monkeypatch.setattr(verify_certificate, "binomial", counted)
    for epsilon in ("1/100", "1", "5"):
        (clones,) = row_blankets([{}], Fraction(epsilon))
        assert shuffled_delta(1 << 24, clones, exp_below(Fraction(epsilon) / 2)) < Fraction(1, 10**20)
    assert sum(written) < 1 << 21


@given(st.integers(2, 400), st.fractions("1/20", "2"), st.fractions(1, 8))
def test_sums_that_are_hardly_ever_above_0_are_bounded_from_above(rows: int, epsilon: Fraction, at: Fraction) -> None:
    (clones,) = row_blankets([{}], epsilon)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verify_certificate, "FAR", 1 << 40)
        exact = shuffled_delta(rows, clones, at)
    bound = shuffled_delta(rows, clones, at)
    assert exact <= bound <= exact + Fraction(1, 10**40)
