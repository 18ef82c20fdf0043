"""What is wrong with a plan is told beside a field in the words of the form, whatever it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import dproof as dp
from dproof.serve import plan_form
from dproof.serve.pages import planning
from dproof.serve.pages.asking import columns_of

TEMPLATES = Path(planning.__file__).parents[1] / "templates"
SHOWN = "".join(path.read_text() for path in sorted(TEMPLATES.glob("step_*.html")))
PLAN: dict[str, Any] = {
    "privacy": {"model": "central", "epsilon": "1", "delta": "1e-6", "neighbours": "change-one"},
    "columns": {"x": {"drop": True}, "y": {"space": "categories", "values": ["a", "b"]}},
    "release": {"tables": 1},
}
GOOD = {
    "categories": {"values": "a\nb"},
    "interval": {"low": "0", "high": "10", "step": "1"},
    "date": {"low": "2020-01-01", "high": "2020-12-31"},
    "time": {"low": "00:00", "high": "23:59"},
    "subsets": {"values": "a\nb", "separator": ";"},
}
WRONG = {
    "values": ["", "a;b\nc", "\n".join(map(str, range(70)))],
    "low": ["", "a", "20", "25:00", "1,5", "2021-01-01", "23:59"],
    "high": ["", "z", "-5", "2019-01-01", "inf", "00:00"],
    "step": ["0", "-1", "3", "abc", "7", "1.5"],
    "bins": ["5", "0, 5", "5, 3, 10", "months", "hours", "a, b, c", "0, 5, 20", "2020-01-01, x"],
    "format": ["%d.%m", "dd.mm.yyyy", "%Q"],
    "separator": ["a"],
    "outside_value": ["a"],
    "stand_in": ["", "c", "99", "2030-01-01"],
    "question": ["x" * 2000],
    "help": ["y" * 2000],
}
OF_PARTS = {
    "privacy": {
        "epsilon": ["", "0,5", "-1", "abc", "5000"],
        "delta": ["2", "x", "-1"],
        "rows_per_person": ["0", "x"],
        "person": ["nobody"],
    },
    "file": {
        "separator": ["ab"],
        "encoding": ["foo"],
        "decimal": ["x"],
        "thousands": [".", "abc"],
        "header": ["0", "x", "99999999"],
    },
    "about": {"title": ["x" * 2000], "contact": ["x" * 2000]},
}
OF_TOML = re.compile(r"is wrong|\w = |under \[|\[\[|true\b|category|\bspace\b|\w+\.\w+ (is|must)|dropped")


def problems(plan: dict[str, Any]) -> list[planning.Problem]:
    return [planning._placed(wrong, plan) for wrong in dp.plan_problems(plan)]


def check_words(found: list[planning.Problem]) -> None:
    for one in found:
        assert not OF_TOML.search(one.sentence), one
        labels = re.findall("“(.*?)”", one.sentence)
        assert labels and all(f'"{label}' in SHOWN for label in labels), one
        assert one.key and (f'"{one.key}"' in SHOWN), one


@pytest.mark.parametrize("kind", GOOD)
def test_a_column_says_it_with_the_label_of_the_field(kind: str) -> None:
    told = 0
    for field, texts in WRONG.items():
        for text in texts:
            typed = plan_form.columns_of(PLAN)["x"] | {"kind": kind} | GOOD[kind] | {field: text}
            typed |= {"missing": "value"} if field == "stand_in" else {}
            found = problems(plan_form.with_columns(PLAN, {"x": typed}))
            told += len(found)
            check_words(found)
            assert all(one.place == "column-0" and one.of == "x" for one in found)
    assert told > 3


@pytest.mark.parametrize(("part", "field"), [(part, field) for part, fields in OF_PARTS.items() for field in fields])
def test_other_parts_say_it_too_and_say_nothing_else(part: str, field: str) -> None:
    names = {"privacy": plan_form.PROMISE, "file": plan_form.FILE, "about": plan_form.ABOUT}[part]
    for text in OF_PARTS[part][field]:
        typed = plan_form.fields_of(PLAN, part, names) | {field: text}
        found = problems(plan_form.with_fields(PLAN, part, typed))
        check_words(found)
        assert [(one.place, one.key) for one in found] == [(part, field)]


def test_a_table_of_which_nothing_would_be_released_says_so_once() -> None:
    (told,) = problems({**PLAN, "columns": {"x": {"drop": True}}})
    assert told.sentence == "every column is left out or public, so nothing would be released: give one a kind"


def test_a_part_of_the_rows_is_told_by_its_label() -> None:
    (told,) = problems(plan_form.with_questions(PLAN, [("SELECT y, count(*) FROM data GROUP BY y", "2")]))
    assert told.key == "share" and told.sentence.startswith("“Part of the rows that it is about” must lie between 0")


def test_a_tab_can_be_typed_and_is_shown() -> None:
    for typed in ("tab", "\\t", "Tab "):
        fields = plan_form.fields_of(PLAN, "file", plan_form.FILE) | {"separator": typed}
        plan = plan_form.with_fields(PLAN, "file", fields)
        assert plan["file"] == {"separator": "\t"}
        assert plan_form.with_fields(plan, "file", plan_form.fields_of(plan, "file", plan_form.FILE)) == plan


def test_what_would_help_is_told_without_keys() -> None:
    columns: dict[str, Any] = {f"c{n}": {"space": "categories", "values": list("abc")} for n in range(5)}
    columns["age"] = {"space": "interval", "low": 0, "high": 90}
    questions = [{"sql": "SELECT c0, count(*) AS n FROM data GROUP BY c0"}]
    drafts: list[dict[str, Any]] = [
        {"privacy": {"model": "central", "epsilon": 1}, "columns": columns},
        {"privacy": {"model": "central", "epsilon": 1, "delta": "1e-6"}, "columns": columns, "release": {"tables": 2}},
        {"privacy": {"model": "central", "epsilon": 1}, "columns": columns, "release": {"tables": 2}}
        | {"questions": questions},
        {"privacy": {"epsilon": 1, "spread": "auto"}, "columns": columns},
        {"privacy": {"epsilon": 1}, "columns": columns},
    ]
    several = {"model": "central", "epsilon": 1, "delta": "1e-6", "person": "who", "rows_per_person": 3}
    drafts.append({"privacy": several, "columns": {**columns, "who": {"drop": True}}})
    assert planning._HELP["rows"](drafts[-1])["privacy"] == {**several, "rows_per_person": 1}
    told, hidden = 0, re.compile(r"[`\[\]]|[a-z] = ")
    for draft in drafts:
        found = dp.compare_ways(draft, rows=2000)
        texts = [found["recommended"]["reason"], *(hint["text"] for hint in found["hints"])]
        told += sum(bool(hidden.search(text)) for text in texts)
        said = [plan_form.hint_in_words(text) for text in texts]
        assert not any(hidden.search(text) for text in said), said
    assert told > 4 and any(text.startswith("counting one row of each person, if ") for text in said)


def test_a_plan_with_a_curve_can_be_asked_about() -> None:
    hours = [f"h{n:02}" for n in range(24)]
    day = {"space": "curves", "columns": hours, "low": 0, "high": 10, "start": 0, "stop": 23}
    plan = dp.Plan.from_dict(
        {"privacy": {"epsilon": 1}, "columns": {"day": day, "x": {"space": "interval", "low": 0, "high": 9}}}
    )
    assert [one.name for one in columns_of(plan)] == ["day", "x"]
