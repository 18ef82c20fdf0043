"""The noise that makes the total, or the largest, variance of answers least: against other noise of the same loss."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from dproof import Privacy
from dproof.central.workload import (
    Domain,
    Residual,
    WeighedAnswers,
    cell_costs,
    residual_losses,
    shape,
    split_epsilon,
    subtables,
    told_precisions,
)


@pytest.mark.parametrize("sizes", [(2, 3, 5), (4, 4, 2), (2, 2, 2)])
def test_no_other_noise_of_the_same_loss_is_better(sizes: tuple[int, ...]) -> None:
    domain = Domain(sizes, {0: 3})
    tables = dict.fromkeys(combinations(range(3), 2), 1.0) | {(0,): 2.0}
    sums = {Residual((1,), 0): 1.5}
    asked = [(w, cell_costs(domain, Residual(t))) for t, w in tables.items()]
    asked += [(w, cell_costs(domain, key)) for key, w in sums.items()]
    residuals = list(dict.fromkeys(residual for _, costs in asked for residual in costs))
    best = shape(domain, WeighedAnswers.of(asked, residuals), "total")

    def cost(variances: Any) -> float:
        """Σ weight · variance of a cell, with the variances scaled to a loss of 1."""
        loss = sum(domain.norm(r) / domain.cells(r.table) ** 2 / s for r, s in variances.items())
        total = 0.0
        for table, number, weight in [(t, None, w) for t, w in tables.items()] + [((1,), 0, 1.5)]:
            reach = 1 if number is None else 3
            for part in subtables([table]):
                if Residual(part, number) in variances:
                    own = np.prod([(sizes[i] - 1) / sizes[i] for i in part])
                    rest = np.prod([1 / sizes[j] ** 2 for j in table if j not in part])
                    total += weight * variances[Residual(part, number)] * own * rest / reach**2
        return float(total * loss)

    generator = np.random.default_rng(0)
    least = cost(best)
    for _ in range(200):
        assert cost({r: s * float(generator.uniform(0.7, 1.4)) for r, s in best.items()}) >= least * (1 - 1e-12)


def asked(domain: Domain, tables: Any) -> WeighedAnswers:
    weighed = [(float(weight), cell_costs(domain, Residual(table))) for table, weight in tables.items()]
    return WeighedAnswers.of(weighed, [Residual(table) for table in subtables(tables)])


def at_one_loss(domain: Domain, answers: WeighedAnswers, variances: Any) -> Any:
    """The variances of the answers when those of the residuals are scaled to a loss of 1."""
    found = np.array([variances[residual] for residual in answers.residuals])
    return answers.variances(found) * (residual_losses(domain, answers.residuals) / found).sum()


def test_the_least_largest_variance_is_the_bound_that_no_noise_beats() -> None:
    """Σ λ · variance ≤ the largest one for every λ, so that the least Σ λ · variance is a lower bound of it."""
    domain = Domain((2, 3, 5, 15), {})
    tables = dict.fromkeys(combinations(range(4), 2), 1.0) | {(2,): 4.0}
    answers = asked(domain, tables)
    total, largest = (shape(domain, answers, objective) for objective in ("total", "largest"))  # type: ignore[arg-type]
    found = at_one_loss(domain, answers, largest)
    assert found.max() < 0.95 * at_one_loss(domain, answers, total).max()
    assert at_one_loss(domain, answers, total).sum() < found.sum()
    generator = np.random.default_rng(0)
    for _ in range(300):
        other = {r: s * float(generator.uniform(0.6, 1.6)) for r, s in largest.items()}
        assert at_one_loss(domain, answers, other).max() >= found.max() / 1.002


@pytest.mark.parametrize("objective", ["total", "largest"])
def test_no_other_split_of_epsilon_is_much_better(objective: Any) -> None:
    domain = Domain((2, 3, 6), {})
    tables = {(0, 1): 8.0, (1, 2): 1.0, (1,): 1.0, (2,): 3.0}
    answers, measured = asked(domain, tables), [Residual((0, 1)), Residual((1, 2))]
    best = split_epsilon(domain, measured, answers, Privacy(1, neighbours="add-remove"), 1, objective)

    def error(costs: Any) -> float:
        total = sum(costs.values())
        spreads = {one: 2 * (total / cost) ** 2 for one, cost in costs.items()}
        told = told_precisions(domain.sizes, spreads, plain=True)
        return answers.value(np.array([1 / told[residual] for residual in answers.residuals]), objective)

    chosen = {one: float(cost) for one, cost in best.items()}
    generator = np.random.default_rng(0)
    for _ in range(200):
        other = {one: cost * float(generator.uniform(0.6, 1.6)) for one, cost in chosen.items()}
        assert error(other) >= error(chosen) * 0.995
