"""`dproof plan` of a plan that no release can keep: it says which command to use, and what that gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from tests.makers import categories, plan_text

PLAN = plan_text({"hobby": categories("Cars", "Chess", missing="category")}, epsilon="1", neighbours="add-remove")
COUNT = "SELECT hobby, count(*) AS n FROM data GROUP BY hobby"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "plan.toml").write_text(PLAN, "utf-8")
    return tmp_path / "plan.toml"


def test_it_names_the_command_and_what_a_count_would_be(path: Path, dproof: Callable[..., Any]) -> None:
    ran = dproof("plan", path, "--json").json
    assert "`dproof ask`" in ran["verdict"] and "'change-one'" in ran["verdict"]
    assert (ran["columns"], ran["neighbours"], ran["tight"]) == ([], "add-remove", None)
    curator = dp.Curator(pa.table({"hobby": ["Cars"] * 9}), path, ledger=path.with_name("budget.db"))
    width = curator.preview("SELECT count(*) AS n FROM data", epsilon=1).half_widths["n"]
    assert f"a count to ± {width:g} " in ran["verdict"]
    assert "`dproof ask`" in dproof("plan", path).out


def test_questions_are_priced_for_the_curator_alone(path: Path, dproof: Callable[..., Any]) -> None:
    ran = dproof("plan", path, "--rows", 500, "--question", COUNT, "--json").json
    curator = dp.Curator(pa.table({"hobby": ["Cars"] * 9}), path, ledger=path.with_name("budget.db"))
    (asked,) = ran["questions"]
    assert (asked["release"], asked["ask"]) == (None, curator.preview(COUNT, epsilon=1).half_widths["n"])
    assert ran["better"] == "ask" and "change-one" in ran["questions_verdict"]
    page = dproof("plan", path, "--rows", 500, "--question", COUNT).out
    assert "No answer, local: " in page and "ask 1*" in page


def test_the_epsilon_is_sought_for_asking(path: Path, dproof: Callable[..., Any]) -> None:
    told = dproof("plan", path, "--rows", 500, "--half-width", 20, "--json").json
    curator = dp.Curator(pa.table({"hobby": ["Cars"] * 9}), path, ledger=path.with_name("budget.db"))
    count, found = "SELECT count(*) AS n FROM data WHERE hobby = 'Cars'", told["solved_epsilon"]
    widths = [curator.preview(count, epsilon=epsilon).half_widths["n"] for epsilon in (found, found - 0.001)]
    assert widths[0] is not None and widths[1] is not None and widths[0] <= 20 < widths[1]
