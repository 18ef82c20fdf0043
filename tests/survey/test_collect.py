"""The folder of a survey: a page that is made of the plan and its laws alone, and what is refused when it is made."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
from base64 import b64encode
from fractions import Fraction
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dproof as dp
from dproof.certification.certify import read_certificate, write_certificate
from dproof.certification.verify_certificate import main as verify_alone
from dproof.certification.verify_certificate import seal
from dproof.laws import LAWS, Matrix
from dproof.local.mechanisms import MECHANISMS
from dproof.survey import page as page_module
from dproof.survey.form import Survey, usual_texts
from tests.makers import row_law

HABITS: dict[str, Any] = {
    "privacy": {"epsilon": 3},
    "about": {"title": "Habits </script> & health", "custodian": "Example University"},
    "columns": {
        "smokes": {
            "space": "categories",
            "values": ["never", "sometimes", "daily"],
            "missing": "category",
            "question": "Do you smoke?",
            "help": "Cigarettes of any kind.",
        },
        "age": {"space": "interval", "low": 18, "high": 98, "step": 1, "question": "How old are you?"},
        "drugs": {"space": "subsets", "values": ["cannabis", "cocaine", "other"]},
        "born": {"space": "date", "low": "1930-01-01", "high": "2009-12-31", "bins": "decades"},
        "mood": {"space": "interval", "low": 1, "high": 5, "step": 1, "missing": 3},
    },
}


def data_in(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="survey">(.*?)</script>', page, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_the_page_has_the_questions_and_the_certificate_s_laws(tmp_path: Path) -> None:
    dp.collect(HABITS, tmp_path / "survey")
    data = data_in((tmp_path / "survey" / "survey.html").read_text("utf-8"))
    smokes, age, drugs, born, mood = data["columns"]
    assert (smokes["question"], smokes["help"], smokes["choices"][-1], smokes["skip"]) == (
        "Do you smoke?",
        "Cigarettes of any kind.",
        None,
        "3",
    )
    assert (age["form"], age["low"], age["step"], age["ends"], age["skip"]) == ("number", "18", "1", ["18", "98"], None)
    assert drugs["form"] == "several" and drugs["question"] == "drugs"
    assert born["form"] == "one" and born["choices"][0] == "1930-01-01 – 1939-12-31" and len(born["choices"]) == 8
    assert mood["choices"] == ["1", "2", "3", "4", "5"] and mood["skip"] == "2"
    laws = read_certificate(tmp_path / "survey" / "certificate.json")["laws"]
    assert [group["law"] for group in data["groups"]] == [part["law"] for part in laws]
    assert data["title"] == "Habits </script> & health"


def test_the_page_is_one_small_file_that_loads_nothing(tmp_path: Path) -> None:
    plan = {"privacy": {"epsilon": 1}, "columns": {"read": {"space": "categories", "values": ["yes", "no"]}}}
    for name, survey in (("small", plan), ("survey", HABITS)):
        dp.collect(survey, tmp_path / name, send="https://example.org/collect/habits?of=2026")
        page = (tmp_path / name / "survey.html").read_text("utf-8")
        assert len(page.encode()) < 80_000
        assert re.findall(r'(?:src|href)="([^"]*)"', page) == ["data:,"] and "@import" not in page
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    script, style = (
        re.search(r"<script>(.*?)</script>", page, re.DOTALL),
        re.search(r"<style>(.*?)</style>", page, re.DOTALL),
    )
    assert policy and script and style
    sources = [f"'sha256-{b64encode(hashlib.sha256(part[1].encode()).digest()).decode()}'" for part in (script, style)]
    assert policy[1].split("; ") == [
        "default-src 'none'",
        f"script-src {sources[0]}",
        f"style-src {sources[1]}",
        "img-src data:",
        "connect-src https://example.org/collect/habits",
        "base-uri 'none'",
        "form-action 'none'",
    ]


def test_verify_checks_page_laws_and_certificate_together(tmp_path: Path, dproof: Any) -> None:
    folder = tmp_path / "survey"
    dp.collect(HABITS, folder)
    dp.verify(folder)
    assert verify_alone([str(folder / "certificate.json")]) == 0
    ran = dproof("verify", folder)
    assert ran.code == 0 and "the page of the survey" in " ".join(ran.out.split())
    with pytest.raises(dp.FileError, match="adopt"):
        dp.load(folder)


def resealed(folder: Path) -> None:
    """The certificate as somebody writes it who knows how to make a hash."""
    certificate = dict(read_certificate(folder / "certificate.json"))
    release = certificate["release"]
    hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in release["files"]}
    certificate |= {"release": {**release, "files": hashes}}
    del certificate["seal"]
    write_certificate({**certificate, "seal": seal(certificate)}, folder / "certificate.json")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Do you smoke?", "Do you vape?"),
        ("crypto.getRandomValues(bytes)", "bytes.fill(0)"),
        ('"kind":"keep-or-other","size":4,"keep":"', '"kind":"keep-or-other","size":4,"keep":"9'),
        ("default-src 'none'", "default-src *"),
        ("const EXPECTED", "var EXPECTED"),
        ('"send":null', '"send":"https://elsewhere.example/"'),
    ],
)
def test_a_page_that_was_changed_does_not_hold(before: str, after: str, tmp_path: Path) -> None:
    """Also where the certificate was given the hash of the changed page."""
    folder = tmp_path / "survey"
    dp.collect(HABITS, folder)
    page = (folder / "survey.html").read_text("utf-8")
    assert before in page
    (folder / "survey.html").write_text(page.replace(before, after), "utf-8")
    with pytest.raises(dp.VerificationFailed, match="changed"):
        dp.verify(folder)
    resealed(folder)
    with pytest.raises(dp.VerificationFailed, match="the page"):
        dp.verify(folder)


def as_made_by(version: str, folder: Path, monkeypatch: pytest.MonkeyPatch, change: tuple[str, str]) -> str:
    """A survey of a version whose script had something else in it; gives the SHA-256 of its frame."""
    was = page_module._frame()
    with monkeypatch.context() as then:
        then.setattr(page_module, "_frame", lambda: was.replace(*change))
        then.setattr(page_module, "Survey", partial(Survey, made=version))
        dp.collect(HABITS, folder, send="https://example.org/in")
        return hashlib.sha256(page_module._frame().encode()).hexdigest()


def test_a_survey_of_another_version_holds_if_its_page_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its frame, with its own version and texts: as this version makes it, or as one that is listed did."""
    as_made_by("0.0.1", tmp_path / "same", monkeypatch, ("", ""))
    dp.verify(tmp_path / "same")
    known = as_made_by("0.0.1", tmp_path / "survey", monkeypatch, ("insecure", "unsafe"))
    with pytest.raises(dp.VerificationFailed, match=r"dproof 0\.0\.1 made it: if that is another version than"):
        dp.verify(tmp_path / "survey")
    monkeypatch.setattr(page_module, "_EARLIER", frozenset({known}))
    dp.verify(tmp_path / "survey")
    page = (tmp_path / "survey" / "survey.html").read_text("utf-8")
    for before, after in (
        ('"dproof":"0.0.1"', '"dproof":"0.0.2"'),  # the script would not run
        ("crypto.getRandomValues(bytes)", "bytes.fill(0)"),
        ("default-src 'none'", "default-src *"),
        ("connect-src https://example.org/in", "connect-src *"),
        ('"kind":"keep-or-other","size":4,"keep":"', '"kind":"keep-or-other","size":4,"keep":"9'),
        ("</body>", "<script>1</script>\n</body>"),
    ):
        assert before in page
        (tmp_path / "survey" / "survey.html").write_text(page.replace(before, after), "utf-8")
        resealed(tmp_path / "survey")
        with pytest.raises(dp.VerificationFailed, match="the page is not the one"):
            dp.verify(tmp_path / "survey")


STORED = sorted((Path(__file__).parents[1] / "fixtures").glob("survey-*"))


@pytest.mark.parametrize("stored", STORED, ids=lambda stored: stored.name)
def test_a_survey_as_an_earlier_version_stored_it_holds(stored: Path, tmp_path: Path) -> None:
    """Pages and a sheet, each with the frame of its version; another frame does not."""
    dp.verify(stored)
    shutil.copytree(stored, tmp_path / "survey")
    page = tmp_path / "survey" / "survey.html"
    page.write_text(page.read_text("utf-8").replace("font-weight: 600", "font-weight: 700"), "utf-8")
    resealed(tmp_path / "survey")
    with pytest.raises(dp.VerificationFailed, match="the page is not the one"):
        dp.verify(tmp_path / "survey")


def constant(space: Any, privacy: Any) -> Any:
    law = type("Odd", (Matrix,), {"kind": "odd"})(np.ones((1, 1), np.int64), 1)
    return dp.Mechanism("odd one", space, space, law, "made up")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"columns": {"load": {"space": "curves", "points": 5, "low": 0, "high": 1}}}, "cannot ask for curves: drop"),
        ({"columns": {"town": {"public": True}}}, "drop the public column 'town'"),
        ({"privacy": {"epsilon": 1, "rows_per_person": 2}}, "once"),
        ({"privacy": {"epsilon": 1, "model": "central"}}, "local"),
        ({"columns": {"town": {"space": "categories", "values": [f"t{n}" for n in range(5000)]}}}, "4,096"),
        ({"columns": {"x": {"space": "categories", "values": ["a"], "mechanism": "odd"}}}, "'randomised_response'"),
    ],
)
def test_what_a_page_cannot_ask_or_draw_is_refused(
    change: dict[str, Any], match: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LAWS, "odd", Matrix.from_json)
    monkeypatch.setitem(MECHANISMS["categories"], "odd", constant)
    plan = HABITS | {"columns": {"read": {"space": "categories", "values": ["yes", "no"]}}}
    plan = {**plan, **change, "columns": plan["columns"] | change.get("columns", {})}
    with pytest.raises(dp.InputError, match=match):
        dp.collect(plan, tmp_path / "survey")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("send", ["example.org", "https://a.example; script-src *", "ftp://a.example", "https://a b"])
def test_an_address_that_is_none_is_refused(send: str, tmp_path: Path) -> None:
    with pytest.raises(dp.ArgumentError, match="URL"):
        dp.collect(HABITS, tmp_path / "survey", send=send)


@pytest.mark.parametrize(
    ("send", "warned"),
    [
        ("http://survey.example.org/in", True),
        ("http://localhost.example.org/in", True),
        ("https://survey.example.org/in", False),
        ("http://localhost:8722/in", False),
        ("http://127.0.0.1/in", False),
    ],
)
def test_an_address_whose_answers_everybody_on_the_way_reads_is_warned_of(
    send: str, warned: bool, tmp_path: Path, dproof: Any
) -> None:
    (tmp_path / "plan.toml").write_text(
        """[privacy]\nepsilon = 1\n[columns.read]\nspace = "categories"\nvalues = [0, 1]"""
    )
    ran = dproof("collect", tmp_path / "plan.toml", "--out", tmp_path / "survey", "--send", send)
    assert ran.code == 0 and ("take https" in ran.err) == warned


def test_questions_may_be_in_any_script(tmp_path: Path) -> None:
    """Persian parts letters by a sign that has no width; signs that turn the direction of a text are refused."""
    read = {
        "space": "categories",
        "values": ["yes", "no"],
        "question": "کتاب می\u200cخوانید؟",
        "help": "👨\u200d👩\u200d👧",
    }
    plan = {"privacy": {"epsilon": 1}, "columns": {"read": read}}
    survey = dp.collect(plan, tmp_path / "survey")
    assert json.loads(survey.data)["columns"][0]["question"] == read["question"]
    dp.verify(tmp_path / "survey")
    with pytest.raises(dp.PlanError, match="cannot be printed"):
        dp.Plan.from_dict(plan | {"columns": {"read": read | {"help": "\u200d\u202e"}}})


def test_texts_can_be_replaced(tmp_path: Path) -> None:
    german = Path(__file__).parents[2] / "examples" / "texts.de.toml"
    dp.collect(HABITS, tmp_path / "survey", texts=german)
    said = data_in((tmp_path / "survey" / "survey.html").read_text("utf-8"))["texts"]
    assert said["lang"] == "de" and said["skip"] != usual_texts()["skip"] and said.keys() == usual_texts().keys()
    assert [key for key, text in said.items() if text == usual_texts()[key]] == []  # nothing was forgotten
    dp.verify(tmp_path / "survey")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ('skp = "?"', "line 1: skp is not a text of the page; did you mean 'skip'"),
        ('same = "{people}"', "has {people}"),
        ("skip = 3", "skip must be text"),
        ('lang = "de_DE"', "lang must name a language as HTML does"),
        ('lang = "German"', "lang must name a language as HTML does"),
    ],
)
def test_mistakes_in_texts_are_told(text: str, match: str, tmp_path: Path) -> None:
    (tmp_path / "texts.toml").write_text(text)
    with pytest.raises(dp.PlanError, match=match.replace("?", ".")):
        dp.collect(HABITS, tmp_path / "survey", texts=tmp_path / "texts.toml")


def test_the_odds_that_the_page_promises_are_rounded_up(tmp_path: Path) -> None:
    dp.collect(HABITS, tmp_path / "survey")
    data = data_in((tmp_path / "survey" / "survey.html").read_text("utf-8"))
    assert (Fraction(data["factor"]), data["delta"]) == (Fraction("20.09"), "")  # e³ = 20.0855…


@pytest.mark.parametrize("epsilon", ["6.9", "7.2", "12.34"])
def test_great_odds_are_rounded_up_too(epsilon: str, tmp_path: Path) -> None:
    """e^7.2 is 1339.43: a factor of 1,339 at most would be false."""
    dp.collect({**HABITS, "privacy": {"epsilon": epsilon}}, tmp_path / "survey")
    data = data_in((tmp_path / "survey" / "survey.html").read_text("utf-8"))
    assert 0 < float(data["factor"].replace(",", "")) - math.exp(float(epsilon)) <= 1


@pytest.mark.parametrize("delta", ["1e-6", "0.01", "0.2"])
def test_the_odds_exceed_what_the_page_promises_no_more_often_than_it_says(delta: str, tmp_path: Path) -> None:
    """A factor of e^ε is exceeded by most answers, once δ is above 0."""
    three = {"a": {"space": "categories", "values": ["x", "y", "z"]}}
    plan = {"privacy": {"epsilon": 1, "delta": delta}, "columns": three}
    dp.collect(plan, tmp_path / "survey")
    data = data_in((tmp_path / "survey" / "survey.html").read_text("utf-8"))
    factor, failure = Fraction(data["factor"]), Fraction(data["delta"])
    (part,) = row_law(plan).groups
    for one, other in permutations(part.mechanism.matrix().tolist(), 2):
        moved = [p for p, q in zip(one, other, strict=True) if p > factor * q or q > factor * p]
        assert sum(moved) <= failure


def test_questions_are_no_part_of_how_a_column_is_read() -> None:
    """So a ledger knows a question again whether the plan says how a page asks for a column or not."""
    plain = {
        name: {k: v for k, v in t.items() if k not in ("question", "help")} for name, t in HABITS["columns"].items()
    }
    one, other = dp.Plan.of(HABITS), dp.Plan.of(HABITS | {"columns": plain})
    assert one.reading(["smokes", "age"]) == other.reading(["smokes", "age"])
