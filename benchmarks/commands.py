"""Commands as a shell runs them, each in a fresh process, beside a fresh Python that counts with DuckDB."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from benchmarks.measure import Line, Section, in_turns, spread

ROWS = 12_000
PLAN = """\
[privacy]
epsilon = "100"
[columns.hobby]
space = "categories"
values = ["Sports", "Cars", "Reading"]
[columns.hours]
space = "interval"
low = 0
high = 40
step = 1
"""
COUNTED = "import duckdb; duckdb.sql(\"SELECT hobby, count(*) FROM 'people.csv' GROUP BY hobby\").fetchall()"
GROUPED = "SELECT hobby, count(*) FROM release GROUP BY hobby"
WANTED = {"query": 3, "ask": 3, "verify": 3, "sanitise": 8, "--help": 1}
# As after an installation: what is imported is compiled once.
_ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


def run() -> Section:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "plan.toml").write_text(PLAN, "utf-8")
        rows = [f"{('Sports', 'Cars', 'Reading')[n % 3]},{n % 41}" for n in range(ROWS)]
        (folder / "people.csv").write_text("\n".join(["hobby,hours", *rows]) + "\n", "utf-8")
        commands = {word: iter(_lines(word)) for word in WANTED}
        _run(
            folder, ["-m", "dproof", "sanitise", "people.csv", "--plan", "plan.toml", "--out", "release", "--no-ledger"]
        )
        jobs: list[Callable[[], None]] = [lambda: _run(folder, ["-c", COUNTED])]
        jobs += [lambda line=line: _run(folder, ["-m", "dproof", *next(line)]) for line in commands.values()]
        bare, *times = in_turns(*jobs, repeats=9)
    lines = [Line("Python with DuckDB, the same file", statistics.median(bare), "s", spread(bare))]
    ratios = []
    for (word, most), taken in zip(WANTED.items(), times, strict=True):
        lines.append(Line(f"`dproof {word}`", statistics.median(taken), "s", spread(taken)))
        # Turn by turn: whatever else the machine does meets both.
        ratio = statistics.median(ours / theirs for ours, theirs in zip(taken, bare, strict=True))
        ratios.append((f"`dproof {word}` to Python with DuckDB", ratio, f"at most {most}"))
    how = (
        f"A table of {ROWS:,} rows in CSV. Every figure is a process from its start to its end: the imports, the work "
        "and what is printed. The reference is a fresh Python that imports DuckDB and counts the groups of one column. "
        "`query` does the same with intervals, `ask` pays for each question, `sanitise` draws its charts too."
    )
    return Section("Cold commands", how, tuple(lines), tuple(ratios))


def _lines(word: str) -> Iterator[list[str]]:
    """The arguments of a command, time after time; no question is asked twice and no release is made twice."""
    paying = ["--plan", "plan.toml", "--ledger", "budget.db", "--epsilon"]
    for n in count(1):
        yield {
            "--help": [word],
            "query": [word, "release", GROUPED],
            "verify": [word, "release"],
            "ask": [word, "people.csv", *paying, f"0.{n:03d}", GROUPED.replace("release", "data")],
            "sanitise": [word, "people.csv", "--plan", "plan.toml", "--out", f"release-{n}", "--no-ledger"],
        }[word]


def _run(folder: Path, arguments: list[str]) -> None:
    subprocess.run([sys.executable, *arguments], cwd=folder, env=_ENVIRONMENT, check=True, capture_output=True)
