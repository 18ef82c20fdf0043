"""The L2 norm of what a lattice of curves cannot show."""

from __future__ import annotations

from itertools import pairwise
from math import sqrt

import pytest

from dproof import Curves, expand
from dproof.curves.lattice import l2_left_out, left_out


def test_it_is_the_norm_of_what_is_left_out_at_each_point() -> None:
    lattice = expand(Curves(0, 4, 9, 0, 3), terms=3).lattice("gaussian")
    squares = [float(x) ** 2 for x in left_out(lattice)]
    area = sum((a + b) / 2 * 0.5 for a, b in pairwise(squares))  # nine points from 0 to 4
    assert area > 1 and l2_left_out(lattice) == pytest.approx(sqrt(area))
