"""A survey on paper: every throw of the dice, and every draw of cards, through the table on the sheet gives the
certificate's whole numbers."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import dproof as dp
from dproof.local.recipe import certify_row
from dproof.survey.page import BY_HAND, ByHand, on_paper, throw_ranges, throws
from tests.survey.test_adopt import COIN, drawn_lines, write

PAPER: dict[str, Any] = {
    "privacy": {"epsilon": 4},
    "about": {"title": "Habits & <health>", "custodian": "Example University"},
    "columns": {
        "smokes": {"space": "categories", "values": ["never", "sometimes", "daily"], "missing": "category"},
        "drugs": {
            "space": "subsets",
            "values": ["cannabis", "cocaine"],
            "mechanism": "itemwise_response",
            "share": 3,
            "missing": "category",
        },
        "age": {"space": "interval", "low": 0, "high": 90, "step": 1, "bins": [0, 30, 60, 90], "question": "How old?"},
    },
}


SUITS, RANKS = "♣♦♥♠", ("A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K")


def order(throw: str) -> list[int]:
    """Where a throw stands among all, as somebody tells who reads the sheet's words on the order of cards."""
    if throw[0] not in SUITS:
        return [int(face) for face in throw]
    return [13 * SUITS.index(card[0]) + RANKS.index(card[1:]) for card in throw.split()]


def said(law: Any, by: ByHand, throw: str, true: int) -> int:
    """What somebody writes down who threw this, by the ranges of the table."""
    ranges = list(throw_ranges(*throws(law), by))
    place = next(n for n, (first, last) in enumerate(ranges) if order(first) <= order(throw) <= order(last))
    return true if place == 0 else place - 1


@pytest.mark.parametrize("by", BY_HAND.values(), ids=BY_HAND)
@pytest.mark.parametrize("epsilon", [1, 2, 4, 8])
def test_every_throw_gives_the_certificate_s_whole_numbers(epsilon: int, by: ByHand) -> None:
    plan = {**PAPER, "privacy": {"epsilon": 3 * epsilon}}
    ideal, law = certify_row(dp.Plan.of(plan)), on_paper(certify_row(dp.Plan.of(plan)), by)
    for group, before in zip(law.groups, ideal.groups, strict=True):
        family = group.mechanism.family
        counts, total = throws(family)
        one = "123456" if by.name == "dice" else [suit + rank for suit in SUITS for rank in RANKS]
        draws = next(n for n in range(1, 5) if len(one) ** n == total)
        every = [("" if by.name == "dice" else " ").join(faces) for faces in product(one, repeat=draws)]
        assert sum(counts) == total == len(every)
        size = len(counts) - 1  # of the answers that a throw may name
        for true in range(size):
            drawn = Counter(said(family, by, throw, true) for throw in every)
            if size == group.mechanism.inputs.size:
                assert drawn == {code: int(weight) for code, weight in enumerate(family.weights(true))}
            else:
                assert drawn == {true: family.stay, 1 - true: family.flip}  # type: ignore[attr-defined]
        # The promise is kept, and nearly as much is told as without dice.
        assert group.part.epsilon <= before.part.epsilon + 1e-12 and group.part.privacy == before.part.privacy


@pytest.mark.parametrize(("by", "keep", "other"), [("dice", 26, 10), ("cards", 38, 14)])
def test_no_throws_come_nearer_to_the_promise(by: str, keep: int, other: int) -> None:
    """One more throw for the truth would break it: of 36 throws 26/10 ≤ e < 27/9, of 52 cards 38/14 ≤ e < 39/13."""
    law = on_paper(certify_row(dp.Plan.of({"privacy": {"epsilon": 1}, "columns": {"read": COIN}})), BY_HAND[by])
    family: Any = law.groups[0].mechanism.family
    assert (family.keep, family.other) == (keep, other)


@pytest.mark.parametrize(("paper", "draws"), [(True, "2 in all or one die"), ("cards", "from left to right: 1.")])
def test_the_sheet_is_verified_and_its_answers_adopted(paper: Any, draws: str, tmp_path: Path) -> None:
    survey = dp.collect(PAPER, tmp_path / "survey", paper=paper)
    page = (tmp_path / "survey" / "survey.html").read_text("utf-8")
    assert "Habits &amp; &lt;health&gt;" in page and "<script>" not in page and "How old?" in page
    assert re.findall(r"<li>(.*?)</li>", page) == [
        *("never", "sometimes", "daily", "I prefer not to say"),
        *("cannabis", "cocaine", "I prefer not to say"),
        *("0 – 29", "30 – 59", "60 – 90"),
    ]
    assert page.count("the truth</td>") == 3 and survey.key in page and draws in page
    dp.verify(tmp_path / "survey")
    lines = drawn_lines(survey.law, {"smokes": [0, 1, 2, 3] * 10, "drugs": [0, 1, 2, 4] * 10, "age": [0, 1, 2, 2] * 10})
    release = dp.adopt(write(tmp_path / "a.jsonl", lines), tmp_path / "survey", tmp_path / "release")
    assert release.rows == 40
    dp.verify(tmp_path / "release")
    (tmp_path / "survey" / "survey.html").write_text(page.replace("the truth", "a lie"), "utf-8")
    with pytest.raises(dp.VerificationFailed):
        dp.verify(tmp_path / "survey")


@pytest.mark.parametrize(
    ("column", "match"),
    [
        ({"space": "interval", "low": 0, "high": 90, "step": 1}, "dice cannot draw the law of 'x'"),
        ({"space": "interval", "low": 0, "high": 20, "step": 1, "mechanism": "randomised_response"}, "bins"),
        ({"space": "subsets", "values": ["a", "b"], "mechanism": "randomised_response"}, "itemwise_response"),
        ({"space": "categories", "values": [f"v{n}" for n in range(25)], "mechanism": "randomised_response"}, "24"),
        ({"space": "categories", "values": ["a", "b"], "share": "1/100000"}, "enough"),
    ],
)
def test_what_dice_cannot_draw_is_refused(column: dict[str, Any], match: str, tmp_path: Path) -> None:
    plan = {"privacy": {"epsilon": 2}, "columns": {"x": column, "read": COIN}}
    with pytest.raises(dp.PlanError, match=match):
        dp.collect(plan, tmp_path / "survey", paper=True)
    sampled = {"privacy": {"epsilon": 2, "spread": "sample"}, "columns": {"a": COIN, "b": COIN}}
    with pytest.raises(dp.PlanError, match="spread"):
        dp.collect(sampled, tmp_path / "survey", paper=True)
    with pytest.raises(dp.ArgumentError, match="send"):
        dp.collect(PAPER, tmp_path / "survey", paper=True, send="https://example.org/in")
    assert not (tmp_path / "survey").exists()


def test_dice_or_cards_are_asked_for(tmp_path: Path, dproof: Any) -> None:
    """Each has laws of its own, so answers by one are none by the other; and the words are those of the texts."""
    (tmp_path / "plan.toml").write_text(dp.Plan.of(PAPER).text)
    keys = set()
    for words, name in ((["--paper"], "dice"), (["--cards"], "cards"), (["--paper", "--cards"], "cards")):
        folder = tmp_path / " ".join(words)
        german = Path(__file__).parents[2] / "examples" / "texts.de.toml"
        ran = dproof("collect", tmp_path / "plan.toml", "--out", folder, "--json", "--texts", german, *words)
        told = json.loads(ran.out)
        keys.add(told["key"])
        certificate = json.loads((folder / "certificate.json").read_text("utf-8"))
        assert told["paper"] == name and certificate["laws"][0]["mechanism"].endswith(f"with {name}")
        assert ("Würfel" if name == "dice" else "Kreuz ♣") in (folder / "survey.html").read_text("utf-8")
        dp.verify(folder)
    assert len(keys) == 2
    with pytest.raises(dp.ArgumentError, match="paper 'card' is not known; did you mean 'cards'"):
        dp.collect(PAPER, tmp_path / "new", paper="card")
    with pytest.raises(dp.PlanError, match="cards cannot draw the law of 'read'"):
        dp.collect({"privacy": {"epsilon": "1/100000"}, "columns": {"read": COIN}}, tmp_path / "new", paper="cards")


def test_joined_questions_share_a_throw(tmp_path: Path) -> None:
    plan = {"privacy": {"epsilon": 3}, "columns": {"a": COIN, "b": COIN}, "joint": [{"columns": ["a", "b"]}]}
    survey = dp.collect(plan, tmp_path / "survey", paper=True)
    page = (tmp_path / "survey" / "survey.html").read_text("utf-8")
    assert re.findall(r"<li>(.*?)</li>", page) == ["yes + yes", "yes + no", "no + yes", "no + no"]
    line = {"survey": survey.key, "id": "sheet 1", "row": {"a × b": 3}}
    release = dp.adopt(write(tmp_path / "a.jsonl", [line]), tmp_path / "survey", tmp_path / "release")
    assert json.loads(release.to_arrow().to_pandas().to_json(orient="records")) == [{"a": "no", "b": "no"}]
