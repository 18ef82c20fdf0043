"""`python -m benchmarks [name ...]`: measure and print; all sections together write docs/benchmarks.md."""

from __future__ import annotations

import sys
import time
from importlib import import_module

from benchmarks.pages import render, write

SECTIONS = (
    "responses",
    "lattice",
    "certification",
    "design",
    "tables",
    "questions",
    "commands",
    "growth",
    "accuracy",
    "frequencies",
    "curves",
    "installation",
)


def main(names: list[str]) -> None:
    unknown = set(names) - set(SECTIONS)
    if unknown:
        sys.exit(f"unknown section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    start = time.perf_counter()
    sections = []
    for name in names or SECTIONS:
        print(f"{name} ...", flush=True)
        section = import_module(f"benchmarks.{name}").run()
        print(render(section))
        sections.append(section)
    taken = time.perf_counter() - start
    print(f"{taken:.0f} seconds in all")
    if not names:
        print(f"written: docs/{write(sections, taken).name}")


if __name__ == "__main__":
    main(sys.argv[1:])
