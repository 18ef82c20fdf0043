"""What an analyst has spent is told as it counts against the analyst's budget, whose δ is not that of the whole."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dproof import Cost, Ledger, Privacy
from dproof.curator.account import rho_for

DELTA = Fraction("1e-7")


def test_rho_is_told_at_the_delta_of_the_analyst(tmp_path: Path) -> None:
    whole = Privacy(1, "1e-6")
    ledger = Ledger(tmp_path / "budget.db", budget=whole, analysts={"ann": Privacy("0.5", DELTA)})
    rho = rho_for(Fraction("0.1"), DELTA)
    for key in ("first", "second"):
        ledger.debit(key, Cost(Fraction("0.1"), Fraction(DELTA), rho), analyst="ann")
    of_ann, of_all = ledger.spent("ann"), ledger.spent()
    assert (of_ann.delta, of_all.delta) == (DELTA, whole.delta) and of_ann.rho == of_all.rho == 2 * rho
    for spent in (of_ann, of_all):
        assert float(rho_for(spent.epsilon, spent.delta)) == pytest.approx(float(2 * rho), rel=1e-6)


def test_an_analyst_who_asked_nothing_has_spent_nothing(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "budget.db", budget=Privacy(1), analysts={"ann": Privacy("0.5"), "bob": Privacy("0.5")})
    ledger.debit("first", Privacy("0.1"), analyst="ann")
    assert ledger.spent("bob") == Cost() and ledger.spent("ann") == ledger.spent() == Cost(Fraction("0.1"))
