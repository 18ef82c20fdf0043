"""Tables from residuals: unbiased, consistent, and as good as generalised least squares."""

from __future__ import annotations

from itertools import combinations, product
from math import prod
from typing import Any

import numpy as np
import pytest

from dproof.central.estimates import estimates, residual_of
from dproof.central.workload import Residual, subtables
from tests.brute_force import covariance

SIZES = (3, 2, 4)
TABLES = subtables(combinations(range(3), 2))


def margin(full: Any, table: Any) -> Any:
    return full.sum(axis=tuple(i for i in range(3) if i not in table))


def of_counts(noisy: Any, variances: Any, **options: Any) -> Any:
    return estimates(SIZES, noisy, variances, {None: ()}, **options)[None]


def test_without_noise_every_table_is_itself() -> None:
    full = np.random.default_rng(0).integers(0, 50, SIZES)
    noisy = {Residual(t): residual_of(margin(full, t)) for t in TABLES}
    found = of_counts(noisy, dict.fromkeys(noisy, 1.0))
    for table in TABLES:
        assert np.allclose(found.table(table), margin(full, table))
    public = of_counts({r: v for r, v in noisy.items() if r.table}, dict.fromkeys(noisy, 1.0), known=int(full.sum()))
    assert np.allclose(public.table((0, 2)), margin(full, (0, 2)))


def test_tables_agree_on_what_they_share_whatever_the_noise() -> None:
    generator = np.random.default_rng(1)
    noisy = {Residual(t): generator.integers(-99, 99, tuple(SIZES[i] for i in t)) for t in TABLES}
    found = of_counts(noisy, dict.fromkeys(noisy, 1.0))
    assert np.allclose(found.table((0, 1)).sum(axis=1), found.table((0, 2)).sum(axis=1))
    assert np.allclose(found.table((0, 1)).sum(axis=1), found.table((0,)))
    assert found.table(()) == pytest.approx(found.table((1, 2)).sum())


def test_estimates_and_covariances_are_those_of_generalised_least_squares() -> None:
    generator = np.random.default_rng(2)
    squares = {Residual(t): float(generator.uniform(1, 9)) for t in TABLES}
    cells = list(product(*map(range, SIZES)))
    rows, variances = [], []
    for residual, square in squares.items():
        units = []
        for cell in cells:
            full = np.zeros(SIZES, np.int64)
            full[cell] = 1
            units.append(residual_of(margin(full, residual.table)).ravel())
        rows.append(np.stack(units, axis=1))
        variances += [square] * len(rows[-1])
    design, weight = np.concatenate(rows), 1 / np.array(variances)
    drawn = generator.normal(0, 5, len(design)) + design @ generator.integers(0, 30, len(cells))
    information = np.linalg.pinv(design.T @ (design * weight[:, None]))
    solution = information @ design.T @ (weight * drawn)
    noisy, place = {}, 0
    for residual in squares:
        size = prod(SIZES[i] for i in residual.table)
        noisy[residual] = drawn[place : place + size].reshape(tuple(SIZES[i] for i in residual.table))
        place += size
    found = of_counts(noisy, squares)
    for table in TABLES:
        fold = np.zeros((prod(SIZES[i] for i in table), len(cells)))
        for n, cell in enumerate(cells):
            own = tuple(cell[i] for i in table)
            fold[int(np.ravel_multi_index(own, tuple(SIZES[i] for i in table))) if table else 0, n] = 1
        assert np.allclose(found.table(table).ravel(), fold @ solution)
        told = covariance(found, table, np.eye(len(fold)))
        assert np.allclose(told, fold @ information @ fold.T)
        assert found.cell_variance(table) == pytest.approx(told[0, 0])


def test_whole_tables_are_combined_as_by_generalised_least_squares() -> None:
    generator = np.random.default_rng(4)
    variances = {Residual((0, 1)): 2.0, Residual((0, 2)): 5.0, Residual((1, 2)): 3.0}
    cells = list(product(*map(range, SIZES)))
    noisy = {r: generator.integers(-9, 40, tuple(SIZES[i] for i in r.table)) for r in variances}

    def fold(table: Any) -> Any:
        matrix = np.zeros((prod(SIZES[i] for i in table), len(cells)))
        for n, cell in enumerate(cells):
            own = tuple(cell[i] for i in table)
            matrix[int(np.ravel_multi_index(own, tuple(SIZES[i] for i in table))) if table else 0, n] = 1
        return matrix

    design = np.concatenate([fold(r.table) for r in variances])
    weight = np.concatenate([np.full(noisy[r].size, 1 / v) for r, v in variances.items()])
    information = np.linalg.pinv(design.T @ (design * weight[:, None]))
    solution = information @ design.T @ (weight * np.concatenate([v.ravel() for v in noisy.values()]))
    found = of_counts(noisy, variances, plain=True)
    for table in TABLES:
        assert np.allclose(found.table(table).ravel(), fold(table) @ solution)
        wanted = fold(table) @ information @ fold(table).T
        assert np.allclose(covariance(found, table, np.eye(len(wanted))), wanted)
