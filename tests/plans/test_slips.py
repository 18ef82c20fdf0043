"""Slips of a first plan, each with the sentence that leads out of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import dproof as dp
from dproof.errors import did_you_mean, nearest

PLAN = """\
[privacy]
model = "central"
epsilon = "1"
[columns.town]
space = "categories"
values = ["Bonn", "Ulm"]
[columns.age]
space = "interval"
low = 0
high = 100
"""
DATES = 'space = "date"\nlow = 2024-01-01\nhigh = 2024-12-31\nformat = '


@pytest.mark.parametrize(
    ("good", "slip", "told"),
    [
        ("low = 0", "low = 31.12.2024", "a date is written 2024-12-31, without quotes"),
        ("high = 100", "high = 1OO", "numbers are written such as 100 or 0.5, and text needs quotes"),
        ('epsilon = "1"', "epsilon = 0,5", "numbers are written such as 100 or 0.5, and text needs quotes"),
        ("[columns.age]", "[columns.Age group]", 'needs quotes: [columns."Age group"]'),
        ("[columns.age]", "[columns.Größe]", "a name with blanks, signs or letters other than a to z needs quotes"),
        ('epsilon = "1"', 'epsilon = "one"', "such as 1, 0.5, '1/3' or '1e-6', not 'one'"),
        ('epsilon = "1"', 'epsilon = "0,5"', "not '0,5': write a point for the comma"),
        (
            'values = ["Bonn", "Ulm"]\n',
            "",
            'is missing, and lists what the column may hold: write values = ["yes", "no"]',
        ),
        ("high = 100\n", "", "columns.age.high is missing: write the greatest value that there can be"),
        ("low = 0\n", "low = 2024-01-01\n", 'must be a number, and a date was given: dates have space = "date"'),
        (
            'model = "central"',
            'model = "shuffled"',
            "shuffle.rows must say how many rows there will be at least, 2 to",
        ),
        ('"Bonn", "Ulm"', "“Bonn”, “Ulm”", 'quotes must be straight ones, "…"'),
        ('"Bonn", "Ulm"', '"Bonn" "Ulm"', "values stand between [ and ], with commas between them"),
        ("high = 100\n", "high = 100\n[columns.age]\nstep = 1\n", "it stands there twice: make one of both"),
        ("high = 100\n", "high = 100\nhigh = 90\n", "it stands there twice: make one of both"),
        ('["Bonn", "Ulm"]', '"Bonn, Ulm"', 'must be a list of at least one value, such as ["yes", "no"]'),
        ('space = "interval"', 'space = "number"', "did you mean 'interval'?"),
        ('model = "central"', 'model = "global"', "did you mean 'central'?"),
        ('space = "categories"', 'type = "categories"', "type is not a known key; did you mean 'space'?"),
        ("low = 0", "min = 0", "min is not a known key; did you mean 'low'?"),
        ('space = "interval"\nlow = 0\nhigh = 100', f'{DATES}"%H:%M"', 'for times of day write space = "time"'),
    ],
)
def test_a_slip_is_told_with_the_way_out(good: str, slip: str, told: str) -> None:
    assert good in PLAN
    with pytest.raises(dp.InputError) as refused:
        dp.Plan.parse(PLAN.replace(good, slip))
    assert told in str(refused.value)


def test_the_mark_that_windows_sets_before_a_text_is_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN, "utf-8-sig")
    assert dp.Plan.read(tmp_path / "plan.toml").text == PLAN


def test_a_table_in_the_place_of_a_plan(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("town,age\nBonn,3\n")
    with pytest.raises(dp.InputError, match=r"people\.csv: not valid TOML: .*; a table was given where a plan goes"):
        dp.Plan.read(tmp_path / "people.csv")


def test_words_of_other_tools_are_understood() -> None:
    assert nearest("global", ["local", "central"]) == "central"
    assert nearest("global", ["local"]) == "local"
    assert did_you_mean("average", ["count", "avg"]) == "; did you mean 'avg'?"


@pytest.mark.parametrize(
    ("slip", "told"),
    [
        ('space = "drop"', "columns.age.space cannot be 'drop': to leave a column out write drop = true alone"),
        ("high = 1", 'columns.age.space is missing: write space = "categories", or'),
        (
            'space = "interval"\nlow = 0\nhigh = 1440\nformat = "%H:%M"',
            "format goes with space = 'date' or 'time'",
        ),
        ('space = "categories"\nvalues = ["a"]\nlow = 0', "low goes with space = 'interval'"),
    ],
)
def test_the_space_of_a_column(slip: str, told: str) -> None:
    with pytest.raises(dp.InputError) as refused:
        dp.Plan.parse(PLAN.partition("[columns.age]")[0] + f"[columns.age]\n{slip}\n")
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("'a' IN likes", "IN takes values in brackets; of a set ask list_contains(likes, 'a')"),
        ("town IN 'Bonn'", "IN takes values in brackets, such as IN ('Bonn')"),
        ("age > NULL", "nothing compares with NULL: ask IS NULL or IS NOT NULL"),
        ("age = NULL", "nothing compares with NULL: ask IS NULL or IS NOT NULL"),
    ],
)
def test_a_condition_that_sql_writes_otherwise(condition: str, told: str) -> None:
    likes = '[columns.likes]\nspace = "subsets"\nvalues = ["a", "b"]\nseparator = ";"\n'
    question = f'[[questions]]\nsql = "SELECT count(*) FROM data WHERE {condition}"\n'
    with pytest.raises(dp.InputError) as refused:
        dp.Plan.parse(PLAN + likes + question)
    assert told in str(refused.value)
