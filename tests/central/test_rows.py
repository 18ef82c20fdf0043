"""Made-up rows come near the tables that they are made from."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

import dproof as dp
from dproof.central.rows import made_up_rows
from dproof.coins import Coins
from dproof.laws.debias import on_simplex
from dproof.testing import seeded_coins

SIZES = (4, 3, 5)


def coins() -> Coins:
    return Coins(bytes(16), private=False)


def distance(made: Any, tables: Any) -> float:
    """The mean over tables of Σ |share among the rows − share in the table|."""
    shares = []
    for table, target in tables.items():
        counts = np.zeros(target.shape)
        np.add.at(counts, tuple(made[:, i] for i in table), 1)
        shares.append(np.abs(counts / len(made) - target / target.sum()).sum())
    return float(np.mean(shares))


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
    made = made_up_rows(SIZES, targets, dict.fromkeys(targets, 0.0), 3000, coins())
    assert made.shape == (3000, 3) and made.min() >= 0 and (made.max(axis=0) < np.array(SIZES)).all()
    pairs = {table: target for table, target in targets.items() if len(table) == 2}
    alone = {table: target for table, target in targets.items() if len(table) == 1}
    independent = made_up_rows(SIZES, alone, {}, 3000, coins())
    assert distance(made, pairs) < 0.01 < 0.5 < distance(independent, pairs)


def test_rows_are_nearer_to_the_truth_than_noisy_tables_without_negative_counts() -> None:
    generator = np.random.default_rng(3)
    group = generator.integers(0, 3, 5000)
    rows = np.stack([np.minimum(generator.geometric(0.3 + 0.2 * group) - 1, 6) for _ in range(4)], axis=1)
    names = ["a", "b", "c", "d"]
    columns = {name: {"space": "categories", "values": list(range(7))} for name in names}
    privacy = {"model": "central", "epsilon": "0.1", "delta": "1e-6", "neighbours": "add-remove"}
    plan = {"privacy": privacy, "release": {"tables": 2, "rows": True}, "columns": columns}
    table, pairs, found = pa.table(dict(zip(names, rows.T, strict=True))), list(combinations(range(4), 2)), []
    true = {pair: np.histogram2d(*rows[:, pair].T, bins=7, range=[[0, 7]] * 2)[0] for pair in pairs}
    for seed in range(3):
        with seeded_coins(seed):
            release = dp.sanitise(table, plan)
        made = np.column_stack([release.to_arrow()[name].to_numpy() for name in names])
        told = {pair: release.estimates[None].table(pair).reshape(1, -1) for pair in pairs}
        moved = {pair: on_simplex(told[pair], np.array([5000.0])).reshape(7, 7) for pair in pairs}
        beside = np.mean([np.abs(moved[pair] - true[pair]).sum() / 5000 for pair in pairs])
        found.append((distance(made, true), beside))
    own, other = np.mean(found, axis=0)
    assert own <= 0.5 * other, f"rows are {own:.3f} away, tables {other:.3f}"


def test_no_rows_and_empty_targets_are_no_trouble() -> None:
    targets = {(0,): np.zeros(3), (0, 1): np.zeros((3, 2))}
    assert made_up_rows((3, 2), targets, dict.fromkeys(targets, 1.0), 0, coins()).shape == (0, 2)
    assert made_up_rows((3, 1), {}, {}, 5, coins()).shape == (5, 2)


def test_rows_do_not_repeat_the_noise() -> None:
    """Two columns that have nothing to do with each other: rows that follow the noisy table are farther from it."""
    draw, true = np.random.default_rng(3), np.full((8, 8), 50.0)
    noisy = np.maximum(true + draw.normal(0, 15, true.shape), 0)
    targets = {(0,): true.sum(axis=1), (1,): true.sum(axis=0), (0, 1): noisy}
    far, near = (
        distance(made_up_rows((8, 8), targets, dict.fromkeys(targets, sd), 3200, coins()), {(0, 1): true})
        for sd in (0.0, 15.0)
    )
    assert near < 0.75 * far
