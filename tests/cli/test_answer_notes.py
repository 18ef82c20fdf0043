"""What stands beside an answer is said in the words of whoever asked, and once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from tests.makers import AGE, categories, plan_text

PLAN = plan_text({"hobby": categories("Cars", "Chess"), "age": AGE}, epsilon="2")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plan.toml").write_text(PLAN, "utf-8")
    (tmp_path / "people.csv").write_text("hobby,age\n" + "Cars,41\nChess,20\n" * 50, "utf-8")
    return tmp_path


@pytest.fixture
def ask(folder: Path, dproof: Callable[..., Any]) -> Callable[..., Any]:
    words = ["ask", folder / "people.csv", "--plan", folder / "plan.toml", "--ledger", folder / "budget.db"]
    return lambda *more: dproof(*words, *more)


def test_a_choice_is_named_as_its_column(ask: Callable[..., Any]) -> None:
    sql = "SELECT max(age), median(age) AS middle FROM data"
    notes = ask(sql, "--epsilon", "1", "--json").json["notes"]
    assert any(note.startswith("max(age): with probability") for note in notes)
    assert any(note.startswith("middle: with probability") for note in notes)
    assert "mechanism: middle: with probability" in ask(sql, "--epsilon", "1", "--preview").out


def test_the_numbers_as_drawn_are_named_for_each_door(ask: Callable[..., Any]) -> None:
    ran = ask("SELECT hobby, count(*) FROM data GROUP BY hobby", "--epsilon", "1")
    assert "The numbers as drawn are in `raw` with --json." in " ".join(ran.out.split())


def test_without_a_price_the_options_are_named(folder: Path, refused: Callable[..., str]) -> None:
    words = ["ask", folder / "people.csv", "--plan", folder / "plan.toml", "--ledger", folder / "budget.db"]
    for more in ([], ["--epsilon", "1", "--accuracy", "2"]):
        said = refused(*words, "SELECT count(*) FROM data", *more)
        assert "--epsilon" in said and "--accuracy" in said
    assert not (folder / "budget.db").exists()


def test_a_mean_of_a_private_number_of_values_depends_on_the_data_in_preview_and_plan(
    folder: Path, ask: Callable[..., Any], dproof: Callable[..., Any]
) -> None:
    sql = "SELECT avg(age) AS a, count(*) AS n FROM data WHERE hobby = 'Cars'"
    assert "a: the interval depends on the data" in ask(sql, "--epsilon", "2", "--preview").out
    words = ["plan", folder / "plan.toml", "--rows", 100, "--question", sql]
    mean, counted = dproof(*words, "--json").json["questions"]
    assert (mean["estimated"], counted["estimated"]) == (True, False)
    page = " ".join(dproof(*words).out.split())
    assert "for means and shares" in page and "if the rows are spread evenly" in page


def test_an_answer_is_called_unbiased_only_where_it_is() -> None:
    ages = {"age": {"space": "interval", "low": 0, "high": 110, "step": 1}}
    release = dp.sanitise(pa.table({"age": [20, 60] * 200}), {"privacy": {"epsilon": 1}, "columns": ages})
    rough = release.query("SELECT count(*) AS n FROM release WHERE age < 40")
    assert any(note.startswith("approximate") for note in rough.notes) and "(unbiased)" not in rough.method
    assert release.query("SELECT avg(age) AS a FROM release").method.startswith("inverse law (unbiased)")


def test_verify_says_what_its_laws_are(folder: Path, dproof: Callable[..., Any]) -> None:
    dp.sanitise(folder / "people.csv", folder / "plan.toml", folder / "release")
    page = " ".join(dproof("verify", folder / "release").out.split())
    assert "2 laws, one for each column or group of joined columns" in page
