"""HLM15, Theorem 6: E ≥ (1 − δ) diam/(2(1 + e^ε)), whatever the outputs; and twice that is true.

With f(y) = max(0, 1 − ρ(y, u)/diam) the definition of privacy gives 1 − E/diam ≤ e^ε E/diam + δ, so the doubled bound
(1 − δ) diam/(1 + e^ε) holds; two points attain it for all ε and δ.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dproof import Categories, Interval, Privacy, design, lower_bound, lower_bounds
from dproof.laws import Matrix
from tests.strategies import matrices, metrics, odds

PUBLISHED, DOUBLED = "HLM15, Theorem 6", "HLM15, Theorem 6, doubled"


def named(space, privacy, name, **options):
    return float(next(b.value for b in lower_bounds(space, privacy, **options) if b.name == name))


def test_the_values() -> None:
    pair = Categories(["a", "b"])
    assert named(pair, Privacy(1, "0.1"), PUBLISHED) == pytest.approx(0.1210236396, abs=1e-10)
    assert named(pair, Privacy(1, "0.1"), DOUBLED) == pytest.approx(0.2420472793, abs=1e-10)


@pytest.mark.parametrize(
    ("epsilon", "published", "doubled"),
    [
        ("0.1", 0.237510, 0.475021),
        ("0.5", 0.188770, 0.377541),
        ("1", 0.134471, 0.268941),
        ("2", 0.059601, 0.119203),
        ("4", 0.008993, 0.017986),
    ],
)
def test_on_the_unit_interval(epsilon: str, published: float, doubled: float) -> None:
    line = Interval(0, 1, "0.5")
    assert named(line, Privacy(epsilon), PUBLISHED) == pytest.approx(published, abs=1e-6)
    assert named(line, Privacy(epsilon), DOUBLED) == pytest.approx(doubled, abs=1e-6)
    assert float(design(line, Privacy(epsilon)).error) > doubled, "three points or more never attain it"


@pytest.mark.parametrize(("epsilon", "delta"), [("0", "0"), ("0.1", "0.3"), ("1", "0"), ("3", "0.01"), ("1", "0.9")])
def test_two_points_attain_it(epsilon: str, delta: str) -> None:
    pair = Categories(["a", "b"], metric=[[0, 7], [7, 0]])
    best = design(pair, Privacy(epsilon, delta))
    e = exp(float(epsilon))
    assert float(best.error) == pytest.approx(7 * (1 - float(delta)) / (1 + e), rel=1e-9)
    assert best.error >= lower_bound(pair, Privacy(epsilon, delta)).value


@given(matrices(most_inputs=4, square=True), odds, st.data())
def test_no_law_beats_it(family: Matrix, e: Fraction, data: st.DataObject) -> None:
    """Any law at its own tight δ, under any metric."""
    rho = data.draw(metrics(most=family.inputs).filter(lambda found: len(found) == family.inputs))
    delta, diameter = family.worst(e).value, max(map(max, rho))
    error = max(
        sum(Fraction(int(w)) * r for w, r in zip(family.rows[i], rho[i], strict=True)) / family.total
        for i in range(family.inputs)
    )
    assert error >= (1 - delta) * diameter / (1 + e)


@pytest.mark.filterwarnings("ignore:this design:dproof.DproofWarning")  # the best may answer some values alike
@settings(max_examples=25, deadline=None)
@given(metrics(most=5), st.sampled_from(["0", "0.4", "2"]), st.sampled_from(["0", "0.2"]))
def test_it_lies_below_every_optimum(rho, epsilon: str, delta: str) -> None:
    space, privacy = Categories(list(range(len(rho))), metric=rho), Privacy(epsilon, delta)
    best = design(space, privacy)
    for bound in lower_bounds(space, privacy):
        assert bound.value <= best.error, bound
