"""Bases are orthonormal, span what their names say, and split the error of a projection from that of noise."""

import numpy as np
import pytest

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
