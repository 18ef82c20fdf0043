"""Questions: a debiased answer beside DuckDB's own, and the curator's exact mean beside DuckDB's."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

import dproof as dp
from benchmarks.measure import Line, Section, in_turns, spread
from benchmarks.tables import PLAN, ROWS, make

GROUPED = "SELECT text1, count(*) FROM {} GROUP BY text1"
CROSSED = "SELECT text1, text0, count(*) FROM {} WHERE text2 <> 'value 2 3' GROUP BY text1, text0"
MEAN = "SELECT avg(age) FROM {}"
_REPEATS = 21  # a few hundredths of a second each


def run() -> Section:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, stored = f"read_parquet('{folder}/source.parquet')", f"read_parquet('{folder}/out/release.parquet')"
        make(folder / "source.parquet", ROWS)
        release = dp.sanitise(folder / "source.parquet", PLAN, folder / "out")
        plan = {**PLAN, "privacy": {"epsilon": 900}}
        curator = dp.Curator(folder / "source.parquet", plan, ledger=folder / "ledger.db")
        prices = iter(range(1, 100))  # another price is another question, so that nothing is answered from the ledger
        lines, ratios = [], []
        for what, sql in (("GROUP BY one column", GROUPED), ("WHERE and GROUP BY, three columns", CROSSED)):
            pair = _pair(what, "query", sql.format(stored), lambda q=sql: release.query(q.format("release")))
            lines += pair
            ratio = (pair[1].value - 0.05) / pair[0].value
            ratios.append((f"{what}: (dproof − 50 ms) to DuckDB", ratio, "at most 1.5"))
        pair = _pair(
            "mean of a column",
            "ask",
            MEAN.format(source),
            lambda: curator.ask(MEAN.format("data"), epsilon=next(prices)),
        )
        lines += pair
        ratios.append(("the curator's mean to DuckDB", pair[1].value / pair[0].value, "at most 1.5"))
        curator.ledger.close()
    how = f"On {ROWS:,} rows. The curator debits a ledger, sums whole numbers exactly and adds lattice noise."
    return Section("Questions", how, tuple(lines), tuple(ratios))


def _pair(what: str, command: str, sql: str, ours: Callable[[], Any]) -> list[Line]:
    """DuckDB's own answer and ours, in turns."""
    both = in_turns(lambda: duckdb.sql(sql).fetchall(), ours, repeats=_REPEATS)
    names = (f"DuckDB, {what}", f"dproof {command}, {what}")
    return [Line(name, statistics.median(times), "s", spread(times)) for name, times in zip(names, both, strict=True)]
