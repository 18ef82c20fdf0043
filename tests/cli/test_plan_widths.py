"""The ± that `dproof plan` tells of columns and of questions: both are exact, of different tables, and say which."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

import dproof as dp
from dproof.plans.reader import to_toml
from tests.makers import row_law

ROWS = 2000
TOWN = {"space": "categories", "values": [f"v{n}" for n in range(40)], "mechanism": "frequency"}


def written(folder: Path, **plan: Any) -> Path:
    path = folder / "plan.toml"
    path.write_text(to_toml(plan), "utf-8")
    return path


def test_columns_are_told_for_the_worst_table_and_questions_for_an_even_one(
    tmp_path: Path, dproof: Callable[..., Any]
) -> None:
    plan = written(tmp_path, privacy={"epsilon": 3}, columns={"town": TOWN})
    asked = ("--rows", ROWS, "--question", "SELECT count(*) FROM release WHERE town = 'v0'")
    told = dproof("plan", plan, *asked, "--json").json
    (group,) = row_law(dp.Plan.read(plan)).groups
    hit, miss = map(float, group.mechanism.family.support_probabilities)
    for held, width in ((ROWS, told["columns"][0]["half_width"]), (ROWS / 40, told["questions"][0]["release"])):
        variance = held * hit * (1 - hit) + (ROWS - held) * miss * (1 - miss)
        assert width == pytest.approx(1.959964 * sqrt(variance) / (hit - miss), rel=1e-6)
    page = " ".join(dproof("plan", plan, *asked).out.split())
    assert "±: for the worst table" in page and "above it is for evenly spread values" in page


def test_all_pairs_are_asked_only_where_nothing_says_less(tmp_path: Path, dproof: Callable[..., Any]) -> None:
    columns = {name: {"space": "categories", "values": [1, 2, 3, 4]} for name in "abcde"}
    promise = {"epsilon": 2, "spread": "sample"}
    told = dproof("plan", written(tmp_path, privacy=promise, columns=columns), "--rows", ROWS, "--json").json
    (hint,) = told["advice"]
    assert hint["kind"] == "questions" and "one of all 10 pairs of columns" in hint["text"]
    single = [{"sql": f"SELECT {name}, count(*) FROM release GROUP BY {name}"} for name in columns]
    plan = written(tmp_path, privacy=promise, columns=columns, questions=single)
    after = dproof("plan", plan, "--rows", ROWS, "--json").json
    assert after["advice"] == [] and hint["half_width"] == max(column["half_width"] for column in after["columns"])
    assert hint["instead_of"] == max(column["half_width"] for column in told["columns"]) > hint["half_width"]
