"""Ctrl-C, a request to end, and a kill: one line that is true, the exit code, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import dproof as dp
from dproof import DproofError, meaning
from dproof.cli import demo, output
from dproof.releases import sanitise
from tests.makers import HOBBIES_AND_HOURS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="its signals are others")

ROWS = 20_000_000  # all alike, so that the file is small and quickly made; to draw them takes seconds
SANITISE = ["sanitise", "people.parquet", "--plan", "plan.toml", "--out", "out"]
PAID = ["--ledger", "budget.db"]
ASK = ["ask", "people.parquet", "--plan", "plan.toml", *PAID, "--epsilon", "1"]
MADE = ["people.parquet", "plan.toml"]
# In a terminal: what this program reads is typed there, and it leaves with the code of the command.
TYPED = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("interrupted") / "people.parquet"
    hobbies = pa.DictionaryArray.from_arrays(pa.array(np.zeros(ROWS, np.int8)), ["Cars"])
    pa.parquet.write_table(pa.table({"hobby": hobbies, "hours": pa.array(np.zeros(ROWS, np.int8))}), file)
    return file


@pytest.fixture
def folder(tmp_path: Path, table: Path) -> Path:
    (tmp_path / "people.parquet").symlink_to(table)
    (tmp_path / "plan.toml").write_text(HOBBIES_AND_HOURS, "utf-8")
    return tmp_path


def started(folder: Path, *words: str, typed: bool = False) -> subprocess.Popen[bytes]:
    command = [sys.executable, *(["-c", TYPED, sys.executable] if typed else []), "-m", "dproof", *words]
    return subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "TERM": "dumb", "COLUMNS": "200"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def wait_until(true: Callable[[], bool], running: subprocess.Popen[bytes]) -> None:
    """Wait for a moment in the work of a command that is far from its end."""
    while not true():
        assert running.poll() is None, running.communicate()
        time.sleep(0.01)


def is_drawing(folder: Path) -> bool:
    return any(file.stat().st_size > 4 for file in folder.glob(".out.unfinished-*/release.parquet"))


def is_paid(folder: Path) -> bool:
    try:
        return bool(dp.Ledger(folder / "budget.db").spent().epsilon)
    except DproofError:
        return False


def ended(running: subprocess.Popen[bytes], typed: bytes | None = None) -> tuple[int, str]:
    out, err = running.communicate(typed, timeout=60)
    return running.returncode, (out + err).decode()


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if "budget" not in path.name)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_sanitising_stops_with_one_line_and_leaves_nothing(folder: Path, number: signal.Signals, code: int) -> None:
    running = started(folder, *SANITISE, "--no-ledger")
    wait_until(lambda: is_drawing(folder), running)
    running.send_signal(number)
    running.send_signal(number)  # who is impatient does not stop the tidying
    ended_with, said = ended(running)
    warned, *lines = said.splitlines()
    assert ended_with == code and "no ledger is kept" in warned
    assert lines == ["dproof: interrupted; nothing was written"]
    assert left(folder) == MADE


def test_ctrl_c_in_a_terminal(folder: Path) -> None:
    running = started(folder, *SANITISE, "--no-ledger", typed=True)
    wait_until(lambda: is_drawing(folder), running)
    code, said = ended(running, b"\x03")
    assert code == 130 and said.strip().endswith("dproof: interrupted; nothing was written"), said
    assert left(folder) == MADE


def test_what_is_paid_for_is_told_and_resumed(folder: Path, dproof: Callable[..., Any]) -> None:
    running = started(folder, *SANITISE, *PAID)
    wait_until(lambda: is_drawing(folder), running)
    running.send_signal(signal.SIGINT)
    said = "no release was made, but it is paid for: run the same command again, at no further cost"
    assert ended(running) == (130, f"dproof: interrupted; {said}\n")
    assert left(folder) == MADE
    running = started(folder, *SANITISE, *PAID)  # and once more, without a chance to tidy
    wait_until(lambda: is_drawing(folder), running)
    running.kill()
    assert ended(running) == (-signal.SIGKILL, "")
    assert len(left(folder)) == 3
    assert "release out, paid for and not published yet" in " ".join(dproof("budget", folder / "budget.db").out.split())
    people = pa.parquet.read_table(folder / "people.parquet").slice(0, 1000)
    (folder / "people.parquet").unlink()
    pa.parquet.write_table(people, folder / "people.parquet")
    words = [str(folder / word) if "." in word or word == "out" else word for word in [*SANITISE, *PAID]]
    ran = dproof(*words)
    assert ran.code == 0 and "and not published it: nothing was paid twice" in ran.err
    assert left(folder) == ["out", *MADE]
    told = dproof("budget", folder / "budget.db", "--json").json
    assert told["spent"]["epsilon"] == 2 and [e.get("published") for e in told["entries"]] == [None, True]


def test_a_question_that_was_paid_for_is_told(folder: Path) -> None:
    running = started(folder, *ASK, "SELECT hobby, avg(hours) FROM data GROUP BY hobby")
    wait_until(lambda: is_paid(folder), running)
    running.send_signal(signal.SIGINT)
    code, said = ended(running)
    assert code == 130 and said.count("\n") == 1
    assert said == "dproof: interrupted; the question was paid for and not answered: asking it again costs again\n"


def test_an_interrupted_demo_leaves_no_folder(
    dproof: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(sanitise, "sanitise", interrupted)
    monkeypatch.setattr(demo, "mkdtemp", lambda prefix: str(tmp_path / "made"))
    for words in (["--out", str(tmp_path / "given")], []):
        assert dproof("demo", "--people", 10, *words) == (130, "", "dproof: interrupted; nothing was written\n")
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_native_code_that_makes_another_error_of_a_signal_hides_nothing(
    dproof: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, number: signal.Signals, code: int
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        try:
            signal.raise_signal(number)
        except BaseException:
            raise RuntimeError("Query interrupted") from None  # as DuckDB does

    before = signal.getsignal(number)
    monkeypatch.setattr(meaning, "explain", interrupted)
    assert dproof("explain", "--epsilon", "1") == (code, "", "dproof: interrupted; nothing was written\n")
    assert signal.getsignal(number) is before


def test_a_module_is_loaded_to_its_end_first(
    dproof: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Native code that meets an exception while it is loaded ends the process: duckdb did, after the debit.
    text = "import signal\nsignal.raise_signal(2)\ndone = True\n"
    (tmp_path / "loaded_when_interrupted.py").write_text(text, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    seen = []

    def loading(*_: Any, **__: Any) -> None:
        seen.append(import_module("loaded_when_interrupted").done)
        until = time.monotonic() + 30
        while time.monotonic() < until:
            pass
        seen.append("never stopped")

    monkeypatch.setattr(meaning, "explain", loading)
    assert dproof("explain", "--epsilon", "1") == (130, "", "dproof: interrupted; nothing was written\n")
    assert seen == [True]


def test_what_was_done_before_is_told(
    dproof: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(output, "_write", interrupted)
    out = tmp_path / "out"
    ran = dproof("demo", "--people", 10, "--out", out)
    assert ran == (130, "", f"dproof: interrupted; the demo is in {out}\n")
    assert dp.verify(out / "local") is not None
