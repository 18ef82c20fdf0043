"""How often answers that tell something hold, over every outcome of the noise on a few counts: nothing is drawn.

Each outcome is a group of its own, and one question is answered in all of them at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dproof import Categories, Cell, Privacy
from dproof.central.answer import ResidualAnswerSource
from dproof.central.recipe import TableLaw
from dproof.central.release import about, release_of
from dproof.coins import Coins
from dproof.curator.answer import NoisyCalculation, answer_of
from dproof.curator.recipe import measure
from dproof.laws.debias import SumEstimates
from dproof.mechanisms.noise import Noise
from dproof.questions.estimated import EstimatedSums, Options
from dproof.questions.measured import possible
from dproof.questions.question import Schema
from dproof.questions.sums import centred_terms, value_of
from dproof.testing import seeded_coins
from tests.makers import exact_tables, resolved, table_law

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
    question = resolved(f"SELECT {asked} AS v FROM release", schema)
    needed = list(dict.fromkeys(t for a in question.aggregates for t in centred_terms(a, None, schema)))
    found = np.array(counts) + noises * error
    covariance = np.broadcast_to(np.eye(len(counts)) * error**2, (len(found), len(counts), len(counts)))
    nothing = np.zeros_like(found)
    sums = SumEstimates(found, found, nothing, nothing, covariance, covariance, 0)
    estimated = EstimatedSums(schema, {}, needed, None, Options(), sums, None, covariance, None)
    expression = question.select[0].expression
    reach = possible(expression, question, schema, None)
    return Told.of([reach.cut(cell) for cell in estimated.cells(expression, reach)[0]], chances, truth)


def by_curators_sums(
    asked: str, rows: Sequence[tuple[int, ...]], epsilon: str, neighbours: str = "add-remove", outcomes: int = 10_000
) -> Told:
    """A calculation of a curator with x and y, which are 0 or 1.

    Over every outcome of the noise that is likelier than one in ten thousand for each sum; if these are more than so
    many outcomes, over so many draws instead, half of them from wider noise and weighted by how likely they are.
    """
    schema = Schema("data", {name: Categories([0, 1]) for name in "xy"})
    question = resolved(f"SELECT {asked} AS v FROM data", schema)
    measurement = measure(question, schema, Privacy(epsilon, neighbours=neighbours))
    counter = measurement.fresh_counter()
    counter.add(len(rows), {name: np.array([row[n] for row in rows]) for n, name in enumerate("xy")})
    counted, expression = counter.finish().sums, question.select[0].expression
    exact = {noisy.statistic: np.array([float(counted[noisy.statistic][0])]) for noisy in measurement.noisy}
    noises = {noisy.statistic: noisy.noise for noisy in measurement.noisy if noisy.noise is not None}
    drawn, chances = _outcomes(list(noises.values()), outcomes)
    released = {s: value + np.zeros(len(chances)) for s, value in exact.items()}
    released |= {s: exact[s] + noise for s, noise in zip(noises, drawn, strict=True)}
    reach = possible(expression, question, schema, len(rows) if measurement.unit.rows_are_public else None)
    coins = Coins(bytes(32), private=False)
    with np.errstate(all="ignore"):
        truth = float(value_of(expression, exact, schema)[0])
        estimate = value_of(expression, released, schema)
        calculation = NoisyCalculation(expression, noises, schema, lambda: reach.ends)
        low, high, _ = calculation.interval(released, 0.95, coins)
    ends = zip(estimate.tolist(), np.fmin(low, estimate).tolist(), np.fmax(high, estimate).tolist(), strict=True)
    return Told.of([reach.cut(Cell(value, a, b)) for value, a, b in ends], chances, truth)


def _outcomes(noises: Sequence[Noise], most: int) -> tuple[list[Numbers], Numbers]:
    """What each noise is in every outcome, and how likely that is."""
    grids = [np.arange(-reach, reach + 1.0) for noise in noises for reach in [noise.quantile("0.9999")]]
    laws = [
        np.array([float(noise.probability(int(k))) for k in grid]) for noise, grid in zip(noises, grids, strict=True)
    ]
    if np.prod([len(grid) for grid in grids]) <= most:
        axes = [axis.ravel() for axis in np.meshgrid(*grids, indexing="ij")]
        return axes, np.prod([axis.ravel() for axis in np.meshgrid(*laws, indexing="ij")], axis=0)
    random, likely, wider = np.random.default_rng(1), np.zeros(most), np.zeros(most)
    drawn, is_wide = [], random.random(most) < 0.5
    for grid, law in zip(grids, laws, strict=True):
        wide = law**0.45 / np.sum(law**0.45)
        places = np.where(
            is_wide, random.choice(len(grid), most, p=wide), random.choice(len(grid), most, p=law / law.sum())
        )
        drawn.append(grid[places])
        likely, wider = likely + np.log(law[places]), wider + np.log(wide[places])
    return drawn, 1 / (1 + np.exp(wider - likely))


@cache
def _curator(asked: str, values: str, epsilon: str, outcomes: int) -> Any:
    schema = Schema("data", {"x": Categories(list(values)), "g": Categories(list(range(outcomes)))})
    question = resolved(f"SELECT g, {asked} AS v FROM data GROUP BY g", schema)
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


@cache
def measured_law(epsilon: str, neighbours: str, delta: str | None = None) -> TableLaw:
    """The law of the tables of x and y, which are 0 or 1; with a δ of eight columns more, for Gaussian noise."""
    names = "xy" if delta is None else "xyabcdefgh"
    columns = {name: {"space": "categories", "values": [0, 1]} for name in names}
    privacy = {"model": "central", "epsilon": epsilon, "neighbours": neighbours}
    privacy |= {} if delta is None else {"delta": delta}
    return table_law({"privacy": privacy, "columns": columns})


def _measured(law: TableLaw, rows: Sequence[tuple[int, ...]], draws: int) -> tuple[Any, Numbers]:
    """The certificate of a release of these rows, and so many measurements of them."""
    columns = {column.name: [0] * len(rows) for column in law.plan.columns}
    columns |= {name: [row[n] for row in rows] for n, name in enumerate("xy")}
    _, counts = exact_tables(pa.table(columns), law)
    certificate = law.record(about(len(rows) if law.plan.rows_are_public else None, None, {}), private=False)
    with seeded_coins(0) as coins:
        return certificate, np.stack([law.measure(counts, coins) for _ in range(draws)])


def by_releases(asked: str, rows: Sequence[tuple[int, ...]], truth: float, law: TableLaw, draws: int) -> Told:
    """Any question on so many releases of measured tables, each by itself."""
    certificate, measured = _measured(law, rows, draws)
    answers = [release_of(law, certificate, row).query(f"SELECT {asked} AS v FROM release") for row in measured]
    return Told.of([answer.rows[0]["v"] for answer in answers], np.ones(draws), truth)


def by_measured_tables(
    asked: str,
    rows: Sequence[tuple[int, ...]],
    truth: float,
    epsilon: str,
    neighbours: str,
    delta: str | None = None,
    draws: int = 10_000,
) -> Told:
    """A calculation with x and y, which are 0 or 1, on so many releases of measured tables.

    The sums are linear in what was measured, so that all releases are answered at once.
    """
    law = measured_law(epsilon, neighbours, delta)
    assert law.is_pure == (delta is None)
    certificate, measured = _measured(law, rows, draws)
    known = certificate["release"]["rows"]
    question = resolved(f"SELECT {asked} AS v FROM release", law.schema)

    def source(numbers: Numbers) -> EstimatedSums:
        release = release_of(law, certificate, numbers)
        return ResidualAnswerSource(release, question, law.schema, Options()).estimated

    zeros = np.zeros(measured.shape[1], np.int64)
    first = source(zeros)
    at = first.estimates.values[0]
    slopes = np.stack([(source(row).estimates.values[0] - at) / 1e6 for row in np.diag(zeros + 10**6)])
    values = at + measured @ slopes
    covariance = np.broadcast_to(first.covariance, (draws, *first.covariance.shape[1:]))
    nothing = np.zeros_like(values)
    sums = SumEstimates(values, values, nothing, nothing, covariance, covariance, known or 0)
    expression = question.select[0].expression
    reach = possible(expression, question, law.schema, known)
    cells, _ = replace(first, estimates=sums, covariance=covariance).cells(expression, reach)
    return Told.of([reach.cut(cell) for cell in cells], np.ones(draws), truth)
