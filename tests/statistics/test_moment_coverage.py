"""The sweep of tests/curator/test_curator_moments.py over every moment, few and many rows, wide and small noise."""

from __future__ import annotations

from typing import Any

import pytest

from tests.curator.test_curator_moments import TRUTHS, cells, coverage

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("asked", TRUTHS)
@pytest.mark.parametrize("neighbours", ["change-one", "add-remove"])
@pytest.mark.parametrize("gaps", [False, True])
def test_intervals_of_moments_cover(asked: str, neighbours: Any, gaps: bool) -> None:
    for n, epsilon in [(200, "0.01"), (200, "0.05"), (200, "0.2"), (1200, "0.003"), (1200, "0.01"), (1200, "1")]:
        found, truth = cells(asked, n, epsilon, 600, neighbours=neighbours, gaps=gaps)
        assert coverage(found, truth) >= 0.95 - 3 * (0.95 * 0.05 / 600) ** 0.5, (n, epsilon)
