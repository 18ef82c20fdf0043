"""ROUND(x, n) is shown with n decimals, however wide its interval is."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof import Cell
from dproof.questions.measured import apply
from dproof.questions.question import Applied
from dproof.testing import seeded_coins


@pytest.mark.parametrize(
    ("decimals", "cell", "shown"),
    [
        (1, Cell(2.345, 1.96, 2.73, 0.2, 2.345), "2.3 [2.0, 2.7]"),
        (1, Cell(2.345, 2.30, 2.39, 0.02, 2.345), "2.3 [2.3, 2.4]"),
        (2, Cell(2.345, -10.0, 90.0, 20.0, 2.345), "2.35 [-10.00, 90.00]"),
        (-2, Cell(1234.5, 1100.0, 1400.0, 50.0, 1234.5), "1,200 [1,100, 1,400]"),
        (1, Cell(2.345, 2.345, 2.345), "2.3"),
        (3, Cell(2.5), "2.500"),
    ],
)
def test_a_rounded_number_has_the_decimals_that_were_asked_for(decimals: int, cell: Cell, shown: str) -> None:
    assert str(apply(Applied("round", None, (Fraction(decimals),)), cell)) == shown  # type: ignore[arg-type]


def test_a_number_that_is_calculated_on_is_shown_as_its_interval_allows() -> None:
    tenfold: Any = Applied("*", Applied("round", None, (Fraction(1),)), (Fraction(10),))  # type: ignore[arg-type]
    assert str(apply(tenfold, Cell(2.345, 1.96, 2.73, 0.2, 2.345))) == "23.0 [20.0, 27.0]"


def test_an_answer_to_round_is_printed_with_one_decimal(tmp_path: Path) -> None:
    curator = dp.Curator(
        pa.table({"age": list(range(18, 68)) * 20}),
        {"privacy": {"epsilon": "10"}, "columns": {"age": {"space": "interval", "low": 0, "high": 100}}},
        budget=dp.Privacy(10),
        ledger=tmp_path / "ledger.db",
    )
    with seeded_coins(1):
        answer = curator.ask("SELECT ROUND(AVG(age), 1) AS mean FROM data", epsilon=1)
    (row,) = answer.rows
    assert str(row["mean"]).split()[0] == f"{row['mean'].estimate:.1f}"
    assert all(len(number.strip("[],").partition(".")[2]) == 1 for number in str(row["mean"]).split())


@pytest.mark.parametrize(
    ("function", "numbers"), [("sqrt", ()), ("power", (Fraction(1, 2),)), ("power", (Fraction(3, 2),))]
)
def test_a_root_of_what_is_surely_negative_tells_nothing(function: str, numbers: tuple[Fraction, ...]) -> None:
    rooted: Any = Applied(function, None, numbers)  # type: ignore[arg-type]
    below, across = apply(rooted, Cell(-3.0, -5.0, -1.0, 1.0, -3.0)), apply(rooted, Cell(-1.0, -5.0, 4.0, 2.0, -1.0))
    assert (below.estimate, below.low, below.informative) == (None, None, False)
    assert (across.estimate, across.low) == (0.0, 0.0) and across.high > 0
    assert not apply(rooted, Cell(-3.0, raw=-3.0)).informative  # nor has what was chosen
    assert apply(rooted, -3.0) is None  # what is exact has no root either
