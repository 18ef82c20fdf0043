"""Variances under a condition on numbers, and of numbers in bins: at most so large, whatever the distribution."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof.testing import seeded_coins
from tests.local.test_distribution_free import NUMBER, X, cell, released

ASKED = {
    "var_pop(x) AS v FROM release WHERE x < 60": float(np.var(X[X < 60])),
    "variance(x) AS v FROM release WHERE x < 60": float(np.var(X[X < 60], ddof=1)),
    "stddev_pop(x) AS v FROM release WHERE x < 60": float(np.std(X[X < 60])),
}


@pytest.mark.parametrize("sql", ASKED)
def test_a_variance_under_a_condition_has_an_upper_bound(sql: str) -> None:
    found = [cell(released(seed, 12), sql) for seed in (1, 2)]
    assert all(each.informative and each.low == 0 <= ASKED[sql] <= each.high for each in found)
    assert all(each.low <= each.estimate <= each.high for each in found)


def test_a_variance_of_a_number_in_bins_holds_where_in_its_bin_each_value_is() -> None:
    """All values at the lower edge of their bins, and at the upper end."""
    edges = [0, 20, 40, 60, 80, 99]
    plan = {"privacy": {"epsilon": 6}, "columns": {"x": {**NUMBER, "bins": edges}}}
    for x in (X // 20 * 20, X // 20 * 20 + 18):
        with seeded_coins(1):
            release = dp.sanitise(pa.table({"x": x}), plan)
        found = cell(release, "var_pop(x) AS v FROM release")
        assert found.informative and found.low <= np.var(x) <= found.high < 49.5**2


@pytest.mark.parametrize("sql", ASKED)
@pytest.mark.parametrize(("factor", "shift"), [(-3, 0), (-1, 5), (-0.5, 1000)])
def test_what_a_variance_is_taken_from_has_a_lower_bound(sql: str, factor: float, shift: float) -> None:
    """Once the upper end was that bound, and the interval a point below the truth."""
    plain = cell(released(1, 12), sql)
    call, rest = sql.split(" AS v ")
    found = cell(released(1, 12), f"{shift} + {factor} * {call} AS v {rest}")
    ends = sorted(shift + factor * end for end in (plain.low, plain.high))
    assert (found.low, found.high) == pytest.approx(ends)
    assert found.low <= shift + factor * ASKED[sql] <= found.high


def test_a_tangent_is_no_bound_of_what_is_not_known_to_bend() -> None:
    """A covariance may lie on either side of its tangents."""
    assert not cell(released(1, 12), "covar_pop(x, y) AS v FROM release WHERE x < 60").informative
