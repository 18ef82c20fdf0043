"""`dproof plan` says which numbers answer conditions, and which only sums and means."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

PLAN = """
[privacy]
epsilon = 4
[columns.hours]
space = "interval"
low = 1
high = 99
step = 1
bins = [1, 40, 41, 99]
[columns.age]
space = "interval"
low = 0
high = 110
step = 1
[columns.sex]
space = "categories"
values = ["f", "m"]
"""


def test_numbers_with_bins_answer_conditions(tmp_path: Path, dproof: Callable[..., Any]) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(PLAN)
    columns = dproof("plan", file, "--rows", 1000, "--json").json["columns"]
    assert {column["name"]: column["conditions"] for column in columns} == {"hours": True, "age": False, "sex": None}
    page = " ".join(dproof("plan", file).out.split())
    assert "hours: answers conditions" in page and "age: answers sums and means" in page
    assert "sex: answers" not in page
