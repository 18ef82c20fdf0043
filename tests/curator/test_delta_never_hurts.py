"""A δ makes no answer worse for what it costs: where no noise uses it, a question is asked as without one."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof.composition import pure_epsilon
from dproof.curator.recipe import Measurement
from dproof.curves.noise import l2_error
from dproof.exact import written
from dproof.plans.plan import schema_of
from tests.makers import measured_for

LEVEL = Fraction(19, 20)
COLUMNS: dict[str, Any] = {
    "age": {"space": "interval", "low": 0, "high": 99, "step": 1},
    "town": {"space": "categories", "values": ["a", "b", "c"]},
    "likes": {"space": "subsets", "values": ["tea", "milk"]},
    "load": {"space": "curves", "points": 5, "low": 0, "high": 1},
}
CHOSEN = ["median(age)", "quantile(age, 0.9)", "min(age)", "max(age)", "mode(town)", "top(town, 2)", "top(likes, 1)"]
SUMMED = ["count(*)", "count(age)", "sum(age)", "avg(age)", "var(age)", "stddev(age)", "count(DISTINCT town)",
          "covar_pop(age, age)", "sum(load)", "avg(load)"]  # fmt: skip


@pytest.fixture(scope="module", params=["change-one", "add-remove"])
def curator(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dp.Curator:
    some = np.random.default_rng(1)
    table = pa.table({
        "age": some.integers(0, 100, 50), "town": some.choice([*"abc"], 50), "likes": [["tea"]] * 50,
        "load": [[0.5] * 5] * 50,
    })  # fmt: skip
    privacy = {"epsilon": 10, "delta": "1e-6", "neighbours": request.param}
    return dp.Curator(table, {"privacy": privacy, "columns": COLUMNS}, ledger=tmp_path_factory.mktemp("l") / "l.db")


def measured(curator: dp.Curator, what: str, by: str, epsilon: Any, delta: Any) -> Measurement:
    sql = f"SELECT {what} AS v FROM data{by}"
    return curator.preview(sql, epsilon=epsilon, delta=delta).measurement


def errors(measurement: Measurement) -> list[float]:
    """What grows with the error of each part."""
    curves = measurement.curves
    found = [] if curves is None else [l2_error(curves.lattice, curves.noise)]
    found += [float(noisy.noise.quantile(LEVEL)) for noisy in measurement.noisy if noisy.noise is not None]
    return found + [float(1 / choice.rate) for choice in measurement.chosen]


@pytest.mark.parametrize("delta", ["1e-8", "1e-6"])
@pytest.mark.parametrize("epsilon", ["0.1", "1"])
@pytest.mark.parametrize("by", ["", " GROUP BY town"])
@pytest.mark.parametrize("what", CHOSEN)
def test_what_is_chosen_is_as_good_as_without_and_costs_as_much(
    curator: dp.Curator, what: str, by: str, epsilon: str, delta: str
) -> None:
    one, other = (measured(curator, what, by, epsilon, each) for each in (delta, 0))
    assert one.cost == other.cost and errors(one) == errors(other)


@pytest.mark.parametrize("delta", ["1e-8", "1e-6"])
@pytest.mark.parametrize("epsilon", ["0.1", "1"])
@pytest.mark.parametrize("by", ["", " GROUP BY town"])
@pytest.mark.parametrize("what", [*SUMMED, "count(*) AS n, median(age)"])
def test_what_is_summed_is_no_worse_than_what_costs_the_same_without(
    curator: dp.Curator, what: str, by: str, epsilon: str, delta: str
) -> None:
    """With δ it has Gaussian noise and is paid in ρ, of which it takes a small part of what ε takes without one."""
    one = measured(curator, what, by, epsilon, delta)
    assert one.cost.rho is not None or not one.cost.delta
    same = one.price.epsilon if one.cost.rho is None else pure_epsilon(one.cost.rho)
    other = measured(curator, what, by, same, 0)
    for worse, better in zip(errors(one), errors(other), strict=True):
        assert worse <= 1.01 * better


def test_a_preview_says_that_the_same_epsilon_without_delta_is_sharper(curator: dp.Curator) -> None:
    """A sum with a δ is paid in ρ, of which it takes a hundredth: both can be chosen, so both are told."""
    sql = "SELECT count(*) AS n, sum(age) AS s FROM data WHERE age < 30"
    with_delta, without = (curator.preview(sql, epsilon="0.1", delta=delta) for delta in ("1e-8", 0))
    (note,) = with_delta.notes
    assert note == (
        f"without delta n ± {written(without.half_widths['n'])}, s ± {written(without.half_widths['s'])}, at the same "
        "epsilon, for 24 times as much rho"
    )
    assert note in str(with_delta) and not without.notes
    assert not curator.preview(sql, accuracy=500, delta="1e-8").notes
    assert not curator.preview("SELECT median(age) AS m FROM data", epsilon="0.1", delta="1e-8").notes


def test_a_preview_says_that_an_accuracy_leaves_more_without_delta(tmp_path: Path) -> None:
    """A few sharp answers are paid by sums of ε, where ρ does not reach for one; many wide ones by ρ."""
    plan = {"privacy": {"epsilon": 1, "delta": "1e-6"}, "columns": {"age": COLUMNS["age"]}}
    curator = dp.Curator(pa.table({"age": np.arange(100)}), plan, ledger=tmp_path / "l.db")
    sql = "SELECT count(*) AS n FROM data WHERE age < 30"
    sharp, wide = (curator.preview(sql, accuracy=accuracy, delta="1e-8") for accuracy in (3, 30))
    alone = curator.preview(sql, accuracy=3)
    assert (sharp.times, alone.times) == (0, 1)
    assert sharp.notes == (f"without delta it costs {alone.cost}: enough for 1 question instead of 0",)
    assert wide.times > curator.preview(sql, accuracy=30).times and not wide.notes
    curator.ask(sql, accuracy=3)  # as was said


def test_a_median_that_was_bought_in_rho_is_free_still(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"age": np.arange(100)})
    plan = {"privacy": {"epsilon": 1, "delta": "1e-6"}, "columns": {"age": COLUMNS["age"]}}
    sql, terms = "SELECT median(age) AS m FROM data", dp.Terms(epsilon="0.1", delta="1e-8")
    with monkeypatch.context() as earlier:
        earlier.setattr(Measurement, "uses_delta", True)
        before = dp.Curator(table, plan, ledger=tmp_path / "l.db").ask(sql, terms)
    curator = dp.Curator(table, plan, ledger=tmp_path / "l.db")
    left = curator.remaining()
    assert curator.ask(sql, terms).rows == before.rows and curator.remaining() == left


@pytest.mark.parametrize("price", [("1", "1e-22"), ("1e-9", "1e-9")], ids=str)
def test_where_gaussian_noise_cannot_be_proven_a_group_gets_laplace_noise(price: tuple[str, str]) -> None:
    """Where sums of ε and δ are counted: it was refused for noise that would be too wide."""
    schema = schema_of(dp.Plan.of({"privacy": {"epsilon": 1}, "columns": {"town": COLUMNS["town"]}}))
    asked = "SELECT town, count(*) FROM data GROUP BY town"
    pure, relaxed = (measured_for(asked, schema, dp.Privacy(price[0], delta)).noisy for delta in (0, price[1]))
    assert relaxed[0].noise is not None and pure[0].noise is not None
    assert relaxed[0].noise.name == "Laplace" and relaxed[0].noise.variance <= pure[0].noise.variance
