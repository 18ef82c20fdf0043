"""Dates in questions: every spelling that SQL has for one is the same question, and a time is refused."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof import InputError

DAYS = [dt.date(2024, 1, 1) + dt.timedelta(days) for days in range(60)]


@pytest.fixture
def curator(tmp_path: Path) -> dp.Curator:
    day = {"space": "date", "low": "2024-01-01", "high": "2024-02-29"}
    plan = {"privacy": {"epsilon": 900}, "columns": {"day": day}}
    return dp.Curator(pa.table({"day": DAYS}), plan, ledger=tmp_path / "budget.db")


def test_every_spelling_of_a_date_is_one_question_and_is_paid_once(curator: dp.Curator) -> None:
    day = "2024-01-31"
    for condition in (
        f"day < '{day}'",
        f"day < DATE '{day}'",
        f"CAST('{day}' AS DATE) > day",
        f"NOT day >= '{day}'::DATE",
    ):
        (row,) = curator.ask(f"SELECT count(*) AS n FROM data WHERE {condition}", epsilon=100).rows
        assert row["n"].estimate == 30
    assert curator.remaining().epsilon == 800
    (row,) = curator.ask("SELECT count(*) AS n FROM data WHERE day IN (DATE '2024-01-31')", epsilon=100).rows
    again = curator.ask(dp.Select().count().where(day=dt.date(2024, 1, 31)), epsilon=100)
    assert row["n"].estimate == again.rows[0]["count"].estimate == 1


@pytest.mark.parametrize(
    ("rest", "problem"),
    [
        # A time would be cut off without a word: 12:00 on a day is after that day began.
        ("WHERE day < '2024-01-31 12:00'", "holds dates, and '2024-01-31 12:00' is not one such as 2024-01-31"),
        ("WHERE day < DATE '2024-01-31T00:00'", "holds dates, and '2024-01-31T00:00' is not one"),
        ("WHERE day < TIMESTAMP '2024-01-31 12:00'", "a value is a number, a text or date in single quotes"),
        ("WHERE day < DATE 5", "a value is a number, a text or date in single quotes"),
        ("HAVING count(*) > '2024-01-31'", "compared in HAVING: compare it with a column after WHERE"),
        ("HAVING median(day) > DATE '2024-01-31'", "compared in HAVING: compare it with a column after WHERE"),
    ],
)
def test_what_is_no_date_is_refused_and_costs_nothing(curator: dp.Curator, rest: str, problem: Any) -> None:
    with pytest.raises(InputError, match=problem):
        curator.ask(f"SELECT count(*) AS n FROM data {rest}", epsilon=100)
    assert curator.remaining().epsilon == 900
