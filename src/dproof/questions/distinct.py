"""How many different values there are, from intervals of how many rows have each of them.

At least as many as surely some row has, at most as many as some row may have. A value that no row has can only be taken
for one that is there, and one that is there can only be overlooked: one end of each interval can be wrong, and not
both. So intervals of the level 1 − 2·(1 − level)/k for k values, however their noises depend on each other, give an
interval of the level (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dproof.laws.scores import Array
from dproof.questions.answer import Cell
from dproof.questions.question import Aggregate
from dproof.questions.schema import Schema

_ROUNDING = 1e-6  # of a row


def values_of(aggregate: Aggregate, schema: Schema) -> int:
    """How many different values a column may have, or how many items its sets may hold; missing ones do not count.

    >>> from dproof.spaces import Subsets
    >>> table = Schema("data", {"likes": Subsets(["tea", "milk", "jam"])})
    >>> values_of(Aggregate("distinct", ("likes",)), table), values_of(Aggregate("items", ("likes",)), table)
    (8, 3)
    """
    space = schema.declared(aggregate.columns[0])
    if aggregate.definition.of_items:
        return space.candidates
    return space.candidates if space.items is None else 1 << len(space.items)


def rows_by_value(aggregate: Aggregate, schema: Schema, histogram: Mapping[int, int]) -> list[int]:
    """How many rows have each of these values or items, from how many have each code.

    >>> from dproof.spaces import Subsets
    >>> table = Schema("data", {"likes": Subsets(["tea", "jam"])})
    >>> rows_by_value(Aggregate("items", ("likes",)), table, {0b11: 5, 0b01: 2})
    [7, 5]
    """
    space = schema.declared(aggregate.columns[0])
    if space.items is not None and not aggregate.definition.of_items:
        return [histogram.get(code, 0) for code in range(values_of(aggregate, schema))]
    return list(space.tallies(histogram).values())


def number_of_values(aggregate: Aggregate, schema: Schema, histogram: Mapping[int, int]) -> int:
    """How many of these values or items some row has, in time that the histogram decides: a column may have billions.

    >>> from dproof.spaces import Interval
    >>> number_of_values(Aggregate("distinct", ("x",)), Schema("data", {"x": Interval(0, 10**9, 1)}), {3: 5, 4: 0})
    1
    """
    space = schema.declared(aggregate.columns[0])
    if aggregate.definition.of_items:
        return sum(map(bool, rows_by_value(aggregate, schema, histogram)))
    values = values_of(aggregate, schema) if space.items is not None else space.size
    return sum(rows > 0 and code < values and code != space.absent for code, rows in histogram.items())


def level_of_each(level: float, values: int) -> float:
    """The level of the interval of each value.

    >>> round(level_of_each(0.95, 5), 6)
    0.98
    """
    return 1 - 2 * (1 - level) / max(values, 2)


def different(estimates: Array, low: Array, high: Array, drawn: Array, sizes: Array | int = 1) -> list[Cell]:
    """How many different values each group has, from estimated counts: a row for each group, a column for each value.

    A column may stand for several values that were counted together, `sizes`. The noise of a value that no row has is
    above 0 as often as below. So the estimate is the number of positive counts less that of negative ones.

    >>> different(np.array([[20, 3, -2]]), np.array([[12, -5, -10]]), np.array([[28, 11, 6]]), np.array([[20, 3, -2]]))
    [Cell(estimate=1, low=1.0, high=3.0, stderr=None, raw=2, informative=True)]
    """
    surely = (low > _ROUNDING).sum(axis=1)
    perhaps = np.minimum(np.floor(np.maximum(high, 0) + _ROUNDING), sizes).sum(axis=1)
    most = np.maximum(perhaps, surely)
    seen = np.where(np.abs(estimates) > _ROUNDING, np.sign(estimates), 0)
    likely = np.rint((seen * np.minimum(np.maximum(np.abs(estimates), 1), sizes)).sum(axis=1))
    naive = (drawn > _ROUNDING).sum(axis=1).tolist()
    ends = zip(np.clip(likely, surely, most).astype(int).tolist(), surely.tolist(), most.tolist(), naive, strict=True)
    return [Cell(estimate, float(a), float(b), None, raw) for estimate, a, b, raw in ends]
