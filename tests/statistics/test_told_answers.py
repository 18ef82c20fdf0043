"""What tells something holds as often as it says, also where most tells nothing: over every outcome of the noise.

A reader sees those that are told alone. A ratio whose divisor is near zero is told only if noise has made that large,
so that up to half of these answers used to miss. Where less than one answer in a hundred is told, nothing is promised.
"""

from __future__ import annotations

import warnings
from functools import cache
from itertools import product
from math import isfinite
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.statistics.every_outcome import Chances, Outcomes
from tests.statistics.told import (
    Told,
    by_curator,
    by_curators_sums,
    by_measured_tables,
    by_normal_noise,
    by_releases,
    measured_law,
)

A, B, C, D = (f"count(*) FILTER (WHERE x = '{value}')" for value in "abcd")
RATIO, ODDS = f"{A} / {B}", f"({A} * {D}) / ({B} * {C})"
QUOTIENT, DIFFERENCE = f"({A} / {B}) / ({C} / {D})", f"{A} / {B} - {C} / {D}"
CALCULATIONS = [
    *("avg(x) - avg(y)", "avg(x) * avg(y)", "avg(x) / avg(y)", "sum(x) / sum(y)", "sum(x) / (sum(x) + sum(y))"),
    *("var(x)", "stddev(x)", "stddev(x) / avg(x)", "proportion(x = 1) - proportion(y = 1)"),
    "(count(*) FILTER (WHERE x = 1 AND y = 1) * count(*) FILTER (WHERE x = 0 AND y = 0))"
    " / (count(*) FILTER (WHERE x = 1 AND y = 0) * count(*) FILTER (WHERE x = 0 AND y = 1))",
]
MIXED = [(1, 0), (1, 1), (1, 1), (0, 1), (0, 0)]


def holds(found: Told) -> bool:
    return found.held >= 0.93 or found.told < 0.01


@pytest.mark.parametrize("divisor", [0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 12])
@pytest.mark.parametrize("ratio", [0, 0.2, 1, 3, 10])
def test_a_ratio_of_measured_counts(divisor: float, ratio: float) -> None:
    """With noise of standard error 1; a divisor of 0.5 with ratio 3 had 65 % of those told, 7 % of all, hold."""
    assert holds(by_normal_noise(RATIO, "ab", [ratio * divisor, divisor], ratio))


@pytest.mark.parametrize("ratio", [0.2, 1, 3])
@pytest.mark.parametrize(("divisor", "more"), [(8, 0.04), (12, 1e-3), (30, 1e-6)])
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
        *((0, 2), (1, 1), (3, 2)),
        *(pytest.param(*more, marks=pytest.mark.slow) for more in ((1, 4), (1, 8), (3, 6), (3, 12), (3, 20))),
    ],
)
def test_a_ratio_of_a_curators_counts(ratio: int, divisor: int) -> None:
    """A divisor of 1 at ε = 1 with ratio 3 had 47 % of those told, 4 % of all, hold."""
    assert holds(by_curator(RATIO, "ab", [ratio * divisor, divisor], ratio, "1"))


@pytest.mark.parametrize(
    ("asked", "rows", "epsilon", "neighbours"),
    [
        ("sum(x) / sum(y)", [(1, 1)] * 6, "2", "add-remove"),
        ("sum(x) / (sum(x) + sum(y))", [(1, 1), (0, 0)] * 6, "1", "change-one"),
        pytest.param("sum(x) / (sum(x) + sum(y))", [(1, 1)] * 4, "2", "change-one", marks=pytest.mark.slow),
        ("sum(x) / (sum(x) + sum(y))", [(1, 0), (1, 1), (1, 1)] * 2, "2", "add-remove"),
        ("avg(x) * avg(y)", [(1, 1)] * 3, "3", "change-one"),
        pytest.param("avg(x) * avg(y)", [(1, 1)] * 3, "3", "add-remove", marks=pytest.mark.slow),
        pytest.param("avg(x) * avg(y)", [(1, 1)] * 4, "2", "change-one", marks=pytest.mark.slow),
        ("avg(x) / avg(y)", [(1, 1), (0, 0)] * 3, "2", "change-one"),
    ],
)
def test_a_calculation_of_a_curator(asked: str, rows: list[tuple[int, ...]], epsilon: str, neighbours: str) -> None:
    """Where 59 % to 92 % of those told held; sampled outcomes had hidden it, for only rare ones show it."""
    assert holds(by_curators_sums(asked, rows, epsilon, neighbours))


@pytest.mark.parametrize(("asked", "width"), [("sum(x) / sum(y)", 0.33), ("stddev(x) / avg(x)", 0.31)])
def test_a_calculation_of_thirty_rows_is_told_and_narrow(asked: str, width: float) -> None:
    found = by_curators_sums(asked, MIXED * 6, "3", outcomes=100)
    assert found.told > 0.99 and found.held >= 0.93 and found.width <= width


ENDS_AND_MIXED = [[(0, 0)], [(1, 1)], [(0, 1)], [(0, 0), (1, 1)], [(1, 0), (1, 1), (1, 1), (0, 1)]]
MATRIX = [
    *product(CALCULATIONS, ENDS_AND_MIXED, (3, 4, 6, 12, 30), ("0.5", "1", "2", "3"), ("add-remove", "change-one"))
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "kind", "rows", "epsilon", "neighbours"), Random(16).sample(MATRIX, 40), ids=lambda part: str(part)
)
def test_every_calculation_of_a_curator(
    asked: str, kind: list[tuple[int, int]], rows: int, epsilon: str, neighbours: str
) -> None:
    """With x and y both at an end, at different ends, in the middle, and mixed: a sample of all cases."""
    assert holds(by_curators_sums(asked, (kind * rows)[:rows], epsilon, neighbours, 4000))


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


BINARY = {name: {"space": "categories", "values": [0, 1]} for name in "xy"}


def truth_of(asked: str, rows: list[tuple[int, int]]) -> float:
    """What a calculation is of these rows; not a number where it is none."""
    x, y = np.array(rows, float).T
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both, of_one, of_zero = np.mean(x * y), x[y == 1], x[y == 0]
        counts = [np.sum((x == i) & (y == j), dtype=float) for i, j in ((1, 1), (0, 0), (1, 0), (0, 1))]
        found = {
            "avg(x)": x.mean(),
            "avg(x) - avg(y)": x.mean() - y.mean(),
            "avg(x) * avg(y)": x.mean() * y.mean(),
            "avg(x) / avg(y)": x.mean() / y.mean(),
            "sum(x) / sum(y)": x.sum() / y.sum(),
            "sum(x) / (sum(x) + sum(y))": x.sum() / (x.sum() + y.sum()),
            "var(x)": x.var(ddof=1),
            "stddev(x)": x.std(ddof=1),
            "stddev(x) / avg(x)": x.std(ddof=1) / x.mean(),
            "avg(x) + stddev(x)": x.mean() + x.std(ddof=1),
            "proportion(x = 1) - proportion(y = 1)": x.mean() - y.mean(),
            "covar_pop(x, y)": both - x.mean() * y.mean(),
            "corr(x, y)": (both - x.mean() * y.mean()) / (x.std() * y.std()),
            "avg(x) FILTER (WHERE y = 1)": of_one.mean(),
            "avg(x) FILTER (WHERE y = 1) - avg(x) FILTER (WHERE y = 0)": of_one.mean() - of_zero.mean(),
        }
        return float(found.get(asked, counts[0] * counts[1] / (counts[2] * counts[3])))


@pytest.mark.parametrize(
    ("asked", "rows", "epsilon", "neighbours", "delta"),
    [
        ("avg(x) / avg(y)", [(1, 1), (0, 0)] * 3, "2", "add-remove", None),
        ("sum(x) / (sum(x) + sum(y))", [(0, 1)] * 12, "1", "add-remove", None),
        ("var(x)", [(0, 0)] * 30, "1", "change-one", None),
        ("stddev(x)", [(0, 0)] * 30, "1", "change-one", None),
        ("avg(x) * avg(y)", [(0, 1)] * 30, "1", "add-remove", None),
        ("avg(x) * avg(y)", MIXED * 12, "0.5", "add-remove", None),
        ("var(x)", [(1, 0), (1, 1), (1, 1), (0, 1)] * 15, "0.5", "add-remove", None),
        ("covar_pop(x, y)", [(0, 0)] * 60, "0.5", "change-one", None),
        ("avg(x) FILTER (WHERE y = 1)", [(0, 1)] * 12, "1", "change-one", None),
        pytest.param("stddev(x) / avg(x)", [(1, 1)] * 60, "2", "add-remove", "1e-6", marks=pytest.mark.slow),
        pytest.param("avg(x) + stddev(x)", [(1, 1)] * 60, "2", "add-remove", "1e-6", marks=pytest.mark.slow),
    ],
)
def test_a_calculation_of_measured_tables(
    asked: str, rows: list[tuple[int, int]], epsilon: str, neighbours: str, delta: str | None
) -> None:
    """Where 0 % to 92 % of those told held: by Laplace tails, slopes that noise made small, and roots near zero."""
    draws = 10_000 if delta is None else 2000
    assert holds(by_measured_tables(asked, rows, truth_of(asked, rows), epsilon, neighbours, delta, draws))


def test_the_number_of_values_of_measured_tables() -> None:
    """Of two values 3 % of the answers told one: where noise left so few rows of the other, and never truly."""
    assert holds(by_releases("count(DISTINCT x)", [(0, 0), (1, 1)] * 2, 2, measured_law("0.5", "change-one"), 400))


@pytest.mark.parametrize("rows", [[(1, 1)] * 4, [(0, 0)] * 16])
@pytest.mark.parametrize("asked", ["avg(x)", "avg(x) * avg(y)", "corr(x, y)", "stddev(x) / avg(x)"])
@pytest.mark.parametrize("epsilon", [1, 5])
def test_a_calculation_on_a_release(asked: str, rows: list[tuple[int, int]], epsilon: int) -> None:
    """Of `avg(x) * avg(y)` of four rows at ε = 5 91 % of those told held, of `avg(x)` of sixteen at ε = 1 88 %."""
    truth = truth_of(asked, rows)
    if isfinite(truth):
        found = Outcomes(BINARY, rows, epsilon).covered(truth, asked)
        assert found.of_told >= 0.93 or found.told < 0.01


@pytest.mark.parametrize(
    ("asked", "ones", "epsilon"), [("stddev(x) / avg(x)", 24, "1.75"), ("stddev(x) * avg(x)", 6, "1.1")]
)
def test_a_deviation_in_a_calculation(asked: str, ones: int, epsilon: str) -> None:
    """In the middle a variance has a small slope, and was taken to be far from zero: 92 % and 70 % held."""
    rows = [(0,)] * (30 - ones) + [(1,)] * ones
    deviation, mean = float(np.std(rows, ddof=1)), float(np.mean(rows))
    truth = deviation / mean if "/" in asked else deviation * mean
    found = Outcomes({"x": BINARY["x"]}, rows, epsilon).covered(truth, asked)
    assert found.of_told >= 0.93 or found.told < 0.01


MORE = [
    *CALCULATIONS,
    *("avg(x)", "covar_pop(x, y)", "corr(x, y)", "avg(x) + stddev(x)", "avg(x) FILTER (WHERE y = 1)"),
    "avg(x) FILTER (WHERE y = 1) - avg(x) FILTER (WHERE y = 0)",
]
KINDS = [*ENDS_AND_MIXED, MIXED, [(0, 0), (0, 0), (0, 1), (0, 1), (1, 0)]]
SMALL = [*product(MORE, KINDS, (3, 4, 6, 12, 30, 60), ("0.5", "1", "2", "3"))]


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
@pytest.mark.parametrize("delta", [None, "1e-6"])
@pytest.mark.parametrize(("asked", "kind", "rows", "epsilon"), Random(28).sample(SMALL, 40), ids=lambda part: str(part))
def test_every_calculation_of_measured_tables(
    asked: str, kind: list[tuple[int, int]], rows: int, epsilon: str, delta: str | None, neighbours: str
) -> None:
    """A sample of all cases, by draws."""
    table = (kind * rows)[:rows]
    truth = truth_of(asked, table)
    if isfinite(truth) and not (delta and asked.count("AND") == 4):  # counts of three columns are not measured
        assert holds(by_measured_tables(asked, table, truth, epsilon, neighbours, delta, 20_000))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "kind", "rows", "epsilon"),
    Random(29).sample([case for case in SMALL if case[2] <= 12], 60),
    ids=lambda part: str(part),
)
def test_every_calculation_on_a_release(asked: str, kind: list[tuple[int, int]], rows: int, epsilon: str) -> None:
    """A sample of all cases, over every outcome."""
    table = (kind * rows)[:rows]
    truth = truth_of(asked, table)
    if isfinite(truth):
        found = Outcomes(BINARY, table, epsilon).covered(truth, asked)
        assert found.of_told >= 0.93 or found.told < 0.01
