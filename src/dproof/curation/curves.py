"""The curator on curves: private mean curves, totals by grid point and the covariance of coefficients.

A row's curve becomes a lattice vector z, clipped in whole numbers, and sums of these get whole-number noise for all of
their coordinates together. Where the number of rows is not public it is one more coordinate, with a whole weight W.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import isqrt, prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.curation.drawing import Released
from dproof.curation.tally import read_codes
from dproof.curves.bands import band_quantile, drawn_quantile, fine
from dproof.curves.expansion import CurveLattice, Expansion
from dproof.curves.noise import VectorNoise, vector_noise
from dproof.engines import Source
from dproof.errors import InputError
from dproof.privacy import Privacy
from dproof.queries.answer import Answer, Cell
from dproof.queries.canonical import canonical
from dproof.queries.cells import Grid, cut
from dproof.queries.curve_estimate import CurveEstimate
from dproof.queries.question import Aggregate, Item, Key, Question, columns
from dproof.queries.regions import grouping
from dproof.queries.schema import Schema, resolve
from dproof.sanitisation.plan import Plan

Kind = Literal["avg", "sum", "covar"]
_COUNT = Aggregate("count")


@dataclass(frozen=True, slots=True, eq=False)
class CurveMeasurement:
    """What is measured of a curve column, in which groups, with which noise; public before any row is read."""

    question: Question  # checked, with count(*) in the place of the curve
    asked: Question
    column: str
    kind: Kind
    keys: tuple[Key, ...]
    schema: Schema
    privacy: Privacy
    lattice: CurveLattice
    noise: VectorNoise
    weight: int  # W of the count among the coordinates; 0 where the number of rows is public
    first: int  # weight of z beside its products, for a covariance

    @property
    def labels(self) -> list[tuple[Any, ...]]:
        """The declared groups."""
        return list(product(*(grouping(key, self.schema).labels for key in self.keys)))

    @property
    def text(self) -> str:
        """The question in one form, for the ledger."""
        return canonical(replace(self.asked, table=self.schema.table))


def asked_curve(question: Question, plan: Plan) -> str | None:
    """The curve column that a question asks about, if any."""
    curves = {column.name.casefold(): column.name for column in plan.columns if column.kind == "curves"}
    asked = (c for item in question.select if isinstance(item.expression, Aggregate) for c in item.expression.columns)
    return next((curves[c.casefold()] for c in asked if c.casefold() in curves), None)


def measure_curve(question: Question, plan: Plan, schema: Schema, privacy: Privacy) -> CurveMeasurement:
    """How to answer SELECT keys, AVG(curve) | SUM(curve) | COVAR(curve, curve) FROM data WHERE .. GROUP BY keys."""
    name = asked_curve(question, plan)
    assert name is not None
    found = [item for item in question.select if not isinstance(item.expression, Key)]
    if len(found) != 1 or question.having or question.order_by or question.limit is not None:
        raise InputError(
            f"ask for one of AVG({name}), SUM({name}) and COVAR({name}, {name}) at a time, and nothing else"
        )
    aggregate = found[0].expression
    if not isinstance(aggregate, Aggregate) or aggregate.kind not in ("avg", "sum", "covar") or aggregate.where:
        raise InputError(f"of the curves {name!r} AVG, SUM and COVAR can be asked, with WHERE for a condition")
    if any(column.casefold() != name.casefold() for column in aggregate.columns):
        raise InputError(f"the covariance of curves is COVAR({name}, {name})")
    counted = tuple(item if isinstance(item.expression, Key) else Item(item.alias, _COUNT) for item in question.select)
    checked = resolve(replace(question, select=counted), schema)
    keys = checked.group_by
    groups = prod(len(grouping(key, schema).labels) for key in keys)
    alone = plan.person is None and plan.rows_per_person == 1
    public = alone and privacy.neighbours == "change-one" and checked.where is None and not keys
    if aggregate.kind == "covar" and not public:
        raise InputError(
            "the covariance of curves is told of all rows, and where their number is public: "
            "without WHERE and GROUP BY, under change-one neighbours"
        )
    expansion = plan.column(name).space
    assert isinstance(expansion, Expansion)
    best = None
    for split in ("laplace", "gaussian") if privacy.delta else ("laplace",):
        lattice = expansion.lattice(split)  # type: ignore[arg-type]
        size, weight, first = _size(lattice, split, privacy, aggregate.kind, public, groups)
        terms = lattice.terms * (lattice.terms + 3) // 2 if aggregate.kind == "covar" else lattice.terms + (not public)
        rows = plan.rows_per_person
        size *= rows if split == "laplace" else rows**2
        try:
            noise = vector_noise(split, size, groups * terms, privacy)  # type: ignore[arg-type]
        except InputError:
            if split == "gaussian" and best is not None:
                continue
            raise
        spread = float(noise.variance) * float((lattice.scales**2).sum())
        if best is None or spread < best[0]:
            best = spread, (lattice, noise, weight, first)
    assert best is not None
    lattice, noise, weight, first = best[1]
    asked = replace(checked, select=tuple(item for item in checked.select if isinstance(item.expression, Key)))
    asked = replace(
        asked, select=(*asked.select, Item("curve", replace(aggregate, columns=(name,) * len(aggregate.columns))))
    )
    return CurveMeasurement(
        checked,
        asked,
        name,
        aggregate.kind,
        keys,
        schema,
        privacy,
        lattice,
        noise,
        weight,
        first,  # type: ignore[arg-type]
    )


def _size(
    lattice: CurveLattice, split: str, privacy: Privacy, kind: str, public: bool, groups: int
) -> tuple[int, int, int]:
    """How far a neighbour moves all coordinates together, in l1 or squared l2; the weight W, and that of z in a covariance.

    One curve has a norm of at most S, two differ by at most D. A row that enters or leaves moves the count too; one that
    changes its group leaves one and enters another. W is what costs nothing, or little.
    """
    norm: Literal["l1", "l2"] = "l1" if split == "laplace" else "l2"
    one, two = lattice.size(norm, "add-remove"), lattice.size(norm, "change-one")
    if kind == "covar":
        return _covariance_size(lattice, split, two)
    if public:
        return two, 0, 0
    if privacy.neighbours == "add-remove":
        weight = one // 4 if norm == "l1" else isqrt(one) // 2
        return one + (weight if norm == "l1" else weight**2), weight, 0
    if norm == "l1":
        weight = one // 8 if groups > 1 else two - one
        moved = one + weight
    else:
        weight = isqrt(two // 2 - one) if groups > 1 else isqrt(two - one)
        moved = one + weight**2
    return max(two, 2 * moved if groups > 1 else moved), weight, 0


def _covariance_size(lattice: CurveLattice, split: str, two: int) -> tuple[int, int, int]:
    """For a·z and the products z_i z_k, i ≤ k: |zzᵀ − z'z'ᵀ|² = |z|⁴ + |z'|⁴ − 2(z·z')² ≤ 2·max|z|⁴."""
    length = lattice.size("l2", "add-remove")
    if split == "gaussian":
        first = isqrt(length) // 2
        return first**2 * two + 2 * length**2, 0, first
    whole = lattice.size("l1", "add-remove")
    first = whole // 2
    return first * two + whole**2 + length, 0, first


# Reading and drawing --------------------------------------------------------------------------------------------------


def draw_curve(measurement: CurveMeasurement, source: Source, plan: Plan, coins: Coins) -> Released:
    """Exact sums over the rows, in whole numbers, and noise on each: all that leaves the table."""
    names = list(dict.fromkeys([measurement.column, *columns(measurement.question)]))
    grid = cut(measurement.schema, [measurement.question.where])
    totals, rows = np.zeros((len(measurement.labels), measurement.noise.terms // len(measurement.labels)), np.int64), 0
    for count, codes in read_codes(source, plan, names):
        z = _vectors(measurement, codes.pop(measurement.column))
        member = _groups(measurement, grid, codes, count)
        inside = member >= 0
        np.add.at(totals, member[inside], _coordinates(measurement, z[inside]))
        rows += count
    noisy = totals + measurement.noise.draw(1, coins).reshape(totals.shape)
    released: Released = {"noisy": noisy.tolist(), "private": coins.private}
    return released if measurement.weight else {**released, "rows": rows}


def _vectors(measurement: CurveMeasurement, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Lattice vectors; a curve that is not there, or broken, counts as the centre."""
    z = measurement.lattice.coefficients(places)
    z[places[:, 0] < 0] = 0
    return z


def _groups(measurement: CurveMeasurement, grid: Grid, codes: dict[str, Any], rows: int) -> NDArray[np.int64]:
    """The group of each row, −1 for those that the condition leaves out."""
    group = np.zeros(rows, np.int64)
    for key in measurement.keys:
        found = grouping(key, measurement.schema)
        group = group * len(found.labels) + found.of(codes[key.column])
    cell = np.zeros(rows, np.int64)
    for axis in grid.axes:
        cell = cell * axis.blocks + axis.of(codes[axis.column])
    return np.where(grid.mask(measurement.question.where).ravel()[cell], group, -1)


def _coordinates(measurement: CurveMeasurement, z: NDArray[np.int64]) -> NDArray[np.int64]:
    if measurement.kind == "covar":
        i, k = np.triu_indices(z.shape[1])
        return np.concatenate([measurement.first * z, z[:, i] * z[:, k]], axis=1)
    if not measurement.weight:
        return z
    return np.concatenate([z, np.full((len(z), 1), measurement.weight)], axis=1)


# Answers ------------------------------------------------------------------------------------------------------------


def answer_curve(measurement: CurveMeasurement, released: Released, level: float) -> Answer:
    """The answer from what was released: a cell of lists for each group, or the entries of the covariance."""
    seed = hashlib.sha256(json.dumps(released, sort_keys=True).encode()).digest()
    coins = Coins(seed, private=False)  # simulates the public noise, the same each time
    noisy = np.array(released["noisy"], np.float64)
    if measurement.kind == "covar":
        return _covariance(measurement, noisy[0], int(released["rows"]), level, coins)
    alias = next(item.alias for item in measurement.question.select if not isinstance(item.expression, Key))
    rows = []
    for labels, values in zip(measurement.labels, noisy, strict=True):
        estimate = _curve(measurement, values, released.get("rows"), level, coins)
        row = {
            item.alias: labels[measurement.keys.index(item.expression)]
            for item in measurement.question.select
            if isinstance(item.expression, Key)
        }
        rows.append({**row, alias: estimate.cell()})
    names = tuple(item.alias for item in measurement.question.select)
    return Answer(names, [{name: row[name] for name in names} for row in rows], level)


def estimates(measurement: CurveMeasurement, released: Released, level: float) -> list[CurveEstimate]:
    """The answer as functions, one for each group."""
    seed = hashlib.sha256(json.dumps(released, sort_keys=True).encode()).digest()
    noisy = np.array(released["noisy"], np.float64)
    return [_curve(measurement, row, released.get("rows"), level, Coins(seed, private=False)) for row in noisy]


def _curve(
    measurement: CurveMeasurement, values: NDArray[np.float64], rows: int | None, level: float, coins: Coins
) -> CurveEstimate:
    """The mean or the total, with the first-order effect of the noise on the sums and on the count."""
    lattice, noise = measurement.lattice, measurement.noise
    terms, weight = lattice.terms, measurement.weight
    count = float(rows) if rows is not None else max(1.0, values[-1] / weight)
    mean = values[:terms] / max(count, 1.0)
    sigma = float(noise.variance) ** 0.5 / max(count, 1.0)
    factor = np.zeros((terms + 1, terms + (weight > 0)))
    factor[:terms, :terms] = np.eye(terms)
    if weight:
        factor[:terms, terms] = -mean / weight if measurement.kind == "avg" else 0.0
        factor[terms, terms] = 1 / weight if measurement.kind == "sum" else 0.0
    factor *= sigma
    scale = count if measurement.kind == "sum" else 1.0
    times = lattice.space.times
    made = CurveEstimate(lattice, mean, factor, 1.0, scale, level)
    path = made.loadings(fine(times[0], times[-1], times))
    return replace(made, quantile=band_quantile(path, noise.law, float(noise.variance) ** 0.5, level, coins))


def _covariance(
    measurement: CurveMeasurement, values: NDArray[np.float64], rows: int, level: float, coins: Coins
) -> Answer:
    """Cov of the coefficients c_j = scales_j · z_j, entry by entry, with intervals that hold for all at once."""
    if rows < 2:
        raise InputError("a covariance needs at least two rows")
    lattice, noise = measurement.lattice, measurement.noise
    terms, first = lattice.terms, measurement.first
    mean = values[:terms] / first / rows
    i, k = np.triu_indices(terms)
    unit = lattice.scales[i] * lattice.scales[k]
    estimate = unit * (values[terms:] - rows * mean[i] * mean[k]) / (rows - 1)
    moved = np.where(i == k, 4 * mean[i] ** 2, mean[i] ** 2 + mean[k] ** 2) / first**2
    sigma = float(noise.variance) ** 0.5
    stderr = unit * sigma * np.sqrt(1 + moved) / (rows - 1)
    half = drawn_quantile(np.eye(len(i)), noise.law, sigma, level, coins) * stderr
    cells = [
        {"i": int(a) + 1, "j": int(b) + 1, "covariance": Cell(*map(float, (y, y - h, y + h, s, y)))}
        for a, b, y, h, s in zip(i, k, estimate, half, stderr, strict=True)
    ]
    return Answer(("i", "j", "covariance"), cells, level)
