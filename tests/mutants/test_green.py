"""A test that fails without the mutant kills nothing: each is seen to pass in the same run, and once is enough."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.mutants import __main__ as run
from tests.mutants.record import Record
from tests.mutants.sampling import Mutant
from tests.mutants.trial import Result

TEST = "tests/test_simplex.py::test_it"


def test_what_passed_in_an_earlier_run_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "src" / "dproof" / "laws").mkdir(parents=True)
    record = Record(tmp_path / "known.json", tmp_path)
    record.seconds[TEST] = 0.5
    tried: list[list[str]] = []
    trial = SimpleNamespace(pid=7, end=lambda status: Result("killed", TEST, {}, {}))
    monkeypatch.setattr(run, "start", lambda *arguments: trial)
    monkeypatch.setattr(run, "_require_green", lambda tests, copy: tried.append(tests))
    monkeypatch.setattr(os, "wait", lambda: (7, 0))
    mutants = [Mutant("laws/simplex.py", "", "x = 1", f"x = {n}", str(n)) for n in (2, 3)]
    assert [verdict for _, verdict, _ in run._outcomes(mutants, [tmp_path], record)] == ["killed", "killed"]
    assert tried == [[TEST]]
