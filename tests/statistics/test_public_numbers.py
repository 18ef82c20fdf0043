"""Statistics of a public number in a private group cover as often as they say, over every outcome of a few rows.

The numbers are exact; who is in the group is not, and of few rows that noise is not normal.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof.testing import seeded_coins

YEARS = np.array([1990, 1991, 1993, 1997, 2005, 2006, 2007, 2019])
GROUPS = {"nobody": (), "one": (7,), "three": (0, 3, 7), "all but one": (0, 1, 2, 3, 4, 5, 6), "all": tuple(range(8))}


@cache
def outcomes(members: tuple[int, ...], epsilon: Any) -> tuple[Any, np.ndarray[Any, Any]]:
    """All releases of these rows as the groups of one, and their chances."""
    own = np.isin(np.arange(len(YEARS)), members).astype(int)
    columns = {
        "member": {"space": "categories", "values": [0, 1]},
        "year": {"public": True},
        "outcome": {"public": True},
    }
    with seeded_coins(1):
        table = pa.table({"member": own, "year": YEARS, "outcome": own})
        release = dp.sanitise(table, {"privacy": {"epsilon": epsilon}, "columns": columns})
    law = np.asarray(release.law.groups[0].mechanism.matrix(), float)
    shown = np.array(list(product((0, 1), repeat=len(YEARS))))
    chances = law[own[None, :], shown].prod(axis=1)
    rows = pa.table(
        {
            "member": shown.reshape(-1),
            "year": np.tile(YEARS, len(shown)),
            "outcome": np.repeat(np.arange(len(shown)), len(YEARS)),
        }
    )
    about = {**release.certificate["release"], "rows": rows.num_rows}
    return replace(release, table=rows, certificate={**release.certificate, "release": about}), chances


@pytest.mark.parametrize("epsilon", [1, 3, 5])
@pytest.mark.parametrize("group", GROUPS)
def test_statistics_of_public_numbers_in_a_private_group(group: str, epsilon: Any) -> None:
    release, chances = outcomes(GROUPS[group], epsilon)
    own = YEARS[list(GROUPS[group])]
    asked = {"sum(year)": own.sum()}
    if len(own):
        asked |= {"avg(year)": own.mean(), "max(year)": own.max(), "min(year)": own.min()}
        asked |= {f"quantile(year, {q})": np.quantile(own, q, method="inverted_cdf") for q in (0.3, 0.5)}
    for sql, truth in asked.items():
        rows = release.query(f"SELECT outcome, {sql} AS v FROM release WHERE member = 1 GROUP BY outcome").rows
        cells = [row["v"] for row in rows]
        holds = [not c.informative or c.low is None or c.low - 1e-6 <= truth <= c.high + 1e-6 for c in cells]
        assert chances[holds].sum() >= 0.95, sql


def test_a_mean_of_public_numbers_does_not_depend_on_where_zero_lies() -> None:
    n, dice = 400, np.random.default_rng(1)
    years = dice.integers(1990, 2020, n)
    table = pa.table({"team": dice.choice(["a", "b"], n), "year": years, "later": years - 1990})
    columns = {
        "team": {"space": "categories", "values": ["a", "b"]},
        "year": {"public": True},
        "later": {"public": True},
    }
    with seeded_coins(1):
        release = dp.sanitise(table, {"privacy": {"epsilon": 1}, "columns": columns})
    for name in ("avg", "stddev"):
        (row,) = release.query(f"SELECT {name}(year) AS one, {name}(later) AS other FROM release WHERE team = 'a'").rows
        widths = [cell.high - cell.low for cell in (row["one"], row["other"])]
        assert widths[0] == pytest.approx(widths[1], rel=1e-6) and widths[0] < 8, name


def test_several_parts_of_a_sampled_release_tell_a_public_number_together() -> None:
    n, dice = 3000, np.random.default_rng(2)
    team, year = dice.choice(["a", "b"], n), dice.integers(1990, 2020, n)
    table = pa.table({"team": team, "x": dice.integers(0, 2, n), "y": dice.integers(0, 2, n), "year": year})
    flag = {"space": "categories", "values": [0, 1]}
    plan = {
        "privacy": {"epsilon": 6, "spread": "sample"},
        "columns": {
            "team": {"space": "categories", "values": ["a", "b"]},
            "x": flag,
            "y": flag,
            "year": {"public": True},
        },
        "joint": [{"columns": ["team", "x"]}, {"columns": ["team", "y"]}],
    }
    with seeded_coins(4):
        release = dp.sanitise(table, plan)
    asked = "SELECT avg(year) AS mean, sum(year) AS total FROM release WHERE team = 'a'"
    (row,) = release.query(asked).rows
    true = year[team == "a"]
    assert row["mean"].low <= true.mean() <= row["mean"].high < row["mean"].low + 2
    assert row["total"].low <= true.sum() <= row["total"].high
