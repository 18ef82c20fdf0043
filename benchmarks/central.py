"""`python -m benchmarks.central`: the central model beside its peers; writes docs/benchmarks-central.md."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

import dproof as dp
from benchmarks import asked, central_weights
from benchmarks.central_jobs import EPSILONS, LONGEST, PEERS, RESULTS, Job
from benchmarks.central_tables import DELTA, TABLES, Table
from benchmarks.central_widths import section
from benchmarks.measure import Ratio, number
from benchmarks.pages import DOCS, _table
from benchmarks.pair_errors import PairErrors, counted, pair_errors
from dproof.central.estimates import projection

RELEASES = 3  # of each table at each ε
PAGE = DOCS / "benchmarks-central.md"


def measured(table: Table, epsilon: str) -> dict[str, Any]:
    """Errors, processor seconds and coverage of releases of a table: means over a few, of the seconds medians."""
    file = RESULTS / f"{table.name}, {epsilon}, dproof.json"
    if file.exists():
        found: dict[str, Any] = json.loads(file.read_text())
        return found
    runs = [_run(table, epsilon) for _ in range(RELEASES)]
    mean = {
        key: PairErrors(*np.mean([run[key] for run in runs], axis=0).tolist()) for key in ("unbiased", "tables", "rows")
    }
    taken = {key: statistics.median(run["seconds"][key] for run in runs) for key in ("tables", "rows")}
    found = {**mean, "seconds": taken, "coverage": float(np.mean([run["coverage"] for run in runs]))}
    file.write_text(json.dumps(found))
    return found


def _run(table: Table, epsilon: str) -> dict[str, Any]:
    codes, sizes = table.codes()
    plan, with_rows = (dp.Plan.from_dict(table.plan(epsilon, **more)) for more in ({}, {"rows": True}))
    start = time.process_time()
    release = dp.sanitise(table.path, plan)
    covered = []
    for i, j in combinations(range(len(sizes)), 2):
        covered.append(_covered(release, list(table.columns), (i, j), counted(codes, sizes, (i, j))))
    found = release.estimates[None]
    moved = projection(found, release.law.tables)
    answered = time.process_time()
    begun = time.process_time()
    made = dp.sanitise(table.path, with_rows)
    drawn = time.process_time()
    rows = _codes(made)
    return {
        "unbiased": pair_errors(codes, sizes, found.table),
        "tables": pair_errors(codes, sizes, moved.table),
        "rows": pair_errors(codes, sizes, lambda pair: counted(rows, sizes, pair)),
        "seconds": {"tables": answered - start, "rows": drawn - begun},
        "coverage": np.concatenate(covered).mean(),
    }


def _covered(release: Any, names: list[str], pair: tuple[int, int], true: Any) -> Any:
    """Whether the interval of each cell of a pair table, asked in SQL, holds the true count."""
    one, other = (f'"{names[n]}"' for n in pair)
    answer = release.query(f"SELECT {one}, {other}, count(*) AS n FROM release GROUP BY {one}, {other}")
    cells = [row["n"] for row in answer.rows]
    low, high = (np.array([getattr(cell, end) for cell in cells]) for end in ("low", "high"))
    return (low <= true.ravel()) & (true.ravel() <= high)


def _codes(release: Any) -> Any:
    """The made-up rows as codes of the axes."""
    table, columns = release.to_arrow(), []
    for axis in release.law.axes:
        arrays = [table[name].combine_chunks() for name in axis.column.sources]
        columns.append(axis.of(axis.column.encoder()(arrays)))
    return np.column_stack(columns)


def ratios(table: Table, epsilon: str) -> Iterator[Ratio]:
    """Each peer that was fitted, over dproof: errors, and processor seconds."""
    ours = measured(table, epsilon)
    wanted = float(epsilon) >= 1
    for peer in PEERS:
        theirs = Job(table, epsilon, peer).result()
        if "failed" in theirs:
            continue
        where = f"{table.name}, ε = {epsilon}: {peer}"
        for key, quicker in (("tables", "at least 50"), ("rows", "at least 20")):
            if theirs[key] is None:
                continue
            error = ours[key][0] / theirs[key][0]
            yield Ratio(f"{where}, L1 of {key}, dproof / peer", error, "at most 1" if wanted else "")
            if key in theirs["seconds"]:
                speed = theirs["seconds"][key] / ours["seconds"][key]
                yield Ratio(f"{where}, seconds of {key}, peer / dproof", speed, quicker if wanted else "")


def lines(table: Table) -> Iterator[tuple[str, ...]]:
    """All that was measured on a table."""
    for epsilon in sorted(EPSILONS, key=float):
        ours = measured(table, epsilon)
        covered = f"{ours['coverage']:.1%}"
        tables, rows = (number(ours["seconds"][key]) for key in ("tables", "rows"))
        yield epsilon, "dproof, unbiased", *_told(ours["unbiased"]), "", "", tables, "", covered
        yield epsilon, "dproof, projection; rows", *_told(ours["tables"]), *_told(ours["rows"]), tables, rows, ""
        for peer in PEERS:
            theirs = Job(table, epsilon, peer).result()
            if "failed" in theirs:
                yield epsilon, peer, theirs["failed"], "", "", "", "", "", "none"
                continue
            seconds = (number(theirs["seconds"][key]) if key in theirs["seconds"] else "" for key in ("tables", "rows"))
            yield epsilon, peer, *_told(theirs["tables"]), *_told(theirs["rows"]), *seconds, "none"


def _told(errors: Any) -> tuple[str, str]:
    """L1 and RMSE; nothing where they were not measured."""
    if errors is None:
        return "", ""
    l1, rmse = errors
    return f"{l1:.4f}", f"{rmse:.3g}"


def fits(tables: Sequence[Table]) -> Iterator[str]:
    """For each peer, how many fits came to their end, and what became of the others."""
    for peer in PEERS:
        results = [Job(table, epsilon, peer).result() for table in tables for epsilon in EPSILONS]
        others = Counter(result["failed"] for result in results if "failed" in result)
        rest = "".join(f"; {times}: {reason}" for reason, times in others.items())
        yield f"{peer}: {len(results) - others.total()} of {len(results)} fits have figures{rest}."


def targets(held: Sequence[Ratio]) -> Iterator[str]:
    """For each fit of a peer the ratios that have a target."""
    by_fit = dict[str, dict[str, str]]()
    for ratio in held:
        fit, what, _ = ratio.name.rsplit(", ", 2)
        by_fit.setdefault(fit, {})[what] = number(ratio.value) + ("" if ratio.met() else " **not met**")
    columns = dict.fromkeys(what for found in by_fit.values() for what in found)
    rows = [(fit, *(found.get(what, "") for what in columns)) for fit, found in by_fit.items()]
    yield from _table(("fit", *columns), rows)


def page() -> str:
    """The page, from what was measured."""
    tables = [table for table in TABLES.values() if table.path.exists()]
    every = [ratio for table in tables for epsilon in EPSILONS for ratio in ratios(table, epsilon)]
    held = [ratio for ratio in every if ratio.wanted]
    met = sum(bool(ratio.met()) for ratio in held)
    text = [_HEAD, "## What was measured\n", *(f"- {line}" for line in fits(tables)), ""]
    text += [f"## Targets: {met} of {len(held)} met\n", _TARGETS, *targets(held), ""]
    text += [*asked.section(), *central_weights.section(), *section()]
    header = ("ε", "", "L1", "RMSE", "L1 of rows", "RMSE of rows", "s", "s of rows", "intervals cover")
    for table in tables:
        codes, sizes = table.codes()
        text += [f"## {table.name}\n", f"{len(codes):,} people; columns with {', '.join(map(str, sizes))} values.\n"]
        text += [*_table(header, list(lines(table))), ""]
    return "\n".join(text)


_TARGETS = """At ε ≥ 1: the L1 of dproof divided by that of the peer, at most 1; and the peer's processor seconds
divided by those of dproof, at least 50 for tables and 20 for rows.
"""

_HEAD = f"""# The central model beside its peers

Made by `make bench-central`. Public tables, add-remove neighbours, δ = {DELTA}. All tables of two columns are compared:

- **L1**: Σ |estimated share − true share| over the cells of a table, and the mean of that over all tables.
- **RMSE**: the root of the mean of (estimated − true count)² over all cells, in people.
- **s**: processor seconds from the file to all tables and their answers; for rows, from the file to the rows. Peers ran
  with one thread; compilation at first use is included.
- **intervals cover**: how many of the 95 % intervals of all cells cover the true count.

dproof: means over {RELEASES} releases, seconds by the median. Peers: one fit each, stopped when it has used up its
processor time ({LONGEST:,} s by default; its line says how much it was). OpenDP's MST and AIM are called as documented,
AIM with all pairs as its workload; ρ is the largest that (ε, δ) allows. "mbi, all pairs" adds equal Gaussian noise to
all pair tables and fits mbi's graphical model. That model must hold the full table in memory, so large tables are not
tried. Rows of peers are drawn in both ways that mbi has, and the better ones count.
{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}.

dproof measures fixed tables, which follow from the plan, so every cell has an interval, and its width
is known before any data is read. [Measured tables](central.md) describes its projection. AIM chooses
tables by the data, which can be better where the noise is large compared with the counts. Plans list
all tables, so that all have the same weight, as in the measure of error. All fits together take hours;
"not measured" marks fits that this run did not reach.
"""


def main() -> None:
    RESULTS.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
    print(f"written: docs/{PAGE.name}")


if __name__ == "__main__":
    main()
