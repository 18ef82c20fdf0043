"""The ± that `dproof plan` tells of columns and of questions: both are exact, of different tables, and say which."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

import dproof as dp
from dproof.plans.reader import to_toml
from tests.makers import AGE, AGE_IN_BINS, SEX, interval, plan_text, row_law

ROWS = 2000
TOWN = {"space": "categories", "values": [f"v{n}" for n in range(40)], "mechanism": "frequency"}


def written(folder: Path, **plan: Any) -> Path:
    path = folder / "plan.toml"
    path.write_text(to_toml(plan), "utf-8")
    return path


def test_columns_are_told_for_the_worst_table_and_questions_for_an_even_one(
    tmp_path: Path, dproof: Callable[..., Any]
) -> None:
    plan = written(tmp_path, privacy={"epsilon": 3}, columns={"town": TOWN})
    asked = ("--rows", ROWS, "--question", "SELECT count(*) FROM release WHERE town = 'v0'")
    told = dproof("plan", plan, *asked, "--json").json
    (group,) = row_law(dp.Plan.read(plan)).groups
    hit, miss = map(float, group.mechanism.family.support_probabilities)
    for held, width in ((ROWS, told["columns"][0]["half_width"]), (ROWS / 40, told["questions"][0]["release"])):
        variance = held * hit * (1 - hit) + (ROWS - held) * miss * (1 - miss)
        assert width == pytest.approx(1.959964 * sqrt(variance) / (hit - miss), rel=1e-6)
    page = " ".join(dproof("plan", plan, *asked).out.split())
    assert "±: for the worst table" in page and "above it is for evenly spread values" in page


def test_all_pairs_are_asked_only_where_nothing_says_less(tmp_path: Path, dproof: Callable[..., Any]) -> None:
    columns = {name: {"space": "categories", "values": [1, 2, 3, 4]} for name in "abcde"}
    promise = {"epsilon": 2, "spread": "sample"}
    told = dproof("plan", written(tmp_path, privacy=promise, columns=columns), "--rows", ROWS, "--json").json
    (hint,) = told["hints"]
    assert hint["kind"] == "questions" and "one of all 10 pairs of columns" in hint["text"]
    single = [{"sql": f"SELECT {name}, count(*) FROM release GROUP BY {name}"} for name in columns]
    plan = written(tmp_path, privacy=promise, columns=columns, questions=single)
    after = dproof("plan", plan, "--rows", ROWS, "--json").json
    assert after["hints"] == [] and hint["half_width"] == max(column["half_width"] for column in after["columns"])
    assert hint["instead_of"] == max(column["half_width"] for column in told["columns"]) > hint["half_width"]


# `dproof plan` says which numbers are for conditions, and which for sums and means only -------------------------------


PLAN = plan_text({"hours": interval(1, 99, bins=[1, 40, 41, 99]), "age": AGE, "sex": SEX}, epsilon=4)


def test_numbers_with_bins_answer_conditions(tmp_path: Path, dproof: Callable[..., Any]) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(PLAN)
    columns = dproof("plan", file, "--rows", 1000, "--json").json["columns"]
    assert {column["name"]: column["conditions"] for column in columns} == {"hours": True, "age": False, "sex": None}
    page = " ".join(dproof("plan", file).out.split())
    assert "Numbers for conditions: hours." in page
    assert "Numbers for sums and means only: age." in page


def test_questions_with_conditions_choose_bins(tmp_path: Path, dproof: Callable[..., Any]) -> None:
    """The edges of every condition, with the ± that they lead to; a number that is averaged keeps its noise."""
    file = tmp_path / "plan.toml"
    plain = PLAN.replace("bins = [1, 40, 41, 99]\n", "")
    questions = (
        "SELECT count(*) AS n FROM release WHERE hours = 40 AND sex = 'f'",
        "SELECT bin(hours, 50) AS b, count(*) AS n FROM release GROUP BY bin(hours, 50)",
        "SELECT avg(age) AS a FROM release WHERE age < 30",
    )
    file.write_text(plain + "".join(f'[[questions]]\nsql = "{sql}"\n' for sql in questions))
    chosen = dproof("plan", file, "--rows", 9000, "--json").json["columns"]
    assert chosen[0]["chosen_bins"] == [["[1, 40)", "[40, 41)", "[41, 50)", "[50, 99]"]]
    assert [column["chosen_bins"] for column in chosen[1:]] == [None] * (len(chosen) - 1)
    page = " ".join(dproof("plan", file, "--rows", 9000).out.split())
    assert (
        "Bins for what the questions ask" in page
        and 'mechanism = "laplace", or ask for them in the plan: hours 4.' in page
    )
    file.write_text(file.read_text().replace("high = 99\n", "high = 99\nbins = [1, 40, 41, 50, 99]\n", 1))
    found = dproof("plan", file, "--rows", 9000, "--json").json
    assert not any(each["kind"] == "bins" and each["columns"] == ["hours"] for each in found["hints"])
    assert found["columns"][0]["half_width"] == chosen[0]["half_width"]


def test_a_number_with_bins_is_counted_by_a_curator_too(tmp_path: Path, dproof: Callable[..., Any]) -> None:
    """The ± that `dproof ask` is said to give is that of a count, and no number is released beyond its range."""
    file = tmp_path / "plan.toml"
    file.write_text(PLAN.replace("epsilon = 4", "epsilon = 1").split("[columns.age]")[0])
    page = " ".join(dproof("plan", file, "--rows", 1000).out.split())
    assert "`dproof ask` at the same ε gives a count to ± 3, for one question" in page
    assert "beyond their range" not in page and "the error is the chance of another bin" in page
    file.write_text(PLAN)
    assert "beyond their range" in " ".join(dproof("plan", file).out.split())


# A ± that leaves out nothing that is possible is told as what it is: no information -----------------------------------


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
FIRST = (["1.", "s"], ["3.", "a"])  # words of a line of the table
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
    deviation, few = (next(line for line in lines if line[:2] == start) for start in FIRST)
    rare = [line for line in lines if line[:1] == ["(uneven)"]][-1]
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
