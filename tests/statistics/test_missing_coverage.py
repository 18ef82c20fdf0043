"""Over 300 sanitisations of a small table with missing values the 95 % intervals cover between 93 % and 97 %."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof.testing import seeded_coins

pytestmark = pytest.mark.slow

TIMES, N = 300, 1200
DICE = np.random.default_rng(8)
WAGE = [None if DICE.random() < 0.3 else int(DICE.integers(0, 1001)) for _ in range(N)]
KIDS = [None if DICE.random() < 0.2 else int(DICE.integers(0, 6)) for _ in range(N)]
LIKES = [None if DICE.random() < 0.25 else [x for x in ("tea", "milk") if DICE.random() < 0.4] for _ in range(N)]
NUMBERS = {"space": "interval", "low": 0, "high": 1000, "step": 1, "missing": "category"}


def check(
    table: Any, column: dict[str, Any], questions: dict[str, float], least: float = 0.93, most: float = 0.97
) -> None:
    plan = dp.Plan.from_dict({"privacy": {"epsilon": 2}, "columns": {table.column_names[0]: column}})
    cells: dict[str, list[Any]] = {question: [] for question in questions}
    for seed in range(TIMES):
        with seeded_coins(seed):
            release = dp.sanitise(table, plan)
        for question in questions:
            cells[question].append(release.query(f"SELECT {question}").rows[0]["v"])
    covered = np.mean([[cell.low <= true <= cell.high for cell in cells[q]] for q, true in questions.items()])
    assert 0.93 <= covered <= 0.97, f"the intervals cover {covered:.3f}"
    for question, true in questions.items():
        estimates = np.array([cell.estimate for cell in cells[question]])
        off = (estimates.mean() - true) / (estimates.std(ddof=1) / np.sqrt(TIMES))
        assert abs(off) < 4, f"{question}: the estimates are {off:.1f} standard errors off"


def test_numbers_under_laplace_noise() -> None:
    present = [wage for wage in WAGE if wage is not None]
    questions = {
        "count(wage) AS v FROM release": float(len(present)),
        "count(*) AS v FROM release WHERE wage IS NULL": float(WAGE.count(None)),
        "avg(wage) AS v FROM release": float(np.mean(present)),
    }
    check(pa.table({"wage": WAGE}), NUMBERS, questions)


def test_few_numbers_under_a_designed_law() -> None:
    present = [kids for kids in KIDS if kids is not None]
    questions = {
        "count(kids) AS v FROM release": float(len(present)),
        "avg(kids) AS v FROM release": float(np.mean(present)),
    }
    check(pa.table({"kids": KIDS}), {**NUMBERS, "high": 5}, questions)


def test_sets() -> None:
    questions = {
        "count(likes) AS v FROM release": float(N - LIKES.count(None)),
        "count(*) AS v FROM release WHERE NOT list_contains(likes, 'tea')": float(
            sum("tea" not in likes for likes in LIKES if likes is not None)
        ),
    }
    column = {"space": "subsets", "values": ["tea", "milk"], "missing": "category"}
    check(pa.table({"likes": pa.array(LIKES, pa.list_(pa.string()))}), column, questions)
