"""Sanitise or ask: the advice is what both ways do when they are tried."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof.errors import InputError
from dproof.testing import seeded_coins

PLAN: dict[str, Any] = {
    "privacy": {"epsilon": 4},
    "columns": {
        "hobby": {"space": "categories", "values": ["Cars", "Chess", "Golf"], "outside": "category", "missing": "Cars"},
        "age": {"space": "interval", "low": 0, "high": 100, "step": 1, "missing": 40},
    },
}
COUNTS = "SELECT hobby, count(*) AS n FROM data GROUP BY hobby"
MEAN = "SELECT avg(age) AS a FROM data"


def even_table(rows: int) -> Any:
    labels = ["Cars", "Chess", "Golf", "something else"]
    return pa.table({"hobby": [labels[n % 4] for n in range(rows)], "age": [n // 4 % 101 for n in range(rows)]})


def test_the_expected_errors_are_those_of_a_trial() -> None:
    rows, times = 4000, 40
    advice = dp.advise(PLAN, [COUNTS, MEAN], rows)
    table = even_table(rows)
    counts, means = [], []
    truth = np.full(4, rows / 4)
    for seed in range(times):
        with seeded_coins(seed):
            release = dp.sanitise(table, PLAN)
            counts.append([row["n"].estimate for row in release.query(COUNTS.replace("data", "release")).rows])
            means.append(release.query(MEAN.replace("data", "release")).rows[0]["a"].estimate)
    trial = np.sqrt(((np.array(counts) - truth) ** 2).mean())
    assert advice.comparisons[0].sanitised == pytest.approx(trial, rel=0.2)
    true_mean = np.mean(table["age"].to_numpy())
    mean_trial = np.sqrt(np.mean((np.array(means) - true_mean) ** 2))
    assert advice.comparisons[1].sanitised == pytest.approx(mean_trial, rel=0.4)
    # The curator: Laplace noise on whole numbers with a = e^(−ε/2), whose variance is 2a/(1 − a)².
    for found, a in ((advice.comparisons[0].asked_alone, np.exp(-2)), (advice.comparisons[0].asked, np.exp(-1))):
        assert found == pytest.approx(np.sqrt(2 * a) / (1 - a), rel=1e-3)


def test_the_more_questions_the_better_is_a_release() -> None:
    few, many = (dp.advise(PLAN, [COUNTS] * n, 2000) for n in (1, 200))
    assert few.better == "ask" and many.better == "sanitise"
    assert few.break_even == many.break_even == few.comparisons[0].break_even
    assert 1 < (few.break_even or 0) < 200
    turning = dp.advise(PLAN, [COUNTS] * (few.break_even or 1), 2000).comparisons[0]
    assert turning.asked >= 0.95 * turning.sanitised


def test_the_more_rows_the_better_is_a_curator() -> None:
    small, large = (dp.advise(PLAN, COUNTS, rows).break_even for rows in (100, 100_000))
    assert small is not None and large is not None and large > 10 * small


def test_advice_is_shown_and_travels() -> None:
    advice = dp.advise(PLAN, [COUNTS, MEAN], 1000)
    assert "sanitising wins from" in str(advice) and "ask the table" in str(advice)
    assert advice.to_json()["better"] == "ask" and len(advice.to_json()["comparisons"]) == 2


@pytest.mark.parametrize(
    ("queries", "rows", "said"),
    [([], 10, "at least one question"), (COUNTS, 0, "whole number"), ("SELECT median(age) FROM data", 10, "quantiles")],
)
def test_what_cannot_be_advised_is_refused(queries: Any, rows: int, said: str) -> None:
    with pytest.raises(InputError, match=said):
        dp.advise(PLAN, queries, rows)
