"""The band of a mean curve from measured tables: its standard error, and that it holds Fieller's set."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dproof.central.answer import curve_function
from dproof.central.recipe import TableLaw
from dproof.curves.bands import points_quantile
from tests.makers import table_law

POINTS = 6
CENTRE, SCALE = 2.0, 2.0 / (1 << 14)  # of values between 0 and 4, in whole numbers up to 2^14


@pytest.fixture(scope="module")
def law() -> TableLaw:
    columns = {"load": {"space": "curves", "points": POINTS, "low": 0, "high": 4}}
    promise = {"model": "central", "epsilon": 1, "delta": "1e-6", "neighbours": "add-remove"}
    return table_law({"privacy": promise, "columns": columns})


def drawn(seed: int) -> tuple[Any, float, float, float]:
    """A sum of coefficients, a count, and the deviations of the count and of each coefficient."""
    generator = np.random.default_rng(seed)
    count = float(generator.uniform(200, 2000))
    means = generator.uniform(-1, 1, POINTS) * (1 << 14)
    return means * count, count, count * generator.uniform(0.01, 0.25), float(generator.uniform(1, 50)) * (1 << 14)


@pytest.mark.parametrize("seed", range(5))
def test_the_standard_error_has_the_noise_of_the_sum_and_of_the_count(law: TableLaw, seed: int) -> None:
    total, count, of_count, of_sum = drawn(seed)
    found = curve_function(law, 0, total, count, (of_count, of_sum), 0.95)
    assert found is not None
    np.testing.assert_allclose(found.unbiased, CENTRE + SCALE * total / count)
    np.testing.assert_allclose(found.stderr, SCALE * np.hypot(of_sum, total / count * of_count) / count)
    added = curve_function(law, 0, total, count, (of_count, of_sum), 0.95, is_total=True)
    assert added is not None
    np.testing.assert_allclose(added.estimate, CENTRE * count + SCALE * total)
    np.testing.assert_allclose(added.stderr, np.hypot(SCALE * of_sum, CENTRE * of_count))


@pytest.mark.parametrize("seed", range(20))
def test_the_band_holds_all_means_that_the_noise_allows(law: TableLaw, seed: int) -> None:
    """|S − mn| ≤ q √(σ_S² + m²σ_n²): a quadratic inequality for each grid point."""
    total, count, of_count, of_sum = drawn(seed)
    found, q = curve_function(law, 0, total, count, (of_count, of_sum), 0.95), points_quantile(POINTS, 0.95)
    assert found is not None
    for n, own in enumerate(total.tolist()):
        roots = np.roots([count**2 - (q * of_count) ** 2, -2 * own * count, own**2 - (q * of_sum) ** 2])
        low, high = sorted(CENTRE + SCALE * roots.real)
        assert found.low[n] <= low + 1e-9 and high - 1e-9 <= found.high[n]


def test_a_count_that_may_be_zero_tells_no_mean_but_a_total(law: TableLaw) -> None:
    total = np.full(POINTS, 3.0 * (1 << 14))
    assert curve_function(law, 0, total, 10.0, (4.0, 9.0), 0.95) is None
    assert curve_function(law, 0, total, 10.0, (4.0, 9.0), 0.95, is_total=True) is not None
