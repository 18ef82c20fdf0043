"""Ratios that tell something hold as often as they say, also where most tell nothing: over every outcome of the noise.

A reader sees those that are told alone. A ratio whose divisor is near zero is told only if noise has made that large,
so that up to half of these answers used to miss. Where less than one answer in a hundred is told, nothing is promised.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from tests.statistics.every_outcome import Chances, Outcomes
from tests.statistics.told import Told, by_curator, by_curators_sums, by_normal_noise

A, B, C, D = (f"count(*) FILTER (WHERE x = '{value}')" for value in "abcd")
RATIO, ODDS = f"{A} / {B}", f"({A} * {D}) / ({B} * {C})"
QUOTIENT, DIFFERENCE = f"({A} / {B}) / ({C} / {D})", f"{A} / {B} - {C} / {D}"


def holds(found: Told) -> bool:
    return found.held >= 0.93 or found.told < 0.01


@pytest.mark.parametrize("divisor", [0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 12])
@pytest.mark.parametrize("ratio", [0, 0.2, 1, 3, 10])
def test_a_ratio_of_measured_counts(divisor: float, ratio: float) -> None:
    """With noise of standard error 1; a divisor of 0.5 with ratio 3 had 65 % of those told, 7 % of all, hold."""
    assert holds(by_normal_noise(RATIO, "ab", [ratio * divisor, divisor], ratio))


@pytest.mark.parametrize("ratio", [0.2, 1, 3])
@pytest.mark.parametrize(("divisor", "more"), [(8, 0.02), (12, 1e-3), (30, 1e-6)])
def test_large_groups_are_told_as_before(ratio: float, divisor: float, more: float) -> None:
    widths = {
        (0.2, 8): 0.4560, (1, 8): 0.7590, (3, 8): 1.7379, (0.2, 12): 0.3237, (1, 12): 0.4796, (3, 12): 1.0832,
        (0.2, 30): 0.1338, (1, 30): 0.1859, (3, 30): 0.4162,
    }  # fmt: skip
    found = by_normal_noise(RATIO, "ab", [ratio * divisor, divisor], ratio)
    assert found.told > 0.9999 and found.width <= widths[ratio, divisor] * (1 + more) + 1e-4


@pytest.mark.parametrize("asked", [ODDS, QUOTIENT, DIFFERENCE])
@pytest.mark.parametrize(
    "counts",
    [
        *((3, 3, 3, 3), (20, 3, 20, 20), (20, 6, 6, 20)),
        *(pytest.param(more, marks=pytest.mark.slow) for more in ((2, 20, 2, 20), (20, 4, 20, 20), (3, 20, 20, 20))),
    ],
)
def test_calculations_with_several_counts(asked: str, counts: tuple[int, ...]) -> None:
    a, b, c, d = counts
    truth = a / b - c / d if asked is DIFFERENCE else a * d / (b * c)
    assert holds(by_normal_noise(asked, "abcd", counts, truth))


@pytest.mark.parametrize(
    ("ratio", "divisor"),
    [
        *((0, 2), (1, 1), (1, 8), (3, 2), (3, 12)),
        *(pytest.param(*more, marks=pytest.mark.slow) for more in ((1, 4), (3, 6), (3, 20))),
    ],
)
def test_a_ratio_of_a_curators_counts(ratio: int, divisor: int) -> None:
    """A divisor of 1 at ε = 1 with ratio 3 had 47 % of those told, 4 % of all, hold."""
    assert holds(by_curator(RATIO, "ab", [ratio * divisor, divisor], ratio, "1"))


@pytest.mark.parametrize(
    ("rows", "epsilon"), [([(1, 1)] * 3, "3"), ([(1, 1)] * 4, "2"), ([(1, 0), (1, 1), (1, 1)] * 2, "2")]
)
def test_a_ratio_of_a_curators_sums(rows: list[tuple[int, ...]], epsilon: str) -> None:
    """Of 4 % of all that were told, 78 %, 77 % and 64 % held."""
    found = by_curators_sums("sum(x) / sum(y)", rows, 1, epsilon, "0.9999")
    assert found.told > 0.03 and found.held >= 0.93


@pytest.mark.parametrize(
    ("asked", "level", "least"),
    [
        ("sum(x) / (sum(x) + sum(y))", "0.9999", 0.85),
        pytest.param("avg(x) * avg(y)", "0.999", 0.86, marks=pytest.mark.slow),
    ],
)
def test_calculations_that_hold_less_often_than_they_say(asked: str, level: str, least: float) -> None:
    """As docs/limits.md says. Only outcomes so rare show it: of those at a level of 0.98 the product held in 96 %."""
    assert by_curators_sums(asked, [(1, 1)] * 3, 1, "3", level).held >= least


def test_a_ratio_of_sums_that_is_nearly_always_told_is_as_narrow_as_before() -> None:
    found = by_curators_sums("sum(x) / sum(y)", [(1, 1)] * 8, 1, "3", "0.9999")
    assert found.told > 0.99 and found.held >= 0.93 and found.width <= 1.15 * 0.729


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["avg(x) - avg(y)", "avg(x) * avg(y)", "avg(x) / avg(y)", "sum(x) / sum(y)"])
@pytest.mark.parametrize("epsilon", ["1", "2", "3"])
@pytest.mark.parametrize("rows", [[(0, 1), (1, 0), (1, 1)], [(1, 1)] * 3, [(1, 1), (1, 0)] * 3, [(1, 1), (0, 1)] * 6])
def test_a_calculation_with_several_of_a_curators_sums(asked: str, rows: list[tuple[int, ...]], epsilon: str) -> None:
    """A difference of means of three rows at ε = 2 had 81 % of those told, 2 % of all, hold."""
    assert holds(by_curators_sums(asked, rows, 1, epsilon, "0.98"))


@cache
def outcomes(rows: str, epsilon: Any) -> Outcomes:
    return Outcomes({"x": {"space": "categories", "values": ["a", "b", "c"]}}, [(value,) for value in rows], epsilon)


def released(rows: str, epsilon: Any, sql: str, truth: float) -> Chances:
    return outcomes(rows, epsilon).covered(truth, sql)


@pytest.mark.parametrize("epsilon", [1, 3, 5])
@pytest.mark.parametrize("rows", ["a", "aab", "aaaaaab", "aaab" * 5, "aaaaaaab" * 4, "b" * 20])
def test_a_ratio_on_a_release(rows: str, epsilon: Any) -> None:
    if "b" in rows:
        found = released(rows, epsilon, RATIO, rows.count("a") / rows.count("b"))
        assert found.of_told >= 0.93 or found.told < 0.01
    among = f"{A} / count(*) FILTER (WHERE x IN ('a', 'b'))"
    found = released(rows, epsilon, among, rows.count("a") / len(rows))
    assert found.of_told >= 0.93 or found.told < 0.01
