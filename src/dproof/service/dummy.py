"""Dummy rows: values drawn evenly from the spaces that a plan declares, to try things on. They tell nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from dproof.coins import current
from dproof.laws.guide import uniform_below
from dproof.local.draw import first_codes
from dproof.plans.plan import Plan

MOST_DUMMY_ROWS = 10_000


def dummy_rows(plan: Plan, rows: int) -> Any:
    """So many rows as an Arrow table; curves are flat, and public columns are empty.

    >>> plan = Plan.of({"privacy": {"epsilon": 1}, "columns": {"age": {"space": "interval", "low": 0, "high": 9}}})
    >>> dummy_rows(plan, 3).num_rows
    3
    """
    arrays: dict[str, Any] = {}
    for column in plan.columns:
        if column.kind == "public":
            arrays[column.name] = pa.nulls(rows, pa.string())
        elif column.private:
            space, codes = column.space, first_codes(column.space, rows)
            if not space.holds_curves:
                codes = uniform_below(np.full(rows, space.size, np.uint64), current()).astype(np.int64)
            arrays |= zip(column.stored, space.store(column, codes), strict=True)
    return pa.table(arrays)
