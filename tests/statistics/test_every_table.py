"""Answers that tell something hold in 93 % at least: every table of a few rows, over every outcome of its release.

All releases of n rows are the same for all tables of n rows; only their chances differ. So each question is answered
once in all of them, and judged for as many tables as one likes. Where one answer in a hundred is told or fewer, nothing
is promised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import comb, isfinite
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest

from dproof.laws.debias import Array
from tests.statistics.every_outcome import Outcomes

X = {"x": {"space": "categories", "values": [0, 1]}}
MEANS = ("avg(x)", "avg(x) * avg(x)", "avg(x) * (1 - avg(x))", "sum(x) / (sum(x) + 5)")
DEVIATIONS = ("var(x)", "stddev(x)", "stddev(x) * avg(x)", "avg(x) + stddev(x)", "stddev(x) / avg(x)")


def truths(x: Array) -> dict[str, float]:
    mean, var = float(x.mean()), float(x.var(ddof=1))
    return {
        "avg(x)": mean,
        "avg(x) * avg(x)": mean**2,
        "avg(x) * (1 - avg(x))": mean * (1 - mean),
        "sum(x) / (sum(x) + 5)": float(x.sum() / (x.sum() + 5)),
        "var(x)": var,
        "stddev(x)": var**0.5,
        "stddev(x) * avg(x)": var**0.5 * mean,
        "avg(x) + stddev(x)": mean + var**0.5,
        "stddev(x) / avg(x)": var**0.5 / mean if mean else np.inf,
    }


class Judged(NamedTuple):
    asked: str
    rows: int
    ones: int
    told: float
    held: float


def flips(n: int, chance: float) -> Array:
    return np.array([comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in range(n + 1)])


def judged(rows: int, epsilon: str, questions: Sequence[str]) -> Iterator[Judged]:
    """Every table of so many rows with values 0 and 1: how much is told of it, and how much of that holds."""
    outcomes = Outcomes(X, [(0,)] * rows, epsilon)  # those of any other table have other chances
    seen = outcomes.counts[:, 1]
    keeps = float(np.exp(float(epsilon)) / (1 + np.exp(float(epsilon))))
    answers: Mapping[str, Any] = {asked: outcomes.cells_of(asked) for asked in questions}
    for ones in range(rows + 1):
        chances = np.convolve(flips(ones, keeps), flips(rows - ones, 1 - keeps))[seen]
        true = truths(np.array([0] * (rows - ones) + [1] * ones, float))
        for asked, cells in answers.items():
            tells = np.array([cell.informative and cell.low is not None for cell in cells])
            holds = [
                tell and cell.low - 1e-9 <= true[asked] <= cell.high + 1e-9
                for tell, cell in zip(tells, cells, strict=True)
            ]
            told = float(chances[tells].sum())
            if isfinite(true[asked]):
                yield Judged(asked, rows, ones, told, float(chances[holds].sum()) / told if told else 1.0)


def misses(found: Iterator[Judged]) -> list[Judged]:
    return [one for one in found if one.told >= 0.01 and one.held < 0.93]


@pytest.mark.parametrize(("rows", "epsilon"), [(12, "2.56"), (20, "1.75"), (30, "3.5"), (60, "1.1")])
def test_every_table_of_zeros_and_ones(rows: int, epsilon: str) -> None:
    """`avg(x) * (1 - avg(x))` near a half held in 74 %, though it was always told; deviations in 0 % of a few."""
    assert misses(judged(rows, epsilon, [*MEANS, *DEVIATIONS])) == []


def test_a_mean_of_34_rows_moves_in_steps() -> None:
    """In the middle 91 % held: a ratio's interval did not know of steps."""
    assert misses(judged(34, "2.56", MEANS[:3])) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_more_tables_of_zeros_and_ones(seed: int) -> None:
    """A few of the thousands are told in 92 %, none that is told as a rule."""
    random = Random(seed)
    rows, epsilon = random.randint(10, 65), str(round(random.uniform(0.4, 5), 2))
    found = [one for one in judged(rows, epsilon, [*MEANS, *DEVIATIONS]) if one.told >= 0.01]
    assert [one for one in found if one.held < 0.93 and one.told > 0.9] == []
    assert sum(one.held < 0.93 for one in found) <= 0.01 * len(found)
    assert all(one.held >= 0.88 for one in found)
