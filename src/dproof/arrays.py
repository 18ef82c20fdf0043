"""Private statistics of a NumPy array in one call each, such as `mean(ages, bounds=(0, 110), epsilon=1)`.

Each call is a question to a curator on a table of one column, paid from an accountant. A value is one person's. The
answer is a cell with `estimate`, `low`, `high` and `stderr`; a float() of it is the estimate.

Values below or above the bounds count as the nearest bound. A NaN is missing, and what is asked is asked of the others;
with `missing=40` it counts as 40.

>>> ages = np.arange(5000) % 62 + 18
>>> accountant = Accountant(epsilon=1)
>>> cell = mean(ages, bounds=(0, 110), epsilon="0.5", accountant=accountant)
>>> abs(float(cell) - float(ages.mean())) < 2, accountant.remaining().epsilon
(True, Fraction(1, 2))
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import inf, nan
from numbers import Number
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, TypeAlias, TypedDict, Unpack
from weakref import finalize

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from dproof.arguments import expect, listed, whole
from dproof.curator.curator import Curator
from dproof.curator.ledger import Ledger
from dproof.errors import ArgumentError, did_you_mean
from dproof.exact import exact
from dproof.privacy import Cost, Neighbours, Privacy
from dproof.questions.answer import Cell

__all__ = ["Accountant", "count", "histogram", "mean", "median", "quantile", "std", "sum", "var"]

Bounds: TypeAlias = tuple[Any, Any]  # the least and the greatest value that counts


class Options(TypedDict, total=False):
    """The options of every call beside its ε."""

    delta: Any
    level: float
    accountant: Accountant | None
    missing: Any


class Accountant:
    """A budget that calls on arrays are paid from: in memory, or in a ledger file that stays.

    Every call is paid, the same one again as well: nobody can tell whether two calls had the same array.
    """

    def __init__(
        self,
        epsilon: Any,
        delta: Any = 0,
        *,
        ledger: str | os.PathLike[str] | None = None,
        neighbours: Neighbours = "change-one",
    ) -> None:
        self.budget = Privacy(epsilon, delta, neighbours=neighbours)
        if ledger is None:
            folder = mkdtemp(prefix="dproof-")
            finalize(self, rmtree, folder, ignore_errors=True)
            ledger = Path(folder, "ledger.db")
        self.path = Path(ledger)
        self.curator(np.zeros(0), {"space": "interval", "low": 0, "high": 1})  # begins the ledger, or refuses it

    def curator(self, values: NDArray[Any], column: Mapping[str, Any]) -> tuple[Curator, str]:
        """A curator of one column, under a name that no other call has: no stored answer may be taken for its own."""
        name = f"values {secrets.token_hex(8)}"
        budget = self.budget
        privacy = {"epsilon": budget.epsilon, "delta": budget.delta, "neighbours": budget.neighbours}
        plan = {"privacy": privacy, "columns": {name: dict(column)}}
        return Curator(pa.table({name: values}), plan, ledger=self.path), name

    def remaining(self) -> Cost:
        """The amount that may still be spent: `epsilon` and `delta`, exactly."""
        return Ledger(self.path).remaining()

    def __repr__(self) -> str:
        return f"<accountant: {self.budget.neighbours}, left {self.remaining()}>"


def mean(values: ArrayLike, *, bounds: Bounds, epsilon: Any, **options: Unpack[Options]) -> Cell:
    """The mean of the values."""
    return _asked("AVG({})", values, bounds, epsilon, **options)


def sum(values: ArrayLike, *, bounds: Bounds, epsilon: Any, **options: Unpack[Options]) -> Cell:
    """The sum of the values."""
    return _asked("SUM({})", values, bounds, epsilon, **options)


def var(values: ArrayLike, *, bounds: Bounds, epsilon: Any, **options: Unpack[Options]) -> Cell:
    """The variance of the values, with divisor n as in NumPy."""
    return _asked("VAR_POP({})", values, bounds, epsilon, **options)


def std(values: ArrayLike, *, bounds: Bounds, epsilon: Any, **options: Unpack[Options]) -> Cell:
    """The standard deviation of the values, with divisor n as in NumPy."""
    return _asked("STDDEV_POP({})", values, bounds, epsilon, **options)


def median(values: ArrayLike, *, bounds: Bounds, epsilon: Any, **options: Unpack[Options]) -> Cell:
    """The median of the values, chosen by the exponential mechanism: a cell without an interval."""
    return quantile(values, Fraction(1, 2), bounds=bounds, epsilon=epsilon, **options)


def quantile(values: ArrayLike, q: Any, *, bounds: Bounds, epsilon: Any, **options: Unpack[Options]) -> Cell:
    """A quantile of the values, 0 ≤ q ≤ 1, chosen by the exponential mechanism: a cell without an interval."""
    return _asked(f"QUANTILE({{}}, {exact(q, 'q')})", values, bounds, epsilon, **options)


def count(flags: ArrayLike, *, epsilon: Any, **options: Unpack[Options]) -> Cell:
    """The number of truth values that are true.

    >>> cell = count(np.arange(1000) % 4 == 0, epsilon=1)
    >>> abs(float(cell) - 250) < 50
    True
    """
    array = np.asarray(flags)
    if array.dtype != bool:
        raise ArgumentError("count takes truth values, such as ages > 40")
    column = {"space": "categories", "values": [True, False]}
    return _cells("SELECT COUNT(*) AS x FROM data WHERE {}", array, column, epsilon, **options)[0]


def histogram(
    values: ArrayLike,
    bins: int | Sequence[Any] = 10,
    *,
    bounds: Bounds | None = None,
    epsilon: Any,
    **options: Unpack[Options],
) -> tuple[list[Cell], list[float]]:
    """The number of values in each bin [a, b), the last closed, and the edges; values outside of all bins do not count.

    `bins` are the edges, or how many bins of equal width lie between the bounds.
    """
    if isinstance(bins, Number):
        number = whole(bins, "bins", 1)
        low, high = _bounds(bounds)
        edges = [low + (high - low) * n / number for n in range(number + 1)]
    else:
        edges = [exact(edge, "bins") for edge in listed(bins, "bins", "how many bins there are, or a list of edges")]
    if len(edges) < 2 or any(a >= b for a, b in pairwise(edges)):
        raise ArgumentError("bins must be one or more, or edges that increase")
    column = {"space": "interval", "low": edges[0], "high": edges[-1], "outside": "refuse"}
    whens = " ".join(f"WHEN {{0}} < {edge} THEN {n}" for n, edge in enumerate(edges[1:-1]))
    last = f"WHEN {{0}} <= {edges[-1]} THEN {len(edges) - 2}"
    sql = f"SELECT CASE {whens} {last} END AS bin, COUNT(*) AS x FROM data GROUP BY bin"
    return _cells(sql, _numbers(values), column, epsilon, **options), [float(edge) for edge in edges]


def _asked(aggregate: str, values: ArrayLike, bounds: Bounds, epsilon: Any, **options: Unpack[Options]) -> Cell:
    low, high = _bounds(bounds)
    column = {"space": "interval", "low": low, "high": high, "outside": "clamp"}
    return _cells(f"SELECT {aggregate} AS x FROM data", _numbers(values), column, epsilon, **options)[0]


def _cells(
    sql: str, values: NDArray[Any], column: Mapping[str, Any], epsilon: Any, **options: Unpack[Options]
) -> list[Cell]:
    """The answers to a question on an array; without an accountant the budget is what this one call costs."""
    for option in options:
        if option not in Options.__annotations__:
            raise ArgumentError(f"there is no option {option!r}{did_you_mean(option, Options.__annotations__)}")
    if values.ndim != 1:
        raise ArgumentError(f"values must have one dimension, and have {values.ndim}: ask for one row at a time")
    delta, accountant, missing = options.get("delta", 0), options.get("accountant"), options.get("missing")
    if accountant is None:
        accountant = Accountant(epsilon, delta)
    if missing is not None:
        column = {**column, "missing": exact(missing, "missing")}
    curator, name = expect(accountant, Accountant, "accountant", "an Accountant").curator(values, column)
    answer = curator.ask(sql.format(f'"{name}"'), epsilon=epsilon, delta=delta, level=options.get("level", 0.95))
    return [row["x"] for row in answer.rows]


def _numbers(values: ArrayLike) -> NDArray[np.float64]:
    """The values as floats, each read by itself: what is no number is missing, and no value stops the work."""
    try:
        array = np.asarray(values)
    except ValueError:  # ragged
        raise ArgumentError("values must have one dimension: ask for one row at a time") from None
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    return np.array([_number(value) for value in array.reshape(-1)], np.float64).reshape(array.shape)


def _number(value: Any) -> float:
    if np.iscomplexobj(value):
        return nan  # NumPy would warn, and tell that there is one
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf
    except Exception:  # whatever a value is that is no number
        return nan


def _bounds(bounds: Any) -> tuple[Fraction, Fraction]:
    advice = "bounds must be two numbers, the least and the greatest value that counts"
    try:
        low, high = bounds
    except (TypeError, ValueError):
        raise ArgumentError(advice) from None
    ends = exact(low, "bounds"), exact(high, "bounds")
    if ends[0] >= ends[1]:
        raise ArgumentError(advice)
    return ends
