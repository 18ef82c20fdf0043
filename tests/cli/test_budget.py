"""`dproof ask` and `dproof budget` under a budget with δ: what is bought, what is left, in figures and in words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dproof import Ledger, Privacy
from tests.makers import interval, plan_text

PLAN = plan_text({"age": interval(0, 99)}, epsilon="1", delta="{delta}", neighbours="add-remove")
COUNT = "SELECT count(*) AS n FROM data WHERE age < 30"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text("age\n" + "\n".join(str(n % 100) for n in range(500)) + "\n")
    (tmp_path / "plan.toml").write_text(PLAN.format(delta="1e-6"))
    (tmp_path / "pure.toml").write_text(PLAN.format(delta="0"))
    return tmp_path


@pytest.fixture
def ask(folder: Path, dproof: Callable[..., Any]) -> Callable[..., Any]:
    def run(*arguments: object, plan: str = "plan.toml", ledger: str = "budget.db") -> Any:
        return dproof("ask", folder / "people.csv", "--plan", folder / plan, "--ledger", folder / ledger, *arguments)

    return run


def test_figures_of_a_budget_with_delta(folder: Path, ask: Callable[..., Any], dproof: Callable[..., Any]) -> None:
    seen = ask("--epsilon", "0.1", "--delta", "1e-8", "--preview", "--json", COUNT).json
    assert seen["cost"] == {"epsilon": 0.1, "delta": 1e-8, "rho": pytest.approx(0.000207764, rel=1e-5)}
    assert seen["remaining"] == {"epsilon": 1.0, "delta": 1e-6, "rho": pytest.approx(0.0242146, rel=1e-5)}
    answer = ask("--epsilon", "0.1", "--delta", "1e-8", "--json", COUNT).json
    assert "rho 0.000207764" in answer["notes"][0] and answer["method"].startswith("Gaussian")
    told = dproof("budget", folder / "budget.db", "--json").json
    assert told["remaining"] == answer["remaining"] and told["accounting"].startswith("zCDP")
    assert told["budget"]["rho"] == pytest.approx(told["spent"]["rho"] + told["remaining"]["rho"])
    assert told["budget"]["epsilon"] == 1 and told["budget"]["delta"] == told["remaining"]["delta"] == 1e-6
    assert 0.99 < told["remaining"]["epsilon"] < 1 and 0 < told["spent"]["epsilon"] < 0.1
    asked = told["entries"][1]
    assert asked["rho"] == pytest.approx(0.000207764, rel=1e-5) and "cut" not in asked
    # What is left can be bought, and then nothing is.
    left = told["remaining"]
    rest = ask("--epsilon", left["epsilon"], "--delta", left["delta"], "--json", "SELECT sum(age) AS s FROM data")
    assert rest.code == 0 and rest.json["remaining"]["rho"] < 1e-7


def test_words_of_a_budget_with_delta(folder: Path, ask: Callable[..., Any], dproof: Callable[..., Any]) -> None:
    seen = ask("--epsilon", "0.1", "--delta", "1e-8", "--preview", COUNT)
    assert "enough for 116 questions at this price" in seen.out
    assert not (folder / "budget.db").exists()
    page = dproof("budget", folder / "budget.db", "--plan", folder / "plan.toml").out
    page = " ".join(page.split())
    assert "about 31 more counts at ± 50, each asked with a δ" in page and "ρ" not in page  # nothing is paid in it yet
    # As it says, and one more: a price has three digits.
    wide = ask("--accuracy", "50", "--delta", "1e-8", "--preview", COUNT)
    assert "± 50" in wide.out and "enough for 32 questions" in wide.out
    ask("--epsilon", "0.1", "--delta", "1e-6", "SELECT count(*) AS n FROM data WHERE age > 60")
    page = " ".join(dproof("budget", folder / "budget.db").out.split())
    told = dproof("budget", folder / "budget.db", "--json").json
    part = 100 * told["spent"]["rho"] / told["budget"]["rho"]
    assert page.startswith(f"You have spent {part:.3g}% of the budget (ε 1, δ 1e-06); that leaves about ")
    assert f"{part:.3g}%, by all answers together" in page and f"{100 - part:.3g}%, for one more" in page
    (folder / "budget.db").unlink()
    ask("--epsilon", "1", "--delta", "1e-6", COUNT)
    page = dproof("budget", folder / "budget.db").out
    assert page.startswith("You have spent ε 1 of 1; nothing is left to spend.") and "of 0.0242146 spent" in page
    over = ask("--epsilon", "0.1", "--delta", "1e-8", "SELECT count(*) AS n FROM data")
    assert over.code == 1 and "what is left is epsilon 0 and delta 0 (rho 0)" in over.err


def test_a_budget_without_delta_tells_no_rho(folder: Path, ask: Callable[..., Any], dproof: Callable[..., Any]) -> None:
    answer = ask("--epsilon", "0.25", "--json", COUNT, plan="pure.toml", ledger="pure.db").json
    assert answer["remaining"] == {"epsilon": 0.75, "delta": 0.0}
    told = dproof("budget", folder / "pure.db", "--json").json
    assert told["accounting"].startswith("basic composition")
    assert set(told["budget"]) == set(told["spent"]) == set(told["remaining"]) == {"epsilon", "delta"}
    assert "about 50 more counts at ± 200" in dproof("budget", folder / "pure.db").out


def test_analysts_under_a_budget_with_delta(folder: Path, ask: Callable[..., Any], dproof: Callable[..., Any]) -> None:
    dproof("budget", folder / "budget.db", "--plan", folder / "plan.toml", "--analyst", "ann", "--epsilon", "0.5")
    dproof("budget", folder / "budget.db", "--analyst", "bob", "--epsilon", "0.5", "--delta", "1e-7")
    refused = ask("--analyst", "ann", "--epsilon", "0.1", "--delta", "1e-8", COUNT)
    assert refused.code == 1 and "nothing was spent" in refused.err
    assert ask("--analyst", "bob", "--epsilon", "0.1", "--delta", "1e-8", COUNT).code == 0
    told = {one["name"]: one for one in dproof("budget", folder / "budget.db", "--json").json["analysts"]}
    ann, bob = told["ann"], told["bob"]
    assert ann["remaining"] == {"epsilon": 0.5, "delta": 0.0, "rho": pytest.approx(0.0240068, rel=1e-4)}
    assert bob["budget"] == {"epsilon": 0.5, "delta": 1e-7}
    assert 0.48 < bob["remaining"]["epsilon"] < 0.5 and bob["remaining"]["delta"] == 1e-7


def test_a_release_with_the_whole_delta_is_paid_from_a_ledger_that_was_begun(
    folder: Path, ask: Callable[..., Any], dproof: Callable[..., Any]
) -> None:
    """Of it no ρ is known: as the first expense it is paid by sums, and so is what follows."""
    (folder / "plan.toml").write_text(PLAN.format(delta="1e-6").replace("add-remove", "change-one"))
    ledger = folder / "budget.db"
    assert dproof("budget", ledger, "--plan", folder / "plan.toml", "--json").json["accounting"].startswith("zCDP")
    paid = ("--plan", folder / "plan.toml", "--ledger", ledger, "--out")
    assert dproof("sanitise", folder / "people.csv", *paid, folder / "one").code == 0
    told = dproof("budget", ledger, "--json").json
    assert told["accounting"].startswith("basic") and told["remaining"] == {"epsilon": 0.0, "delta": 0.0}
    assert dproof("sanitise", folder / "people.csv", *paid, folder / "two").code == 1
    # After a question has told something, it comes too late.
    assert ask("--epsilon", "0.1", "--delta", "1e-9", COUNT, ledger="late.db").code == 0
    late = ("--plan", folder / "plan.toml", "--ledger", folder / "late.db", "--out", folder / "late")
    refused = dproof("sanitise", folder / "people.csv", *late)
    assert refused.code == 1 and "nothing was spent" in refused.err and not (folder / "late").exists()


@pytest.mark.parametrize(
    ("epsilon", "words"),
    [
        ("1000", "about 500 more counts at ± 1"),
        ("0.001", "about 33 more counts at ± 100,000"),
        ("1e-20", "too little is left for a count"),
        ("1e-320", "too little is left for a count"),
        ("1e-390", "nothing is left to spend"),
        ("0", "nothing is left to spend"),
    ],
)
def test_words_for_every_budget(epsilon: str, words: str, folder: Path, dproof: Callable[..., Any]) -> None:
    (folder / "plan.toml").write_text(PLAN.format(delta="0").replace('epsilon = "1"', f'epsilon = "{epsilon}"'))
    ran = dproof("budget", folder / "budget.db", "--plan", folder / "plan.toml")
    assert ran.code == 0 and words in ran.out


# A question that was stopped between its debit and its answer is shown as what it is, and is counted once -------------


def test_a_question_without_an_answer_is_shown_as_such(tmp_path: Path, dproof: Callable[..., Any]) -> None:
    ledger = Ledger(tmp_path / "budget.db", budget=Privacy(1))
    answered = ledger.debit("SELECT count(*) FROM data", Privacy("0.25"))
    ledger.store(answered, {"sums": [1]})
    ledger.debit("SELECT count(*) FROM data WHERE stopped", Privacy("0.5"))  # and then the power fails
    ledger.close()
    page = " ".join(dproof("budget", tmp_path / "budget.db").out.split())
    assert "remaining ε 0.25" in page and page.count("without a stored answer") == 1
    assert page.index("WHERE stopped") < page.index("without a stored answer")


def test_what_is_counted_keeps_to_its_indent(tmp_path: Path, dproof: Callable[..., Any]) -> None:
    who = "a column that says whose row it is"
    text = f'[privacy]\nepsilon = 1\nperson = "{who}"\nrows_per_person = 2\n[columns.x]\nspace = "categories"\n'
    (tmp_path / "plan.toml").write_text(f'{text}values = ["a", "b"]\n[columns."{who}"]\ndrop = true\n')
    (tmp_path / "x.csv").write_text(f"x,{who}\na,1\n")
    assert dproof("budget", tmp_path / "x.ledger", "--plan", tmp_path / "plan.toml").code == 0
    lines = dproof("budget", tmp_path / "x.ledger").out.splitlines()
    (at,) = (n for n, line in enumerate(lines) if line.startswith("counted    change-one"))
    assert lines[at + 1].startswith(" " * 11) and lines[at + 1].strip()
