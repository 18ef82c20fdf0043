"""A question that was stopped between its debit and its answer is shown as what it is, and is counted once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dproof import Ledger, Privacy


def test_a_question_without_an_answer_is_shown_as_such(tmp_path: Path, dproof: Callable[..., Any]) -> None:
    ledger = Ledger(tmp_path / "budget.db", budget=Privacy(1))
    answered = ledger.debit("SELECT count(*) FROM data", Privacy("0.25"))
    ledger.store(answered, {"sums": [1]})
    ledger.debit("SELECT count(*) FROM data WHERE stopped", Privacy("0.5"))  # and then the power fails
    ledger.close()
    page = " ".join(dproof("budget", tmp_path / "budget.db").out.split())
    assert "remaining ε 0.25" in page and page.count("without a stored answer") == 1
    assert page.index("WHERE stopped") < page.index("without a stored answer")
