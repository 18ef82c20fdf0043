"""The question that the page of a release of tables shows as an example is one that it answers."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp

COLUMNS: dict[str, Any] = {
    "pets": {"space": "subsets", "values": ["cat", "dog"], "separator": ";"},
    "the age": {"space": "interval", "low": 0, "high": 100, "step": 1},
    "sex": {"space": "categories", "values": ["f", "m"]},
}


@pytest.mark.parametrize(
    "questions",
    [
        [],
        [
            "SELECT count(*) FROM data WHERE list_contains(pets, 'cat')",
            'SELECT sex, avg("the age") FROM data GROUP BY sex',
        ],
        ["SELECT count(*) FROM data WHERE list_contains(pets, 'cat')"],
    ],
    ids=len,
)
def test_the_example_is_answered(questions: list[str], tmp_path: Path) -> None:
    columns = {name: column for name, column in COLUMNS.items() if not questions or any(name in q for q in questions)}
    plan: dict[str, Any] = {"privacy": {"model": "central", "epsilon": 1, "delta": "1e-6"}, "columns": columns}
    if questions:
        plan["questions"] = [{"sql": sql} for sql in questions]
    rows = {"pets": ["cat;dog"] * 2000, "the age": [30] * 2000, "sex": ["f", "m"] * 1000}
    release = dp.sanitise(pa.table({name: rows[name] for name in columns}), plan, tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    (shown,) = re.findall(r"query\((['\"].*?['\"])\)</pre>", unescape(page))
    cells = [cell for row in release.query(shown[1:-1].replace("\\'", "'")).rows for cell in row.values()]
    assert any(getattr(cell, "informative", False) for cell in cells)
