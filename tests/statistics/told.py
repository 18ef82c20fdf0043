"""How often answers that tell something hold, over every outcome of the noise on a few counts: nothing is drawn.

Each outcome is a group of its own, and one question is answered in all of them at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dproof import Categories, Privacy
from dproof.curator.recipe import measure
from dproof.curator.released import answer_of
from dproof.curator.simulate import value_of
from dproof.curator.tally import counter_of
from dproof.questions.estimated import EstimatedSums, Options, SumEstimates
from dproof.questions.measured import possible
from dproof.questions.question import Schema, resolve
from dproof.questions.sql import parse
from dproof.questions.sums import centred_terms

Numbers = NDArray[Any]


class Told(NamedTuple):
    """How likely an answer tells something, how likely such an answer is true, and how wide it is on average."""

    told: float
    held: float
    width: float

    @classmethod
    def of(cls, cells: Sequence[Any], chances: Numbers, truth: float) -> Told:
        tells = np.array([cell.informative and cell.low is not None for cell in cells])
        ends = np.array([(cell.low, cell.high) if tell else (0, 0) for cell, tell in zip(cells, tells, strict=True)])
        holds = tells & (ends[:, 0] <= truth + 1e-9) & (truth <= ends[:, 1] + 1e-9)
        told = float(chances[tells].sum() / chances.sum())
        if not told:
            return cls(0.0, 1.0, np.inf)
        width = float((chances * (ends[:, 1] - ends[:, 0]))[tells].sum() / chances[tells].sum())
        return cls(told, float(chances[holds].sum() / chances[tells].sum()), width)


def by_normal_noise(asked: str, values: str, counts: Sequence[float], truth: float, error: float = 1.0) -> Told:
    """A question about counts of the values of x, each under normal noise, as a release of measured tables has it."""
    order = sorted(range(len(counts)), key=lambda n: asked.index(f"'{values[n]}'"))
    counts = [counts[n] for n in order]  # as they are asked for
    steps = 60 if len(counts) == 2 else 25 if len(counts) == 3 else 14
    grid = (np.arange(steps) + 0.5) / steps * 9 - 4.5
    noises = np.stack(np.meshgrid(*[grid] * len(counts), indexing="ij"), axis=-1).reshape(-1, len(counts))
    chances = np.exp(-(noises**2).sum(axis=1) / 2)
    schema = Schema("release", {"x": Categories(list(values))})
    question = resolve(parse(f"SELECT {asked} AS v FROM release"), schema)
    needed = list(dict.fromkeys(t for a in question.aggregates for t in centred_terms(a, None, schema)))
    found = np.array(counts) + noises * error
    covariance = np.broadcast_to(np.eye(len(counts)) * error**2, (len(found), len(counts), len(counts)))
    nothing = np.zeros_like(found)
    sums = SumEstimates(found, found, nothing, nothing, covariance, covariance, 0)
    estimated = EstimatedSums(schema, {}, needed, None, Options(), sums, None, covariance, None)
    expression = question.select[0].expression
    reach = possible(expression, question, schema, None)
    return Told.of([reach.cut(cell) for cell in estimated.cells(expression)[0]], chances, truth)


def by_curators_sums(asked: str, rows: Sequence[tuple[int, ...]], most: int, epsilon: str, level: str) -> Told:
    """A calculation of a curator with the sums of x and y, numbers from 0 to `most`, whose number is private.

    Of each noise the outcomes are taken that it has with this probability: all but the rarest.
    """
    schema = Schema("data", {name: Categories(list(range(most + 1))) for name in "xy"})
    question = resolve(parse(f"SELECT {asked} AS v FROM data"), schema)
    measurement = measure(question, schema, Privacy(epsilon, neighbours="add-remove"))
    counter = counter_of(measurement)
    counter.add(len(rows), {name: np.array([row[n] for row in rows]) for n, name in enumerate("xy")})
    counted = counter.finish().sums
    exact = {noisy.statistic: np.array([float(counted[noisy.statistic][0])]) for noisy in measurement.noisy}
    truth = float(value_of(question.select[0].expression, exact, schema)[0])
    grids = [np.arange(-reach, reach + 1) for noisy in measurement.noisy for reach in [noisy.noise.quantile(level)]]
    chances = [
        np.array([float(noisy.noise.probability(int(k))) for k in grid])
        for noisy, grid in zip(measurement.noisy, grids, strict=True)
    ]
    noises = [axis.ravel() for axis in np.meshgrid(*grids, indexing="ij")]
    weights = np.prod([axis.ravel() for axis in np.meshgrid(*chances, indexing="ij")], axis=0)
    outcomes = {s: value + noise for (s, value), noise in zip(exact.items(), noises, strict=True)}
    by_outcome = Schema("data", {**schema.spaces, "g": Categories(list(range(len(weights))))})
    grouped = resolve(parse(f"SELECT g, {asked} AS v FROM data GROUP BY g"), by_outcome)
    told = replace(measurement, question=grouped, keys=grouped.group_by, schema=by_outcome)
    released = {"noisy": [outcomes[n.statistic].astype(int).tolist() for n in measurement.noisy], "chosen": []}
    answer = answer_of(told, {**released, "private": True}, 0.95)
    return Told.of([row["v"] for row in answer.rows], weights, truth)


@cache
def _curator(asked: str, values: str, epsilon: str, outcomes: int) -> Any:
    schema = Schema("data", {"x": Categories(list(values)), "g": Categories(list(range(outcomes)))})
    question = resolve(parse(f"SELECT g, {asked} AS v FROM data GROUP BY g"), schema)
    return measure(question, schema, Privacy(epsilon, neighbours="add-remove"))


def by_curator(asked: str, values: str, counts: Sequence[int], truth: float, epsilon: str) -> Told:
    """The same for a curator, whose noise is Laplace noise on whole numbers."""
    noise = _curator(asked, values, epsilon, 1).noisy[0].noise
    order = [values.index(str(noisy.statistic.where.value)) for noisy in _curator(asked, values, epsilon, 1).noisy]
    counts = [counts[n] for n in order]
    reach = noise.quantile("0.99999")
    grid = np.arange(-reach, reach + 1)
    one = np.array([float(noise.probability(int(k))) for k in grid])
    noises = np.stack(np.meshgrid(*[np.arange(len(grid))] * len(counts), indexing="ij"), axis=-1).reshape(
        -1, len(counts)
    )
    measurement = _curator(asked, values, epsilon, len(noises))
    released = {"noisy": [(counts[n] + grid[noises[:, n]]).tolist() for n in range(len(counts))], "chosen": []}
    answer = answer_of(measurement, {**released, "private": True}, 0.95)
    return Told.of([row["v"] for row in answer.rows], np.prod(one[noises], axis=1), truth)
