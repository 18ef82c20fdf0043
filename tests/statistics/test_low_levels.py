"""A count moves in steps; its interval covers as often as it says, to 2 %, at every level and for few rows too."""

from __future__ import annotations

import numpy as np
import pytest

from dproof.questions.estimated import half_widths
from tests.statistics.test_exact_count_coverage import chances


@pytest.mark.parametrize("level", [0.5, 0.7, 0.8, 0.9, 0.95, 0.99])
@pytest.mark.parametrize(("values", "epsilon"), [(2, 0.3), (2, 1), (3, 0.3), (3, 0.5), (10, 0.3), (10, 1), (10, 3)])
def test_the_steps_of_a_count_cost_at_most_2_percent(values: int, epsilon: float, level: float) -> None:
    keep, other = (weight / (np.exp(epsilon) + values - 1) for weight in (np.exp(epsilon), 1.0))
    shown, hidden = ((kept - other) / (keep - other) for kept in (1, 0))  # the scores of one row
    tried = 0
    for rows in (15, 20, 30, 40, 60, 100, 200, 400):
        y = np.arange(rows + 1)
        estimates = y * shown + (rows - y) * hidden
        variances = y * shown**2 + (rows - y) * hidden**2 - estimates
        widths = half_widths(variances, np.full(rows + 1, max(shown, -hidden)), level)
        for held in {0, 1, rows // 10, rows // 3, rows // 2, rows}:
            chance = np.convolve(chances(held, keep), chances(rows - held, other))
            if chance[widths.few].sum() < 0.01:  # where many rows carry noise
                tried += 1
                assert chance[np.abs(estimates - held) <= widths.half].sum() >= level - 0.02, (rows, held)
    assert tried
