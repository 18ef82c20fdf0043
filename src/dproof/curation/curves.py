"""The curator on curves: private mean curves, totals by grid point and the covariance of coefficients, with bands."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.curation.curve_measurement import CurveMeasurement
from dproof.curation.released import WAYS_OUT, Released
from dproof.curation.tally import count_parts
from dproof.curves.bands import band_quantile, drawn_quantile, fine
from dproof.errors import InputError
from dproof.plans.plan import Plan
from dproof.questions.answer import Answer, Cell, cautions
from dproof.questions.cells import Grid, cut
from dproof.questions.counting import Codes
from dproof.questions.curve_estimate import CurveEstimate
from dproof.questions.possible import possible
from dproof.questions.question import Key, columns
from dproof.questions.ranges import Range
from dproof.questions.regions import grouping
from dproof.tables import Source

Vectors = NDArray[np.int64]
Floats = NDArray[np.float64]


def draw_curve(measurement: CurveMeasurement, source: Source, plan: Plan, coins: Coins) -> Released:
    """Exact sums over the rows, in whole numbers, and noise on each: all that leaves the table.

    Where the number of rows is public it is told as it is.
    """
    names = list(dict.fromkeys([measurement.column, *columns(measurement.question)]))
    nothing = _summed(measurement, iter(()))
    parts = [nothing, *count_parts(source, plan, names, partial(_summed, measurement))]
    totals = np.array([found for found, _ in parts], np.int64).sum(axis=0)
    noisy = totals + measurement.noise.draw(1, coins).reshape(totals.shape)
    released: Released = {"noisy": noisy.tolist(), "private": coins.private}
    return released if measurement.weight else {**released, "rows": sum(rows for _, rows in parts)}


def _summed(measurement: CurveMeasurement, batches: Iterator[tuple[int, Codes]]) -> tuple[list[list[int]], int]:
    """The sums over some rows, by group, and how many rows there were."""
    grid = cut(measurement.schema, [measurement.question.where])
    groups = len(measurement.labels)
    totals, rows = np.zeros((groups, measurement.noise.terms // groups), np.int64), 0
    for count, codes in batches:
        coordinates = _coordinates(measurement, measurement.lattice.coefficients(codes[measurement.column]))
        member = _members(measurement, grid, codes, count)
        np.add.at(totals, member[member >= 0], coordinates[member >= 0])
        rows += count
    return totals.tolist(), rows


def _members(measurement: CurveMeasurement, grid: Grid, codes: dict[str, Vectors], rows: int) -> Vectors:
    """The group of each row, −1 for those that the condition leaves out."""
    group = np.zeros(rows, np.int64)
    for key in measurement.keys:
        found = grouping(key, measurement.schema)
        group = group * len(found.labels) + found.of(codes[key.column])
    cell = np.zeros(rows, np.int64)
    for axis in grid.axes:
        cell = cell * axis.blocks + axis.of(codes[axis.column])
    return np.where(grid.mask(measurement.question.where).ravel()[cell], group, -1)


def _coordinates(measurement: CurveMeasurement, z: Vectors) -> Vectors:
    parts = [z]
    if measurement.kind == "covar":
        i, k = np.triu_indices(z.shape[1])
        parts = [measurement.first * z, z[:, i] * z[:, k]]
    if measurement.weight:
        parts.append(np.full((len(z), 1), measurement.weight))
    return np.concatenate(parts, axis=1)


def answer_curve(measurement: CurveMeasurement, released: Released, level: float) -> Answer:
    """The answer from what was released: a cell of lists for each group, or the entries of the covariance."""
    if measurement.kind == "covar":
        return _covariance(measurement, released, level)
    names = tuple(item.alias for item in measurement.question.select)
    whole = possible(measurement.aggregate, measurement.question, measurement.schema, released.get("rows"))
    rows = []
    for labels, estimate in estimated_curves(measurement, released, level):
        keys = dict(zip(measurement.keys, labels, strict=True))
        row: dict[str, Any] = {}
        for item in measurement.question.select:
            part = item.expression
            row[item.alias] = keys[part] if isinstance(part, Key) else whole.cut(estimate.cell())
        rows.append(row)
    return Answer(names, rows, level, tuple(cautions(rows, WAYS_OUT)))


def estimated_curves(
    measurement: CurveMeasurement, released: Released, level: float
) -> list[tuple[tuple[Any, ...], CurveEstimate]]:
    """The declared groups and their curves, as functions with bands."""
    if measurement.kind == "covar":
        raise InputError("a covariance is no curve: ask for it")
    noisy, coins = np.array(released["noisy"], np.float64), _public_coins(released)
    nullable = [key.column in measurement.schema.nullable for key in measurement.keys]
    absent = [grouping(key, measurement.schema).labels[-1] for key in measurement.keys]
    return [
        (labels, _curve(measurement, values, released.get("rows"), level, coins))
        for labels, values in zip(measurement.labels, noisy, strict=True)
        if not any(gaps and label == last for gaps, label, last in zip(nullable, labels, absent, strict=True))
    ]


def _public_coins(released: Released) -> Coins:
    """Coins that simulate the public noise, the same each time."""
    return Coins(hashlib.sha256(json.dumps(released, sort_keys=True).encode()).digest(), private=False)


def _curve(
    measurement: CurveMeasurement, values: Floats, rows: int | None, level: float, coins: Coins
) -> CurveEstimate:
    """The mean or the total, with the first-order effect of the noise on the sums and on the count."""
    lattice, noise = measurement.lattice, measurement.noise
    terms, weight = lattice.terms, measurement.weight
    count = max(1.0, rows if rows is not None else values[-1] / weight)
    mean = values[:terms] / count
    factor = np.zeros((terms + 1, terms + (weight > 0)))
    factor[:terms, :terms] = np.eye(terms)
    if weight and measurement.kind == "avg":
        factor[:terms, terms] = -mean / weight
    elif weight:
        factor[terms, terms] = 1 / weight
    sigma = float(noise.variance) ** 0.5
    scale = count if measurement.kind == "sum" else 1.0
    made = CurveEstimate(lattice, mean, factor * sigma / count, 1.0, scale, level)
    times = lattice.space.times
    path = made.loadings(fine(times[0], times[-1], times))
    return replace(made, quantile=band_quantile(path, noise.law, sigma, level, coins))


def _covariance(measurement: CurveMeasurement, released: Released, level: float) -> Answer:
    """Cov of the coefficients c_j = scales_j · z_j, entry by entry, with intervals that hold for all at once."""
    lattice, noise, weight = measurement.lattice, measurement.noise, measurement.weight
    values = np.array(released["noisy"][0], np.float64)
    rows = max(2.0, values[-1] / weight if weight else released["rows"])
    mean = values[: lattice.terms] / measurement.first / rows
    i, k = np.triu_indices(lattice.terms)
    unit = lattice.scales[i] * lattice.scales[k]
    products = values[lattice.terms : lattice.terms + len(i)]
    estimate = unit * (products - rows * mean[i] * mean[k]) / (rows - 1)
    moved = np.where(i == k, 4 * mean[i] ** 2, mean[i] ** 2 + mean[k] ** 2) / measurement.first**2
    if weight:  # one curve more moves the estimate by (mean · mean − covariance) / (rows − 1)
        moved += ((mean[i] * mean[k] - estimate / unit) / weight) ** 2
    sigma = float(noise.variance) ** 0.5
    stderr = unit * sigma * np.sqrt(1 + moved) / (rows - 1)
    half = drawn_quantile(np.eye(len(i)), noise.law, sigma, level, _public_coins(released)) * stderr
    cells = []
    for a, b, y, h, s in zip(i, k, estimate, half, stderr, strict=True):
        cell = Cell(float(y), float(y - h), float(y + h), float(s), float(y))
        reach = Range(Fraction(0)) if a == b else Range()  # no variance is negative
        cells.append({"i": int(a) + 1, "j": int(b) + 1, "covariance": reach.cut(cell)})
    return Answer(("i", "j", "covariance"), cells, level, tuple(cautions(cells, WAYS_OUT)))
