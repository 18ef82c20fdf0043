"""All mistakes of a plan at once, each with the path of its key."""

import pytest

import dproof as dp
from dproof.plans.draft import read_draft

SEX = {"space": "categories", "values": ["f", "m"]}


def paths(plan):
    return [wrong.path for wrong in dp.plan_problems(plan)]


def test_mistakes_of_every_part_are_found_together():
    age = {"space": "interval", "low": "?", "high": 9}
    plan = {"privacy": {"epsilon": "x"}, "columns": {"sex": {**SEX, "metrik": 1}, "age": age}, "file": {"decimal": "x"}}
    found = paths(plan)
    assert set(found) == {
        ("columns", "sex", "metrik"), ("privacy", "epsilon"), ("file", "decimal"), ("columns", "age", "low")
    }  # fmt: skip
    assert paths({"privacy": {"epsilon": 1}, "columns": {"sex": SEX}}) == []


def test_every_wrong_question_is_told_by_its_own_number():
    asked = ["SELECT x FROM data", "SELECT count(*) FROM data", "SELECT y FROM data"]
    plan = {"privacy": {"epsilon": 1}, "columns": {"sex": SEX}, "questions": [{"sql": sql} for sql in asked]}
    assert paths(plan) == [("questions", "1", "sql"), ("questions", "3", "sql")]


@pytest.mark.parametrize(
    ("plan", "wrong"),
    [
        ({}, {("privacy",), ("columns",)}),
        ({"columns": 3}, {("privacy",), ("columns",)}),
        ({"privacy": 1, "columns": {"a": 1}}, {("privacy",), ("columns", "a")}),
        ({"questions": "x"}, {("privacy",), ("columns",)}),
    ],
)
def test_what_is_hardly_a_plan_has_mistakes_and_stops_nothing(plan, wrong):
    assert set(paths(plan)) == wrong


@pytest.mark.parametrize("rest", ["", "[privacy]\nepsilon = 1\n[columns.town]\ndrop = true\n"])
def test_how_the_file_is_written_is_read_before_there_is_anything_else(rest):
    found = read_draft('[file]\nencoding = "cp1252"\nheader = 2\n' + rest)
    assert (found.file.encoding, found.file.header) == ("cp1252", 2) and found.problems
    assert read_draft('[file]\nencoding = "no such"\n' + rest).file.encoding == "utf-8"
