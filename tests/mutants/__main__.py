"""Try a sample of mutants against the tests that concern them: `make test-mutants SEED=1 COUNT=300 JOBS=2`."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from compileall import compile_dir
from itertools import islice
from pathlib import Path
from py_compile import PycInvalidationMode
from tempfile import TemporaryDirectory

from tests.mutants.concerned_tests import concerned
from tests.mutants.reaching import telling
from tests.mutants.record import Record
from tests.mutants.sampling import Mutant, modules, sample
from tests.mutants.trial import SURVIVED, Hints, Trial, load_libraries, start

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src" / "dproof"
REPORT = ROOT / "build" / "mutants.md"
SAMPLED = ROOT / "build" / "mutants_sampled.json"
EXPLAINED = re.compile(r"- `(.+?)` → `(.+?)`: (.+)")


def main() -> int:
    options = _options()
    explained = _explained((Path(__file__).parent / "equivalent.md").read_text("utf-8"))
    REPORT.parent.mkdir(exist_ok=True)
    known = json.loads(SAMPLED.read_text("utf-8")) if SAMPLED.exists() else {}
    sampled = sample(SOURCE, options.seed, known)
    counted = (mutant for mutant in sampled if (mutant.module, *mutant.change) not in explained)
    mutants = list(islice(counted, options.count))
    SAMPLED.write_text(json.dumps(known), "utf-8")
    load_libraries()
    with TemporaryDirectory(prefix="dproof-mutants-") as folder:
        copies = [_copy(Path(folder) / str(number)) for number in range(options.jobs)]
        record = Record(REPORT.with_suffix(".json"), copies[0])
        tally = _watch(_outcomes(mutants, copies, record))
    return int(tally[SURVIVED] > 0)


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
    for path in (target / "src" / "dproof" / module for module in modules(SOURCE)):
        telling(path, path.read_bytes())
    return target


def _outcomes(mutants: Iterable[Mutant], copies: list[Path], record: Record) -> Iterator[tuple[Mutant, str, str]]:
    """Each mutant with the verdict and its test, as they come: first those that are known from an earlier run."""
    todo: deque[Mutant] = deque()
    for mutant in mutants:
        if known := record.outcome(mutant):
            yield mutant, *known
        else:
            todo.append(mutant)
    running: dict[int, tuple[Mutant, Path, Trial]] = {}
    green: set[str] = set()  # in this run: what passed in an earlier one may fail since the source has changed
    while todo or running:
        while todo and copies:
            mutant, copy = todo.popleft(), copies.pop()
            (copy / "src" / "dproof" / mutant.module).write_text(mutant.after, "utf-8")
            trial = start(copy, concerned(mutant.module, ROOT), record.hints(mutant))
            running[trial.pid] = mutant, copy, trial
        pid, status = os.wait()
        mutant, copy, trial = running.pop(pid)
        result = trial.end(status)
        (copy / "src" / "dproof" / mutant.module).write_text(mutant.before, "utf-8")
        green |= result.seconds.keys()
        if result.verdict != SURVIVED and result.test not in green:
            _require_green([result.test] if result.test else concerned(mutant.module, ROOT), copy)
            green |= {result.test} - {""}
        record.add(mutant, result)
        yield mutant, result.verdict, result.test
        copies.append(copy)


def _require_green(tests: list[str], copy: Path) -> None:
    """A test that fails anyway would kill every mutant. One that passed in another trial does not."""
    trial = start(copy, tests, Hints())
    result = trial.end(os.waitpid(trial.pid, 0)[1])
    if result.verdict != SURVIVED:
        sys.exit(f"without a mutant {result.test or tests} must pass, but: {result.verdict}")


def _watch(outcomes: Iterable[tuple[Mutant, str, str]]) -> Counter[str]:
    """Print each outcome as it comes, and write the mutants that no test noticed into the report."""
    tally: Counter[str] = Counter()
    with REPORT.open("w", encoding="utf-8") as report:
        for mutant, verdict, test in outcomes:
            tally[verdict] += 1
            print(f"{tally.total()}. {mutant.module}: {' → '.join(mutant.change)}\n   {verdict} {test}", flush=True)
            if verdict == SURVIVED:
                report.write(f"## {mutant.module}, {mutant.operator}\n\n```diff\n{mutant.diff}\n```\n\n")
                report.flush()
        summary = (
            f"{tally.total()} mutants: {', '.join(f'{count} {verdict}' for verdict, count in sorted(tally.items()))}"
        )
        report.write(f"{summary}\n")
    print(f"{summary}; the survivors are in {REPORT.relative_to(ROOT)}")
    return tally


if __name__ == "__main__":
    sys.exit(main())
