"""Answers from measured tables: unbiased, with the variance that they have, and refused where nothing was measured."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import InputError
from dproof.central.answer import Weights, covariances
from dproof.central.estimates import ResidualEstimates
from dproof.central.release import release_of
from dproof.central.workload import subtables
from dproof.testing import seeded_coins
from tests.brute_force import covariance
from tests.makers import exact_tables, table_law

ROWS, TIMES = 2000, 150
PROMISE = {"model": "central", "epsilon": 2}


def table() -> Any:
    generator = np.random.default_rng(5)
    score = generator.integers(0, 6, ROWS)
    sex = np.where(score + generator.integers(0, 6, ROWS) > 5, "f", "m")
    return pa.table({"score": score, "sex": sex, "age": generator.integers(0, 100, ROWS), "one": ["x"] * ROWS})


def plan(neighbours: str = "add-remove", delta: str = "1e-6", **more: Any) -> dict[str, Any]:
    columns = {
        "score": {"space": "interval", "low": 0, "high": 5, "step": 1, "missing": "category"},
        "sex": {"space": "categories", "values": ["f", "m"]},
        "age": {"space": "interval", "low": 0, "high": 100, "step": 1, "bins": [0, 30, 60, 100]},
        "one": {"space": "categories", "values": ["x"]},
    }
    return {"privacy": {**PROMISE, "delta": delta, "neighbours": neighbours}, "columns": columns, **more}


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


SUMS = {
    "SELECT avg(age) AS v FROM release": lambda f, s, a: a.mean(),
    "SELECT sum(age) AS v FROM release WHERE sex = 'f'": lambda f, s, a: a[f].sum(),
    "SELECT avg(age) AS v FROM release WHERE score < 3": lambda f, s, a: a[s < 3].mean(),
    "SELECT avg(age) AS v FROM release WHERE age >= 30": lambda f, s, a: a[a >= 30].mean(),
    "SELECT sum(age) AS v FROM release WHERE age < 30 OR age >= 60": lambda f, s, a: a[(a < 30) | (a >= 60)].sum(),
    "SELECT covar_pop(age, score) AS v FROM release": lambda f, s, a: np.cov(a, s, bias=True)[0, 1],
    "SELECT count(*) AS v FROM release WHERE sex = 'f' AND age < 30": lambda f, s, a: (f & (a < 30)).sum(),
}


NEIGHBOURS_AND_DELTA = pytest.mark.parametrize(
    ("neighbours", "delta"),
    [
        ("add-remove", "1e-6"),
        ("change-one", "0"),
        pytest.param("add-remove", "0", marks=pytest.mark.slow),
        pytest.param("change-one", "1e-6", marks=pytest.mark.slow),
    ],
)


@NEIGHBOURS_AND_DELTA
def test_answers_are_unbiased_and_their_intervals_cover(neighbours: str, delta: str) -> None:
    check(plan(neighbours, delta=delta), QUESTIONS)


@NEIGHBOURS_AND_DELTA
def test_sums_of_numbers_in_bins_are_measured_by_themselves(neighbours: str, delta: str) -> None:
    check(plan(neighbours, delta=delta, release={"sums": True}), SUMS)


def check(described: dict[str, Any], questions: dict[str, Any]) -> None:
    private, law = table(), table_law(described)
    rows, counts = exact_tables(private, law)
    known = {"rows": rows if law.plan.rows_are_public else None, "made_up_rows": None, "files": {}}
    certificate = law.record(known, private=False)
    cells: dict[str, list[Any]] = {sql: [] for sql in questions}
    for seed in range(1000, 1000 + TIMES):
        with seeded_coins(seed) as coins:
            release = release_of(law, certificate, law.measure(counts, coins))
        for sql, found in cells.items():
            found.append(release.query(sql).rows[0]["v"])
    columns = (np.array(private["sex"].to_pylist()) == "f", private["score"].to_numpy(), private["age"].to_numpy())
    for sql, truth in questions.items():
        estimates, errors = np.array([(c.estimate, c.stderr) for c in cells[sql]], float).T
        true = truth(*columns)
        assert abs(estimates.mean() - true) < 4 * estimates.std() / TIMES**0.5, sql
        assert errors.mean() == pytest.approx(estimates.std(), rel=0.3), sql
        covered = np.mean([c.low <= true <= c.high for c in cells[sql]])
        assert 0.89 <= covered <= (1 if law.is_pure else 0.995), (sql, covered)


def test_covariances_of_groups_are_those_of_whole_tables() -> None:
    generator, sizes = np.random.default_rng(3), (3, 2, 4)
    variances = {table: float(generator.uniform(0.5, 9)) for table in subtables([(0, 1), (0, 2)])}
    found = ResidualEstimates(sizes, {}, variances)
    group = generator.integers(0, 2, 6)
    one, other = (Weights(None, (0, 1), generator.normal(size=6), group, (3, 2)) for _ in range(2))
    by_group = covariances({None: found}, [one, other], 2)
    for g in range(2):
        questions = np.stack([np.where(group == g, w.weights, 0.0) for w in (one, other)])
        assert np.allclose(by_group[g], covariance(found, (0, 1), questions))


def test_covariances_between_different_tables_are_those_of_what_they_share() -> None:
    generator, sizes = np.random.default_rng(4), (3, 2, 4)
    variances = {table: float(generator.uniform(0.5, 9)) for table in subtables([(0, 1, 2)])}
    found = ResidualEstimates(sizes, {}, variances)
    one = Weights(None, (0, 1), generator.normal(size=6), np.zeros(6, np.int64), (3, 2))
    other = Weights(None, (0, 2), generator.normal(size=12), np.zeros(12, np.int64), (3, 4))
    wide = [
        np.repeat(one.weights.reshape(3, 2, 1), 4, axis=2).ravel(),
        np.repeat(other.weights.reshape(3, 1, 4), 2, axis=1).ravel(),
    ]
    assert np.allclose(covariances({None: found}, [one, other], 1)[0], covariance(found, (0, 1, 2), np.stack(wide)))


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
        ("SELECT count(*) FROM release WHERE age > 30", r"counted together: write >= for >, or < for <=, or ask at"),
        ("SELECT count(*) FROM release WHERE age > 33", r"counted together: ask at the edges"),
        (
            "SELECT count(*) FROM release GROUP BY bin(age, 20)",
            r"cuts the bin \[0, 30\).*GROUP BY .age. alone, which has the",
        ),
        ("SELECT avg(age) FROM release", "counted in bins and not added up: declare sums = true"),
        (
            "SELECT count(*) FROM release WHERE age < 30 AND sex = 'f' AND score = 1",
            r"needs the table of score × sex × age, which was not measured.*columns = \[\"score\", \"sex\", \"age\"\]",
        ),
        ("SELECT max(score) FROM release", "^MAX is not answered from measured tables: ask for counts by score"),
        ("SELECT quantile(score, 0) FROM release", r"^QUANTILE at 0 is MIN, which is not answered.*between 0 and 1"),
        ("SELECT quantile(score, 1) FROM release", r"^QUANTILE at 1 is MAX, which is not answered.*between 0 and 1"),
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


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT avg(age) FROM release WHERE age < 30 AND sex = 'f'", "not added up by sex × age: leave the condition"),
        ("SELECT age, sex, sum(age) FROM release GROUP BY age, sex", r"question under \[\[questions\]\] next time"),
        ("SELECT corr(age, score) FROM release", "squares and products of 'age' were not added up"),
        ("SELECT avg(age) FROM release WHERE sex = 'f' AND score = 1", "which was not measured"),
    ],
)
def test_sums_that_were_not_measured_are_refused(sql: str, why: str) -> None:
    release = dp.sanitise(table(), plan(release={"sums": True}))
    with pytest.raises(InputError, match=why):
        release.query(sql)


@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_quantiles_lie_in_their_intervals_and_near_the_truth(delta: str) -> None:
    private, law = table(), table_law(plan("add-remove", delta))
    _, counts = exact_tables(private, law)
    certificate = law.record({"rows": None, "made_up_rows": None, "files": {}}, private=False)
    women = np.array(private["sex"].to_pylist()) == "f"
    ages, scores = private["age"].to_numpy(), private["score"].to_numpy()
    truth = {
        "median(age)": np.median(ages[women]),
        "quantile(age, 0.9)": np.quantile(ages[women], 0.9),
        "median(score)": np.median(scores[women]),
    }
    covered: dict[str, list[bool]] = {asked: [] for asked in truth}
    for seed in range(60):
        with seeded_coins(seed) as coins:
            release = release_of(law, certificate, law.measure(counts, coins))
        for asked, found in covered.items():
            cell = release.query(f"SELECT {asked} AS v FROM release WHERE sex = 'f'").rows[0]["v"]
            found.append(cell.low <= truth[asked] <= cell.high)
            assert abs(cell.estimate - truth[asked]) < (1.01 if "score" in asked else 12)
    assert all(np.mean(found) > 0.9 for found in covered.values()), covered
    by_sex = release.query("SELECT sex, median(age) AS m FROM release GROUP BY sex").rows
    assert len(by_sex) == 2 and all(20 < row["m"].estimate < 80 for row in by_sex)


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT quantile(age, 0) FROM release", "quantile between 0 and 1"),
        ("SELECT age, median(age) FROM release GROUP BY age", "group by another column"),
        ("SELECT mode(age) + 1 FROM release", "select it by itself"),
        ("SELECT median(age) FROM release WHERE sex = 'f' AND score = 1", "which was not measured"),
    ],
)
def test_quantiles_that_no_table_tells_are_refused(sql: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        dp.sanitise(table(), plan()).query(sql)


def test_laplace_intervals_are_no_narrower_than_one_draw_needs() -> None:
    columns = {"sex": {"space": "categories", "values": ["f", "m"]}}
    alone = {"privacy": {**PROMISE, "neighbours": "add-remove"}, "columns": columns}
    law = table_law(alone)
    private = table().select(["sex"])
    _, counts = exact_tables(private, law)
    certificate, truth = law.record({"rows": None, "made_up_rows": None, "files": {}}, private=False), None
    covered = []
    for seed in range(600):
        with seeded_coins(seed) as coins:
            release = release_of(law, certificate, law.measure(counts, coins))
        cell = release.query("SELECT count(*) AS n FROM release WHERE sex = 'f'", level=0.99).rows[0]["n"]
        truth = sum(value == "f" for value in private["sex"].to_pylist()) if truth is None else truth
        covered.append(cell.low <= truth <= cell.high)
    assert np.mean(covered) >= 0.98  # a normal interval of this level would cover 97.4 %
    with pytest.raises(InputError, match="simultaneous intervals need Gaussian noise"):
        release.query("SELECT count(*) FROM release", simultaneous=True)


@pytest.mark.parametrize("kind", ["numbers", "curves"])
def test_what_the_plan_does_to_rows_is_said_with_every_answer(kind: str) -> None:
    """Of 20 persons with two rows each one row counts, and 50 stands for what is missing: neither is a secret."""
    number = {"space": "interval", "low": 0, "high": 100, "step": 10, "missing": 50}
    value = number if kind == "numbers" else {"space": "curves", "points": 2, "low": 0, "high": 1}
    values = [10, None] * 20 if kind == "numbers" else [[0.0, 1.0]] * 40
    privacy = {"model": "central", "epsilon": 9, "delta": "1e-6", "neighbours": "add-remove", "person": "who"}
    columns = {"who": {"drop": True}, "x": value}
    table = pa.table({"who": [str(n // 2) for n in range(40)], "x": values})
    answer = dp.sanitise(table, {"privacy": privacy, "columns": columns}).query("SELECT avg(x) AS m FROM release")
    assert "Of each person at most 1 row counts, as the plan says: the answer is about these rows." in answer.notes
    assert ("Where 'x' is missing it counts as 50, as the plan says." in answer.notes) == (kind == "numbers")


def days_from(value: Any) -> float:
    """A date as a number of days; any other number as it is."""
    return float((value - date(2024, 1, 1)).days) if isinstance(value, date) else float(value)


@pytest.mark.parametrize("delta", ["0", "1e-6"])
@pytest.mark.parametrize("days", [(0, 31), (30, 59), (0, 59), (30, 31)])  # first and last days of two months
def test_moments_of_dates_hold_at_either_end_of_their_bins(days: tuple[int, int], delta: str) -> None:
    released = pa.table({"sex": ["f", "m"] * ROWS, "day": [date(2024, 1, 1) + timedelta(n) for n in days] * ROWS})
    columns = {
        "sex": {"space": "categories", "values": ["f", "m"]},
        "day": {"space": "date", "low": "2024-01-01", "high": "2024-02-29", "bins": "months"},
    }
    with seeded_coins(1):
        release = dp.sanitise(
            released, {"privacy": {**PROMISE, "delta": delta}, "columns": columns, "release": {"tables": 2}}
        )
    truths = {
        "avg(day)": sum(days) / 2,
        "avg(day) FILTER (WHERE sex = 'm')": days[1],
        "var_pop(day)": ((days[1] - days[0]) / 2) ** 2,
        "stddev_pop(day)": (days[1] - days[0]) / 2,
    }
    for call, truth in truths.items():
        cell = release.query(f"SELECT {call} AS v FROM release", level=0.999).rows[0]["v"]
        assert days_from(cell.low) <= truth <= days_from(cell.high), call
        assert cell.informative


def test_a_missing_value_is_no_bin_to_ask_at_the_edges_of() -> None:
    pay = {"space": "interval", "low": 0, "high": 100, "bins": [0, 50, 100], "missing": "category"}
    private = {"privacy": {"model": "central", "epsilon": 1}, "columns": {"pay": pay}}
    release = dp.sanitise(pa.table({"pay": [3, 60, None]}), private)
    with pytest.raises(dp.NotMeasured, match=r"ask at the edges of \[0, 50\), \[50, 100\], or declare"):
        release.query("SELECT count(*) FROM release WHERE pay < 33")
