"""Rows that hold a code, or answer for one thing: what they cost beside plain ones."""

from __future__ import annotations

from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa

import dproof as dp
from benchmarks.measure import Line, Ratio, Section, in_turns, rate_of

ROWS = 1_000_000
COLUMNS, VALUES = 10, 20  # of the table whose rows answer for one thing


def run() -> Section:
    lines, ratios = list[Line](), list[Ratio]()
    for k, epsilon in ((100, 1), (1_000, 1), (1_000, 4), (10_000, 2)):
        table, plain = _table(1, k), _plan(1, k, epsilon)
        hashed = _plan(1, k, epsilon, mechanism="frequency")
        names = f"plain, one column, k = {k:,}, ε = {epsilon}", f"hashed, one column, k = {k:,}, ε = {epsilon}"
        _compare(table, dict(zip(names, (plain, hashed), strict=True)), lines, ratios)
    table, plain = _table(COLUMNS, VALUES), _plan(COLUMNS, VALUES, 4)
    sampled = _with_spread(plain)
    asked = [{"sql": f"SELECT c0, c{n}, count(*) FROM release GROUP BY c0, c{n}"} for n in range(1, COLUMNS)]
    coded = {**_with_spread(_plan(COLUMNS, VALUES, 1, mechanism="auto")), "questions": asked}
    plans = {"plain, ten columns": plain, "sampled pairs of ten": sampled, "sampled and hashed pairs of ten": coded}
    _compare(table, plans, lines, ratios)
    how = (
        f'`dp.sanitise` of {ROWS:,} rows in memory, in turns. Hashed columns have `mechanism = "frequency"`; of ten '
        f"columns of {VALUES} values each row answers for one pair where it is sampled, by its values or by a code."
    )
    return Section("Hashed and sampled rows", how, tuple(lines), tuple(ratios))


def _compare(table: Any, plans: dict[str, Any], lines: list[Line], ratios: list[Ratio]) -> None:
    """The rates of all plans, and how many times longer each takes than the first."""
    times = in_turns(*(lambda plan=plan: dp.sanitise(table, plan) for plan in plans.values()), repeats=5)  # type: ignore[misc]
    lines += [rate_of(name, ROWS, found) for name, found in zip(plans, times, strict=True)]
    for name, found in list(zip(plans, times, strict=True))[1:]:
        ratios.append(Ratio(f"time of {name} to plain", median(found) / median(times[0]), "at most 2"))


def _labels(k: int) -> list[str]:
    return [f"v{n:05d}" for n in range(k)]


def _table(columns: int, k: int) -> Any:
    some, labels = np.random.default_rng(k), pa.array(_labels(k))
    return pa.table({f"c{n}": labels.take(pa.array(some.integers(0, k, ROWS))) for n in range(columns)})


def _plan(columns: int, k: int, epsilon: int, **more: Any) -> dict[str, Any]:
    column = {"space": "categories", "values": _labels(k), "mechanism": "randomised_response", **more}
    return {"privacy": {"epsilon": epsilon}, "columns": {f"c{n}": column for n in range(columns)}}


def _with_spread(plan: dict[str, Any]) -> dict[str, Any]:
    return {**plan, "privacy": {**plan["privacy"], "spread": "sample"}}
