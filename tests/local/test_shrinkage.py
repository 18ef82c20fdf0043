"""Shrinkage: counts that are never negative, keep the total, and are no worse than the nearest such counts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dproof.laws.debias import Contingency, response_axis
from dproof.laws.response import response_law
from dproof.local.estimate import projection, shrinkage

TABLES = {
    "one value that nearly all have": np.array([27_000, *range(10, 410, 10)]),
    "few that many have": (30_000 / np.arange(1, 400) ** 1.3).astype(int),
}


@pytest.mark.parametrize("true", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("epsilon", [2, 4])
def test_it_is_about_as_sharp_as_the_nearest_counts_at_least(true: np.ndarray, epsilon: int) -> None:
    k, rng = len(true), np.random.default_rng(7)
    law = response_law(k, Fraction(epsilon), Fraction(0))
    keep, other = law.keep / law.total, law.other / law.total
    axis = response_axis("x", np.ones(k), keep, other)
    squares = np.zeros(2)
    for _ in range(10):
        kept = rng.binomial(true, keep - other)
        counts = (kept + rng.multinomial(true.sum() - kept.sum(), np.full(k, 1 / k))).astype(float)
        table = Contingency([axis], counts, int(true.sum()))
        found = shrinkage(table), projection(table)
        for cells in found:
            assert cells.min() >= 0 and cells.sum() == pytest.approx(true.sum())
        squares += [((cells - true) ** 2).mean() for cells in found]
    assert squares[0] < 1.05 * squares[1]
