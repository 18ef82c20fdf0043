"""The variance of a mean where numbers may be missing: as the definition gives it, outcome by outcome."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dproof import Categories, Interval
from dproof.laws import Lattice, Matrix, OptionalLaw, RoundedLaw
from dproof.laws.laplace import two_sided

LAW = Matrix(np.array([[14, 9, 1, 8], [6, 16, 6, 4], [4, 5, 20, 3], [5, 5, 5, 17]]), 32)


@pytest.mark.parametrize(("low", "high"), [(0, 4), (-4, 0), (10, 14)])
def test_a_matrix_law(low: int, high: int) -> None:
    """A row with response y adds s(y) − x·t(y), where s and t are unbiased for the number and for being there."""
    numbers = np.array([low, (low + high) / 2, high])
    law = LAW.rows / LAW.total
    undone = np.linalg.inv(law)
    number, there = undone @ [*numbers, 0], undone @ [1, 1, 1, 0]
    added = number - numbers[:, None] * there
    assert np.allclose((law[:3] * added).sum(axis=1), 0)
    worst = (law[:3] * added**2).sum(axis=1)
    assert worst.max() > 1.01 * worst[0]  # the first value is not the worst
    assert LAW.mean_variance(Interval(low, high, step=2).with_missing()) == pytest.approx(worst.max())
    fine = Interval(low, high, step=1)  # rounded at random to the three numbers
    assert RoundedLaw(5, 2, LAW).mean_variance(fine.with_missing()) == pytest.approx(worst.max())
    assert RoundedLaw(5, 2, LAW).mean_variance(fine) is None


def test_there_is_none_for_what_has_no_numbers_or_is_singular_or_large() -> None:
    space = Interval(0, 4, step=2)
    assert LAW.mean_variance(Categories(["a", "b", "c", "d"])) is None
    assert LAW.mean_variance(Interval(0, 6, step=2)) is None  # none of its values is missing
    assert Matrix(np.array([[2, 1, 1], [2, 1, 1], [0, 2, 2]]), 4).mean_variance(Interval(0, 1).with_missing()) is None
    assert LAW.mean_variance(space.with_missing()) is not None
    size = (1 << 10) + 1
    large = Matrix(np.eye(size, dtype=np.int64), 1)
    assert large.mean_variance(Interval(0, size - 2).with_missing()) is None


@pytest.mark.parametrize(("present", "missing"), [(3, 1), (7, 5)])
def test_noise_on_numbers(present: int, missing: int) -> None:
    """All numbers lie at the farther end, `away` from the middle; what is not shown adds −x·t."""
    step, size, away = Fraction(1, 2), 6, 3
    noise = two_sided(Fraction(2))
    law = OptionalLaw(Lattice(size, noise), present, missing, 8)
    p, q = present / 8, missing / 8
    shown, hidden = (1 - q) / (p - q), -q / (p - q)
    chances = {k: float(noise.probability(k)) for k in range(-60, 61)}
    variance = sum(p * chance * ((away + k) / p - away * shown) ** 2 for k, chance in chances.items())
    variance += (1 - p) * (away * hidden) ** 2
    space = Interval(0, step * (size - 1), step=step).with_missing()
    assert law.mean_variance(space) == pytest.approx(variance / 4, rel=1e-6)
