"""Which releases a ledger knows as published: those of the same price, description and plan, by their seals."""

from __future__ import annotations

from pathlib import Path

from dproof import Ledger, Privacy


def test_only_releases_of_the_same_price_description_and_plan_are_named(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "budget.db", budget=Privacy(10))
    first, second = (ledger.release(Privacy(1), "release", plan=plan) for plan in ("one plan", "another"))
    ledger.publish(first, "first seal")
    ledger.publish(second, "second seal")
    ledger.publish(ledger.release(Privacy(1), "release", plan="one plan"))  # it has no seal
    assert ledger.published(Privacy(1), "release", "one plan") == {"first seal"}
    assert ledger.published(Privacy(1), "release", "another") == {"second seal"}
    assert ledger.published(Privacy(2), "release", "one plan") == set()
    assert ledger.published(Privacy(1), "something else", "one plan") == set()
