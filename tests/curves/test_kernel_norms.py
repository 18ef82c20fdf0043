"""Norms of the kernels' spaces: K(·, s) is the function whose inner product with any f is f(s), so its norm is 1."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from dproof import Kernel
from dproof.curves.bases import quadrature

SHAPES = {"exponential": [1], "matern-3/2": [1, 1], "matern-5/2": [1, 1, 1 / 3]}
START, STOP = 0.5, 2.0


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("length", ["0.4", "1", "3"])
@pytest.mark.parametrize("parts", [(1, 0), (0, 1), (2, -1), (1, 1)])
def test_the_norm_of_a_sum_of_kernels(name: str, length: str, parts: tuple[int, int]) -> None:
    """‖a·K(·, start) + b·K(·, stop)‖² = a² + b² + 2ab·K(start, stop)."""
    kernel = Kernel(name, length)

    def function(t: np.ndarray, n: int) -> np.ndarray:
        shape = Polynomial(SHAPES[name])
        for _ in range(n):  # of P(x)·e^(−x), in x
            shape = shape.deriv() - shape
        near, far = kernel.rate * (t - START), kernel.rate * (STOP - t)
        values = parts[0] * shape(near) * np.exp(-near) + parts[1] * (-1) ** n * shape(far) * np.exp(-far)
        return np.asarray(kernel.rate**n * values)

    x = kernel.rate * (STOP - START)
    between = Polynomial(SHAPES[name])(x) * exp(-x)
    assert kernel([START], [STOP]) == pytest.approx(between)
    wanted = parts[0] ** 2 + parts[1] ** 2 + 2 * parts[0] * parts[1] * between
    assert kernel.squared_norm(function, np.linspace(START, STOP, 20)) == pytest.approx(wanted, rel=1e-9)


def test_the_quadrature_is_exact_up_to_degree_23() -> None:
    nodes, weights = quadrature([0, 1])
    for degree in (0, 22, 23):
        assert (weights * nodes**degree).sum() == pytest.approx(1 / (degree + 1), rel=1e-13)
