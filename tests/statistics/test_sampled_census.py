"""Ten columns of a census at ε = 4, each row asked for one thing: how sharp counts are, as a part of all rows.

The data is not part of the project: these tests are skipped where it is absent.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import dproof as dp
from dproof.testing import seeded_coins
from tests.statistics.test_coverage import categories, real_table

pytestmark = pytest.mark.slow

NAMES = ["type_employer", "education", "marital", "occupation", "relationship", "race", "sex", "country", "income"]
AGE = {"space": "interval", "low": 0, "high": 100, "step": 1, "bins": [0, 20, 30, 40, 50, 60, 70, 100]}


def released(**more: Any) -> Any:
    table = real_table("adult.csv", [*NAMES, "age"])
    columns = {**{name: categories(table, name) for name in NAMES}, "age": AGE}
    with seeded_coins(1):
        return dp.sanitise(table, {"privacy": {"epsilon": 4, "spread": "sample"}, "columns": columns, **more})


def deviation(release: Any, sets: Any) -> float:
    """The root mean square of the standard errors of all cells, as a part of all rows."""
    errors: list[float] = []
    for names in sets:
        listed = ", ".join(names)
        rows = release.query(f"SELECT {listed}, count(*) AS n FROM release GROUP BY {listed}").rows
        errors += [row["n"].stderr for row in rows]
    return float(np.sqrt(np.mean(np.square(errors)))) / int(release.rows)


def test_single_columns() -> None:
    asked = [{"sql": f"SELECT {name}, count(*) FROM release GROUP BY {name}"} for name in NAMES]
    release = released(questions=asked)
    assert len(release.law.groups) == 10 and deviation(release, [[name] for name in NAMES]) < 0.0054


def test_pairs_and_their_margins() -> None:
    release = released()
    assert len(release.law.groups) == 45 and deviation(release, combinations(NAMES, 2)) < 0.0108
    assert deviation(release, [[name] for name in NAMES]) < 0.0090
