"""The model reads synthetic rows as they are stored: a missing set, stored as an item, is missing."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof.testing import seeded_coins

ROWS = 3000
SETS: list[list[str] | None] = [None, ["Corn"], ["Corn", "Peas"]] * (ROWS // 3)
FORMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "joined": ({"separator": ";"}, {"sides": [None if held is None else ";".join(held) for held in SETS]}),
    "list": ({}, {"sides": SETS}),
    "flags": (
        {"columns": ["corn", "peas"]},
        {
            flag: [None if held is None else str(item in held).lower() for held in SETS]
            for flag, item in (("corn", "Corn"), ("peas", "Peas"))
        },
    ),
}


@pytest.mark.parametrize("outside", ["refuse", "clamp"])
@pytest.mark.parametrize("form", FORMS)
def test_a_missing_set_is_missing_to_the_model(form: str, outside: str) -> None:
    shape, source = FORMS[form]
    sides = {"space": "subsets", "values": ["Corn", "Peas"], "missing": "category", "outside": outside, **shape}
    plan = {
        "privacy": {"model": "central", "epsilon": 8, "delta": "1e-6"},
        "release": {"rows": True},
        "columns": {"sides": sides},
    }
    with seeded_coins(1):
        release = dp.sanitise(pa.table(source), plan)
    counted = {}
    for where in ("sides IS NULL", "list_contains(sides, 'Peas')", "list_contains(sides, 'Corn')"):
        sql = f"SELECT count(*) AS n FROM release WHERE {where}"
        counted[where] = release.query(sql, method="model").rows[0]["n"].estimate
        assert counted[where] == pytest.approx(release.query(sql).rows[0]["n"].estimate, abs=60), where
    assert counted["sides IS NULL"] == pytest.approx(ROWS / 3, abs=60)
