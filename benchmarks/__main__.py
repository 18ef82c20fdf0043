"""`python -m benchmarks [name ...]`: measure and print; with all sections measured it writes docs/benchmarks.md.

A section that is named is measured anew. Without names, only those are that were not yet measured with this state of
the source: build/benchmarks keeps them, so that a run may be stopped and started again. Remove it to start anew.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from hashlib import sha256
from importlib import import_module
from pathlib import Path

from benchmarks.measure import restored
from benchmarks.pages import render, write

ROOT = Path(__file__).resolve().parents[1]
SECTIONS = (
    "responses",
    "local_rows",
    "lattice",
    "certification",
    "design",
    "tables",
    "questions",
    "commands",
    "growth",
    "accuracy",
    "frequencies",
    "hashed_estimators",
    "curves",
    "surveys",
    "service",
    "installation",
)


def main(names: list[str]) -> None:
    unknown = set(names) - set(SECTIONS)
    if unknown:
        sys.exit(f"unknown section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    folder = ROOT / "build" / "benchmarks" / _state()
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or SECTIONS:
        file = folder / f"{name}.json"
        if names or not file.exists():
            print(f"{name} ...", flush=True)
            start = time.perf_counter()
            section = import_module(f"benchmarks.{name}").run()
            taken = time.perf_counter() - start
            print(render(section), f"{taken:.0f} seconds", sep="\n", flush=True)
            file.write_text(json.dumps({"seconds": taken, "section": asdict(section)}, default=float), "utf-8")
    files = [folder / f"{name}.json" for name in SECTIONS]
    if all(file.exists() for file in files):
        runs = [json.loads(file.read_text("utf-8")) for file in files]
        page = write([restored(run["section"]) for run in runs], sum(run["seconds"] for run in runs))
        print(f"written: docs/{page.name}")


def _state() -> str:
    """A digest of the source and of the benchmarks."""
    files = sorted(file for folder in ("src", "benchmarks") for file in (ROOT / folder).rglob("*.py"))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


if __name__ == "__main__":
    main(sys.argv[1:])
