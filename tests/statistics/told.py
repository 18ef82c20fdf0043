"""How often answers that tell something hold, over every outcome of the noise on a few counts: nothing is drawn.

Each outcome is a group of its own, and one question is answered in all of them at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dproof import Categories, Privacy
from dproof.curator.recipe import measure
from dproof.curator.released import answer_of
from dproof.questions.estimated import EstimatedSums, Options, SumEstimates
from dproof.questions.measured import possible
from dproof.questions.question import aggregates
from dproof.questions.schema import Schema, resolve
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
    needed = list(dict.fromkeys(t for a in aggregates(question) for t in centred_terms(a, None, schema)))
    found = np.array(counts) + noises * error
    covariance = np.broadcast_to(np.eye(len(counts)) * error**2, (len(found), len(counts), len(counts)))
    nothing = np.zeros_like(found)
    sums = SumEstimates(found, found, nothing, nothing, covariance, covariance, 0)
    estimated = EstimatedSums(schema, {}, needed, None, Options(), sums, None, covariance, None)
    expression = question.select[0].expression
    reach = possible(expression, question, schema, None)
    return Told.of([reach.cut(cell) for cell in estimated.cells(expression)[0]], chances, truth)


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
