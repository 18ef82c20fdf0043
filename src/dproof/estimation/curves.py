"""Mean curves and totals from a release, with bands that hold for the whole curve at once.

A released curve is the true one, as far as its basis can say it, plus noise of mean zero: the mean of released curves
is unbiased as it stands. Rows that a sanitised column chooses are weighed by its inverse law.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from dproof.curves.bands import fine, tube_quantile
from dproof.curves.noise import CurveMechanism
from dproof.engines.source import Parts
from dproof.errors import InputError
from dproof.estimation.axes import whole_law
from dproof.estimation.contingency import Target
from dproof.estimation.frame import schema_of
from dproof.estimation.intervals import check_level
from dproof.estimation.inverse import Array, solve
from dproof.estimation.measuring import Options
from dproof.estimation.reading import connected
from dproof.queries.answer import Answer, Cell
from dproof.queries.canonical import condition, name
from dproof.queries.curve_estimate import CurveEstimate
from dproof.queries.question import Aggregate, Among, And, Compare, Key, Predicate, Question, both, leaves
from dproof.queries.sql import parse_predicate
from dproof.sanitisation.column import Column
from dproof.sanitisation.plan import Plan
from dproof.sanitisation.row_law import RowLaw
from dproof.spaces.categories import Categories

_BATCH = 1 << 16
_FEW = 30  # rows below which a mean of noise is not yet normal
_CHOOSE = "choose its rows by public columns, or by = and IN on sanitised categories of their own"


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

    >>> import dproof as dp, pyarrow
    >>> plan = {"privacy": {"epsilon": 1}, "columns": {
    ...     "load": {"space": "curves", "points": 9, "low": 0, "high": 2, "terms": 3}}}
    >>> release = dp.sanitise(pyarrow.table({"load": [[1.0] * 9] * 400}), plan)
    >>> mean_curve(release, "load").estimate.shape
    (9,)
    """
    chosen = None if where is None else parse_predicate(where)
    options = Options(level=check_level(level), target=target)
    found = _estimate(release, column, chosen, total, options)
    if found is None:
        raise InputError("by the estimate no rows are left to take a mean of: choose more of them")
    return found


def curve_column(question: Question, law: RowLaw) -> str | None:
    """The curve column that a question asks about, if any."""
    curves = {column.name.casefold(): column.name for column in law.plan.columns if column.kind == "curves"}
    for item in question.select:
        if isinstance(item.expression, Aggregate):
            for asked in item.expression.columns:
                if asked.casefold() in curves:
                    return curves[asked.casefold()]
    return None


def curve_answer(release: Any, question: Question, column: str, options: Options) -> Answer:
    """SELECT keys, AVG(curve), SUM(curve) FROM release WHERE .. GROUP BY keys: cells whose every field is a list."""
    schema = schema_of(release.law)
    if question.table.casefold() != schema.table:
        raise InputError(f"there is no table {question.table!r}: ask FROM {schema.table}")
    if question.having or question.order_by or question.limit is not None:
        raise InputError("HAVING, ORDER BY and LIMIT do not go with curves: leave them out")
    keys = list(question.group_by)
    rows = []
    for labels in product(*(_labels(release, key) for key in keys)):
        where = question.where
        for key, label in zip(keys, labels, strict=True):
            where = both(where, Compare(key.column, "=", label))
        row: dict[str, Any] = {}
        for item in question.select:
            part = item.expression
            if isinstance(part, Key) and part in keys:
                row[item.alias] = labels[keys.index(part)]
            elif isinstance(part, Aggregate) and part.kind in ("avg", "sum") and _same(part.columns[0], column):
                chosen = both(where, part.where)
                found = _estimate(release, column, chosen, part.kind == "sum", options)
                row[item.alias] = Cell(None) if found is None else found.cell()
            else:
                raise InputError(f"of the curves {column!r} a release can tell AVG and SUM; ask for the rest apart")
        rows.append(row)
    names = tuple(item.alias for item in question.select)
    method = f"mean of the released curves (unbiased); simultaneous bands for the {options.target}"
    notes = () if release.private else ("NOT PRIVATE: drawn with seeded coins",)
    return Answer(names, rows, options.level, notes, method)


def _same(given: str, column: str) -> bool:
    return given.casefold() == column.casefold()


def _named(law: RowLaw, column: str) -> Column:
    """A column that rows can be chosen by, whatever the case it is written in."""
    return law.plan.column(schema_of(law).find(column))


def _labels(release: Any, key: Key) -> list[Any]:
    """The declared values of a sanitised category, or those that a public column has."""
    if key.width is not None:
        raise InputError("curves are grouped by columns as they are, without BIN")
    column = _named(release.law, key.column)
    if column.kind == "categories" and isinstance(column.space, Categories):
        return [label for label in column.space.values if label is not None]
    if column.kind != "public":
        raise InputError(f"curves cannot be grouped by {key.column!r}: {_CHOOSE}")
    with connected(release.data, "stored") as database:
        found = database.execute(f"SELECT DISTINCT {name(key.column)} FROM stored ORDER BY 1").fetchall()
    return [value for (value,) in found if value is not None]


def _estimate(release: Any, name: str, where: Predicate | None, total: bool, options: Options) -> CurveEstimate | None:
    """The mean or total over the chosen rows; None where by the estimate there are none."""
    law: RowLaw = release.law
    column = release.plan.column(name)
    mechanism = law.group_of(column.name).mechanism if column.private else None
    if not isinstance(mechanism, CurveMechanism):
        raise InputError(f"column {column.name!r} holds no sanitised curves")
    public, scores = _split(where, law)
    if total and scores:
        raise InputError("a total of curves is told for rows chosen by public columns; ask for the mean, or the count")
    lattice, terms = mechanism.lattice, mechanism.lattice.terms
    moments = _moments(release.data, release.plan, column, lattice, public, scores)
    weight, first, squares = float(moments[0, 0]), moments[0, 1:], moments[1:]
    if weight <= 0:
        return None
    mean = first / weight
    if options.target == "table" and not scores:
        covariance = np.eye(terms) * float(mechanism.family.noise.variance) / weight
    else:
        about = np.column_stack([-mean, np.eye(terms)])  # z − mean, from (1, z)
        covariance = about @ squares @ about.T / weight**2
    times = lattice.space.times
    factor = np.vstack([_root(covariance), np.zeros(terms)])
    notes = (f"only {weight:.0f} rows: the band takes their mean for normal",) if weight < _FEW else ()
    scale = weight if total else 1.0
    made = CurveEstimate(lattice, mean, factor, 1.0, scale, options.level, notes)
    path = made.loadings(fine(times[0], times[-1], times))
    return replace(made, quantile=tube_quantile(path, options.level))


def _root(covariance: Array) -> Array:
    """L with LLᵀ = covariance, which may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    root: Array = vectors * np.sqrt(np.clip(values, 0, None))
    return root


def _split(where: Predicate | None, law: RowLaw) -> tuple[str, dict[str, Array]]:
    """A condition as SQL on public columns, and the score of each code of the sanitised columns."""
    plain: list[str] = []
    scores: dict[str, Array] = {}
    for part in where.parts if isinstance(where, And) else [] if where is None else [where]:
        columns = {_named(law, leaf.column).name for leaf in leaves(part)}
        if all(law.plan.column(c).kind == "public" for c in columns):
            plain.append(condition(part))
            continue
        group = law.group_of(columns.pop())
        space = group.columns[0].space
        if columns or len(group.columns) > 1 or not isinstance(space, Categories):
            raise InputError(f"a mean curve cannot be asked under this condition: {_CHOOSE}")
        if not isinstance(part, Among) and not (isinstance(part, Compare) and part.operator == "="):
            raise InputError(f"a mean curve cannot be asked under this condition: {_CHOOSE}")
        values = part.values if isinstance(part, Among) else (part.value,)
        chosen = np.zeros(space.size)
        chosen[[space.code(value) for value in values]] = 1.0
        found = solve(whole_law(group.mechanism.family, group.name), chosen[:, None])[:, 0]
        if np.isnan(found).any():
            raise InputError(f"the law of {group.name!r} cannot be undone: choose rows by another column")
        if group.name in scores:
            raise InputError(f"say all about column {group.name!r} in one condition, with IN")
        scores[group.name] = found
    return " AND ".join(plain) or "TRUE", scores


def _moments(data: Any, plan: Plan, column: Column, lattice: Any, public: str, scores: dict[str, Array]) -> Array:
    """Σw(1, z), and below it Σw²(1, z)(1, z)ᵀ, over the rows with their weights w and lattice vectors z."""
    sums = np.zeros((lattice.terms + 2, lattice.terms + 1))
    if isinstance(data, Parts):
        for part in data.each(lambda part: _moments(part, plan, column, lattice, public, scores).tobytes()):
            sums += np.frombuffer(part).reshape(sums.shape)
        return sums
    undo = np.linalg.pinv(lattice.scales[:, None] * lattice.functions(lattice.space.times))
    for w, values in _rows(data, plan, column, public, scores):
        z = np.column_stack([np.ones(len(w)), (values - lattice.centre(lattice.space.times)) @ undo])
        sums += np.vstack([w @ z, (w * w * z.T) @ z])
    return sums


def _rows(
    data: Any, plan: Plan, column: Column, public: str, scores: dict[str, Array]
) -> Iterator[tuple[Array, Array]]:
    """The weights and the released values of the rows, in batches."""
    wanted = [name(stored) for stored in (*column.stored, *scores)]
    with connected(data, "stored") as database:
        reader = database.sql(f"SELECT {', '.join(wanted)} FROM stored WHERE {public}").to_arrow_reader(_BATCH)
        for batch in reader:
            held = [batch.column(n) for n in range(len(column.stored))]
            if column.form == "wide":
                values = np.column_stack([part.to_numpy(zero_copy_only=False) for part in held])
            else:
                values = held[0].flatten().to_numpy(zero_copy_only=False).reshape(batch.num_rows, -1)
            weights = np.ones(batch.num_rows)
            for place, (chosen, score) in enumerate(scores.items(), len(held)):
                space = plan.column(chosen).space
                weights = weights * score[space.encode(batch.column(place))]
            yield weights, values
