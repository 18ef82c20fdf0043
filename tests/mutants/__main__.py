"""Try a sample of mutants against the tests that concern them: `make test-mutants SEED=1 COUNT=300 JOBS=2`."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from compileall import compile_dir
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from py_compile import PycInvalidationMode
from queue import SimpleQueue
from subprocess import PIPE, STDOUT
from tempfile import TemporaryDirectory

from tests.mutants.concerned_tests import concerned
from tests.mutants.sampling import Mutant, sample

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src" / "dproof"
REPORT = ROOT / "build" / "mutants.md"
SURVIVED = "survived"
TIMEOUT = 240  # seconds for the tests of one mutant: several times what they take
EXPLAINED = re.compile(r"- `(.+?)` → `(.+?)`: (.+)")


def main() -> int:
    options = _options()
    explained = _explained((Path(__file__).parent / "equivalent.md").read_text("utf-8"))
    counted = (mutant for mutant in sample(SOURCE, options.seed) if (mutant.module, *mutant.change) not in explained)
    mutants = list(islice(counted, options.count))
    with TemporaryDirectory(prefix="dproof-mutants-") as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(options.jobs):
            copies.put(_copy(Path(folder) / str(number)))
        _require_green(mutants, copies)
        with ThreadPoolExecutor(options.jobs) as pool:
            outcomes = _watch(mutants, pool.map(lambda mutant: _try(mutant, copies), mutants))
    return int(outcomes[SURVIVED] > 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="which sample (1)")
    parser.add_argument("--count", type=int, default=300, help="how many mutants (300)")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time (1)")
    return parser.parse_args()


def _explained(text: str) -> set[tuple[str, str, str]]:
    """The equivalent mutants, as module, line before and line after."""
    known = set()
    for section in text.split("\n## ")[1:]:
        module, _, lines = section.partition("\n")
        known |= {(module.strip(), before, after) for before, after, _ in EXPLAINED.findall(lines)}
    return known


def _copy(target: Path) -> Path:
    """A copy of the project, so that the source itself is never changed."""
    unneeded = shutil.ignore_patterns("__pycache__", ".*", "build", "site", "dist")
    shutil.copytree(ROOT, target, ignore=unneeded, symlinks=True)
    # Known by a hash: a mutant may have the size and the time of its module.
    compile_dir(target / "src", quiet=1, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
    return target


def _require_green(mutants: Iterable[Mutant], copies: SimpleQueue[Path]) -> None:
    """A test that fails anyway would kill every mutant."""
    copy = copies.get()
    paths = dict.fromkeys(path for mutant in mutants for path in concerned(mutant.module, ROOT))
    outcome = _test(copy, list(paths), timeout=None)
    if outcome != SURVIVED:
        sys.exit(f"without a mutant the tests must pass, but: {outcome}")
    copies.put(copy)


def _try(mutant: Mutant, copies: SimpleQueue[Path]) -> str:
    copy = copies.get()
    file = copy / "src" / "dproof" / mutant.module
    file.write_text(mutant.after, "utf-8")
    try:
        return _test(copy, concerned(mutant.module, ROOT), TIMEOUT)
    finally:
        file.write_text(mutant.before, "utf-8")
        copies.put(copy)


def _test(copy: Path, paths: list[str], timeout: float | None) -> str:
    """What became of the tests in the copy: "survived", "timed out", or "killed by" the first one that failed."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0", *paths]
    environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
    with subprocess.Popen(
        command, cwd=copy, env=environment, stdout=PIPE, stderr=STDOUT, text=True, start_new_session=True
    ) as process:
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # with the processes that the tests started
            return "timed out"
    failures = re.findall(r"^(?:FAILED|ERROR) (\S+)", output, flags=re.MULTILINE)
    return SURVIVED if process.returncode == 0 else f"killed by {failures[0] if failures else 'a crash'}"


def _watch(mutants: list[Mutant], outcomes: Iterable[str]) -> Counter[str]:
    """Print each outcome as it comes, and write those that nobody noticed into the report."""
    REPORT.parent.mkdir(exist_ok=True)
    tally: Counter[str] = Counter()
    with REPORT.open("w", encoding="utf-8") as report:
        for mutant, outcome in zip(mutants, outcomes, strict=True):
            tally[outcome.partition(" by ")[0]] += 1
            print(f"{tally.total()}. {mutant.module}: {' → '.join(mutant.change)}\n   {outcome}", flush=True)
            if outcome == SURVIVED:
                report.write(f"## {mutant.module}, {mutant.operator}\n\n```diff\n{mutant.diff}\n```\n\n")
                report.flush()
        summary = ", ".join(f"{count} {outcome}" for outcome, count in sorted(tally.items()))
        report.write(f"{len(mutants)} mutants: {summary}\n")
    print(f"{len(mutants)} mutants: {summary}; the survivors are in {REPORT.relative_to(ROOT)}")
    return tally


if __name__ == "__main__":
    sys.exit(main())
