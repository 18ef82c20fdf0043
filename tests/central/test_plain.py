"""Plain tables with Laplace noise: what a person moves, and how ε is split over them."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from dproof import Privacy
from dproof.central.workload import Domain, Residual, WeighedAnswers, laplace_law, split_epsilon, steps
from dproof.exact import exp_below

DOMAIN = Domain((2, 3), {1: 4})
TABLES = [Residual((0, 1)), Residual((0,), 1), Residual((), 1)]


def effect(table: Residual, row: Any, number: int) -> Any:
    cells = np.zeros([DOMAIN.sizes[i] for i in table.table], np.int64)
    cells[tuple(row[i] for i in table.table)] = 1 if table.number is None else number
    return cells


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_no_neighbour_moves_a_table_by_more_steps(neighbours: Any) -> None:
    rows = list(product(product(range(2), range(3)), (-4, 0, 3, 4)))
    for table in TABLES:
        effects = [effect(table, *row) for row in rows]
        pairs = product(effects, effects) if neighbours == "change-one" else ((one, 0 * one) for one in effects)
        assert max(int(np.abs(a - b).sum()) for a, b in pairs) == steps(DOMAIN, table, neighbours, 1)
        assert steps(DOMAIN, table, neighbours, 5) == 5 * steps(DOMAIN, table, neighbours, 1)


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_all_tables_together_cost_no_more_than_epsilon(neighbours: Any) -> None:
    costs = split_epsilon(
        DOMAIN,
        TABLES,
        WeighedAnswers.of([(1.0, {table: 1.0}) for table in TABLES], TABLES),
        Privacy("0.7", neighbours=neighbours),
        3,
    )
    spent = sum(steps(DOMAIN, table, neighbours, 3) * cost for table, cost in costs.items())
    assert Fraction(699, 1000) < spent <= Fraction(7, 10)
    for cost in costs.values():
        assert laplace_law(cost).ratio <= exp_below(cost, 256)


def test_no_other_split_is_better() -> None:
    weights = {Residual((0,)): 1.0, Residual((1,)): 20.0, Residual((0,), 1): 0.01}
    answers = WeighedAnswers.of([(weight, {table: 1.0}) for table, weight in weights.items()], list(weights))
    best = split_epsilon(DOMAIN, list(weights), answers, Privacy(1, neighbours="add-remove"))

    def error(costs: Any) -> float:
        spent = sum(float(cost) * steps(DOMAIN, table, "add-remove", 1) for table, cost in costs.items())
        return sum(weight * 2 * (spent / float(costs[table])) ** 2 for table, weight in weights.items())

    generator = np.random.default_rng(0)
    for _ in range(200):
        other = {table: float(cost) * generator.uniform(0.7, 1.4) for table, cost in best.items()}
        assert error(other) >= error(best) * (1 - 1e-6)
