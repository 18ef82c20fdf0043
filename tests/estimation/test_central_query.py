"""Answers from measured tables: unbiased, with the variance that they have, and refused where nothing was measured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof.central.residuals import Estimates
from dproof.central.workload import parts
from dproof.errors import InputError
from dproof.estimation.central import Weights, covariances
from dproof.plans.plan import Plan
from dproof.plans.table_law import certify_tables
from dproof.releases.central import noisy_residuals, release_of
from dproof.releases.central_counting import count_tables
from dproof.tables import open_source
from dproof.testing import seeded_coins

ROWS, TIMES = 2000, 150
PROMISE = {"model": "central", "epsilon": 2, "delta": "1e-6"}


def table() -> Any:
    generator = np.random.default_rng(5)
    score = generator.integers(0, 6, ROWS)
    sex = np.where(score + generator.integers(0, 6, ROWS) > 5, "f", "m")
    return pa.table({"score": score, "sex": sex, "age": generator.integers(0, 100, ROWS), "one": ["x"] * ROWS})


def plan(neighbours: str = "add-remove", **more: Any) -> dict[str, Any]:
    columns = {
        "score": {"space": "interval", "low": 0, "high": 5, "step": 1, "missing": "category"},
        "sex": {"space": "categories", "values": ["f", "m"]},
        "age": {"space": "interval", "low": 0, "high": 100, "step": 1, "bins": [0, 30, 60, 100]},
        "one": {"space": "categories", "values": ["x"]},
    }
    return {"privacy": {**PROMISE, "neighbours": neighbours}, "columns": columns, **more}


QUESTIONS = {
    "SELECT count(*) AS v FROM release WHERE sex = 'f' AND age < 30": lambda f, s, a: (f & (a < 30)).sum(),
    "SELECT proportion(age >= 60) AS v FROM release WHERE sex = 'f'": lambda f, s, a: (a[f] >= 60).mean(),
    "SELECT avg(score) AS v FROM release WHERE sex = 'm'": lambda f, s, a: s[~f].mean(),
    "SELECT sum(score) AS v FROM release": lambda f, s, a: s.sum(),
    "SELECT var_pop(score) AS v FROM release WHERE age < 60": lambda f, s, a: s[a < 60].var(),
    "SELECT count(*) FILTER (WHERE sex = 'f') - count(*) FILTER (WHERE age < 30) AS v FROM release": (
        lambda f, s, a: f.sum() - (a < 30).sum()
    ),
    "SELECT count(*) AS v FROM release WHERE one = 'x' AND score >= 3 AND sex = 'm'": (
        lambda f, s, a: (~f & (s >= 3)).sum()
    ),
}


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_answers_are_unbiased_and_their_intervals_cover(neighbours: str) -> None:
    private, law = table(), certify_tables(Plan.from_dict(plan(neighbours)))
    rows, counts = count_tables(open_source(private), law)
    known = {"rows": rows if law.plan.rows_are_public else None, "made_up_rows": None, "files": {}}
    certificate = law.certificate(known, private=False)
    cells: dict[str, list[Any]] = {sql: [] for sql in QUESTIONS}
    for seed in range(TIMES):
        with seeded_coins(seed) as coins:
            release = release_of(law, certificate, noisy_residuals(law, counts, coins))
        for sql, found in cells.items():
            found.append(release.query(sql).rows[0]["v"])
    columns = (np.array(private["sex"].to_pylist()) == "f", private["score"].to_numpy(), private["age"].to_numpy())
    for sql, truth in QUESTIONS.items():
        estimates, errors = np.array([(c.estimate, c.stderr) for c in cells[sql]], float).T
        true = truth(*columns)
        assert abs(estimates.mean() - true) < 4 * estimates.std() / TIMES**0.5, sql
        assert errors.mean() == pytest.approx(estimates.std(), rel=0.25), sql
        covered = np.mean([c.low <= true <= c.high for c in cells[sql]])
        assert 0.89 <= covered <= 0.99, (sql, covered)


def test_covariances_of_groups_are_those_of_whole_tables() -> None:
    generator, sizes = np.random.default_rng(3), (3, 2, 4)
    variances = {table: float(generator.uniform(0.5, 9)) for table in parts([(0, 1), (0, 2)])}
    found = Estimates(sizes, {}, variances)
    group = generator.integers(0, 2, 6)
    one, other = (Weights((0, 1), generator.normal(size=6), group, (3, 2)) for _ in range(2))
    by_group = covariances(found, [one, other], 2)
    for g in range(2):
        questions = np.stack([np.where(group == g, w.weights, 0.0) for w in (one, other)])
        assert np.allclose(by_group[g], found.covariance((0, 1), questions))


def test_covariances_between_different_tables_are_those_of_what_they_share() -> None:
    generator, sizes = np.random.default_rng(4), (3, 2, 4)
    variances = {table: float(generator.uniform(0.5, 9)) for table in parts([(0, 1, 2)])}
    found = Estimates(sizes, {}, variances)
    one = Weights((0, 1), generator.normal(size=6), np.zeros(6, np.int64), (3, 2))
    other = Weights((0, 2), generator.normal(size=12), np.zeros(12, np.int64), (3, 4))
    wide = [
        np.repeat(one.weights.reshape(3, 2, 1), 4, axis=2).ravel(),
        np.repeat(other.weights.reshape(3, 1, 4), 2, axis=1).ravel(),
    ]
    assert np.allclose(covariances(found, [one, other], 1)[0], found.covariance((0, 1, 2), np.stack(wide)))


def test_two_answers_never_contradict_each_other() -> None:
    release = dp.sanitise(table(), plan())
    by_sex = release.query("SELECT sex, count(*) AS n FROM release GROUP BY sex").rows
    for row in by_sex:
        parts_of = release.query(f"SELECT age, count(*) AS n FROM release WHERE sex = '{row['sex']}' GROUP BY age").rows
        assert sum(part["n"].estimate for part in parts_of) == pytest.approx(row["n"].estimate)


def test_a_missing_number_is_a_group_and_adds_nothing_to_a_mean() -> None:
    release = dp.sanitise(table(), plan())
    rows = release.query("SELECT score, count(*) AS n FROM release GROUP BY score").rows
    assert [row["score"] for row in rows] == [0, 1, 2, 3, 4, 5, None]
    assert release.query("SELECT count(*) AS n FROM release WHERE score IS NULL").rows[0]["n"].stderr > 0
    mean = release.query("SELECT avg(score) AS m FROM release").rows[0]["m"]
    assert mean.estimate == pytest.approx(table()["score"].to_numpy().mean(), abs=0.2)


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT count(*) FROM release WHERE age < 31", r"cuts the bin \[30, 60\) of 'age'.*ask at the edges"),
        ("SELECT count(*) FROM release GROUP BY bin(age, 20)", r"cuts the bin \[0, 30\)"),
        ("SELECT avg(age) FROM release", "counted in bins, and their sum was not measured"),
        (
            "SELECT count(*) FROM release WHERE age < 30 AND sex = 'f' AND score = 1",
            r"needs the table of score × sex × age, which was not measured.*columns = \[\"score\", \"sex\", \"age\"\]",
        ),
        ("SELECT max(score) FROM release", "is not answered from measured tables"),
    ],
)
def test_a_question_beyond_what_was_measured_says_so(sql: str, why: str) -> None:
    release = dp.sanitise(table(), plan())
    with pytest.raises(InputError, match=why) as refused:
        release.query(sql)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("option", [{"method": "likelihood"}, {"target": "population"}, {"lvel": 0.9}])
def test_options_that_mean_nothing_there_are_refused(option: Any) -> None:
    with pytest.raises(InputError):
        dp.sanitise(table(), plan()).query("SELECT count(*) FROM release", **option)
