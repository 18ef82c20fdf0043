"""Surveys: what is worked out once for all shuffled answers, and how fast a respondent's device draws."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
from pathlib import Path
from typing import Any

import dproof as dp
from benchmarks.measure import Chart, Grid, Line, Section, processor_seconds, spread
from dproof.local.recipe import certify_row
from dproof.survey.form import page_record

ROWS = tuple(10**n for n in range(3, 8))
COLUMNS: dict[str, dict[str, Any]] = {
    "one of 5 values": {"space": "categories", "values": list("abcde")},
    "one of 1,000 values": {"space": "categories", "values": [f"v{n}" for n in range(1000)]},
    "each of 20 items": {
        "space": "subsets",
        "values": [f"i{n}" for n in range(20)],
        "mechanism": "itemwise_response",
    },
    "a number, with Laplace noise": {"space": "interval", "low": 0, "high": 100_000, "step": 1},
    "a date that may be missing": {"space": "date", "low": "1920-01-01", "high": "2009-12-31", "missing": "category"},
}
_TIMED = """
const read = require("fs").readFileSync;
const { Coins, SAMPLERS } = new Function(`${read(process.argv[1], "utf8")}; return { Coins, SAMPLERS }`)();
const coins = new Coins((bytes) => globalThis.crypto.getRandomValues(bytes));
for (const law of JSON.parse(read(0, "utf8"))) {
  const draw = () => SAMPLERS[law.kind](law, 1n, coins);
  draw();
  const start = process.cpuUsage(), taken = () => process.cpuUsage(start).user + process.cpuUsage(start).system;
  let draws = 0;
  for (; taken() < 5e5; draws += 100) for (let n = 0; n < 100; n++) draw();
  console.log((draws / taken()) * 1e6);
}
"""


def run() -> Section:
    locals_ = {
        "randomised response of 5 values, ε = 3": dp.randomised_response(dp.Categories(list("abcde")), dp.Privacy(3)),
        "any law, ε = 1": dp.Privacy(1),
    }
    rows, points = [], []
    for size in ROWS:
        cells = [f"{size:,} rows"]
        for name, local in locals_.items():
            found = dp.shuffled(local, size, delta="1e-8")
            taken = processor_seconds(lambda local=local, size=size: dp.shuffled(local, size, delta="1e-8"), repeats=3)  # type: ignore[misc]
            points.append((name, float(size), statistics.median(taken)))
            cells.append(f"ε = {float(found.epsilon):.3g}, {statistics.median(taken):.3g} s ± {spread(taken):.0%}")
        rows.append(tuple(cells))
    speeds = _drawn()
    lines = tuple(Line(f"draws of {name}", speed, "a second") for name, speed in speeds.items())
    ratios: list[tuple[Any, ...]] = [
        ("shuffled promise of up to 10,000,000 rows, to 5 s", max(taken for *_, taken in points) / 5, "at most 1")
    ]
    if speeds:
        ratios.append(("the slowest draw of an answer, to 50 ms", 20 / min(speeds.values()), "at most 1"))
    how = (
        "The promise of shuffled rows at δ = 1e-8, worked out once for a release. The draws are those of the page's "
        "own script in Node, at ε = 1: whole numbers from the secure source, without the browser around them. All by "
        "processor time."
    )
    chart = Chart("Seconds of the shuffled promise", "rows", "seconds", tuple(points))
    return Section("Surveys", how, lines, tuple(ratios), (Grid(("", *locals_), tuple(rows)),), (chart,))


def _drawn() -> dict[str, float]:
    """Draws a second of each column's law; none where there is no Node."""
    node = shutil.which("node")
    if node is None:
        return {}
    plans = [dp.Plan.of({"privacy": {"epsilon": 1}, "columns": {"x": column}}) for column in COLUMNS.values()]
    laws = [page_record(certify_row(plan).groups[0].mechanism.family) for plan in plans]
    script = Path(dp.__file__).parent / "survey" / "draw.js"
    ran = subprocess.run(
        [node, "-e", _TIMED, str(script)], input=json.dumps(laws), capture_output=True, text=True, check=True
    )
    return dict(zip(COLUMNS, map(float, ran.stdout.split()), strict=True))
