"""Mechanisms side by side: the errors are theirs, no one beats the bound, and what is left out says why."""

from __future__ import annotations

import pytest

import dproof as dp

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
