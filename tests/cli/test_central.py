"""The central model from the command line: plan, sanitise, query, verify, report."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.makers import AGE_IN_BINS, SEX, plan_text

Dproof = Callable[..., Any]
PLAN = plan_text(
    {"age": AGE_IN_BINS, "sex": SEX, "name": {"drop": True}},
    model="central",
    epsilon="1",
    delta="1e-6",
    neighbours="add-remove",
)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    data, plan = tmp_path / "people.csv", tmp_path / "plan.toml"
    lines = [f"{n % 100},{'fm'[n % 2]},p{n}" for n in range(1000)]
    data.write_text("\n".join(["age,sex,name", *lines]) + "\n")
    plan.write_text(PLAN)
    return data, plan


def test_from_the_plan_to_a_verified_release(dproof: Dproof, files: tuple[Path, Path], tmp_path: Path) -> None:
    data, plan = files
    out = tmp_path / "out"
    planned = dproof("plan", plan, "--json").json
    assert planned["model"] == "central" and planned["dropped"] == ["name"]
    assert (planned["delta"], planned["allowed_delta"]) == (0.0, 1e-6)
    assert "the release will not use it" in " ".join(dproof("plan", plan).out.split())
    widths = {" × ".join(table["columns"]): table["half_width"] for table in planned["tables"]}
    made = dproof("sanitise", data, "--plan", plan, "--out", out)
    assert made.code == 0 and f"{len(planned['tables'])} measured tables." in " ".join(made.out.split())
    asked = dproof("query", out, "SELECT age, count(*) AS n FROM release WHERE sex = 'f' GROUP BY age", "--json")
    cells = [row["n"] for row in asked.json["rows"]]
    assert [row["age"] for row in asked.json["rows"]] == ["[0, 30)", "[30, 60)", "[60, 100]"]
    assert cells[0]["high"] - cells[0]["low"] == pytest.approx(2 * widths["age × sex"], rel=0.01)
    checked = dproof("verify", out, "--json")
    assert checked.code == 0 and checked.json["holds"] and checked.json["measurements"] == 1
    assert checked.json["tables"] == len(planned["tables"])
    assert "holds" in dproof("verify", out).out and "age × sex" in (out / "report.html").read_text()
    assert dproof("report", out, "--out", tmp_path / "page.html").code == 0


def test_a_person_is_told_the_plus_or_minus_of_every_table_and_what_costs_most(
    dproof: Dproof, files: tuple[Path, Path]
) -> None:
    told = dproof("plan", files[1])
    assert told.code == 0
    for word in ("age × sex", "±: of a count", "Part of the cost", "sees the true rows", "Left out: name"):
        assert word in told.out
    assert re.search(
        r"In a table of fewer than [\d,]+ rows no count says anything", told.out
    )  # there are no parts of rows


def test_with_the_number_of_rows_the_local_model_stands_beside_it(
    dproof: Dproof, files: tuple[Path, Path], refused: Callable[..., str]
) -> None:
    plan = files[1]
    told = dproof("plan", plan, "--rows", 10_000, "--json").json
    local = [one["half_width"]["local"] for one in told["answers"] if one["what"] == "count"]
    assert local and all(half > 10 * told["tables"][0]["half_width"] for half in local)
    assert "local" not in dproof("plan", plan).out
    assert "whole number from 1" in refused("plan", plan, "--rows", -1)


def test_many_tables_are_told_by_how_many_columns_they_have(dproof: Dproof, tmp_path: Path) -> None:
    columns = "".join(f'[columns.c{n}]\nspace = "categories"\nvalues = ["a", "b"]\n' for n in range(6))
    plan = tmp_path / "plan.toml"
    plan.write_text('[privacy]\nmodel = "central"\nepsilon = 1\ndelta = "1e-6"\n' + columns)
    told = dproof("plan", plan).out
    assert "6 of 1 column " in told and "15 of 2 columns" in told


def test_sums_are_told_too_and_a_mean_follows(dproof: Dproof, files: tuple[Path, Path], tmp_path: Path) -> None:
    data, plan = files
    summed = _with(plan, "[columns.age]", "[release]\nsums = true\n[columns.age]")
    told = dproof("plan", summed, "--json").json["tables"]
    assert [one["sum_of"] for one in told] == [None, None, None, "age", "age", "age"]
    assert "sum of age by sex" in dproof("plan", summed).out
    dproof("sanitise", data, "--plan", summed, "--out", tmp_path / "out")
    cell = dproof("query", tmp_path / "out", "SELECT avg(age) AS m FROM release", "--json").json["rows"][0]["m"]
    assert cell["low"] < 49.5 < cell["high"] and cell["high"] - cell["low"] < 20


def test_a_ledger_pays_for_it_once(dproof: Dproof, files: tuple[Path, Path], tmp_path: Path) -> None:
    data, plan = files
    arguments = ("sanitise", data, "--plan", plan, "--ledger", tmp_path / "budget.db")
    assert dproof(*arguments, "--out", tmp_path / "one").code == 0
    spent = dproof("budget", tmp_path / "budget.db", "--json").json["spent"]
    assert (spent["epsilon"], spent["delta"]) == (1.0, 0.0)  # the plan allows a δ that its tables do not need
    assert dproof(*arguments, "--out", tmp_path / "two").code == 1


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("bins = [0, 30, 90]", "bins must go from low to high, 0 to 100"),
        ("share = 2", "belongs to model = 'local'"),
    ],
)
def test_bad_plans_are_refused_with_the_line(
    refused: Callable[..., str], files: tuple[Path, Path], tmp_path: Path, line: str, why: str
) -> None:
    plan = tmp_path / "bad.toml"
    plan.write_text(PLAN.replace("bins = [0, 30, 60, 100]", line))
    for command in (("plan", plan), ("sanitise", files[0], "--plan", plan, "--out", tmp_path / "out")):
        said = refused(*command)
        assert why in said and "bad.toml, line " in said
    assert not (tmp_path / "out").exists()


def test_what_is_for_rows_is_refused_in_words(refused: Callable[..., str], dproof: Dproof, files: Any) -> None:
    data, plan = files
    out = plan.parent / "out"
    dproof("sanitise", data, "--plan", plan, "--out", out)
    assert "has no synthetic rows" in refused("query", out, "SELECT count(*) FROM release", "--raw")
    assert "needs epsilon above 0" in refused("plan", _with(plan, 'epsilon = "1"\ndelta = "1e-6"', 'epsilon = "0"'))


def _with(plan: Path, old: str, new: str) -> Path:
    other = plan.parent / "other.toml"
    other.write_text(plan.read_text().replace(old, new))
    return other
