"""Clipping into the region, exhaustively on a small lattice: noise is calibrated to its size and to nothing else."""

from __future__ import annotations

from itertools import product
from math import isqrt
from typing import Any

import numpy as np
import pytest

from dproof import Curves, expand
from dproof.curves.lattice import CurveLattice, _root_above
from dproof.spaces.curves import PLACES

_SHIFT = 4


def _lattice(terms: int, radius: int | None, box: tuple[int, ...] | None = None) -> CurveLattice:
    """A lattice whose coefficients are the places themselves, before they are clipped."""
    expansion = expand(Curves(0, 1, max(terms, 2), 0, 1), terms=1)
    matrix, middle = np.eye(terms, dtype=np.int64) << _SHIFT, np.zeros(terms, np.int64)
    return CurveLattice(expansion, np.ones(terms), radius, box, matrix, _SHIFT, middle)


@pytest.mark.parametrize("terms, radius", [(1, 3), (2, 5), (2, 1), (3, 4), (4, 2)])
def test_what_is_clipped_lies_in_the_ball_and_the_rest_stays(terms: int, radius: int) -> None:
    z = np.array(list(product(range(-2 * radius - 3, 2 * radius + 4), repeat=terms)), np.int64)
    lattice = _lattice(terms, radius)
    kept, squares = lattice.coefficients(z), (z * z).sum(axis=1)
    inside = squares <= radius**2
    assert ((kept * kept).sum(axis=1) <= radius**2).all()
    assert (kept[inside] == z[inside]).all()
    # The ray to the centre is followed, down to the whole numbers next to where it enters the ball.
    assert (kept * np.sign(z) >= 0).all() and (np.abs(kept) <= np.abs(z)).all()
    exact = z * (radius / np.sqrt(np.maximum(squares, 1)))[:, None]
    ceilings = np.array([isqrt(int(s) - 1) + 1 if s else 0 for s in squares])
    nearly = z * (radius / np.maximum(ceilings, 1))[:, None]
    assert (np.abs(nearly - kept)[~inside] < 1).all() and (np.abs(kept) <= np.abs(exact) + 1e-9)[~inside].all()


def test_a_ball_of_whole_numbers_is_no_further_across_than_is_charged() -> None:
    for terms, radius in ((1, 5), (2, 5), (3, 3)):
        lattice = _lattice(terms, radius)
        z = lattice.coefficients(np.array(list(product(range(-radius - 2, radius + 3), repeat=terms)), np.int64))
        points = np.unique(z, axis=0)
        moves = points[:, None] - points
        for norm, found in (("l1", np.abs(moves).sum(axis=2)), ("l2", (moves**2).sum(axis=2))):
            assert found.max() <= lattice.size(norm, "change-one")
            assert found[(points == 0).all(axis=1)].max() <= lattice.size(norm, "add-remove")
        assert (moves**2).sum(axis=2).max() == lattice.size("l2", "change-one")


def test_a_box_is_kept_to_on_both_sides() -> None:
    lattice = _lattice(3, None, (1, 2, 4))
    z = np.array(list(product(range(-6, 7), repeat=3)), np.int64)
    kept = lattice.coefficients(z)
    assert (kept == np.clip(z, [-1, -2, -4], [1, 2, 4])).all()
    points = np.unique(kept, axis=0)
    moves = points[:, None] - points
    assert np.abs(moves).sum(axis=2).max() == lattice.size("l1", "change-one") == 14
    assert (moves**2).sum(axis=2).max() == lattice.size("l2", "change-one") == 84
    assert lattice.size("l1", "add-remove") == 7 and lattice.size("l2", "add-remove") == 21


def test_coefficients_are_rounded_to_the_nearest_point_around_the_centre() -> None:
    lattice = _lattice(1, 100)
    coarse = CurveLattice(lattice.expansion, lattice.scales, 100, None, lattice.matrix // 4, _SHIFT, np.array([8]))
    assert coarse.coefficients(np.arange(0, 20)[:, None]).ravel().tolist() == [
        (place - 8 + 2) // 4 for place in range(20)
    ]


def test_the_root_is_the_least_whole_number_that_is_none_too_small() -> None:
    near = [n * n + d for n in (1, 2, 3, 94906265, 94906267, 2**30, 2**31 - 1) for d in (-1, 0, 1)]
    for square in [*range(200), *near, 2**62 - 1]:
        expected = isqrt(square - 1) + 1 if square else 0
        assert _root_above(np.array([square], np.int64)).tolist() == [expected]


@pytest.mark.parametrize("given", [{"radius": 3}, {"kernel": "matern-3/2", "length": "0.2", "radius": 3}])
def test_what_lies_inside_the_declared_ball_is_never_clipped(given: dict[str, Any]) -> None:
    """Coefficients on the ball's very edge, rounded to the lattice: half a step in each term pushes none out."""
    expansion = expand(Curves(0, 1, 41, 0, 1), terms=16, **given)
    lattice, weights = expansion.lattice("gaussian"), expansion.functions()[1]
    edge = np.random.default_rng(0).normal(size=(500, 16))
    edge /= np.sqrt((edge**2).sum(axis=1, keepdims=True))
    z = np.rint(3 * edge * weights / lattice.scales)
    assert lattice.radius is not None and ((z * z).sum(axis=1) <= lattice.radius**2).all()


@pytest.mark.parametrize("split", ["laplace", "gaussian"])
def test_what_lies_inside_the_declared_box_is_never_clipped(split: Any) -> None:
    lattice = expand(Curves(0, 1, 9, 0, 1), terms=4, box=["0.7", "0.3", "0.11", "0.05"]).lattice(split)
    assert lattice.box == tuple(np.rint(np.array([0.7, 0.3, 0.11, 0.05]) / lattice.scales).astype(int).tolist())


@pytest.mark.parametrize("centre", [None, [1] * 9], ids=["half way", "given"])
@pytest.mark.parametrize("terms", [None, 4], ids=["values", "functions"])
def test_the_region_reaches_as_far_as_a_curve_between_low_and_high_can(terms: int | None, centre: Any) -> None:
    """A larger one would get more noise than it needs."""
    lattice = expand(Curves(0, 1, 9, 0, 5), terms=terms, centre=centre).lattice("gaussian")
    z = lattice.coefficients(np.full((1, 9), PLACES, np.int64))
    assert lattice.evaluate(z) == pytest.approx(np.full((1, 9), 5.0), rel=1e-3)
    far, edge = (np.abs(z).max(), lattice.box[0]) if lattice.box else (np.linalg.norm(z), lattice.radius)
    assert edge is not None and edge - 2 <= far <= edge
