"""The blocks of a column without its last code, which is that of a missing value."""

from __future__ import annotations

import numpy as np

from dproof.spaces.space import Partition


def test_the_block_of_a_missing_value_is_left_out_and_one_that_holds_it_is_cut() -> None:
    alone = Partition("x", np.array([0, 2, 4]), np.array([0, 1, 2]), 5)
    joined = Partition("x", np.array([0, 2]), np.array([0, 1]), 5)
    for every in (alone, joined):
        there = every.present(4)
        assert there.first.tolist() == [0, 2] and there.last.tolist() == [1, 3] and there.block.tolist() == [0, 1]
        assert there.sizes.tolist()[:2] == [2, 2] and there.blocks == every.blocks
