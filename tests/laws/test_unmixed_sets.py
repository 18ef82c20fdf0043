"""The axis that undoes subset selection has its law: each possible set is a state, with its weight over the total."""

from __future__ import annotations

import numpy as np
import pytest

from dproof import Categories
from dproof.laws import SubsetSelection
from dproof.laws.debias import MatrixAxis, SeenColumn
from dproof.questions.partition import cut
from dproof.questions.question import Schema
from dproof.questions.sql import parse_predicate


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
