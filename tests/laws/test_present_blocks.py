"""The blocks of a column without its last code, which is that of a missing value."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from dproof.laws.debias import PresentBlocks


def test_the_block_of_a_missing_value_is_left_out_and_one_that_holds_it_is_cut() -> None:
    alone = SimpleNamespace(first=np.array([0, 2, 4]), last=np.array([1, 3, 4]), block=np.array([0, 1, 2]), blocks=3)
    joined = SimpleNamespace(first=np.array([0, 2]), last=np.array([1, 4]), block=np.array([0, 1]), blocks=2)
    for every in (alone, joined):
        there = PresentBlocks(every, 4)  # type: ignore[arg-type]
        assert there.first.tolist() == [0, 2] and there.last.tolist() == [1, 3] and there.block.tolist() == [0, 1]
