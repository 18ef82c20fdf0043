"""The least and the greatest value of a calculation near its sums, held against those at very many places."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dproof.laws.debias import Array
from dproof.questions.estimated import Value
from dproof.questions.extremes import extremes, roots

LEVEL, Z = 0.95, 1.96
CALCULATIONS: dict[str, Callable[[Value, Value, Value], Value]] = {
    "a product": lambda x, y, n: x * y,
    "a square": lambda x, y, n: x * x,
    "a sum of squares": lambda x, y, n: x * x + y * y,
    "a steep and a flat square": lambda x, y, n: 100 * x * x + y * y,
    "a difference of squares": lambda x, y, n: x * x - y * y,
    "a mean": lambda x, y, n: x / n,
    "a ratio of means": lambda x, y, n: (x / n) / ((y + 9) / n),
    "a variance": lambda x, y, n: y / n - (x / n) * (x / n),
    "a root": lambda x, y, n: (x + 5).root() + y,
    "a root over a mean": lambda x, y, n: (x * x + 3).root() / (n + y),
    "a turning root": lambda x, y, n: (30 - x * x - y * y).root(),
    "over a turning root": lambda x, y, n: n / (y - x * x).root(),
}


def near(asked: str, places: Array) -> tuple[Array, Array, Array, Array]:
    """The ends for each of some estimates, and by brute force: what it is near, and at its turns farther away."""
    found = np.column_stack([places, np.full(len(places), 12.0)])
    covariance = np.broadcast_to(np.array([[1.0, 0.3, 0.0], [0.3, 1.0, 0.0], [0.0, 0.0, 0.25]]), (len(places), 3, 3))
    unit = np.eye(3)

    def value(sums: Array) -> Value:
        spread = np.broadcast_to(covariance[:1], (len(sums), 3, 3))
        slopes = (np.broadcast_to(unit[n], sums.shape) for n in range(3))
        return CALCULATIONS[asked](
            *(Value(sums[:, n], s, spread, linear=True) for n, s in enumerate(slopes))  # type: ignore[arg-type]
        )

    calculation = value(found)
    used = calculation.numbers
    each = covariance[:, used][:, :, used]
    errors = roots(each, np.sqrt(np.einsum("gii->gi", each)))
    reach = np.zeros((len(places), 3, errors.shape[-1]))
    reach[:, used] = Z * np.sqrt(np.einsum("gii->gi", each))[:, :, None] * errors
    low, high = extremes(calculation, reach, np.arange(len(places)), LEVEL)
    random = np.random.default_rng(1)
    moves = random.standard_normal((6_000, errors.shape[-1]))
    moves *= random.random(len(moves))[:, None] ** 0.1 / np.sqrt((moves**2).sum(axis=1, keepdims=True))
    ends = []
    for n in range(len(places)):
        values = value(found[n] + moves @ reach[n].T).value
        ends.append((values.min(), values.max()))
    least, most = np.array(ends).T
    return low, high, least, most


@pytest.mark.parametrize("asked", CALCULATIONS)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_the_ends_are_those_of_all_that_is_near(asked: str) -> None:
    places = np.array([(x, y) for x in (-2.0, 0.0, 0.3, 4.0, 9.0) for y in (0.0, 1.0, 6.0)])
    low, high, least, most = near(asked, places)
    known = ~np.isnan(least + most)
    size = most - least
    assert known.any() and (low <= least + 0.01 * size)[known].all() and (high >= most - 0.01 * size)[known].all()
    # No turn is found where there is none.
    bends = "square" in asked or "turning" in asked or asked in ("a product", "a variance", "a root over a mean")
    if not bends:
        assert (low >= least - 0.03 * size)[known].all() and (high <= most + 0.03 * size)[known].all()


def test_a_turn_counts_as_far_as_noise_leads_in_all_directions() -> None:
    """Two independent errors lead more than 1.96 standard errors from where their squares add up to 0 in 15 %."""
    random = np.random.default_rng(3)
    places = random.multivariate_normal([0, 0], [[1, 0.3], [0.3, 1]], 400)
    low, _, _, _ = near("a sum of squares", places)
    inverse = np.linalg.inv([[1, 0.3], [0.3, 1]])
    assert (np.einsum("gi,ij,gj->g", places, inverse, places) < Z**2).mean() < 0.88
    assert (low <= 0).mean() >= 0.93


def test_nothing_is_known_where_a_divisor_may_be_zero() -> None:
    low, high, _, _ = near("a ratio of means", np.array([(1.0, -9.5), (1.0, -7.5), (1.0, 0.0)]))
    assert np.isnan(low).tolist() == np.isnan(high).tolist() == [True, True, False]


@pytest.mark.filterwarnings("ignore:invalid value")
def test_nothing_is_known_where_a_divisor_that_bends_may_be_zero() -> None:
    """Where it is below zero only in a corner of what is near, no place that was looked at lay there."""
    low, high, _, _ = near("over a turning root", np.array([(0.0, 4.5), (1.0, 8.0), (0.0, 12.0)]))
    assert np.isnan(low).tolist() == np.isnan(high).tolist() == [True, True, False]


def test_a_root_of_what_may_be_below_zero_finds_its_edge() -> None:
    """Beside the edge the root falls as steeply as one likes; the truth may lie on it."""
    low, _, _, _ = near("a root", np.array([(-5.2, 0.0), (-4.9, 0.0), (-3.5, 0.0)]))
    assert (low < -1.2).all()
