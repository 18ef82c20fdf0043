"""Numbers under noise: sums and means are unbiased, conditions on them are answered as sharply as the noise allows."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof.local.mechanisms import MECHANISMS
from dproof.testing import seeded_coins

ROWS = 4000
RNG = np.random.default_rng(11)
AGE = 3 * np.clip(RNG.gamma(6, 7 / 3, ROWS).round(), 0, 33).astype(int)
SEX = RNG.choice(["f", "m"], ROWS)
TABLE = pa.table({"age": AGE, "sex": SEX})
NEED_DELTA = ("truncated_laplace", "gaussian")


@cache
def released(seed: int, mechanism: str, epsilon: int = 4, step: Any = 3) -> Any:
    plan = {
        "privacy": {"epsilon": epsilon, "delta": "1e-6" if mechanism in NEED_DELTA else 0},
        "columns": {
            "age": {"space": "interval", "low": 0, "high": 99, "step": step, "mechanism": mechanism},
            "sex": {"space": "categories", "values": ["f", "m"]},
        },
    }
    with seeded_coins(seed):
        return dp.sanitise(TABLE, plan)


def covers(cell: Any, true: float) -> bool:
    return bool(cell.low <= true <= cell.high)


@pytest.mark.filterwarnings("ignore:this design cannot be inverted")
@pytest.mark.parametrize("mechanism", MECHANISMS["interval"])
def test_every_mechanism_answers_means_conditions_and_quantiles(mechanism: str) -> None:
    """Honest intervals: they cover at least as often as they say, give or take chance."""
    hits = []
    for seed in range(2):
        release = released(seed, mechanism)
        (row,) = release.query("SELECT avg(age) AS a, sum(age) AS s FROM release").rows
        hits += [covers(row["a"], AGE.mean()), covers(row["s"], AGE.sum())]
        (row,) = release.query("SELECT count(*) AS n FROM release WHERE age < 40 AND sex = 'f'").rows
        hits.append(covers(row["n"], ((AGE < 40) & (SEX == "f")).sum()))
        (row,) = release.query("SELECT median(age) AS m FROM release").rows
        hits.append(covers(row["m"], np.quantile(AGE, 0.5, method="inverted_cdf")))
    assert sum(hits) >= len(hits) - 2


def test_means_are_unbiased_and_covered() -> None:
    errors, hits = [], []
    for seed in range(60):
        rows = released(seed, "laplace").query("SELECT sex, avg(age) AS a FROM release GROUP BY sex").rows
        for row in rows:
            true = AGE[row["sex"] == SEX].mean()
            errors.append((row["a"].estimate - true) / row["a"].stderr)
            hits.append(covers(row["a"], true))
    assert abs(np.mean(errors)) < 4 / np.sqrt(len(errors))
    assert 0.8 < np.std(errors) < 1.2 and 0.9 <= np.mean(hits) <= 0.99


def test_the_noise_of_a_sum_is_known_exactly() -> None:
    release = released(1, "laplace")
    (row,) = release.query("SELECT sum(age) AS s FROM release").rows
    mean, _, square = release.law.group_of("age").mechanism.family.noise.moments
    assert row["s"].stderr == pytest.approx(3 * float(ROWS * (square - mean**2)) ** 0.5)
    assert row["s"].raw == pytest.approx(np.asarray(release.to_arrow()["age"]).sum())


def test_a_condition_under_noise_is_honest_about_what_it_cannot_tell() -> None:
    sharp = released(1, "randomised_response").query("SELECT count(*) AS n FROM release WHERE age < 40")
    rough = released(1, "laplace", step="0.01").query("SELECT count(*) AS n FROM release WHERE age < 40")
    assert any("wider than what is asked" in note for note in rough.notes) and not sharp.notes[:-1]
    (cell,) = (row["n"] for row in rough.rows)
    assert cell.high - cell.low > 2 * 1.96 * cell.stderr  # the bias is in the interval, not in the standard error
    drawn = np.asarray(released(1, "laplace", step="0.01").to_arrow()["age"])
    assert cell.raw == (drawn < 40).sum()


def test_a_long_interval_is_read_exactly_wherever_it_is_cut() -> None:
    release = released(3, "laplace", step="0.01")
    drawn = np.asarray(release.to_arrow()["age"])
    (row,) = release.query(
        "SELECT count(*) FILTER (WHERE age < 40.01) AS a, count(*) FILTER (WHERE age >= 73.33) AS b FROM release"
    ).rows
    assert (row["a"].raw, row["b"].raw) == ((drawn < 40.005).sum(), (drawn > 73.325).sum())
    (row,) = release.query("SELECT median(age) AS m, min(age) AS a FROM release").rows
    assert covers(row["m"], np.median(AGE)) and covers(row["a"], AGE.min())


def test_bins_of_a_number_under_noise_hold_all_rows() -> None:
    rows = (
        released(2, "laplace").query("SELECT bin(age, 25) AS b, count(*) AS n FROM release GROUP BY bin(age, 25)").rows
    )
    told = (row["n"].estimate if row["n"].informative else row["n"].raw for row in rows)
    assert sum(told) == pytest.approx(ROWS, rel=1e-6)
    assert all(covers(row["n"], ((row["b"] <= AGE) & (row["b"] + 25 > AGE)).sum()) for row in rows)


def test_likelihood_answers_where_numbers_are_noisy() -> None:
    answer = released(3, "laplace").query("SELECT count(*) AS n FROM release WHERE age < 40", method="likelihood")
    (row,) = answer.rows
    assert 0 <= row["n"].estimate <= ROWS and "likelihood" in answer.method


def test_few_rows_are_covered_though_they_do_not_tell_where_they_lie() -> None:
    ages = pa.table({"age": [20 + n % 50 for n in range(200)]})
    plan = {"privacy": {"epsilon": 1}, "columns": {"age": {"space": "interval", "low": 16, "high": 100, "step": 1}}}
    question = "SELECT bin(age, 10) AS b, count(*) AS n FROM release GROUP BY bin(age, 10)"
    covered = 0
    for seed in range(5):
        with seeded_coins(seed):
            release = dp.sanitise(ages, plan)
        covered += all(covers(row["n"], 40 if 20 <= row["b"] < 70 else 0) for row in release.query(question).rows)
    assert covered == 5


@pytest.mark.parametrize("bins", [None, [0, 30, 60, 99]])
@pytest.mark.parametrize(("quantile", "end"), [("quantile(age, 0)", "min(age)"), ("quantile(age, 1)", "max(age)")])
def test_a_quantile_at_an_end_is_the_extreme_in_every_model(quantile: str, end: str, bins: list[int] | None) -> None:
    age = {"space": "interval", "low": 0, "high": 99, "step": 3, **({} if bins is None else {"bins": bins})}
    plan = {"privacy": {"epsilon": 1}, "columns": {"age": age, "sex": {"drop": True}}}
    with seeded_coins(3):
        release = dp.sanitise(TABLE.slice(0, 300), plan)
    answers = [release.query(f"SELECT {what} AS a FROM release").rows for what in (quantile, end)]
    assert answers[0] == answers[1]
    costs = [dp.sensitivity(f"SELECT {what} FROM data", {"age": dp.Interval(0, 99)}) for what in (quantile, end)]
    assert costs[0] == costs[1] and costs[0].kind == "exact"
