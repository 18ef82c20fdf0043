"""The text of a plan is parsed when it is read, and for the first question; not for each."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pyarrow as pa
import pytest

import dproof as dp


def test_a_second_question_does_not_parse_the_plan_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = {"privacy": {"epsilon": 9}, "columns": {"age": {"space": "interval", "low": 0, "high": 110, "step": 1}}}
    curator = dp.Curator(pa.table({"age": [30, 40]}), plan, ledger=tmp_path / "ledger.db")
    curator.ask("SELECT avg(age) FROM data", epsilon=1)
    parsed: list[str] = []
    monkeypatch.setattr(tomllib, "loads", parsed.append)
    curator.ask("SELECT avg(age) FROM data", epsilon=2)
    assert parsed == []
