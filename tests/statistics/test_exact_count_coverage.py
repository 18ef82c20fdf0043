"""How often the interval of a count covers, exactly: over every number of sanitised rows that can have the value."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from dproof.laws.debias import AnswerGroups, Contingency, Sets, Sum, response_axis
from dproof.questions.estimated import half_widths

VALUES = 3


def chances(rows: int, p: float) -> np.ndarray:
    return np.array([comb(rows, y) * p**y * (1 - p) ** (rows - y) for y in range(rows + 1)])


@pytest.mark.parametrize(
    ("rows", "epsilon", "held"),
    [(300, 0.5, 0), (300, 0.5, 6), (300, 0.5, 180), (300, 1, 6), (300, 2, 6), (900, 0.5, 18)],
)
def test_the_interval_of_a_count_covers_as_often_as_it_says(rows: int, epsilon: float, held: int) -> None:
    keep, other = (weight / (np.exp(epsilon) + VALUES - 1) for weight in (np.exp(epsilon), 1.0))
    axis = response_axis("x", np.ones(VALUES), keep, other, (None,))
    first = Sets(1, np.eye(VALUES)[:1])
    groups, counted = AnswerGroups([()], np.arange(1), (), first), Sum(np.ones(VALUES), ((0,),))
    covered = 0.0
    for shown, chance in enumerate(np.convolve(chances(held, keep), chances(rows - held, other))):
        if chance > 1e-9:
            table = Contingency([axis], np.array([shown, rows - shown, 0.0]), rows)
            found = table.estimates([counted], groups)
            half = half_widths(found.covariance("table")[:, 0, 0], found.heaviest[:, 0], 0.95).half[0]
            covered += chance * (abs(found.values[0, 0] - held) <= half)
    assert 0.94 <= covered <= 0.96
