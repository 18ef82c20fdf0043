"""The top of the page: what the table is, the plan's own questions answered, and no word more than was promised."""

from __future__ import annotations

import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof.certification import verify_central, verify_certificate
from dproof.report import page
from dproof.report.page import _limit

HOSTILE = "<script>alert('x')</script>"
ABOUT = {
    "title": f"Hobbies of 2024 {HOSTILE}",
    "table": "survey, wave 3",
    "date": "2024-05-31",
    "custodian": "Unit 7",
    "contact": "unit7@example.org",
    "purpose": "To see\n  what people do.",
}
ASKED = [
    {"title": "People by hobby", "sql": "SELECT hobby, count(*) AS people FROM data GROUP BY hobby"},
    {"sql": "SELECT hobby, avg(age) AS age, count(*) AS n FROM release GROUP BY hobby"},
]
COLUMNS = {
    "hobby": {"space": "categories", "values": ["Cars", "Chess", HOSTILE]},
    "age": {"space": "interval", "low": 0, "high": 99, "step": 1},
}
MODELS: list[dict[str, Any]] = [{"model": "central", "epsilon": 1}, {"model": "local", "epsilon": 4}]


def table() -> pa.Table:
    draw = np.random.default_rng(3)
    hobbies = draw.choice(["Cars", "Chess"], 4000, p=[0.7, 0.3])
    return pa.table({"hobby": hobbies.tolist(), "age": draw.integers(20, 80, 4000).tolist()})


def released(folder: Path, privacy: dict[str, Any], **more: Any) -> str:
    plan = {"about": ABOUT, "privacy": privacy, "questions": ASKED, "columns": COLUMNS, **more}
    dp.sanitise(table(), plan, folder)
    return (folder / "report.html").read_text("utf-8")


@pytest.mark.parametrize("privacy", MODELS)
def test_a_release_says_what_it_is_about_and_answers_the_questions_of_its_plan_first(
    privacy: dict[str, Any], tmp_path: Path
) -> None:
    page = released(tmp_path / "out", privacy)
    text = " ".join(re.sub(r"<style>.*?</style>|<[^>]*>", " ", page, flags=re.DOTALL).split())
    assert HOSTILE not in page and HOSTILE in unescape(text)
    for said in (*list(ABOUT.values())[1:-1], "To see what people do."):
        assert said in text
    wanted = ["Hobbies", "Results", "What was released", "Whom to trust", "can deny", "not promised", "How to check it"]
    places = [text.index(part, text.index("Custodian")) if n else text.index(part) for n, part in enumerate(wanted)]
    assert places == sorted(places)
    answer = dp.load(tmp_path / "out").query("SELECT hobby, count(*) AS people FROM release GROUP BY hobby")
    for row in answer.rows:
        assert f"{row['hobby']} {row['people']}" in unescape(text)
    assert page.index("<details><summary>The proof") > page.index("Results")


@pytest.mark.parametrize("privacy", MODELS)
def test_the_verifiers_take_a_plan_with_about_and_titles(privacy: dict[str, Any], tmp_path: Path) -> None:
    released(tmp_path / "out", privacy)
    dp.verify(tmp_path / "out")
    verifier = verify_central if privacy["model"] == "central" else verify_certificate
    ran = subprocess.run(
        [sys.executable, str(verifier.__file__), str(tmp_path / "out" / "certificate.json")], capture_output=True
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("privacy", MODELS)
def test_the_page_is_the_same_when_it_is_made_again(privacy: dict[str, Any], dproof: Any, tmp_path: Path) -> None:
    before = released(tmp_path / "out", privacy)
    assert dproof("report", tmp_path / "out").code == 0
    assert (tmp_path / "out" / "report.html").read_text("utf-8") == before


@pytest.mark.parametrize("privacy", MODELS)
@pytest.mark.parametrize(
    ("error", "said"),
    [(dp.QuestionError("no such pair"), "no such pair."), (KeyError("inner"), "an error in dproof itself")],
)
def test_a_question_that_fails_never_costs_the_release(
    error: Exception, said: str, privacy: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr("dproof.recipe.Release.query", broken)
    assert f"No answer: {said}" in released(tmp_path / "out", privacy)


def test_many_questions_and_many_rows_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "_MOST_QUESTIONS", 1)
    monkeypatch.setattr(page, "_MOST_ROWS", 2)
    made = dp.sanitise(table(), {"privacy": MODELS[0], "questions": ASKED, "columns": COLUMNS})
    first, second = page.results_of(made)
    assert len(first.bars) == 2 and first.more == 1 and "the first 40" in second.problem


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"titel": "x"}, "about.titel is not a known key; did you mean 'title'?"),
        ({"title": 7}, "about.title must be text"),
        ({"title": "x" * 1001}, "about.title must have at most 1,000 characters"),
        ({"contact": "a\u202eb"}, "about.contact has a character that cannot be printed"),
    ],
)
def test_a_wrong_key_under_about_is_named(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(dp.PlanError) as refused:
        dp.Plan.from_dict({"about": wrong, "privacy": {"epsilon": 1}, "columns": COLUMNS})
    assert said in str(refused.value)


def test_about_is_no_part_of_how_a_question_is_known_to_a_ledger() -> None:
    plan = {"privacy": {"epsilon": 1}, "columns": COLUMNS}
    with_about = {**plan, "about": ABOUT}
    assert dp.Plan.from_dict(plan).reading(["age"]) == dp.Plan.from_dict(with_about).reading(["age"])


def test_the_lead_promises_no_more_than_explain() -> None:
    assert "except" not in _limit(dp.Privacy(1)) and "except with a small" in _limit(dp.Privacy(1, "1e-6"))
    assert "is limited" not in _limit(dp.Privacy(1, "0.5")) and "nothing is promised" in _limit(dp.Privacy(1, "0.5"))


def test_counts_say_which_rows_count_and_a_column_without_a_name_is_named(tmp_path: Path) -> None:
    columns = {**COLUMNS, "who": {"drop": True}, "": {"drop": True}, "likes": {"space": "subsets", "values": ["tea"]}}
    privacy = {"model": "central", "epsilon": 1, "person": "who", "rows_per_person": 2}
    rows = pa.table(
        {**table().to_pydict(), "who": [n // 2 for n in range(4000)], "": [0] * 4000, "likes": [["tea"]] * 4000}
    )
    dp.sanitise(rows, {"privacy": privacy, "columns": columns}, tmp_path / "out")
    text = " ".join(re.sub(r"<[^>]*>", " ", (tmp_path / "out/report.html").read_text("utf-8")).split())
    assert "19 times out of 20. Of each person at most 2 rows count, as the plan says" in text
    assert "Left out altogether: who , (no name)" in text
