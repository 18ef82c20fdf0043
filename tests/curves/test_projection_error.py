"""What is left of a curve before noise: the error is the L2 norm of a function that is linear between grid points."""

from __future__ import annotations

import numpy as np
import pytest

from dproof import Curves, Privacy, curve_noise
from dproof.curves.lattice import Expansion


def test_the_error_of_a_projection_is_an_integral() -> None:
    space = Curves(0, 2, 6, low=0, high=5)
    mechanism = curve_noise(Expansion(space, "cosine", terms=2), Privacy(1))
    rows = np.array([[0.0, 5.0, 1.0, 4.0, 0.5, 3.0], [1.0, 1.0, 2.0, 2.5, 2.0, 1.0]])
    lattice, fine = mechanism.lattice, np.linspace(0, 2, 40_001)
    left = rows - lattice.evaluate(lattice.coefficients(space.encode(rows, clamp=True)))
    squares = [np.trapezoid(np.interp(fine, space.times, row) ** 2, fine) for row in left]
    assert mechanism.projection_error(rows) == pytest.approx(np.sqrt(squares), rel=1e-6)
