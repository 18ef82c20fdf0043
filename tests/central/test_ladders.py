"""The ladder of a number: counts by parts of its bins, for quantiles and deviations of all rows."""

from __future__ import annotations

import shutil
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import Plan, VerificationFailed
from dproof.central.estimates import Ladder
from dproof.central.question_sums import QuestionSums, covariances
from dproof.central.release import release_of
from dproof.central.workload import Domain, Residual, largest_loss, range_costs
from dproof.certification import verify_central as verifier
from dproof.questions.question import resolve
from dproof.questions.sql import parse
from dproof.testing import seeded_coins
from tests.forging import forge
from tests.makers import categories, exact_tables, interval, table_law

COLUMNS = {"n": interval(0, 199, missing="category", bins=[0, 20, 100, 199]), "a": categories("x", "y", "z")}
LADDER = Residual((0,), ladder=True)


def described(columns: dict[str, Any] = COLUMNS, **privacy: Any) -> dict[str, Any]:
    promise = {"model": "central", "epsilon": 1, "delta": "1e-6", "neighbours": "add-remove", **privacy}
    return {"privacy": promise, "columns": columns, "release": {"sums": True}}


def rows(count: int = 4000) -> Any:
    numbers = np.minimum(np.random.default_rng(2).gamma(2, 25, count).astype(int), 199)
    present = [None if n % 10 == 0 else int(number) for n, number in enumerate(numbers)]
    return pa.table({"n": pa.array(present, pa.int64()), "a": ["x", "y", "x", "z"] * (count // 4)})


def test_every_bin_has_parts_of_about_equal_size() -> None:
    axis = table_law(described()).axes[0]
    assert axis.parts == (20, 32, 32, 1) and axis.ladder.size == 85
    assert [axis.ladder.starts[n] for n in (0, 1, 20, 21, 52, 84)] == [0, 1, 20, 22, 100, 200]
    assert set(axis.bins.starts) <= set(axis.ladder.starts) and axis.ladder.stop == axis.bins.stop
    assert set(axis.ladder.of(np.arange(201)).tolist()) == set(range(85))


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_no_row_moves_a_ladder_farther_than_is_charged(neighbours: str, delta: str) -> None:
    """All rows, and all changes of one, through the counting of a release: by length, or in steps."""
    law = table_law(described(neighbours=neighbours, delta=delta))
    counted = [
        exact_tables(pa.table({"n": pa.array([n], pa.int64()), "a": ["x"]}), law)[1][LADDER]
        for n in (None, 0, 1, 19, 20, 21, 22, 150, 199)
    ]
    others = counted if neighbours == "change-one" else [0 * counted[0]]
    moved = [a - b for a, b in product(counted, others)]
    most = max(int((x**2).sum()) if not law.is_pure else int(np.abs(x).sum()) for x in moved)
    assert most == law._sensitivity(LADDER) / law.subdivisions[LADDER] ** 2


@pytest.mark.parametrize("precision", [Fraction(1, 3), Fraction(2, 7)])
def test_a_ladder_is_charged_beside_everything_else(precision: Fraction) -> None:
    domain = Domain((3, 2), {0: 4}, ladders={0: (2, 2, 2)})
    others = {Residual((0,)): Fraction(1, 5), Residual((0, 1)): Fraction(1, 9), Residual((), 0): Fraction(1, 70)}
    for neighbours, times in (("add-remove", 1), ("change-one", 2)):
        without = largest_loss(domain, others, neighbours)  # type: ignore[arg-type]
        found = largest_loss(domain, {**others, LADDER: precision}, neighbours)  # type: ignore[arg-type]
        assert 0 <= found - without - times * precision <= Fraction(1, 1 << 60)
        told = {(r.table, r.number, 2 * r.ladder): p for r, p in {**others, LADDER: precision}.items()}
        assert verifier.largest_loss([3, 2], [(16, 4, 1), (0, 0, 1)], told, neighbours) == found


def test_without_noise_the_parts_are_the_counts() -> None:
    law = table_law(described())
    _, tables = exact_tables(rows(), law)
    ladder = Ladder.of(law.domain.ladders[0], tables[LADDER].astype(float), 0.0)
    bins = np.add.reduceat(tables[LADDER], [0, 20, 52, 84])
    even = np.repeat(bins / np.array(ladder.parts), ladder.parts)
    assert (ladder.deviations + even).round(6).tolist() == tables[LADDER].tolist()


def test_the_variance_of_rows_up_to_a_part_is_that_of_the_draws() -> None:
    law = table_law(described())
    counted, tables = exact_tables(rows(), law)
    schema = law.schema
    question = resolve(parse("SELECT median(n) AS v FROM release"), schema)
    asked = QuestionSums(question, schema, law.axes)
    spread = asked.by_bins(question.aggregates[0])
    assert spread.has_ladder
    certificate = law.record({"rows": None, "made_up_rows": None, "files": {}}, private=False)
    steps = [spread.up_to(last, 0.5) for last in (7, 30, 60)]
    found = []
    for seed in range(300):
        with seeded_coins(seed) as coins:
            estimates = release_of(law, certificate, law.measure(tables, coins)).estimates
        table, beside = estimates[None].table((0,)), estimates[None].ladders[0].deviations
        found.append([float(step.weights @ table + step.fine @ beside) for step in steps])
    assert counted == 4000
    expected = covariances(law.precisions, steps, 1)[0]
    np.testing.assert_allclose(np.cov(np.array(found).T), expected, rtol=0.3, atol=0.1 * expected.max())


def test_the_noise_of_ranges_is_what_the_plan_makes_least() -> None:
    """The costs are the mean of the variances of all ranges, for each unit of the variance of a residual."""
    law = table_law(described({"n": interval(0, 59, bins=[0, 20, 40, 59]), "a": categories("x", "y")}))
    costs, schema = range_costs(law.domain, 0), law.schema
    question = resolve(parse("SELECT median(n) AS v FROM release"), schema)
    spread = QuestionSums(question, schema, law.axes).by_bins(question.aggregates[0])
    parts = [spread.weighed((np.arange(60) < last).astype(float)) for last in range(60)]
    for part, residual in (((), Residual(())), ((0,), Residual((0,)))):
        one = {table: float(table == part) for table in ((), (0,))}
        estimates = {None: _with(law.precisions[None], one, 0.0)}
        told = np.mean([covariances(estimates, [step], 1)[0, 0, 0] for step in parts])
        assert costs[residual] == pytest.approx(told)
    estimates = {None: _with(law.precisions[None], {(): 0.0, (0,): 0.0}, 1.0)}
    told = np.mean([covariances(estimates, [step], 1)[0, 0, 0] for step in parts])
    assert costs[LADDER] == pytest.approx(told)


def _with(estimates: Any, variances: dict[Any, float], ladder: float) -> Any:
    ladders = {0: replace(estimates.ladders[0], variance=ladder)}
    return replace(estimates, variances=variances, ladders=ladders)


@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_quantiles_and_deviations_are_sharper_and_cover(delta: str) -> None:
    """One seed for each: the interval has less than half the width of a bin, and the truth."""
    table = rows()
    numbers = np.array([n for n in table["n"].to_pylist() if n is not None], float)
    law = table_law(described(delta=delta))
    _, tables = exact_tables(table, law)
    certificate = law.record({"rows": None, "made_up_rows": None, "files": {}}, private=False)
    asked = {"median(n)": 0.5, "quantile(n, 0.1)": 0.1, "quantile(n, 0.9)": 0.9, "stddev(n)": None}
    held = dict.fromkeys(asked, 0)
    for seed in range(20):
        with seeded_coins(seed) as coins:
            release = release_of(law, certificate, law.measure(tables, coins))
        for sql, share in asked.items():
            cell = release.query(f"SELECT {sql} AS v FROM release").rows[0]["v"]
            true = np.std(numbers, ddof=1) if share is None else np.quantile(numbers, share, method="inverted_cdf")
            held[sql] += cell.low <= true <= cell.high
            assert cell.low <= cell.estimate <= cell.high
            assert cell.high - cell.low < {None: 10, 0.1: 8, 0.5: 12, 0.9: 25}[share], (sql, cell)
    assert min(held.values()) >= 17, held


def test_a_question_alone_measures_a_ladder_and_one_by_group_does_not() -> None:
    columns = {"n": COLUMNS["n"], "a": COLUMNS["a"]}
    for sql, has_one in (
        ("SELECT median(n) AS v, count(a) AS w FROM release", True),
        ("SELECT stddev(n) AS v, count(a) AS w FROM release WHERE n < 100", True),
        ("SELECT a, median(n) AS v FROM release GROUP BY a", False),
        ("SELECT a, avg(n) AS v FROM release GROUP BY a", False),
    ):
        plan = {"privacy": described()["privacy"], "columns": columns, "questions": [{"sql": sql}]}
        if "count(a)" in sql:
            plan["questions"].append({"sql": "SELECT a, count(*) AS n FROM release GROUP BY a"})
        law = table_law(plan)
        assert any(one.ladder for one in law.noise) is has_one, sql


def test_few_bins_or_no_sums_have_no_ladder() -> None:
    law = table_law({**described(), "release": {}})
    assert not law.domain.ladders
    law = table_law(described({"n": interval(0, 5), "a": categories("x", "y")}))  # each value by itself
    assert not law.domain.ladders
    law = table_law({**described(), "release": {"sums": True, "tables": [{"columns": ["n", "a"]}]}})
    assert not law.domain.ladders  # n by itself is not listed


@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_a_release_is_stored_opened_and_verified_and_a_forged_ladder_is_refused(delta: str, tmp_path: Any) -> None:
    dp.sanitise(rows(400), described(delta=delta), tmp_path / "out")
    release = dp.verify(tmp_path / "out")
    assert release is not None and release.certificate["columns"][0]["ladder"] == 85
    said = dp.load(tmp_path / "out").query("SELECT median(n) AS v FROM release").rows[0]["v"]
    assert said.low is not None

    def fewer(certificate: Any) -> None:
        certificate["columns"][0]["ladder"] = 84

    def none(certificate: Any) -> None:
        del certificate["columns"][0]["ladder"]

    def counts(certificate: Any) -> None:
        for one in certificate["measurements"]:
            one.pop("ladder", None)

    for change in (fewer, none, counts):
        forged = Path(shutil.copytree(tmp_path / "out", tmp_path / change.__name__))
        forge(forged, change)
        with pytest.raises(VerificationFailed):
            dp.verify(forged)
        with pytest.raises(verifier.reading.Refused):
            verifier.verify(verifier.reading.read((forged / "certificate.json").read_text()), forged)


def test_the_plan_tells_what_a_release_tells() -> None:
    plan = Plan.from_dict(
        described({"n": interval(0, 999, bins=[*range(0, 999, 100), 999]), "a": categories("x", "y")})
    )
    even = pa.table({"n": [n % 1000 for n in range(6000)], "a": ["x", "y"] * 3000})
    told = dp.expect(plan, rows=6000, questions=["SELECT median(n) AS m, stddev(n) AS s FROM release"])
    release = dp.sanitise(even, plan)
    row = release.query("SELECT median(n) AS m, stddev(n) AS s FROM release").rows[0]
    for one in told:
        cell = row[one.column]
        assert (cell.high - cell.low) / 2 == pytest.approx(one.half_width, rel=0.5)
