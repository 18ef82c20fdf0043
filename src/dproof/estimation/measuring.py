"""The sums a question needs, estimated in every group and calculated with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from dproof.errors import InputError, did_you_mean
from dproof.estimation.axes import Mixed
from dproof.estimation.contingency import Contingency, Estimates, Target
from dproof.estimation.distribution import fold, likelihood, projection
from dproof.estimation.expressions import Needed, Value, aggregate_value, constant_like, evaluate
from dproof.estimation.frame import Frame, Groups
from dproof.estimation.intervals import check_level, half_widths, simultaneous
from dproof.estimation.inverse import Array
from dproof.queries.answer import Cell
from dproof.queries.question import Aggregate, Expression, Question
from dproof.sanitisation.row_law import RowLaw

Method = Literal["inverse", "likelihood", "projection"]
_ROUGH = "numbers under noise are told apart roughly, and the intervals allow for it"
_FEW = "few rows carry noise here, so an interval is Bernstein's: it covers at least its level"
_UNSURE = "a divisor is not clearly different from zero, so a ratio has no interval"


@dataclass(frozen=True, slots=True)
class Options:
    """How a question is answered."""

    level: float = 0.95
    method: Method = "inverse"
    target: Target = "table"
    simultaneous: bool = False

    def __post_init__(self) -> None:
        check_level(self.level)
        for name, options in (("method", get_args(Method)), ("target", get_args(Target))):
            if getattr(self, name) not in options:
                raise InputError(
                    f"{name} {getattr(self, name)!r} is not known{did_you_mean(getattr(self, name), options)}"
                )


@dataclass(slots=True)
class Asked:
    """A question on a release, with what its parts are answered from."""

    law: RowLaw
    data: Any
    rows: int
    question: Question
    options: Options
    notes: list[str] = field(default_factory=list)
    tables: dict[Any, Any] = field(default_factory=dict)  # what was read for order statistics, by column and condition


@dataclass(slots=True)
class Measured:
    """The estimated sums of every group, ready to be calculated with."""

    asked: Asked
    frame: Frame
    needed: list[Needed]
    values: Array
    naive: Array | None
    covariance: Array
    heaviest: Array
    doubts: Array
    warnings: list[dict[str, None]] = field(init=False)

    def __post_init__(self) -> None:
        self.warnings = [{} for _ in self.values]

    def value(self, expression: Expression, values: Array) -> Value:
        """An expression of the sums."""
        groups, sums = values.shape

        def sum_of(wanted: Needed) -> Value:
            n = self.needed.index(wanted)
            gradient = np.zeros((groups, sums))
            gradient[:, n] = 1.0
            return Value(values[:, n], gradient, self.covariance, np.zeros(groups, bool))

        where = self.asked.question.where
        return evaluate(
            expression,
            lambda aggregate: aggregate_value(aggregate, where, self.frame, sum_of),
            constant_like(groups, self.covariance),
        )

    def cells(self, expression: Expression) -> list[Cell]:
        """The estimates of an expression in every group, with their intervals."""
        options = self.asked.options
        found = self.value(expression, self.values)
        variance = found.variance
        level = options.level
        if options.simultaneous:
            level = simultaneous(level, int((variance != 0).sum()))
        heaviest = np.einsum("gi,gi->g", np.abs(found.gradient), self.heaviest)
        widths = half_widths(variance, heaviest, level)
        doubt = np.einsum("gi,gi->g", np.abs(found.gradient), self.doubts)
        for about, which in ((_ROUGH, doubt > 0), (_FEW, widths.few), (_UNSURE, found.unsure)):
            for group in np.flatnonzero(which):
                self.warnings[group][about] = None
        naive = None if self.naive is None else self.value(expression, self.naive).value
        plain = isinstance(expression, Aggregate) and expression.kind == "count"
        cells = []
        for n, estimate in enumerate(found.value):
            half = float(widths.half[n] + doubt[n])
            sure = np.isfinite(half) and not (found.unsure[n] and half != 0)
            low, high = (float(estimate) - half, float(estimate) + half) if sure else (None, None)
            if low is not None and options.method != "inverse" and plain:
                low = max(low, 0.0)
            raw = None if naive is None or not np.isfinite(naive[n]) else _tidy(float(naive[n]), plain)
            exact = plain and half == 0
            stderr = float(widths.stderr[n]) if np.isfinite(half) else None
            cells.append(Cell(_tidy(float(estimate), exact), low, high, stderr, raw))
        return cells


def _tidy(number: float, whole: bool) -> float | int | None:
    if not np.isfinite(number):
        return None
    return round(number) if whole else number


def measure(asked: Asked, frame: Frame, table: Contingency, groups: Groups, needed: list[Needed]) -> Measured:
    """Estimate the sums in every group, in the order of the groups."""
    sums = [frame.sum_of(where, columns) for where, columns in needed]
    found: Estimates = table.estimates(sums, groups.grouped)
    values, order = found.values, groups.order
    if asked.options.method == "inverse":
        if np.isnan(values).any():
            refuse_singular(frame)
    else:
        cells = likelihood(table) if asked.options.method == "likelihood" else projection(table)
        if np.isnan(cells).any():
            refuse_singular(frame)
        values = np.stack([table.total(fold(table, cells, each), each, groups.grouped) for each in sums], axis=1)
    naive = None if found.naive is None else found.naive[order]
    covariance = found.covariance(asked.options.target)
    return Measured(
        asked, frame, needed, values[order], naive, covariance[order], found.heaviest[order], found.doubts[order]
    )


def refuse_singular(frame: Frame) -> None:
    """Say which law cannot be undone."""
    for axis in frame.axes:
        if isinstance(axis, Mixed) and axis.is_singular():
            raise InputError(axis.explain())
    raise InputError("the law of these columns cannot be undone; raw(...) shows the rows as they are")
