"""A command ends its process at once when its work is done, and loses nothing by it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PLAN = '[privacy]\nepsilon = 2\n[columns.read]\nspace = "categories"\nvalues = ["yes", "no"]\n'
# `late` is what Python would take apart at its end.
RUN = """
import sys
from dproof.cli.app import main
class Late:
    def __del__(self):
        sys.stderr.write("taken apart")
late = Late()
main()
"""
# As a library does that has something to close.
CLOSING = """
import atexit
from dproof.cli import app
run = app._run
def then(words):
    atexit.register(print, "closed")
    run(words)
app._run = then
app.main()
"""
FIRST = ["ask", "people.csv", "--plan", "plan.toml", "--ledger", "budget.db", "--epsilon", "1"]
QUESTION = "SELECT count(*) AS n FROM data WHERE read = 'yes'"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plan.toml").write_text(PLAN, "utf-8")
    (tmp_path / "people.csv").write_text("read\n" + "yes\nno\nyes\n" * 30, "utf-8")
    return tmp_path


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True)


def test_modules_are_not_taken_apart(folder: Path) -> None:
    ran = run(folder, "-c", RUN, "explain", "--epsilon", "1")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.endswith("\n")


def test_what_was_registered_to_be_closed_is_closed(folder: Path) -> None:
    ran = run(folder, "-c", CLOSING, "--version")
    assert (ran.returncode, ran.stdout.splitlines()[1:]) == (0, ["closed"])


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([*FIRST, QUESTION], 0),
        ([*FIRST[:-1], "3", QUESTION], 1),  # over budget
        ([*FIRST, "SELECT name FROM data"], 2),
        (["no-such-command"], 2),
        (["--help"], 0),
    ],
)
def test_the_exit_code_is_that_of_the_command(folder: Path, words: list[str], code: int) -> None:
    ran = run(folder, "-m", "dproof", *words)
    assert ran.returncode == code
    assert bool(ran.stderr) == (code != 0)


def test_the_ledger_is_one_file_afterwards(folder: Path) -> None:
    for epsilon in ("0.1", "0.2"):
        assert run(folder, "-m", "dproof", *FIRST[:-1], epsilon, QUESTION).returncode == 0
    assert sorted(path.name for path in folder.iterdir()) == ["budget.db", "people.csv", "plan.toml"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
@pytest.mark.parametrize("closed", [">&-", "2>&-"])
def test_a_closed_stream_is_no_fault(folder: Path, closed: str) -> None:
    ran = subprocess.run(
        ["sh", "-c", f'"$0" -m dproof --version {closed}', sys.executable], cwd=folder, capture_output=True, text=True
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_profiler_sees_the_end(folder: Path) -> None:
    ran = run(folder, "-m", "cProfile", "-o", "profile", "-m", "dproof", "--version")
    assert ran.returncode == 0
    assert (folder / "profile").stat().st_size > 0
