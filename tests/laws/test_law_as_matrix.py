"""What a law that is written out says of missing values, and which state each of its outputs is."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dproof import Categories
from dproof.laws import Matrix
from dproof.laws.debias import SeenColumn
from dproof.questions.partition import cut
from dproof.questions.question import Schema
from dproof.questions.sql import parse_predicate

LAW = Matrix(np.array([[14, 9, 1, 8], [6, 16, 6, 4], [4, 5, 20, 3], [5, 5, 5, 17]]), 32)


def test_a_value_and_a_missing_one_are_shown_as_often_as_they_do_not_look_missing() -> None:
    assert LAW.shown_chances(3) == (Fraction(32 - 8, 32), Fraction(32 - 17, 32))


def test_every_output_is_a_state_of_its_own() -> None:
    space = Categories(["a", "b", "c", "d"])
    grid = cut(Schema("release", {"x": space}), [parse_predicate("x = 'b'")])
    unmixed = LAW.debias_axes([SeenColumn(grid.axes[0], space, space, None)], 1, "x")
    assert unmixed.state is not None and unmixed.state([np.array([2, 0, 3])]).tolist() == [2, 0, 3]
