"""A budget shows questions about curves as they were asked, and what is paid stays paid."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import log
from pathlib import Path
from typing import Any

import pytest

import dproof as dp
from dproof.curator.account import undercharged_epsilon
from dproof.laws.k_norm import k_norm
from dproof.privacy import Unit
from tests.makers import categories, curves, plan_text

Dproof = Callable[..., Any]
ASKED = "SELECT kind, avg(load) AS curve FROM data GROUP BY kind"
CANONICAL = 'SELECT "kind", avg("load") FROM data WHERE NOT "load" IS NULL GROUP BY "kind"'
PLAN = plan_text({"kind": categories("a", "b"), "load": curves("x", "y", "z", low=0, high=4)}, epsilon="4")


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    data, plan = tmp_path / "data.csv", tmp_path / "plan.toml"
    data.write_text("kind,x,y,z\n" + "a,1,2,3\nb,3,2,1\n" * 50)
    plan.write_text(PLAN)
    return data, plan, tmp_path / "ledger.db"


def test_the_budget_shows_the_question_without_what_only_a_ledger_needs(
    dproof: Dproof, files: tuple[Path, Path, Path]
) -> None:
    data, plan, ledger = files
    ask = ("ask", data, ASKED, "--plan", plan, "--ledger", ledger, "--epsilon", "1")
    assert dproof(*ask).code == 0
    page = " ".join(dproof("budget", ledger).out.split())
    assert "GROUP BY" in page and " -- " not in page and "grid" not in page
    (entry,) = (one for one in dproof("budget", ledger, "--json").json["entries"] if one["kind"] == "question")
    assert entry["question"] == CANONICAL
    (kept,) = (one["key"] for one in dp.Ledger(ledger).entries if one["kind"] == "question")
    assert kept.startswith(f"{CANONICAL} -- on the grid by group -- plan ")
    again = dproof(*ask)
    assert "It was free" in again.out + again.err


EARLIER = f"{CANONICAL} -- on the grid -- plan 0123456789abcdef"


def test_the_budget_counts_what_answers_of_earlier_versions_may_have_cost(dproof: Dproof, tmp_path: Path) -> None:
    """K-norm noise by group at ε ≤ 1/4: leaving one group and entering another was two cells, and one was paid."""
    ledger = dp.Ledger(tmp_path / "ledger.db", budget=dp.Privacy(1))
    ledger.debit(EARLIER, dp.Privacy("0.2"))
    ledger.debit(EARLIER.replace(' GROUP BY "kind"', ""), dp.Privacy("0.1"))
    ledger.debit(EARLIER.replace("grid", "grid by group"), dp.Privacy("0.1"))
    ledger.debit(EARLIER.replace(' GROUP BY "kind"', " WHERE \"kind\" = ' GROUP BY '"), dp.Privacy("0.1"))
    assert ledger.spent().epsilon == Fraction("0.7") and ledger.remaining().epsilon == Fraction("0.3")
    ledger.close()
    told = [one.get("may_have_cost") for one in dproof("budget", ledger.path, "--json").json["entries"]]
    assert told == [None, pytest.approx(0.4), None, None, None]
    page = " ".join(dproof("budget", ledger.path).out.split())
    assert page.count("may have cost ε 0.4") == 1 and "too little noise" in page


def test_with_rho_gaussian_noise_is_known_by_what_it_cuts_off(tmp_path: Path) -> None:
    ledger = dp.Ledger(tmp_path / "ledger.db", budget=dp.Privacy(1, "1e-6"))
    ledger.debit(EARLIER, dp.Cost(Fraction("0.1"), Fraction("1e-6"), Fraction(1, 10**4), Fraction(1, 10**18)))
    assert ledger.spent().rho == Fraction(1, 10**4)
    ledger.debit(EARLIER, dp.Cost(Fraction("0.1"), Fraction("1e-6"), Fraction(1, 10**4)))
    assert float(ledger.spent().rho or 0) == pytest.approx(5e-4, rel=1e-3)  # twice the ε is four times the ρ


@pytest.mark.parametrize("epsilon", ["0.2", "0.5", "1", "1.3", "3", "20"])
@pytest.mark.parametrize("rows", [1, 2, 3, 5])
@pytest.mark.parametrize("neighbours", ["change-one", "add-remove"])
def test_what_they_may_have_cost_is_what_all_moves_cost(epsilon: str, rows: int, neighbours: Any) -> None:
    moves = rows * (2 if neighbours == "change-one" else 1)
    real = []
    for norm, one in (("linf", 16384), ("l2", 18318)):
        law = k_norm(norm, 4, moves * one, Fraction(epsilon))  # type: ignore[arg-type]
        real.append(moves * -(-one // law.cell) * -log(law.fall))
    told = undercharged_epsilon({"key": EARLIER, "epsilon": epsilon}, Unit(neighbours, None, rows))
    assert float(told or Fraction(epsilon)) == pytest.approx(max(real), rel=1e-6)
