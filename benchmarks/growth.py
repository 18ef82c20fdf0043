"""How seconds grow with the number of rows: sanitising a file, querying the release, asking the curator."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dproof as dp
from benchmarks.measure import Chart, Grid, Section, seconds, spread
from benchmarks.tables import PLAN, make

ROWS = (10_000, 100_000, 1_000_000, 10_000_000)
JOBS = ("sanitise", "query", "ask")


def run() -> Section:
    points: list[tuple[str, float, float]] = []
    rows = []
    for size in ROWS:
        with tempfile.TemporaryDirectory() as name:
            times = _times(Path(name), size)
        medians = [statistics.median(taken) for taken in times]
        points += [(job, size, median) for job, median in zip(JOBS, medians, strict=True)]
        told = (f"{median:.3g} s ± {spread(taken):.0%}" for median, taken in zip(medians, times, strict=True))
        rows.append((f"{size:,} rows", *told))
    how = (
        "The same table, from Parquet to Parquet; `query` counts the groups of one column of the release "
        "with intervals, `ask` is the curator's mean of one column, debited to a ledger."
    )
    chart = Chart("Seconds against rows", "rows", "seconds", tuple(points))
    return Section("Growth with rows", how, grids=(Grid(("", *JOBS), tuple(rows)),), charts=(chart,))


def _times(folder: Path, size: int) -> list[list[float]]:
    source = folder / "source.parquet"
    make(source, size)
    releases: list[Any] = []

    def sanitise() -> None:
        releases.append(dp.sanitise(source, PLAN, folder / f"out{len(releases)}"))

    plan = {**PLAN, "privacy": {"epsilon": 900}}
    curator = dp.Curator(source, plan, budget=dp.Privacy(900), ledger=folder / "ledger.db")
    prices = iter(range(1, 100))  # a higher price is another question, so that nothing is answered from the ledger
    jobs: list[Callable[[], Any]] = [
        sanitise,
        lambda: releases[0].query("SELECT text1, count(*) FROM release GROUP BY text1"),
        lambda: curator.ask("SELECT avg(age) FROM data", epsilon=next(prices)),
    ]
    return [seconds(job, repeats=3) for job in jobs]
