"""Questions that the page writes are answered: by sets of many items, by declared bins, and by numbers without."""

import random

import pyarrow as pa
import pytest

import dproof as dp
from dproof.serve.pages.asking import built, columns_of

ITEMS = [f"item {n}" for n in range(20)]
YEAR = {"space": "date", "low": "2024-01-01", "high": "2024-12-31"}
COLUMNS = {
    "sides": {"space": "subsets", "values": ITEMS, "separator": ";"},
    "age": {"space": "interval", "low": 0, "high": 99, "bins": [0, 20, 40, 99]},
    "year of birth": {"space": "interval", "low": 1918, "high": 2008},
    "pay": {"space": "interval", "low": 0, "high": 250000},
    "day": {**YEAR, "bins": "quarters"},
    "since": {"space": "date", "low": "2001-01-01", "high": "2024-12-31"},
    "seen": {**YEAR, "bins": ["2024-01-01", "2024-05-01", "2024-12-31"]},
    "town": {"space": "categories", "values": ["Bonn", "Köln"]},
}
GROUPS = {"sides": 20, "age": 3, "year of birth": 10, "pay": 10, "day": 4, "since": 24, "seen": 2, "town": 2}

UNDECLARED = {"pay", "year of birth", "since"}  # have the bins that a central release chooses


@pytest.fixture(scope="module")
def table():
    chosen = random.Random(7)
    values = {
        "sides": lambda: ";".join(chosen.sample(ITEMS, 3)),
        "age": lambda: chosen.randint(0, 99),
        "year of birth": lambda: chosen.randint(1918, 2008),
        "pay": lambda: chosen.randint(0, 250_000),
        "day": lambda: f"2024-{chosen.randint(1, 12):02}-11",
        "since": lambda: f"20{chosen.randint(1, 24):02}-03-11",
        "seen": lambda: f"2024-{chosen.randint(1, 12):02}-11",
        "town": lambda: chosen.choice(["Bonn", "Köln"]),
    }
    return pa.table({name: [value() for _ in range(200)] for name, value in values.items()})


@pytest.mark.parametrize("by", COLUMNS)
def test_a_question_by_any_column_is_answered_in_every_model(table, by, tmp_path):
    plan = {"privacy": {"epsilon": 50}, "columns": COLUMNS}
    columns, chosen = columns_of(dp.Plan.of(plan)), {"what": "count", "by": by}
    asked = built(columns, "data", chosen, asking=True)
    answer = dp.Curator(table, plan, ledger=tmp_path / "budget.db").ask(asked, epsilon=1)
    assert len(answer.rows) == GROUPS[by], asked
    for promise, more in (({}, {}), ({"model": "central"}, {"release": {"tables": 2, "sums": True}})):
        sql = built(columns, "data", chosen, of_rows=not promise)
        planned = {
            "privacy": {"epsilon": 50, **promise},
            "columns": {**{name: {"drop": True} for name in COLUMNS}, by: COLUMNS[by]},
            "questions": [{"sql": sql}],
            **more,
        }
        release = dp.sanitise(table, planned)
        rows = release.query(sql.replace("FROM data", "FROM release")).rows
        assert len(rows) == GROUPS[by] or (promise and by in UNDECLARED and len(rows) > 4), (sql, promise)
