"""Single codes of a number that is seen at several codes at a time: their laws lie between those of a grid."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dproof import Interval, Mechanism, Privacy, bounded_laplace, gaussian, laplace, staircase
from dproof.laws import Lattice
from dproof.laws.debias import MatrixAxis, NodePoints, PresenceAxis, SeenColumn
from dproof.laws.noise import lay_nodes, node_law
from dproof.questions.partition import cut
from dproof.questions.question import Schema
from dproof.questions.sql import parse_predicate
from dproof.spaces.interval import Scale

SPACE = Interval(0, 100, "0.01")
MECHANISMS = {
    "laplace": laplace(SPACE, Privacy(4)),
    "narrow": laplace(SPACE, Privacy(40)),
    "clamped": laplace(SPACE, Privacy(8), clamp=True),
    "bounded": bounded_laplace(Interval(0, 100, "0.25"), Privacy(4)),
    "gaussian": gaussian(SPACE, Privacy(4, "1e-6")),
    "staircase": staircase(SPACE, Privacy(4)),
}


def unmixed(mechanism: Mechanism, condition: str) -> MatrixAxis:
    space = mechanism.inputs
    grid = cut(Schema("release", {"x": space}), [parse_predicate(condition)])
    seen = SeenColumn(grid.axes[0], space, mechanism.outputs, None)
    (axis,) = mechanism.family.debias_axes([seen], 1, "x").axes
    assert isinstance(axis, MatrixAxis)
    return axis


@pytest.mark.parametrize("name", MECHANISMS)
def test_between_points_the_law_is_within_the_gap(name: str) -> None:
    """Of any indicator of the states below a threshold, at codes that lie nowhere near the grid."""
    mechanism = MECHANISMS[name]
    family = mechanism.family
    axis = unmixed(mechanism, "x = 33.3")
    points = axis.singles()
    if not isinstance(family, Lattice):
        assert points.even == 0 and points.on_grid.all()
        return
    assert points.even
    tests = (np.arange(axis.states)[:, None] < np.arange(1, axis.states, 7)).astype(float)
    means, gaps = points.means_and_gaps(tests)
    cuts = np.array([3330, 3331])
    nodes = lay_nodes(family, cuts)
    codes = np.unique(np.random.default_rng(1).integers(0, family.size, 60))
    inside = type(nodes)(codes, nodes.step, nodes.edges, nodes.wide)
    exact = node_law(family, inside) @ tests
    grid = np.unique(np.append(nodes.centres, family.size - 1))
    start = np.minimum(np.searchsorted(grid, codes, side="right") - 1, len(grid) - 2)
    part = ((codes - grid[start]) / np.diff(grid)[start])[:, None]
    whole = points.matrix @ tests
    chord = (1 - part) * whole[start] + part * whole[start + 1]
    assert (np.abs(exact - chord) <= gaps + 1e-12).all()
    assert (means >= -1e-12).all() and (means <= 1 + 1e-12).all()


def test_both_ends_of_every_block_are_points() -> None:
    axis = unmixed(MECHANISMS["laplace"], "x = 33.3")
    points = axis.singles()
    sizes = np.bincount(points.block)
    assert len(sizes) == 2 and 1 in sizes  # one code is alone in its block, and a point
    assert np.flatnonzero(np.diff(points.block)).size == 2


def test_a_mean_lies_on_the_chord_and_the_gap_is_a_quarter_of_the_bend() -> None:
    nothing = np.zeros(3, np.int64)
    points = NodePoints(np.eye(4), np.array([0, 1, 3]), np.array([0, 0.25, 0]), nothing, nothing, even=3)
    means, gap = points.means_and_gaps(np.array([0.0, 1.0, 4.0, 100.0]))
    assert means.tolist() == [0.0, 1.75, 100.0] and gap == 2 / 4
    several, gaps = points.means_and_gaps(np.array([[0.0, 0.0], [1.0, 1.0], [4.0, 2.0], [100.0, 3.0]]))
    assert several.tolist() == [[0.0, 0.0], [1.75, 1.25], [100.0, 3.0]] and gaps.tolist() == [0.5, 0.0]
    assert (
        NodePoints(np.eye(2), nothing, nothing, nothing, nothing).means_and_gaps(np.array([0.0, 9.0]))[1] == 0
    )  # every code is there


def test_where_values_may_be_missing_there_is_one_point_more() -> None:
    inside, privacy = unmixed(MECHANISMS["laplace"], "x = 33.3").singles(), Privacy(4)
    axis = unmixed(MECHANISMS["laplace"].with_missing(privacy), "x = 33.3")
    points = axis.singles()
    assert len(points.start) == len(inside.start) + 1 and points.even == inside.even
    assert points.matrix.shape == (len(inside.matrix) + 1, axis.states)
    assert np.allclose(points.matrix.sum(axis=1), 1)
    shown, missing = 1 - points.matrix[:-1, -1], 1 - points.matrix[-1, -1]
    assert np.ptp(shown) == 0 and shown[0] > missing
    assert points.start[-1] == len(inside.matrix) and points.on_grid[-1]


def test_whether_numbers_are_there_is_told_apart_from_what_they_are() -> None:
    """Of numbers that are drawn from a table; where they are summed up, two chances do not tell all."""
    mechanism = bounded_laplace(Interval(0, 4, step=1), Privacy(4)).with_missing(Privacy(4))
    grid = cut(Schema("release", {"x": mechanism.inputs}), [parse_predicate("x IS NOT NULL")])
    seen = SeenColumn(grid.axes[0], mechanism.inputs, mechanism.outputs, None)
    (there,) = mechanism.family.debias_axes([seen], 1, "x").axes
    (summed,) = mechanism.family.debias_axes([replace(seen, scale=Scale())], 1, "x").axes
    assert isinstance(there, PresenceAxis) and isinstance(summed, MatrixAxis) and not isinstance(summed, PresenceAxis)


# Where every code is on the grid, or too few are for a bend, no code between is off the chord -------------------------


@pytest.mark.parametrize("even", [0, 2])
def test_without_a_bend_nothing_is_off(even: int) -> None:
    points = NodePoints(np.eye(2), np.array([0, 1]), np.zeros(2), np.array([0, 1]), np.array([3.0, 5.0]), even)
    means, off = points.means_and_gaps(np.array([[1.0], [7.0]]))
    assert means.tolist() == [[1.0], [7.0]] and off.tolist() == [0.0]
