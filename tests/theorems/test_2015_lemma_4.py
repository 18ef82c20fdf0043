"""HLM15, Lemma 4: the maximal expected error is positive whenever δ < 1, on two points or more.

The lemma leaves |D| ≥ 2 out; a single point is released as it is.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given

from dproof import Categories, Privacy, design, lower_bound
from dproof.laws import Matrix
from tests.strategies import matrices, odds


@given(matrices(most_inputs=4, square=True), odds)
def test_a_law_without_error_has_delta_one(family: Matrix, e: Fraction) -> None:
    truthful = all(int(family.rows[i, i]) == family.total for i in range(family.inputs))
    if family.inputs > 1 and family.worst(e).value < 1:
        assert not truthful


@pytest.mark.parametrize("delta", ["0", "0.5", "0.999"])
def test_the_bound_is_positive_below_delta_one(delta: str) -> None:
    assert lower_bound(Categories(["a", "b", "c"]), Privacy(1, delta)).value > 0


def test_one_point_and_delta_one_need_no_error() -> None:
    single = design(Categories(["only"]), Privacy(0))
    assert single.error == 0 and single.optimum is not None and single.optimum.gap == 0
    everything = design(Categories(["a", "b", "c"], metric="ordinal"), Privacy(1, 1))
    assert everything.error == 0 and everything.law("b") == {"a": 0, "b": 1, "c": 0}
    assert lower_bound(Categories(["only"]), Privacy(1)).value == 0
    assert lower_bound(Categories(["a", "b"]), Privacy(1, 1)).value == 0
