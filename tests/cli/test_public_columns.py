"""A promise is never told without the columns that it does not cover."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dproof.certification.verify_certificate import main as stand_alone
from tests.makers import categories, plan_text

PLAN = plan_text({"read": categories(0, 1), "name": {"public": True}, "diagnosis": {"public": True}}, epsilon="0.01")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    (tmp_path / "plan.toml").write_text(PLAN, "utf-8")
    (tmp_path / "people.csv").write_text("read,name,diagnosis\n" + "0,Ann,flu\n1,Bob,none\n" * 5, "utf-8")
    return tmp_path


def told(text: str) -> str:
    return " ".join(text.split())


def test_every_line_that_states_the_promise_names_the_public_columns(
    dproof: Any, people: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "not protected, because the plan calls them public: name, diagnosis."
    plan = ("--plan", people / "plan.toml", "--anyway", "--no-ledger", "--out")
    assert words in told(dproof("sanitise", people / "people.csv", *plan, people / "out").out)
    assert words in told(dproof("verify", people / "out").out)
    for ran in (
        dproof("sanitise", people / "people.csv", *plan, people / "again", "--json"),
        dproof("verify", people / "out", "--json"),
    ):
        assert ran.json["public"] == ["name", "diagnosis"]
    assert words in told((people / "out" / "report.html").read_text("utf-8"))
    assert words in told(dproof("plan", people / "plan.toml").out)
    capsys.readouterr()
    assert stand_alone([str(people / "out" / "certificate.json")]) == 0
    assert "not protected, because called public: 'name', 'diagnosis'" in capsys.readouterr().out


def test_where_nothing_is_public_nothing_is_said(dproof: Any, people: Path) -> None:
    (people / "plan.toml").write_text(PLAN.replace("public = true", "drop = true"), "utf-8")
    dproof("sanitise", people / "people.csv", "--plan", people / "plan.toml", "--out", people / "out", "--anyway")
    assert "protected" not in dproof("verify", people / "out").out
    assert dproof("verify", people / "out", "--json").json["public"] == []
    assert "not protected" not in (people / "out" / "report.html").read_text("utf-8")
