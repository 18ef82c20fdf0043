"""What a newcomer meets first: nothing cut at 80 columns, nothing written by a question that is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dproof as dp

PLAN = """
[privacy]
epsilon = "2"
[columns.hobby]
space = "categories"
values = ["Sports", "Cars", "Television", "Computer games", "Reading"]
[columns.load]
space = "curves"
columns = ["h00", "h01", "h23"]
low = 0
high = 5
[columns.gender]
space = "categories"
values = ["f", "m"]
[columns.read]
space = "categories"
values = ["yes", "no"]
[[joint]]
columns = ["gender", "read"]
"""
DATA = "hobby,h00,h01,h23,gender,read\nCars,1,2,3,f,yes\nReading,2,2,1,m,no\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "data.csv").write_text(DATA)
    return tmp_path


@pytest.mark.parametrize("columns", ["80", "120"])
def test_no_figure_of_a_plan_is_cut(
    folder: Path, dproof: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    page = dproof("plan", folder / "plan.toml", "--rows", 20000).out
    assert "…" not in page
    assert "± over 20,000" in page
    assert "K-norm" in page
    assert all(len(line) <= int(columns) for line in page.splitlines())


@pytest.mark.parametrize(
    ("epsilon", "question"),
    [
        ("1", "SELEC"),
        ("1", "SELECT nope FROM data"),
        ("1", "SELECT sum(hobby) FROM data"),
        ("0", "SELECT count(*) FROM data WHERE hobby = 'Cars'"),
        ("-1", "SELECT count(*) FROM data WHERE hobby = 'Cars'"),
    ],
)
def test_a_refused_question_begins_no_ledger(
    folder: Path, refused: Callable[..., str], epsilon: str, question: str
) -> None:
    ledger = folder / "budget.db"
    arguments = ("--plan", folder / "plan.toml", "--ledger", ledger, "--epsilon", epsilon)
    assert "COLUMN" not in refused("ask", folder / "data.csv", *arguments, question)
    assert not ledger.exists()


def test_a_preview_begins_no_ledger_and_an_answer_does(folder: Path, dproof: Callable[..., Any]) -> None:
    ledger = folder / "budget.db"
    question = "SELECT count(*) FROM data WHERE hobby = 'Cars'"
    arguments = ("ask", folder / "data.csv", "--plan", folder / "plan.toml", "--ledger", ledger, "--epsilon", "1/2")
    assert dproof(*arguments, "--preview", question).code == 0
    assert not ledger.exists()
    assert dproof(*arguments, question).code == 0
    page = dproof("budget", ledger).out
    assert "1/2" not in page
    assert dproof("budget", ledger, "--json").json["remaining"]["epsilon"] == 1.5


def test_a_column_with_a_dot_is_named_as_the_plan_must_write_it(folder: Path, refused: Callable[..., str]) -> None:
    (folder / "data.csv").write_text("".join(f"{line},9\n" for line in DATA.splitlines()).replace(",9", ",h.24", 1))
    said = refused("sanitise", folder / "data.csv", "--plan", folder / "plan.toml", "--out", folder / "release")
    assert '[columns."h.24"]' in said


def test_a_column_that_is_spelt_otherwise_is_taken_for_the_one_of_the_plan(
    folder: Path, refused: Callable[..., str]
) -> None:
    for spelt in ("Hobby", "HOBBY", " hobby"):
        (folder / "data.csv").write_text(DATA.replace("hobby", spelt))
        said = refused("sanitise", folder / "data.csv", "--plan", folder / "plan.toml", "--out", folder / "release")
        blank = ", with the blank beside it" * spelt.startswith(" ")
        assert said.endswith(f"the plan has 'hobby' instead; write it as the file does{blank}")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (DATA.replace(",", ";").encode(), 'has semicolons between its fields: write separator = ";" under [file]'),
        (b"hobby;load\nCars;1,5\n", "has semicolons"),
        (DATA.replace(",", "\t").encode(), 'has tabs between its fields: write separator = "\\t" under [file]'),
        (DATA.encode("utf-16"), 'is UTF-16 text: write encoding = "utf-16" under [file] in the plan'),
        (DATA.replace("hobby", "hübby").encode("cp1252"), 'is not UTF-8 text: write encoding = "cp1252"'),
        ((DATA + "Cars,1\n").encode(), "each line needs as many fields as the first"),
        (b"", "is empty: it needs a header line"),
        (b"\xef\xbb\xbf\r\n\r\n", "is empty: it needs a header line"),
        (DATA.replace("h00", "hobby").encode(), "it is number 2 of those that the header names 'hobby'; add"),
        (DATA.replace("h00,h01", ",").encode(), "has a column 'column 2' that the plan does not mention"),
    ],
)
def test_what_spreadsheets_write_instead_of_csv_is_told_with_the_way_out(
    folder: Path, refused: Callable[..., str], content: bytes, said: str
) -> None:
    (folder / "data.csv").write_bytes(content)
    plan = ("--plan", folder / "plan.toml")
    assert said in refused("sanitise", folder / "data.csv", *plan, "--out", folder / "release")


def test_what_is_no_release_is_told_by_the_name_that_was_given(
    folder: Path, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert refused("verify", ".").startswith("'.' is not a release")
    assert "give a release's folder" in refused("verify", "data.csv")


def test_unreadable_sql_is_shown_up_to_where_it_was_read(folder: Path, refused: Callable[..., str]) -> None:
    arguments = ("--plan", folder / "plan.toml", "--ledger", folder / "budget.db", "--epsilon", 1)
    said = refused("ask", folder / "data.csv", *arguments, "SELECT count(*) FORM data")
    assert "after 'SELECT count(*) FORM'" in said


def test_an_answer_of_the_curator_fits_the_terminal_and_names_what_is_missing(
    folder: Path, dproof: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    values = '"Reading"]\n'
    (folder / "plan.toml").write_text(PLAN.replace(values, f'{values}missing = "category"\n'))
    arguments = ("--plan", folder / "plan.toml", "--ledger", folder / "budget.db", "--epsilon", 1)
    question = "SELECT hobby, count(*) AS people FROM data GROUP BY hobby"
    answer = dproof("ask", folder / "data.csv", *arguments, question).out
    assert "NULL" in answer and ".0" not in answer  # counts and their bounds are whole
    for page in (answer, dproof("ask", folder / "data.csv", *arguments, "--preview", question).out):
        assert all(len(line) <= 60 for line in page.splitlines()), page


def test_the_american_spelling_is_the_same_function() -> None:
    assert dp.sanitize is dp.sanitise


def test_a_mechanism_shows_itself_in_a_line() -> None:
    assert len(repr(dp.laplace(dp.Interval(0, 10, 1), dp.Privacy(1)))) < 400


def test_a_draft_is_no_wider_than_a_terminal(folder: Path, dproof: Callable[..., Any]) -> None:
    draft = dproof("init", folder / "data.csv").out
    assert all(len(line) <= 80 for line in draft.splitlines())


def test_help_breaks_where_the_terminal_does(dproof: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = dproof("sanitise", "--help").out.splitlines()
    first = next(n for n, line in enumerate(lines) if "laws are certified first" in line)
    assert len(lines[first + 1].strip()) > 60
