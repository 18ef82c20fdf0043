"""± before there is data beside the intervals of answers: an even table is sanitised or asked, and answers.

A case is one of the contract matrix. Its table has every combination of the codes of its columns equally often.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa

import dproof as dp
from dproof import Answer, Cell, DproofError
from dproof.questions.aggregates import Rank
from dproof.testing import seeded_coins
from tests.contract.matrix import CALLS, RELEASES, SPACES, Case, number, plan_of

LEAST_ROWS = 6000
SEEDS, MORE_SEEDS, MANY_SEEDS = (1, 2, 3), range(4, 12), range(12, 60)
EPSILON = 2  # of a question that is asked
TOLERANCE = 0.1
CHOSEN = ("having", "having twice", "first", "last")  # shapes in which noise chooses the rows
_UNCUT = 0.8  # of the intervals, at least: if fewer are not cut to what is possible, they are the wide ones
ASKERS = tuple(name for name in (*RELEASES, "ask") if name != "model")  # synthetic rows have no intervals


@cache
def even_table(kind: str) -> Any:
    plan = dp.Plan.of(plan_of(kind, {"epsilon": 1}))
    spaces = {column.name: column.space for column in plan.columns}
    values = [spaces["g"].labels, range(41), [spaces["v"].label(code) for code in range(spaces["v"].size)]]
    rows = list(product(*([list(v) if isinstance(v, frozenset) else v for v in labels] for labels in values)))
    g, x, v = zip(*rows * -(-LEAST_ROWS // len(rows)), strict=True)
    return pa.table({"g": g, "x": x, "v": v})


def plan_for(asker: str, kind: str) -> dict[str, Any]:
    if asker == "ask":
        return plan_of(kind, {"epsilon": EPSILON})
    privacy, more = RELEASES[asker]
    if asker == "sampled" and ("categor" in kind or "set" in kind):
        more = {"joint": [{"columns": ["g", "v"]}]}
    return plan_of(kind, privacy, **more)


@cache
def _answers(asker: str, kind: str, seed: int) -> Callable[[str], Answer]:
    table, plan = even_table(kind), plan_for(asker, kind)
    if asker == "ask":
        folder = TemporaryDirectory()
        curator = dp.Curator(table, {**plan, "privacy": {"epsilon": 1000}}, ledger=Path(folder.name) / "budget.db")

        def ask(sql: str) -> Answer:
            with seeded_coins(seed + crc32(sql.encode())):
                return curator.ask(sql, epsilon=EPSILON)

        ask.folder = folder  # it goes when the curator does
        return ask
    with seeded_coins(seed):
        return dp.sanitise(table, plan).query


def told(case: Case) -> Any:
    """What is expected of the answer; None where it is refused, or depends on the data."""
    sql, rows = case.sql("data" if case.asker == "ask" else "release"), even_table(case.kind).num_rows
    way = "ask" if case.asker == "ask" else "release"
    try:
        (one,) = dp.expect(plan_for(case.asker, case.kind), rows=rows, questions=sql, way=way)
    except DproofError:
        return None
    return one


def answered(case: Case, possible: tuple[float, float], seeds: Sequence[int] = SEEDS) -> list[float] | None:
    """Half-widths of the intervals that are not cut to what is possible, infinite where nothing is known; none where
    many are cut.

    Those of quantiles end at possible values by themselves.
    """
    sql, found, told = case.sql("data" if case.asker == "ask" else "release"), list[float](), 0
    for seed in seeds:
        try:
            rows = _answers(case.asker, case.kind, seed)(sql).rows
        except DproofError:
            return None
        cells = [row["a"] for row in rows if isinstance(row["a"], Cell)]
        ends = [(number(cell.low), number(cell.high)) for cell in cells]
        if is_quantile(case):
            ends = [possible if low is None else (low, high) for low, high in ends]
        uncut = [(low, high) for low, high in ends if is_quantile(case) or not _is_cut(low, high, possible)]
        found += [math.inf if low is None else (high - low) / 2 for low, high in uncut]
        told += len(ends)
    return found if len(found) >= _UNCUT * told else []


def is_quantile(case: Case) -> bool:
    return CALLS[case.call].chosen == Rank()


def _is_cut(low: Any, high: Any, possible: tuple[float, float]) -> bool:
    if low is None or possible[0] == possible[1]:
        return False
    return bool(low <= possible[0] or high >= possible[1])


def problem(case: Case) -> str | None:
    """What is wrong with the ± that is told; None where it is that of the answers, or is not told."""
    one = told(case)
    if one is None or one.widths is None:
        return None
    least, greatest = one.widths.least * (1 - TOLERANCE), one.widths.greatest * (1 + TOLERANCE)
    whole = case.kind.startswith("date") and not case.call.startswith("count")  # intervals of dates end at whole days
    slack = 0.11 if case.shape == "rounded" else 0.5 if whole else 1e-9
    low, high = one.possible.ends
    if case.shape in CHOSEN:  # ± is the greatest that it may be, of quantiles the mean
        least, slack = 0.0, slack + is_quantile(case) * _half_a_bin(case.kind)
    for seeds in (SEEDS, MORE_SEEDS, *[MANY_SEEDS] * is_quantile(case)):
        widths = answered(case, (low, high), seeds)
        if widths is None:
            return f"{case}: ± {one.widths.typical:.4g} is told, and the answer is refused"
        # Wide intervals are cut to what is possible, unless by chance.
        # Intervals of quantiles end at values, so that their lengths jump: ± is the mean.
        had = fmean(widths) if widths and is_quantile(case) else median(widths or [0])
        if not widths or 2 * max(had, one.widths.typical) >= 0.5 * (high - low):
            return None
        lowest, highest = _by_chance(widths, had, is_quantile(case))
        if least - slack <= highest and lowest <= greatest + slack:
            return None
    return f"{case}: {one.widths.typical:.4g} told, {had:.4g} had"


def _half_a_bin(kind: str) -> float:
    """Half of the widest bin of a column, or of a step: by so much an interval of a quantile jumps."""
    edges = [number(edge) for edge in SPACES[kind.removesuffix(", some missing")].get("bins", (0, 1))]
    return float(max(np.diff(edges))) / 2


def _by_chance(widths: Sequence[float], had: float, is_mean: bool) -> tuple[float, float]:
    """Between what the mean, or the median, of widths may lie: those near a divisor of zero are of many sizes."""
    n = len(widths)
    if is_mean:
        error = 2 * float(np.std(widths)) / math.sqrt(n)
        return had - error, had + error
    ordered, more = sorted(widths), round(math.sqrt(n))  # twice the standard deviation of n / 2 heads
    return ordered[max(0, n // 2 - more)], ordered[min(n - 1, n // 2 + more)]
