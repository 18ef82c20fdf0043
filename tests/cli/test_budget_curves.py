"""A budget shows questions about curves as they were asked, and what is paid stays paid."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dproof as dp

Dproof = Callable[..., Any]
ASKED = "SELECT kind, avg(load) AS curve FROM data GROUP BY kind"
CANONICAL = 'SELECT "kind", avg("load") FROM data WHERE NOT "load" IS NULL GROUP BY "kind"'
PLAN = """
[privacy]
epsilon = "4"
[columns.kind]
space = "categories"
values = ["a", "b"]
[columns.load]
space = "curves"
columns = ["x", "y", "z"]
low = 0
high = 4
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    data, plan = tmp_path / "data.csv", tmp_path / "plan.toml"
    data.write_text("kind,x,y,z\n" + "a,1,2,3\nb,3,2,1\n" * 50)
    plan.write_text(PLAN)
    return data, plan, tmp_path / "ledger.db"


def test_the_budget_shows_the_question_without_what_only_a_ledger_needs(
    dproof: Dproof, files: tuple[Path, Path, Path]
) -> None:
    data, plan, ledger = files
    ask = ("ask", data, ASKED, "--plan", plan, "--ledger", ledger, "--epsilon", "1")
    assert dproof(*ask).code == 0
    page = " ".join(dproof("budget", ledger).out.split())
    assert "GROUP BY" in page and " -- " not in page and "grid" not in page
    (entry,) = (one for one in dproof("budget", ledger, "--json").json["entries"] if one["kind"] == "question")
    assert entry["question"] == CANONICAL
    (kept,) = (one["key"] for one in dp.Ledger(ledger).entries if one["kind"] == "question")
    assert kept.startswith(f"{CANONICAL} -- on the grid -- plan ")
    again = dproof(*ask)
    assert "It was free" in again.out + again.err
