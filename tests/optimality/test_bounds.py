"""dp.lower_bound: the largest bound that applies, its name, and the pieces it is made of."""

from __future__ import annotations

from fractions import Fraction
from math import exp
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dproof import (
    Categories,
    Curves,
    Interval,
    Privacy,
    Rows,
    Subsets,
    Table,
    design,
    laplace,
    lower_bound,
    lower_bounds,
)
from dproof.curves.lattice import Expansion
from dproof.optimality.bounds import _tight_span
from dproof.spaces.curves import Norm
from tests.strategies import metrics

pytestmark = pytest.mark.filterwarnings("ignore:this design cannot be inverted")


LINE, SPAN = "linear programme on a line, every space of outputs", "tight span, every space of outputs"
SAME = "a space that looks the same from every point"


@pytest.mark.parametrize(
    ("space", "privacy", "name"),
    [
        (Categories(list("abcde")), Privacy(1), "HLM15, Theorem 7"),
        (Categories(["a", "b"]), Privacy(1, "0.1"), "HLM15, Theorem 6, doubled"),
        (Subsets(list("abc")), Privacy(1), SAME),
        (Interval(0, 1), Privacy(1), LINE),
        (Categories([1, 2, 3], metric="ordinal"), Privacy(1, "0.1"), LINE),
        (Rows({"x": Categories([0, 1, 2]), "y": Categories([0, 1])}), Privacy(1), SAME),
        (Curves(0, 1, 5, 0, 1), Privacy(1), "HLM15, Theorem 6, doubled"),
        (Categories([1, 2, 3], metric=[[0, 2, 3], [2, 0, 4], [3, 4, 0]]), Privacy(1), SPAN),
    ],
)
def test_the_best_bound_has_a_name(space, privacy: Privacy, name: str) -> None:
    assert lower_bound(space, privacy).name == name
    assert lower_bound(space, privacy).value == max(b.value for b in lower_bounds(space, privacy))


def test_bounds_are_rounded_down() -> None:
    """e^ε is irrational, so no bound that holds can be exact; it errs on the safe side, by very little."""
    value = lower_bound(Categories(list("abcde")), Privacy(1)).value
    assert value < 4 / (4 + Fraction("2.718281828459045235360287471352662497757"))
    assert value > 4 / (4 + Fraction("2.718281828459045235360287471352662497758"))


@pytest.mark.parametrize("norm", ["sup", "l2"])
def test_the_diameter_of_curves_is_rounded_down_with_a_missing_value_too(norm: Norm) -> None:
    """The diameter √2 of curves in L2 is rounded up: as it is, the bound would be one that no mechanism need keep."""
    curves = Curves(0, 2, 5, 0, 1, norm=norm)
    for kept in (Expansion(curves, terms=2), Expansion(curves, terms=2).with_missing()):
        assert kept.diameter == curves.diameter
        assert lower_bound(kept, Privacy(1)).value == lower_bound(curves, Privacy(1)).value


def test_packing_beats_diameter_and_separation_on_clusters() -> None:
    """Three far clusters of three: r·min{1/2, 2/(2 + e)} with r the distance of clusters."""
    rho = [[0 if i == j else 1 if i // 3 == j // 3 else 100 for j in range(9)] for i in range(9)]
    clusters = Categories(list(range(9)), metric=rho)
    found = {bound.name: float(bound.value) for bound in lower_bounds(clusters, Privacy(2), outputs="anywhere")}
    assert found["packing"] == pytest.approx(100 * 2 / (2 + exp(2)))
    assert found["packing"] > found["HLM15, Theorem 6, doubled"] > found["HLM15, Theorem 7, for outputs anywhere"]


def test_the_tight_span_of_three_points() -> None:
    """Three points have their own distance vectors and one hub; distances 2, 3, 4 put it at 1/2, 3/2 and 5/2."""
    points = Categories([0, 1, 2], metric=[[0, 2, 3], [2, 0, 4], [3, 4, 0]])
    vertices = {tuple(map(Fraction, row)) for row in _tight_span(points)}
    assert vertices == {(0, 2, 3), (2, 0, 4), (3, 4, 0), (Fraction(1, 2), Fraction(3, 2), Fraction(5, 2))}


def test_the_tight_span_of_huge_distances_is_exact() -> None:
    big = 10**30
    points = Categories([0, 1, 2], metric=[[0, 2 * big + 1, 3 * big], [2 * big + 1, 0, 4 * big], [3 * big, 4 * big, 0]])
    hub = max(_tight_span(points).tolist(), key=min)
    assert hub[0] + hub[1] == 2 * big + 1 and hub[1] + hub[2] == 4 * big and hub[0] + hub[2] == 3 * big


@settings(max_examples=30, deadline=None)
@given(metrics(most=5), st.sampled_from(["0", "0.7", "2"]), st.sampled_from(["0", "0.2"]))
def test_every_bound_lies_below_the_optimum(rho: list[list[Fraction]], epsilon: str, delta: str) -> None:
    space, privacy = Categories(list(range(len(rho))), metric=rho), Privacy(epsilon, delta)
    best = design(space, privacy)
    anywhere = lower_bounds(space, privacy, outputs="anywhere")
    for bound in lower_bounds(space, privacy) + anywhere:
        assert 0 <= bound.value <= best.error, bound.name
    assert {b.name for b in anywhere} <= {b.name for b in lower_bounds(space, privacy)}


def test_a_line_bounds_unbounded_outputs_too() -> None:
    """Laplace noise leaves the interval; it errs more than the bound all the same."""
    age = Interval(0, 110, 1)
    for epsilon in ("0.1", "1", "5"):
        bound = lower_bound(age, Privacy(epsilon), outputs="anywhere").value
        assert bound <= laplace(age, Privacy(epsilon), clamp=True).error <= laplace(age, Privacy(epsilon)).error


@pytest.mark.parametrize("metric", ["l1", "l2", "sup"])
def test_no_law_on_tables_beats_the_bound_of_its_rows(metric: Any) -> None:
    """Neighbours differ in one row: a bound for any two tables as neighbours would be too high."""
    for row, n in ((Categories(["a", "b"]), 3), (Categories([0, 1, 2], "ordinal"), 2)):
        table = Table(row, n, metric)
        best, bound = design(table, Privacy(1)), lower_bound(table, Privacy(1))
        assert bound.value <= best.error
        if metric == "l1":
            assert float(bound.value) == pytest.approx(float(best.error), rel=1e-6)
