"""Where the least possible error is 0, a design attains it exactly and says nothing of a gap."""

from __future__ import annotations

import warnings

import pytest

import dproof as dp

THREE = dp.Categories(["a", "b", "c"])
FREE = [[0, 1, 1], [0, 1, 2], [0, 3, 1]]  # the first output costs nothing


@pytest.mark.parametrize(
    ("privacy", "options"),
    [
        (dp.Privacy(1), {"prior": [1, 0, 0]}),
        (dp.Privacy(1), {"prior": [0, 1, 0], "loss": "squared"}),
        (dp.Privacy(1, "0.1"), {"prior": [1, 0, 0]}),
        (dp.Privacy(1), {"loss": FREE}),
        (dp.Privacy(0), {"loss": FREE}),
        (dp.Privacy(1), {"loss": FREE, "metric_privacy": True}),
    ],
)
def test_an_optimum_of_zero_is_attained_without_a_gap(privacy: dp.Privacy, options: dict) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        best = dp.design(THREE, privacy, **options)
    assert best.optimum is not None and best.optimum.value == 0 == best.optimum.lower_bound == best.optimum.gap
    assert not any("of the best" in str(warning.message) for warning in told)
    dp.certify(best, dp.Privacy(0))  # the same answer for every input


def test_an_optimum_that_floats_cannot_tell_from_zero_is_said_to_be_so() -> None:
    with pytest.warns(dp.DproofWarning, match=r"too close to 0 to say more"):
        best = dp.design(dp.Interval(0, 4, 1), 200)
    assert best.optimum is not None and best.optimum.lower_bound == 0 < best.optimum.value < 1e-12
