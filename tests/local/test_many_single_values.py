"""Counts of very many single values under wide noise: values that share a point of the grid share a programme."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof.local import distribution_free as measures
from dproof.testing import seeded_coins

VALUES = 400
X = np.where(np.arange(3000) % 3 == 0, 217, np.random.default_rng(1).integers(0, VALUES, 3000))


def test_one_programme_serves_all_values_around_a_point_of_the_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    solved = []
    constraints = measures.Constraints

    def counted(*arguments: np.ndarray) -> object:
        solved.append(1)
        return constraints(*arguments)

    number = {"space": "interval", "low": 0, "high": VALUES - 1, "step": 1}
    with seeded_coins(1):
        release = dp.sanitise(pa.table({"x": X}), {"privacy": {"epsilon": 4}, "columns": {"x": number}})
    monkeypatch.setattr(measures, "Constraints", counted)
    rows = release.query("SELECT x, count(*) AS n FROM release GROUP BY x").rows
    assert len(rows) == VALUES and len(solved) < VALUES * 3 / 4
    for value in (5, 217):
        cell = rows[value]["n"]
        assert cell.low == 0 and (value == X).sum() <= cell.high
        # Asked for by itself a value has a programme of its own: that is hardly narrower.
        (alone,) = release.query(f"SELECT count(*) AS n FROM release WHERE x = {value}").rows
        assert cell.high <= 1.2 * alone["n"].high
