"""`dproof plan` says which numbers are for conditions, and which for sums and means only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.makers import AGE, SEX, interval, plan_text

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
    assert not any(each["kind"] == "bins" and each["columns"] == ["hours"] for each in found["advice"])
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
