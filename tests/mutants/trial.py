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
from dataclasses import dataclass, field
from importlib import import_module
from math import ceil, log10
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import Phase, settings

from tests.mutants.reaching import EVERYTHING, Reached

SURVIVED, KILLED, TIMED_OUT = "survived", "killed", "timed out"
QUIET = ("-W", "ignore::pytest.PytestAssertRewriteWarning")  # of libraries that are loaded already
OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0", *QUIET)
LIBRARIES = ("cryptography.hazmat.primitives.ciphers", "duckdb", "flint", "numpy", "pyarrow", "sqlglot")
MEMORY = 8 << 30  # bytes, so that a mutant cannot fill the machine
SPARE, SLOWER = 20, 10  # a test that takes SPARE seconds more than SLOWER times its usual time never ends
PATIENCE = 1800  # seconds for all tests of a mutant, even if they only wait


@dataclass(frozen=True, slots=True)
class Hints:
    """What earlier trials tell about the tests of one mutant."""

    function: str | None = None  # that has the mutant, as in `reached`; None is outside of functions
    killers: Mapping[str, int] = field(default_factory=dict)  # test to how many mutants of the module it killed
    seconds: Mapping[str, float] = field(default_factory=dict)
    reached: Mapping[str, list[str]] = field(default_factory=dict)  # by test, or by file for its fixtures

    def concern(self, test: str) -> bool:
        """Whether the test may reach the mutant."""
        if self.function is None or test not in self.reached:
            return True
        functions = {*self.reached[test], *self.reached.get(_file(test), ())}
        return not functions.isdisjoint((self.function, EVERYTHING))

    def rank(self, test: str) -> tuple[bool, int, int]:
        """Tests that are known to reach the mutant go first, of these such as killed other mutants, then quick ones.

        In steps of time, since tests of a file share fixtures.
        """
        new = self.function is not None and test not in self.reached
        return new, -self.killers.get(test, 0), ceil(log10(self.seconds.get(test, 0.1) + 0.01))

    def order(self, files: list[str]) -> list[str]:
        """The files by the best rank of the tests that are known to reach the mutant, and else in the order given."""
        best = dict.fromkeys(files, (True, 0, 0))
        for test in self.reached:
            if _file(test) in best and self.function is not None and self.concern(test):
                best[_file(test)] = min(best[_file(test)], self.rank(test))
        return sorted(files, key=best.__getitem__)


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a mutant, which test showed it, and what the tests that passed tell for later trials."""

    verdict: str
    test: str
    seconds: dict[str, float]
    reached: dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Trial:
    """Tests that run in a copy of the project."""

    pid: int
    log: Path

    def end(self, status: int) -> Result:
        """What the log shows, given the status with which the process ended."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)  # the processes that the tests started
        events = [json.loads(line) for line in self.log.read_text("utf-8").splitlines()]
        failed = [test for event, test, *_ in events if event == "failed"]
        seconds: Counter[str] = Counter()
        reached: defaultdict[str, list[str]] = defaultdict(list)
        for event, test, duration, shared, functions in events:
            if event == "passed" and test not in failed:
                seconds[test] += duration
                reached[_file(test) if shared else test] += functions
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGALRM):
            return Result(TIMED_OUT, events[-1][1] if events else "", seconds, reached)
        verdict = SURVIVED if status == 0 else KILLED
        return Result(verdict, failed[0] if failed else "", seconds, reached)


def load_libraries() -> None:
    for name in LIBRARIES:
        import_module(name)


def start(copy: Path, tests: list[str], hints: Hints) -> Trial:
    """Run those of the tests that concern the mutant, until one fails."""
    trial = Trial(os.fork(), copy.with_suffix(".log"))
    if trial.pid == 0:
        try:
            _run(copy, tests, _Plugin(trial.log, hints))
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
    plugin.log.write_text("")
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(PATIENCE)
    # In the background of a shell it is ignored, also by the commands that tests start and interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    plugin.reached.follow()
    sys.path.insert(0, str(copy / "src"))
    with suppress(Exception):  # of the mutant, which pytest is to meet
        _import_source(tests)
    for file in plugin.hints.order(tests):  # one at a time: most mutants fall before the other files are imported
        code = pytest.main([*OPTIONS, file], plugins=[plugin])
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            break
    else:
        code = pytest.ExitCode.OK
    sys.stdout.flush()
    os._exit(code)


def _import_source(tests: list[str]) -> None:
    """Import the modules among the tests: pytest would give them code of its own, which tells nothing."""
    for path in (Path(test) for test in tests):
        if path.parts[0] == "src":
            import_module(".".join(path.with_suffix("").parts[1:]))


class _Plugin:
    """Chooses and orders the tests, ends one that never ends, and logs what became of each and what it reached."""

    def __init__(self, log: Path, hints: Hints) -> None:
        self.log, self.hints = log, hints
        self.reached = Reached(log.with_suffix("") / "src" / "dproof")

    def pytest_sessionstart(self) -> None:
        generating = [phase for phase in Phase if phase not in (Phase.shrink, Phase.explain)]
        settings.register_profile("mutants", settings.default, phases=generating)  # any example shows a mutant
        settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if self.hints.concern(item.nodeid)), key=lambda item: self.hints.rank(item.nodeid)
        )

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._write("started", nodeid)
        # Time of the processor, not of the clock: on a busy machine a test may take long and yet end.
        used = resource.getrusage(resource.RUSAGE_SELF)
        limit = used.ru_utime + used.ru_stime + SPARE + SLOWER * self.hints.seconds.get(nodeid, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (ceil(limit), resource.RLIM_INFINITY))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write("failed", report.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        event = "failed" if report.failed else "passed"
        self._write(event, report.nodeid, report.duration, report.when == "setup", self.reached.take())

    def _write(self, *event: Any) -> None:
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"{json.dumps([*event, 0, False, []][:5])}\n")


def _file(test: str) -> str:
    return test.partition("::")[0]
