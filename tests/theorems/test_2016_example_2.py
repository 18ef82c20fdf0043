"""HLM16, Example 2: D = {0, 1, 2}, two rows, u = −|d − d'|₁.

36 ordered pairs with 510 sets each make 18,360 checks by brute force. The paper then counts 21 pairs with 7 subsets
of S and 15 with 63, together 1,092. The right count is 24 pairs with 7 and 12 with 63, together 924.

Whether P_d(s) > P_d'(s) compares x^a C_d'(x) with x^b C_d(x) at x = 1/e. Both sides are polynomials with whole
coefficients and x is transcendental, so they are equal only where the polynomials coincide, and 36 times they do.
Summing the nine weights of C_d from left to right in floats rounds equal constants differently, so that some of
these ties count as greater: that reproduces the printed 21, 15 and 1,092 exactly.
"""

from collections import Counter
from fractions import Fraction
from math import exp, fsum, log

import pytest

from dproof import Categories, Table, count_checks, discrete_exponential, sufficient_sets
from tests import brute_force

TABLES = brute_force.tables([0, 1, 2], 2)
PAIRS = brute_force.neighbours(TABLES)
MECHANISM = discrete_exponential(Table(Categories([0, 1, 2], "ordinal"), 2), 1)


def distance(d: tuple[int, ...], e: tuple[int, ...]) -> int:
    return sum(abs(x - y) for x, y in zip(d, e, strict=True))


def polynomial(d: tuple[int, ...]) -> list[int]:
    """C_d as a polynomial in 1/e: how many tables lie at each distance."""
    counts = Counter(distance(d, e) for e in TABLES)
    return [counts[power] for power in range(9)]


def shifted(coefficients: list[int], by: int) -> list[int]:
    return [0] * by + coefficients[: 9 - by]


def test_there_are_18360_checks_by_brute_force() -> None:
    assert len(PAIRS) == 36
    assert 2**9 - 2 == 510
    assert count_checks(MECHANISM)["brute force"] == 36 * 510 == 18_360


def test_the_two_sets_that_the_example_shows() -> None:
    first = sufficient_sets(MECHANISM, (0, 1), (2, 1))
    assert list(first.S) == [(0, 0), (0, 1), (0, 2)]
    assert first.checks["theorem 2"] == 7
    second = sufficient_sets(MECHANISM, (1, 1), (2, 1))
    assert list(second.S) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert second.checks["theorem 2"] == 63


def test_24_pairs_need_7_subsets_and_12_need_63() -> None:
    sizes = Counter(len(sufficient_sets(MECHANISM, TABLES[i], TABLES[j]).S) for i, j in PAIRS)
    assert sizes == {3: 24, 6: 12}
    assert count_checks(MECHANISM) == {
        "brute force": 18_360,
        "theorem 2": 24 * 7 + 12 * 63,
        "corollary 1": 36,
        "corollary 2": 36,
        "single set": 36,
    }
    assert 24 * 7 + 12 * 63 == 924


def test_the_count_in_exact_polynomials() -> None:
    """A comparison is a tie if and only if the polynomials coincide; there are 36 ties, and then 924 checks."""
    ties, checks = 0, 0
    for i, j in PAIRS:
        d, e = TABLES[i], TABLES[j]
        greater = []
        for s in TABLES:
            left = shifted(polynomial(e), distance(d, s))
            right = shifted(polynomial(d), distance(e, s))
            if left == right:
                ties += 1
            elif sum(c * exp(-n) for n, c in enumerate(left)) > sum(c * exp(-n) for n, c in enumerate(right)):
                greater.append(s)
        checks += 2 ** len(greater) - 1
        assert list(sufficient_sets(MECHANISM, d, e).S) == greater
    assert ties == 36
    assert checks == count_checks(MECHANISM)["theorem 2"] == 924


def test_the_printed_figures_are_an_artefact_of_summing_floats_from_left_to_right() -> None:
    def sizes(add) -> Counter[int]:
        laws = []
        for d in TABLES:
            weights = [exp(-distance(d, e)) for e in TABLES]
            normaliser = add(weights)
            laws.append([w / normaliser for w in weights])
        return Counter(sum(p > q for p, q in zip(laws[i], laws[j], strict=True)) for i, j in PAIRS)

    def left_to_right(weights: list[float]) -> float:
        total = 0.0
        for weight in weights:
            total += weight
        return total

    assert sizes(left_to_right) == {3: 21, 6: 15}
    assert 21 * 7 + 15 * 63 == 1092, "as printed"
    exactly = Counter(len(sufficient_sets(MECHANISM, TABLES[i], TABLES[j]).S) for i, j in PAIRS)
    assert sizes(fsum) == exactly == {3: 24, 6: 12}, "correctly rounded sums put it right, as whole numbers do"


def test_the_normalisers_take_three_values() -> None:
    edge, middle = 1 + exp(-1) + exp(-2), 1 + 2 * exp(-1)
    assert edge == pytest.approx(1.5032147, abs=1e-7)
    assert middle == pytest.approx(1.7357589, abs=1e-7)
    found = sorted({round(sum(c * exp(-n) for n, c in enumerate(polynomial(d))), 9) for d in TABLES})
    assert found == pytest.approx([2.2596545, 2.6092183, 3.0128589], abs=1e-7)
    assert found == pytest.approx([edge * edge, edge * middle, middle * middle], abs=1e-8)
    kept = sorted({round(float(1 / row[i]), 7) for i, row in enumerate(brute_force.probabilities(MECHANISM))})
    assert kept == pytest.approx(found, abs=1e-6), "a table is kept with probability 1/C_d"


def test_tight_epsilon_is_2_and_one_step_costs_more_than_1() -> None:
    """McSherry and Talwar's factor 2 does not vanish where C_d varies: |u − u'| ≤ 1, and yet ε = 1.1438387."""
    assert MECHANISM.epsilon() == pytest.approx(2, abs=1e-8)
    rows = brute_force.probabilities(MECHANISM)
    extremes = MECHANISM.family.odds(Fraction(0))
    assert {TABLES[extremes.source][0], TABLES[extremes.target][0]} == {0, 2} or {
        TABLES[extremes.source][1],
        TABLES[extremes.target][1],
    } == {0, 2}
    step = max(
        log(p / q)
        for y in range(3)
        for d, e in (((0, y), (1, y)), ((1, y), (0, y)))
        for p, q in zip(rows[TABLES.index(d)], rows[TABLES.index(e)], strict=True)
    )
    assert step == pytest.approx(1.1438387, abs=1e-7)
    assert step == pytest.approx(1 + log(1.7357589 / 1.5032147), abs=1e-7)
