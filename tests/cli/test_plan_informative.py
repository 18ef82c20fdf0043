"""A ± that leaves out nothing that is possible is told as what it is: no information."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dproof as dp
from tests.makers import AGE, AGE_IN_BINS, SEX, plan_text

Dproof = Callable[..., Any]
DEVIATION = "SELECT stddev(age) AS s FROM data"
COUNT = "SELECT count(*) AS n FROM data WHERE sex = 'f'"
FEW = "SELECT avg(age) AS a FROM data WHERE age > 10 AND age < 12"
CENTRAL = plan_text(
    {"age": AGE_IN_BINS, "sex": SEX},
    {"sql": "SELECT sex, avg(age) AS mean FROM release GROUP BY sex"},
    {"sql": "SELECT count(*) AS young FROM release WHERE age < 30"},
    {"sql": "SELECT mode(sex) AS most FROM release"},
    model="central",
    epsilon="1/100",
    delta="1e-6",
)
FIRST = (["1.", "s"], ["3.", "a"], ["(rare:", "a"])  # words of a line of the table
LOCAL = plan_text({"sex": SEX, "age": AGE}, epsilon="1")


@pytest.fixture
def local(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(LOCAL)
    return path


def test_advice_says_where_a_way_tells_nothing(local: Path) -> None:
    advice = dp.advise(local, rows=1000, questions=[DEVIATION, COUNT, FEW])
    deviation, count, few = advice.comparisons
    # A deviation of numbers from 0 to 110 is 55 at most.
    assert deviation.release is not None and deviation.release > 55 / 2
    assert deviation.informative == {"release": False, "ask": True, "ask_shared": True}
    assert all(count.informative.values())
    # Of some 9 people a curator still tells a mean to ± 33, and to ± 100 where three questions share ε.
    assert few.informative == {"release": False, "ask": True, "ask_shared": False}
    shown = [line.split("  ") for line in str(advice).splitlines()]
    assert "no information" in [cell.strip() for cell in shown[1]]
    assert "no information" not in str(dp.advise(local, rows=1000, questions=COUNT))
    assert [one["informative"] for one in advice.to_json()["comparisons"]] == [
        one.informative for one in advice.comparisons
    ]


def test_the_plan_says_it_in_words(dproof: Dproof, local: Path) -> None:
    told = dproof("plan", local, "--rows", 1000, "--question", DEVIATION, "--question", COUNT, "--question", FEW)
    lines = [line.split() for line in told.out.splitlines()]
    deviation, few, rare = (next(line for line in lines if line[:2] == start) for start in FIRST)
    assert (deviation[2], few[2]) == ("none", "none") and deviation[-2].startswith("0.3")
    assert few[-2:] == ["33.3", "none"] and rare[-2:] == ["none", "none"]
    assert "None: no information, the interval holds every value" in " ".join(told.out.split())
    told = dproof("plan", local, "--rows", 1000, "--question", COUNT)
    assert "o information" not in told.out


def test_the_plan_and_the_guided_plan_decide_alike(local: Path) -> None:
    draft = {**tomllib.loads(LOCAL), "questions": [{"sql": sql} for sql in (DEVIATION, COUNT)]}
    guided = {one["column"]: one["informative"] for one in dp.compare_ways(draft, rows=1000)["answers"]}
    for one in dp.advise(draft, rows=1000).comparisons:
        assert (guided[one.column]["local"], guided[one.column]["ask_shared"]) == (
            one.informative["release"],
            one.informative["ask_shared"],
        )


def test_a_central_plan_says_it_too(dproof: Dproof, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(CENTRAL)
    few, many = (dproof("plan", path, "--rows", rows) for rows in (1000, 10**6))
    page = " ".join(few.out.split())
    assert re.search(r"1\. mean( \S+){2} none", page) and re.search(r"2\. young( \S+){2} none", page)
    assert not re.search(r"\d\. \w+( \S+){2} none", " ".join(many.out.split()))
    told = {one["column"]: one for one in dproof("plan", path, "--rows", 1000, "--json").json["questions"]}
    assert told["most"]["half_width"] is None and re.search(r"3\. most( \S+){2} \?", page)
    assert told["young"]["informative"] == {"least_half_width": False, "half_width": False}
    assert told["young"]["half_width"] > 500


def test_both_spreads_say_it(dproof: Dproof, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    asked = f'[[questions]]\nsql = "{DEVIATION}"\n[[questions]]\nsql = "{COUNT}"\n'
    path.write_text(LOCAL.replace('epsilon = "1"', 'epsilon = "1"\nspread = "auto"') + asked)
    page = " ".join(dproof("plan", path, "--rows", 1000).out.split())
    assert "s no information split, no information sample" in page and "n no information" not in page
    told = dproof("plan", path, "--rows", 1000, "--json").json["spread"]["questions"]
    assert [one["informative"]["split"] for one in told] == [False, True]
