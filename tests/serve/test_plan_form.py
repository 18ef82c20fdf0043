"""The forms of a plan: what is saved comes back as it is, what is changed alone changes, and what is unknown stays."""

import tomllib
from pathlib import Path

import pytest

from dproof import Plan, plan_problems
from dproof.serve.plan_form import (
    ABOUT,
    APART,
    AS_SAVED,
    FILE,
    PROMISE,
    RELEASE,
    columns_of,
    fields_of,
    kinds_of,
    looks_like_code_book,
    matched,
    questions_of,
    values_of,
    with_columns,
    with_fields,
    with_questions,
    with_release,
)

EXAMPLES = sorted(
    path for path in (Path(__file__).parents[2] / "examples").glob("*.toml") if not path.name.startswith("texts")
)
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


def again(plan):
    """The plan after every step was sent as it was shown."""
    made = with_columns(plan, columns_of(plan))
    for part, names in (("privacy", PROMISE), ("file", FILE), ("about", ABOUT)):
        made = with_fields(made, part, fields_of(plan, part, names)) if plan.get(part) else made
    made = with_questions(made, [(one["sql"], one["share"]) for one in questions_of(plan)])
    return with_release(made, fields_of(plan, "release", RELEASE))


def column(plan, name, **typed):
    """The plan with some fields of one column changed."""
    return with_columns(plan, {name: {**columns_of(plan)[name], **typed}})["columns"][name]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_saved_plan_comes_back_as_it_is(path):
    saved = tomllib.loads(path.read_text())
    assert again(saved) == saved


def test_what_no_step_has_a_field_for_stays():
    assert again(SAVED) == SAVED
    assert column(SAVED, "sex", values="0\n1\n2")["share"] == 2
    assert with_fields(SAVED, "privacy", {"epsilon": "1"})["privacy"] == {**SAVED["privacy"], "epsilon": "1"}
    assert with_fields(SAVED, "file", {"thousands": " "})["file"] == {"separator": ";", "thousands": " "}


def test_a_field_that_is_changed_changes_its_key_alone():
    assert column(SAVED, "age", high="120", stand_in="41") == {**SAVED["columns"]["age"], "high": 120, "missing": 41}
    made = with_columns(SAVED, {"age": {**columns_of(SAVED)["age"], "high": "120"}})
    assert {**made, "columns": {**made["columns"], "age": SAVED["columns"]["age"]}} == SAVED


def test_another_kind_forgets_the_keys_of_the_old_one():
    typed = {"kind": "categories", "values": "young\nold", "outside": "keep", "missing": "refuse"}
    assert column(SAVED, "age", **typed) == {
        "space": "categories", "values": ["young", "old"], "outside": "category", "missing": "refuse"
    }  # fmt: skip
    assert column(SAVED, "age", kind="drop") == {"drop": True}


def test_questions_keep_their_weights_and_have_shares():
    asked = [("SELECT avg(age) AS a FROM data", "0.1"), ("SELECT count(*) FROM data", ""), ("  ", "")]
    first, second = with_questions(SAVED, asked)["questions"]
    assert (
        first == {"sql": "SELECT avg(age) AS a FROM data", "share_of_rows": "0.1"} and second == SAVED["questions"][0]
    )
    assert "questions" not in with_questions(SAVED, [])


@pytest.mark.parametrize("values", [[0, 1], [1, 2, 9], [-1, 9, 99, 999], ["f", "m"]])
def test_what_the_form_takes_for_granted_is_no_mistake(values):
    """Columns of 0 and 1 once failed with the form's own choices, for a key that it did not show."""
    plan = {"privacy": {"epsilon": 1}, "columns": {"q": {"drop": True}}}
    made = column(plan, "q", kind="categories", values="\n".join(map(str, values)))
    assert made["values"] == values and made["outside"] == "category"
    assert plan_problems({**plan, "columns": {"q": made}}) == ()
    assert Plan.from_dict({**plan, "columns": {"q": made}}).model == "local"


def test_texts_that_look_like_numbers_stay_texts_and_open_bounds_are_open():
    plan = {"columns": {"town": {"drop": True}, "age": {"drop": True}}}
    assert column(plan, "town", kind="categories", values="01\n2")["values"] == ["01", "2"]
    assert column(plan, "age", kind="interval", low="0", high="9.5", outside="keep", missing="category") == {
        "space": "interval", "low": 0, "high": 9.5, "outside": "clamp", "missing": "category"
    }  # fmt: skip
    assert column(plan, "age", kind="interval", low="0")["high"] == "?"


def test_what_a_central_release_measures():
    plan = {"privacy": {"model": "central", "epsilon": "1"}, "columns": {}}
    assert with_release(plan, {"tables": "1", "sums": "true", "rows": ""})["release"] == {"tables": 1, "sums": True}
    asked = {**plan, "questions": [{"sql": "SELECT avg(age) AS a FROM data"}], "release": {"tables": 2, "sums": True}}
    assert "release" not in with_release(asked, {"tables": "", "sums": "true", "rows": ""})
    assert "release" not in with_release({**asked, "privacy": {"epsilon": "1"}}, fields_of(asked, "release", RELEASE))


def test_columns_that_are_one_can_be_left_out_or_taken_apart():
    sides = SAVED["columns"]["sides"]
    assert columns_of(SAVED)["sides"]["kind"] == AS_SAVED and set(kinds_of(sides)) == {AS_SAVED, "drop", APART}
    assert column(SAVED, "sides", kind="drop") == {"drop": True, "columns": ["corn", "peas"]}
    apart = with_columns(SAVED, {"sides": {**columns_of(SAVED)["sides"], "kind": APART}})["columns"]
    assert "sides" not in apart and apart["corn"] == apart["peas"] == {"space": "categories", "values": []}
    curve = {"columns": {"h": {"space": "curves", "columns": ["h0", "h1"], "low": "?", "high": 5}}}
    assert column(curve, "h", low="1") == {"space": "curves", "columns": ["h0", "h1"], "low": 1, "high": 5}


def test_a_column_that_the_form_cannot_show_stays():
    saved = {"privacy": {"epsilon": 1}, "columns": {"load": {"space": "curves", "low": 0, "high": 5}}}
    assert columns_of(saved)["load"]["kind"] == AS_SAVED and with_columns(saved, columns_of(saved)) == saved


def test_a_table_with_other_columns_is_matched():
    made = matched(SAVED, ["sex", "corn", "peas", "new"])["columns"]
    assert set(made) == {"sex", "sides", "new"} and made["new"] == {"drop": True}
    assert set(matched(SAVED, ["sex", "corn"])["columns"]) == {"sex", "corn"}


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


def test_times_of_a_column_that_is_read_twice_stay_as_they_are() -> None:
    hours = {"space": "time", "low": "00:00", "high": "23:59", "bins": "hours", "columns": ["day"]}
    plan = {**SAVED, "columns": {**SAVED["columns"], "hours": hours}}
    assert kinds_of(hours) == {AS_SAVED: "as the plan has it"}
    for kind in (AS_SAVED, APART, "drop", "categories"):
        typed = {**columns_of(plan)["hours"], "kind": kind}
        assert with_columns(plan, {"hours": typed})["columns"] == plan["columns"]
    assert "hours" in matched(plan, ["day"])["columns"] and "hours" not in matched(plan, ["sex"])["columns"]


def test_a_time_of_day_has_fields() -> None:
    typed = {**columns_of({"columns": {"at": {"drop": True}}})["at"], "kind": "time", "low": "08:00", "high": "17:59"}
    made = with_columns(
        {"columns": {}}, {"at": {**typed, "bins": "hours", "format": "%I:%M %p", "missing": "category"}}
    )
    assert made["columns"]["at"] == {
        "space": "time", "low": "08:00", "high": "17:59", "format": "%I:%M %p", "bins": "hours", "outside": "clamp",
        "missing": "category",
    }  # fmt: skip
