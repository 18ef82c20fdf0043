"""Table to table: a sanitised Parquet file beside a plain copy of it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import dproof as dp
from benchmarks.measure import Line, Section, in_turns, spread

ROWS = 10_000_000
BLOCK = 1 << 20
VALUES = {f"text{n}": [f"value {n} {v}" for v in range(size)] for n, size in enumerate((2, 5, 12, 50, 200))}
PLAN: dict[str, Any] = {
    "privacy": {"epsilon": 7},
    "columns": {
        **{n: {"space": "categories", "values": v, "mechanism": "randomised_response"} for n, v in VALUES.items()},
        "age": {"space": "interval", "low": 0, "high": 110, "step": 1, "mechanism": "laplace"},
        "hours": {"space": "interval", "low": 0, "high": 40, "step": 1, "mechanism": "laplace"},
    },
}
BEST: dict[str, Any] = {  # the same columns by the laws of least variance: hashed codes, and numbers rounded at random
    "privacy": PLAN["privacy"],
    "columns": {
        name: {**column, "mechanism": "frequency" if name in VALUES else "unbiased_design"}
        for name, column in PLAN["columns"].items()
    },
}

SAMPLED = {**PLAN, "privacy": {"epsilon": 7, "spread": "sample"}}  # each row answers for one column


def make(path: Path, rows: int) -> None:
    """Five columns of texts and two of whole numbers, made up block by block."""
    draw = np.random.default_rng(0)
    writer = None
    for first in range(0, rows, BLOCK):
        count = min(BLOCK, rows - first)
        texts = {name: pa.array(values).take(draw.integers(0, len(values), count)) for name, values in VALUES.items()}
        block = pa.table({**texts, "age": draw.integers(0, 111, count), "hours": draw.integers(0, 41, count)})
        writer = writer or pq.ParquetWriter(path, block.schema)
        writer.write_table(block)
    if writer is not None:
        writer.close()


def copy(source: Path, target: Path) -> None:
    """What a plain copy costs: read with dictionaries, write, block by block."""
    with pq.ParquetFile(source, read_dictionary=list(VALUES)) as file:
        writer = None
        for batch in file.iter_batches(batch_size=BLOCK):
            writer = writer or pq.ParquetWriter(target, batch.schema)
            writer.write_batch(batch)
        if writer is not None:
            writer.close()


def run() -> Section:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "source.parquet"
        make(source, ROWS)
        count = iter(range(1000))
        jobs = {
            "plain pyarrow copy with dictionaries": lambda: copy(source, folder / f"copy{next(count)}"),
            "dproof.sanitise": lambda: dp.sanitise(source, PLAN, folder / f"out{next(count)}"),
            "dproof.sanitise, laws of least variance": lambda: dp.sanitise(source, BEST, folder / f"out{next(count)}"),
            "dproof.sanitise, a column of each row": lambda: dp.sanitise(source, SAMPLED, folder / f"out{next(count)}"),
        }
        times = in_turns(*jobs.values(), repeats=5)
        lines = [Line(what, median(taken), "s", spread(taken)) for what, taken in zip(jobs, times, strict=True)]
        plain, ours, best, one = lines
        peak = _peak(source, folder / "peak")
    rate = Line("dproof.sanitise", ROWS / ours.value, "rows/s", ours.spread)
    return Section(
        "Table to table",
        f"Parquet to Parquet, {ROWS:,} rows, five columns of texts and two of whole numbers, shuffled in blocks.",
        (*lines, rate, Line("peak memory of the process", peak / 2**20, "MiB")),
        (
            ("dproof to a plain copy, time", ours.value / plain.value, "at most 1.5"),
            ("laws of least variance to the usual ones, time", best.value / ours.value, "at most 2"),
            ("rows that answer for one column to rows that answer for all, time", one.value / ours.value, "at most 2"),
        ),
    )


def _peak(source: Path, out: Path) -> float:
    code = (
        "import sys, resource, dproof as dp\nfrom benchmarks.tables import PLAN\n"
        "dp.sanitise(sys.argv[1], PLAN, sys.argv[2])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)"
    )
    command = [sys.executable, "-c", code, str(source), str(out)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
