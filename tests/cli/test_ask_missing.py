"""`dproof ask` on a file with blanks, and with very many groups, as a person meets them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.makers import interval, plan_text, subsets

PLAN = plan_text(
    {
        "salary": interval(0, 200000),
        "likes": subsets("i0", "i1", "i2", "i3", "i4", "i5", "i6", "i7", "i8", "i9", "i10", separator=";"),
    },
    epsilon="900",
)


@pytest.fixture
def staff(tmp_path: Path) -> Path:
    lines = ['"65,000",i1' if n % 10 == 0 else ",i2" if n % 4 == 0 else "50000,i3" for n in range(400)]
    Path(tmp_path, "plan.toml").write_text(PLAN)
    Path(tmp_path, "filled.toml").write_text(PLAN.replace("step = 1", "step = 1\nmissing = 40000"))
    path = tmp_path / "staff.csv"
    path.write_text("\n".join(["salary,likes", *lines]) + "\n")
    return path


@pytest.fixture
def ask(staff: Path, dproof: Callable[..., Any]) -> Callable[..., Any]:
    def run(question: str, *more: object, plan: str = "plan.toml") -> Any:
        ledger = staff.with_name(f"{plan}.db")
        return dproof("ask", staff, question, "--plan", staff.with_name(plan), "--ledger", ledger, *more)

    return run


def test_blanks_and_texts_are_missing(ask: Callable[..., Any]) -> None:
    missing = ask("SELECT count(*) AS n FROM data WHERE salary IS NULL", "--epsilon", 100)
    assert missing.code == 0 and "120 ± 0" in missing.out and "exact" not in missing.out
    mean = ask("SELECT avg(salary) AS a, count(salary) AS c FROM data", "--epsilon", 300, "--json").json["rows"][0]
    assert abs(mean["a"]["estimate"] - 50_000) < 100 and mean["c"]["estimate"] == 280


def test_a_stand_in_is_told_with_the_answer_and_the_preview(ask: Callable[..., Any]) -> None:
    said = "Where 'salary' is missing it counts as 40,000, as the plan says."
    for more in ([], ["--preview"], ["--json"], ["--preview", "--json"]):
        found = ask("SELECT count(*) AS n FROM data WHERE salary > 45000", "--epsilon", 100, *more, plan="filled.toml")
        assert found.code == 0 and said in found.out
    assert said not in ask("SELECT count(*) AS n FROM data WHERE salary > 45000", "--epsilon", 100).out


def test_very_many_groups_need_all(ask: Callable[..., Any], staff: Path) -> None:
    asked = ("SELECT likes, count(*) AS n FROM data GROUP BY likes", "--epsilon", 100)
    for more in ([], ["--preview"], ["--json"]):
        code, out, err = ask(*asked, *more)
        assert (
            (code, bool(out)) == (2, more == ["--json"])
            and "2,048 groups" in err
            and "--all" in err
            and "all_groups" not in err
        )
    assert not staff.with_name("plan.toml.db").exists()
    found = ask(*asked, "--all", "--json").json
    assert len(found["rows"]) == 2048 and found["remaining"]["epsilon"] == 800
