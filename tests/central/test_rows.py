"""Made-up rows come near the tables that they are made from."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from dproof.central.rows import distance, made_up_rows, on_simplex
from dproof.coins import Coins

SIZES = (4, 3, 5)


def coins() -> Coins:
    return Coins(bytes(16), private=False)


def test_the_pairs_of_made_up_rows_are_near_their_targets() -> None:
    generator = np.random.default_rng(0)
    first = generator.integers(0, 4, 3000)
    rows = np.stack([first, (first + generator.integers(0, 2, 3000)) % 3, (2 * first + (first > 1)) % 5], axis=1)
    tables = [*combinations(range(3), 1), *combinations(range(3), 2)]
    targets = {}
    for table in tables:
        shape = tuple(SIZES[i] for i in table)
        cells = np.ravel_multi_index(tuple(rows[:, i] for i in table), shape)
        targets[table] = np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape).astype(float)
    made = made_up_rows(SIZES, targets, 3000, coins())
    assert made.shape == (3000, 3) and made.min() >= 0 and (made.max(axis=0) < np.array(SIZES)).all()
    pairs = {table: target for table, target in targets.items() if len(table) == 2}
    independent = made_up_rows(SIZES, {t: v for t, v in targets.items() if len(t) == 1}, 3000, coins())
    assert distance(made, pairs, SIZES) < 0.01 < 0.5 < distance(independent, pairs, SIZES)


def test_no_rows_and_empty_targets_are_no_trouble() -> None:
    assert made_up_rows((3, 2), {(0,): np.zeros(3), (0, 1): np.zeros((3, 2))}, 0, coins()).shape == (0, 2)
    assert made_up_rows((3, 1), {}, 5, coins()).shape == (5, 2)


def test_the_nearest_table_without_negative_cells() -> None:
    values = np.array([[3.0, -2.0], [1.0, 0.5]])
    found = on_simplex(values, 4.0)
    assert found.min() >= 0 and abs(found.sum() - 4) < 1e-12
    generator = np.random.default_rng(1)
    for _ in range(200):
        other = generator.dirichlet(np.ones(4)).reshape(2, 2) * 4
        assert ((found - values) ** 2).sum() <= ((other - values) ** 2).sum() + 1e-12
