"""Where every code is on the grid, or too few are for a bend, no code between is off the chord."""

from __future__ import annotations

import numpy as np
import pytest

from dproof.laws.debias import Points


@pytest.mark.parametrize("even", [0, 2])
def test_without_a_bend_nothing_is_off(even: int) -> None:
    points = Points(np.eye(2), np.array([0, 1]), np.zeros(2), np.array([0, 1]), np.array([3.0, 5.0]), even)
    means, off = points.means_and_gaps(np.array([[1.0], [7.0]]))
    assert means.tolist() == [[1.0], [7.0]] and off.tolist() == [0.0]
