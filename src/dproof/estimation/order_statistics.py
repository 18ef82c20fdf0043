"""Quantiles, extremes and the most frequent values of estimated distributions."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from dproof.errors import InputError
from dproof.estimation.contingency import Estimates
from dproof.estimation.cuts import values_of
from dproof.estimation.expressions import sums_of
from dproof.estimation.frame import Choice, Frame, Groups, schema_of
from dproof.estimation.intervals import half_widths, normal_quantile
from dproof.estimation.inverse import Array
from dproof.estimation.measuring import Asked, measure, refuse_singular
from dproof.estimation.smoothing import NODES
from dproof.laws.keep_or_other import KeepOrOther
from dproof.queries.answer import Cell
from dproof.queries.question import Aggregate, Compare, Contains, Key, Predicate, both
from dproof.queries.schema import Open, plain
from dproof.spaces import Subsets
from dproof.spaces.interval import Interval

_MOST_STEPS = 512  # thresholds at which a distribution is estimated


def special_cells(asked: Asked, aggregate: Aggregate, groups: Groups) -> list[Cell]:
    """One cell for every group of an answer."""
    if aggregate.kind == "distinct":
        raise InputError(
            "COUNT(DISTINCT ...) cannot be debiased: which values occur at all is what the noise hides; "
            "raw(...) counts those of the sanitised rows"
        )
    counted = Aggregate("count", aggregate.columns, where=aggregate.where)
    ((where, _),) = sums_of(counted, asked.question.where, schema_of(asked.law))
    if aggregate.kind in ("mode", "top"):
        return _most_frequent(asked, aggregate, where, groups)
    space = schema_of(asked.law).spaces[aggregate.columns[0]]
    public = isinstance(space, Open)
    measured = _public(asked, aggregate, where, groups) if public else _private(asked, aggregate, where)
    return [_cell(aggregate, steps, asked.options.level) for steps in measured]


class _Steps:
    """A distribution in one group at rising values: T(t) − q·n for each, its half-width, and the naive value."""

    __slots__ = ("half", "naive", "total", "values")

    def __init__(self, values: Array, total: Array, half: Array, naive: Array | None) -> None:
        self.values, self.total, self.half, self.naive = values, total, half, naive


def _cell(aggregate: Aggregate, steps: _Steps, level: float) -> Cell:
    """Where an estimated distribution passes its mark, and where it may pass it (Woodruff 1952)."""
    values, last = steps.values, len(steps.values) - 1
    if not len(values):
        return Cell(None)
    # An extreme is where half a row is passed; a quantile may be hit exactly, whatever floats make of it.
    mark = 0.5 if aggregate.kind != "quantile" else -1e-9 * float(np.abs(steps.total).max())
    rising = (np.maximum.accumulate(steps.total) + np.minimum.accumulate(steps.total[::-1])[::-1]) / 2
    middle = _first(rising >= mark, last)
    low = _first(steps.total + steps.half >= mark, last)
    below = np.flatnonzero(steps.total - steps.half < mark)
    high = min(int(below[-1]) + 1, last) if len(below) else 0
    ends = sorted([float(values[min(low, middle)]), float(values[max(high, middle)])])
    naive = None if steps.naive is None else _number(values[_first(steps.naive >= mark, last)])
    stderr = (ends[1] - ends[0]) / (2 * normal_quantile(level))
    return Cell(_number(values[middle]), ends[0], ends[1], stderr, naive)


def _first(holds: Array, last: int) -> int:
    found = np.flatnonzero(holds)
    return int(found[0]) if len(found) else last


def _number(value: float) -> int | float:
    return plain(Fraction(float(value)))


def _private(asked: Asked, aggregate: Aggregate, where: Predicate | None) -> list[_Steps]:
    """The estimated counts below each value of a sanitised column, in every group."""
    (column,) = aggregate.columns
    if (column, where) not in asked.tables:
        frame = _spelled(asked, column, where)
        asked.tables[column, where] = (frame, *frame.read(asked.data, asked.rows))
    frame, table, combos = asked.tables[column, where]
    values = _ends(frame, column, least=aggregate.kind == "min")
    order = np.argsort(values, kind="stable")
    if aggregate.kind == "max":
        order = order[::-1]
    marks = np.unique(np.linspace(0, len(order) - 1, min(len(order), _MOST_STEPS)).astype(np.int64))
    takes = (np.argsort(order)[None, :] <= marks[:, None]).astype(float)
    if aggregate.kind == "quantile":
        takes -= float(aggregate.argument or 0)
    groups = frame.groups(combos, [Choice(column, tuple(marks), takes)])
    found = table.estimates([frame.sum_of(where)], groups.grouped)
    if np.isnan(found.values).any():
        refuse_singular(frame)
    total, half, naive = _one_sum(asked, found, groups.order)
    shape = (-1, len(marks))
    rows = zip(total.reshape(shape), half.reshape(shape), strict=True)
    raw = [None] * (len(total) // len(marks)) if naive is None else list(naive.reshape(shape))
    return [_Steps(values[order[marks]], t, h, r) for (t, h), r in zip(rows, raw, strict=True)]


def _spelled(asked: Asked, column: str, where: Predicate | None) -> Frame:
    """A frame in which a column has a block for every value, or for as many steps as can be told apart."""
    space: Any = schema_of(asked.law).spaces[column]
    sharp = isinstance(asked.law.group_of(column).mechanism.family, KeepOrOther)
    most = _MOST_STEPS if sharp else NODES
    cuts: list[Predicate] = []
    if isinstance(space, Interval) and space.size > most:
        places = np.unique(np.linspace(0, space.size - 1, most + 1).astype(np.int64)[1:-1])
        cuts = [Compare(column, "<=", space.low + space.step * int(place)) for place in places]
    return Frame(asked.law, [where, *cuts], asked.question.group_by, spelled=() if cuts else [column])


def _ends(frame: Frame, column: str, *, least: bool) -> Array:
    """The least or the greatest number of each block of a column."""
    cut = frame.cuts[column]
    ends = cut.first if least or cut.merged is None else np.array(cut.axis.last)[cut.grid]
    return values_of(frame.schema.spaces[column], ends)


def _one_sum(asked: Asked, found: Estimates, order: Array) -> tuple[Array, Array, Array | None]:
    variance = found.covariance(asked.options.target)[order, 0, 0]
    half = half_widths(variance, found.heaviest[order, 0], asked.options.level).half + found.doubts[order, 0]
    return found.values[order, 0], half, None if found.naive is None else found.naive[order, 0]


def _public(asked: Asked, aggregate: Aggregate, where: Predicate | None, groups: Groups) -> list[_Steps]:
    """The same for a public column, whose values are exact and whose groups need not be."""
    (column,), question = aggregate.columns, asked.question
    frame = Frame(asked.law, [where], [*question.group_by, Key(column)])
    table, combos = frame.read(asked.data, asked.rows)
    inner = frame.groups(combos)
    found = table.estimates([frame.sum_of(where)], inner.grouped)
    squares, products = found.squares[inner.order, 0, 0], found.products[inner.order, 0, 0]
    parts: dict[tuple[Any, ...], list[tuple[float, float, float, float]]] = {labels: [] for labels in groups.labels}
    values = found.values[inner.order, 0]
    for n, labels in enumerate(inner.labels):
        if isinstance(labels[-1], (int, float, Decimal)):
            parts[labels[:-1]].append((float(labels[-1]), values[n], squares[n], products[n]))
        elif labels[-1] is not None:
            raise InputError(
                f"{aggregate.kind.upper()} needs numbers, and column {column!r} has other values: COUNT it"
            )
    steps = []
    for rows in parts.values():
        each = np.array(sorted(rows, reverse=aggregate.kind == "max")).reshape(-1, 4)
        share = float(aggregate.argument or 0) if aggregate.kind == "quantile" else 0.0
        takes = np.tri(len(each)) - share
        total = takes @ each[:, 1]
        # Rows with different public values are different rows, so their squares add up.
        square = takes**2 @ each[:, 2]
        less = takes**2 @ each[:, 3] if asked.options.target == "table" else total**2 / max(asked.rows, 1)
        variance = np.where(np.abs(square - less) < 1e-9 * np.abs(square), 0.0, square - less)
        half = half_widths(variance, np.zeros(len(each)), asked.options.level).half
        steps.append(_Steps(each[:, 0], total, half, total if not half.any() else None))
    return steps


def _most_frequent(asked: Asked, aggregate: Aggregate, where: Predicate | None, groups: Groups) -> list[Cell]:
    """The values or items of the largest estimated counts."""
    (column,), question = aggregate.columns, asked.question
    space = schema_of(asked.law).spaces[column]
    wanted = int(aggregate.argument or 1)
    counts: dict[tuple[Any, ...], list[tuple[float, float | None, Any]]] = {labels: [] for labels in groups.labels}

    def add(frame: Frame, condition: Predicate | None, item: Any, *, inside: bool) -> None:
        table, combos = frame.read(asked.data, asked.rows)
        found = frame.groups(combos)
        measured = measure(asked, frame, table, found, [(condition, ())])
        estimates = measured.values if measured.fitted is None else measured.fitted
        for n, labels in enumerate(found.labels):
            raw = None if measured.naive is None else float(measured.naive[n, 0])
            group, label = (labels[:-1], labels[-1]) if inside else (labels, item)
            if label is not None:
                counts[group].append((float(estimates[n, 0]), raw, label))

    if isinstance(space, Subsets):
        for item in space.values:
            condition = both(where, Contains(column, item))  # type: ignore[arg-type]
            add(Frame(asked.law, [condition], question.group_by), condition, item, inside=False)
    else:
        add(Frame(asked.law, [where], [*question.group_by, Key(column)]), where, None, inside=True)
    cells = []
    for rows in counts.values():
        best = [label for _, _, label in sorted(rows, key=lambda row: -row[0])[:wanted]]
        naive = [label for _, _, label in sorted(rows, key=lambda row: -(row[1] or 0.0))[:wanted]]
        raw = naive if all(row[1] is not None for row in rows) else None
        single = aggregate.kind == "mode"
        cells.append(Cell(best[0] if single and best else best, raw=raw[0] if single and raw else raw))
    return cells
