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
from typing import Any


@dataclass(frozen=True)
class Line:
    """One measured figure of a section."""

    what: str
    value: float
    unit: str
    spread: float = 0.0  # half the range between the quartiles, relative to the median
    note: str = ""


@dataclass(frozen=True)
class Section:
    title: str
    how: str
    lines: tuple[Line, ...]
    ratios: tuple[tuple[str, float, str], ...] = ()  # name, value, what was asked of it


def seconds(work: Callable[[], Any], repeats: int = 5) -> list[float]:
    """The wall-clock times of a few runs, after one that warms up."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return times


def rate(
    what: str, count: int, work: Callable[[], Any], *, unit: str = "rows/s", repeats: int = 5, note: str = ""
) -> Line:
    """How many a second, by the median run."""
    times = seconds(work, repeats)
    return Line(what, count / statistics.median(times), unit, _spread(times), note)


def duration(what: str, work: Callable[[], Any], *, repeats: int = 3, note: str = "") -> Line:
    """How long, by the median run."""
    times = seconds(work, repeats)
    return Line(what, statistics.median(times), "s", _spread(times), note)


def _spread(times: Iterable[float]) -> float:
    ordered = sorted(times)
    quarter = len(ordered) // 4
    return (ordered[-1 - quarter] - ordered[quarter]) / 2 / statistics.median(ordered)


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
