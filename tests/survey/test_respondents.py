"""A thousand people who do not exist answer at a server through the real page; what is published of them is right."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import dproof as dp
from examples.respondents import CHROMIUM, answer_all, true_answers

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")]
PEOPLE = 1000
PLAN: dict[str, Any] = {
    "tickets": True,
    "privacy": {"epsilon": 2},
    "columns": {
        "cheated": {
            "space": "categories",
            "values": ["never", "once", "more often"],
            "missing": "category",
            "question": "Have you ever cheated in an exam?",
        },
        "year": {
            "space": "interval",
            "low": 1,
            "high": 5,
            "step": 1,
            "question": "In which year of your studies are you?",
        },
    },
}


def test_a_thousand_answers_are_published_as_they_were_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dproof.serve import limits
    from tests.serve.server import make_folder, serving

    monkeypatch.setattr(limits, "ANSWERS_PER_SECOND", 1e6)  # all come from one place
    with serving(make_folder(tmp_path)) as made:
        address = f"http://127.0.0.1:{made.port}/collect/exams"
        survey = dp.collect(PLAN, tmp_path / "surveys" / "exams", send=address)
        tickets = dp.Inbox(tmp_path / "surveys" / "exams", tmp_path / "answers" / "exams.db").issue(PEOPLE)
        true = list(true_answers(PEOPLE))
        told = answer_all([f"{address}#{ticket}" for ticket in tickets], true)
    release = dp.adopt(
        tmp_path / "answers" / "exams.db", tmp_path / "surveys" / "exams", tmp_path / "releases" / "exams"
    )
    dp.verify(tmp_path / "releases" / "exams")
    assert release.rows == PEOPLE and release.certificate["release"]["adopted"]["left_out"] == 0
    stored = release.to_arrow().to_pylist()
    assert Counter((row["cheated"] or "no answer", str(int(row["year"]))) for row in stored) == Counter(
        map(tuple, told)
    )

    # What was drawn fits the law, and the estimates the truth: each is 5 standard deviations off once in 10^6 times.
    law = survey.law.groups[0].mechanism.family
    same = sum(one["Have you ever cheated in an exam?"] == said for one, (said, _) in zip(true, told, strict=True))
    chance = float(law.probability(0, 0))
    assert abs(same - PEOPLE * chance) < 5 * (PEOPLE * chance * (1 - chance)) ** 0.5
    answer = release.query("SELECT cheated, count(*) AS n, avg(year) AS year FROM release GROUP BY cheated")
    counts = {row["cheated"]: row["n"] for row in answer.rows}
    for value, count in {"never": 600, "once": 200, "more often": 200, None: 0}.items():
        assert abs(counts[value].estimate - count) < 5 * counts[value].stderr
    mean = release.query("SELECT avg(year) AS year FROM release").rows[0]["year"]
    assert abs(mean.estimate - 3) < 5 * mean.stderr
