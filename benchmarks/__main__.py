"""`python -m benchmarks [name ...]`: measure, print, and write docs/benchmarks.md."""

from __future__ import annotations

import os
import platform
import sys
import time
from importlib import import_module
from pathlib import Path

from benchmarks.measure import Section

SECTIONS = ("responses", "lattice", "certification", "design", "tables", "questions", "accuracy", "imports")
PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


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
    print(f"{time.perf_counter() - start:.0f} seconds in all")
    if not names:
        PAGE.write_text(page(sections), encoding="utf-8")
        print(f"written: docs/{PAGE.name}")


def render(section: Section) -> str:
    lines = [
        f"## {section.title}",
        "",
        section.how,
        "",
        "| what | median | spread | note |",
        "| --- | ---: | ---: | --- |",
    ]
    lines += [f"| {x.what} | {number(x.value)} {x.unit} | ± {x.spread:.0%} | {x.note} |" for x in section.lines]
    if section.ratios:
        lines += ["", "| ratio within this run | value | wanted |", "| --- | ---: | --- |"]
        lines += [f"| {name} | {number(value)} | {wanted} |" for name, value, wanted in section.ratios]
    return "\n".join(lines) + "\n"


def number(value: float) -> str:
    """Three significant figures, with a unit of thousands where it helps."""
    for size, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def page(sections: list[Section]) -> str:
    head = (
        "# Benchmarks\n\n"
        "Made by `make bench`. Every ratio compares two figures of the same run; medians of a few repeats, with half "
        "the range between the quartiles as the spread. Absolute figures belong to the machine they were measured on: "
        f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}.\n\n"
    )
    return head + "\n".join(render(section) for section in sections)


if __name__ == "__main__":
    main(sys.argv[1:])
