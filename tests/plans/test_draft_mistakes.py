"""A plan with any mistakes is checked to its end: a sentence for each, and none where the plan is good."""

from __future__ import annotations

import copy
import random
import tomllib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof import DproofError

PLAN = """
[privacy]
model = "central"
epsilon = "1"
person = "id"
rows_per_person = 2
[release]
tables = 2
[file]
decimal = "."
[columns.id]
drop = true
[columns.town]
space = "categories"
values = ["a", "b"]
missing = "category"
[columns.pay]
space = "interval"
low = "?"
high = 5
bins = [0, 5]
[columns.load]
space = "curves"
columns = ["h1", "h2"]
low = "?"
high = "?"
[columns.likes]
space = "subsets"
values = []
separator = ";"
"""
TABLE = pa.table(
    {
        "id": [1, 1, 2],
        "town": ["a", "b", None],
        "pay": ["1", "x", ""],
        "h1": [1.0, 2.0, None],
        "h2": ["1", "2", "z"],
        "likes": ["a;b", "", "b"],
    }
)
ODD: list[Any] = [[], {}, "?", "", 0, -1, 1e300, True, ["a", "a"], [1, "a"], {"a": 1}, "category", "\x1b[2J", [{}]]


def paths(tables: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in tables.items():
        yield (*path, key)
        if isinstance(value, dict):
            yield from paths(value, (*path, key))


@pytest.mark.parametrize("seed", range(8))
def test_nothing_in_a_plan_stops_its_check(seed: int) -> None:
    drawn = random.Random(seed)
    for _ in range(25):
        tables = tomllib.loads(PLAN)
        for _ in range(drawn.randint(1, 4)):
            *way, key = drawn.choice(list(paths(tables)) or [("privacy",)])
            table = tables
            for step in way:
                table = table[step]
            what = drawn.random()
            if what < 0.25:
                table.pop(key, None)
            elif what < 0.8:
                table[key] = copy.deepcopy(drawn.choice(ODD))
            else:
                table[f"{key}x"] = table.pop(key, 0)
        refused = ""
        try:
            dp.Plan.of(tables)
        except DproofError as error:
            refused = str(error)
        try:
            found = dp.check(TABLE, tables)
        except DproofError:  # such as a table that cannot be read with the signs that [file] has
            continue
        told = [problem for problem in found.problems if problem.startswith("plan")]
        assert bool(told) <= bool(refused), (tables, told)
        assert told or not refused or "still open" in refused or found.problems, (tables, refused)
        assert found.to_json()["confidential"] and repr(found)


def test_a_column_that_cannot_be_read_is_still_a_column() -> None:
    tables = tomllib.loads(PLAN.replace('"curves"', '"curve"'))
    assert [problem for problem in dp.check(TABLE, tables).problems if "h1" in problem or "mention" in problem] == []
