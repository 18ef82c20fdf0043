"""How often the 95 % intervals of releases cover the truth: kinds of question × tables × rows × ε.

`python -m tests.statistics.coverage` writes docs/coverage.md; the slow tests do so too, and check it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import dproof as dp
from dproof.testing import seeded_coins

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coverage.md"
TIMES = 400
LEVEL, LEAST, MOST = 0.95, 0.93, 0.97
SIZES = {500: (6,), 5000: (3,)}  # rows, and the ε of a row; each of its three columns has a third
Dice = np.random.Generator


def heaps(n: int, dice: Dice) -> np.ndarray:
    """Hours of work: half of the people say 40, others a multiple of ten."""
    return np.where(dice.random(n) < 0.5, 40, 10 * dice.integers(0, 11, n))


def skewed(n: int, dice: Dice) -> np.ndarray:
    return np.minimum(dice.exponential(12, n), 100).astype(int)


def one_value(n: int, dice: Dice) -> np.ndarray:
    return np.full(n, 73)


NUMBERS: dict[str, Callable[[int, Dice], np.ndarray]] = {
    "heaps at 40 and at tens": heaps,
    "one value": one_value,
    "skewed, a fifth missing": skewed,
}
# What is asked, and whether its interval is a bound or that of a ratio, which may cover more often.
QUESTIONS = {
    "count of a category": ("count(*) AS v FROM release WHERE team = 'a'", False),
    "count of a small category (2 %)": ("count(*) AS v FROM release WHERE team = 'c'", False),
    "share of a category": ("count(*) FILTER (WHERE team = 'a') / count(*) AS v FROM release", False),
    "count of an item of a set": ("count(*) AS v FROM release WHERE list_contains(likes, 'x')", False),
    "count by two columns": ("count(*) AS v FROM release WHERE team = 'a' AND list_contains(likes, 'x')", False),
    "mean of a number": ("avg(x) AS v FROM release", False),
    "sum of a number": ("sum(x) AS v FROM release", False),
    "mean of a number in a category": ("avg(x) AS v FROM release WHERE team = 'a'", True),
    "standard deviation of a number": ("stddev(x) AS v FROM release", True),
    "median of a number": ("median(x) AS v FROM release", True),
    "count of numbers up to 40": ("count(*) AS v FROM release WHERE x <= 40", True),
    "count of one number": ("count(*) AS v FROM release WHERE x = 40", True),
}


@dataclass(frozen=True)
class Covered:
    """How many intervals there were in all repetitions, and how many held the truth."""

    told: int
    held: int

    @property
    def share(self) -> float:
        return self.held / self.told if self.told else 1.0

    def __str__(self) -> str:
        silent = 1 - self.told / TIMES
        if not self.told:
            return "no information"
        return f"{self.share:.1%}" + (f" ({silent:.0%} no information)" if silent else "")


def table(name: str, n: int) -> Any:
    dice = np.random.default_rng(n)
    numbers = NUMBERS[name](n, dice).tolist()
    if "missing" in name:
        numbers = [None if lost else x for x, lost in zip(numbers, dice.random(n) < 0.2, strict=True)]
    likes = [[item for item, share in (("x", 0.6), ("y", 0.1)) if dice.random() < share] for _ in range(n)]
    teams = dice.choice(list("abc"), n, p=[0.6, 0.38, 0.02])
    return pa.table(
        {"team": teams, "likes": pa.array(likes, pa.list_(pa.string())), "x": pa.array(numbers, pa.int64())}
    )


def plan(name: str, epsilon: int) -> dict[str, Any]:
    x = {"space": "interval", "low": 0, "high": 100, "step": 1}
    return {
        "privacy": {"epsilon": epsilon},
        "columns": {
            "team": {"space": "categories", "values": ["a", "b", "c"]},
            "likes": {"space": "subsets", "values": ["x", "y"]},
            "x": {**x, "missing": "category"} if "missing" in name else x,
        },
    }


def truth(data: Any, sql: str) -> float:
    """DuckDB's answer on the table itself; its stddev divides by n − 1, and ours by n."""
    asked = sql.replace("FROM release", "FROM data").replace("stddev(", "stddev_pop(")
    return float(duckdb.connect().register("data", data).sql(f"SELECT {asked}").fetchall()[0][0])


def measure(case: tuple[str, int, int], times: int = TIMES) -> dict[str, Covered]:
    """Sanitise a table again and again, and ask every question each time."""
    name, n, epsilon = case
    data, made = table(name, n), dp.Plan.from_dict(plan(name, epsilon))
    true = {question: truth(data, sql) for question, (sql, _) in QUESTIONS.items()}
    told, held = dict.fromkeys(QUESTIONS, 0), dict.fromkeys(QUESTIONS, 0)
    for seed in range(times):
        with seeded_coins(seed):
            release = dp.sanitise(data, made)
        for question, (sql, _) in QUESTIONS.items():
            cell = release.query(f"SELECT {sql}", level=LEVEL).rows[0]["v"]
            if cell.informative and cell.low is not None:
                told[question] += 1
                held[question] += cell.low - 1e-9 <= true[question] <= cell.high + 1e-9
    return {question: Covered(told[question], held[question]) for question in QUESTIONS}


def cases() -> list[tuple[str, int, int]]:
    return [(name, n, epsilon) for name, n in product(NUMBERS, SIZES) for epsilon in SIZES[n]]


def measure_all() -> dict[tuple[str, int, int], dict[str, Covered]]:
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        return dict(zip(cases(), pool.map(measure, cases()), strict=True))


def outside(found: Mapping[tuple[str, int, int], Mapping[str, Covered]]) -> list[str]:
    """Which figures are not as promised."""
    return [
        f"{question}, {case}: {covered}"
        for case, row in found.items()
        for question, covered in row.items()
        if covered.share < LEAST or (covered.share > MOST and not QUESTIONS[question][1])
    ]


def page(found: Mapping[tuple[str, int, int], Mapping[str, Covered]]) -> str:
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Mapping[tuple[str, int, int], Mapping[str, Covered]]) -> Iterator[str]:
    yield f"""# How often intervals cover

Made by `make test-slow` (or `python -m tests.statistics.coverage`): every table is sanitised {TIMES} times, every
question is asked of each release, and its {LEVEL:.0%} interval either holds the answer of the true table or does not. A
share of {LEVEL:.0%} seen in {TIMES} repetitions has a standard error of {(LEVEL * (1 - LEVEL) / TIMES) ** 0.5:.1%}.

Each row has a team, a set of likes, and a number from 0 to 100; ε is that of the whole row, and each of the three
columns has a third of it. The tables differ in their numbers. Questions marked † may cover more often than they say:
their intervals hold for every distribution, or are those of a ratio, which few rows make wide. "No information" is what
an answer says of itself when the truth could be any possible value; such answers are not counted.
"""
    for name in NUMBERS:
        columns = [(n, epsilon) for n in SIZES for epsilon in SIZES[n]]
        yield f"## Numbers: {name}\n"
        yield "| question | " + " | ".join(f"{n:,} rows, ε = {epsilon}" for n, epsilon in columns) + " |"
        yield "| --- |" + " ---: |" * len(columns)
        for question, (_, bound) in QUESTIONS.items():
            shares = (str(found[name, n, epsilon][question]) for n, epsilon in columns)
            yield f"| {question}{' †' if bound else ''} | " + " | ".join(shares) + " |"
        yield ""
    missed = outside(found)
    yield f"Between {LEAST:.0%} and {MOST:.0%}, or above with †: " + ("all." if not missed else "all but these.")
    yield from (f"- {line}" for line in missed)


if __name__ == "__main__":
    results = measure_all()
    PAGE.write_text(page(results), "utf-8")
    sys.exit(int(bool(outside(results))))
