"""The nearest counts without negative ones."""

from __future__ import annotations

import numpy as np

from dproof.laws.debias import on_simplex


def test_no_other_counts_of_that_total_are_nearer() -> None:
    values = np.array([[3.0, -2.0, 1.0, 0.5]])
    nearest = on_simplex(values, np.array([4.0]))
    assert nearest.min() >= 0 and abs(nearest.sum() - 4) < 1e-12
    generator = np.random.default_rng(1)
    for _ in range(200):
        other = generator.dirichlet(np.ones(4)) * 4
        assert ((nearest - values) ** 2).sum() <= ((other - values) ** 2).sum() + 1e-12
