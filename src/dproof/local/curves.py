"""Mean curves and totals from a release, with bands that hold for the whole curve at once.

A released curve is the true one, as far as its basis can say it, plus noise of mean zero: the mean of released curves
is unbiased as it stands. Rows that a sanitised column chooses are weighed by its inverse law. Where curves may be
missing, one that is shown counts 1/p times, with p how likely a curve is shown that is there; a missing one is shown
about the centre, z = 0, and adds nothing to a sum of z.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement
from typing import Any, cast

import numpy as np

from dproof.coins import NOT_PRIVATE
from dproof.columns.codec import Column
from dproof.curves.bands import points_quantile, tube_quantile
from dproof.curves.columns import stored_values
from dproof.curves.lattice import CurveLattice
from dproof.curves.noise import CurveMechanism
from dproof.errors import QuestionError
from dproof.laws.debias import Array, Contingency
from dproof.local.counts import Counting, StoredRows, fits, rows_that_answer
from dproof.local.estimate import refuse_singular
from dproof.questions.curve_estimate import CurveEstimate, MeasuredCurves, basis_notes
from dproof.questions.estimated import SUGGESTIONS, Options
from dproof.questions.question import (
    Expression,
    Key,
    Predicate,
    Question,
    aggregates_of,
    both,
    name,
)
from dproof.questions.sums import Term, present

_BATCH = 1 << 16
_FEW = 30  # rows below which a mean of noise is not yet normal


class ReleaseCurves(MeasuredCurves):
    """AVG and SUM of a curve column on the stored rows of a release (see `AnswerSource`)."""

    suggestions = SUGGESTIONS

    def __init__(self, release: Any, question: Question, options: Options) -> None:
        self.question, self.rows = question, release.rows
        (self.release,) = rows_that_answer(release, frozenset(question.columns))
        for aggregate in question.aggregates:
            if aggregate.definition.shape == "curved":
                raise QuestionError(
                    f"column {aggregate.columns[0]!r} holds curves: ask a release for AVG or SUM of them"
                )
        self.counted = _Counted(self.release, question.where, question.group_by)
        self.labels, self.shown = self.counted.groups.labels, self.counted.occurs()
        self.options = options.for_each(len(self.labels))

    def functions(self, expression: Expression, groups: Sequence[int]) -> Sequence[CurveEstimate | None]:
        """The means or totals of some groups; None where by the estimate there are no rows.

        What the basis cannot say is in no band.
        """
        (aggregate,), counted = aggregates_of(expression), self.counted
        taken = present(aggregate, counted.counting.schema)
        if taken is not None:
            counted = _Counted(self.release, both(self.question.where, taken), self.question.group_by)
        is_total = aggregate.definition.shape == "linear"
        return _functions(counted, aggregate.columns[0], groups, is_total, self.options)

    def notes(self, groups: Sequence[int]) -> Iterator[str]:
        for aggregate in self.question.aggregates:
            yield from basis_notes(_mechanism(self.release, aggregate.columns[0]).lattice)
        if not self.release.private:
            yield NOT_PRIVATE


class _Counted:
    """The stored rows that satisfy a condition, counted by the axes that tell which these are and their groups."""

    def __init__(self, release: StoredRows, where: Predicate | None, keys: Sequence[Key] = ()) -> None:
        self.release, self.where = release, where
        self.counting = Counting(release.law, [Term((), where)], keys)
        self.table, self.combos = self.counting.read(release)
        self.groups = self.counting.groups(self.combos)

    def occurs(self) -> list[int]:
        """The groups that belong into an answer."""
        if not self.counting.keys:
            return [0]
        return np.flatnonzero(self.counting.occurring(self.where, self.table, self.groups)).tolist()


def _mechanism(release: StoredRows, column: str) -> CurveMechanism:
    return cast(CurveMechanism, release.law.group_of(column).mechanism)


def _functions(
    counted: _Counted, column: str, shown: Sequence[int], total: bool, options: Options
) -> list[CurveEstimate | None]:
    """The means or totals of some groups; None where by the estimate there are no rows.

    With the scores w of the rows for their number, the scores v for sums over them, which are the same where no curve
    may be missing, and lattice vectors z, the mean is m = Σvz / Σw, and its covariance by the delta method
    Σ (vz − wm)(vz − wm)ᵀ / (Σw)².
    """
    release, counting, table, groups = counted.release, counted.counting, counted.table, counted.groups
    if any(axis.rough for axis in counting.axes):
        raise QuestionError(
            "the rows of a mean curve cannot be chosen by numbers under noise, which do not tell them apart: "
            "choose them by public columns, categories or sets"
        )
    is_part = release.rows != release.release_rows
    exact = all(axis.exact for axis in counting.axes)
    if total and (not exact or (is_part and (counted.where is not None or counting.keys))):
        raise QuestionError(
            "a total of curves needs rows chosen by public columns, and a column where no curve may be missing: "
            "ask for the mean, or the count"
        )
    # First the number of rows, and last sums over them, which differ where a curve may be missing.
    products = [(), (column,)] if column in counting.cuts else [()]
    chosen = [counting.sum_of(Term(columns, counted.where)) for columns in products]
    refuse_singular(counting, table.estimates(chosen[:1], groups).values)
    mechanism = _mechanism(release, column)
    sums = _moments(counted, release.law.plan.column(column), cast(CurveLattice, mechanism.outputs))
    size = sums.shape[-1]
    first, second = np.zeros((len(groups.labels), size)), np.zeros((len(groups.labels), size, size))
    noise = float(mechanism.shown.noise.variance) if exact and not is_part and options.target == "table" else None
    for i, j in combinations_with_replacement(range(size), 2):
        if i and noise is not None:
            break  # the variance is known
        if 0 < i < j and mechanism.lattice.expansion.has_values:
            continue  # a band at grid points needs no covariance of two values
        # Estimates are linear in the counts, so that other sums over the rows may stand in their place.
        other = Contingency(table.axes, sums[:, i, j].reshape(table.counts.shape), release.rows)
        estimates = other.estimates(chosen, groups)
        left, right = (-1 if place else 0 for place in (i, j))  # 1 is counted, z is summed
        second[:, i, j] = second[:, j, i] = estimates.squares[:, left, right]
        if i == 0:
            first[:, j] = estimates.values[:, right]
    totalled = (release.release_rows / max(release.rows, 1)) if total else None
    return [_function(mechanism.lattice, first[n], second[n], noise, totalled, options.level) for n in shown]


def _moments(counted: _Counted, column: Column, lattice: CurveLattice) -> Array:
    """Σ (1, z)(1, z)ᵀ over the rows of each cell, for their lattice vectors z."""
    counting, cells = counted.counting, counted.table.counts.size
    size, times = lattice.terms + 1, lattice.space.times
    fits(cells * size**2)
    sums = np.zeros((cells, size, size))
    undo = np.linalg.pinv(lattice.scales[:, None] * lattice.functions(times))
    wanted = [*counting.expressions, *map(name, column.stored)]
    with counted.release.relation() as rows:
        for batch in rows.project(", ".join(wanted)).to_arrow_reader(_BATCH):
            keys, held = batch.columns[: len(counting.expressions)], batch.columns[len(counting.expressions) :]
            values = stored_values(lattice, held)
            if values is None:
                raise QuestionError(f"the stored column {column.name!r} has a missing value: run dproof verify")
            z = np.column_stack([np.ones(len(values)), (values - lattice.centre(times)) @ undo])
            cell, _ = counting.cells(keys, batch.num_rows, counted.combos)
            for place in np.unique(cell):
                here = z[cell == place]
                sums[place] += here.T @ here
    return sums


def _function(
    lattice: CurveLattice, first: Array, second: Array, noise: float | None, total: float | None, level: float
) -> CurveEstimate | None:
    """The estimate from Σ w(1, z) and Σ w²(1, z)(1, z)ᵀ; with `noise` the variance of each z is known.

    It is a mean, or with `total` a total, where each row stands for so many.
    """
    weight, terms = float(first[0]), lattice.terms
    if weight <= 0:
        return None
    mean = first[1:] / weight
    centred = np.column_stack([-mean, np.eye(terms)])
    covariance = centred @ second @ centred.T / weight**2 if noise is None else np.eye(terms) * noise / weight
    factor = np.vstack([_root(covariance), np.zeros(terms)])
    notes = (f"only {weight:.0f} rows: the band assumes that their mean is normal",) if weight < _FEW else ()
    # Where the variance is estimated it holds the spread of the curves too, and smoothing by that would bias the mean.
    smooth, scale = noise is not None and total is None, 1.0 if total is None else weight * total
    made = CurveEstimate(lattice, mean, factor, 1.0, scale, level, smooth, notes)

    def quantile(path: Array, at_points: bool) -> float:
        return points_quantile(path.shape[1], level) if at_points else tube_quantile(path, level)

    return made.with_band(quantile)


def _root(covariance: Array) -> Array:
    """L with LLᵀ = covariance, which may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    root: Array = vectors * np.sqrt(np.clip(values, 0, None))
    return root
