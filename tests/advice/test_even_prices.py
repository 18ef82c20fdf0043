"""± of questions that share a budget: priced as a ledger charges them, and as many can be asked as is said."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

import dproof as dp
from dproof.advice.ways import ways_table
from dproof.curator.account import even_prices

COLUMNS = {"read": {"space": "categories", "values": ["yes", "no"]}}
COUNT = "SELECT count(*) AS n FROM data WHERE read = 'yes'"
TABLE = pa.table({"read": ["yes", "no"] * 500})


@pytest.mark.parametrize("questions", [2, 20])
@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_so_many_questions_can_be_paid_and_no_more(questions: int, delta: str, tmp_path: Path) -> None:
    budget = dp.Privacy(1, delta)
    for n, price in enumerate(even_prices(budget, questions)):
        ledger = dp.Ledger(tmp_path / f"{n}.db", budget=budget)
        for k in range(questions):
            ledger.debit(f"question {k}", price)
        with pytest.raises(dp.OverBudget):
            ledger.debit("one more", price)


@pytest.mark.parametrize(("questions", "in_rho"), [(2, False), (20, True)])
def test_what_is_said_of_many_questions_is_what_a_curator_gives(questions: int, in_rho: bool, tmp_path: Path) -> None:
    plan = {"privacy": {"epsilon": 1, "delta": "1e-6"}, "columns": COLUMNS}
    table = ways_table(plan, rows=1000, questions=[COUNT] * questions)
    assert table.price is not None and (table.price.rho is not None) == in_rho
    curator = dp.Curator(TABLE, plan, ledger=tmp_path / "budget.db")
    price = {"epsilon": table.price.epsilon, "delta": table.price.delta}
    seen = curator.preview(COUNT, **price)
    said = table.answers[0].widths["ask_shared"]
    assert said is not None and said.half_width == seen.half_widths["n"] and seen.times == questions


def test_twenty_counts_are_sharper_in_rho() -> None:
    plan = {"privacy": {"epsilon": 1, "delta": "1e-6"}, "columns": COLUMNS}
    sharp, pure = (
        ways_table({**plan, "privacy": {"epsilon": 1, "delta": delta}}, rows=1000, questions=[COUNT] * 20)
        for delta in ("1e-6", "0")
    )
    widths = [table.answers[0].widths["ask_shared"] for table in (sharp, pure)]
    assert [one and one.half_width for one in widths] == [40.0, 60.0]
    assert pure.price is not None and pure.price.epsilon == Fraction(1, 20)
