"""Over 400 releases of the ten columns of adult, intervals of pair tables cover 95 %, and estimates are unbiased."""

from __future__ import annotations

import os
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pytest

from dproof import Plan
from dproof.central.release import about, release_of
from dproof.central.rows import made_up_table
from dproof.central.workload import Residual
from dproof.laws.debias import on_simplex
from dproof.testing import seeded_coins
from tests.makers import exact_tables, table_law

pytestmark = pytest.mark.slow

DATA = Path(os.environ.get("DPROOF_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
TIMES = 400
NAMES = ["type_employer", "education", "marital", "occupation", "relationship", "race", "sex", "income"]


def adult() -> Any:
    file = DATA / "adult.csv"
    if not file.exists():
        pytest.skip("adult.csv is not here: set DPROOF_DATA to the folder that has it")
    return pyarrow.csv.read_csv(file).select(["age", "hr_per_week", *NAMES])


def plan(table: Any, neighbours: str, epsilon: str = "1") -> Plan:
    columns: dict[str, Any] = {
        "age": {"space": "interval", "low": 17, "high": 92, "step": 1, "bins": list(range(17, 93, 5))},
        "hr_per_week": {"space": "interval", "low": 0, "high": 100, "step": 1},
    }
    columns |= {name: {"space": "categories", "values": sorted(table[name].unique().to_pylist())} for name in NAMES}
    privacy = {"model": "central", "epsilon": epsilon, "delta": "1e-6", "neighbours": neighbours}
    return Plan.from_dict({"privacy": privacy, "columns": columns})


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_intervals_of_all_pairs_cover_the_truth(neighbours: str) -> None:
    table = adult()
    law = table_law(plan(table, neighbours))
    rows, counts = exact_tables(table, law)
    certificate = law.record(
        {"rows": rows if law.plan.rows_are_public else None, "made_up_rows": None, "files": {}}, private=False
    )
    pairs = list(combinations(range(len(law.axes)), 2))
    half = {pair: 1.959964 * law.precisions[None].cell_variance(pair) ** 0.5 for pair in pairs}
    covered, errors = [], {pair: np.zeros(counts[Residual(pair)].shape) for pair in pairs}
    for seed in range(TIMES):
        with seeded_coins(seed) as coins:
            found = release_of(law, certificate, law.measure(counts, coins)).estimates[None]
        for pair in pairs:
            error = found.table(pair) - counts[Residual(pair)]
            covered.append(np.abs(error) <= half[pair])
            errors[pair] += error / TIMES
    share = np.concatenate([one.ravel() for one in covered]).mean()
    assert 0.94 < share < 0.96, f"the intervals cover {share:.4f}"
    for pair in pairs:
        off = np.abs(errors[pair]).max() / (half[pair] / 1.96 / TIMES**0.5)
        assert off < 5, f"the estimates of {law.name(pair)} are {off:.1f} standard errors off"


def test_answers_in_sql_cover_the_truth() -> None:
    table = adult()
    law = table_law(plan(table, "add-remove"))
    _, counts = exact_tables(table, law)
    certificate = law.record(about(None, None, {}), private=False)
    frame = {name: np.array(table[name].to_pylist()) for name in ("age", "sex", "income", "race")}
    questions = {
        "SELECT sex, proportion(income = '>50K') AS v FROM release GROUP BY sex": {
            sex: (frame["income"][frame["sex"] == sex] == ">50K").mean() for sex in ("Female", "Male")
        },
        "SELECT race, count(*) AS v FROM release WHERE age < 37 GROUP BY race": {
            race: ((frame["race"] == race) & (frame["age"] < 37)).sum() for race in np.unique(frame["race"])
        },
    }
    inside: dict[str, list[bool]] = {sql: [] for sql in questions}
    for seed in range(TIMES):
        with seeded_coins(seed) as coins:
            release = release_of(law, certificate, law.measure(counts, coins))
        for sql, truth in questions.items():
            for row in release.query(sql).rows:
                key, cell = next(value for name, value in row.items() if name != "v"), row["v"]
                inside[sql].append(cell.low <= truth[key] <= cell.high)
    for sql, found in inside.items():
        assert 0.93 <= np.mean(found) <= 0.97, (sql, np.mean(found))


@pytest.mark.parametrize(("epsilon", "most"), [("0.1", 1.0), ("1", 1.0), ("10", 1.5)])
def test_made_up_rows_are_as_near_as_tables_projected_one_by_one(epsilon: str, most: float) -> None:
    table = adult()
    law = table_law(plan(table, "add-remove", epsilon))
    rows, counts = exact_tables(table, law)
    with seeded_coins(1) as coins:
        found = release_of(law, law.record(about(None, None, {}), private=False), law.measure(counts, coins))
        made = made_up_table(law, found.estimates[None], coins)
    _, near = exact_tables(made, law)
    errors = []
    for pair in combinations(range(len(law.axes)), 2):
        cells, true = found.estimates[None].table(pair), counts[Residual(pair)] / rows
        projected = on_simplex(cells.reshape(1, -1), np.array([float(rows)])).reshape(cells.shape) / rows
        errors.append([np.abs(near[Residual(pair)] / made.num_rows - true).sum(), np.abs(projected - true).sum()])
    own, other = np.mean(errors, axis=0)
    assert own <= most * other, f"synthetic rows are {own:.4f} away, tables {other:.4f}"
