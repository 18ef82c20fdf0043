"""A plan to begin with: what a look fills in passes, and a header alone tells nothing of the rows."""

import pytest

import dproof as dp

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
