"""Scores under wide noise: some bias for much less noise, and none where that costs nothing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dproof import Categories, Interval
from dproof.laws import Lattice, SubsetSelection
from dproof.laws.debias import (
    MatrixAxis,
    MomentsAxis,
    SeenColumn,
    _half_width,
    cautious_nodes,
    on_simplex,
    smoother,
    solver,
)
from dproof.laws.laplace import stairs, two_sided
from dproof.questions.partition import cut
from dproof.questions.question import Schema
from dproof.questions.sql import parse_predicate
from dproof.spaces.interval import Scale
from dproof.spaces.space import Partition

PLACES = np.arange(30)
NODES = np.where(PLACES < 15, 60.0, 10.0)


def noise(scale: float) -> np.ndarray:
    """The law of a place under discrete Laplace noise, gathered at both ends."""
    wide = np.arange(-60, 91)
    law = np.exp(-np.abs(wide - PLACES[:, None]) / scale)
    law /= law.sum(axis=1, keepdims=True)
    gathered = np.zeros((30, 30))
    np.add.at(gathered.T, np.clip(wide, 0, 29), law.T)
    return gathered


def test_wide_noise_is_smoothed() -> None:
    law, wanted = noise(6.0), (PLACES < 12).astype(float)[:, None]
    found = smoother(law, NODES)(wanted)
    exact = _half_width(law, solver(law)(wanted), wanted, NODES)
    constant = _half_width(law, np.full((30, 1), NODES[:12].sum() / NODES.sum()), wanted, NODES)
    assert _half_width(law, found, wanted, NODES) < 0.5 * min(exact, constant)


def test_narrow_noise_is_undone() -> None:
    law, wanted = noise(0.2), (PLACES < 12).astype(float)[:, None]
    assert np.allclose(law @ smoother(law, NODES)(wanted), wanted, atol=0.01)


def test_cautious_counts_are_as_many_rows_and_closer_to_even() -> None:
    likely = np.array([90.0, 10.0, 0.0, 0.0])
    cautious = cautious_nodes(likely)
    assert cautious.sum() == pytest.approx(100)
    assert 25 < cautious[0] < 90 and 0 < cautious[2] == cautious[3] < 25


# Smoothed scores serve places where no row is thought to lie, too: the thought may be wrong ---------------------------


STATES = np.arange(24)


def test_the_bias_is_small_away_from_the_jump_also_where_nobody_seems_to_be() -> None:
    law = np.exp(-np.abs(STATES - STATES[:, None]) / 4)
    law /= law.sum(axis=1, keepdims=True)
    wanted, nodes = (
        (STATES < 12).astype(float)[:, None],
        np.where(STATES < 8, 100.0, 0.0),
    )
    bias = np.abs(law @ smoother(law, nodes)(wanted) - wanted)[:, 0]
    assert bias[np.abs(STATES - 11.5) > 3].max() < 0.1


# Numbers of which only sums are asked for: polynomials of what is released, and their variances -----------------------


SPACE = Interval(0, 20, step=2)
MIDDLE, UNIT = 10, 5  # numbers are counted from the middle, in this unit


def summed(law: Lattice) -> MomentsAxis:
    grid = cut(Schema("release", {"x": SPACE}), [], [], ["x"], set())
    axis = law.moments_of(SeenColumn(grid.axes[0], SPACE, SPACE.line, Scale(MIDDLE, UNIT)))
    assert axis is not None
    return axis


@pytest.mark.parametrize("noise", [two_sided(Fraction(3, 2)), stairs(Fraction(3), 3)], ids=["laplace", "stairs"])
def test_scores_are_unbiased_and_so_are_their_squares(noise) -> None:
    """E q_k(x + Z) = x^k, and Σ q_k² comes from the sums of powers up to the fourth, as variances need it."""
    axis, reach = summed(Lattice(SPACE.size, noise)), 120
    chances = np.array([float(noise.probability(k)) for k in range(-reach, reach + 1)])
    for code in (0, 3, 10):
        shown = (2 * (code + np.arange(-reach, reach + 1)) - MIDDLE) / UNIT
        powers = shown ** np.arange(axis.states)[:, None]
        for k in range(3):
            scores = axis.scores((k,))
            values = scores.gather(powers, 0)[0]
            assert values @ chances == pytest.approx(((2 * code - MIDDLE) / UNIT) ** k, abs=1e-6)
            assert np.allclose(scores.times(scores).gather(powers, 0)[0], values**2)


def test_what_is_expected_of_numbers_that_are_spread_evenly() -> None:
    """The moments of x + Z for x even on [−1, 1] and Laplace noise of variance s: E Z⁴ = 6s²."""
    s = 0.7
    expected = [1, 0, 1 / 3 + s, 0, 1 / 5 + 6 * s / 3 + 6 * s**2]
    assert MomentsAxis(5, (0.0, s), 1.0).even_states() == pytest.approx(expected)


# The axis that undoes subset selection has its law: each possible set is a state, with its weight over the total ------


@pytest.mark.parametrize("width", [1, 2, 3])
def test_the_law_of_the_axis_is_the_law_and_every_set_has_a_state(width: int) -> None:
    space, law = Categories(["a", "b", "c", "d"]), SubsetSelection(4, width, 5, 2)
    grid = cut(Schema("release", {"x": space}), [parse_predicate("x = 'b'")])
    unmixed = law.debias_axes([SeenColumn(grid.axes[0], space, law.released_in(space), None)], 1, "x")
    (axis,), sets = unmixed.axes, np.flatnonzero(law.possible())
    assert isinstance(axis, MatrixAxis) and unmixed.state is not None
    weights = np.array([law.weights(value)[sets] for value in range(4)]).astype(float)
    assert np.allclose(axis.matrix, weights / law.total)
    assert unmixed.state([sets]).tolist() == list(range(len(sets)))
    scores = axis.scores((0,)).spread(np.eye(axis.blocks), 1)
    assert np.allclose(axis.matrix @ scores.T, np.eye(axis.blocks)[grid.axes[0].of(np.arange(4))])


# The blocks of a column without its last code, which is that of a missing value ---------------------------------------


def test_the_block_of_a_missing_value_is_left_out_and_one_that_holds_it_is_cut() -> None:
    alone = Partition("x", np.array([0, 2, 4]), np.array([0, 1, 2]), 5)
    joined = Partition("x", np.array([0, 2]), np.array([0, 1]), 5)
    for every in (alone, joined):
        there = every.present(4)
        assert there.first.tolist() == [0, 2] and there.last.tolist() == [1, 3] and there.block.tolist() == [0, 1]
        assert there.sizes.tolist()[:2] == [2, 2] and there.blocks == every.blocks


# The nearest counts without negative ones -----------------------------------------------------------------------------


def test_no_other_counts_of_that_total_are_nearer() -> None:
    values = np.array([[3.0, -2.0, 1.0, 0.5]])
    nearest = on_simplex(values, np.array([4.0]))
    assert nearest.min() >= 0 and abs(nearest.sum() - 4) < 1e-12
    generator = np.random.default_rng(1)
    for _ in range(200):
        other = generator.dirichlet(np.ones(4)) * 4
        assert ((nearest - values) ** 2).sum() <= ((other - values) ** 2).sum() + 1e-12
