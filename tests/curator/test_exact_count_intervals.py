"""How often the curator's interval of a count covers, exactly: over every number that noise can make of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof import Terms
from dproof.curator.answer import answer_of

SQL = "SELECT count(*) AS n FROM data WHERE team = 'a'"


@pytest.mark.parametrize("neighbours", ["change-one", "add-remove"])
@pytest.mark.parametrize(("epsilon", "delta"), [("0.5", "0"), ("1", "1e-6")])
@pytest.mark.parametrize(("true", "rows_per_person"), [(0, 1), (39, 1), (40, 2)])
def test_the_interval_of_a_count_covers_at_least_as_often_as_it_says(
    tmp_path: Path, neighbours: str, epsilon: str, delta: str, true: int, rows_per_person: int
) -> None:
    columns = {"team": {"space": "categories", "values": ["a", "b"]}, "id": {"drop": True}}
    promise: dict[str, Any] = {"epsilon": 10, "delta": "1e-3", "neighbours": neighbours}
    if rows_per_person > 1:
        promise |= {"person": "id", "rows_per_person": rows_per_person}
    table = pa.table({"team": ["a"] * true + ["b"] * (40 - true), "id": [n // rows_per_person for n in range(40)]})
    curator = dp.Curator(table, {"privacy": promise, "columns": columns}, ledger=tmp_path / "ledger.db")
    measurement = curator._measurement(SQL, Terms(epsilon, delta, None, 0.95, False))
    noise = measurement.noisy[0].noise
    assert noise is not None
    reach = noise.quantile("0.9999")
    for level in (0.5, 0.999):
        covered, told = 0.0, 0.0
        for k in range(-reach, reach + 1):
            released: dict[str, Any] = {"noisy": [[true + k]], "chosen": [], "private": False}
            if measurement.unit.rows_are_public:
                released["rows"] = 40
            (row,) = answer_of(measurement, released, level).rows
            cell, chance = row["n"], float(noise.law.probability(k))
            told += chance * cell.informative
            covered += chance * (cell.informative and cell.low <= true <= cell.high)
        assert covered >= level * told - 1e-4
