"""Mechanisms side by side: the errors are theirs, no one beats the bound, and what is left out says why."""

from __future__ import annotations

from math import exp

import pytest

import dproof as dp
from dproof import Interval, Privacy, design, laplace, lower_bounds, randomised_response
from dproof.optimality.design import Problem
from dproof.report.drawings import matrix_picture

SPACES = [
    (dp.Interval(0, 1, "0.05"), dp.Privacy(1)),
    (dp.Interval(0, 10, 1), dp.Privacy(1, "0.01")),
    (dp.Categories(["a", "b", "c", "d", "e"]), dp.Privacy(1)),
    (dp.Categories(["low", "middle", "high"], metric="ordinal"), dp.Privacy("0.5", "0.001")),
    (dp.Subsets(["Music", "Football", "Chess"]), dp.Privacy(2)),
]


@pytest.mark.parametrize(("space", "privacy"), SPACES, ids=str)
def test_every_mechanism_keeps_the_promise_and_none_beats_the_bound(space: object, privacy: dp.Privacy) -> None:
    shown = dp.compare(space, privacy)
    names = [row.name for row in shown.rows]
    assert len(set(names)) == len(names) >= 3 or isinstance(space, dp.Subsets)
    for row in shown.rows:
        dp.certify(row.mechanism, privacy)
        if row.error is not None:
            assert row.bound is not None and row.error >= row.bound * (1 - 1e-12)
    errors = [row.error for row in shown.rows if row.error is not None]
    assert errors == sorted(errors)


def test_an_interval_without_delta_says_what_needs_delta() -> None:
    shown = dp.compare(dp.Interval(0, 1, "0.05"), dp.Privacy(1))
    assert {name for name, _ in shown.left_out} == {"truncated Laplace", "Gaussian"}
    by_name = {row.name: row for row in shown.rows}
    assert by_name["Laplace"].variance == pytest.approx(2, rel=1e-3)
    assert by_name["clamped Laplace"].error < by_name["Laplace"].error / 2
    assert by_name["optimal design"].error == shown.rows[0].error


def test_the_table_and_the_chart_show_the_same() -> None:
    shown = dp.compare(dp.Categories(["a", "b", "c"]), dp.Privacy(1))
    text = str(shown)
    assert text.splitlines()[0].split() == ["mechanism", "error", "variance", "none", "below"]
    assert "subset selection" in text
    drawn = shown.chart().to_dict()
    bars = next(iter(drawn["datasets"].values())) if "datasets" in drawn else drawn["data"]["values"]
    assert [bar["error"] for bar in bars] == [row.error for row in shown.rows if row.error is not None]


def test_a_large_interval_is_compared_without_its_matrix() -> None:
    shown = dp.compare(dp.Interval(0, 2000, 1), dp.Privacy(1))
    left_out = dict(shown.left_out)
    assert list(left_out) == ["design", "truncated Laplace", "Gaussian"] and "call design itself" in left_out["design"]
    assert {"Laplace", "bounded Laplace", "staircase", "randomised response"} <= {row.name for row in shown.rows}


# A design errs less than the usual mechanisms, and its picture can be drawn -------------------------------------------


pytestmark = pytest.mark.filterwarnings("ignore:this design cannot be inverted")


@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_the_errors_stand_in_order(epsilon: str) -> None:
    interval, privacy = Interval(0, 1, "0.125"), Privacy(epsilon)
    usual = [laplace(interval, privacy), laplace(interval, privacy, clamp=True), randomised_response(interval, privacy)]
    best = Problem(interval, privacy).best().error
    assert lower_bounds(interval, privacy)[1].value < best < min(mechanism.error for mechanism in usual)


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_the_variances_stand_in_order(epsilon: float) -> None:
    """Against Laplace, Duchi et al. 2018 and the piecewise mechanism of Wang et al. 2019, for numbers in [−1, 1]."""
    root = exp(epsilon / 2)
    usual = [8 / epsilon**2, ((exp(epsilon) + 1) / (exp(epsilon) - 1)) ** 2, 4 * root / (3 * (root - 1) ** 2)]
    optimum = Problem(Interval(-1, 1, "0.25"), Privacy(epsilon), unbiased=True).best().optimum
    assert optimum is not None and optimum.value < min(usual)


@pytest.mark.parametrize(("count", "blocks"), [(3, 3), (70, 48)])
def test_heat_maps_of_few_and_many_values(count: int, blocks: int) -> None:
    best = design(Interval(0, count - 1, 1), Privacy(2))
    assert matrix_picture(best).count("<rect") == blocks**2
