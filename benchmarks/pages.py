"""The page of all sections: the targets that were missed, then every figure."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.charts import svg
from benchmarks.measure import Chart, Ratio, Section, number

DOCS = Path(__file__).parent.parent / "docs"
VERDICTS = {True: "met", False: "**not met**", None: ""}


def write(sections: Sequence[Section], seconds: float) -> Path:
    """docs/benchmarks.md and its charts."""
    page = DOCS / "benchmarks.md"
    for section in sections:
        for chart in section.charts:
            (DOCS / _image(chart)).write_text(svg(chart), encoding="utf-8")
    page.write_text("\n".join([*_head(sections, seconds), *map(render, sections)]), encoding="utf-8")
    return page


def _head(sections: Sequence[Section], seconds: float) -> Iterator[str]:
    yield "# Benchmarks\n"
    yield (
        f"Made by `make bench` in {seconds / 60:.0f} minutes. Every ratio compares two figures of the same run; "
        "medians of a few repeats, with half the interquartile range as the spread. Absolute figures are for "
        f"this machine: {os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}.\n"
    )
    asked = [(section.title, ratio) for section in sections for ratio in _ratios(section) if ratio.wanted]
    met = sum(bool(ratio.met()) for _, ratio in asked)
    yield f"## Targets: {met} of {len(asked)} met\n"
    yield (
        "A ratio of errors is exact where the laws of both are known; otherwise its standard error stands beside it. "
        "Each section below has its targets; these are missed:\n"
    )
    yield from _table(
        ("section", "ratio within this run", "value", "target"),
        [(title, r.name, _value(r), r.wanted) for title, r in asked if not r.met()],
    )
    yield ""


def render(section: Section) -> str:
    """One section as Markdown."""
    return "\n".join(_blocks(section))


def _blocks(section: Section) -> Iterator[str]:
    yield f"## {section.title}\n\n{section.how.strip()}\n"
    for grid in section.grids:
        yield from _table(grid.header, grid.rows)
        yield ""
    if section.lines:
        rows = [
            (x.what, f"{number(x.value)} {x.unit}", "" if x.spread is None else f"± {x.spread:.0%}", x.note)
            for x in section.lines
        ]
        yield from _table(("what", "median", "spread", "note"), rows)
        yield ""
    for chart in section.charts:
        yield f"![{chart.title}]({_image(chart)})\n"
    if section.ratios:
        rows = [(r.name, _value(r), r.wanted, VERDICTS[r.met()]) for r in _ratios(section)]
        yield from _table(("ratio within this run", "value", "target", ""), rows)
        yield ""


def _ratios(section: Section) -> list[Ratio]:
    return [Ratio(*fields) for fields in section.ratios]


def _value(ratio: Ratio) -> str:
    return number(ratio.value) + (f" ± {ratio.error:.2g}" if ratio.error > 1e-4 else "")


def _image(chart: Chart) -> str:
    return f"images/benchmark-{chart.title.lower().replace(' ', '-')}.svg"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns of figures stand to the right; the first one names its row."""
    yield f"| {' | '.join(header)} |"
    firsts = [{row[n][:1] for row in rows} - {""} for n in range(len(header))]
    figures = [bool(first) and first <= set("0123456789±−") for first in firsts]
    yield f"| {' | '.join('---:' if n and figure else '---' for n, figure in enumerate(figures))} |"
    yield from (f"| {' | '.join(row)} |" for row in rows)
