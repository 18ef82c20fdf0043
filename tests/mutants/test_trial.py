"""A trial: a mutant is noticed, and tests that cannot reach it are left out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.__main__ import ROOT
from tests.mutants.reaching import EVERYTHING
from tests.mutants.record import Record
from tests.mutants.sampling import Mutant
from tests.mutants.trial import Hints, Result

MODULE = """
def double(x):
    '''
    >>> double(2)
    4
    '''
    return 2 * x


def forever(x):
    while x:
        x = x * 1
    return x


LIMIT = 3
"""
TESTS = """
from dproof.laws.law import double, forever

def test_forever():
    assert forever(0) == 0

def test_double():
    assert double(3) == 6
"""
OPTIONS = """
[tool.pytest.ini_options]
pythonpath = ["src"]
addopts = ["--import-mode=importlib", "--doctest-modules"]
"""
SCRIPT = """
import json, os, sys
from pathlib import Path
from tests.mutants import trial
trial.SPARE = 1
running = trial.start(Path(sys.argv[1]), ["src/dproof/laws/law.py", "test_law.py"], trial.Hints())
result = running.end(os.waitpid(running.pid, 0)[1])
print(json.dumps([result.verdict, result.test, result.reached]))
"""


def _tried(folder: Path, module: str) -> list[object]:
    laws = folder / "src" / "dproof" / "laws"
    laws.mkdir(parents=True)
    (laws / "law.py").write_text(module, "utf-8")
    (folder / "test_law.py").write_text(TESTS, "utf-8")
    (folder / "pyproject.toml").write_text(OPTIONS, "utf-8")
    (folder / "src" / "dproof" / "__init__.py").touch()
    (laws / "__init__.py").touch()
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    outcome: list[object] = json.loads(run.stdout)
    return outcome


def test_a_trial_tells_what_failed_and_what_was_reached(tmp_path: Path) -> None:
    reached = {
        "src/dproof/laws/law.py": [],
        "src/dproof/laws/law.py::dproof.laws.law.double": ["law.py:double"],
        "test_law.py": [],
        "test_law.py::test_forever": ["law.py:forever"],
        "test_law.py::test_double": ["law.py:double"],
    }
    assert _tried(tmp_path / "same", MODULE) == ["survived", "", reached]
    verdict, test, reached = _tried(tmp_path / "killed", MODULE.replace("2 * x", "2 + x"))
    assert (verdict, test) == ("killed", "test_law.py::test_double") and "test_law.py::test_double" not in reached


def test_a_test_that_never_ends_is_stopped(tmp_path: Path) -> None:
    assert _tried(tmp_path / "copy", MODULE.replace("while x", "while not x"))[:2] == [
        "timed out",
        "test_law.py::test_forever",
    ]


def test_only_tests_that_may_reach_the_mutant_concern_it() -> None:
    reached = {"a.py::one": ["f"], "a.py::two": [], "a.py": ["h"], "b.py::other": [EVERYTHING]}
    concern = Hints(function="f", reached=reached).concern
    assert concern("a.py::one") and not concern("a.py::two")
    assert concern("b.py::other") and concern("c.py::new")  # it starts a process; it was never run
    assert Hints(function="h", reached=reached).concern("a.py::two")  # through a fixture
    assert Hints(function=None, reached=reached).concern("a.py::two")  # a mutant outside of functions


def test_killers_go_first_and_then_quick_tests() -> None:
    rank = Hints(killers={"a": 1, "b": 2}, seconds={"c": 0.01, "d": 20}).rank
    assert sorted("dcab", key=rank) == ["b", "a", "c", "d"]


def test_tests_that_reach_the_mutant_go_before_those_that_were_never_run() -> None:
    rank = Hints("f", killers={"a": 1}, seconds={"c": 0.01, "d": 20}, reached={"c": ["f"], "d": ["f"]}).rank
    assert sorted("adc", key=rank) == ["c", "d", "a"]


def test_files_that_reach_the_mutant_go_first_and_the_others_as_they_are_given() -> None:
    reached = {"b.py::one": ["g"], "c.py::one": ["f"], "d.py::one": ["f"]}
    hints = Hints("f", killers={"d.py::one": 1}, seconds={"b.py::one": 0.01, "c.py::one": 0.02}, reached=reached)
    assert hints.order(["a.py", "b.py", "c.py", "d.py"]) == ["d.py", "c.py", "a.py", "b.py"]


@pytest.mark.parametrize(("old", "function"), [("2 * x", "double"), ("while x", "forever"), ("LIMIT = 3", None)])
def test_the_function_with_the_mutant(old: str, function: str | None) -> None:
    assert Mutant("laws/law.py", "", MODULE, MODULE.replace(old, "other"), "").function == function


def test_an_outcome_is_known_until_its_tests_change(tmp_path: Path) -> None:
    mutant, other = (Mutant("laws/simplex.py", "", MODULE, MODULE.replace("3", new), new) for new in "45")
    for name in ("simplex", "release_query"):
        (tmp_path / "tests").mkdir(exist_ok=True)
        (tmp_path / "tests" / f"test_{name}.py").write_text("", "utf-8")
    known = tmp_path / "known.json"
    record = Record(known, tmp_path)
    assert record.outcome(mutant) is None
    test = "tests/test_simplex.py::test_it"
    record.add(mutant, Result("killed", test, {test: 0.5}, {test: ["f"]}))
    record.add(other, Result("survived", "", {}, {}))
    again = Record(known, tmp_path)
    assert again.outcome(mutant) == ("killed", test) and again.outcome(other) == ("survived", "")
    assert again.hints(other).killers == {test: 1} and again.hints(other).reached == {test: ["f"]}
    (tmp_path / "tests" / "test_release_query.py").write_text("changed", "utf-8")
    again = Record(known, tmp_path)
    assert again.outcome(mutant) == ("killed", test) and again.outcome(other) is None
    (tmp_path / "tests" / "test_simplex.py").write_text("changed", "utf-8")
    again = Record(known, tmp_path)
    assert again.outcome(mutant) is None and not again.hints(other).reached
