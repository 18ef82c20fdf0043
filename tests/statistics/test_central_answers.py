"""Over 400 releases of real tables, answers in SQL from measured tables cover the truth as often as they say."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pytest

from dproof.central.release import about, release_of
from dproof.testing import seeded_coins
from tests.makers import exact_tables, table_law

pytestmark = pytest.mark.slow

DATA = Path(os.environ.get("DPROOF_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
TIMES = 400
Truth = Callable[[Mapping[str, Any]], Mapping[Any, float]]  # the true value of every group

PLANS: dict[str, dict[str, Any]] = {
    "adult": {
        "age": {"space": "interval", "low": 17, "high": 92, "step": 1, "bins": list(range(17, 93, 5))},
        "hr_per_week": {"space": "interval", "low": 0, "high": 100, "step": 1},
        **dict.fromkeys(("education", "marital", "occupation", "race", "sex", "income"), None),
    },
    "gss_wages": {
        "age": {
            "space": "interval", "low": 18, "high": 89, "step": 1, "bins": [18, 25, 35, 45, 55, 65, 89],
            "missing": "category",
        },
        "prestg10": {"space": "interval", "low": 16, "high": 80, "step": 1, "missing": "category"},
        **dict.fromkeys(("occrecode", "wrkstat", "gender", "educcat", "maritalcat"), None),
    },
}  # fmt: skip


def by(key: str, value: Callable[[Mapping[str, Any]], float]) -> Truth:
    """The truth in every group of a key."""

    def groups(frame: Mapping[str, Any]) -> dict[Any, float]:
        every = set(frame[key].tolist())
        chosen = {label: frame[key] == label for label in every if label is not None}
        return {label: value({name: cells[rows] for name, cells in frame.items()}) for label, rows in chosen.items()}

    return groups


def overall(value: Callable[[Mapping[str, Any]], float]) -> Truth:
    return lambda frame: {None: value(frame)}


QUESTIONS: dict[str, dict[str, Truth]] = {
    "adult": {
        "SELECT race, count(*) AS v FROM release WHERE age < 37 GROUP BY race": by(
            "race", lambda f: (f["age"] < 37).sum()
        ),
        "SELECT occupation, proportion(sex = 'Female') AS v FROM release GROUP BY occupation": by(
            "occupation", lambda f: (f["sex"] == "Female").mean()
        ),
        "SELECT count(*) FILTER (WHERE sex = 'Male') / count(*) FILTER (WHERE race = 'Black') v FROM release": overall(
            lambda f: (f["sex"] == "Male").sum() / (f["race"] == "Black").sum()
        ),
        "SELECT education, avg(hr_per_week) AS v FROM release GROUP BY education": by(
            "education", lambda f: f["hr_per_week"].mean()
        ),
        "SELECT count(*) AS v FROM release WHERE sex = 'Female' AND NOT income = '>50K' OR sex = 'Male'": overall(
            lambda f: ((f["sex"] == "Male") | (f["income"] != ">50K")).sum()
        ),
    },
    "gss_wages": {
        "SELECT maritalcat, count(*) AS v FROM release WHERE age >= 35 AND age < 65 GROUP BY maritalcat": by(
            "maritalcat", lambda f: ((f["age"] >= 35) & (f["age"] < 65)).sum()
        ),
        "SELECT gender, proportion(educcat = 'Bachelor') AS v FROM release GROUP BY gender": by(
            "gender", lambda f: (f["educcat"] == "Bachelor").mean()
        ),
        "SELECT educcat, avg(prestg10) AS v FROM release GROUP BY educcat": by(
            "educcat", lambda f: np.nanmean(f["prestg10"])
        ),
        "SELECT wrkstat, count(*) FILTER (WHERE gender = 'Male') / count(*) AS v FROM release GROUP BY wrkstat": by(
            "wrkstat", lambda f: (f["gender"] == "Male").mean()
        ),
    },
}


def coverage(name: str, times: int = TIMES, epsilon: str = "1") -> dict[str, float]:
    """How many of the 95 % intervals of each question cover the truth, over so many releases of a table."""
    file = DATA / f"{name}.csv"
    if not file.exists():
        pytest.skip(f"{file.name} is not here: set DPROOF_DATA to the folder that has it")
    read = pyarrow.csv.read_csv(file, convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True))
    table, columns = read.select(list(PLANS[name])), {}
    for column, declared in PLANS[name].items():
        values = sorted(table[column].drop_null().unique().to_pylist()) if declared is None else []
        columns[column] = declared or {"space": "categories", "values": values}
        if declared is None and table[column].null_count:
            columns[column] |= {"missing": "category"}
    privacy = {"model": "central", "epsilon": epsilon, "delta": "1e-6", "neighbours": "add-remove"}
    law = table_law({"privacy": privacy, "release": {"sums": True}, "columns": columns})
    _, counts = exact_tables(table, law)
    certificate = law.record(about(None, None, {}), private=False)
    frame = {column: np.array(table[column].to_numpy()) for column in table.column_names}
    truths = {sql: truth(frame) for sql, truth in QUESTIONS[name].items()}
    inside: dict[str, list[bool]] = {sql: [] for sql in truths}
    for seed in range(times):
        with seeded_coins(seed) as coins:
            release = release_of(law, certificate, law.measure(counts, coins))
        for sql, truth in truths.items():
            for row in release.query(sql).rows:
                label = next((value for column, value in row.items() if column != "v"), None)
                if label in truth and row["v"].informative:
                    inside[sql].append(row["v"].low <= truth[label] <= row["v"].high)
    return {sql: float(np.mean(found)) for sql, found in inside.items()}


@pytest.mark.parametrize("name", list(QUESTIONS))
def test_conditions_keys_shares_and_ratios_cover_the_truth(name: str) -> None:
    for sql, share in coverage(name).items():
        assert 0.93 <= share <= 0.97, (sql, share)
