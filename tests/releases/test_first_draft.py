"""A plan to begin with: what a look fills in passes, and a header alone tells nothing of the rows."""

import pytest

import dproof as dp
from tests.workbooks import write_workbook

ROWS = [
    ("1", "NA", "3", "125,483", "31.12.2023", "a;b", "Bonn"),
    ("0", "1", "5", "99,000", "1.2.2023", "a", "Köln"),
    ("1", "0", "1", "1,000", "3.4.2023", "b;c", ""),
    ("0", "1", "2", "NA", "5.6.2023", "c;a", "Bonn"),
]
NAMES = "own,has_car,score,pay,since,pets,town"


@pytest.fixture
def table(tmp_path):
    lines = [",".join(f'"{value}"' for value in row) for row in ROWS * 10]
    (tmp_path / "people.csv").write_text("\n".join([NAMES, *lines]) + "\n")
    return tmp_path / "people.csv"


def test_what_a_look_fills_in_has_no_mistakes_and_covers_every_row(table):
    found = dp.draft_plan(table, look=True)
    columns = found.plan["columns"]
    assert dp.plan_problems(found.plan) == () and found.rows == 40 and found.plan["file"] == {"thousands": ","}
    assert columns["own"] == {"space": "categories", "values": [0, 1]}
    assert columns["has_car"] == {"space": "categories", "values": ["0", "1", "NA"]}
    assert columns["pay"] == {"space": "interval", "low": 0, "high": 200000, "missing": "category"}
    assert columns["since"]["format"] == "%d.%m.%Y" and columns["pets"]["values"] == ["a", "b", "c"]
    assert columns["town"] == {"space": "categories", "values": ["Bonn", "Köln"], "missing": "category"}
    assert set(found.seen) == columns.keys() and "codes" in found.notes["score"]
    checked = dp.check(table, found.plan)
    assert checked.problems == () and not any(one.outside or one.undecodable for one in checked.columns)
    assert dp.sanitise(table, found.plan).plan.model == "central"


def test_without_a_look_nothing_comes_from_the_rows(table):
    found = dp.draft_plan(table)
    assert found.seen == () and found.rows is None and found.doubtful == ()
    assert all(keys == {"space": "categories", "values": []} for keys in found.plan["columns"].values())
    assert [wrong.path[1] for wrong in dp.plan_problems(found.plan)] == NAMES.split(",")


def test_answers_on_a_scale_are_no_curve_and_numbers_are(tmp_path):
    scale = [",".join(str(1 + (row + n) % 5) for n in range(8)) for row in range(30)]
    (tmp_path / "scale.csv").write_text("\n".join([",".join(f"q{n}" for n in range(8)), *scale]) + "\n")
    assert len(dp.draft_plan(tmp_path / "scale.csv", look=True).plan["columns"]) == 8
    load = [",".join(f"{row + n / 7:.3f}" for n in range(8)) for row in range(30)]
    (tmp_path / "load.csv").write_text("\n".join([",".join(f"h{n}" for n in range(8)), *load]) + "\n")
    (curve,) = dp.draft_plan(tmp_path / "load.csv", look=True).plan["columns"].values()
    assert curve["space"] == "curves" and curve["low"] <= 0 and curve["high"] >= 30


def test_what_is_known_of_the_file_is_taken(tmp_path):
    (tmp_path / "titled.csv").write_text("Survey of 2024\nage;pay\n1;2,5\n3;4,5\n")
    file = {"header": 2, "separator": ";", "decimal": ","}
    found = dp.draft_plan(tmp_path / "titled.csv", look=True, file=file)
    assert found.plan["file"] == file and found.plan["columns"]["pay"]["space"] == "interval"
    assert dp.plan_problems(found.plan) == ()


TITLED = {
    "title": "Survey of 2024\nage;pay\n1;2,5\n3;4,5\n",
    "comma": "Survey, of May 2024\n\nage;pay\n1;2,5\n3;4,5\n",
    "two": "Survey of 2024\nAs of 31 May;\nage;pay;town\n1;2,5;Ulm\n3;4,5;Bonn\n",
    "exported": "Survey of 2024;;\nage;pay;town\n1;2,5;Ulm\n3;4,5;Bonn\n",
    "labelled": "who?;;what?;;\na;b;c;d;e\n1;2;3;4;5\n1;2;3;4;5\n",
    "encoded": "Umfrage für 2024\nage;pay\n1;2,5\n3;4,5\n",
}
PLAIN = {
    "decimals": "age;pay\n1,5;2,5\n3,5;4,5\n",
    "ragged": "age,pay,town\n1,2\n3,4\n5,6\n",
    "quoted": '"age\nof all",pay\n1,2\n3,4\n',
    "alone": "note\nnice\nlate\n",
    "blank": "\n\nage;pay\n1;2\n3;4\n",
    "header": "age;pay\n",
}


@pytest.mark.parametrize("name", [*TITLED, *PLAIN])
def test_a_title_above_the_names_is_seen_by_a_look_alone(tmp_path, name):
    (tmp_path / "x.csv").write_text((TITLED | PLAIN)[name], "cp1252" if name == "encoded" else "utf-8")
    for look in (True, False):
        refused = {("ragged", True): "line 2 has 2 fields and the header 3"}
        refused |= {(titled, False): "have no name: .* header = 2" for titled in ("exported", "labelled")}
        if (name, look) in refused:
            with pytest.raises(dp.SourceError, match=refused[name, look]):
                dp.draft_plan(tmp_path / "x.csv", look=look)
            continue
        file = dp.draft_plan(tmp_path / "x.csv", look=look).plan.get("file", {})
        assert file.get("header", 1) == ({"comma": 3, "two": 3}.get(name, 2) if name in TITLED and look else 1)


def test_a_title_above_the_names_of_a_sheet_is_seen(tmp_path):
    titles = [["Survey of 2024"], [], ["As of", "May"]]
    rows = [["age", "pay", "town", "sex"], ["1", "2", "Ulm", "f"], ["3", "", "", "m"]]
    for above, header in (([], 1), (titles[:1], 2), (titles, 4), ([[], []], 1)):
        (tmp_path / "x.xlsx").unlink(missing_ok=True)
        write_workbook(tmp_path / "x.xlsx", {"Data": [*above, *rows]})
        found = dp.draft_plan(tmp_path / "x.xlsx", look=True).plan
        assert found.get("file", {}).get("header", 1) == header and list(found["columns"]) == rows[0]


def test_what_is_not_known_of_the_file_is_seen(tmp_path):
    (tmp_path / "titled.csv").write_text("Survey\nage;pay\n1;2,5\nNA;4,5\n3;65,5\n", "utf-16")
    found = dp.draft_plan(tmp_path / "titled.csv", look=True, file={"header": 2}).plan
    assert found["file"] == {"header": 2, "separator": ";", "encoding": "utf-16", "decimal": ","}
    assert found["columns"]["pay"] == {"space": "interval", "low": 0, "high": 70}
