"""Where each row answers for one thing, the interval of a deviation holds for the whole table, not for a part of it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof.testing import seeded_coins

HOURS = {"space": "interval", "low": 0, "high": 99, "step": 1, "bins": [0, 20, 40, 60, 80, 99]}
OTHERS = [f"c{n}" for n in range(6)]
PLAN = {
    "privacy": {"epsilon": 8, "spread": "sample"},
    "columns": {"hours": HOURS, **{name: {"space": "categories", "values": ["a", "b"]} for name in OTHERS}},
    "questions": [{"sql": f"SELECT {name}, count(*) FROM data GROUP BY {name}"} for name in ("hours", *OTHERS)],
}


def test_the_deviation_of_numbers_at_both_ends_is_covered() -> None:
    """Around the middle all of these have the same square: what varies is which rows were asked."""
    covered = 0
    for seed in range(1, 25):
        hours = np.where(np.random.default_rng(seed).random(400) < 0.5, 0, 99)
        table = pa.table({"hours": hours, **{name: ["a", "b"] * 200 for name in OTHERS}})
        with seeded_coins(seed):
            release = dp.sanitise(table, PLAN)
        cell = release.query("SELECT stddev(hours) AS s FROM release").rows[0]["s"]
        covered += cell.low <= hours.std(ddof=1) <= cell.high
    assert covered >= 23


def test_what_was_sanitised_in_bins_together_with_others_is_only_counted() -> None:
    together = {**PLAN, "questions": [{"sql": "SELECT c0, hours, count(*) FROM data GROUP BY c0, hours"}]}
    together["columns"] = {name: PLAN["columns"][name] for name in ("hours", "c0")}  # type: ignore[index]
    with seeded_coins(1):
        release = dp.sanitise(pa.table({"hours": [0, 99] * 200, "c0": ["a", "b"] * 200}), together)
    with pytest.raises(dp.InputError, match="column 'hours', sanitised in bins together with other columns, can only"):
        release.query("SELECT avg(hours) AS a FROM release")
