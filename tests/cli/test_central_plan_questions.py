"""`dproof plan` for the central model: ± of questions and means, and whether the counts say anything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dproof import expect
from tests.makers import AGE_IN_BINS, SEX, plan_text

Dproof = Callable[..., Any]
PLAN = plan_text(
    {"age": AGE_IN_BINS, "sex": SEX}, model="central", epsilon="EPSILON", delta="DELTA", neighbours="add-remove"
)
QUESTIONS = """
[[questions]]
sql = "SELECT sex, avg(age) AS mean FROM release GROUP BY sex"
[[questions]]
sql = "SELECT count(*) AS young FROM release WHERE age < 30"
weight = 4
"""


def written(folder: Path, more: str, epsilon: str = "1", delta: str = "1e-6") -> Path:
    path = folder / "plan.toml"
    path.write_text(PLAN.replace("EPSILON", epsilon).replace("DELTA", delta) + more)
    return path


def test_every_question_has_its_plus_or_minus(dproof: Dproof, tmp_path: Path) -> None:
    plan = written(tmp_path, QUESTIONS)
    told = {one["column"]: one for one in dproof("plan", plan, "--json").json["questions"]}
    assert told["mean"]["half_width"] is None and 0 < told["young"]["half_width"] < 30 and told["young"]["weight"] == 4
    known = {one["column"]: one for one in dproof("plan", plan, "--rows", 5000, "--json").json["questions"]}
    assert 0 < known["mean"]["least_half_width"] <= known["mean"]["half_width"] < 3
    widths = ("least_half_width", "half_width")
    assert [known["young"][name] for name in widths] == pytest.approx([told["young"][name] for name in widths])
    assert {**known["young"], **dict.fromkeys(widths)} == {**told["young"], **dict.fromkeys(widths)}
    shown = dproof("plan", plan).out
    assert "say it with --rows" in shown and "young: ±" in shown and "sum of age by sex" in shown


def test_means_have_a_plus_or_minus_with_the_number_of_rows(dproof: Dproof, tmp_path: Path) -> None:
    plan = written(tmp_path, "[release]\nsums = true\n")
    sums = [one for one in dproof("plan", plan, "--rows", 5000, "--json").json["tables"] if one["sum_of"]]
    assert [one["columns"] for one in sums] == [[], ["age"], ["sex"]]
    for one in sums:
        assert 0 < one["mean_half_width"] < one["half_width"]
    page = " ".join(dproof("plan", plan, "--rows", 5000).out.split())
    assert "age by sex ±" in page and "age by age ±" not in page
    assert "age: median ±" in " ".join(dproof("plan", plan, "--rows", 5000).out.split())
    assert "mean_half_width" not in str(dproof("plan", plan, "--json").json)


@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_means_of_tables_are_told_as_answers_have_them(dproof: Dproof, tmp_path: Path, delta: str) -> None:
    """A formula of their own told a third of what a release without δ has, where groups are small."""
    columns = {"sex": SEX, "age": AGE_IN_BINS, "likes": {"space": "subsets", "values": ["tea", "jam"]}}
    text = plan_text(columns, model="central", epsilon="1/5", delta=delta) + "[release]\nsums = true\n"
    (tmp_path / "plan.toml").write_text(text)
    told = {
        tuple(one["columns"]): one["mean_half_width"]
        for one in dproof("plan", tmp_path / "plan.toml", "--rows", 4000, "--json").json["tables"]
        if one["sum_of"]
    }
    asked = {
        (): "SELECT avg(age) AS m FROM release",
        ("sex",): "SELECT sex, avg(age) AS m FROM release GROUP BY sex",
        ("age",): "SELECT age, avg(age) AS m FROM release GROUP BY age",
        ("likes: tea",): "SELECT avg(age) AS m FROM release WHERE list_contains(likes, 'tea')",
    }
    known = {by: expect(tmp_path / "plan.toml", rows=4000, questions=sql)[0].half_width for by, sql in asked.items()}
    assert {by: told[by] for by in asked} == pytest.approx(known)


def test_whether_the_counts_say_anything_is_told(dproof: Dproof, tmp_path: Path) -> None:
    plan = written(tmp_path, "", epsilon="1/1000")
    told = dproof("plan", plan, "--json").json
    least = told["least_rows"]
    assert least == min(one["half_width"] for one in told["tables"]) > 1000 and told["verdict"] is None
    assert "rows no count says anything" in " ".join(dproof("plan", plan).out.split())
    few, many = (dproof("plan", plan, "--rows", rows, "--json").json["verdict"] for rows in (1000, 10**7))
    assert few.startswith("no count says anything about 1,000 rows") and many is None
    assert "Take care: no count" in " ".join(dproof("plan", plan, "--rows", 1000).out.split())


@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_sanitising_warns_by_what_was_measured_and_the_page_says_so(dproof: Dproof, tmp_path: Path, delta: str) -> None:
    data = tmp_path / "people.csv"
    data.write_text("age,sex\n" + "20,f\n" * 50)
    plan = written(tmp_path, "", epsilon="1/100000", delta=delta if delta == "0" else "1e-12")
    words = ("sanitise", data, "--plan", plan, "--anyway", "--no-ledger", "--out")
    done = [dproof(*words, tmp_path / f"out{n}") for n in range(8)]
    warned = [n for n, one in enumerate(done) if "no count says anything about" in " ".join(one.out.split())]
    assert warned and all(one.code == 0 for one in done)
    for n in range(8):
        page = (tmp_path / f"out{n}" / "report.html").read_text()
        assert ("No count says anything about" in page) is (n in warned)


@pytest.mark.parametrize(
    ("epsilon", "delta", "why"),
    [("1e-12", "0", "the budget is too small to say anything"), ("1e-12", "1e-11", "no noise that can be drawn")],
)
def test_a_budget_that_hides_any_table_is_refused_before_data_is_opened(
    refused: Callable[..., str], tmp_path: Path, epsilon: str, delta: str, why: str
) -> None:
    plan = written(tmp_path, "", epsilon, delta)
    for command in (("plan", plan), ("sanitise", tmp_path / "none.csv", "--plan", plan, "--out", tmp_path / "out")):
        assert why in refused(*command)


def test_any_question_is_told_from_the_release_and_from_asking(
    dproof: Dproof, refused: Callable[..., str], tmp_path: Path
) -> None:
    plan = written(tmp_path, QUESTIONS)
    asked = [
        "SELECT count(*) AS old FROM data WHERE age >= 60",
        "SELECT sex, avg(age) AS mean FROM release GROUP BY sex",
    ]
    words = ["plan", plan, "--rows", 5000, "--question", asked[0], "--question", asked[1]]
    old, mean = dproof(*words, "--json").json["questions"]
    assert [(one["question"], one["column"]) for one in (old, mean)] == [(asked[0], "old"), (asked[1], "mean")]
    assert 0 < old["ask"]["half_width"] < old["half_width"] and not old["ask"]["estimated"]
    assert 0 < mean["ask"]["half_width"] < 1 and mean["ask"]["estimated"]
    page = " ".join(dproof(*words).out.split())
    assert "1. old" in page and "2. mean" in page and "`dproof ask`" in page
    cut = "SELECT count(*) AS older FROM data WHERE age > 70"
    assert "cuts the bin" in " ".join(dproof("plan", plan, "--rows", 5000, "--question", cut).out.split())
    assert "cuts the bin" in refused("plan", plan, "--question", "SELECT count(*) FROM data WHERE age > 70")
