"""A query of the user's own: what it costs, and the noise that its declared sensitivity asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof.mechanisms.noise import integer_laplace

COLUMNS = {"books": {"space": "categories", "values": list(range(8))}}


def total(rows: list[dict[str, Any]]) -> int:
    return sum(row["books"] or 0 for row in rows)


@pytest.mark.parametrize(
    ("unit", "declared", "times"),
    [
        ({}, "change-one", 1),
        ({"neighbours": "add-remove"}, "add-remove", 1),
        ({"neighbours": "add-remove", "rows_per_person": 3}, "add-remove", 3),
        ({"rows_per_person": 3}, "add-remove", 6),  # three rows go, and three others come
    ],
)
def test_it_costs_epsilon_and_no_delta_and_has_noise_for_all_rows_of_a_person(
    unit: dict[str, Any], declared: Any, times: int, tmp_path: Path
) -> None:
    plan = {"privacy": {"epsilon": 2, "delta": "1e-6", **unit}, "columns": COLUMNS}
    curator = dp.Curator(pa.table({"books": [3, 1, 5]}), plan, ledger=tmp_path / "budget.db")
    query, _ = dp.declare("total", total, 7, curator.schema, neighbours=declared)
    cell = curator.ask_declared(query, epsilon=1).rows[0]["total"]
    noise = integer_laplace(7 * times, dp.Privacy(1))
    assert cell.stderr == pytest.approx(noise.variance**0.5)
    (entry,) = (entry for entry in curator.ledger.entries if entry["kind"] == "question")
    assert (entry["epsilon"], entry.get("delta", "0"), entry.get("cut", "0")) == ("1", "0", "0")
