"""Tables with less noise: nearer to the truth than the unbiased ones, and unchanged where there is no noise."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from dproof.central.estimates import ResidualEstimates, _expected, _kept, nearest_tables, projected, projection, shrunk
from dproof.central.workload import subtables


def estimated(full: Any, variance: float, tables: Any, seed: int = 1) -> tuple[ResidualEstimates, dict[Any, Any]]:
    """Unbiased estimates of the tables of a full one, whose residuals have noise of this variance; and the truth."""
    generator, residuals, truth = np.random.default_rng(seed), {}, {}
    for part in subtables(tables):
        margin = full.sum(axis=tuple(i for i in range(full.ndim) if i not in part))
        noise = generator.normal(0, variance**0.5, margin.shape) if part else 0.0
        residuals[part], truth[part] = projected(margin + noise, len(part)), margin
    return ResidualEstimates(full.shape, residuals, {part: variance if part else 0.0 for part in residuals}), truth


def population(sizes: tuple[int, ...], rows: int, seed: int = 2) -> Any:
    """People whose columns depend on each other a little, with rare values."""
    generator = np.random.default_rng(seed)
    group = generator.integers(0, 3, rows)
    columns = [np.minimum(generator.geometric(0.3 + 0.15 * group, rows) - 1, k - 1) for k in sizes]
    full = np.zeros(sizes)
    np.add.at(full, tuple(columns), 1)
    return full


def error(found: ResidualEstimates, truth: dict[Any, Any], tables: Any) -> float:
    return float(sum(((found.table(t) - truth[t]) ** 2).sum() for t in tables))


PAIRS = list(combinations(range(4), 2))


@pytest.mark.parametrize("variance", [4.0, 100.0, 2500.0])
def test_the_tables_are_nearer_to_the_truth(variance: float) -> None:
    full = population((8, 6, 9, 4), 3000)
    for seed in range(5):
        found, truth = estimated(full, variance, PAIRS, seed)
        assert error(projection(found, PAIRS), truth, PAIRS) < error(nearest_tables(found, PAIRS), truth, PAIRS)


def test_where_there_is_no_noise_nothing_is_drawn_out() -> None:
    found, truth = estimated(population((5, 4, 3, 2), 2000), 1e-12, PAIRS)
    for pair in PAIRS:
        np.testing.assert_allclose(shrunk(found, PAIRS).table(pair), truth[pair], atol=1e-3)


def test_columns_that_are_independent_become_so() -> None:
    full = np.multiply.outer(np.arange(1.0, 13.0), np.arange(1.0, 11.0)) * 3
    found, truth = estimated(full, 400.0, [(0, 1)])
    assert error(shrunk(found, [(0, 1)]), truth, [(0, 1)]) < 0.3 * error(found, truth, [(0, 1)])


def test_what_noise_hides_of_a_single_column_is_left_out() -> None:
    counts, singles = np.array([300.0, 200, 150, 120, 100, 80, 40, 10]), [(0,)]
    for variance, most in ((1.0, 1.02), (10_000.0, 0.9), (1_000_000.0, 0.3)):
        told = [estimated(counts, variance, singles, seed) for seed in range(40)]
        drawn = sum(error(projection(found, singles), truth, singles) for found, truth in told)
        assert drawn <= most * sum(error(nearest_tables(found, singles), truth, singles) for found, truth in told)


@pytest.mark.parametrize("values", [1, 2, 3])
def test_of_few_values_a_single_column_stays_as_it_is(values: int) -> None:
    found, _ = estimated(np.arange(1.0, values + 1) * 100, 900.0, [(0,)])
    assert shrunk(found, [(0,)]).table((0,)).tolist() == found.table((0,)).tolist()


def test_the_tables_agree_have_no_negative_count_and_keep_the_total() -> None:
    found, _ = estimated(population((8, 6, 9, 4), 500), 400.0, PAIRS)
    moved = projection(found, PAIRS)
    for i, j in PAIRS:
        cells = moved.table((i, j))
        assert cells.min() >= 0
        assert cells.sum() == pytest.approx(500)
        np.testing.assert_allclose(cells.sum(axis=1), moved.table((i,)), atol=1e-6)
        np.testing.assert_allclose(cells.sum(axis=0), moved.table((j,)), atol=1e-6)


def test_what_smaller_tables_say_of_independent_columns_is_their_product() -> None:
    shares = [np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.75]), np.array([0.1, 0.2, 0.7])]
    product = np.einsum("i,j,k->ijk", *shares) * 100
    smaller = {
        part: product.sum(axis=tuple(i for i in range(3) if i not in part))
        for part in subtables([(0, 1, 2)])
        if part != (0, 1, 2)
    }
    np.testing.assert_allclose(_expected((0, 1, 2), product.shape, smaller, 100.0), product, atol=1e-9)


def test_a_table_of_three_columns_is_drawn_towards_what_its_pairs_say() -> None:
    full = population((5, 4, 6), 3000)
    for seed in range(3):
        found, truth = estimated(full, 200.0, [(0, 1, 2)], seed)
        tables = [(0, 1, 2), *combinations(range(3), 2)]
        assert error(projection(found, tables), truth, tables) < error(nearest_tables(found, tables), truth, tables)


def test_a_large_table_is_looked_at_in_parts() -> None:
    """The same deviations over and over: what is kept does not depend on which part a cell is in."""
    block = np.random.default_rng(5).normal(0, 3, 1 << 14)
    kept = _kept(np.tile(block, 8), np.full(8 << 14, 20.0), 4.0).reshape(8, -1)
    np.testing.assert_allclose(kept, np.tile(kept[0], (8, 1)), rtol=1e-12)
    assert (np.abs(kept) <= np.abs(block)).all()


@pytest.mark.parametrize("total", [0.0, -3.0])
def test_nobody_has_no_tables_to_be_drawn_to(total: float) -> None:
    found, _ = estimated(np.zeros((3, 3)), 9.0, [(0, 1)])
    told = ResidualEstimates(found.sizes, {**found.residuals, (): np.array(total)}, found.variances)
    assert not projection(told, [(0, 1)]).table((0, 1)).any()
