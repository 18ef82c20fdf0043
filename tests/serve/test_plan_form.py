"""The form of a plan: what is saved comes back as it is, what is changed alone changes, and what is unknown is kept."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from dproof import Plan
from dproof.serve.plan_form import AS_SAVED, drafted, filled, looks_like_code_book, values_of

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.toml"))
SAVED = {
    "privacy": {"model": "local", "epsilon": "2", "delta": 0, "spread": "split"},
    "file": {"separator": ";"},
    "columns": {
        "sex": {"space": "categories", "values": ["0", "1"], "share": 2},
        "age": {"space": "interval", "low": 0, "high": 99, "missing": 40, "bins": [0, 50, 99]},
        "day": {"space": "date", "low": "2024-01-01", "high": "2024-12-31", "missing": "category", "bins": "months"},
        "pets": {"space": "subsets", "values": ["cat", "dog"], "separator": "|", "missing": []},
        "sides": {"space": "subsets", "columns": ["corn", "peas"]},
        "name": {"drop": True},
    },
    "questions": [{"sql": "SELECT count(*)\n  FROM data", "weight": 3}],
}
NAMES = ["sex", "age", "day", "pets", "corn", "peas", "name"]


def changed(form, column=None, **fields):
    if column is None:
        return replace(form, fields={**form.fields, **fields})
    return replace(form, columns={**form.columns, column: {**form.columns[column], **fields}})


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_saved_plan_comes_back_as_it_is(path):
    saved = tomllib.loads(path.read_text())
    names = [source for name, table in saved["columns"].items() for source in table.get("columns", [name])]
    assert drafted(filled(saved, names), saved) == saved


def test_what_the_form_does_not_know_is_kept_and_listed():
    form = filled(SAVED, NAMES)
    assert drafted(form, SAVED) == SAVED
    kept = {".".join(path) for path in form.kept}
    assert kept == {"file", "privacy.spread", "columns.sex.share", "questions.weight"}
    assert form.parts == {"corn": "sides", "peas": "sides"} and "corn" not in form.columns
    without = drafted(replace(form, kept=(("file",),)), SAVED)
    assert "file" in without and "spread" not in without["privacy"] and "share" not in without["columns"]["sex"]
    assert without["questions"] == [{"sql": "SELECT count(*)\n  FROM data"}]


def test_a_field_that_is_changed_changes_its_key_alone():
    form = changed(filled(SAVED, NAMES), "age", high="120", stand_in="41")
    columns = drafted(changed(form, epsilon="1"), SAVED)["columns"]
    assert columns["age"] == {**SAVED["columns"]["age"], "high": 120, "missing": 41}
    assert {name: columns[name] for name in columns if name != "age"} == {
        name: table for name, table in SAVED["columns"].items() if name != "age"
    }
    assert drafted(changed(form, epsilon="1"), SAVED)["privacy"]["epsilon"] == "1"


def test_another_kind_forgets_the_keys_of_the_old_one():
    form = changed(
        filled(SAVED, NAMES), "age", kind="categories", values="young\nold", outside="keep", missing="refuse"
    )
    assert drafted(form, SAVED)["columns"]["age"] == {
        "space": "categories", "values": ["young", "old"], "outside": "category", "missing": "refuse"
    }  # fmt: skip
    assert drafted(changed(form, "age", kind="drop"), SAVED)["columns"]["age"] == {"drop": True}


def test_questions_keep_their_weights():
    form = changed(filled(SAVED, NAMES), questions="SELECT avg(age) AS a FROM data\nSELECT count(*) FROM data")
    assert drafted(form, SAVED)["questions"] == [{"sql": "SELECT avg(age) AS a FROM data"}, SAVED["questions"][0]]
    assert "questions" not in drafted(changed(form, questions=""), SAVED)


def test_a_new_plan_leaves_columns_out_and_stops_at_no_value():
    form = filled({}, ["sex", "age", "town"])
    assert drafted(form, {})["columns"] == {name: {"drop": True} for name in ("sex", "age", "town")}
    form = changed(
        changed(form, "sex", kind="categories", values="1\n2", outside_value="9"),
        "town",
        kind="categories",
        values="01\n2",
    )
    form = changed(changed(form, "age", kind="interval", low="0", high="9.5"), tables="1", sums="true")
    made = drafted(form, {})
    assert made["columns"]["sex"]["values"] == [1, 2] and made["columns"]["town"]["values"] == ["01", "2"]
    assert made["columns"]["age"] == {
        "space": "interval", "low": 0, "high": 9.5, "outside": "clamp", "missing": "category"
    }  # fmt: skip
    assert made["columns"]["sex"]["outside_value"] == 9 and "outside_value" not in made["columns"]["town"]
    assert made["release"] == {"tables": 1, "sums": True} and Plan.from_dict(made).model == "central"
    assert "release" not in drafted(changed(form, model="local"), {})


def test_a_column_that_the_form_cannot_show_stays():
    saved = {"privacy": {"epsilon": 1}, "columns": {"load": {"space": "curves", "low": 0, "high": 5}}}
    form = filled(saved, ["load"])
    assert form.columns["load"]["kind"] == AS_SAVED and drafted(form, saved) == saved


@pytest.mark.parametrize(
    ("text", "taken", "values"),
    [
        ("1 = male\n2 = female", "code", ["1", "2"]),
        ("1 = male\n2 = female", "label", ["male", "female"]),
        ("1\tyes\n2\tno\n\n", "label", ["yes", "no"]),
        ('"a"\n b \na', "line", ["a", "b"]),
        ("a, b; c", "commas", ["a", "b", "c"]),
        ("x - y: z", "label", ["y: z"]),
    ],
)
def test_values_from_a_code_book(text, taken, values):
    assert values_of(text, taken) == values


def test_a_code_book_is_recognised():
    assert looks_like_code_book("1: low\n2: high") and not looks_like_code_book("Unemployed, Laid Off\nRetired")
