"""Intervals cover as often as they say, added up over every outcome that a small release can have: nothing is drawn.

Few rows, empty groups, heaps at the ends, one value, wide and little noise, low and high levels.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.statistics.every_outcome import Outcomes, Row

NUMBER = {"space": "interval", "low": 0, "high": 2, "step": 1, "mechanism": "randomised_response"}
FLAG = {**NUMBER, "high": 1}
GAPS = {**NUMBER, "missing": "category"}
TEAM = {"space": "categories", "values": ["a", "b", "c"]}


@cache
def outcomes(kind: str, rows: tuple[Row, ...], epsilon: Any) -> Outcomes:
    columns: dict[str, dict[str, Any]] = {
        "team": {"team": TEAM},
        "number": {"x": NUMBER},
        "flag": {"x": FLAG},
        "gaps": {"x": GAPS},
        "two": {"x": FLAG, "y": FLAG},
    }[kind]
    return Outcomes(columns, rows, epsilon)


def numbers(*x: int | None) -> tuple[Row, ...]:
    return tuple((value,) for value in x)


@pytest.mark.parametrize("epsilon", ["0.1", 2])
@pytest.mark.parametrize(("rows", "held"), [(1, 0), (1, 1), (2, 1), (5, 0), (5, 5), (20, 1)])
def test_counts_of_few_rows(rows: int, held: int, epsilon: Any) -> None:
    found = outcomes("team", (("a",),) * held + (("b",),) * (rows - held), epsilon)
    assert found.covered(held, "count(*) FILTER (WHERE team = 'a')").of_all >= 0.95
    assert found.covered(held / rows, "proportion(team = 'a')").of_all >= 0.95


@pytest.mark.parametrize("level", [0.5, 0.7, 0.8, 0.95, 0.999])
def test_levels_of_a_count(level: float) -> None:
    """A count of 40 rows has steps of two: that moves its coverage by two hundredths at most."""
    found = outcomes("flag", numbers(*[0] * 20, *[1] * 20), 1)
    covered = found.covered(20, "count(*) FILTER (WHERE x = 1)", level=level)
    assert covered.of_all >= level - 0.02


TABLES = {
    "both ends": (0, 0, 0, 0, 0, 2, 2, 2, 2, 2),
    "one value": (1,) * 10,
    "the least value": (0,) * 10,
    "one row": (2,),
    "two rows": (0, 2),
    "skewed": (0,) * 17 + (1, 1, 2),
}


@pytest.mark.parametrize("epsilon", ["0.2", 3])
@pytest.mark.parametrize("table", TABLES)
def test_moments_and_quantiles_of_few_rows(table: str, epsilon: Any) -> None:
    x = np.array(TABLES[table])
    found = outcomes("number", numbers(*TABLES[table]), epsilon)
    asked = {"sum(x)": x.sum(), "avg(x)": x.mean(), "var_pop(x)": x.var(), "stddev_pop(x)": x.std()}
    asked |= {f"quantile(x, {q})": np.quantile(x, q, method="inverted_cdf") for q in (0, 0.5, 1)}
    for sql, truth in asked.items():
        assert found.covered(float(truth), sql).of_all >= 0.95, sql


@pytest.mark.parametrize("x", [(None,) * 8, (None,) * 5 + (0, 0, 2, 2), (1,) * 8])
def test_missing_numbers(x: tuple[int | None, ...]) -> None:
    found, there = outcomes("gaps", numbers(*x), 3), np.array([value for value in x if value is not None], float)
    asked = {"count(x)": len(there), "sum(x)": there.sum()}
    if len(there):
        asked |= {"avg(x)": there.mean(), "stddev_pop(x)": there.std()}
    for sql, truth in asked.items():
        assert found.covered(float(truth), sql).of_all >= 0.95, sql
    if not len(there):  # a mean of nobody is hardly ever told
        assert sum(found.chances[[cell.informative for cell in found.cells_of("avg(x)")]]) < 0.01


@pytest.mark.parametrize(("ones", "rows", "epsilon"), [(34, 60, 1), (46, 60, 1), (34, 60, 2), (105, 150, 1)])
def test_the_variance_of_numbers_that_heap_at_both_ends(ones: int, rows: int, epsilon: Any) -> None:
    """Where the mean lies in the middle of two heaps, noise moves the estimated variance to one side alone."""
    found, share = outcomes("flag", numbers(*[1] * ones, *[0] * (rows - ones)), epsilon), ones / rows
    assert found.covered(share * (1 - share), "var_pop(x)").of_all >= 0.95
    told = found.covered((share * (1 - share)) ** 0.5, "stddev_pop(x)")
    assert told.of_all >= 0.95 and told.of_told >= 0.95
    assert found.covered(1 - 2 * (share * (1 - share)) ** 0.5, "1 - 2 * stddev_pop(x)").of_all >= 0.95


PAIRS = {
    "equal": ((0, 0),) * 5 + ((1, 1),) * 5,
    "independent": ((0, 0), (0, 1), (1, 0), (1, 1)) * 2,
    "one value": ((0, 1), (1, 1)) * 5,
    "rare": ((0, 0),) * 9 + ((1, 1),),
    "three rows": ((0, 0), (1, 1), (1, 0)),
}


@pytest.mark.parametrize("epsilon", [1, 8])
@pytest.mark.parametrize("table", PAIRS)
def test_covariances_ratios_and_conditions_of_two_columns(table: str, epsilon: Any) -> None:
    x, y = np.array(PAIRS[table], float).T
    found, covariance = outcomes("two", PAIRS[table], epsilon), float(np.mean((x - x.mean()) * (y - y.mean())))
    spread = x.std() * y.std()
    asked = {
        ("covar_pop(x, y)", ""): covariance,
        ("corr(x, y)", ""): covariance / spread if spread else 0.0,
        ("count(*)", "WHERE x = 1 AND y = 1"): float((x * y).sum()),
        ("count(*) FILTER (WHERE x = 1) / count(*) FILTER (WHERE y = 1)", ""): x.sum() / y.sum(),
        ("avg(x)", "WHERE y = 1"): x[y == 1].mean(),
        ("stddev_pop(x)", "WHERE y = 1"): x[y == 1].std(),
    }
    for (sql, where), truth in asked.items():
        assert found.covered(truth, sql, where).of_all >= 0.95, (sql, where)


@pytest.mark.parametrize("epsilon", ["0.5", 2, 5])
@pytest.mark.parametrize("rows", ["a", "aaaaaaaa", "aaaabbbb", "aaaaaaaaaaab", "aaaabbbbcccc"])
def test_numbers_of_different_values(rows: str, epsilon: Any) -> None:
    found = outcomes("team", tuple((value,) for value in rows), epsilon)
    covered = found.covered(len(set(rows)), "count(DISTINCT team)")
    assert covered.of_all >= 0.95 and covered.of_told >= 0.93
