"""A design whose promise holds between given neighbours alone: never worse, and proven to be the best."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import dproof as dp
from tests.linear_programme import least_error

PAIN = dp.Categories(["none", "mild", "moderate", "severe"], metric="ordinal")
CHAIN = [tuple(pair) for pair in pairwise(["none", "mild", "moderate", "severe"])]


def quietly(*arguments: Any, **options: Any) -> dp.Mechanism:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dp.design(*arguments, **options)


@pytest.mark.parametrize("delta", ["0", "0.05"])
@pytest.mark.parametrize("prior", [None, ["1/2", "1/4", "1/8", "1/8"]])
def test_fewer_pairs_cost_less_and_the_bound_proves_it(delta: str, prior: Any) -> None:
    promise = dp.Privacy(1, delta)
    free, full = (quietly(PAIN, promise, prior=prior, neighbours=pairs) for pairs in (CHAIN, None))
    assert free.optimum is not None and full.optimum is not None
    assert free.optimum.gap < Fraction(1, 10**6) and free.optimum.value < full.optimum.lower_bound
    assert dp.certify(free, promise).epsilon <= 1  # between the neighbours
    assert free.delta(1) <= float(promise.delta)
    everywhere = dp.solution_matrix(PAIN, free.matrix().tolist())
    assert everywhere.delta(1) > float(promise.delta)  # between all pairs it is not kept
    if delta == "0":
        assert everywhere.epsilon() <= 3.001  # a chain of three


def test_all_pairs_given_one_by_one_are_the_design_without_them() -> None:
    every = np.ones((4, 4), bool) & ~np.eye(4, dtype=bool)
    one, other = quietly(PAIN, 1, neighbours=every), quietly(PAIN, 1)
    assert one.optimum is not None and other.optimum is not None
    assert abs(one.optimum.value - other.optimum.value) < Fraction(1, 10**7)


def test_the_optimum_is_that_of_the_linear_programme_written_out() -> None:
    losses = [[abs(i - j) for j in range(4)] for i in range(4)]
    pairs = [(i, k) for i in range(4) for k in range(4) if abs(i - k) == 1]
    value = least_error(losses, math.e, pairs=pairs)
    best = quietly(PAIN, 1, neighbours=CHAIN)
    assert best.optimum is not None and float(best.optimum.value) == pytest.approx(value, rel=1e-6)


def test_without_epsilon_those_that_are_connected_are_answered_alike() -> None:
    pairs = [("none", "mild"), ("moderate", "severe")]
    best = quietly(PAIN, 0, neighbours=pairs)
    law = best.matrix()
    assert (law[0] == law[1]).all() and (law[2] == law[3]).all() and best.delta(0) == 0
    assert best.optimum is not None and best.optimum.value == Fraction(1, 2) == best.optimum.lower_bound


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"neighbours": [("none", "severe")], "metric_privacy": True}, "neighbours and metric_privacy"),
        ({"neighbours": [("none", "huge")]}, "not a pair of declared labels"),
        ({"neighbours": np.eye(3, dtype=bool)}, "4 by 4"),
        ({"neighbours": []}, "at least one pair"),
    ],
)
def test_other_neighbours_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(dp.InputError, match=told):
        dp.design(PAIN, 1, **options)


def test_unbiased_designs_take_no_neighbours() -> None:
    with pytest.raises(dp.InputError, match="neighbours and unbiased"):
        dp.design(dp.Interval(0, 2, 1), 1, unbiased=True, neighbours=[(0, 1)])
