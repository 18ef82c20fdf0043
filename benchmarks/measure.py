"""Timing within one run: medians, spreads, and ratios to a yardstick measured next to it."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, NamedTuple

_ROUNDING = 5e-4  # of three figures


@dataclass(frozen=True)
class Line:
    """One measured figure of a section."""

    what: str
    value: float
    unit: str
    spread: float | None = None  # half the range between the quartiles, relative to the median; None: nothing to spread
    note: str = ""


class Ratio(NamedTuple):
    """Two figures of one run against each other, and what was asked of them: "at most 1.5", "at least 2" or nothing."""

    name: str
    value: float
    wanted: str = ""
    error: float = 0.0  # the standard error of a ratio that is itself an estimate

    def met(self) -> bool | None:
        """Whether it is as wanted, to three figures; None where nothing was asked."""
        words = self.wanted.split()
        if not words:
            return None
        bound = float(words[2])
        slack = _ROUNDING * bound
        return self.value <= bound + slack if words[1] == "most" else self.value >= bound - slack


@dataclass(frozen=True)
class Grid:
    """A table with columns of its own."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Chart:
    """How something grows: points (series, x, y) on two logarithmic axes."""

    title: str
    x: str
    y: str
    points: tuple[tuple[str, float, float], ...]


@dataclass(frozen=True)
class Section:
    title: str
    how: str
    lines: tuple[Line, ...] = ()
    ratios: tuple[tuple[Any, ...], ...] = ()  # the fields of a Ratio
    grids: tuple[Grid, ...] = ()
    charts: tuple[Chart, ...] = ()


def restored(fields: dict[str, Any]) -> Section:
    """A section from its fields, as JSON keeps them."""
    return Section(
        fields["title"],
        fields["how"],
        tuple(Line(**line) for line in fields["lines"]),
        tuple(map(tuple, fields["ratios"])),
        tuple(Grid(tuple(grid["header"]), tuple(map(tuple, grid["rows"]))) for grid in fields["grids"]),
        tuple(Chart(**{**chart, "points": tuple(map(tuple, chart["points"]))}) for chart in fields["charts"]),
    )


def seconds(work: Callable[[], Any], repeats: int = 5) -> list[float]:
    """The wall-clock times of a few runs, after one that warms up."""
    return in_turns(work, repeats=repeats)[0]


def processor_seconds(work: Callable[[], Any], repeats: int = 5) -> list[float]:
    """The processor times of a few runs, after one that warms up: what else the machine does is not in them."""
    work()
    return [_processor_time(work) for _ in range(repeats)]


def _processor_time(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def in_turns(*jobs: Callable[[], Any], repeats: int = 7) -> list[list[float]]:
    """The times of jobs that take turns, so that all of them meet the same machine; after one turn that warms up."""
    times: list[list[float]] = [[] for _ in jobs]
    for turn in range(repeats + 1):
        for job, taken in zip(jobs, times, strict=True):
            start = time.perf_counter()
            job()
            if turn:
                taken.append(time.perf_counter() - start)
    return times


def rate(
    what: str, count: int, work: Callable[[], Any], *, unit: str = "rows/s", repeats: int = 5, note: str = ""
) -> Line:
    """How many a second, by the median run."""
    return rate_of(what, count, seconds(work, repeats), unit=unit, note=note)


def rate_of(what: str, count: int, times: list[float], *, unit: str = "rows/s", note: str = "") -> Line:
    return Line(what, count / statistics.median(times), unit, spread(times), note)


def duration(what: str, work: Callable[[], Any], *, repeats: int = 3, note: str = "") -> Line:
    """How long, by the median run."""
    times = seconds(work, repeats)
    return Line(what, statistics.median(times), "s", spread(times), note)


def spread(times: Iterable[float]) -> float:
    """Half the range between the quartiles, relative to the median."""
    ordered = sorted(times)
    quarter = len(ordered) // 4
    return (ordered[-1 - quarter] - ordered[quarter]) / 2 / statistics.median(ordered)


def number(value: float) -> str:
    """Three significant figures, with a unit of thousands where it helps."""
    for size, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def peer(module: str) -> Any:
    """A peer to measure against, or None with a word where it is not installed.

    A peer's package may import parts that no longer load beside today's libraries; then the part that is measured
    is loaded without the rest.
    """
    try:
        return import_module(module)
    except ImportError:
        pass
    try:
        path: list[str] = []
        for name in module.split(".")[:-1]:
            path.append(name)
            parent = ".".join(path)
            found = find_spec(parent)
            bare = ModuleType(parent)
            bare.__path__ = list(found.submodule_search_locations or []) if found else []
            sys.modules[parent] = bare
        return import_module(module)
    except Exception as missing:  # a peer may fail to import in its own ways; it is only measured against
        print(f"  {module} is skipped: {missing}")
        return None
