"""What a draft tells somebody who has never written a plan."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import dproof as dp

Dproof = Callable[..., Any]


def columns_of(draft: str) -> dict[str, Any]:
    return tomllib.loads(draft)["columns"]  # type: ignore[no-any-return]


def test_a_draft_is_for_whoever_holds_the_table_and_short(dproof: Dproof, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("respondent_id,town\n")
    draft = dproof("init", tmp_path / "x.csv").out
    head = draft.partition("[privacy]")[0]
    assert len(head.splitlines()) <= 10 and "drop = true" in head and "docs/keys.md" in head
    tables = tomllib.loads(draft)
    assert tables["privacy"] == {"model": "central", "epsilon": "1", "delta": "1e-6", "neighbours": "change-one"}
    assert tables["release"] == {"tables": 2, "sums": True} and tables["columns"]["respondent_id"] == {"drop": True}
    assert '# person = "respondent_id"\n# rows_per_person' in draft and '# neighbours = "add-remove"' in draft
    assert "# title = " in draft and "half" not in draft
    local = dproof("init", tmp_path / "x.csv", "--local").out
    assert tomllib.loads(local)["privacy"]["model"] == "local" and "release" not in tomllib.loads(local)
    finished = [text.replace("values = []", 'values = ["a", "b"]') for text in (draft, local)]
    assert [dp.Plan.parse(text).model for text in finished] == ["central", "local"]


def test_a_draft_is_written_to_a_new_file(dproof: Dproof, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("town,age\nRome,40\n")
    printed = dproof("init", tmp_path / "x.csv").out
    ran = dproof("init", tmp_path / "x.csv", "--out", tmp_path / "plan.toml")
    assert ran.out == f"{tmp_path / 'plan.toml'} holds a draft.\n" and (tmp_path / "plan.toml").read_text() == printed
    again = dproof("init", tmp_path / "x.csv", "--look", "--out", tmp_path / "plan.toml")
    assert again.code == 2 and "is there already" in again.err and (tmp_path / "plan.toml").read_text() == printed
    assert dproof("init", tmp_path / "x.csv", "--out", tmp_path / "none" / "plan.toml").code == 2


def test_an_interval_is_drafted_with_its_other_keys(dproof: Dproof, tmp_path: Path) -> None:
    pa.parquet.write_table(pa.table({"age": [41]}), tmp_path / "x.parquet")
    draft = dproof("init", tmp_path / "x.parquet").out
    assert 'high = "?"\n# step = 1\n' in draft and all(len(line) <= 80 for line in draft.splitlines())
    plan = dp.Plan.parse(draft.replace('"?"', "0", 1).replace('"?"', "99").replace("# step", "step"))
    assert plan.column("age").space.size == 100


HOURS = [f"h{n:02}" for n in range(24)]
BOXES = ["Sides? - Corn", "Sides? - Peas", "Sides? - Yams"]
OWNS = ["owns_car", "owns_bike", "owns_boat"]


@pytest.mark.parametrize("look", [False, True])
def test_names_that_belong_together_are_one_column(dproof: Dproof, tmp_path: Path, look: bool) -> None:
    header = ["id", *HOURS, *BOXES, *OWNS, "capital_gain", "capital_loss"]
    row = ["1", *["0.5"] * 24, "Corn", "", "Yams", "1", "0", "1", "3", "4"]
    other = ["2", *["1.5"] * 24, "", "Peas", "", "0", "1", "0", "3", "4"]
    (tmp_path / "x.csv").write_text("\n".join(",".join(line) for line in (header, row, other)) + "\n")
    draft = dproof("init", tmp_path / "x.csv", *(["--look"] if look else [])).out
    columns = columns_of(draft)
    assert columns["h"] == {"space": "curves", "columns": HOURS, "low": "?", "high": "?"}
    assert columns["Sides"] == {"space": "subsets", "values": ["Corn", "Peas", "Yams"], "columns": BOXES, "missing": []}
    if look:
        assert columns["owns"] == {
            "space": "subsets",
            "values": ["car", "bike", "boat"],
            "columns": OWNS,
            "missing": [],
        }
        assert columns["capital_gain"]["space"] == "interval"
    else:  # by their names alone they may be anything
        assert "The 3 columns from here to 'owns_boat' may be boxes" in " ".join(draft.replace("#", "").split())
    listed = {name for table in columns.values() for name in table.get("columns", ())} | set(columns)
    assert listed >= set(header)


def test_a_look_tells_marks_codes_sets_names_and_formats(dproof: Dproof, tmp_path: Path) -> None:
    rows = [f"{n % 2},{'Ja' if n % 3 else 'Nein'},a;b,{n % 28 + 1}/7/2020,{n % 4},Q{n}x,{n}" for n in range(40)]
    (tmp_path / "x.csv").write_text("flag,auto,likes,day,code,note,n\n" + "\n".join(rows) + "\n")
    draft = dproof("init", tmp_path / "x.csv", "--look").out
    columns = columns_of(draft)
    assert columns["flag"]["values"] == [0, 1] and columns["auto"]["values"] == ["Ja", "Nein"]
    assert columns["likes"] == {"space": "subsets", "separator": ";", "values": []}
    assert columns["note"] == {"drop": True} and columns["code"]["low"] == "?" and "or codes?" in draft
    assert columns["day"]["space"] == "date" and 'format = "%d/%m/%Y"' in draft
    assert "only these were seen: check them" in draft


def test_a_mark_is_no_mark_beside_another_value(dproof: Dproof, tmp_path: Path) -> None:
    for values in (["0", "2"], ["0", "1", "2"], ["0"], ["yes", "no", "perhaps"], ["f", "m"]):
        (tmp_path / "x.csv").write_text("x,y\n" + "".join(f"{value},1\n" for value in values))
        assert columns_of(dproof("init", tmp_path / "x.csv", "--look").out)["x"].get("values", []) == []


@pytest.mark.parametrize(
    ("header", "asked"),
    [("17,3.5,-2", True), ("17,,3", True), ("17,age", True), ("a,2024-01-02", True), ("a,b", False)],
)
def test_a_file_without_a_header_is_asked_about(dproof: Dproof, tmp_path: Path, header: str, asked: bool) -> None:
    (tmp_path / "x.csv").write_text(f"{header}\n1,2,3\n")
    ran = dproof("init", tmp_path / "x.csv")
    assert ran.code == 0
    assert ran.out.startswith("# Is the first line a header?") == asked == ("is the first line a header?" in ran.err)


def test_a_row_in_place_of_a_header_is_asked_about(dproof: Dproof, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("yes,no,yes\nno,no,yes\n")
    ran = dproof("init", tmp_path / "x.csv")
    assert "or stand there twice" in ran.err and ran.out.startswith("# Is the first line a header?")


def test_a_doubled_name_is_drafted_checked_and_released(dproof: Dproof, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("town,paid,town,,\n" + "Bonn,yes,Ulm,1,\nUlm,no,Ulm,,\n" * 200)
    ran = dproof("init", tmp_path / "x.csv", "--look")
    columns = columns_of(ran.out)
    assert [*columns] == ["town", "paid", "town (2)", "column 4", "column 5"]
    assert ran.out.count("# The header has this name more than once") == 2
    columns["town"] |= {"values": ["Bonn", "Ulm"]}
    columns["town (2)"] |= {"values": ["Ulm"], "outside": "category"}
    columns["column 4"] = columns["column 5"] = {"drop": True}
    plan = {"privacy": {"model": "central", "epsilon": 1000}, "columns": columns}
    release = dp.sanitise(tmp_path / "x.csv", plan)
    for column, truth in {"town": 200, '"town (2)"': 400}.items():
        (row,) = release.query(f"SELECT count(*) AS n FROM release WHERE {column} = 'Ulm'").rows
        assert round(row["n"].estimate) == truth


OFFICE = "Tag;Ankunft;Note;x_a;x_b;x_c;Gehalt\n" + "31.12.2024;09:30;3;1;0;0;10,5\n01.02.2024;10:05;;0;1;1;k.A.\n" * 40
OFFICE += "01.03.2024;10:05;5;0;1;1;20\n"


def test_what_an_office_has_is_drafted_so_that_it_can_be_released(dproof: Dproof, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(OFFICE)
    draft = dproof("init", tmp_path / "x.csv", "--look").out
    columns = columns_of(draft)
    assert columns["Tag"] == {
        "space": "date",
        "low": "?",
        "high": "?",
        "format": "%d.%m.%Y",
        "bins": "calendar",
    }
    assert draft.count("\nformat = ") == 1 and draft.count("bins = ") == 3  # once in the head
    assert columns["Ankunft"] == {"space": "time", "low": "00:00", "high": "23:59", "bins": "hours"}
    assert columns["x"]["columns"] == ["x_a", "x_b", "x_c"] and columns["x"]["space"] == "subsets"
    assert columns["Note"]["missing"] == "category" and "# some are blank" in draft
    assert columns["Note"]["step"] == 1 and "step" not in columns["Gehalt"]  # whole numbers: 3 is no [2.5, 3.5)
    assert "missing" not in columns["Gehalt"]  # a text is no blank: `check` tells of it
    local = columns_of(dproof("init", tmp_path / "x.csv", "--look", "--local").out)
    assert "bins" not in local["Tag"] and local["Tag"]["format"] == "%d.%m.%Y"


def test_one_blank_is_not_told(dproof: Dproof, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("town,age\n" + "Bonn,40\n" * 300 + "Ulm,\n")
    assert "missing =" not in dproof("init", tmp_path / "x.csv", "--look").out.partition("[columns")[2]


def test_flags_are_offered_by_their_names_to_be_pasted(dproof: Dproof, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("x_a,x_b,x_c\n1,0,1\n")
    draft = " ".join(dproof("init", tmp_path / "x.csv").out.replace("\n# ", " ").split())
    assert 'then one set, space = "subsets", columns = ["x_a", "x_b", "x_c"]' in draft


def test_a_running_number_is_left_out_and_no_free_text_names_a_person(dproof: Dproof, tmp_path: Path) -> None:
    rows = "".join(f"{n},{20 + n % 50},remark {n}\n" for n in range(1, 60))
    (tmp_path / "x.csv").write_text("Lfd. Nr.,age,remark\n" + rows)
    drafted = dproof("init", tmp_path / "x.csv", "--look").out
    assert '[columns."Lfd. Nr."]\ndrop = true    # it numbers the rows\n' in drafted
    assert '[columns.age]\nspace = "interval"' in drafted and '# person = "id"\n' in drafted


@pytest.mark.parametrize(
    ("values", "space"),
    [
        (["07030", "10025", "10001"], "categories"),  # codes: a number has no zeros before it
        (["7030", "10025", "10001"], "interval"),
        (["1 - never", "2", "3", "4", "5 - always"], "categories"),  # a scale whose ends have words
        (["1", "2", "3", "none"], "interval"),
        (["Yes", "No", "unknown"], "categories"),
        (["true", "false", "n/a"], "categories"),
    ],
)
def test_what_only_looks_like_numbers_or_marks_is_neither(
    dproof: Dproof, tmp_path: Path, values: list[str], space: str
) -> None:
    (tmp_path / "x.csv").write_text("x,y\n" + "".join(f"{value},1\n" for value in values * 9))
    drafted = columns_of(dproof("init", tmp_path / "x.csv", "--look").out)["x"]
    assert drafted["space"] == space and drafted.get("values", []) == []


def test_why_a_column_is_left_out_is_true(dproof: Dproof, tmp_path: Path) -> None:
    rows = "".join(f"{n},{n % 2},{n}.5 or so,{n % 3}\n" for n in range(1, 60))
    (tmp_path / "x.csv").write_text("n,paid,price,Pers.-Nr.\n" + rows)
    drafted = dproof("init", tmp_path / "x.csv", "--look").out
    assert "[columns.n]\ndrop = true    # it numbers the rows\n" in drafted
    assert "[columns.price]\ndrop = true    # nearly all differ" in drafted
    assert columns_of(drafted)["paid"]["values"] == [0, 1]  # its name ends like an id
    assert '[columns."Pers.-Nr."]\ndrop = true    # an id or a name' in drafted


VISITS = "patient_id,age\n" + "".join(f"P{n % 40},{n % 40 + 20}\n" for n in range(60))
LISTED = "patient_id,age\n" + "".join(f"P{n},{n % 40 + 20}\n" for n in range(60))


def test_persons_with_several_rows_are_declared_where_they_are_seen(dproof: Dproof, tmp_path: Path) -> None:
    for text, privacy in ((VISITS, {"person": "patient_id", "rows_per_person": 3}), (LISTED, {})):
        (tmp_path / "x.csv").write_text(text)
        drafted = tomllib.loads(dproof("init", tmp_path / "x.csv", "--look").out)["privacy"]
        assert {key: drafted[key] for key in drafted if "person" in key} == privacy
        first = dp.draft_plan(tmp_path / "x.csv", look=True).plan["privacy"]
        assert {key: first[key] for key in first if "person" in key} == privacy
    (tmp_path / "x.csv").write_text(VISITS)
    assert "person" not in tomllib.loads(dproof("init", tmp_path / "x.csv").out)["privacy"]


def test_boxes_that_hold_their_own_names_are_a_set_and_doubles_are_none(dproof: Dproof, tmp_path: Path) -> None:
    marks = ["Yes,No,No,Yes", "No,Yes,Yes,No"]
    rows = "".join(f"{n},{'Apple' * (n % 2)},{'Apricot' * (n % 3 > 0)},{marks[n % 2]}\n" for n in range(40))
    (tmp_path / "x.csv").write_text("n,Apple,Apricot,Response,Response,Response,Response\n" + rows)
    columns = columns_of(dproof("init", tmp_path / "x.csv", "--look").out)
    fruits = ["Apple", "Apricot"]
    assert columns["Apple together"] == {"space": "subsets", "values": fruits, "columns": fruits, "missing": []}
    assert columns["Response (2)"]["space"] == "categories"
    assert list(columns) == ["n", "Apple together", *(f"Response{n}" for n in ("", " (2)", " (3)", " (4)"))]


def test_a_comma_stands_between_items_where_there_are_more_texts_than_parts(dproof: Dproof, tmp_path: Path) -> None:
    sports = ["Golf", "Golf, Ski", "Ski", "Ski, Tennis", "Golf, Tennis", "Golf, Ski, Tennis"]
    towns = ["Paris, France", "Lyon, France", "Rome, Italy", "Bern, Swiss"]
    rows = "".join(f'"{sports[n % 6]}","{towns[n % 4]}",m{n % 30}@x.org\n' for n in range(60))
    (tmp_path / "x.csv").write_text("sports,town,E-Mail-Adresse\n" + rows)
    drafted = dproof("init", tmp_path / "x.csv", "--look").out
    columns = columns_of(drafted)
    assert columns["sports"] == {"space": "subsets", "separator": ",", "values": []}
    assert columns["town"] == {"space": "categories", "values": []}
    assert tomllib.loads(drafted)["privacy"]["person"] == "E-Mail-Adresse"


MONEY = "pay;cost;part;size\n" + '1.250,50 €;-€ 3;7 %;3 km\nk.A.;"€1.000.000,00";12%;4 km\n2 €;0,5€;99 %;5 km\n' * 9


def test_numbers_with_a_unit_beside_them_are_numbers(dproof: Dproof, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(MONEY)
    drafted = dproof("init", tmp_path / "x.csv", "--look").out
    file = tomllib.loads(drafted)["file"]
    assert file == {"separator": ";", "decimal": ",", "thousands": ".", "units": "€ % km"}
    assert {name: keys["space"] for name, keys in columns_of(drafted).items()} == {
        "pay": "interval",
        "cost": "interval",
        "part": "interval",
        "size": "interval",
    }
    (tmp_path / "plan.toml").write_text(drafted)
    suggested = {one.name: one.keys for one in dp.check(tmp_path / "x.csv", tmp_path / "plan.toml").suggestions}
    assert suggested["cost"] == {"low": -1000000, "high": 1000000} and suggested["part"] == {"low": 0, "high": 100}
    assert suggested["pay"] == {"low": 0, "high": 2000, "missing": "category"}
    plan = {"privacy": {"epsilon": 1}, "file": {"units": "€ 7"}, "columns": {}}
    with pytest.raises(dp.PlanError, match=r'file.units must be signs .* such as "€ %", and no digits'):
        dp.Plan.from_dict(plan)


def test_what_only_begins_like_money_is_none(dproof: Dproof, tmp_path: Path) -> None:
    for value in ("$0 - $24,999", "€", "5 € or 6 €", "$" + "1" * 50 + " " * 10_000 + "x"):
        (tmp_path / "x.csv").write_text("x;y\n" + f"{value};{value}\n" * 9)
        drafted = tomllib.loads(dproof("init", tmp_path / "x.csv", "--look").out)
        assert "units" not in drafted["file"] and drafted["columns"]["x"]["space"] == "categories"
