"""Answers that tell something hold in 93 % at least: every table of a few rows, over every outcome of its release.

All releases of n rows are the same for all tables of n rows; only their chances differ. So each question is answered
once in all of them, and judged for as many tables as one likes. Where one answer in a hundred is told or fewer, nothing
is promised.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, product
from math import isfinite
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest

from dproof.laws.debias import Array
from tests.statistics.every_outcome import Outcomes

Row = tuple[int, ...]
MEANS = ("avg(x)", "avg(x) * avg(x)", "avg(x) * (1 - avg(x))", "sum(x) / (sum(x) + 5)")
TURNING = (
    *("stddev(x) + stddev(y)", "stddev(x) - stddev(y)", "stddev(x) / stddev(y)", "avg(x) + stddev(y)"),
    *("avg(x) * stddev(y)", "avg(x) * avg(x) + avg(y) * avg(y)", "avg(x) * (1 - avg(x)) + avg(y) * (1 - avg(y))"),
    *("sum(x) / (sum(x) + sum(y))", "avg(x) FILTER (WHERE y = 1)"),
)
DEVIATIONS = ("var(x)", "stddev(x)", "stddev(x) * avg(x)", "avg(x) + stddev(x)", "stddev(x) / avg(x)")


def truth_of(asked: str, rows: Sequence[Row]) -> float:
    x, y = np.array(rows, float)[:, [0, -1]].T
    with np.errstate(all="ignore"):
        a, b, s, t = x.mean(), y.mean(), x.std(ddof=1), y.std(ddof=1)
        found = {
            "avg(x)": a,
            "avg(x) * avg(x)": a**2,
            "avg(x) * (1 - avg(x))": a * (1 - a),
            "sum(x) / (sum(x) + 5)": x.sum() / (x.sum() + 5),
            "var(x)": s**2,
            "stddev(x)": s,
            "stddev(x) * avg(x)": s * a,
            "avg(x) + stddev(x)": a + s,
            "stddev(x) / avg(x)": s / a,
            "stddev(x) * stddev(y)": s * t,
            "avg(x) - 2 * stddev(x)": a - 2 * s,
            "1 / avg(x)": 1 / a,
            "stddev(x) + stddev(y)": s + t,
            "stddev(x) - stddev(y)": s - t,
            "stddev(x) / stddev(y)": s / t,
            "avg(x) + stddev(y)": a + t,
            "avg(x) * stddev(y)": a * t,
            "avg(x) * avg(x) + avg(y) * avg(y)": a**2 + b**2,
            "avg(x) * (1 - avg(x)) + avg(y) * (1 - avg(y))": a * (1 - a) + b * (1 - b),
            "sum(x) / (sum(x) + sum(y))": a / (a + b),
            "avg(x) FILTER (WHERE y = 1)": float(np.sum(x * y)) / np.sum(y),
        }
        return float(found[asked])


class Judged(NamedTuple):
    asked: str
    rows: tuple[int, ...]  # how many there are of each kind
    told: float
    held: float


def judged(
    values: Sequence[Row], rows: int, epsilon: str, asked: Sequence[str], tables: int = 1000
) -> Iterator[Judged]:
    """Every table of so many rows with these values, or some of them: how much is told, and how much of that holds."""
    names = "xy"[: len(values[0])]
    columns = {
        name: {"space": "categories", "values": sorted({row[n] for row in values})} for n, name in enumerate(names)
    }
    kinds = (list(values) * rows)[:rows]
    outcomes = Outcomes(columns, kinds, epsilon)  # those of any other table have other chances
    laws = {row: Outcomes(columns, [row], epsilon) for row in values}
    one = {row: dict(zip(map(tuple, of.counts.tolist()), of.chances, strict=True)) for row, of in laws.items()}
    cells = [tuple(int(n == place) for n in range(len(outcomes.cells))) for place in range(len(outcomes.cells))]
    answers = {question: outcomes.cells_of(question) for question in asked}
    every = list(combinations_with_replacement(range(len(values)), rows))
    alike = [(n,) * rows for n in range(len(values))]
    for table in every if len(every) <= tables else [*alike, *Random(rows).sample(every, tables)]:
        chances = _chances([[one[values[n]].get(cell, 0.0) for cell in cells] for n in table])
        likely = chances[tuple(outcomes.counts[:, :-1].T)]
        for question, found in answers.items():
            truth = truth_of(question, [values[n] for n in table])
            tells = np.array([cell.informative and cell.low is not None for cell in found])
            holds = [t and c.low - 1e-9 <= truth <= c.high + 1e-9 for t, c in zip(tells, found, strict=True)]
            told = float(likely[tells].sum())
            if isfinite(truth) and told >= 0.01:
                yield Judged(
                    question, tuple(np.bincount(table, minlength=len(values))), told, likely[holds].sum() / told
                )


def _chances(laws: Sequence[Sequence[float]]) -> Array:
    """How likely each number of rows in all cells but the last is, from the law of each row."""
    cells = len(laws[0]) - 1
    chances = np.zeros((len(laws) + 1,) * cells)
    chances[(0,) * cells] = 1
    for law in laws:
        more = chances * law[-1]
        for n in range(cells):
            one_more = tuple(slice(1, None) if axis == n else slice(None) for axis in range(cells))
            before = tuple(slice(None, -1) if axis == n else slice(None) for axis in range(cells))
            more[one_more] += law[n] * chances[before]
        chances = more
    return chances


def misses(found: Iterator[Judged]) -> list[Any]:
    return [one for one in found if one.held < 0.93]


@pytest.mark.parametrize(("rows", "epsilon"), [(12, "2.56"), (20, "1.75"), (30, "3.5"), (60, "1.1")])
def test_every_table_of_zeros_and_ones(rows: int, epsilon: str) -> None:
    """`avg(x) * (1 - avg(x))` near a half held in 74 %, though it was always told; deviations in 0 % of a few."""
    assert misses(judged([(0,), (1,)], rows, epsilon, [*MEANS, *DEVIATIONS])) == []


def test_a_mean_of_34_rows_moves_in_steps() -> None:
    """In the middle 91 % held: a ratio's interval did not know of steps."""
    assert misses(judged([(0,), (1,)], 34, "2.56", MEANS[:3])) == []


@pytest.mark.parametrize(("values", "rows", "epsilon"), [((0, 1, 2), 40, "4"), ((0, 1, 5), 50, "3.5")])
def test_a_mean_of_three_values(values: tuple[int, ...], rows: int, epsilon: str) -> None:
    """Its square held in 87 %, and times what is left to one in 70 %."""
    assert misses(judged([(value,) for value in values], rows, epsilon, MEANS[:3], 40)) == []


@pytest.mark.parametrize(("rows", "epsilon"), [(7, "4.4"), (10, "2.87"), (16, "1.92")])
def test_what_turns_with_two_columns(rows: int, epsilon: str) -> None:
    """Sums of squares at their least value held in none of the answers, of deviations in 0 % to 88 %."""
    assert misses(judged([*product((0, 1), repeat=2)], rows, epsilon, TURNING, 12)) == []


@pytest.mark.parametrize(("values", "rows", "epsilon"), [((4, 5, 6), 37, "3.74"), ((0, 1, 2, 3, 4), 12, "4.94")])
def test_a_mean_and_a_deviation_of_equal_numbers(values: tuple[int, ...], rows: int, epsilon: str) -> None:
    """Where the truth lies at the edge of what has a root 66 % and 73 % held."""
    asked = ["avg(x) + stddev(x)", "avg(x) - 2 * stddev(x)", "stddev(x) * avg(x)"]
    assert misses(judged([(value,) for value in values], rows, epsilon, asked, 12)) == []


@pytest.mark.parametrize(("rows", "epsilon"), [(48, "2.92"), (55, "2.42")])
def test_skewed_noise_of_few_rows(rows: int, epsilon: str) -> None:
    """What is told seldom is told by noise far out, and few rows lead farther out on one side: 92 % and 89 % held."""
    assert misses(judged([(0,), (1,)], rows, epsilon, ["1 / avg(x)", "sum(x) / (sum(x) + 5)"])) == []


def test_deviations_of_two_columns_multiplied() -> None:
    """They held in 80 %, for each had no length where it turns."""
    assert misses(judged([*product((0, 1), repeat=2)], 15, "5", ["stddev(x) * stddev(y)"], 12)) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_more_tables_of_zeros_and_ones(seed: int) -> None:
    """Every table of random sizes, at a random ε."""
    random = Random(seed)
    rows, epsilon = random.randint(10, 65), str(round(random.uniform(0.4, 5), 2))
    assert misses(judged([(0,), (1,)], rows, epsilon, [*MEANS, *DEVIATIONS, "1 / avg(x)"])) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_more_tables_of_two_columns(seed: int) -> None:
    """Some tables of random sizes, at a random ε."""
    random = Random(seed)
    rows, epsilon = random.randint(3, 20), str(round(random.uniform(0.5, 5), 2))
    assert misses(judged([*product((0, 1), repeat=2)], rows, epsilon, TURNING, 30)) == []
