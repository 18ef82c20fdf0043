"""Pictures of designs hold what they show."""

from __future__ import annotations

import warnings

import pytest

from dproof import Interval, Privacy, design
from dproof.charts.style import svg
from dproof.report.design_charts import error_chart, variance_chart
from dproof.report.law_charts import heat_map

pytestmark = pytest.mark.filterwarnings("ignore:this design answers")


def points(chart):
    found: dict[str, dict[float, float]] = {}
    for point in next(iter(chart.to_dict()["datasets"].values())):
        value = point.get("error", point.get("variance"))
        found.setdefault(point["curve"], {})[point["epsilon"]] = value
    return found


def test_the_errors_stand_in_order() -> None:
    chart = error_chart(Interval(0, 1, "0.125"), ["0.5", "2"])
    curves = points(chart)
    assert len(curves) == 5
    bound = next(values for name, values in curves.items() if name.startswith("lower bound"))
    for epsilon in (0.5, 2.0):
        best = curves["optimal design"][epsilon]
        assert bound[epsilon] < best
        assert best < min(curves[name][epsilon] for name in ("Laplace", "Laplace, clamped", "randomised response"))
    assert svg(chart).startswith("<svg")


def test_the_variances_stand_in_order() -> None:
    curves = points(variance_chart(["0.5", "4"], points=9))
    best = curves.pop("unbiased design, 9 points")
    assert len(curves) == 3
    assert all(best[epsilon] < values[epsilon] for values in curves.values() for epsilon in (0.5, 4.0))


@pytest.mark.parametrize("count", [3, 70])
def test_heat_maps_of_few_and_many_values(count: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = design(Interval(0, count - 1, 1), Privacy(2))
    assert svg(heat_map(best)).startswith("<svg")
    cells = heat_map(best).to_dict()
    assert cells["$schema"]
