"""Answers of `dproof query` and `dproof ask` printed as CSV and Markdown, and written as workbooks."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dproof.tables import open_source

Dproof = Callable[..., Any]
PLAN = """
[privacy]
epsilon = "4"
[columns.sex]
space = "categories"
values = ["f", "m"]
"""
ASKED = "SELECT sex, count(*) AS n FROM {} GROUP BY sex"


@pytest.fixture
def commands(tmp_path: Path, dproof: Dproof) -> dict[str, tuple[Any, ...]]:
    data, plan = tmp_path / "people.csv", tmp_path / "plan.toml"
    data.write_text("sex\n" + "f\nm\n" * 200)
    plan.write_text(PLAN)
    assert dproof("sanitise", data, "--plan", plan, "--out", tmp_path / "release").code == 0
    paid = ("--plan", plan, "--ledger", tmp_path / "budget.db", "--epsilon", 1)
    return {
        "query": ("query", tmp_path / "release", ASKED.format("release")),
        "ask": ("ask", data, ASKED.format("data"), *paid),
    }


@pytest.mark.parametrize("name", ["query", "ask"])
def test_every_format_goes_with_both_commands(
    name: str, commands: dict[str, tuple[Any, ...]], dproof: Dproof, tmp_path: Path
) -> None:
    command = commands[name]
    head, *rows = csv.reader(io.StringIO(dproof(*command, "--format", "csv").out, newline=""))
    assert head == ["sex", "n", "n_low", "n_high", "n_stderr", "n_raw", "n_informative"] and len(rows) == 2
    assert float(rows[0][2]) <= float(rows[0][1]) <= float(rows[0][3])
    printed = dproof(*command, "--format", "markdown").out
    assert printed.startswith("| sex | n |\n| --- | ---: |\n| f | ") and "95% intervals." in printed
    assert dproof(*command, "--out", tmp_path / "answer.xlsx").code == 0
    assert open_source(tmp_path / "answer.xlsx").names == tuple(head)


@pytest.mark.parametrize("name", ["query", "ask"])
def test_two_ways_to_print_are_refused_and_nothing_is_spent(
    name: str, commands: dict[str, tuple[Any, ...]], dproof: Dproof, tmp_path: Path
) -> None:
    refused = dproof(*commands[name], "--json", "--format", "csv")
    assert refused.code == 2 and "--json and --format both say" in refused.err
    assert dproof(*commands[name], "--format", "xlsx").code == 2
    assert not (tmp_path / "budget.db").exists()
