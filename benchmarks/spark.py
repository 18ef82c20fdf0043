"""`python -m benchmarks.spark`: rows for each second of a core through Spark, for docs/cluster.md. Linux and Java 17.

Processor time of Spark's JVM and of its Python workers together, so that neither waiting nor neighbours on the machine
count; the best of a few runs in one session, after one that warms it up.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import dproof as dp
from benchmarks.__main__ import render
from benchmarks.measure import Line, Section

ROWS = 10**7
HOBBIES = ["Sports", "Cars", "Television", "Computer games", "Reading"]
PLAN: dict[str, Any] = {
    "privacy": {"epsilon": 2},
    "columns": {
        "hobby": {"space": "categories", "values": HOBBIES},
        "read": {"space": "categories", "values": [0, 1]},
        "age": {"space": "categories", "values": list(range(100)), "mechanism": "randomised_response"},
    },
}


def family() -> Iterator[int]:
    """This process and all that came from it."""
    parents = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(place.parent.name)] = int(place.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = [os.getpid()]
    for pid in found:
        yield pid
        found += [child for child, parent in parents.items() if parent == pid]


def processor() -> float:
    """Seconds of processor time of the whole family, the dead included."""
    ticks = 0
    for pid in family():
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def memory() -> int:
    """The most bytes that one Python worker has held."""
    held = [Path(f"/proc/{pid}/status").read_text() for pid in family() if pid != os.getpid()]
    return max(int(text.partition("VmHWM:")[2].split()[0]) for text in held if text.startswith("Name:\tpython")) << 10


def best(work: Callable[[], Any], repeats: int = 2) -> float:
    work()
    costs = []
    for _ in range(repeats):
        start = processor()
        work()
        costs.append(processor() - start)
    return min(costs)


def people(file: Path) -> None:
    words = np.random.default_rng(1)
    hobby = pa.DictionaryArray.from_arrays(words.integers(0, 5, ROWS), HOBBIES)
    table = pa.table({"hobby": hobby, "read": words.integers(0, 2, ROWS), "age": words.integers(0, 100, ROWS)})
    pa.parquet.write_table(table, file, row_group_size=1 << 20)


def run() -> Section:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "2g")
    with TemporaryDirectory() as place:
        builder = builder.config("spark.local.dir", place).config("spark.ui.enabled", "false")
        session = builder.config("spark.sql.shuffle.partitions", 8).getOrCreate()
        folder, file = Path(place), Path(place) / "people.parquet"
        people(file)
        frame = session.read.parquet(str(file))

        def sanitise(source: Any, order: str, place: str = str(folder)) -> Callable[[], Any]:
            return lambda: dp.sanitise(source, {"order": order, **PLAN}, f"{place}/out-{time.monotonic_ns()}")

        costs = {
            "Spark, rows dealt at random": best(sanitise(frame, "shuffle")),
            "Spark, order kept": best(sanitise(frame, "keep")),
            "Spark, order kept, written by URI": best(sanitise(frame, "keep", folder.as_uri())),
            "Arrow, order shuffled": best(sanitise(file, "shuffle")),
        }
        moved = sum(data.stat().st_size for data in folder.rglob("shuffle_*.data")) / ROWS / 3  # three runs
        most = memory()
        release = sanitise(frame, "shuffle")()
        question = "SELECT hobby, count(*) AS n FROM release WHERE read = 1 GROUP BY hobby"
        costs["one question to the release"] = best(lambda: release.query(question))
        width = sum(part.stat().st_size for part in release.files) / ROWS
        session.stop()
    lines = [Line(what, ROWS / cost, "rows per core second") for what, cost in costs.items()]
    lines += [Line("a stored row", width, "bytes"), Line("a row between workers where rows are dealt", moved, "bytes")]
    lines += [Line("peak memory of a Python worker", most, "bytes")]
    how = (__doc__ or "").partition("\n\n")[2].replace("\n", " ").strip()
    return Section("Spark", f"{how} {ROWS:,} rows of three columns.", tuple(lines))


if __name__ == "__main__":
    print(render(run()))
