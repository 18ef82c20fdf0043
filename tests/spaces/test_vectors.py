"""Vectors on a grid under the l1, l2 and sup metrics, and mechanisms on them."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import dproof as dp
from dproof.testing import check_mechanism, check_metric, seeded_coins

SQUARE = [dp.Interval(0, 2, 1)] * 2


@pytest.mark.parametrize("metric", ["l1", "l2", "sup"])
def test_distances_are_those_of_the_norm(metric: Any) -> None:
    grid = dp.Vectors([dp.Interval(0, 3, 1), dp.Interval(-1, 1, "0.25"), dp.Interval(0, 1, 1)], metric=metric)
    norm: Any = {"l1": sum, "sup": max, "l2": lambda x: math.sqrt(sum(y * y for y in x))}[metric]
    labels = [grid.label(n) for n in range(grid.size)]
    assert labels == list(product(range(4), [n / 4 for n in range(-4, 5)], range(2)))
    for x in (0, 17, grid.size - 1):
        found = grid.distances(x)
        for y in range(grid.size):
            expected = norm([abs(a - b) for a, b in zip(labels[x], labels[y], strict=True)])
            assert float(found[y]) == pytest.approx(expected) and found[y] == grid.distance(labels[x], labels[y])


def test_roots_are_exact_or_a_little_too_small_and_keep_the_triangle() -> None:
    grid = dp.Vectors([dp.Interval(0, 8, 1)] * 2)
    assert grid.distance((0, 0), (3, 4)) == 5 and grid.diameter == grid.distance((0, 0), (8, 8))
    for square in (2, 3, 5, 128):
        root = grid.root(square)
        assert root**2 < square < (root * (1 + Fraction(1, 1 << 85))) ** 2
    check_metric(grid)  # among others: no way round is shorter, exactly


def test_mechanisms_on_vectors_are_certified_exactly() -> None:
    plane = dp.Vectors(SQUARE, metric="l1")
    noise = dp.discrete_exponential(plane, "0.5")
    check_mechanism(noise)
    assert dp.metric_epsilon(noise) <= 1 and dp.certify(noise, 1, metric_privacy=True).epsilon <= 1
    with pytest.raises(dp.NotPrivate, match="at distance"):
        dp.certify(noise, "0.1", metric_privacy=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = dp.design(plane, 1, metric_privacy=True)
    assert best.optimum is not None and best.optimum.gap < 1e-6 and best.error < noise.error
    chosen = dp.exponential(plane, plane, [[-int(x) for x in plane.distances(n)] for n in range(9)], epsilon="0.5")
    assert chosen.law((0, 0))[(0, 1)] == noise.law((0, 0))[(0, 1)]
    with seeded_coins(1):
        drawn = noise.draw([(0, 0), [2, 1], np.array([1, 1])])
    assert len(drawn) == 3 and all(plane.code(vector) >= 0 for vector in drawn)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: dp.Vectors([]), "there is none"),
        (lambda: dp.Vectors(3), "a list of intervals"),  # type: ignore[arg-type]
        (lambda: dp.Vectors([dp.Categories(["a"])]), "an axis must be an Interval"),  # type: ignore[list-item]
        (lambda: dp.Vectors(SQUARE, metric="l3"), "metric 'l3' is not known"),  # type: ignore[arg-type]
        (lambda: dp.Vectors([dp.Interval(0, 1000, 1)] * 3).distances(0), "too many to list"),
        (lambda: dp.Vectors(SQUARE).code((1,)), "2 coordinates here; one has 1"),
        (lambda: dp.Vectors(SQUARE).code("12"), "one is a str"),
        (lambda: dp.Vectors(SQUARE).encode((1, 1)), "a column a list of vectors"),
        (lambda: dp.laplace(dp.Vectors(SQUARE), 1), "an Interval"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_grid_of_vectors_is_refused(make: Any, told: str) -> None:
    with pytest.raises(dp.InputError, match=told):
        make()


def test_a_value_outside_is_not_named() -> None:
    with pytest.raises(dp.InputError) as refused:
        dp.Vectors(SQUARE).code((1, 7777))
    assert "7777" not in str(refused.value)
