"""Quantiles, extremes and the most frequent values of estimated distributions."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from dproof.errors import InputError
from dproof.estimation.contingency import Groups
from dproof.estimation.expressions import sums_of
from dproof.estimation.frame import Frame, Needed, schema_of
from dproof.estimation.intervals import half_widths, normal_quantile
from dproof.estimation.measuring import Asked, measure, refuse_singular
from dproof.laws.lattice import NODES
from dproof.laws.scores import Array
from dproof.questions.answer import Cell
from dproof.questions.predicates import Compare, Contains, Predicate, both
from dproof.questions.question import Aggregate, Key
from dproof.questions.schema import Open, plain

_MOST_STEPS = 512  # thresholds at which a distribution is estimated
# A distribution in one group at rising values: the values, T(t) − q·n for each, its half-width, and the naive one.
Steps = tuple[Array, Array, Array, Array]


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
    if aggregate.kind not in ("min", "max", "quantile"):
        raise KeyError(f"{aggregate.kind} is no order statistic")
    public = isinstance(schema_of(asked.law).spaces[aggregate.columns[0]], Open)
    steps = _public(asked, aggregate, where, groups) if public else _private(asked, aggregate, where)
    return [_cell(aggregate, asked.options.level, *each) for each in steps]


def _cell(aggregate: Aggregate, level: float, values: Array, total: Array, half: Array, naive: Array) -> Cell:
    """Where an estimated distribution passes its mark, and where it may pass it (Woodruff 1952)."""
    if not len(values):
        return Cell(None)
    # An extreme is where half a row is passed; a quantile may be hit exactly, whatever floats make of it.
    mark = 0.5 if aggregate.kind != "quantile" else -1e-9 * float(np.abs(total).max())
    last = len(values) - 1
    rising = (np.maximum.accumulate(total) + np.minimum.accumulate(total[::-1])[::-1]) / 2
    middle, low, raw = (_first(found >= mark, last) for found in (rising, total + half, naive))
    below = np.flatnonzero(total - half < mark)
    high = min(int(below[-1]) + 1, last) if len(below) else 0
    ends = sorted([float(values[min(low, middle)]), float(values[max(high, middle)])])
    stderr = (ends[1] - ends[0]) / (2 * normal_quantile(level))
    return Cell(_number(values[middle]), ends[0], ends[1], stderr, _number(values[raw]))


def _first(holds: Array, last: int) -> int:
    return int(np.argmax(holds)) if holds.any() else last


def _number(value: float) -> int | float:
    return plain(Fraction(float(value)))


def _share(aggregate: Aggregate) -> float:
    """q of a quantile: T(t) − q·n passes 0 there."""
    return float(aggregate.argument or 0) if aggregate.kind == "quantile" else 0.0


def _private(asked: Asked, aggregate: Aggregate, where: Predicate | None) -> Iterator[Steps]:
    """The estimated counts below each value of a sanitised column, in every group."""
    (column,), options = aggregate.columns, asked.options
    if (column, where) not in asked.tables:
        frame = _spelled(asked, column, where)
        asked.tables[column, where] = (frame, *frame.read(asked.data, asked.rows))
    frame, table, combos = asked.tables[column, where]
    values = _ends(frame, column, least=aggregate.kind == "min")
    order = np.argsort(values, kind="stable")
    if aggregate.kind == "max":
        order = order[::-1]
    marks = np.unique(np.linspace(0, len(order) - 1, min(len(order), _MOST_STEPS)).astype(np.int64))
    takes = (np.argsort(order)[None, :] <= marks[:, None]) - _share(aggregate)
    found = table.estimates([frame.sum_of(where)], frame.groups(combos, {column: takes}))
    refuse_singular(frame, found.values)
    variance = found.covariance(options.target)[:, 0, 0]
    half = half_widths(variance, found.heaviest[:, 0], options.level).half + found.doubts[:, 0]
    columns = (found.values[:, 0], half, found.naive[:, 0])
    for rows in zip(*(each.reshape(-1, len(marks)) for each in columns), strict=True):
        yield values[order[marks]], *rows


def _spelled(asked: Asked, column: str, where: Predicate | None) -> Frame:
    """A frame in which a column has a block for every value, or for as many steps as can be told apart."""
    space: Any = schema_of(asked.law).spaces[column]
    most = _MOST_STEPS if asked.law.group_of(column).mechanism.family.is_sharp else NODES
    cuts: list[Predicate] = []
    if space.line is not None and space.candidates > most:
        places = np.unique(np.linspace(0, space.candidates - 1, most + 1).astype(np.int64)[1:-1])
        cuts = [Compare(column, "<=", space.label(int(place))) for place in places]
    needed: list[Needed] = [(condition, ()) for condition in (where, *cuts)]
    return Frame(asked.law, needed, asked.question.group_by, () if cuts else [column])


def _ends(frame: Frame, column: str, *, least: bool) -> Array:
    """The least or the greatest number of each block of a column."""
    cut = frame.cuts[column]
    ends = cut.samples
    if not least:
        ends[cut.block] = cut.last  # the last of its runs is assigned last
    space: Any = frame.schema.spaces[column]
    return np.asarray(space.values_of(ends))


def _public(asked: Asked, aggregate: Aggregate, where: Predicate | None, groups: Groups) -> Iterator[Steps]:
    """The same for a public column, whose values are exact and whose groups need not be."""
    (column,), options = aggregate.columns, asked.options
    frame = Frame(asked.law, [(where, ())], [*asked.question.group_by, Key(column)])
    table, combos = frame.read(asked.data, asked.rows)
    inner = frame.groups(combos)
    found = table.estimates([frame.sum_of(where)], inner)
    parts: dict[tuple[Any, ...], list[tuple[float, ...]]] = {labels: [] for labels in groups.labels}
    numbers = np.stack([found.values[:, 0], found.naive[:, 0], found.squares[:, 0, 0], found.products[:, 0, 0]], axis=1)
    for (*group, value), row in zip(inner.labels, numbers.tolist(), strict=True):
        if isinstance(value, (int, float, Decimal)):
            parts[tuple(group)].append((float(value), *row))
        elif value is not None:
            raise InputError(
                f"{aggregate.kind.upper()} needs numbers, and column {column!r} has other values: COUNT it"
            )
    for rows in parts.values():
        each, q = np.array(sorted(rows, reverse=aggregate.kind == "max")).reshape(-1, 5), _share(aggregate)
        upto, all_of = np.cumsum(each, axis=0), each.sum(axis=0)
        _, total, naive, *_ = (upto - q * all_of).T
        # Rows with different public values are different rows, so their squares add up: (1 − q)² before t, q² behind.
        *_, square, product = ((1 - 2 * q) * upto + q**2 * all_of).T
        less = product if options.target == "table" else total**2 / max(asked.rows, 1)
        variance = np.where(np.abs(square - less) < 1e-9 * np.abs(square), 0.0, square - less)
        yield each[:, 0], total, half_widths(variance, np.zeros(len(each)), options.level).half, naive


def _most_frequent(asked: Asked, aggregate: Aggregate, where: Predicate | None, groups: Groups) -> list[Cell]:
    """The values or items of the largest estimated counts."""
    (column,), keys = aggregate.columns, asked.question.group_by
    space = schema_of(asked.law).spaces[column]
    counts: dict[tuple[Any, ...], list[tuple[float, float, Any]]] = {labels: [] for labels in groups.labels}

    def add(condition: Predicate | None, more: tuple[Key, ...], item: tuple[Any, ...]) -> None:
        needed: list[Needed] = [(condition, ())]
        frame = Frame(asked.law, needed, [*keys, *more])
        table, combos = frame.read(asked.data, asked.rows)
        found = frame.groups(combos)
        measured = measure(asked, frame, table, found, needed)
        estimates, naive = measured.best[:, 0], measured.found.naive[:, 0]
        for labels, value, raw in zip(found.labels, estimates, naive, strict=True):
            *group, label = *labels, *item
            if label is not None:
                counts[tuple(group)].append((float(value), float(raw), label))

    if not isinstance(space, Open) and space.items is not None:
        for item in map(space.candidate, range(space.candidates)):
            add(both(where, Contains(column, item)), (), (item,))
    else:
        add(where, (Key(column),), ())
    cells = []
    for rows in counts.values():
        ranked = [[row[2] for row in sorted(rows, key=lambda row, n=n: -row[n])] for n in (0, 1)]  # type: ignore[misc]
        if aggregate.kind == "mode":
            best, raw = (labels[0] if labels else None for labels in ranked)
        else:
            best, raw = (labels[: int(aggregate.argument or 1)] for labels in ranked)
        cells.append(Cell(best, raw=raw))
    return cells
