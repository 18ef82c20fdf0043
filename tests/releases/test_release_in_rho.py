"""A central release with Gaussian noise is paid for by its ρ, so that questions with a δ stay affordable after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof import ReleasePayment
from dproof.central.recipe import certify_tables

COLUMNS = {f"c{n}": {"space": "categories", "values": ["a", "b", "c"]} for n in range(12)}
TABLE = pa.table({name: ["a", "b", "c"] * 100 for name in COLUMNS})


def plan(delta: Any = "1e-6", epsilon: int = 1, **more: Any) -> dict[str, Any]:
    return {"privacy": {"epsilon": epsilon, "delta": delta, **more}, "columns": COLUMNS}


def released(tmp_path: Path, budget: dp.Privacy, given: dict[str, Any]) -> dp.Ledger:
    ledger = dp.Ledger(tmp_path / "budget.db", budget=budget)
    dp.sanitise(TABLE, given, tmp_path / "out", payment=ReleasePayment(ledger.path, tmp_path / "out"))
    return dp.Ledger(tmp_path / "budget.db")


def test_a_release_with_gaussian_noise_costs_its_rho(tmp_path: Path) -> None:
    central = plan(model="central")
    law = certify_tables(dp.Plan.of(central))
    assert not law.is_pure and law.cost.rho == law.rho() and 0 < law.cost.cut < 1e-12
    ledger = released(tmp_path, dp.Privacy(2, "1e-6"), central)
    standing = ledger.standing()
    assert ledger.counts_rho and standing.spent.rho == law.rho()
    assert standing.remaining.rho == standing.budget.rho - law.rho()
    # As an even part of ε, 1 would be left; in ρ it is more, and questions with a δ can be asked.
    assert standing.remaining.epsilon > dp.Privacy("1.5").epsilon
    curator = dp.Curator(TABLE, plan(epsilon=2), ledger=ledger.path)
    answer = curator.ask("SELECT count(*) AS n FROM data WHERE c0 = 'a'", epsilon="0.5", delta="1e-6")
    assert answer.rows[0]["n"].low is not None


def test_what_is_larger_than_the_rho_of_the_budget_is_still_paid_by_sums(tmp_path: Path) -> None:
    ledger = released(tmp_path, dp.Privacy(1, "1e-6"), plan(model="central"))
    assert not ledger.counts_rho and ledger.remaining() == dp.Cost()


def test_a_release_without_a_delta_costs_what_pure_noise_does(tmp_path: Path) -> None:
    few = {name: COLUMNS[name] for name in ("c0", "c1")}
    given = {"privacy": {"model": "central", "epsilon": 1, "delta": "1e-6"}, "columns": few}
    law = certify_tables(dp.Plan.of(given))
    assert law.is_pure and law.cost.rho is None
    ledger = dp.Ledger(tmp_path / "budget.db", budget=dp.Privacy(2, "1e-6"))
    payment = ReleasePayment(ledger.path, tmp_path / "out")
    dp.sanitise(TABLE.select(list(few)), given, tmp_path / "out", payment=payment)
    spent = dp.Ledger(tmp_path / "budget.db").standing().spent
    assert spent.epsilon == 1 and spent.rho == pytest.approx(0.462117, rel=1e-4)  # ε·tanh(ε/2)
