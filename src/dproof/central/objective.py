"""Which noise is best: the variances of all that is asked, as sums over residuals, and what makes them least."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dproof.central.residuals import residual_variances
from dproof.central.workload import Domain, Residual, parts
from dproof.plans.release_table import Objective

Floats = NDArray[np.float64]
Costs: TypeAlias = Mapping[Residual, float]  # the variance of an answer for each unit of the variance of a residual
_ROUNDS = 400  # in which the weights of answers are moved towards those with the largest variances
_NEAR = 1e-3  # of the largest variance to its lower bound, at which that ends


def cell_costs(domain: Domain, asked: Residual) -> dict[Residual, float]:
    """The costs of one cell of a table of counts or, in units of half the range, of sums by a table.

    >>> cell_costs(Domain((2, 3), {}), Residual((0,)))
    {Residual(table=(), number=None, contrast=False): 0.25, Residual(table=(0,), number=None, contrast=False): 0.5}
    """
    unit = domain.added(asked.number).unit
    return {
        Residual(part, asked.number): prod((domain.sizes[i] - 1) / domain.sizes[i] for i in part)
        * prod(1 / domain.sizes[j] ** 2 for j in asked.table if j not in part)
        / unit
        for part in parts([asked.table])
    }


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Answers with their weights: the weighed variance of each is Σ cost · variance over some residuals."""

    residuals: tuple[Residual, ...]
    answer: NDArray[np.int64]  # the answer, the residual and the cost of every entry
    residual: NDArray[np.int64]
    cost: Floats
    count: int

    @classmethod
    def of(cls, weighed: Sequence[tuple[float, Costs]], residuals: Sequence[Residual]) -> Answers:
        """The answers with these weights and costs; what is not among the residuals has no variance."""
        place = {residual: n for n, residual in enumerate(residuals)}
        entries = [
            (n, place[residual], weight * cost)
            for n, (weight, costs) in enumerate(weighed)
            for residual, cost in costs.items()
            if residual in place
        ]
        answer, residual, cost = (
            (np.array(column) for column in zip(*entries, strict=True)) if entries else ([], [], [])
        )
        return cls(
            tuple(residuals),
            np.asarray(answer, np.int64),
            np.asarray(residual, np.int64),
            np.asarray(cost, np.float64),
            len(weighed),
        )

    def costs(self, factors: Floats) -> Floats:
        """Of each residual, the costs of all answers, each times its factor."""
        return _added(self.residual, self.cost * factors[self.answer], len(self.residuals))

    def variances(self, residuals: Floats) -> Floats:
        """The weighed variance of each answer."""
        return _added(self.answer, self.cost * residuals[self.residual], self.count)

    def value(self, residuals: Floats, objective: Objective) -> float:
        """What shall be least."""
        variances = self.variances(residuals)
        return float(variances.sum() if objective == "total" else variances.max(initial=0.0))


def _added(places: NDArray[np.int64], values: Floats, count: int) -> Floats:
    return np.bincount(places, values, count).astype(np.float64)


def best(answers: Answers, objective: Objective, solve: Callable[[Floats], Floats]) -> Floats:
    """The costs of residuals for which `solve` gives the variances that make the total, or the largest, least.

    `solve` gives the variances of residuals that make Σ cost · variance least at a fixed loss. With f(λ) that least sum
    for the costs Σ λ · cost of the answers, and Σ λ = 1, the least possible largest variance is the greatest f(λ): more
    weight goes to answers whose variance is larger, until the largest is no longer above their mean. With the power 3/2
    of the variance no step makes f smaller, for Gaussian noise (Cauchy) as for Laplace noise (Hölder).
    """
    factors = np.ones(answers.count)
    if objective == "total" or not answers.count:
        return answers.costs(factors)
    factors /= answers.count
    least, chosen = np.inf, answers.costs(factors)
    for _ in range(_ROUNDS):
        costs = answers.costs(factors)
        variances = answers.variances(solve(costs))
        if variances.max() < least:
            least, chosen = float(variances.max()), costs
        if variances.max() <= (1 + _NEAR) * float(factors @ variances):
            break
        factors = factors * (variances / variances.max()) ** 1.5
        factors /= factors.sum()
    return chosen


def residual_losses(domain: Domain, residuals: Sequence[Residual]) -> Floats:
    """The loss of each residual for each unit of 1/2s: Δ²/Πk² under add-remove."""
    return np.array([domain.norm(one) / domain.cells(one.table) ** 2 for one in residuals])


def shape(domain: Domain, answers: Answers, objective: Objective) -> dict[Residual, float]:
    """The variances of residuals, up to one factor, that make the total or the largest variance of answers least.

    With c the cost of a residual and p its loss for each unit of 1/2s, the least Σ cs at a given Σ p/2s has s = √(p/c).
    Xiao, He, Zhang, Kifer 2023.
    """
    losses = residual_losses(domain, answers.residuals)

    def solve(costs: Floats) -> Floats:
        return np.asarray(np.sqrt(losses / costs) * np.sqrt(losses * costs).sum())  # at Σ p/s = 1

    found = solve(best(answers, objective, solve)) if answers.residuals else np.zeros(0)
    return dict(zip(answers.residuals, found.tolist(), strict=True))


def combined_variances(
    sizes: Sequence[int], variances: Mapping[Residual, float], residuals: Sequence[Residual], *, plain: bool
) -> Floats:
    """The variance of each residual, told by measurements whose numbers have these variances."""
    precisions = dict.fromkeys(residuals, 0.0)
    for measurement, variance in variances.items():
        for part, factor in residual_variances(sizes, measurement, plain).items():
            if (residual := Residual(part, measurement.number)) in precisions:  # the number of rows may be known
                precisions[residual] += 1 / (factor * variance)
    return 1 / np.array([precisions[residual] for residual in residuals])
