"""A band that is for the curves as their basis shows them says so; one whose basis shows every curve does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp

LEFT_OUT = "what that leaves out, such as a sharp peak, is not in the band"
CURVES = np.outer(np.linspace(0.2, 0.8, 40), np.ones(5))


@pytest.mark.parametrize(("terms", "told"), [(3, True), (5, False)])
def test_answers_say_what_the_basis_leaves_out(terms: int, told: bool, tmp_path: Path) -> None:
    load = {"space": "curves", "points": 5, "low": 0, "high": 1, "basis": "cosine", "terms": terms}
    plan = {"privacy": {"epsilon": 4}, "columns": {"load": load}}
    table = pa.table({"load": CURVES.tolist()})
    release = dp.sanitise(table, plan)
    curator = dp.Curator(table, plan, ledger=tmp_path / "budget.db")
    answers = [
        release.query("SELECT avg(load) AS m FROM release"),
        release.mean_curve("load").table(),
        curator.ask("SELECT avg(load) AS m FROM data", epsilon=1),
    ]
    for answer in answers:
        assert any(LEFT_OUT in note for note in answer.notes) == told
