"""Contrasts of columns with two values: what a person moves, what they tell, and when they are better than tables."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dproof import Privacy
from dproof.central.estimates import contrast, estimates
from dproof.central.recipe import TableLaw
from dproof.central.workload import (
    Domain,
    Residual,
    WeighedAnswers,
    cell_costs,
    measured_tables,
    spent,
    split_epsilon,
    subtables,
)
from dproof.certification import verify_central as verifier
from tests.makers import table_law

COSTS = st.fractions(Fraction(1, 9), 3, max_denominator=9)


def effect(measurement: Residual, row: tuple[int, ...], sizes: tuple[int, ...]) -> Any:
    cells = np.zeros([sizes[i] for i in measurement.table], np.int64)
    cells[tuple(row[i] for i in measurement.table)] = 1
    return contrast(cells) if measurement.contrast else cells


@given(st.data())
def test_no_neighbour_costs_more_than_is_charged(data: Any) -> None:
    """Three columns of two values and one of three; every row that comes, goes, or is replaced."""
    sizes = (2, 2, 2, 3)
    domain = Domain(sizes, {})
    tables = [*combinations(range(3), 2), (2, 3)]
    measured = measured_tables(domain, tables, contrasts=True)
    costs = {one: data.draw(COSTS) for one in measured}
    rows = list(product(*map(range, sizes)))
    moved = {one: [effect(one, row, sizes) for row in rows] for one in measured}
    added = max(sum(int(np.abs(moved[m][n]).sum()) * c for m, c in costs.items()) for n in range(len(rows)))
    changed = max(
        sum(int(np.abs(moved[m][a] - moved[m][b]).sum()) * c for m, c in costs.items())
        for a, b in combinations(range(len(rows)), 2)
    )
    assert spent(domain, costs, "add-remove", 3) == 3 * added
    known = {one: cost for one, cost in costs.items() if one.table}
    slack = Fraction(1, 1 << 50)
    assert 0 <= spent(domain, known, "change-one", 1) - changed <= slack
    assert 0 <= spent(domain, costs, "change-one", 2) - 2 * max(added, changed) <= slack
    theirs = {(one.table, None, one.contrast): cost for one, cost in costs.items()}
    assert verifier.largest_cost(list(sizes), theirs, "change-one") == spent(domain, costs, "change-one", 1)
    assert verifier.largest_cost(list(sizes), theirs, "add-remove") == added


def test_contrasts_and_tables_together_tell_what_least_squares_tell() -> None:
    sizes, generator = (2, 2, 3), np.random.default_rng(3)
    measured = measured_tables(Domain(sizes, {}), [(0, 1), (1, 2)], contrasts=True)
    variances = {one: float(generator.uniform(1, 9)) for one in measured}
    cells, design, weight, noisy, drawn = list(product(*map(range, sizes))), [], [], {}, []
    truth = generator.integers(0, 40, len(cells))
    for one in measured:
        matrix = np.stack([np.ravel(effect(one, cell, sizes)) for cell in cells], axis=1)
        values = matrix @ truth + generator.integers(-9, 9, len(matrix))
        noisy[one] = values.reshape(Domain(sizes, {}).shapes([one])[one])
        design.append(matrix)
        drawn.append(values)
        weight += [1 / variances[one]] * len(matrix)
    full, precision = np.concatenate(design), np.array(weight)
    information = np.linalg.pinv(full.T @ (full * precision[:, None]))
    solution = information @ full.T @ (precision * np.concatenate(drawn))
    found = estimates(sizes, noisy, variances, {None: ()}, plain=True)[None]
    for table in [(0, 1), (1, 2), (1,)]:
        margin = np.stack([np.ravel(effect(Residual(table), cell, sizes)) for cell in cells], axis=1)
        assert np.allclose(found.table(table).ravel(), margin @ solution)
        assert found.cell_variance(table) == pytest.approx((margin @ information @ margin.T)[0, 0])


def pairs(columns: int, neighbours: str) -> TableLaw:
    declared = {f"c{n}": {"space": "categories", "values": ["a", "b"]} for n in range(columns)}
    listed = [{"columns": list(pair)} for pair in combinations(declared, 2)]
    privacy = {"model": "central", "epsilon": 1, "delta": 0, "neighbours": neighbours}
    return table_law({"privacy": privacy, "columns": declared, "release": {"tables": listed}})


@pytest.mark.parametrize(
    ("columns", "neighbours", "contrasts", "variance"),
    [(10, "add-remove", True, 927), (6, "change-one", True, 185), (6, "add-remove", False, 165)],
)
def test_the_better_of_contrasts_and_tables_is_taken(
    columns: int, neighbours: str, contrasts: bool, variance: float
) -> None:
    law = pairs(columns, neighbours)
    assert any(one.contrast for one in law.noise) is contrasts
    assert law.precisions[None].cell_variance((0, 1)) == pytest.approx(variance, rel=0.01)


def test_a_set_with_many_items_is_measured_by_contrasts_under_change_one() -> None:
    assert any(one.contrast for one in pairs(20, "change-one").noise)


@pytest.mark.parametrize("epsilon", ["1", "1e-9", "1/3"])
def test_contrasts_never_cost_more_than_is_promised(epsilon: str) -> None:
    domain, tables = Domain((2,) * 4, {}), list(combinations(range(4), 2))
    residuals = [Residual(table) for table in subtables(tables) if table]
    answers = WeighedAnswers.of([(1.0, cell_costs(domain, Residual(table))) for table in tables], residuals)
    measured = [one for one in measured_tables(domain, tables, contrasts=True) if one.table]
    promise = Privacy(epsilon, neighbours="change-one")
    paid = spent(domain, split_epsilon(domain, measured, answers, promise), "change-one", 1)
    assert promise.epsilon * Fraction(999, 1000) < paid <= promise.epsilon
