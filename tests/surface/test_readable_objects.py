"""What a person reads where an object is shown by itself, as at the end of a notebook's cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp

PLAN: dict[str, Any] = {
    "privacy": {"epsilon": 2},
    "columns": {
        "town": {"space": "categories", "values": ["Bonn", "Kiel"], "outside": "category", "missing": "category"},
        "age": {"space": "interval", "low": 0, "high": 110, "step": 1, "outside": "clamp", "missing": 40},
        "name": {"drop": True},
    },
}
TABLE = pa.table({"town": ["Bonn", "Ulm", None], "age": [20, 200, 30], "name": ["a", "b", "c"]})


def test_a_plan() -> None:
    assert repr(dp.Plan.from_dict(PLAN)) == (
        "<plan: epsilon = 2, delta = 0, change-one; town (categories), age (interval), name (drop)>"
    )


def test_a_check() -> None:
    first, confidential, town, age, *_ = repr(dp.check(TABLE, PLAN)).splitlines()
    assert first == "<check of 3 rows>" and confidential.startswith("CONFIDENTIAL")
    assert (town, age) == ("town (categories): 1 missing, 1 outside", "age (interval): 1 clamped")


def test_a_curator_says_nothing_that_it_would_have_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    curator = dp.Curator(TABLE, PLAN, ledger="budget.db")
    curator.ledger.close()
    Path("budget.db").unlink()
    assert repr(curator) == "<curator: change-one, ledger 'budget.db'; town, age>"


@pytest.mark.parametrize(
    ("decimal", "low", "values", "what"),
    [(",", 1000, ["65,000", "71,500"], "clamped"), (".", 0, ["65,000", "71,500"], "not numbers")],
)
def test_a_wrong_sign_in_numbers_is_hinted_at(
    tmp_path: Path, decimal: str, low: int, values: list[str], what: str
) -> None:
    """With a decimal comma 65,000 is 65: the plan should say that the comma groups thousands."""
    (tmp_path / "pay.csv").write_text("pay\n" + "".join(f'"{value}"\n' for value in values), "utf-8")
    pay = {"space": "interval", "low": low, "high": 200_000, "step": 1, "outside": "clamp", "missing": low}
    file = {"decimal": decimal, "separator": ";"}
    found = dp.check(tmp_path / "pay.csv", {"privacy": {"epsilon": 1}, "file": file, "columns": {"pay": pay}})
    (hint,) = found.hints
    assert what in hint and "`thousands`" in hint
