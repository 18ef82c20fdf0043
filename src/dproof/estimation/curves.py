"""Mean curves and totals from a release, with bands that hold for the whole curve at once.

A released curve is the true one, as far as its basis can say it, plus noise of mean zero: the mean of released curves
is unbiased as it stands. Rows that a sanitised column chooses are weighed by its inverse law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from dproof.arguments import expect, flag
from dproof.curves.bands import fine, tube_quantile
from dproof.curves.columns import restore_curves
from dproof.curves.expansion import CurveLattice
from dproof.curves.noise import CurveMechanism
from dproof.errors import InputError
from dproof.estimation.contingency import Contingency, Target
from dproof.estimation.counted import Combos, Counting, fits
from dproof.estimation.estimated import WAYS_OUT, Options, refuse_singular
from dproof.estimation.stored import connected
from dproof.laws.debias import Kept, is_rough
from dproof.laws.scores import Array
from dproof.plans.schema import schema_of
from dproof.questions.answer import Answer, Cell, cautions
from dproof.questions.canonical import name
from dproof.questions.curve_estimate import CurveEstimate
from dproof.questions.possible import possible
from dproof.questions.predicates import Predicate, both
from dproof.questions.question import Aggregate, Item, Key, Question
from dproof.questions.schema import counting, resolve
from dproof.questions.sql import parse_predicate
from dproof.questions.sums import Term
from dproof.spaces.column import Column

_BATCH = 1 << 16
_FEW = 30  # rows below which a mean of noise is not yet normal


def mean_curve(
    release: Any,
    column: str,
    *,
    where: str | None = None,
    total: bool = False,
    level: float = 0.95,
    target: Target = "table",
) -> CurveEstimate:
    """The mean of a curve column, or its total at each grid point, with a simultaneous band.

    `target="table"`: for the curves that were sanitised (privacy noise only), `"population"`: for where they come
    from (noise and sampling). What the basis cannot say is in neither.
    """
    expect(column, str, "column", "the name of a curve column")
    flag(total, "total")
    options = Options(level=level, target=target)
    counted = Aggregate("count", where=None if where is None else parse_predicate(where))
    question = resolve(Question("release", (Item("rows", counted),)), schema_of(release.law.plan, "release"))
    chosen = question.select[0].expression
    assert isinstance(chosen, Aggregate)
    _, (found,) = _estimates(release, column, chosen.where, (), total, options)
    if found is None:
        raise InputError("by the estimate no rows are left to take a mean of: choose more of them")
    return found


def curve_answer(release: Any, question: Question, column: str, options: Options) -> Answer:
    """SELECT keys, AVG(curve), SUM(curve) FROM release WHERE .. GROUP BY keys: cells whose every field is a list."""
    if question.having or question.order_by or question.limit is not None:
        raise InputError("HAVING, ORDER BY and LIMIT do not go with curves: leave them out")
    schema = schema_of(release.law.plan, "release")
    checked = resolve(counting(question), schema)
    columns: dict[str, list[Any]] = {}
    labels: list[tuple[Any, ...]] = []
    for asked, item in zip(question.select, checked.select, strict=True):
        part, counted = asked.expression, item.expression
        if (
            isinstance(part, Aggregate)
            and part.kind in ("avg", "sum")
            and part.columns[0].casefold() == column.casefold()
        ):
            assert isinstance(counted, Aggregate)
            where = both(checked.where, counted.where)
            labels, found = _estimates(release, column, where, checked.group_by, part.kind == "sum", options)
            whole = possible(replace(part, columns=(column,)), checked, schema, release.rows)
            cells = [Cell(None, informative=False) if each is None else each.cell() for each in found]
            columns[item.alias] = [whole.cut(cell) for cell in cells]
        elif not isinstance(counted, Key):
            raise InputError(f"of the curves {column!r} a release can tell AVG and SUM; ask for the rest apart")
    for item in checked.select:
        if isinstance(item.expression, Key):
            columns[item.alias] = [row[checked.group_by.index(item.expression)] for row in labels]
    names = tuple(item.alias for item in checked.select)
    rows = [dict(zip(names, values, strict=True)) for values in zip(*(columns[alias] for alias in names), strict=True)]
    method = f"mean of the released curves (unbiased); simultaneous bands for the {options.target}"
    notes = cautions(rows, WAYS_OUT) + ([] if release.private else ["NOT PRIVATE: drawn with seeded coins"])
    return Answer(names, rows, options.level, tuple(notes), method)


def _estimates(
    release: Any, column: str, where: Predicate | None, keys: Sequence[Key], total: bool, options: Options
) -> tuple[list[tuple[Any, ...]], list[CurveEstimate | None]]:
    """The labels of the groups, and their means or totals; None where by the estimate there are no rows.

    With weights w, the scores of the rows, and lattice vectors z, the mean is m = Σwz / Σw, and its covariance by the
    delta method Σ w²(z − m)(z − m)ᵀ / (Σw)².
    """
    law, held = release.law, release.plan.column(column)
    mechanism = law.group_of(column).mechanism if held.private else None
    if not isinstance(mechanism, CurveMechanism):
        raise InputError(f"column {column!r} holds no sanitised curves")
    counting = Counting(law, [Term((), where)], keys)
    if any(map(is_rough, counting.axes)):
        raise InputError(
            "a mean curve cannot be asked by numbers under noise, which do not tell its rows apart: "
            "choose its rows by public columns, categories or sets"
        )
    exact = all(isinstance(axis, Kept) and axis.exact for axis in counting.axes)
    if total and not exact:
        raise InputError("a total of curves is told for rows chosen by public columns; ask for the mean, or the count")
    table, combos = counting.read(release.data, release.rows)
    groups, chosen = counting.groups(combos), counting.sum_of(Term((), where))
    occurs = np.flatnonzero(counting.occurring(where, table, groups)).tolist() if keys else [0]
    refuse_singular(counting, table.estimates([chosen], groups).values)
    sums = _moments(release, held, mechanism.lattice, counting, combos, table.counts.size)
    size = sums.shape[-1]
    first, second = np.zeros((len(groups.labels), size)), np.zeros((len(groups.labels), size, size))
    noise = float(mechanism.family.noise.variance) if exact and options.target == "table" else None
    for i, j in combinations_with_replacement(range(size), 2):
        if i and noise is not None:
            break  # the variance is known
        # Estimates are linear in the counts, so that other sums over the rows may stand in their place.
        other = Contingency(table.axes, sums[:, i, j].reshape(table.counts.shape), release.rows)
        found = other.estimates([chosen], groups)
        second[:, i, j] = second[:, j, i] = found.squares[:, 0, 0]
        if i == 0:
            first[:, j] = found.values[:, 0]
    curves = [_curve(mechanism.lattice, first[n], second[n], noise, total, options.level) for n in occurs]
    return [groups.labels[n] for n in occurs], curves


def _moments(
    release: Any, column: Column, lattice: CurveLattice, counting: Counting, combos: Combos, cells: int
) -> Array:
    """Σ (1, z)(1, z)ᵀ over the rows of each cell, for their lattice vectors z."""
    size, times = lattice.terms + 1, lattice.space.times
    fits(cells * size**2)
    sums = np.zeros((cells, size, size))
    undo = np.linalg.pinv(lattice.scales[:, None] * lattice.functions(times))
    wanted = [*counting.expressions, *map(name, column.stored)]
    with connected(release.data, "stored") as database:
        for batch in database.sql(f"SELECT {', '.join(wanted)} FROM stored").to_arrow_reader(_BATCH):
            keys, held = batch.columns[: len(counting.expressions)], batch.columns[len(counting.expressions) :]
            values = restore_curves(held, lattice.space.points)
            if values is None:
                raise InputError(f"the stored column {column.name!r} has a gap: dproof verify says what is wrong")
            z = np.column_stack([np.ones(len(values)), (values - lattice.centre(times)) @ undo])
            cell, _ = counting.cells(keys, batch.num_rows, combos)
            for each in np.unique(cell):
                own = z[cell == each]
                sums[each] += own.T @ own
    return sums


def _curve(
    lattice: CurveLattice, first: Array, second: Array, noise: float | None, total: bool, level: float
) -> CurveEstimate | None:
    """The estimate from Σ w(1, z) and Σ w²(1, z)(1, z)ᵀ; with `noise` the variance of each z is known."""
    weight, terms, times = float(first[0]), lattice.terms, lattice.space.times
    if weight <= 0:
        return None
    mean = first[1:] / weight
    centred = np.column_stack([-mean, np.eye(terms)])
    covariance = centred @ second @ centred.T / weight**2 if noise is None else np.eye(terms) * noise / weight
    factor = np.vstack([_root(covariance), np.zeros(terms)])
    notes = (f"only {weight:.0f} rows: the band takes their mean for normal",) if weight < _FEW else ()
    made = CurveEstimate(lattice, mean, factor, 1.0, weight if total else 1.0, level, notes)
    path = made.loadings(fine(times[0], times[-1], times))
    return replace(made, quantile=tube_quantile(path, level))


def _root(covariance: Array) -> Array:
    """L with LLᵀ = covariance, which may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    root: Array = vectors * np.sqrt(np.clip(values, 0, None))
    return root
