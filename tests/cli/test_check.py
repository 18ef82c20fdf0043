"""`dproof check`, which alone shows figures without noise, and `dproof init --look`, which reads rows."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import dproof as dp
from dproof.releases.inspection import CONFIDENTIAL
from tests.workbooks import write_workbook

Dproof = Callable[..., Any]
PLAN = """
[file]
separator = ";"
encoding = "cp1252"
decimal = ","
thousands = "."
[privacy]
epsilon = "2"
person = "id"
rows_per_person = 2
[columns.id]
drop = true
[columns.town]
space = "categories"
values = ["Köln", "Bonn"]
[columns.pay]
space = "interval"
low = 0
high = 5000
step = 1
missing = 0
[columns.likes]
space = "subsets"
values = ["Chess", "Cars"]
separator = ","
missing = []
[columns.region]
public = true
[columns.load]
space = "curves"
columns = ["a", "b"]
low = 0
high = 2
missing = "centre"
"""
ROWS = """\
id;town;pay;likes;region;a;b
1;Köln;1.234,5;Chess, Cars;x;1;1
1;Bonn;7000;Chess;;1;9
1;Münster;n/a;Golf;x;;1
2;Münster;65,000;;x;1;1
2;;;Golf;x;x;1
3;Zürich;12;Cars;x;0,5;1
"""


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    (tmp_path / "survey.csv").write_bytes(ROWS.encode("cp1252"))
    (tmp_path / "plan.toml").write_text(PLAN, "utf-8")
    return tmp_path


def test_the_custodian_sees_what_the_plan_does_not_foresee(dproof: Dproof, survey: Path) -> None:
    ran = dproof("check", survey / "survey.csv", "--plan", survey / "plan.toml", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["confidential"] == CONFIDENTIAL and ran.json["rows"] == 6
    found = {column.pop("name"): column for column in ran.json["columns"]}
    figures = ("missing", "outside", "no_number", "clamped")
    assert {name: tuple(column[key] for key in figures) for name, column in found.items()} == {
        "town": (1, 3, 0, 0),
        "pay": (1, 0, 1, 1),  # 65,000 is sixty-five here
        "likes": (0, 2, 0, 0),
        "region": (1, 0, 0, 0),
        "load": (2, 0, 0, 1),
    }
    assert found["town"]["values"] == [{"value": "Münster", "rows": 2}, {"value": "Zürich", "rows": 1}]
    assert found["pay"]["values"] == [{"value": "n/a", "rows": 1}]
    assert ran.json["persons"] == {"column": "id", "persons": 3, "most_rows": 3, "rows_per_person": 2, "above": 1}
    hints = "\n".join(ran.json["hints"])
    for hint in (
        "Most values of 'town' are outside",
        "'pay' are not numbers",
        "'town' stop",
        "more rows than rows_per",
    ):
        assert hint in hints, hint


def test_the_page_begins_with_a_warning(dproof: Dproof, survey: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for columns in ("60", "100"):
        monkeypatch.setenv("COLUMNS", columns)
        ran = dproof("check", survey / "survey.csv", "--plan", survey / "plan.toml")
        assert ran.code == 0 and ran.out.startswith("CONFIDENTIAL: no noise protects these figures.")
        assert "town: 'Münster' 2, 'Zürich' 1" in ran.out and "'id' names 3 persons" in ran.out
        assert all(len(line) <= int(columns) for line in ran.out.splitlines())


def test_a_wrong_encoding_is_told(dproof: Dproof, survey: Path) -> None:
    plan = PLAN.replace('encoding = "cp1252"\n', "")
    (survey / "plan.toml").write_text(plan, "utf-8")
    ran = dproof("check", survey / "survey.csv", "--plan", survey / "plan.toml", "--json")
    assert "Some values of 'town' are not utf-8 text: is `encoding` under [file] right?" in ran.json["hints"][0]
    assert ran.json["columns"][0]["undecodable"] == 4
    assert {"value": "M\\xfcnster", "rows": 2} in ran.json["columns"][0]["values"]
    (survey / "plan.toml").write_text(PLAN.replace("cp1252", "ascii"), "utf-8")
    ran = dproof("check", survey / "survey.csv", "--plan", survey / "plan.toml", "--json")
    assert ran.json["columns"][0]["undecodable"] == 4


def test_only_five_values_are_shown_and_none_can_move_the_cursor(dproof: Dproof, survey: Path) -> None:
    (survey / "x.csv").write_bytes(
        b"x\n" + b"\x1b[2J\n" * 99 + b"".join(b"%d%s\n" % (n, b"a" * 99) for n in range(200))
    )
    (survey / "x.toml").write_text('[privacy]\nepsilon = "1"\n[columns.x]\nspace = "categories"\nvalues = ["a"]\n')
    shown = dproof("check", survey / "x.csv", "--plan", survey / "x.toml")
    assert "\x1b" not in shown.out and "'\\x1b[2J' 99" in shown.out
    found = dp.check(survey / "x.csv", survey / "x.toml").columns[0]
    assert len(found.values) == 5 and all(len(value) <= 60 for value, _ in found.values)


def test_from_python_and_for_typed_columns() -> None:
    plan = {
        "privacy": {"epsilon": 1},
        "columns": {
            "age": {"space": "interval", "low": 0, "high": 99, "outside": "refuse"},
            "code": {"space": "categories", "values": [1, 2], "outside": "category", "outside_value": 0},
            "sets": {"space": "subsets", "values": ["a"], "outside": "clamp"},
            "flags": {"space": "subsets", "columns": ["p", "q"]},
        },
    }
    table = pa.table(
        {
            "age": [1.0, np.nan, 120.0, None],
            "code": [1, 7, None, 7],
            "sets": [["a"], ["b"], None, []],
            "p": [True, None, False, True],
            "q": ["often", None, "0", "1"],
        }
    )
    found = dp.check(table, plan)
    figures = [(c.missing, c.outside, c.no_number, c.clamped) for c in found.columns]
    assert figures == [(2, 1, 0, 0), (1, 2, 0, 0), (1, 0, 0, 1), (1, 1, 0, 0)]
    assert found.columns[1].values == (("7", 2),) and found.persons is None
    with pytest.raises(FrozenInstanceError):
        found.rows = 0  # type: ignore[misc]


def test_an_empty_table_and_a_plan_for_another(dproof: Dproof, survey: Path) -> None:
    (survey / "none.csv").write_text(ROWS.splitlines()[0])
    ran = dproof("check", survey / "none.csv", "--plan", survey / "plan.toml", "--json")
    assert ran.json["rows"] == 0 and ran.json["hints"] == ["The table has no rows."]
    assert ran.json["persons"]["persons"] == 0
    (survey / "other.csv").write_text("town;Sex\n")
    ran = dproof("check", survey / "other.csv", "--plan", survey / "plan.toml", "--json")
    assert ran.code == 1 and len(ran.json["problems"]) == 7  # six columns that are not there, and one that is
    assert "The table has a column 'Sex' that the plan does not mention: add [columns.Sex]" in ran.json["problems"][0]


@pytest.mark.parametrize("model", ["local", "central"])
def test_a_release_of_nobody_is_told(model: str, dproof: Dproof, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("x\n")
    (tmp_path / "x.toml").write_text(
        f'[privacy]\nepsilon = "1"\nmodel = "{model}"\n[columns.x]\nspace = "categories"\nvalues = ["a", "b"]\n'
    )
    words = ("sanitise", tmp_path / "x.csv", "--plan", tmp_path / "x.toml", "--out", tmp_path / "out", "--json")
    assert dproof(*words).json["message"].startswith("the table has no rows to tell anything about; ")
    ran = dproof(*words, "--anyway")
    assert ran.code == 0 and ran.json["rows"] == 0
    if model == "local":  # what a central release prints says it
        assert ran.err == "dproof: warning: the table has no rows, so the release is empty\n"


def test_a_survey_in_a_workbook_is_checked_sanitised_and_asked(dproof: Dproof, tmp_path: Path) -> None:
    rows: list[list[Any]] = [["town", "pay"], *[["Köln", 1.5], ["Bonn", "1,5"], [None, None], ["Ulm", "x"]] * 50]
    write_workbook(tmp_path / "survey.xlsx", {"Intro": [["hello"]], "Data": rows})
    plan = tmp_path / "plan.toml"
    plan.write_text(
        '[file]\nsheet = "Data"\ndecimal = ","\n[privacy]\nepsilon = "2"\n[columns.town]\nspace = "categories"\n'
        'values = ["Köln", "Bonn", "Ulm"]\nmissing = "category"\n'
        '[columns.pay]\nspace = "interval"\nlow = 0\nhigh = 2\nmissing = 0\n',
        "utf-8",
    )
    found = dproof("check", tmp_path / "survey.xlsx", "--plan", plan, "--json").json
    assert found["rows"] == 200 and found["columns"][1]["no_number"] == 50
    ran = dproof("sanitise", tmp_path / "survey.xlsx", "--plan", plan, "--out", tmp_path / "out", "--json")
    assert ran.code == 0 and ran.json["rows"] == 200
    question = "SELECT count(*) AS n FROM data WHERE town = 'Ulm'"
    arguments = ("ask", tmp_path / "survey.xlsx", "--plan", plan, "--ledger", tmp_path / "b.db", "--epsilon", "2")
    assert abs(dproof(*arguments, question, "--json").json["rows"][0]["n"]["estimate"] - 50) < 30


# Drafts --------------------------------------------------------------------------------------------------------------

CANARY = "Zanzibar"
MESSY = f"Größe;Ort;Tag;ok;n;\r\n1,75;{CANARY};3.02.2020;true;1.234,5;\r\n1,6;;4.02.2020;false;n/a;\r\n;Ulm;;;17;\r\n"


def test_a_draft_from_the_header_has_the_separator_and_the_encoding(dproof: Dproof, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(MESSY.encode("cp1252"))
    ran = dproof("init", tmp_path / "x.csv", "--json")
    assert ran.json["confidential"] is False and "CONFIDENTIAL" not in ran.json["plan"]
    assert '[file]\nseparator = ";"\nencoding = "cp1252"\n\n' in ran.json["plan"]
    assert [column["kind"] for column in ran.json["columns"]] == ["categories"] * 5 + ["nameless"]
    (tmp_path / "x.csv").write_bytes(MESSY.encode("utf-16"))
    assert 'separator = ";"\nencoding = "utf-16"\n' in dproof("init", tmp_path / "x.csv").out
    (tmp_path / "x.tsv").write_text("a\tb\n1\t2\n")
    assert "[file]\n" not in dproof("init", tmp_path / "x.tsv").out


def test_a_draft_depends_on_no_row_unless_it_may_look(dproof: Dproof, tmp_path: Path) -> None:
    drafts = set()
    for rows in ("", "1;x\n", "1,5;2020-01-01\n", "\xff;\n"):
        (tmp_path / "x.csv").write_bytes(b"a;b\n" + rows.encode("latin-1"))
        drafts.add(dproof("init", tmp_path / "x.csv").out)
    assert len(drafts) == 1


def test_looking_guesses_kinds_and_signs_and_writes_no_value(dproof: Dproof, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(MESSY.encode("cp1252"))
    ran = dproof("init", tmp_path / "x.csv", "--look", "--json")
    draft = ran.json["plan"]
    assert ran.json["confidential"] is True and draft.startswith("# CONFIDENTIAL until a person has checked it")
    kinds = {column["name"]: column["kind"] for column in ran.json["columns"]}
    assert kinds == {
        "Größe": "interval",
        "Ort": "categories",
        "Tag": "date",
        "ok": "truth",
        "n": "interval",
        "": "nameless",
    }
    assert 'decimal = ","\nthousands = "."\n' in draft
    assert '[columns.Tag]\nspace = "date"\nlow = "?"\nhigh = "?"\n' in draft and 'format = "%d.%m.%Y"' in draft
    assert all(value not in draft for value in (CANARY, "Ulm", "75", "234", "2020", "n/a"))
    assert all(len(line) <= 80 for line in draft.splitlines())
    said = dproof("init", tmp_path / "x.csv", "--look")
    assert said.out == draft and "keep it to yourself" in said.err
    finished = draft.replace("values = []", 'values = ["a"]')
    finished = finished.replace('"date"\nlow = "?"\nhigh = "?"', '"date"\nlow = 2020-01-01\nhigh = 2020-12-31')
    finished = finished.replace('low = "?"\nhigh = "?"', "low = 0\nhigh = 9")
    assert dp.check(tmp_path / "x.csv", dp.Plan.parse(finished)).rows == 3


@pytest.mark.parametrize(
    ("content", "file"),
    [
        ('a,b\n"65,000",x\n"1,200",y\n', 'thousands = ","'),
        ("a;b\n65,000;x\n1,200;y\n", 'decimal = ","'),
        ("a;b\n65 000,5;x\n", 'thousands = " "'),
        ("a,b\n65'000.5,x\n", 'thousands = "\'"'),
        ("a,b\n65000.5,x\n", None),
        ("a,b\nMünchen,x\n", 'encoding = "cp1252"'),
    ],
)
def test_signs_that_a_sample_shows(dproof: Dproof, tmp_path: Path, content: str, file: str | None) -> None:
    (tmp_path / "x.csv").write_bytes(content.encode("cp1252"))
    draft = dproof("init", tmp_path / "x.csv", "--look").out
    assert "[file]\n" not in draft if file is None else f"\n{file}\n" in draft


def test_dates_by_their_type_are_drafted_as_dates(dproof: Dproof, tmp_path: Path) -> None:
    table = pa.table({"day": pa.array([1], pa.date32()), "at": pa.array([1], pa.timestamp("s")), "n": [1]})
    pa.parquet.write_table(table, tmp_path / "x.parquet")
    ran = dproof("init", tmp_path / "x.parquet", "--json")
    assert [column["kind"] for column in ran.json["columns"]] == ["date", "date", "interval"]
    assert '[columns.day]\nspace = "date"\nlow = "?"\n' in ran.json["plan"]


def test_a_draft_of_one_sheet_names_it(dproof: Dproof, tmp_path: Path) -> None:
    write_workbook(tmp_path / "x.xlsx", {"Intro": [["hello"]], "Data": [["town"], ["Ulm"]]})
    assert '[file]\nsheet = "Data"\n' in dproof("init", tmp_path / "x.xlsx", "--table", "Data").out
    assert "[columns.hello]" in dproof("init", tmp_path / "x.xlsx").out


def test_objects_are_checked_as_they_are_read() -> None:
    frame = pd.DataFrame({"sex": ["f", "m", "q", None], "note": ["x", None, None, 3]}, dtype=object)
    plan = {
        "privacy": {"epsilon": 1},
        "columns": {"sex": {"space": "categories", "values": ["f", "m"]}, "note": {"public": True}},
    }
    sex, note = dp.check(frame, plan).columns
    assert (sex.missing, sex.outside, sex.values, note.missing) == (1, 1, (("q", 1),), 2)


# A draft that is checked ----------------------------------------------------------------------------------------------

DRAFT = """
[privacy]
model = "central"
epsilon = "1"
[columns.town]
space = "categories"
values = []
[columns.pay]
space = "interval"
low = "?"
high = "?"
[columns.day]
space = "date"
low = "?"
high = "?"
[columns.likes]
space = "subsets"
separator = ";"
values = []
[columns.owns]
space = "subsets"
values = ["car", "bike"]
columns = ["owns_car", "owns_bike"]
"""
LINES = "town,pay,day,likes,owns_car,owns_bike\n" + "".join(
    f"{'Köln' if n % 3 else 'Bonn'},{1200 + n},{n % 28 + 1:02}.12.2024,{'a;b' if n % 2 else 'b'},1,0\n"
    for n in range(50)
)


@pytest.fixture
def drafted(tmp_path: Path) -> Path:
    (tmp_path / "x.csv").write_text(LINES + ",,,,0,1\n", "utf-8")
    (tmp_path / "x.toml").write_text(DRAFT, "utf-8")
    return tmp_path


def test_a_draft_is_checked_with_what_the_table_has_for_it(dproof: Dproof, drafted: Path) -> None:
    ran = dproof("check", drafted / "x.csv", "--plan", drafted / "x.toml", "--json")
    assert (ran.code, ran.err, ran.json["problems"]) == (0, "", [])
    found = {one["name"]: (one["keys"], one["more"]) for one in ran.json["suggestions"]}
    assert found == {
        "town": ({"values": ["Köln", "Bonn"], "missing": "category"}, 0),
        "pay": ({"low": 1200, "high": 1250, "missing": "category"}, 0),
        "day": ({}, 0),
        "likes": ({"values": ["b", "a"]}, 0),
    }
    hints = "\n".join(ran.json["hints"])
    assert all(one["outside"] == one["clamped"] == 0 for one in ran.json["columns"]) and "outside" not in hints
    assert "dates of 'day' look like 01.12.2024: add format = \"%d.%m.%Y\"" in hints
    assert "'owns_car' to 'owns_bike' are 2 items of 'owns' now" in hints
    assert "list_contains(\"owns\", 'car')" in hints
    assert "Missing values of 'town', 'pay', 'day' stop `sanitise`: for each write missing" in hints
    page = dproof("check", drafted / "x.csv", "--plan", drafted / "x.toml").out
    assert (
        page.startswith("CONFIDENTIAL") and '[columns.town]\nvalues = ["Köln", "Bonn"]\nmissing = "category"\n' in page
    )
    assert "could have written without seeing it" in " ".join(page.split())


def test_what_is_pasted_finishes_the_draft(dproof: Dproof, drafted: Path) -> None:
    found = dp.check(drafted / "x.csv", drafted / "x.toml")
    tables = tomllib.loads(DRAFT)
    for one in found.suggestions:
        tables["columns"][one.name] |= one.keys
    tables["columns"]["day"] = {"drop": True}
    tables["columns"]["likes"]["missing"] = tables["columns"]["owns"]["missing"] = []
    checked = dp.check(drafted / "x.csv", tables)
    assert (checked.problems, checked.suggestions) == ((), ())
    assert all(one.outside + one.clamped + one.no_number == 0 for one in checked.columns)
    assert dp.sanitise(drafted / "x.csv", tables)


def test_all_mistakes_are_told_at_once(dproof: Dproof, drafted: Path) -> None:
    wrong = DRAFT.replace('epsilon = "1"', 'epsilon = "one"\nepsillon = 1').replace('"interval"', '"intervall"')
    wrong = wrong.replace("[columns.town]", '[columns.ghost]\ndrop = true\n[columns." town"]\nlow = 3')
    (drafted / "x.toml").write_text(wrong + 'metric = "far"\n[flie]\nseparator = ";"\n', "utf-8")
    ran = dproof("check", drafted / "x.csv", "--plan", drafted / "x.toml", "--json")
    told = "\n".join(ran.json["problems"])
    assert ran.code == 1 and ran.json["rows"] == 51
    for part in (
        "x.toml, line 4: privacy.epsilon is wrong",
        "privacy.epsillon is not a known key",
        "columns. town.low goes with space = 'interval' or 'date' or 'time'",
        "cannot be 'intervall'; did you mean 'interval'?",
        "columns.owns is wrong",
        "flie is not a known key",
        "no column 'ghost'",
    ):
        assert part in told, (part, told)
    assert "mistakes to mend:" in dproof("check", drafted / "x.csv", "--plan", drafted / "x.toml").out


def test_a_blank_in_a_name_is_told(dproof: Dproof, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("town, sex\na,f\n")
    plan = {
        "privacy": {"epsilon": 1},
        "columns": {name: {"space": "categories", "values": []} for name in ("town", "sex")},
    }
    found = dp.check(tmp_path / "x.csv", plan)
    (told,) = found.problems
    assert told.startswith("The table has a blank before the name 'sex': write ' sex' in the plan")
    assert [one.name for one in found.suggestions] == ["town"]


def test_what_is_to_be_pasted_is_not_broken(dproof: Dproof, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    values = ["a long answer, of more words than a narrow terminal has room for", "[bold]x[/bold] \\ \u202e"]
    (tmp_path / "x.csv").write_text("x\n" + "".join(f'"{value}"\n' for value in values), "utf-8")
    (tmp_path / "x.toml").write_text('[privacy]\nepsilon = 1\n[columns.x]\nspace = "categories"\nvalues = []\n')
    page = dproof("check", tmp_path / "x.csv", "--plan", tmp_path / "x.toml").out
    assert "\u202e" not in page
    assert tomllib.loads(page[page.index("[columns.x]") :])["columns"]["x"]["values"] == values


def test_a_column_of_names_is_not_listed_to_its_end(dproof: Dproof, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("who\n" + "".join(f"n{n}\n" for n in range(100)))
    (tmp_path / "x.toml").write_text('[privacy]\nepsilon = 1\n[columns.who]\nspace = "categories"\nvalues = []\n')
    ran = dproof("check", tmp_path / "x.csv", "--plan", tmp_path / "x.toml")
    assert ran.code == 0 and "# all 100 are of one row each: an id or free text? Then drop = true" in ran.out
    assert "n4" not in ran.out


def test_what_one_row_has_is_not_offered_to_be_pasted(dproof: Dproof, tmp_path: Path) -> None:
    """A plan is public, and a value of one row may be the words of one person."""
    (tmp_path / "x.csv").write_text("likes\n" + "tea\nmilk\n" * 20 + "my own cider\nTea of course\n")
    (tmp_path / "x.toml").write_text('[privacy]\nepsilon = 1\n[columns.likes]\nspace = "categories"\nvalues = []\n')
    page = dproof("check", tmp_path / "x.csv", "--plan", tmp_path / "x.toml").out
    assert '[columns.likes]\nvalues = ["tea", "milk"]\n# 2 more, rarer or of one row each: outside' in page
    drafted = dp.draft_plan(tmp_path / "x.csv", look=True).plan["columns"]["likes"]
    assert (drafted["values"], drafted["outside"]) == (["tea", "milk"], "category")


def test_no_other_command_takes_a_draft(dproof: Dproof, drafted: Path, refused: Callable[..., str]) -> None:
    for words in (["plan"], ["sanitise", drafted / "x.csv", "--out", drafted / "out", "--plan"]):
        said = refused(*words, drafted / "x.toml")
        assert "columns.town.values is still open, as is something in pay, day, likes: fill in" in said
    assert not (drafted / "out").exists()


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (" Bonn", "3 values of 'town' are ' Bonn', which is 'Bonn' but for a blank: declare it as the table has it"),
        ("BONN", "3 values of 'town' are 'BONN', which is 'Bonn' in other letters"),
        ("Ulm", "Most values of 'town' are outside"),
    ],
)
def test_a_value_that_is_nearly_a_declared_one_is_named(value: str, told: str) -> None:
    plan = {"privacy": {"epsilon": 1}, "columns": {"town": {"space": "categories", "values": ["Bonn", "Köln"]}}}
    found = dp.check(pa.table({"town": [value] * 3 + ["Köln"] * 2}), plan)
    assert any(hint.startswith(told) for hint in found.hints)


@pytest.mark.parametrize(
    ("values", "told", "untold"),
    [
        (["Köln", "Bonn"], "All values of 'x' are not numbers", "Missing values of 'x' stop"),
        (
            ["09:30", "17:05"],
            '\'x\' holds times of day: write space = "time", low = "00:00" and high = "23:59".',
            "Missing values",
        ),
        (["5", "7", "k.A."], "Some values of 'x' are not numbers, but words: they count as missing", "`decimal`"),
        (["5", "7", "1.234,5"], "are `decimal`, `thousands` and `units` under [file] right?", "words"),
    ],
)
def test_what_is_no_number_is_told_by_what_it_is(
    dproof: Dproof, tmp_path: Path, values: list[str], told: str, untold: str
) -> None:
    (tmp_path / "x.csv").write_text("x;y\n" + "".join(f"{value};1\n" for value in values * 9))
    (tmp_path / "p.toml").write_text(
        '[file]\nseparator = ";"\n[privacy]\nepsilon = 1\n[columns.x]\nspace = "interval"\nlow = 0\nhigh = 9\n'
        "[columns.y]\ndrop = true\n"
    )
    said = " ".join(dproof("check", tmp_path / "x.csv", "--plan", tmp_path / "p.toml").out.split())
    assert told in said and untold not in said
    assert ("All values" in told or "times" in told) or "Missing values of 'x' stop" in said


def test_what_is_open_is_suggested_also_where_blanks_are_a_value(dproof: Dproof, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("town,age,day\nBonn,20,2024-05-01\nUlm,30,2024-06-01\n,,\n")
    columns = {"town": "values = []", "age": 'low = "?"\nhigh = "?"', "day": 'low = "?"\nhigh = "?"'}
    spaces = {"town": "categories", "age": "interval", "day": "date"}
    tables = (f'[columns.{n}]\nspace = "{spaces[n]}"\n{keys}\nmissing = "category"\n' for n, keys in columns.items())
    (tmp_path / "p.toml").write_text("[privacy]\nepsilon = 1\n" + "".join(tables))
    ran = dproof("check", tmp_path / "x.csv", "--plan", tmp_path / "p.toml", "--json")
    assert {one["name"]: one["keys"] for one in ran.json["suggestions"]} == {
        "town": {"values": ["Bonn", "Ulm"]},
        "age": {"low": 20, "high": 30},
        "day": {"low": "2024-01-01", "high": "2024-12-31"},
    }


def test_a_quote_that_never_closes_is_told(dproof: Dproof, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text('town,sex\nf,"Bonn\n' + "f,Bonn\n" * 30)
    (tmp_path / "p.toml").write_text(
        '[privacy]\nepsilon = 1\n[columns.town]\ndrop = true\n[columns.sex]\nspace = "categories"\nvalues = ["f"]\n'
    )
    said = " ".join(dproof("check", tmp_path / "x.csv", "--plan", tmp_path / "p.toml").out.split())
    assert "A value of 'sex' has line breaks in it: is there a quote in the file that never closes?" in said


def test_a_title_above_the_names_is_told(dproof: Dproof, tmp_path: Path) -> None:
    write_workbook(tmp_path / "x.xlsx", {"Data": [["Survey 2024"], ["town", "sex"], ["Ulm", "f"]]})
    columns = "".join(f'[columns.{name}]\nspace = "categories"\nvalues = []\n' for name in ("town", "sex"))
    (tmp_path / "p.toml").write_text(f"[privacy]\nepsilon = 1\n{columns}")
    told = "The table has one column alone: where titles stand above the names of its columns"
    said = " ".join(dproof("check", tmp_path / "x.xlsx", "--plan", tmp_path / "p.toml").out.split())
    assert told in said and "such as header = 2" in said
    assert "one column alone" in dproof("init", tmp_path / "x.xlsx").err


def test_persons_who_are_not_declared_are_counted(dproof: Dproof, tmp_path: Path) -> None:
    age = '[columns.age]\nspace = "interval"\nlow = 0\nhigh = 99\n'
    (tmp_path / "plan.toml").write_text(f"[privacy]\nepsilon = 1\n[columns.patient_id]\ndrop = true\n{age}")
    for owners, told in ((["a", "b", "a"], True), (["a", "b", "c"], False)):
        (tmp_path / "x.csv").write_text("patient_id,age\n" + "".join(f"{owner},40\n" for owner in owners))
        found = dp.check(tmp_path / "x.csv", tmp_path / "plan.toml")
        assert (found.persons is not None) == told == any('person = "patient_id"' in hint for hint in found.hints)
        assert not told or found.persons.most_rows == 2
    odd = pa.table({"patient_id": [{"a": 1}], "age": [3]})  # which is nobody's name
    assert dp.check(odd, tmp_path / "plan.toml").persons is None


def test_columns_with_values_outside_are_told_together(dproof: Dproof, tmp_path: Path) -> None:
    values = [f"a rather long value, number {n}" for n in range(5)]
    (tmp_path / "x.csv").write_text("a,b\n" + "".join(f'"{value}",{value[:1]}\n' for value in values))
    column = '[columns.{}]\nspace = "categories"\nvalues = ["x"]\n'
    (tmp_path / "x.toml").write_text("[privacy]\nepsilon = 1\n" + column.format("a") + column.format("b"))
    page = dproof("check", tmp_path / "x.csv", "--plan", tmp_path / "x.toml").out
    stops = "Values of 'a', 'b' outside their spaces stop `sanitise`: declare them, or set outside = \"category\"."
    assert stops in " ".join(page.split()) and page.count("stop `sanitise`") == 1
    listed = page[page.index(" -  a: 'a rather") : page.index(" -  b:")].splitlines()
    assert len(listed) > 1 and all(line.startswith("    ") for line in listed[1:])
