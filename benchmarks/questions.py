"""Questions: a debiased answer beside DuckDB's own, and the curator's exact mean beside DuckDB's."""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb

import dproof as dp
from benchmarks.measure import Section, duration
from benchmarks.tables import PLAN, ROWS, make

GROUPED = "SELECT text1, count(*) FROM {} GROUP BY text1"
CROSSED = "SELECT text1, text0, count(*) FROM {} WHERE text2 <> 'value 2 3' GROUP BY text1, text0"


def run() -> Section:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder / "source.parquet", ROWS)
        release = dp.sanitise(folder / "source.parquet", PLAN, folder / "out")
        stored = f"read_parquet('{folder}/out/release.parquet')"
        lines, ratios = [], []
        for what, sql in (("GROUP BY one column", GROUPED), ("WHERE and GROUP BY, three columns", CROSSED)):
            plain = duration(f"DuckDB, {what}", lambda q=sql: duckdb.sql(q.format(stored)).fetchall())
            ours = duration(f"dproof query, {what}", lambda q=sql: release.query(q.format("release")))
            lines += [plain, ours]
            ratios.append((f"{what}: (dproof − 50 ms) to DuckDB", (ours.value - 0.05) / plain.value, "at most 1.5"))
        lines += [
            _ask(folder),
            duration(
                "DuckDB, mean of a column",
                lambda: duckdb.sql(f"SELECT avg(age) FROM read_parquet('{folder}/source.parquet')").fetchall(),
            ),
        ]
        ratios.append(("the curator's mean to DuckDB", lines[-2].value / lines[-1].value, "at most 1.5"))
    how = f"On {ROWS:,} rows. The curator debits a ledger, sums whole numbers exactly and adds lattice noise."
    return Section("Questions", how, tuple(lines), tuple(ratios))


def _ask(folder: Path) -> object:
    plan = {**PLAN, "privacy": {"epsilon": 900}}
    curator = dp.Curator(folder / "source.parquet", plan, budget=dp.Privacy(900), ledger=folder / "ledger.db")
    prices = iter(range(1, 100))  # another price is another question, so that nothing is answered from the ledger
    return duration(
        "dproof ask, mean of a column", lambda: curator.ask("SELECT avg(age) FROM data", epsilon=next(prices))
    )
