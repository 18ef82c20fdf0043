"""The tests of one mutant, in a process that forks from this one, where the libraries are loaded already."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from math import ceil, inf
from pathlib import Path
from typing import NoReturn

import pytest

SURVIVED = "survived"
OPTIONS = (
    "-x",
    "-q",
    "-p",
    "no:cacheprovider",
    "--hypothesis-seed=0",
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
)
LIBRARIES = ("cryptography.hazmat.primitives.ciphers", "duckdb", "flint", "hypothesis", "numpy", "pyarrow", "sqlglot")
MEMORY = 8 << 30  # bytes, so that a mutant cannot fill the machine
SPARE, SLOWER = 60, 10  # a test that takes SPARE seconds more than SLOWER times its usual time never ends
PATIENCE = 1800  # seconds for all tests of a mutant, even if they only wait


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a mutant, and the test that showed it."""

    verdict: str  # "survived", "killed" or "timed out"
    test: str = ""


@dataclass(frozen=True, slots=True)
class Trial:
    """Tests that run in a copy of the project."""

    pid: int
    log: Path

    def end(self, status: int) -> tuple[Outcome, dict[str, float]]:
        """The outcome and the seconds of each test that passed, from the status with which the process ended."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)  # the processes that the tests started
        events = [json.loads(line) for line in self.log.read_text("utf-8").splitlines()] if self.log.exists() else []
        seconds: Counter[str] = Counter()
        for event, test, duration in events:
            if event == "passed":
                seconds[test] += duration
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGALRM):
            return Outcome("timed out", events[-1][1] if events else ""), seconds
        if status == 0:
            return Outcome(SURVIVED), seconds
        return Outcome("killed", next((test for event, test, _ in events if event == "failed"), "")), seconds


def load_libraries() -> None:
    for name in LIBRARIES:
        import_module(name)


def start(copy: Path, tests: list[str], usual: Mapping[str, float], killers: Mapping[str, int]) -> Trial:
    """Run the tests until one fails: those that killed other mutants first, then file by file, quick files first."""
    trial = Trial(os.fork(), copy.with_suffix(".log"))
    if trial.pid == 0:
        try:
            _run(copy, tests, _Plugin(trial.log, usual, killers))
        finally:
            os._exit(70)  # pytest itself failed
    return trial


def _run(copy: Path, tests: list[str], plugin: _Plugin) -> NoReturn:
    os.setsid()
    os.chdir(copy)
    os.environ["PYTHONPATH"] = str(copy / "src")
    for name in [name for name in sys.modules if name.partition(".")[0] in ("tests", "dproof")]:
        del sys.modules[name]  # the copy's are to be imported
    output = os.open(copy.with_suffix(".txt"), os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    plugin.log.unlink(missing_ok=True)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(PATIENCE)
    code = pytest.main([*OPTIONS, *tests], plugins=[plugin])
    sys.stdout.flush()
    os._exit(code)


class _Plugin:
    """Orders the tests, ends one that never ends, and writes down what became of each."""

    def __init__(self, log: Path, usual: Mapping[str, float], killers: Mapping[str, int]) -> None:
        self.log, self.usual, self.killers = log, usual, killers

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        files: defaultdict[Path, float] = defaultdict(lambda: inf)
        for item in items:
            if item.nodeid in self.usual:
                files[item.path] = self.usual[item.nodeid] + files.get(item.path, 0)
        items.sort(key=lambda item: (-self.killers.get(item.nodeid, 0), files[item.path]))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._write("started", nodeid)
        # Time of the processor, not of the clock: on a busy machine a test may take long and yet end.
        used = resource.getrusage(resource.RUSAGE_SELF)
        limit = used.ru_utime + used.ru_stime + SPARE + SLOWER * self.usual.get(nodeid, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (ceil(limit), resource.RLIM_INFINITY))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write("failed", report.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._write("failed" if report.failed else "passed", report.nodeid, report.duration)

    def _write(self, event: str, test: str, seconds: float = 0) -> None:
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"{json.dumps([event, test, seconds])}\n")
