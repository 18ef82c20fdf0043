"""Bases are orthonormal, span what their names say, and split the error of a projection from that of noise."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from dproof import Curves, InputError, Kernel
from dproof.curves.bases import basis, eigenbasis, quadrature

NAMES = ("cosine", "fourier", "b-spline", "bernstein")
DAY = Curves(1, 24, 24, 0, 5)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("terms", [1, 2, 4, 9, 20])
def test_orthonormal(name: str, terms: int) -> None:
    functions = basis(name, DAY, terms)
    joints = np.union1d(np.linspace(1, 24, 80), 1 + 23 * np.array(functions.breaks))
    t, w = quadrature(joints)
    v = functions.evaluate(t)
    assert np.abs((v * w) @ v.T - np.eye(terms)).max() < 1e-10


@pytest.mark.parametrize(
    ("name", "terms", "f"),
    [
        ("cosine", 3, lambda t: 2 + np.cos(2 * np.pi * (t - 1) / 23)),
        ("fourier", 3, lambda t: 2 + np.sin(2 * np.pi * (t - 1) / 23)),
        ("b-spline", 6, lambda t: 1e-3 * t**3 - 0.1 * t),
        ("bernstein", 4, lambda t: 1e-3 * t**3 - 0.1 * t),
    ],
)
def test_what_a_basis_spans_it_keeps(name: str, terms: int, f) -> None:
    fine = Curves(1, 24, 2001, -10, 20)
    curve = f(fine.times)[None]
    functions = basis(name, fine, terms)
    assert np.abs(curve @ functions.analysis(fine).T @ functions.evaluate(fine.times) - curve).max() < 1e-4


def test_coefficients_keep_pythagoras() -> None:
    """The squares of a curve and of what its projection misses, at the nodes of a quadrature, differ by theirs."""
    rows = np.random.default_rng(5).uniform(0, 5, (4, 24))
    whole = np.array([float(DAY.squared_distance(row.tolist(), [0] * 24)) for row in rows])
    for terms in (1, 4, 12, 24):
        functions = basis("cosine", DAY, terms)
        nodes, weights = quadrature(np.union1d(DAY.times, 1 + 23 * np.array(functions.breaks)))
        coefficients = rows @ functions.analysis(DAY).T
        linear = np.array([np.interp(nodes, DAY.times, row) for row in rows])
        missed = (linear - coefficients @ functions.evaluate(nodes)) ** 2 @ weights
        assert np.allclose((coefficients**2).sum(axis=1) + missed, whole)


@pytest.mark.parametrize("name", ["exponential", "matern-3/2", "matern-5/2", "squared-exponential"])
def test_eigenfunctions_of_a_kernel(name: str) -> None:
    kernel = Kernel(name, 4)
    functions, values = eigenbasis(kernel, DAY, 6)
    t, w = quadrature(np.linspace(1, 24, 200))
    v = functions.evaluate(t)
    assert np.abs((v * w) @ v.T - np.eye(6)).max() < 2e-3
    assert np.allclose((kernel(t, t) * w) @ v.T, v.T * values, atol=2e-3 * values[0])
    assert (np.diff(values) < 0).all() and values.sum() < 23


def test_refusals() -> None:
    for name, terms in (
        ("cosin", 3),
        ("cosine", 0),
        ("cosine", 25),
        ("cosine", True),
        ("cosine", 2.0),
        ("bernstein", 21),
    ):
        with pytest.raises(InputError):
            basis(name, DAY, terms)
    with pytest.raises(InputError, match="so smooth"):
        eigenbasis(Kernel("squared-exponential", 60), DAY, 24)


def test_ends_whose_floats_do_not_add_up_lose_no_part_of_a_curve() -> None:
    """0.3 + (0.9 − 0.3) lies a little beyond 0.9, and so do the last nodes of the quadrature."""
    assert 0.3 + (0.9 - 0.3) > 0.9
    for name in ("cosine", "fourier", "b-spline", "bernstein"):
        here, moved = (
            basis(name, space, 4).analysis(space).sum(axis=1)
            for space in (Curves("0.3", "0.9", 5, 0, 1), Curves(0, "0.6", 5, 0, 1))
        )
        assert here == pytest.approx(moved)


# Norms of the kernels' spaces: K(·, s) is the function whose inner product with any f is f(s), so its norm is 1 -------


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
